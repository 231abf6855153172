//! Comparison of deliveries: differences by field name, and of two engines as streams.
//!
//!   expected ──► queue ─┐
//!                       ├─► equal pairs, or the first difference
//!   found ─────► queue ─┘
//!
//! Invariants: every field of `Delivery` is compared (`every_field_is_compared`); memory is bounded
//! by the lag between the engines (`a_missing_delivery_is_found_without_waiting_for_the_end`).

use std::collections::VecDeque;
use std::fmt;

use groove_model::Event;
use groove_spec::{Delivery, DropReason, Tag};

/// Most deliveries or drops that one engine may be ahead of the other. A pipeline holds far fewer
/// frames.
const LAG_MAX: usize = 65_536;

/// One field in which two deliveries differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the field, as in `groove_spec::Delivery`; of bytes with their position, as
    /// `bytes[34]`.
    pub field: String,
    /// What the reference says.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Position in the delivery, when bytes differ.
    pub position: Option<usize>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.field, self.expected, self.found)
    }
}

/// All fields in which two deliveries differ, the most telling first: which frames, then how they
/// were merged, then bytes and metadata.
pub fn differences(expected: &Delivery, found: &Delivery) -> Vec<Difference> {
    let mut list = Fields(Vec::new());
    list.check("queue", expected.queue, found.queue);
    list.check_text("frames", frames(&expected.frames), frames(&found.frames));
    list.check("end_reason", expected.end_reason.name(), found.end_reason.name());
    list.check("alone_reason", expected.alone_reason.name(), found.alone_reason.name());
    list.check("gso_size", expected.gso_size, found.gso_size);
    list.check("gso_segs", expected.gso_segs, found.gso_segs);
    let gso =
        |d: &Delivery| format!("0x{:x} {}", d.gso_type, crate::capture::gso_names(d.gso_type));
    list.check_text("gso_type", gso(expected), gso(found));
    list.check("encapsulation", expected.encapsulation, found.encapsulation);
    list.check("hdr_len", expected.hdr_len, found.hdr_len);
    list.check("len", expected.bytes.len(), found.bytes.len());
    list.check_bytes(&expected.bytes, &found.bytes);
    let hash = |d: &Delivery| format!("0x{:08x}", d.hash);
    list.check_text("hash", hash(expected), hash(found));
    list.check("hash_type", expected.hash_type.name(), found.hash_type.name());
    list.check_text("vlan", vlan(expected.vlan), vlan(found.vlan));
    list.check("packet_type", expected.packet_type.name(), found.packet_type.name());
    let protocol = |d: &Delivery| format!("0x{:04x}", d.protocol);
    list.check_text("protocol", protocol(expected), protocol(found));
    let csum = |d: &Delivery| format!("{:?}", d.csum).to_lowercase();
    list.check_text("csum", csum(expected), csum(found));
    list.check("csum_level", expected.csum_level, found.csum_level);
    list.check("csum_start", expected.csum_start, found.csum_start);
    list.check("csum_offset", expected.csum_offset, found.csum_offset);
    list.check("l3_verdict", expected.l3_verdict.name(), found.l3_verdict.name());
    list.check("l4_verdict", expected.l4_verdict.name(), found.l4_verdict.name());
    list.0
}

struct Fields(Vec<Difference>);

impl Fields {
    fn check<T: PartialEq + fmt::Display>(&mut self, field: &str, expected: T, found: T) {
        if expected != found {
            self.check_text(field, expected.to_string(), found.to_string());
        }
    }

    fn check_text(&mut self, field: &str, expected: String, found: String) {
        if expected != found {
            let field = field.to_owned();
            self.0.push(Difference { field, expected, found, position: None });
        }
    }

    fn check_bytes(&mut self, expected: &[u8], found: &[u8]) {
        let Some(at) = expected.iter().zip(found).position(|(e, f)| e != f) else { return };
        self.0.push(Difference {
            field: format!("bytes[{at}]"),
            expected: format!("0x{:02x}", expected[at]),
            found: format!("0x{:02x}", found[at]),
            position: Some(at),
        });
    }
}

/// Frame numbers as runs: `3..7 9`.
pub fn frames(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(n) => *last = n,
            _ => runs.push((n, n)),
        }
    }
    let text = |&(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}..{b}") };
    runs.iter().map(text).collect::<Vec<_>>().join(" ")
}

