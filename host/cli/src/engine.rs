//! Engines: what turns frames and tokens into deliveries and drops. The model and the hardware
//! behind one trait.
//!
//! Invariants: an engine takes the same sequence of frames and tokens whichever it is; its
//! deliveries come in order of completion, its drops in order of frames. How far an engine lags
//! behind its input is its own affair until `finish`.

mod model;
pub mod registers;
mod rtl;

pub use groove_model::{Config, Event};
pub use model::ModelEngine;
pub use rtl::{RtlEngine, RtlOptions, SharedPipeline};

use groove_driver::{QueueError, SetupError};
use groove_spec::TokenKind;

use crate::run::BedError;

/// Why an engine stopped.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The configuration is one that no hardware could have.
    #[error("{0}")]
    Config(#[from] groove_model::ConfigError),
    /// The hardware cannot be built, broke a protocol, or came to a stop.
    #[error("{0}")]
    Rtl(#[from] groove_verilator::Error),
    /// A device did not take a frame.
    #[error("{0}")]
    Bed(#[from] BedError),
    /// The driver did not take a device.
    #[error("the driver does not take the device")]
    Setup(#[from] SetupError),
    /// The driver gave a queue up.
    #[error("the driver gave up a queue")]
    Queue(#[from] QueueError),
}

/// One engine.
pub trait Engine {
    /// Name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Takes the next frame; frames are numbered from 0.
    fn frame(&mut self, bytes: &[u8], out: &mut Vec<Event>) -> Result<(), EngineError>;

    /// Takes a token, between two frames.
    fn token(
        &mut self,
        queue: u8,
        kind: TokenKind,
        out: &mut Vec<Event>,
    ) -> Result<(), EngineError>;

    /// Gives everything that is still under way. Sessions without a flush token stay held.
    fn finish(&mut self, out: &mut Vec<Event>) -> Result<(), EngineError>;

    /// Clock cycle in which the event that begins with `frame` came, if that was in the last step;
    /// otherwise the cycle of the newest event. An engine without a clock has none.
    fn cycle(&self, frame: Option<u32>) -> Option<u64> {
        let _ = frame;
        None
    }
}
