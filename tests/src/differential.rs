//! One segment of random traffic through model and hardware, and what to do when they differ.
//!
//!   segment ─► items ─┬─► hardware ─► events ─┐
//!                     │      │ dropped frames ├─► equal, or the smallest input that still differs
//!                     └─► model (replays them) ┘
//!
//! Invariant: the model decides every drop but those for want of room, which it takes from the
//! hardware.

use crate::generate::segment::Scope;
use crate::generate::{Item, Traffic};
use groove::capture::Writer;
use groove::compare::{Comparison, Mismatch};
use groove::engine::registers;
use groove_model::{Config, Event, Frame, Model, Stats};
use groove_spec::DropReason;
use groove_spec::stages::{admit, ingress};
use groove_verilator::{Error, Pipeline, RunConfig, Stimulus};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time for making a failing input smaller.
const SHRINK_TIME: Duration = Duration::from_secs(60);

/// A stretch of traffic under one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Decides configuration, traffic and stalls.
    pub seed: u64,
    /// Queues of the device.
    pub queues: u8,
    /// Frames.
    pub frames: usize,
    /// Share of cycles in which each port pauses.
    pub stall_percent: u8,
    /// Share of cycles in which the output ports pause, if not the same.
    pub output_stall_percent: Option<u8>,
    /// Share of cycles in which admission is refused.
    pub refuse_percent: u8,
}

impl Segment {
    /// Its configuration and everything that goes in, the final flushes included.
    pub fn input(&self, scope: Scope) -> (Config, Vec<Item>) {
        let mut traffic = Traffic::new(self.seed, self.queues, scope);
        let mut items = Vec::with_capacity(self.frames + 64);
        let mut frames = 0;
        while frames < self.frames {
            let Some(item) = traffic.next() else { break };
            frames += usize::from(matches!(item, Item::Frame { .. }));
            items.push(item);
        }
        items.extend(traffic.finish());
        (traffic.config().clone(), items)
    }
}

/// Frames that the hardware had no room for.
pub type Refused = BTreeMap<u32, DropReason>;

/// Runs the model; `refused` frames are replayed as drops.
pub fn model(config: &Config, items: &[Item], refused: &Refused) -> (Vec<Event>, Stats) {
    let mut model = Model::new(config.clone()).expect("generated configurations are valid");
    let mut out = Vec::new();
    let mut number = 0;
    for item in items {
        match item {
            Item::Token { queue, kind } => model.token(*queue, *kind, &mut out),
            Item::Frame { bytes, bad_fcs } => {
                match refused.get(&number) {
                    Some(reason) => model.skip(*reason, &mut out),
                    None => {
                        let frame = Frame { bytes, bad_fcs: *bad_fcs, given: None };
                        model.frame(frame, &mut out);
                    }
                }
                number += 1;
            }
        }
    }
    let stats = model.stats().clone();
    (out, stats)
}

fn run_config(segment: &Segment, registers: Vec<(u32, u32)>) -> RunConfig {
    RunConfig {
        seed: segment.seed,
        stall_percent: segment.stall_percent,
        output_stall_percent: segment.output_stall_percent,
        refuse_percent: segment.refuse_percent,
        registers,
        ..RunConfig::default()
    }
}

fn stimulus(item: &Item) -> Stimulus<'_> {
    match item {
        Item::Frame { bytes, bad_fcs } => Stimulus::Frame { bytes, bad_fcs: *bad_fcs },
        Item::Token { queue, kind } => Stimulus::Token { queue: *queue, kind: *kind },
    }
}

/// Runs the hardware. Drops come sorted by frame: the two logs are not ordered against each other.
pub fn hardware(
    pipeline: &mut Pipeline,
    segment: &Segment,
    registers: Vec<(u32, u32)>,
    items: &[Item],
) -> Result<Vec<Event>, Error> {
    pipeline.reset(&run_config(segment, registers))?;
    let mut deliveries = Vec::new();
    let mut drops = Vec::new();
    let mut collect = |pipeline: &mut Pipeline| {
        while let Some(event) = pipeline.pull() {
            match event {
                groove_verilator::Event::Delivery(d) => deliveries.push(Event::Delivery(d)),
                groove_verilator::Event::Drop { frame, reason } => drops.push((frame, reason)),
            }
        }
    };
    for item in items {
        pipeline.push(stimulus(item))?;
        collect(pipeline);
    }
    pipeline.finish()?;
    collect(pipeline);
    drops.sort_by_key(|(frame, _)| *frame);
    deliveries.extend(drops.into_iter().map(|(frame, reason)| Event::Drop { frame, reason }));
    Ok(deliveries)
}

/// Frames that the hardware refused for want of room, by its own log.
pub fn refused(events: &[Event]) -> Refused {
    let room = |reason: &DropReason| matches!(reason, DropReason::Overflow | DropReason::NoBuffer);
    events
        .iter()
        .filter_map(|event| match event {
            Event::Drop { frame, reason } if room(reason) => Some((*frame, *reason)),
            _ => None,
        })
        .collect()
}

