//! The report: counters per queue and in total, under the kernel's names where it has one, and the
//! first difference between two engines.
//!
//! Names that begin with `rx-` are those of the kernel's per-queue statistics (netdev netlink
//! family): a frame that was delivered alone counts in `rx-packets`, never in `rx-hw-gro-*`.

use std::collections::BTreeMap;

use groove_spec::{AloneReason, Delivery, DropReason, EndReason, OptionBit};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::ledger::Kept;
use super::{CutRule, Ledger, Pace, Setup};
use crate::capture;
use crate::compare::{self, Mismatch};
use crate::digest::Digest;

/// Counts of one queue, or of all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counters {
    /// Frames in the deliveries.
    pub frames: u64,
    /// Deliveries.
    pub deliveries: u64,
    /// Bytes of the deliveries.
    pub bytes: u64,
    /// Wire frames that reached the host.
    #[serde(rename = "rx-packets")]
    pub rx_packets: u64,
    /// Bytes of those.
    #[serde(rename = "rx-bytes")]
    pub rx_bytes: u64,
    /// Deliveries of more than one frame.
    #[serde(rename = "rx-hw-gro-packets")]
    pub gro_packets: u64,
    /// Bytes of those.
    #[serde(rename = "rx-hw-gro-bytes")]
    pub gro_bytes: u64,
    /// Frames in those.
    #[serde(rename = "rx-hw-gro-wire-packets")]
    pub gro_wire_packets: u64,
    /// Bytes of those frames, as received.
    #[serde(rename = "rx-hw-gro-wire-bytes")]
    pub gro_wire_bytes: u64,
    /// Why sessions ended.
    #[serde(serialize_with = "by_end")]
    pub end: [u64; EndReason::ALL.len()],
    /// Why frames were delivered alone.
    #[serde(serialize_with = "by_alone")]
    pub alone: [u64; AloneReason::ALL.len()],
}

impl Counters {
    /// Counts a delivery whose frames had `wire_bytes` bytes.
    pub fn add(&mut self, delivery: &Delivery, wire_bytes: u64) {
        let frames = delivery.frames.len() as u64;
        self.frames += frames;
        self.deliveries += 1;
        self.bytes += delivery.bytes.len() as u64;
        self.rx_packets += frames;
        self.rx_bytes += wire_bytes;
        if frames > 1 {
            self.gro_packets += 1;
            self.gro_bytes += delivery.bytes.len() as u64;
            self.gro_wire_packets += frames;
            self.gro_wire_bytes += wire_bytes;
        }
        match delivery.alone_reason {
            AloneReason::None => self.end[usize::from(delivery.end_reason.code())] += 1,
            reason => self.alone[usize::from(reason.code())] += 1,
        }
    }

    /// Frames per delivery, if there is one.
    pub fn ratio(&self) -> Option<f64> {
        (self.deliveries > 0).then(|| self.frames as f64 / self.deliveries as f64)
    }
}

/// Records that were not run as whole frames.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Skipped {
    /// Cut by the snap length.
    pub cut: u64,
    /// Without any byte.
    pub empty: u64,
}

/// Everything that a run counts. Serialised as it stands by `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the capture.
    pub capture: String,
    /// Engines.
    pub engine: String,
    /// `done`, `equal` or `different`.
    pub result: &'static str,
    /// Merge rules.
    pub profile: &'static str,
    /// Options that are on.
    pub options: Vec<&'static str>,
    /// Flush points, as on the command line.
    pub pace: String,
    /// Receive queues.
    pub queue_count: u8,
    /// Records read.
    pub records: u64,
    /// Records that are no whole frame.
    pub skipped: Skipped,
    /// What was done with cut frames: `skip` or `run`.
    pub cut_rule: &'static str,
    /// Frames that went in.
    pub frames: u64,
    /// Tokens that went in.
    pub tokens: u64,
    /// Frames dropped, by reason.
    #[serde(serialize_with = "by_drop")]
    pub drops: [u64; DropReason::ALL.len()],
    /// Frames per delivery.
    pub coalesce_ratio: Option<f64>,
    /// All queues together.
    pub total: Counters,
    /// Each queue that delivered anything.
    pub queues: BTreeMap<u8, Counters>,
    /// Digest of the deliveries.
    pub digest: Digest,
    /// Why the capture was not read to its end.
    pub damage: Option<String>,
    /// The first difference.
    pub mismatch: Option<Vec<String>>,
}

impl Report {
    /// Nothing counted yet.
    pub fn new(capture: &str, engine: String, setup: &Setup) -> Self {
        let options = &setup.config.options;
        let on = OptionBit::ALL.iter().filter(|option| options.value(**option));
        Self {
            capture: capture.to_owned(),
            engine,
            result: "done",
            profile: setup.config.profile.name(),
            options: on.map(|option| option.name()).collect(),
            pace: match setup.pace {
                Pace::Batch(frames) => format!("batch {frames}"),
                Pace::Ticks(length) => format!("ticks {} us", length.as_micros()),
            },
            queue_count: setup.config.queues,
            records: 0,
            skipped: Skipped::default(),
            cut_rule: match setup.cut {
                CutRule::Skip => "skip",
                CutRule::Run => "run",
            },
            frames: 0,
            tokens: 0,
            drops: [0; DropReason::ALL.len()],
            coalesce_ratio: None,
            total: Counters::default(),
            queues: BTreeMap::new(),
            digest: Digest::default(),
            damage: None,
            mismatch: None,
        }
    }

