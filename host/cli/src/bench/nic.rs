//! Rates of the whole NIC: from the wire through rings to host memory.
//!
//!   frames ─► NIC under Verilator ═► memory; the driver has posted buffers for all of them
//!
//! A window begins with the NIC at rest and ends with its last transfer on any pin, so that what is
//! measured has arrived. The driver polls behind the window; no flush, no interrupt, no timer in it.
//! Invariants: no frame of a window is dropped, and each is delivered
//! (`the_nic_keeps_up_with_the_wire`).

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Instant;

use groove_device::verilated::{Failure, VerilatedDevice};
use groove_driver::{Device, Nic, QueueError, Receiver, Settings, SetupError};
use serde::Serialize;

use super::frames::{Flow, datagram};

/// Flows of the bulk case.
const FLOWS: usize = 64;
/// Frames of the bulk window.
const BULK_FRAMES: usize = 2_500;
/// Frames of the window of frames that stay alone.
const ALONE_FRAMES: usize = 8_000;

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

    fn settings(&self, queues: usize) -> Settings {
        Settings {
            buffer_bytes: if self.merges { 4096 } else { 2048 },
            interrupts: false,
            moderation_time: 0,
            hold_time: 0,
            ..Settings::new(queues)
        }
    }

    /// Frames before the window, and those of the window.
    fn frames(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        if !self.merges {
            let frame = |i: usize| datagram(i as u32, self.frame_bytes);
            return (Vec::new(), (0..ALONE_FRAMES).map(frame).collect());
        }
        let mut flows: Vec<Flow> = (0..FLOWS as u32).map(Flow::new).collect();
        let mut frame = |i: usize| flows[i % FLOWS].frame(self.frame_bytes);
        let first = (0..FLOWS).map(&mut frame).collect();
        (first, (0..BULK_FRAMES).map(frame).collect())
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
    /// Deliveries that the driver took, behind the last flush.
    pub deliveries: u64,
    /// Input beats taken per clock cycle, up to the last response of memory.
    pub beats_per_cycle: f64,
    /// Clock cycles per frame.
    pub cycles_per_frame: f64,
    /// Beats written to memory per frame: data and completions.
    pub written_beats_per_frame: f64,
    /// Clock cycles of the simulation in a second.
    pub cycles_per_second: f64,
}

/// Everything that is measured of the NIC.
#[derive(Clone, Debug, Serialize)]
pub struct NicReport {
    /// Rates.
    pub nic: Vec<NicPoint>,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum NicError {
    /// The simulation failed.
    #[error("{0}")]
    Device(#[from] Failure),
    /// The driver does not take the device.
    #[error("the driver does not take the device")]
    Setup(#[from] SetupError),
    /// A queue failed.
    #[error("the driver gave up a queue")]
    Queue(#[from] QueueError),
    /// Frames were dropped where none may be.
    #[error("{0} frames of the window were dropped")]
    Dropped(u64),
}

/// Measures every case on devices that `open` makes for a latency.
pub fn nic(
    open: impl Fn(RangeInclusive<u32>) -> Result<VerilatedDevice, Failure>,
    progress: &mut dyn FnMut(&str),
) -> Result<NicReport, NicError> {
    let mut points = Vec::new();
    for case in NicCase::ALL {
        let (from, to) = case.latency_cycles;
        progress(&format!("NIC: {} bytes, memory in {from} to {to} cycles", case.frame_bytes));
        points.push(nic_rate(open(case.latency())?, &case)?);
    }
    Ok(NicReport { nic: points })
}

/// Measures one case.
pub fn nic_rate(device: VerilatedDevice, case: &NicCase) -> Result<NicPoint, NicError> {
    let device = std::sync::Arc::new(device);
    let queues = device.vectors();
    let nic = Nic::open(device.clone(), &case.settings(queues))?;
    let receivers = nic.queues.into_iter().map(|queue| queue.attach());
    let mut receivers = receivers.collect::<Result<Vec<Receiver>, _>>()?;
    let (first, window) = case.frames();
    first.iter().try_for_each(|frame| device.inject(frame, false))?;
    device.settle()?;
    let (before, start) = (device.stats(), Instant::now());
    window.iter().try_for_each(|frame| device.inject(frame, false))?;
    device.settle()?;
    let (after, seconds) = (device.stats(), start.elapsed().as_secs_f64());
    let mut sums = (0, 0);
    for receiver in &mut receivers {
        receiver.stop(|delivery| {
            sums.0 += 1;
            sums.1 += u64::from(delivery.metadata().gso_segs.max(1));
        })?;
    }
    let sent = (first.len() + window.len()) as u64;
    if sums.1 != sent {
        return Err(NicError::Dropped(sent.saturating_sub(sums.1)));
    }
    let cycles = after.last_move_cycle.saturating_sub(before.cycles).max(1) as f64;
    let frames = window.len() as f64;
    Ok(NicPoint {
        case: *case,
        frames: window.len() as u64,
        deliveries: sums.0,
        beats_per_cycle: (after.beats_in - before.beats_in) as f64 / cycles,
        cycles_per_frame: cycles / frames,
        written_beats_per_frame: (after.write_beats - before.write_beats) as f64 / frames,
        cycles_per_second: (after.cycles - before.cycles) as f64 / seconds.max(1e-9),
    })
}

impl fmt::Display for NicReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>6}  {:<22}{:>10}{:>13}{:>14}{:>13}{:>12}",
            "bytes",
            "NIC, to memory",
            "latency",
            "beats/cycle",
            "cycles/frame",
            "deliveries",
            "cycles/s"
        )?;
        for point in &self.nic {
            let case = &point.case;
            let what = if case.merges { "64 flows, merging" } else { "alone, UDP" };
            let latency = format!("{}..{}", case.latency_cycles.0, case.latency_cycles.1);
            writeln!(
                f,
                "{:>6}  {what:<22}{latency:>10}{:>13.3}{:>14.2}{:>13}{:>12.0}",
                case.frame_bytes,
                point.beats_per_cycle,
                point.cycles_per_frame,
                point.deliveries,
                point.cycles_per_second
            )?;
        }
        Ok(())
    }
}
