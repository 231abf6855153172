//! Random traffic: valid, borderline and broken frames, and flush tokens, all from one seed.
//!
//!   seed ─► segment (configuration, load) ─► flows ─► frame ─► at most two changes ─► bytes
//!                                       └─► odd frames, tokens
//!
//! Invariants: equal seeds give equal items (`a_seed_gives_the_same_items`); every EndReason,
//! AloneReason and DropReason comes up, as full runs assert (`model_and_hardware_agree_at_w512`).
//! Not here: what should happen to a frame.

pub mod collide;
pub mod flow;
pub mod frames;
pub mod odd;
pub mod packet;
pub mod random;
pub mod segment;
pub mod twist;

use flow::{Flow, Numbering};
use groove_model::Config;
use groove_spec::{MAX_FRAME_BYTES, TokenKind};
use random::Rng;
use segment::{Load, STATIONS, Scope};
use std::collections::VecDeque;

/// One thing that the receive path takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A frame.
    Frame {
        /// From the destination address on, without FCS.
        bytes: Vec<u8>,
        /// The MAC marks the FCS as bad.
        bad_fcs: bool,
    },
    /// A flush token.
    Token {
        /// Queue.
        queue: u8,
        /// Kind.
        kind: TokenKind,
    },
}

/// An endless stretch of traffic under one configuration.
#[derive(Clone, Debug)]
pub struct Traffic {
    rng: Rng,
    config: Config,
    load: Load,
    frame_max: usize,
    flows: Vec<Flow>,
    /// Frames that a burst has made already.
    ready: VecDeque<Item>,
    /// Of 1,000 frames, how many are changed.
    twisted: usize,
    /// Of 1,000 bursts, how many are followed by a token.
    tokens: usize,
}

impl Traffic {
    /// Traffic of a seed for a device of so many queues; the configuration is part of what is
    /// drawn.
    pub fn new(seed: u64, queues: u8, scope: Scope) -> Self {
        let mut rng = Rng::new(seed);
        let config = segment::config(&mut rng, queues, scope);
        let load = segment::load(&mut rng);
        Self::with(rng, config, load)
    }

    /// Traffic of a seed under a configuration that is given.
    pub fn under(seed: u64, config: Config) -> Self {
        let mut rng = Rng::new(seed);
        let load = segment::load(&mut rng);
        Self::with(rng, config, load)
    }

    fn with(mut rng: Rng, config: Config, load: Load) -> Self {
        let frame_max = config.max_frame_bytes.min(MAX_FRAME_BYTES);
        let payload_max = frame_max.saturating_sub(150).max(100);
        let (count, twins) = match load {
            Load::Trains => (rng.range(2, 40), 200),
            Load::Many => (rng.range(300, 3000), 100),
            Load::Twins => (rng.range(4, 30), 850),
            Load::Odd => (rng.range(2, 12), 300),
        };
        let mut flows: Vec<Flow> = Vec::with_capacity(count);
        for _ in 0..count {
            let flow = if !flows.is_empty() && rng.chance(twins) {
                let of = rng.below(flows.len());
                collide::twin(&mut rng, &flows[of], &config.rss)
            } else {
                Flow::new(&mut rng, &STATIONS, payload_max)
            };
            flows.push(flow);
        }
        let twisted = rng.pick(&[0, 60, 150, 300, 500]);
        let tokens = rng.pick(&[0, 5, 30, 100, 300]);
        Self { rng, config, load, frame_max, flows, ready: VecDeque::new(), twisted, tokens }
    }

    /// The configuration that the traffic was made for.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Tokens that end every session, in ascending order of queues.
    pub fn finish(&self) -> impl Iterator<Item = Item> + use<> {
        (0..self.config.queues).map(|queue| Item::Token { queue, kind: TokenKind::FlushAll })
    }

    fn frame(&mut self, bytes: Vec<u8>) {
        let bad_fcs = self.rng.chance(4);
        self.ready.push_back(Item::Frame { bytes, bad_fcs });
    }