fn vlan(tag: Option<Tag>) -> String {
    tag.map_or_else(|| "none".to_owned(), |t| format!("0x{:04x} 0x{:04x}", t.tpid, t.tci))
}

/// Where a byte of a delivery came from: index into `frames`, and position in that frame as it was
/// received.
pub fn source(delivery: &Delivery, position: usize) -> (usize, usize) {
    let header = usize::from(delivery.hdr_len);
    // A stripped tag stood behind the addresses.
    let tag = |at: usize| if delivery.vlan.is_some() && at >= 12 { at + 4 } else { at };
    let size = usize::from(delivery.gso_size);
    if position < header || size == 0 {
        return (0, tag(position));
    }
    let payload = position - header;
    let last = delivery.frames.len().saturating_sub(1);
    let index = (payload / size).min(last);
    (index, tag(header + payload - index * size))
}

/// How two engines differ.
#[derive(Clone, Debug)]
pub enum Mismatch {
    /// Two deliveries that should be equal.
    Delivery {
        /// The reference.
        expected: Box<Delivery>,
        /// The other one.
        found: Box<Delivery>,
        /// All differences, at least one.
        fields: Vec<Difference>,
    },
    /// Only one engine delivered.
    Unpaired {
        /// The delivery.
        delivery: Box<Delivery>,
        /// Whether it is one that the reference expects.
        missing: bool,
    },
    /// Dropped frames differ; `None` where an engine dropped nothing more.
    Drop {
        /// The reference.
        expected: Option<(u32, DropReason)>,
        /// The other one.
        found: Option<(u32, DropReason)>,
    },
}

impl Mismatch {
    /// First frame of what the engine held against the reference gave, if it gave anything.
    pub fn found(&self) -> Option<u32> {
        match self {
            Self::Delivery { found: delivery, .. }
            | Self::Unpaired { delivery, missing: false } => delivery.frames.first().copied(),
            Self::Unpaired { missing: true, .. } => None,
            Self::Drop { found, .. } => found.map(|(frame, _)| frame),
        }
    }

    /// The frames that it is about.
    pub fn frames(&self) -> Vec<u32> {
        let mut frames = match self {
            Self::Delivery { expected, found, .. } => {
                [&expected.frames[..], &found.frames].concat()
            }
            Self::Unpaired { delivery, .. } => delivery.frames.clone(),
            Self::Drop { expected, found } => {
                expected.iter().chain(found).map(|(frame, _)| *frame).collect()
            }
        };
        frames.sort_unstable();
        frames.dedup();
        frames
    }
}

/// Two streams of events, compared as they come.
#[derive(Debug, Default)]
pub struct Comparison {
    expected: Side,
    found: Side,
}

#[derive(Debug, Default)]
struct Side {
    deliveries: VecDeque<Delivery>,
    drops: VecDeque<(u32, DropReason)>,
}

impl Side {
    fn push(&mut self, events: impl Iterator<Item = Event>) {
        for event in events {
            match event {
                Event::Delivery(delivery) => self.deliveries.push_back(delivery),
                Event::Drop { frame, reason } => self.drops.push_back((frame, reason)),
            }
        }
    }

    fn len(&self) -> usize {
        self.deliveries.len().max(self.drops.len())
    }
}

impl Comparison {
    /// Events of the reference.
    pub fn expect(&mut self, events: impl Iterator<Item = Event>) {
        self.expected.push(events);
    }

    /// Events of the other engine.
    pub fn find(&mut self, events: impl Iterator<Item = Event>) {
        self.found.push(events);
    }

