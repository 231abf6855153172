//! coalesce: holds TCP sessions and merges what continues them.
//!
//!   frame ─► path ─► bypass ─────────────────────────────► ALONE
//!              └──► candidate ─► first session ─┬─ none ───► ALONE, or (evict and) OPEN
//!                                of its flow    ├─ merges ─► APPEND (then CLOSE)
//!                                in the bucket  └─ not ────► CLOSE, then ALONE or OPEN
//!   token ─► tick, or CLOSE of all or of old sessions
//!
//! Follows: kernel `dev_gro_receive`, `gro_list_prepare`, `napi_gro_flush`, `tcp_gro_receive`
//! (7.3).
//!
//! Decisions, the same in hardware:
//! - Bucket: hash & (buckets - 1). Newest session first; a merge does not refresh. 8 x 8 per queue.
//! - Same flow: equal hash, equal stripped tag (protocol and TCI, or none), and equal bytes where
//!   `path` says so: MAC header, tags, IP addresses and protocol (IPv6: version, flow label,
//!   extension headers too), ports. The bytes are compared at the *new* frame's positions. The
//!   first such session in list order counts.
//! - A candidate that merges ends the session if it carried URG, PSH, RST, SYN or FIN (reason
//!   flags, before short), or if it is shorter than gso_size.
//! - A candidate that does not merge, or finds no session, is delivered alone if it has no payload
//!   (empty), else one of those flags (flags), else soft flush; otherwise held. What it met is
//!   closed first.
//! - A full bucket closes its oldest (reason evicted) before the newcomer is held.
//! - Tick: +1, wrapping at 16 bits. A session keeps the tick at which it opened. Flush-old: per
//!   bucket from the oldest, stops at the first whose tick is the current one. Flush-all: buckets
//!   in order, oldest first.
//! - `strict_order`: before a bypassed frame with `l4_kind` TCP is delivered, the first session
//!   (list order) of equal hash and tag whose MAC header, tags, addresses, protocol and ports equal
//!   the frame's, at the positions at which *parse* found them in the frame, is closed. A frame
//!   with IPv4 options has its ports elsewhere: it meets no session, and none is looked for.
//!
//! Invariants: frames in = delivered + held (test: `nothing_is_lost`); a session never outlives a
//! flush-all (test: `flush_all_empties_the_queue`); depth and limit hold (tests:
//! `ninth_flow_evicts_the_oldest`, `merges_up_to_65535_bytes`).
//! Not here: hardware GRO below, BIG TCP, UDP merging.

pub mod decide;
pub mod output;
pub mod path;

use groove_spec::{AloneReason, CsumState, Delivery, EndReason, TokenKind};

use crate::stages::admit::Csum;
use crate::stages::parse::{L3Kind, L4Kind, Parsed};
use crate::{Config, Event, GivenCsum, Stats};
use decide::{Held, decide};
use path::Candidate;

/// URG, PSH, RST, SYN, FIN: any of them ends a session, and keeps a frame from opening one.
const ENDING_FLAGS: u8 = 0x2f;

/// A frame as coalesce takes it: `delivery` is what it would be if delivered alone.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The frame and its metadata.
    pub delivery: Delivery,
    /// Where its headers are.
    pub parsed: Parsed,
    /// Checksum state with which it enters.
    pub csum: Csum,
}

#[derive(Clone, Debug)]
struct Session {
    delivery: Delivery,
    flow: Candidate,
    segs: u16,
    gso_size: usize,
    fixed: u8,
    tick: u16,
    wire_bytes: u64,
}

#[derive(Clone, Debug)]
struct Queue {
    tick: u16,
    /// Newest first in each.
    buckets: Vec<Vec<Session>>,
}

/// Sessions of all queues.
#[derive(Clone, Debug)]
pub struct Coalescer {
    queues: Vec<Queue>,
}

impl Coalescer {
    /// Nothing held, all ticks 0.
    pub fn new(config: &Config) -> Self {
        let queue = Queue { tick: 0, buckets: vec![Vec::new(); config.buckets] };
        Self { queues: vec![queue; usize::from(config.queues)] }
    }

    /// What the session holds that took frame `number` last.
    pub fn session_of(&self, queue: u8, number: u32) -> Option<&Delivery> {
        let sessions = self.queues.get(usize::from(queue))?.buckets.iter().flatten();
        sessions.map(|held| &held.delivery).find(|held| held.frames.last() == Some(&number))
    }

