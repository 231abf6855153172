//! The model as an engine: no lag, nothing can fail after construction.

use groove_model::{Config, Event, Frame, Model};
use groove_spec::TokenKind;

use super::{Engine, EngineError};

/// The software model.
pub struct ModelEngine {
    model: Model,
}

impl ModelEngine {
    /// A fresh model.
    pub fn new(config: Config) -> Result<Self, EngineError> {
        Ok(Self { model: Model::new(config)? })
    }
}

impl Engine for ModelEngine {
    fn name(&self) -> &'static str {
        "model"
    }

    fn frame(&mut self, bytes: &[u8], out: &mut Vec<Event>) -> Result<(), EngineError> {
        self.model.frame(Frame::new(bytes), out);
        Ok(())
    }

    fn token(
        &mut self,
        queue: u8,
        kind: TokenKind,
        out: &mut Vec<Event>,
    ) -> Result<(), EngineError> {
        self.model.token(queue, kind, out);
        Ok(())
    }

    fn finish(&mut self, _out: &mut Vec<Event>) -> Result<(), EngineError> {
        Ok(())
    }
}