    /// Counts a dropped frame.
    pub fn drop(&mut self, reason: DropReason) {
        self.drops[usize::from(reason.code())] += 1;
    }

    /// Counts a delivery whose frames had `wire_bytes` bytes.
    pub fn delivery(&mut self, delivery: &Delivery, wire_bytes: u64) {
        self.digest.add(delivery);
        self.total.add(delivery, wire_bytes);
        self.queues.entry(delivery.queue).or_default().add(delivery, wire_bytes);
    }

    /// Writes down how it ended.
    pub fn close(&mut self, damage: Option<&capture::Error>, mismatch: Option<&MismatchReport>) {
        self.coalesce_ratio = self.total.ratio();
        self.damage = damage.map(ToString::to_string);
        self.mismatch = mismatch.map(|m| m.lines.clone());
        if self.engine.contains(" and ") {
            self.result = if mismatch.is_some() { "different" } else { "equal" };
        }
    }
}

/// A frame of the difference, and where the capture has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the frame, from 0.
    pub frame: u32,
    /// Number of its record, from 1.
    pub record: u64,
    /// Where the record starts in the file.
    pub offset: u64,
}

/// The first difference, ready to be shown.
#[derive(Debug)]
pub struct MismatchReport {
    /// The difference itself.
    pub mismatch: Mismatch,
    /// Where the frames came from.
    pub places: Vec<Place>,
    /// One difference a line, the first one first, then the places.
    pub lines: Vec<String>,
    /// Clock cycle in which it showed at the hardware.
    pub cycle: Option<u64>,
    /// Frames to look at: those of the queue, up to the last one of the difference.
    pub kept: Vec<Kept>,
}

impl MismatchReport {
    /// Finds the places of a difference.
    pub fn new(mismatch: Mismatch, cycle: Option<u64>, ledger: &mut Ledger) -> Self {
        let frames = mismatch.frames();
        let place = |frame: &u32| {
            let source = ledger.source(*frame)?;
            Some(Place { frame: *frame, record: source.record, offset: source.offset })
        };
        let places: Vec<Place> = frames.iter().filter_map(place).collect();
        let mut lines = differences(&mismatch);
        lines.extend(byte_place(&mismatch));
        lines.extend(places.first().map(|p| {
            format!("frame {} is record {} of the capture, at byte {}", p.frame, p.record, p.offset)
        }));
        let kept = frames.last().map(|last| ledger.recent(*last)).unwrap_or_default();
        Self { mismatch, places, lines, cycle, kept }
    }
}

fn differences(mismatch: &Mismatch) -> Vec<String> {
    let drop = |drop: &Option<(u32, DropReason)>| match drop {
        Some((frame, reason)) => format!("frame {frame} dropped as {}", reason.name()),
        None => "no further drop".to_owned(),
    };
    match mismatch {
        Mismatch::Delivery { fields, .. } => fields.iter().map(ToString::to_string).collect(),
        Mismatch::Unpaired { delivery, missing } => {
            let frames = compare::frames(&delivery.frames);
            let what = if *missing { "is missing" } else { "was not expected" };
            vec![format!("delivery of frames {frames} (queue {}) {what}", delivery.queue)]
        }
        Mismatch::Drop { expected, found } => {
            vec![format!("drop: expected {}, found {}", drop(expected), drop(found))]
        }
    }
}

/// Where the first differing byte came from.
fn byte_place(mismatch: &Mismatch) -> Option<String> {
    let Mismatch::Delivery { expected, fields, .. } = mismatch else { return None };
    let position = fields.iter().find_map(|field| field.position)?;
    let (index, offset) = compare::source(expected, position);
    let frame = expected.frames.get(index)?;
    Some(format!("byte {position} of the delivery is byte {offset} of frame {frame}"))
}

fn by_name<S: Serializer>(counts: &[u64], names: &[&str], out: S) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(Some(counts.len()))?;
    for (name, count) in names.iter().zip(counts) {
        map.serialize_entry(name, count)?;
    }
    map.end()
}

/// Counts by the name of the reason.
pub fn by_drop<S: Serializer>(counts: &[u64], out: S) -> Result<S::Ok, S::Error> {
    by_name(counts, DropReason::NAMES, out)
}

/// Code 0 stands for "not an end" and is left out.
fn by_end<S: Serializer>(counts: &[u64], out: S) -> Result<S::Ok, S::Error> {
    by_name(&counts[1..], &EndReason::NAMES[1..], out)
}

/// Code 0 stands for "not alone" and is left out.
fn by_alone<S: Serializer>(counts: &[u64], out: S) -> Result<S::Ok, S::Error> {
    by_name(&counts[1..], &AloneReason::NAMES[1..], out)
}
