//! Cycles of the hardware: beats per cycle, cycles per frame, and how well many flows merge.
//!
//! Not here: seconds (`sim.rs`).

use super::frames::Flow;
use super::{SIZES, run};
use crate::engine::registers;
use groove_model::{Config, RssConfig};
use groove_spec::TokenKind;
use groove_verilator::{Error, Pipeline, RunConfig, Stimulus};
use serde::Serialize;

/// Beats of a measured window, about.
const WINDOW_BEATS: usize = 60_000;
/// Frames that fill the tables before a window of the 10,000-flow mix.
const WARM_FRAMES: usize = 4_000;
/// Frames of each flow of a merge point.
const MERGE_FRAMES: usize = 32;
/// Numbers of flows of the merge table.
const MERGE_FLOWS: [usize; 5] = [64, 128, 256, 512, 1024];

/// Which flow the next frame is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// One flow: every frame appends.
    One,
    /// 64 flows in turn: every frame appends.
    Flows64,
    /// 10,000 flows: 90 % of the frames evict a session and open one.
    Flows10000,
}

impl Mix {
    /// Every mix, in the order of the table.
    pub const ALL: [Mix; 3] = [Mix::One, Mix::Flows64, Mix::Flows10000];

    /// Name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Mix::One => "1 flow",
            Mix::Flows64 => "64 flows",
            Mix::Flows10000 => "10,000 flows",
        }
    }

    const fn flows(self) -> usize {
        match self {
            Mix::One => 1,
            Mix::Flows64 => 64,
            Mix::Flows10000 => 10_000,
        }
    }

    /// Flow of frame `i`: in turn, but every tenth frame of the large mix is of the flow before it.
    const fn flow(self, i: usize) -> usize {
        match self {
            Mix::Flows10000 => (i - i / 10) % self.flows(),
            _ => i % self.flows(),
        }
    }
}

/// One row of the rate table.
#[derive(Clone, Debug, Serialize)]
pub struct RatePoint {
    /// Frame length without FCS, bytes.
    pub frame_bytes: usize,
    /// Flows.
    pub mix: Mix,
    /// Frames measured.
    pub frames: u64,
    /// Input beats taken per clock cycle.
    pub beats_per_cycle: f64,
    /// Clock cycles per frame.
    pub cycles_per_frame: f64,
    /// Share of frames that evicted a session.
    pub evictions_per_frame: f64,
}

/// How the indirection table spreads 128 entries over the queues.
///
/// Both tables give each queue as many entries. But the bucket is in hash bits 2..0: with entries
/// in turn a queue fixes those bits too, so that with 8 queues or more only one of its 8 buckets is
/// ever used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Entry i to queue i modulo the queues, as Linux does unless told otherwise.
    InTurn,
    /// Neighbouring entries to one queue: it is in the upper bits, the bucket in the lower.
    InBlocks,
}

impl Spread {
    const ALL: [Spread; 2] = [Spread::InTurn, Spread::InBlocks];

    const fn name(self) -> &'static str {
        match self {
            Spread::InTurn => "in turn",
            Spread::InBlocks => "in blocks",
        }
    }

    fn table(self, queues: usize) -> RssConfig {
        let mut rss = RssConfig::spread(queues as u8);
        if self == Spread::InBlocks {
            let entries = rss.indirection.len();
            for (i, queue) in rss.indirection.iter_mut().enumerate() {
                *queue = (i * queues / entries) as u8;
            }
        }
        rss
    }
}

/// One row of the merge table.
#[derive(Clone, Debug, Serialize)]
pub struct MergePoint {
    /// Flows that send in turn.
    pub flows: usize,
    /// Receive queues that they are spread over.
    pub queues: usize,
    /// How.
    pub spread: Spread,
    /// Frames per delivery; 32 is the most, as each flow sends 32.
    pub frames_per_delivery: f64,
}

/// Everything that `groove bench rtl` measures.
#[derive(Clone, Debug, Serialize)]
pub struct RtlReport {
    /// Bits of a beat.
    pub width: usize,
    /// Receive queues.
    pub queues: usize,
    /// Rates.
    pub rates: Vec<RatePoint>,
    /// Merge ratios.
    pub merges: Vec<MergePoint>,
}

fn start(pipeline: &mut Pipeline, rss: RssConfig) -> Result<(), Error> {
    let queues = pipeline.options().queues as u8;
    let config = Config { rss, queues, ..Config::default() };
    pipeline.reset(&RunConfig { registers: registers::image(&config), ..RunConfig::default() })
}

