//! Speed of the simulation: clock cycles and frames per second, monitors on, waves off.

use super::frames::Flow;
use super::run;
use crate::engine::registers;
use groove_model::{Config, RssConfig};
use groove_verilator::{Error, Pipeline, RunConfig};
use serde::Serialize;
use std::time::Instant;

/// Frame lengths measured, bytes.
const SIZES: [usize; 2] = [1514, 64];
/// Clock cycles of one run, about.
const RUN_CYCLES: usize = 300_000;
/// Runs, of which the middle one counts.
const RUNS: usize = 5;
/// Flows in turn.
const FLOWS: usize = 64;

/// One row of the table: medians.
#[derive(Clone, Debug, Serialize)]
pub struct SimPoint {
    /// Frame length without FCS, bytes.
    pub frame_bytes: usize,
    /// Clock cycles per second.
    pub cycles_per_second: f64,
    /// Frames per second.
    pub frames_per_second: f64,
    /// Slowest and fastest run, cycles per second.
    pub cycles_per_second_range: [f64; 2],
}

/// Everything that `groove bench sim` measures.
#[derive(Clone, Debug, Serialize)]
pub struct SimReport {
    /// Bits of a beat.
    pub width: usize,
    /// Receive queues.
    pub queues: usize,
    /// Rows.
    pub points: Vec<SimPoint>,
}

/// Measures both sizes; `progress` is told what comes next.
pub fn sim(pipeline: &mut Pipeline, progress: &mut dyn FnMut(&str)) -> Result<SimReport, Error> {
    let (width, queues) = (pipeline.options().width, pipeline.options().queues);
    let mut points = Vec::new();
    for frame_bytes in SIZES {
        let mut runs = Vec::new();
        for number in 1..=RUNS {
            progress(&format!("{frame_bytes} bytes, run {number} of {RUNS}"));
            runs.push(measure(pipeline, frame_bytes)?);
        }
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (cycles_per_second, frames_per_second) = runs[RUNS / 2];
        let cycles_per_second_range = [runs[0].0, runs[RUNS - 1].0];
        points.push(SimPoint {
            frame_bytes,
            cycles_per_second,
            frames_per_second,
            cycles_per_second_range,
        });
    }
    Ok(SimReport { width, queues, points })
}

/// Cycles and frames per second of one run.
fn measure(pipeline: &mut Pipeline, frame_bytes: usize) -> Result<(f64, f64), Error> {
    let queues = pipeline.options().queues as u8;
    let config = Config { rss: RssConfig::spread(queues), queues, ..Config::default() };
    pipeline.reset(&RunConfig { registers: registers::image(&config), ..RunConfig::default() })?;
    let beats = frame_bytes.div_ceil(pipeline.options().width / 8).max(4);
    let mut flows: Vec<Flow> = (0..FLOWS as u32).map(Flow::new).collect();
    let frames: Vec<Vec<u8>> =
        (0..RUN_CYCLES / beats).map(|i| flows[i % FLOWS].frame(frame_bytes)).collect();
    let start = Instant::now();
    let window = run(pipeline, frames.iter().map(Vec::as_slice))?;
    let seconds = start.elapsed().as_secs_f64();
    let cycles = window.after.cycles - window.before.cycles;
    Ok((cycles as f64 / seconds, window.frames() as f64 / seconds))
}

impl std::fmt::Display for SimReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "W = {}, {} queues, monitors on, waves off; median of {RUNS}",
            self.width, self.queues
        )?;
        writeln!(
            f,
            "{:>6}  {:>10}  {:>10}  {:>21}",
            "bytes", "cycles/s", "frames/s", "range of cycles/s"
        )?;
        for point in &self.points {
            let [low, high] = point.cycles_per_second_range;
            writeln!(
                f,
                "{:>6}  {:>10.0}  {:>10.0}  {low:>10.0} {high:>10.0}",
                point.frame_bytes, point.cycles_per_second, point.frames_per_second
            )?;
        }
        Ok(())
    }
}