    /// Takes one frame.
    pub fn frame(
        &mut self,
        config: &Config,
        mut incoming: Incoming,
        stats: &mut Stats,
        out: &mut Vec<Event>,
    ) {
        let queue = &mut self.queues[usize::from(incoming.delivery.queue)];
        let bucket = incoming.delivery.hash as usize & (config.buckets - 1);
        let visible = incoming.parsed.visible_bytes;
        let (candidate, csum) = path::run(config, &incoming.delivery.bytes, visible, incoming.csum);
        set_csum(&mut incoming.delivery, csum);
        let mut bucket =
            Bucket { config, tick: queue.tick, list: &mut queue.buckets[bucket], stats, out };
        match candidate {
            Some(flow) => bucket.candidate(incoming.delivery, flow),
            None => bucket.bypass(incoming),
        }
    }

    /// Takes one token; a queue that does not exist has nothing to do.
    pub fn token(
        &mut self,
        config: &Config,
        queue: u8,
        kind: TokenKind,
        stats: &mut Stats,
        out: &mut Vec<Event>,
    ) {
        let Some(queue) = self.queues.get_mut(usize::from(queue)) else { return };
        let tick = queue.tick;
        let reason = match kind {
            TokenKind::Tick => {
                queue.tick = tick.wrapping_add(1);
                return;
            }
            TokenKind::FlushAll => EndReason::FlushAll,
            TokenKind::FlushOld => EndReason::FlushOld,
        };
        for list in &mut queue.buckets {
            let mut bucket = Bucket { config, tick, list, stats, out };
            while let Some(oldest) = bucket.list.last() {
                if kind == TokenKind::FlushOld && oldest.tick == tick {
                    break;
                }
                bucket.close(bucket.list.len() - 1, reason);
            }
        }
    }
}

fn set_csum(delivery: &mut Delivery, csum: Csum) {
    match csum.state {
        GivenCsum::None => {}
        GivenCsum::Unnecessary => {
            delivery.csum = CsumState::Unnecessary;
            delivery.csum_level = csum.level;
        }
        GivenCsum::Partial { start, offset } => {
            delivery.csum = CsumState::Partial;
            delivery.csum_start = start;
            delivery.csum_offset = offset;
        }
    }
}

/// Equal where the mask has bits; a byte that is not there counts as 0.
fn equal_under(mask: &[u8], a: &[u8], b: &[u8]) -> bool {
    let byte = |bytes: &[u8], i: usize| bytes.get(i).copied().unwrap_or(0);
    mask.iter().enumerate().all(|(i, m)| (byte(a, i) ^ byte(b, i)) & m == 0)
}

/// Identity of a frame that cannot merge, for `strict_order`: of the headers that parse found.
fn bypass_identity(parsed: &Parsed) -> Vec<u8> {
    let mut mask = vec![0; parsed.l4_off + 4];
    mask[..parsed.l3_off].fill(0xff);
    mask[parsed.l4_off..].fill(0xff);
    match parsed.l3_kind {
        L3Kind::None => {}
        L3Kind::Ipv4 => {
            mask[parsed.l3_off + 9] = 0xff;
            mask[parsed.l3_off + 12..parsed.l3_off + 20].fill(0xff);
        }
        L3Kind::Ipv6 => {
            mask[parsed.l3_off..parsed.l3_off + 4].copy_from_slice(&[0xf0, 0x0f, 0xff, 0xff]);
            mask[parsed.l3_off + 6] = 0xff;
            mask[parsed.l3_off + 8..parsed.l4_off].fill(0xff);
        }
    }
    mask
}

/// One bucket while it takes a frame or a token.
struct Bucket<'a> {
    config: &'a Config,
    tick: u16,
    list: &'a mut Vec<Session>,
    stats: &'a mut Stats,
    out: &'a mut Vec<Event>,
}

