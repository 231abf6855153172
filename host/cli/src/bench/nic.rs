//! Rates of the whole NIC: from the wire through rings to host memory.
//!
//!   frames ─► NIC under Verilator ═► memory, with buffers posted for all of them
//!
//! A window goes from its first beat to the last response of memory: what is measured has arrived.
//! Invariants: no frame of a window is dropped, or it is an error
//! (`bulk_goes_through_at_line_rate`).

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Instant;

use groove_device::verilated::rig::Rig;
use groove_model::{Config, RssConfig};
use groove_verilator::nic::NicConfig;
use groove_verilator::{BuildOptions, Error};
use serde::Serialize;

use super::frames::{Flow, datagram};
use crate::engine::registers;

/// Flows of the bulk case.
const FLOWS: usize = 64;
/// Frames of a window: as many as find buffers, also in a single queue.
const FRAMES: usize = 3_000;

/// What is sent, and how slow memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NicCase {
    /// Frame length without FCS, bytes.
    pub frame_bytes: usize,
    /// Whether frames merge: TCP of 64 flows in turn; or stay alone: UDP.
    pub merges: bool,
    /// Cycles that memory takes to answer: from, to.
    pub latency_cycles: (u32, u32),
}

impl NicCase {
    /// What is measured.
    pub const ALL: [Self; 4] = [
        Self { frame_bytes: 1514, merges: true, latency_cycles: (0, 0) },
        Self { frame_bytes: 1514, merges: true, latency_cycles: (200, 400) },
        Self { frame_bytes: 64, merges: false, latency_cycles: (0, 0) },
        Self { frame_bytes: 64, merges: false, latency_cycles: (200, 400) },
    ];

    /// The latency as the simulation takes it.
    pub fn latency(&self) -> RangeInclusive<u32> {
        self.latency_cycles.0..=self.latency_cycles.1
    }

    fn frames(&self) -> Vec<Vec<u8>> {
        if !self.merges {
            return (0..FRAMES as u32).map(|i| datagram(i, self.frame_bytes)).collect();
        }
        let mut flows: Vec<Flow> = (0..FLOWS as u32).map(Flow::new).collect();
        (0..FRAMES).map(|i| flows[i % FLOWS].frame(self.frame_bytes)).collect()
    }
}

/// One row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct NicPoint {
    /// What was sent.
    #[serde(flatten)]
    pub case: NicCase,
    /// Frames measured.
    pub frames: u64,
    /// Completions written for them.
    pub completions: u64,
    /// Input beats taken per clock cycle.
    pub beats_per_cycle: f64,
    /// Clock cycles per frame.
    pub cycles_per_frame: f64,
    /// Clock cycles of the simulation in a second.
    pub cycles_per_second: f64,
}

/// Everything that is measured of the NIC.
#[derive(Clone, Debug, Serialize)]
pub struct NicReport {
    /// Rates.
    pub nic: Vec<NicPoint>,
}

/// Measures every case.
pub fn nic(build: &BuildOptions, progress: &mut dyn FnMut(&str)) -> Result<NicReport, Error> {
    let mut points = Vec::new();
    for case in NicCase::ALL {
        let (from, to) = case.latency_cycles;
        progress(&format!("NIC: {} bytes, memory in {from} to {to} cycles", case.frame_bytes));
        points.push(nic_rate(build, &case)?);
    }
    Ok(NicReport { nic: points })
}

/// Measures one case.
pub fn nic_rate(build: &BuildOptions, case: &NicCase) -> Result<NicPoint, Error> {
    let run = NicConfig { latency_cycles: case.latency(), ..NicConfig::default() };
    let queues = build.queues as u8;
    let config = Config { rss: RssConfig::spread(queues), queues, ..Config::default() };
    let mut rig = Rig::open(build, &run, &registers::image(&config), true)?;
    let frames = case.frames();
    let start = Instant::now();
    let window = rig.run(frames.iter().map(Vec::as_slice))?;
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    let cycles = window.cycles as f64;
    Ok(NicPoint {
        case: *case,
        frames: window.frames,
        completions: window.completions,
        beats_per_cycle: window.beats as f64 / cycles,
        cycles_per_frame: cycles / window.frames as f64,
        cycles_per_second: cycles / seconds,
    })
}

impl fmt::Display for NicReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>6}  {:<20}{:>10}  {:>11}  {:>12}  {:>11}  {:>9}",
            "bytes",
            "NIC, to memory",
            "latency",
            "beats/cycle",
            "cycles/frame",
            "completions",
            "cycles/s"
        )?;
        for point in &self.nic {
            let case = &point.case;
            let what = if case.merges { "64 flows, merging" } else { "alone" };
            let latency = format!("{}..{}", case.latency_cycles.0, case.latency_cycles.1);
            writeln!(
                f,
                "{:>6}  {what:<20}{latency:>10}  {:>11.3}  {:>12.2}  {:>11}  {:>9.0}",
                case.frame_bytes,
                point.beats_per_cycle,
                point.cycles_per_frame,
                point.completions,
                point.cycles_per_second
            )?;
        }
        Ok(())
    }
}
