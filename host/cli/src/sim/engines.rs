//! One engine, or two that must agree, driven by the same sequence.

use groove_spec::TokenKind;

use super::ledger::Conservation;
use crate::capture;
use crate::compare::{Comparison, Mismatch};
use crate::engine::{Engine, EngineError, Event};

/// Why a run stops before its end.
#[derive(Debug)]
pub enum Stop {
    /// The engine of that name failed.
    Engine(&'static str, EngineError),
    /// The engines differ.
    Mismatch(Box<Mismatch>),
    /// A frame was lost, invented or delivered twice.
    Conservation(Conservation),
    /// The output capture cannot be written.
    Output(capture::Error),
}

impl From<Box<Mismatch>> for Stop {
    fn from(mismatch: Box<Mismatch>) -> Self {
        Self::Mismatch(mismatch)
    }
}

/// The engines of a run.
pub enum Engines {
    /// One engine.
    One(Box<dyn Engine>),
    /// The reference, the engine held against it, and the comparison between them.
    Both(Box<dyn Engine>, Box<dyn Engine>, Comparison),
}

impl Engines {
    /// Two engines that must agree.
    pub fn both(reference: Box<dyn Engine>, other: Box<dyn Engine>) -> Self {
        Self::Both(reference, other, Comparison::default())
    }

    /// Whether there are two.
    pub fn is_pair(&self) -> bool {
        matches!(self, Self::Both(..))
    }

    /// Name for reports.
    pub fn name(&self) -> String {
        match self {
            Self::One(engine) => engine.name().to_owned(),
            Self::Both(reference, other, _) => format!("{} and {}", reference.name(), other.name()),
        }
    }

    /// Takes the next frame; events on which all engines agree go to `out`.
    pub fn frame(&mut self, bytes: &[u8], out: &mut Vec<Event>) -> Result<(), Stop> {
        self.step(|engine, events| engine.frame(bytes, events), out)
    }

    /// Takes a token.
    pub fn token(&mut self, queue: u8, kind: TokenKind, out: &mut Vec<Event>) -> Result<(), Stop> {
        self.step(|engine, events| engine.token(queue, kind, events), out)
    }

    /// Drains the engines; afterwards nothing may be without partner.
    pub fn finish(&mut self, out: &mut Vec<Event>) -> Result<(), Stop> {
        self.step(|engine, events| engine.finish(events), out)?;
        match self {
            Self::One(_) => Ok(()),
            Self::Both(_, _, comparison) => Ok(comparison.finish()?),
        }
    }

    /// Clock cycle in which the difference showed at the hardware.
    pub fn cycle(&self, mismatch: &Mismatch) -> Option<u64> {
        match self {
            Self::One(_) => None,
            Self::Both(_, other, _) => other.cycle(mismatch.found()),
        }
    }

    /// Clock cycle in which one engine alone lost or invented a frame. Of two engines both did, or
    /// they would differ: then the model is wrong, and it has no clock.
    pub fn conservation_cycle(&self, fault: &Conservation) -> Option<u64> {
        match (self, fault) {
            (Self::One(engine), Conservation::Unknown(frame)) => engine.cycle(Some(*frame)),
            (Self::One(engine), _) => engine.cycle(None),
            (Self::Both(..), _) => None,
        }
    }

    fn step(
        &mut self,
        mut step: impl FnMut(&mut dyn Engine, &mut Vec<Event>) -> Result<(), EngineError>,
        out: &mut Vec<Event>,
    ) -> Result<(), Stop> {
        let mut run = |engine: &mut Box<dyn Engine>, events: &mut Vec<Event>| {
            step(engine.as_mut(), events).map_err(|error| Stop::Engine(engine.name(), error))
        };
        match self {
            Self::One(engine) => run(engine, out),
            Self::Both(reference, other, comparison) => {
                let mut events = Vec::new();
                run(reference, &mut events)?;
                comparison.expect(events.drain(..));
                run(other, &mut events)?;
                comparison.find(events.drain(..));
                Ok(comparison.settle(out)?)
            }
        }
    }
}
