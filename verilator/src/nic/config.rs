//! How the surroundings of the NIC behave in a run.

use std::ops::RangeInclusive;

use crate::Wave;
use crate::stall::Rng;

/// How to run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicConfig {
    /// Seed of idle, back-pressure, latencies and orders; the same seed and calls repeat a run
    /// cycle by cycle.
    pub seed: u64,
    /// Share of cycles in which each handshake pauses, in percent (at most 95).
    pub stall_percent: u8,
    /// Cycles from the last beat of a write, or the address of a read, to its response.
    pub latency_cycles: RangeInclusive<u32>,
    /// Bursts that the memory takes before it has answered them, in each direction.
    pub bursts_max: usize,
    /// Cycles without progress after which a run that waits for something fails.
    pub watchdog_cycles: u64,
    /// Waves to write; needs [`crate::BuildOptions::trace`].
    pub wave: Option<Wave>,
}

impl Default for NicConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            stall_percent: 0,
            latency_cycles: 0..=0,
            bursts_max: 256,
            watchdog_cycles: 50_000,
            wave: None,
        }
    }
}

/// Draws latencies.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    rng: Rng,
    least: u32,
    spread: u32,
}

impl Latency {
    pub(crate) fn new(config: &NicConfig, salt: u64) -> Self {
        let (least, most) = (*config.latency_cycles.start(), *config.latency_cycles.end());
        let spread = most.saturating_sub(least).min(0xffff);
        Self { rng: Rng::new(config.seed, salt), least, spread }
    }

    pub(crate) fn draw(&mut self) -> u64 {
        let extra = if self.spread == 0 { 0 } else { self.rng.below(self.spread + 1) };
        u64::from(self.least) + u64::from(extra)
    }

    /// A number below `bound`: who goes first.
    pub(crate) fn choose(&mut self, bound: usize) -> usize {
        if bound < 2 { 0 } else { self.rng.below(bound as u32) as usize }
    }
}
