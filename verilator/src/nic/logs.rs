//! What went into the pipeline, from its trace ports: frames, drops, and tokens between them.
//!
//!   token_log, drop_in, drop ──► by frame number ──► entries in order
//!
//! Invariants: a number that no frame has is an error (`logs_that_cannot_be_are_caught`).

use std::collections::{BTreeMap, VecDeque};

use groove_spec::{DropReason, TokenKind};

use crate::Error;
use crate::dut::{Dut, Port};
use crate::monitor::violation;

/// One thing that went into the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The next frame.
    Frame {
        /// Why it was dropped, if it was.
        dropped: Option<DropReason>,
    },
    /// A token, from outside or from a timer.
    Token {
        /// Queue.
        queue: u8,
        /// Kind.
        kind: TokenKind,
    },
}

struct DropLog {
    name: &'static str,
    valid: Port,
    frame: Port,
    reason: Port,
}

impl DropLog {
    fn new(dut: &Dut, name: &'static str) -> Result<Self, Error> {
        let port = |field: &str| dut.port(&format!("{name}_{field}"));
        Ok(Self { name, valid: port("valid")?, frame: port("frame")?, reason: port("reason")? })
    }
}

/// The logs.
pub(crate) struct Logs {
    drop_logs: [DropLog; 2],
    token_valid: Port,
    token_queue: Port,
    token_kind: Port,
    token_frame: Port,
    drops: BTreeMap<u32, DropReason>,
    tokens: VecDeque<(u32, Entry)>,
    /// Number of the next frame that no entry was made for.
    next: u32,
}

impl Logs {
    pub(crate) fn new(dut: &Dut) -> Result<Self, Error> {
        let port = |field: &str| dut.port(&format!("token_log_{field}"));
        Ok(Self {
            drop_logs: [DropLog::new(dut, "drop_in")?, DropLog::new(dut, "drop")?],
            token_valid: port("valid")?,
            token_queue: port("queue")?,
            token_kind: port("kind")?,
            token_frame: port("frame")?,
            drops: BTreeMap::new(),
            tokens: VecDeque::new(),
            next: 0,
        })
    }

    pub(crate) fn reset(&mut self) {
        self.drops.clear();
        self.tokens.clear();
        self.next = 0;
    }

    /// After the cycle settled; `frames` were sent. True if a frame was dropped.
    pub(crate) fn observe(&mut self, dut: &Dut, frames: u32) -> Result<bool, Error> {
        let mut any = false;
        for log in &self.drop_logs {
            if dut.read(log.valid) == 0 {
                continue;
            }
            let fail = |what: String| Err(violation(dut, log.name, what));
            let frame = dut.read(log.frame) as u32;
            let code = dut.read(log.reason);
            let Some(reason) = DropReason::from_code(code) else {
                return fail(format!("reason has the code {code}, which does not exist"));
            };
            if frame >= frames || frame < self.next {
                return fail(format!("frame {frame}: {frames} were sent, {} are done", self.next));
            }
            if self.drops.insert(frame, reason).is_some() {
                return fail(format!("frame {frame} was dropped twice"));
            }
            any = true;
        }
        if dut.read(self.token_valid) != 0 {
            self.token(dut, frames)?;
        }
        Ok(any)
    }

    fn token(&mut self, dut: &Dut, frames: u32) -> Result<(), Error> {
        let fail = |what: String| Err(violation(dut, "token_log", what));
        let queue = dut.read(self.token_queue) as u8;
        let code = dut.read(self.token_kind);
        let frame = dut.read(self.token_frame) as u32;
        let Some(kind) = TokenKind::from_code(code) else {
            return fail(format!("kind has the code {code}, which does not exist"));
        };
        let before = self.tokens.back().map_or(self.next, |token| token.0);
        if frame > frames || frame < before {
            return fail(format!(
                "in front of frame {frame}: {frames} were sent, at {before} last"
            ));
        }
        self.tokens.push_back((frame, Entry::Token { queue, kind }));
        Ok(())
    }

    /// Entries up to the `frames` sent, none of which is on its way any more.
    pub(crate) fn entries(&mut self, frames: u32) -> Vec<Entry> {
        let mut entries = Vec::new();
        loop {
            while let Some((_, token)) = self.tokens.pop_front_if(|token| token.0 <= self.next) {
                entries.push(token);
            }
            if self.next == frames {
                return entries;
            }
            entries.push(Entry::Frame { dropped: self.drops.remove(&self.next) });
            self.next += 1;
        }
    }
}
