//! Drives the inputs of the receive pipeline: frames as beats, tokens between them.
//!
//! Follows: AMBA AXI4-Stream (IHI 0051A) 2.2.1: what is offered stays until it is taken.
//! Invariants: order is that of the stimulus: a token is offered beside the frame before it only
//! once that frame has begun, and a frame beside the token before it only for the same cycle's
//! decision; what is taken out of this order is an error (`overtaking_is_caught`). What must be
//! ignored is garbage: bytes beyond keep, tuser before the last beat, last and tuser while idle.

use std::collections::VecDeque;

use groove_spec::TokenKind;

use crate::dut::{Dut, Port};
use crate::monitor::violation;
use crate::stall::{Rng, Stall};
use crate::{BuildOptions, Error, Stimulus};

const TOKEN_SALT: u64 = 11;
const BEAT_SALT: u64 = 12;
const GARBAGE_SALT: u64 = 13;

struct Ports {
    data: Port,
    keep: Port,
    last: Port,
    user: Port,
    valid: Port,
    ready: Port,
    token_queue: Port,
    token_kind: Port,
    token_valid: Port,
    token_ready: Port,
}

enum Item {
    Frame { bytes: Vec<u8>, bad_fcs: bool },
    Token { queue: u8, kind: TokenKind },
}

/// The frame at the port.
#[derive(Default)]
struct Current {
    bytes: Vec<u8>,
    bad_fcs: bool,
    /// Bytes taken.
    offset: usize,
}

/// What the inputs took in one cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub beat: bool,
    pub frame: bool,
    pub token: bool,
}

/// Queue of stimulus and the state of both input ports.
pub(crate) struct Inputs {
    ports: Ports,
    width_bytes: usize,
    lossless: bool,
    /// Tokens and frames keep their order. Where tokens wait inside, a log tells it instead.
    ordered: bool,
    /// Whether tready has been high since reset.
    started: bool,
    queue: VecDeque<Item>,
    queued_bytes: usize,
    /// Buffers of frames gone, for frames to come.
    spare: Vec<Vec<u8>>,
    frame: Option<Current>,
    token: Option<(u8, TokenKind)>,
    /// The token at the port comes before the frame at the port.
    token_leads: bool,
    beat_valid: bool,
    token_valid: bool,
    beat_stall: Stall,
    token_stall: Stall,
    garbage: Rng,
}

impl Inputs {
    pub(crate) fn new(dut: &Dut, options: &BuildOptions) -> Result<Self, Error> {
        let axis = |name: &str| dut.port(&format!("s_axis_{name}"));
        let token = |name: &str| dut.port(&format!("s_token_{name}"));
        let ports = Ports {
            data: axis("tdata")?,
            keep: axis("tkeep")?,
            last: axis("tlast")?,
            user: axis("tuser")?,
            valid: axis("tvalid")?,
            ready: axis("tready")?,
            token_queue: token("queue")?,
            token_kind: token("kind")?,
            token_valid: token("valid")?,
            token_ready: token("ready")?,
        };
        Ok(Self {
            ports,
            width_bytes: options.width / 8,
            lossless: options.lossless,
            ordered: true,
            started: false,
            queue: VecDeque::new(),
            queued_bytes: 0,
            spare: Vec::new(),
            frame: None,
            token: None,
            token_leads: false,
            beat_valid: false,
            token_valid: false,
            beat_stall: Stall::new(0, 0, 0),
            token_stall: Stall::new(0, 0, 0),
            garbage: Rng::new(0, 0),
        })
    }

    /// The same for hardware that takes tokens at any time, and logs where they came in.
    pub(crate) fn unordered(dut: &Dut, options: &BuildOptions) -> Result<Self, Error> {
        Ok(Self { ordered: false, ..Self::new(dut, options)? })
    }

    /// Forgets all stimulus and offers nothing.
    pub(crate) fn reset(&mut self, dut: &mut Dut, seed: u64, stall_percent: u8) {
        self.queue.clear();
        self.queued_bytes = 0;
        (self.frame, self.token) = (None, None);
        (self.started, self.token_leads) = (false, false);
        (self.beat_valid, self.token_valid) = (false, false);
        self.beat_stall = Stall::new(seed, BEAT_SALT, stall_percent);
        self.token_stall = Stall::new(seed, TOKEN_SALT, stall_percent);
        self.garbage = Rng::new(seed, GARBAGE_SALT);
        dut.set(self.ports.valid, 0);
        dut.set(self.ports.token_valid, 0);
    }

    /// Forgets all stimulus but the rest of a frame that has begun: its sender goes on.
    pub(crate) fn cut(&mut self, dut: &mut Dut) {
        self.queue.clear();
        self.queued_bytes = 0;
        (self.token, self.token_valid, self.token_leads) = (None, false, false);
        dut.set(self.ports.token_valid, 0);
        if self.frame.as_ref().is_some_and(|frame| frame.offset == 0) {
            (self.frame, self.beat_valid) = (None, false);
            dut.set(self.ports.valid, 0);
        }
    }

    pub(crate) fn push(&mut self, stimulus: Stimulus) {
        self.queue.push_back(match stimulus {
            Stimulus::Frame { bytes, bad_fcs } => {
                let mut copy = self.spare.pop().unwrap_or_default();
                copy.extend_from_slice(bytes);
                self.queued_bytes += bytes.len();
                Item::Frame { bytes: copy, bad_fcs }
            }
            Stimulus::Token { queue, kind } => Item::Token { queue, kind },
        });
    }