    /// Moves every pair that is complete and equal to `out`, or stops at the first difference.
    pub fn settle(&mut self, out: &mut Vec<Event>) -> Result<(), Box<Mismatch>> {
        let (expected, found) = (&mut self.expected, &mut self.found);
        while !expected.drops.is_empty() && !found.drops.is_empty() {
            let pair = (expected.drops.pop_front(), found.drops.pop_front());
            match pair {
                (Some((frame, reason)), other) if other == pair.0 => {
                    out.push(Event::Drop { frame, reason });
                }
                (expected, found) => return Err(Box::new(Mismatch::Drop { expected, found })),
            }
        }
        while !expected.deliveries.is_empty() && !found.deliveries.is_empty() {
            let pair = expected.deliveries.pop_front().zip(found.deliveries.pop_front());
            let Some((expected, found)) = pair else { break };
            if expected == found {
                out.push(Event::Delivery(found));
                continue;
            }
            let fields = differences(&expected, &found);
            let (expected, found) = (Box::new(expected), Box::new(found));
            return Err(Box::new(Mismatch::Delivery { expected, found, fields }));
        }
        if self.expected.len().max(self.found.len()) > LAG_MAX {
            return self.finish();
        }
        Ok(())
    }

    /// Refuses whatever has no partner. Call after `settle`, when both engines are finished.
    pub fn finish(&mut self) -> Result<(), Box<Mismatch>> {
        for (side, missing) in [(&mut self.expected, true), (&mut self.found, false)] {
            if let Some(delivery) = side.deliveries.pop_front() {
                let delivery = Box::new(delivery);
                return Err(Box::new(Mismatch::Unpaired { delivery, missing }));
            }
        }
        match (self.expected.drops.pop_front(), self.found.drops.pop_front()) {
            (None, None) => Ok(()),
            (expected, found) => Err(Box::new(Mismatch::Drop { expected, found })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::{AloneReason, CsumState, EndReason, HashType, PacketType, Verdict};

    /// Two segments of 4 bytes behind a header of 54, its tag stripped.
    fn delivery() -> Delivery {
        Delivery {
            queue: 1,
            frames: vec![3, 4],
            bytes: vec![7; 62],
            hdr_len: 54,
            hash: 9,
            hash_type: HashType::Ipv4Tcp,
            vlan: Some(Tag { tpid: 0x8100, tci: 5 }),
            packet_type: PacketType::Host,
            protocol: 0x0800,
            csum: CsumState::Partial,
            csum_level: 0,
            csum_start: 34,
            csum_offset: 16,
            l3_verdict: Verdict::Good,
            l4_verdict: Verdict::Good,
            gso_size: 4,
            gso_segs: 2,
            gso_type: 1,
            encapsulation: false,
            end_reason: EndReason::Flags,
            alone_reason: AloneReason::None,
        }
    }

    #[test]
    fn every_field_is_compared() {
        // Destructured in full: a new field does not compile until it has a change here.
        let Delivery {
            queue: _,
            frames: _,
            bytes: _,
            hdr_len: _,
            hash: _,
            hash_type: _,
            vlan: _,
            packet_type: _,
            protocol: _,
            csum: _,
            csum_level: _,
            csum_start: _,
            csum_offset: _,
            l3_verdict: _,
            l4_verdict: _,
            gso_size: _,
            gso_segs: _,
            gso_type: _,
            encapsulation: _,
            end_reason: _,
            alone_reason: _,
        } = delivery();
        type Change = fn(&mut Delivery);
        let changes: [(&str, Change); 22] = [
            ("queue", |d| d.queue = 2),
            ("frames", |d| d.frames = vec![3, 5]),
            ("bytes[61]", |d| d.bytes[61] = 8),
            ("len", |d| d.bytes.truncate(61)),
            ("hdr_len", |d| d.hdr_len = 55),
            ("hash", |d| d.hash = 10),
            ("hash_type", |d| d.hash_type = HashType::Ipv4),
            ("vlan", |d| d.vlan = None),
            ("packet_type", |d| d.packet_type = PacketType::OtherHost),
            ("protocol", |d| d.protocol = 0x86dd),
            ("csum", |d| d.csum = CsumState::None),
            ("csum_level", |d| d.csum_level = 1),
            ("csum_start", |d| d.csum_start = 35),
            ("csum_offset", |d| d.csum_offset = 6),
            ("l3_verdict", |d| d.l3_verdict = Verdict::Bad),
            ("l4_verdict", |d| d.l4_verdict = Verdict::Bad),
            ("gso_size", |d| d.gso_size = 5),
            ("gso_segs", |d| d.gso_segs = 3),
            ("gso_type", |d| d.gso_type = 2),
            ("encapsulation", |d| d.encapsulation = true),
            ("end_reason", |d| d.end_reason = EndReason::Short),
            ("alone_reason", |d| d.alone_reason = AloneReason::Empty),
        ];
        assert!(differences(&delivery(), &delivery()).is_empty());
        for (field, change) in changes {
            let mut other = delivery();
            change(&mut other);
            let names: Vec<String> =
                differences(&delivery(), &other).into_iter().map(|d| d.field).collect();
            assert_eq!(names, [field]);
        }
    }

    #[test]
    fn a_difference_names_field_and_both_values() {
        let mut other = delivery();
        other.bytes[60] = 0xff;
        let list = differences(&delivery(), &other);
        assert_eq!(list[0].to_string(), "bytes[60]: expected 0x07, found 0xff");
        assert_eq!(list[0].position, Some(60));
    }

    #[test]
    fn a_byte_is_traced_to_its_frame() {
        let d = delivery();
        // Behind the addresses, everything stood 4 bytes later on the wire.
        assert_eq!(source(&d, 11), (0, 11));
        assert_eq!(source(&d, 12), (0, 16));
        assert_eq!(source(&d, 57), (0, 61));
        assert_eq!(source(&d, 58), (1, 58));
        assert_eq!(source(&d, 61), (1, 61));
        let alone = Delivery { gso_size: 0, gso_segs: 0, vlan: None, frames: vec![3], ..d };
        assert_eq!(source(&alone, 61), (0, 61));
    }

    #[test]
    fn frame_numbers_are_shown_as_runs() {
        assert_eq!(frames(&[1]), "1");
        assert_eq!(frames(&[1, 2, 3, 7, 9, 10]), "1..3 7 9..10");
        assert_eq!(frames(&[u32::MAX, 0]), "4294967295 0");
    }

    fn event(frame: u32) -> Event {
        Event::Delivery(Delivery { frames: vec![frame], ..delivery() })
    }

    fn drop(frame: u32) -> Event {
        Event::Drop { frame, reason: DropReason::Runt }
    }

    #[test]
    fn streams_are_equal_however_they_lag() {
        let mut comparison = Comparison::default();
        let mut out = Vec::new();
        comparison.expect([drop(0), event(1), event(2)].into_iter());
        comparison.settle(&mut out).unwrap();
        assert!(out.is_empty());
        // Drops and deliveries keep their own order only.
        comparison.find([event(1), drop(0)].into_iter());
        comparison.settle(&mut out).unwrap();
        assert_eq!(out, [drop(0), event(1)]);
        comparison.find([event(2)].into_iter());
        comparison.settle(&mut out).unwrap();
        assert_eq!(out.len(), 3);
        assert!(comparison.finish().is_ok());
    }

    #[test]
    fn a_difference_of_streams_is_found() {
        let mut out = Vec::new();
        let mut comparison = Comparison::default();
        comparison.expect([event(1)].into_iter());
        comparison.find([event(2)].into_iter());
        let mismatch = comparison.settle(&mut out).unwrap_err();
        assert_eq!(mismatch.frames(), [1, 2]);
        let mut comparison = Comparison::default();
        comparison.expect([drop(1)].into_iter());
        comparison.find([drop(2)].into_iter());
        assert!(comparison.settle(&mut out).is_err());
        for missing in [true, false] {
            let mut comparison = Comparison::default();
            let one = [event(5)].into_iter();
            if missing {
                comparison.expect(one)
            } else {
                comparison.find(one)
            }
            comparison.settle(&mut out).unwrap();
            let Err(mismatch) = comparison.finish() else { panic!("no partner, no difference") };
            let Mismatch::Unpaired { missing: said, .. } = *mismatch else {
                panic!("{mismatch:?}")
            };
            assert_eq!(said, missing);
        }
    }

    #[test]
    fn a_missing_delivery_is_found_without_waiting_for_the_end() {
        let mut comparison = Comparison::default();
        let mut out = Vec::new();
        let mut frames = 0..;
        let found = loop {
            let Some(frame) = frames.next() else { break None };
            comparison.expect([event(frame)].into_iter());
            if let Err(mismatch) = comparison.settle(&mut out) {
                break Some(mismatch);
            }
            assert!(frame as usize <= LAG_MAX);
        };
        assert_eq!(found.unwrap().frames(), [0]);
    }
}