/// How a segment failed.
#[derive(Debug)]
pub enum Difference {
    /// Model and hardware differ.
    Events(Box<Mismatch>),
    /// A register counts other than there were.
    Counter {
        /// Its name.
        name: &'static str,
        /// How many there were.
        expected: u64,
        /// How many the hardware says.
        found: u32,
    },
    /// The hardware broke a protocol, lost something or hung.
    Hardware(Error),
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hardware(error) => write!(f, "hardware: {error}"),
            Self::Counter { name, expected, found } => {
                write!(f, "{name}: there were {expected}, counted {found}")
            }
            Self::Events(mismatch) => match &**mismatch {
                Mismatch::Delivery { expected, fields, .. } => {
                    write!(f, "delivery of frames {:?} differs", expected.frames)?;
                    fields.iter().try_for_each(|field| write!(f, "\n    {field}"))
                }
                other => write!(f, "{other:?}"),
            },
        }
    }
}

/// Compares events of both; the order of drops against deliveries does not count.
pub fn compare(expected: Vec<Event>, found: Vec<Event>) -> Result<(), Box<Mismatch>> {
    let mut comparison = Comparison::default();
    comparison.expect(expected.into_iter());
    comparison.find(found.into_iter());
    comparison.settle(&mut Vec::new())?;
    comparison.finish()
}

/// Starts the input and leaves it there: whatever comes next begins in the middle of traffic.
///
/// # Errors
/// As [`hardware`].
pub fn interrupted(
    pipeline: &mut Pipeline,
    segment: &Segment,
    registers: Vec<(u32, u32)>,
    items: &[Item],
) -> Result<(), Error> {
    pipeline.reset(&run_config(segment, registers))?;
    for item in items {
        pipeline.push(stimulus(item))?;
        while pipeline.pull().is_some() {}
    }
    Ok(())
}

/// The hardware's counters of frames and drops against the model's.
fn count(pipeline: &mut Pipeline, stats: &Stats) -> Result<(), Difference> {
    let drops = |reason: DropReason| stats.drops[usize::from(reason.code())];
    for (register, expected) in [
        (ingress::FRAMES, stats.frames),
        (ingress::DROP_RUNT, drops(DropReason::Runt)),
        (ingress::DROP_OVERSIZE, drops(DropReason::Oversize)),
        (ingress::DROP_BAD_FCS, drops(DropReason::BadFcs)),
        (ingress::DROP_OVERFLOW, drops(DropReason::Overflow)),
        (admit::DROP_NO_BUFFER, drops(DropReason::NoBuffer)),
    ] {
        let found = pipeline.register(register.offset as u32).map_err(Difference::Hardware)?;
        if found != expected as u32 {
            return Err(Difference::Counter { name: register.name, expected, found });
        }
    }
    Ok(())
}

/// Runs given input through both and compares deliveries, drops and the counters of drops.
pub fn check(
    pipeline: &mut Pipeline,
    segment: &Segment,
    registers: Vec<(u32, u32)>,
    config: &Config,
    items: &[Item],
) -> Result<(Stats, Vec<Event>), Difference> {
    let found = hardware(pipeline, segment, registers, items).map_err(Difference::Hardware)?;
    let (expected, stats) = model(config, items, &refused(&found));
    compare(expected, found.clone()).map_err(Difference::Events)?;
    count(pipeline, &stats)?;
    Ok((stats, found))
}

/// Leaves out as much of a failing input as possible, in halves, quarters, and so on, within some
/// time.
pub fn shrink(
    pipeline: &mut Pipeline,
    segment: &Segment,
    config: &Config,
    mut items: Vec<Item>,
) -> (Vec<Item>, Option<Difference>) {
    let start = Instant::now();
    let mut last = None;
    let mut chunk = items.len().div_ceil(2);
    while chunk > 0 {
        let mut at = 0;
        while at < items.len() && start.elapsed() < SHRINK_TIME {
            let mut fewer = items[..at].to_vec();
            fewer.extend_from_slice(&items[(at + chunk).min(items.len())..]);
            match check(pipeline, segment, registers::image(config), config, &fewer) {
                Err(difference) => (items, last) = (fewer, Some(difference)),
                Ok(_) => at += chunk,
            }
        }
        chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
    }
    (items, last)
}

/// Writes what failed as a capture, each frame with its number, and the tokens before it, as
/// comment.
pub fn write_capture(path: &Path, items: &[Item]) -> Result<(), groove::capture::Error> {
    let mut writer = Writer::create(path)?;
    let mut comment = String::new();
    let mut number = 0_u32;
    for item in items {
        match item {
            Item::Token { queue, kind } => comment += &format!("{} queue {queue}; ", kind.name()),
            Item::Frame { bytes, bad_fcs } => {
                comment += &format!("frame {number}");
                if *bad_fcs {
                    comment += ", bad FCS";
                }
                writer.frame(Duration::from_micros(number.into()), bytes, &comment)?;
                comment.clear();
                number += 1;
            }
        }
    }
    writer.finish()
}
