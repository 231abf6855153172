//! Comparison of deliveries: differences by field name, and of two engines as streams.
//!
//!   expected ──► queue ─┐
//!                       ├─► equal pairs, or the first difference
//!   found ─────► queue ─┘
//!
//! Invariants: every field of `Delivery` is compared (`every_field_is_compared`); memory is bounded by the
//! lag between the engines (`a_missing_delivery_is_found_without_waiting_for_the_end`).

use std::collections::VecDeque;
use std::fmt;

use groove_model::Event;
use groove_spec::{Delivery, DropReason, Tag};

/// Most deliveries or drops that one engine may be ahead of the other. A pipeline holds far fewer frames.
const LAG_MAX: usize = 65_536;

/// One field in which two deliveries differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the field, as in `groove_spec::Delivery`; of bytes with their position, as `bytes[34]`.
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

/// All fields in which two deliveries differ, the most telling first: which frames, then how they were
/// merged, then bytes and metadata.
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

/// Where a byte of a delivery came from: index into `frames`, and position in that frame as it was received.
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
