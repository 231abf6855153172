//! The golden model: what the hardware means, as pure functions without clock and bus width.
//!
//!   frame ─► ingress ─► parse ─► checksum ─► classify ─► rss ─► admit ─► coalesce ─► deliveries
//!   token ──────────────────────────────────────────────────────────────────┘
//!
//! Each stage is one file in `stages`; [`Model::frame`] folds them. State exists in coalesce alone:
//! the held sessions and one tick per queue. A stripped tag is gone before parse looks at the
//! frame.
//!
//! Not here: buffers, rings, back-pressure. A frame that hardware drops for want of room is
//! replayed with [`Model::skip`].

mod bytes;
mod config;
mod event;
pub mod gso;
pub mod stages;
#[cfg(test)]
mod test_frames;

pub use config::{Config, ConfigError, Options, RssConfig};
pub use event::{Event, Frame, Given, GivenCsum, Stats};

use std::borrow::Cow;

use groove_spec::{
    AloneReason, CsumState, Delivery, DropReason, EndReason, PacketType, Tag, TokenKind,
};

use stages::checksum::Verdicts;
use stages::coalesce::{Coalescer, Incoming};
use stages::parse::{Parsed, TAGS_MAX};
use stages::rss::Steering;
use stages::{admit, checksum, classify, ingress, parse, rss};

/// The receive path: takes frames and tokens, gives deliveries and drops in order of completion.
#[derive(Clone, Debug)]
pub struct Model {
    config: Config,
    coalescer: Coalescer,
    stats: Stats,
}

/// Everything the stages in front of coalesce find out about a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    /// The frame, after strip and trim.
    pub bytes: Cow<'a, [u8]>,
    /// The tag that was stripped.
    pub vlan: Option<Tag>,
    /// Where its headers are.
    pub parsed: Parsed,
    /// Checksum verdicts.
    pub verdicts: Verdicts,
    /// Class of the destination address.
    pub packet_type: PacketType,
    /// Protocol.
    pub protocol: u16,
    /// Hash and queue.
    pub steering: Steering,
    /// Padding, truncation or the reserved fragment bit of the outer IP header.
    pub soft_flush: bool,
}

/// Runs parse, checksum, classify, rss and admit on a frame that ingress let through.
pub fn look<'a>(config: &Config, frame: &Frame<'a>) -> Seen<'a> {
    let stripped = match frame.given {
        None if config.options.vlan_strip => classify::strip(frame.bytes),
        _ => None,
    };
    let tag_bytes = if stripped.is_some() { 4 } else { 0 };
    let (vlan, mut bytes) = match stripped {
        Some((tag, rest)) => (Some(tag), Cow::Owned(rest)),
        None => (frame.given.and_then(|g| g.vlan), Cow::Borrowed(frame.bytes)),
    };
    let visible = config.max_header_bytes.map_or(usize::MAX, |max| max - tag_bytes);
    let tags_max = if config.max_header_bytes.is_some() { TAGS_MAX } else { usize::MAX };
    let parsed = parse::run(&bytes, visible, tags_max, config.options.trim_pad);
    match &mut bytes {
        Cow::Borrowed(bytes) => *bytes = &bytes[..parsed.frame_bytes],
        Cow::Owned(bytes) => bytes.truncate(parsed.frame_bytes),
    }
    let mut steering = rss::run(&config.rss, config.queues, &bytes, &parsed);
    if let Some(hash) = frame.given.and_then(|g| g.hash) {
        steering.hash = hash;
        steering.queue = rss::queue(&config.rss, config.queues, hash, steering.hash_type);
    }
    Seen {
        verdicts: checksum::run(&bytes, &parsed),
        packet_type: classify::packet_type(&config.station, &bytes),
        protocol: classify::protocol(&bytes),
        soft_flush: admit::soft_flush(&bytes, &parsed),
        vlan,
        parsed,
        steering,
        bytes,
    }
}

impl Model {
    /// A model with nothing held and all ticks at 0.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let coalescer = Coalescer::new(&config);
        Ok(Self { config, coalescer, stats: Stats::default() })
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Takes the next frame; frames are numbered from 0 in order of arrival.
    pub fn frame(&mut self, frame: Frame, out: &mut Vec<Event>) {
        if let Some(reason) = ingress::run(&self.config, &frame) {
            return self.skip(reason, out);
        }
        let number = self.stats.frames as u32;
        self.stats.frames += 1;
        let seen = look(&self.config, &frame);
        let csum = admit::entry_csum(self.config.options.rxcsum, &seen.verdicts, frame.given);
        let parsed = seen.parsed;
        let incoming = Incoming { delivery: unmerged(number, seen), parsed, csum };
        self.coalescer.frame(&self.config, incoming, &mut self.stats, out);
    }

    /// Takes a frame that the hardware dropped: it uses up a number and changes nothing else.
    pub fn skip(&mut self, reason: DropReason, out: &mut Vec<Event>) {
        out.push(Event::Drop { frame: self.stats.frames as u32, reason });
        self.stats.frames += 1;
        self.stats.drops[usize::from(reason.code())] += 1;
    }

    /// Takes a token for one queue; a queue that does not exist has nothing to flush.
    pub fn token(&mut self, queue: u8, kind: TokenKind, out: &mut Vec<Event>) {
        self.coalescer.token(&self.config, queue, kind, &mut self.stats, out);
    }

    /// Queue that the frame would go to, without a change of state; 0 for a frame that ingress
    /// drops.
    pub fn steer(&self, bytes: &[u8]) -> u8 {
        let frame = Frame::new(bytes);
        match ingress::run(&self.config, &frame) {
            Some(_) => 0,
            None => look(&self.config, &frame).steering.queue,
        }
    }

    /// What the session holds that took frame `number` last, as far as it has come.
    pub fn session_of(&self, queue: u8, number: u32) -> Option<&Delivery> {
        self.coalescer.session_of(queue, number)
    }

    /// Takes over what registers change at run time: all of `config` but queues, buckets and depth.
    /// Held sessions stay; the rules that decide about them are the new ones.
    pub fn reconfigure(&mut self, config: &Config) {
        let Config { queues, buckets, depth, .. } = self.config;
        self.config = Config { queues, buckets, depth, ..config.clone() };
    }

    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}

/// The frame as it is delivered when nothing merges, before the checksum state is known.
fn unmerged(number: u32, seen: Seen) -> Delivery {
    Delivery {
        queue: seen.steering.queue,
        frames: vec![number],
        bytes: seen.bytes.into_owned(),
        hdr_len: seen.parsed.hdr_len as u16,
        hash: seen.steering.hash,
        hash_type: seen.steering.hash_type,
        vlan: seen.vlan,
        packet_type: seen.packet_type,
        protocol: seen.protocol,
        csum: CsumState::None,
        csum_level: 0,
        csum_start: 0,
        csum_offset: 0,
        l3_verdict: seen.verdicts.l3,
        l4_verdict: seen.verdicts.l4,
        gso_size: 0,
        gso_segs: 0,
        gso_type: 0,
        encapsulation: false,
        end_reason: EndReason::None,
        alone_reason: AloneReason::None,
    }
}