    /// Makes the next few items.
    fn burst(&mut self) {
        let at = self.rng.below(self.flows.len());
        let odd = if self.load == Load::Odd { 600 } else { 60 };
        if self.rng.chance(odd) {
            let bytes = odd::frame(&mut self.rng, &self.flows[at], self.frame_max);
            self.frame(bytes);
        } else if self.rng.chance(8) && self.load != Load::Many {
            self.full_aggregate(at);
        } else {
            let frames = match self.load {
                Load::Many => self.rng.range(1, 2),
                _ => self.rng.pick(&[1, 1, 2, 3, 4, 6, 10, 16]),
            };
            for _ in 0..frames {
                self.flow_frame(at);
            }
        }
        if self.rng.chance(self.tokens) {
            let queue = self.rng.below(usize::from(self.config.queues)) as u8;
            let kind = TokenKind::ALL[self.rng.weighted(&[40, 30, 30])];
            self.ready.push_back(Item::Token { queue, kind });
        }
    }

    /// The flow's next frame, changed or not.
    fn flow_frame(&mut self, at: usize) {
        const PSH: u8 = 0x08;
        let (rng, flow) = (&mut self.rng, &mut self.flows[at]);
        let full = flow.segment_bytes;
        let payload_len = match rng.weighted(&[880, 50, 30, 20, 20]) {
            0 => full,
            1 => rng.range(1, full),
            2 => 0,
            3 => full + 1,
            _ => full + rng.range(1, 64),
        };
        let mut packet = flow.frame(rng, payload_len);
        if rng.chance(30) {
            flow::tcp(&mut packet).flags |= PSH;
        }
        let mut flipped = false;
        if rng.chance(self.twisted) {
            twist::twist(rng, &mut packet, flow);
            if rng.chance(100) {
                twist::twist(rng, &mut packet, flow);
            }
            flipped = rng.chance(60);
        }
        if rng.chance(3) {
            // Somebody else's frame comes in between, and this one is lost.
            return;
        }
        let mut bytes = packet.encode();
        if flipped {
            twist::flip(rng, &mut bytes);
        }
        self.frame(bytes);
    }

    /// Frames that fill an aggregate to the limit, or go over it by one byte.
    fn full_aggregate(&mut self, at: usize) {
        let (rng, flow) = (&mut self.rng, &mut self.flows[at]);
        // Frames as long as the device takes them, so that the limit is reached in few.
        let usual = (flow.segment_bytes, flow.numbering);
        flow.segment_bytes = (self.frame_max - 150).min(8960);
        flow.numbering = Numbering::Increment;
        let over = rng.pick(&[0, 0, 1, 2]);
        let mut frames = Vec::new();
        for payload_len in flow.full_aggregate(over) {
            frames.push(flow.frame(rng, payload_len).encode());
        }
        if rng.chance(500) {
            frames.push(flow.frame(rng, 1).encode());
        }
        (flow.segment_bytes, flow.numbering) = usual;
        for bytes in frames {
            self.ready.push_back(Item::Frame { bytes, bad_fcs: false });
        }
    }
}

impl Iterator for Traffic {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            self.burst();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_items() {
        let take = |seed| {
            let traffic = Traffic::new(seed, 4, Scope::Hardware);
            traffic.take(500).collect::<Vec<_>>()
        };
        assert_eq!(take(5), take(5));
        assert_ne!(take(5), take(6));
    }

    #[test]
    fn frames_stay_near_the_limits_of_the_device() {
        for seed in 0..30 {
            let mut traffic = Traffic::new(seed, 4, Scope::Model);
            assert!(traffic.config().check().is_ok());
            for item in traffic.by_ref().take(2000) {
                let Item::Frame { bytes, .. } = item else { continue };
                assert!((1..=MAX_FRAME_BYTES + 65).contains(&bytes.len()), "{}", bytes.len());
            }
            assert_eq!(traffic.finish().count(), 4);
        }
    }
}