/// Measures one size and mix.
pub fn rate(pipeline: &mut Pipeline, frame_bytes: usize, mix: Mix) -> Result<RatePoint, Error> {
    let queues = pipeline.options().queues;
    start(pipeline, RssConfig::spread(queues as u8))?;
    let beats = frame_bytes.div_ceil(pipeline.options().width / 8).max(4);
    let count = (WINDOW_BEATS / beats).max(600);
    let warm = if mix == Mix::Flows10000 { WARM_FRAMES } else { mix.flows() };
    let mut flows: Vec<Flow> = (0..mix.flows() as u32).map(Flow::new).collect();
    // The tables fill with short frames, whatever is measured.
    let first: Vec<Vec<u8>> = (0..warm).map(|i| flows[mix.flow(i)].frame(64)).collect();
    run(pipeline, first.iter().map(Vec::as_slice))?;
    let evictions = evictions(pipeline)?;
    let frames: Vec<Vec<u8>> =
        (warm..warm + count).map(|i| flows[mix.flow(i)].frame(frame_bytes)).collect();
    let window = run(pipeline, frames.iter().map(Vec::as_slice))?;
    let evicted = self::evictions(pipeline)?.wrapping_sub(evictions);
    let per_frame = |n: u64| n as f64 / window.frames() as f64;
    Ok(RatePoint {
        frame_bytes,
        mix,
        frames: window.frames(),
        beats_per_cycle: window.beats() as f64 / window.cycles() as f64,
        cycles_per_frame: per_frame(window.cycles()),
        evictions_per_frame: per_frame(evicted.into()),
    })
}

fn evictions(pipeline: &mut Pipeline) -> Result<u32, Error> {
    pipeline.register(groove_spec::stages::coalesce::EVICTIONS.offset as u32)
}

/// Measures how well so many flows merge that send in turn, flushed once at the end.
pub fn merge(
    pipeline: &mut Pipeline,
    flows: usize,
    queues: usize,
    spread: Spread,
) -> Result<MergePoint, Error> {
    start(pipeline, spread.table(queues))?;
    // Numbers far apart: the hash is linear, and neighbours would fill the buckets too evenly.
    let mut senders: Vec<Flow> =
        (0..flows as u32).map(|n| Flow::new(n.wrapping_mul(0x9e37_79b9) >> 8)).collect();
    let frames: Vec<Vec<u8>> =
        (0..flows * MERGE_FRAMES).map(|i| senders[i % flows].frame(128)).collect();
    let window = run(pipeline, frames.iter().map(Vec::as_slice))?;
    for queue in 0..queues as u8 {
        pipeline.push(Stimulus::Token { queue, kind: TokenKind::FlushAll })?;
    }
    pipeline.finish()?;
    let deliveries = window.deliveries + super::drain(pipeline);
    let frames_per_delivery = window.frames() as f64 / deliveries.max(1) as f64;
    Ok(MergePoint { flows, queues, spread, frames_per_delivery })
}

/// Measures everything; `progress` is told what comes next.
pub fn rtl(pipeline: &mut Pipeline, progress: &mut dyn FnMut(&str)) -> Result<RtlReport, Error> {
    let (width, queues) = (pipeline.options().width, pipeline.options().queues);
    let mut report = RtlReport { width, queues, rates: Vec::new(), merges: Vec::new() };
    for mix in Mix::ALL {
        for frame_bytes in SIZES {
            progress(&format!("{frame_bytes} bytes, {}", mix.name()));
            report.rates.push(rate(pipeline, frame_bytes, mix)?);
        }
    }
    let mut tables = vec![(1, Spread::InTurn)];
    if queues > 1 {
        tables.extend(Spread::ALL.map(|spread| (queues, spread)));
    }
    for (queues, spread) in tables {
        for flows in MERGE_FLOWS {
            progress(&format!("merging {flows} flows over {queues} queues, {}", spread.name()));
            report.merges.push(merge(pipeline, flows, queues, spread)?);
        }
    }
    Ok(report)
}

impl std::fmt::Display for RtlReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "W = {}, {} queues, no stalls, no flush in the window",
            self.width, self.queues
        )?;
        writeln!(
            f,
            "{:>6}  {:<12}  {:>11}  {:>12}  {:>9}",
            "bytes", "mix", "beats/cycle", "cycles/frame", "evicting"
        )?;
        for point in &self.rates {
            writeln!(
                f,
                "{:>6}  {:<12}  {:>11.3}  {:>12.2}  {:>7.0} %",
                point.frame_bytes,
                point.mix.name(),
                point.beats_per_cycle,
                point.cycles_per_frame,
                100.0 * point.evictions_per_frame
            )?;
        }
        writeln!(
            f,
            "\n{:>6}  {:>6}  {:<10}  {:>15}",
            "flows", "queues", "table", "frames/delivery"
        )?;
        for point in &self.merges {
            let MergePoint { flows, queues, spread, frames_per_delivery } = point;
            let spread = spread.name();
            writeln!(f, "{flows:>6}  {queues:>6}  {spread:<10}  {frames_per_delivery:>15.2}")?;
        }
        Ok(())
    }
}
