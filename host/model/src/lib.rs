//! The golden model: what the hardware means, as pure functions without clock and bus width.
//!
//!   frame ──► ingress ──► parse ──► checksum ──► classify ──► rss ──► admit ──► coalesce ──► deliveries
//!   token ─────────────────────────────────────────────────────────────────────────┘
//!
//! Each stage is one file in `stages`; [`Model::frame`] folds them. State exists in coalesce alone: the held
//! sessions and one tick per queue.
//!
//! Not here: buffers, rings, back-pressure. A frame that hardware drops for want of room is replayed with
//! [`Model::skip`].

mod config;
mod event;

pub use config::{Config, ConfigError, Options, RssConfig};
pub use event::{Event, Frame, Given, GivenCsum, Stats};

use groove_spec::{DropReason, TokenKind};

/// The receive path: takes frames and tokens, gives deliveries and drops in order of completion.
#[derive(Clone, Debug)]
pub struct Model {
    config: Config,
    stats: Stats,
}

impl Model {
    /// A model with nothing held and all ticks at 0.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config, stats: Stats::default() })
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Takes the next frame; frames are numbered from 0 in order of arrival.
    pub fn frame(&mut self, frame: Frame, out: &mut Vec<Event>) {
        let _ = (frame, out);
    }

    /// Takes a frame that the hardware dropped: it uses up a number and changes nothing else.
    pub fn skip(&mut self, reason: DropReason, out: &mut Vec<Event>) {
        out.push(Event::Drop { frame: self.stats.frames as u32, reason });
        self.stats.frames += 1;
        self.stats.drops[usize::from(reason.code())] += 1;
    }

    /// Takes a token for one queue; a queue that does not exist has nothing to flush.
    pub fn token(&mut self, queue: u8, kind: TokenKind, out: &mut Vec<Event>) {
        let _ = (queue, kind, out);
    }

    /// Queue that the frame would go to, without a change of state.
    pub fn steer(&self, bytes: &[u8]) -> u8 {
        let _ = bytes;
        0
    }

    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}
