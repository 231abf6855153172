//! `groove bench`: how fast the hardware is in clock cycles, its simulation and the driver in
//! seconds.
//!
//!   flows ─► frames ─► pipeline under Verilator ─► counts ─► tables
//!
//! Invariants: no flush inside a measured window; every frame pushed is accounted for, or the run
//! fails (the harness sees to that); the 10,000-flow mix evicts and opens for 90 % of its frames
//! (`rates_hold_in_every_mix`).
//! Not here: time on a wire. Cycles times the clock of a real device are for the reader to compute.

mod driver;
pub(crate) mod frames;
mod nic;
mod rtl;
mod sim;

pub use driver::{DriverPoint, DriverReport, DriverTable, driver};
pub use nic::{NicCase, NicPoint, NicReport, nic, nic_rate};
pub use rtl::{MergePoint, Mix, RatePoint, RtlReport, Spread, merge, rate, rtl};
pub use sim::{SimPoint, SimReport, sim};

use groove_verilator::{Error, Pipeline, Stats, Stimulus};

/// Frame lengths of the rate table, without FCS, bytes.
pub const SIZES: [usize; 12] = [60, 64, 65, 96, 128, 256, 512, 1024, 1514, 2048, 4096, 9018];

/// Pushes frames and lets the pipeline run empty of everything but held sessions.
fn run<'a>(
    pipeline: &mut Pipeline,
    frames: impl Iterator<Item = &'a [u8]>,
) -> Result<Window, Error> {
    let before = pipeline.stats();
    let mut deliveries = 0;
    for bytes in frames {
        pipeline.push(Stimulus::Frame { bytes, bad_fcs: false })?;
        deliveries += drain(pipeline);
    }
    pipeline.finish()?;
    deliveries += drain(pipeline);
    Ok(Window { before, after: pipeline.stats(), deliveries })
}

fn drain(pipeline: &mut Pipeline) -> u64 {
    let mut deliveries = 0;
    while let Some(event) = pipeline.pull() {
        deliveries += u64::from(matches!(event, groove_verilator::Event::Delivery(_)));
    }
    deliveries
}

/// What happened between two looks at the counters.
struct Window {
    before: Stats,
    after: Stats,
    deliveries: u64,
}

impl Window {
    fn frames(&self) -> u64 {
        self.after.frames - self.before.frames
    }

    fn beats(&self) -> u64 {
        self.after.beats_in - self.before.beats_in
    }

    /// Cycles from the start of the window to the last beat taken.
    fn cycles(&self) -> u64 {
        self.after.last_beat_cycle.saturating_sub(self.before.cycles).max(1)
    }
}