    /// Items and bytes that wait behind the ports.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.queue.len(), self.queued_bytes)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.frame.is_none() && self.token.is_none()
    }

    /// What waits at the ports, for the watchdog's error.
    pub(crate) fn describe(&self) -> Option<&'static str> {
        match (self.beat_valid, self.token_valid) {
            (true, true) => Some("s_axis and s_token wait for ready"),
            (true, false) => Some("s_axis waits for tready"),
            (false, true) => Some("s_token waits for ready"),
            (false, false) => None,
        }
    }

    /// Moves stimulus to the ports, in order.
    fn fetch(&mut self) {
        match (self.queue.front(), &self.frame, self.token) {
            (Some(Item::Frame { .. }), None, token) if token.is_none() || self.token_leads => {
                if let Some(Item::Frame { bytes, bad_fcs }) = self.queue.pop_front() {
                    self.queued_bytes -= bytes.len();
                    self.frame = Some(Current { bytes, bad_fcs, offset: 0 });
                }
            }
            (Some(&Item::Token { queue, kind }), frame, None)
                if frame.as_ref().is_none_or(|f| f.offset > 0) =>
            {
                self.token_leads = frame.is_none();
                self.token = Some((queue, kind));
                self.queue.pop_front();
            }
            _ => {}
        }
    }

    /// Before the cycle settles: offers what is to be offered.
    pub(crate) fn present(&mut self, dut: &mut Dut) {
        self.fetch();
        // Tokens need idle cycles where tready may not fall: it is low in the cycle of a token.
        let token_may = self.lossless || !self.ordered || (self.token_leads && !self.beat_valid);
        if !self.token_valid
            && token_may
            && let Some((queue, kind)) = self.token
            && !self.token_stall.pause()
        {
            dut.set(self.ports.token_queue, queue.into());
            dut.set(self.ports.token_kind, kind.code().into());
            dut.set(self.ports.token_valid, 1);
            self.token_valid = true;
        }
        // A frame behind a token may be offered no sooner than the token.
        let waits = self.ordered
            && (self.token.is_some() && self.token_leads && !self.token_valid
                || self.token_valid && !self.lossless);
        if !self.beat_valid && self.frame.is_some() && !waits && !self.beat_stall.pause() {
            self.present_beat(dut);
        }
    }

    fn present_beat(&mut self, dut: &mut Dut) {
        let Some(Current { bytes, bad_fcs, offset }) = &self.frame else { return };
        let rest = &bytes[*offset..];
        let count = rest.len().min(self.width_bytes);
        let last = count == rest.len();
        let data = dut.bytes_mut(self.ports.data);
        data[..count].copy_from_slice(&rest[..count]);
        let noise = if last { self.garbage.next() } else { 0 };
        data[count..].fill(noise as u8);
        let keep = u64::MAX >> (64 - count);
        // Only the last beat's tuser counts.
        let user = if last { *bad_fcs } else { self.garbage.next() & 1 != 0 };
        dut.set(self.ports.keep, keep);
        dut.set(self.ports.last, last.into());
        dut.set(self.ports.user, user.into());
        dut.set(self.ports.valid, 1);
        self.beat_valid = true;
    }

    /// After the cycle settled: what the hardware takes at the edge.
    pub(crate) fn accept(&mut self, dut: &Dut) -> Result<Taken, Error> {
        let mut taken = Taken::default();
        let token = self.token_valid && dut.read(self.ports.token_ready) != 0;
        let ready = dut.read(self.ports.ready) != 0;
        if !ready && self.started && !self.lossless && self.ordered && !self.token_valid {
            let what = "tready fell, though built without back-pressure";
            return Err(violation(dut, "s_axis", what));
        }
        self.started |= ready;
        let beat = self.beat_valid && ready;
        if beat {
            let first = self.frame.as_ref().is_some_and(|f| f.offset == 0);
            if self.ordered && self.token_valid && self.token_leads && !token && first {
                return Err(violation(dut, "s_axis", "a frame overtook the token before it"));
            }
            taken.beat = true;
            taken.frame = self.advance();
        }
        if token {
            if self.ordered && !self.token_leads && self.frame.is_some() {
                return Err(violation(dut, "s_token", "ready inside a frame"));
            }
            taken.token = true;
            (self.token, self.token_valid, self.token_leads) = (None, false, false);
        }
        Ok(taken)
    }

    /// Steps over a beat that was taken; true if it was the frame's last.
    fn advance(&mut self) -> bool {
        self.beat_valid = false;
        let Some(frame) = &mut self.frame else { return false };
        frame.offset += self.width_bytes;
        if frame.offset < frame.bytes.len() {
            return false;
        }
        if let Some(mut done) = self.frame.take() {
            done.bytes.clear();
            self.spare.push(done.bytes);
        }
        // A token that was offered beside this frame now is the first in line.
        self.token_leads = self.token.is_some();
        true
    }

    /// After the edge: withdraws what was taken.
    pub(crate) fn withdraw(&mut self, dut: &mut Dut, taken: Taken) {
        if taken.beat {
            dut.set(self.ports.valid, 0);
            dut.set(self.ports.last, 1);
            dut.set(self.ports.user, 1);
        }
        if taken.token {
            dut.set(self.ports.token_valid, 0);
        }
    }

    /// In reset nothing may be taken.
    pub(crate) fn check_reset(&self, dut: &Dut) -> Result<(), Error> {
        for (port, name) in [(self.ports.ready, "s_axis"), (self.ports.token_ready, "s_token")] {
            // A queue of tokens may show its room: nothing is offered.
            let free = !self.ordered && port == self.ports.token_ready;
            if !free && dut.read(port) != 0 {
                return Err(violation(dut, name, "ready before reset ended"));
            }
        }
        Ok(())
    }
}