impl Bucket<'_> {
    /// First session of the frame's flow, in list order.
    fn find(&mut self, frame: &Delivery, identity: &[u8], count: bool) -> Option<usize> {
        for (i, held) in self.list.iter().enumerate() {
            if held.delivery.hash != frame.hash {
                continue;
            }
            if held.delivery.vlan == frame.vlan
                && equal_under(identity, &held.delivery.bytes, &frame.bytes)
            {
                return Some(i);
            }
            self.stats.equal_hash_meetings += u64::from(count);
        }
        None
    }

    fn bypass(&mut self, incoming: Incoming) {
        let parsed = &incoming.parsed;
        // What lies behind IPv4 options is not where a session has its ports.
        let options = parsed.l3_kind == L3Kind::Ipv4 && parsed.l4_off != parsed.l3_off + 20;
        if self.config.options.strict_order && parsed.l4_kind == L4Kind::Tcp && !options {
            let identity = bypass_identity(&incoming.parsed);
            if let Some(i) = self.find(&incoming.delivery, &identity, false) {
                self.close(i, EndReason::StrictOrder);
            }
        }
        self.alone(incoming.delivery, AloneReason::Bypass);
    }

    fn candidate(&mut self, mut frame: Delivery, flow: Candidate) {
        frame.hdr_len = flow.payload_off as u16;
        if let Some(i) = self.find(&frame, &flow.identity, true) {
            let held = self.list[i].held();
            match decide(self.config.profile, &held, &flow, &frame.bytes) {
                Ok(fixed) => return self.append(i, fixed, &frame, &flow),
                Err(reason) => self.close(i, reason),
            }
        }
        let payload = frame.bytes.len() - flow.payload_off;
        if payload == 0 {
            self.alone(frame, AloneReason::Empty);
        } else if frame.bytes[flow.tcp_off + 13] & ENDING_FLAGS != 0 {
            self.alone(frame, AloneReason::Flags);
        } else if flow.soft_flush {
            self.alone(frame, AloneReason::SoftFlush);
        } else {
            self.open(frame, flow, payload);
        }
    }

    fn append(&mut self, i: usize, fixed: u8, frame: &Delivery, flow: &Candidate) {
        let held = &mut self.list[i];
        let payload = &frame.bytes[flow.payload_off..];
        let flags = frame.bytes[flow.tcp_off + 13];
        held.segs += 1;
        held.fixed = fixed;
        held.wire_bytes += frame.bytes.len() as u64;
        held.delivery.frames.extend(&frame.frames);
        held.delivery.bytes.extend(payload);
        // FIN and PSH alone can differ from the first frame's.
        held.delivery.bytes[flow.tcp_off + 13] |= flags;
        self.stats.held_frames += 1;
        if flags & ENDING_FLAGS != 0 {
            self.close(i, EndReason::Flags);
        } else if payload.len() < held.gso_size {
            self.close(i, EndReason::Short);
        }
    }

    fn open(&mut self, frame: Delivery, flow: Candidate, gso_size: usize) {
        if self.list.len() >= self.config.depth {
            self.stats.evictions += 1;
            self.close(self.list.len() - 1, EndReason::Evicted);
        }
        let wire_bytes = frame.bytes.len() as u64;
        let (delivery, tick) = (frame, self.tick);
        self.list
            .insert(0, Session { delivery, flow, segs: 1, gso_size, fixed: 0, tick, wire_bytes });
        self.stats.held += 1;
        self.stats.held_frames += 1;
    }

    fn alone(&mut self, mut frame: Delivery, reason: AloneReason) {
        frame.alone_reason = reason;
        self.stats.alones[usize::from(reason.code())] += 1;
        self.deliver(frame);
    }

    fn close(&mut self, i: usize, reason: EndReason) {
        let Session { mut delivery, flow, segs, gso_size, fixed, wire_bytes, .. } =
            self.list.remove(i);
        delivery.end_reason = reason;
        if segs > 1 {
            delivery.gso_size = gso_size as u16;
            delivery.gso_segs = segs;
            output::finish(self.config.profile, &flow, fixed, &mut delivery);
            self.stats.gro_packets += 1;
            self.stats.gro_wire_packets += u64::from(segs);
            self.stats.gro_bytes += delivery.bytes.len() as u64;
            self.stats.gro_wire_bytes += wire_bytes;
            let full = delivery.bytes.len() - 14 == groove_spec::MERGED_BYTES_MAX;
            self.stats.full_aggregates += u64::from(full);
        }
        self.stats.ends[usize::from(reason.code())] += 1;
        self.stats.held -= 1;
        self.stats.held_frames -= u64::from(segs);
        self.deliver(delivery);
    }

    fn deliver(&mut self, delivery: Delivery) {
        self.stats.deliveries += 1;
        self.stats.delivered_frames += delivery.frames.len() as u64;
        self.out.push(Event::Delivery(delivery));
    }
}

impl Session {
    fn held(&self) -> Held<'_> {
        Held {
            bytes: &self.delivery.bytes,
            payload_off: self.flow.payload_off,
            segs: self.segs,
            gso_size: self.gso_size,
            fixed: self.fixed,
        }
    }
}

#[cfg(test)]
#[path = "coalesce_tests.rs"]
mod tests;
