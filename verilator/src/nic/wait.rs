//! Waiting for the hardware, in bounds; and waves.
//!
//! Invariants: as in `nic/mod.rs`.

use super::{HostMemory, NicHarness, Phase};
use crate::Error;

/// Cycles without a transfer after which the hardware has done all that it can on its own: longer
/// than any way through it.
const QUIET_CYCLES: u64 = 256;
/// Cycles in which it has to come to rest.
const SETTLE_CYCLES_MAX: u64 = 20_000_000;

impl<M: HostMemory> NicHarness<M> {
    /// The watchdog measures the hardware, not the time in which nobody asked for anything.
    pub(super) fn called(&mut self) {
        self.last_move = self.dut.cycle();
    }

    /// Something has to move soon.
    pub(super) fn waits(&self) -> bool {
        !(self.inputs.is_idle() && self.writes.is_idle() && self.reads.is_idle())
            || self.lite.busy().is_some()
            || self.phase == Phase::Flr
    }

    /// Nothing is under way, as far as the pins show.
    pub fn is_quiet(&self) -> bool {
        !self.waits() && self.dut.cycle() - self.last_move >= QUIET_CYCLES
    }

    /// Lets so many cycles pass.
    ///
    /// # Errors
    /// As [`NicHarness::step`].
    pub fn run(&mut self, cycles: u64) -> Result<(), Error> {
        (0..cycles).try_for_each(|_| self.step())
    }

    /// Lets the clock run until all that was pushed is done, and nothing moves any more.
    ///
    /// # Errors
    /// As [`NicHarness::step`], or if it does not come to rest.
    pub fn settle(&mut self) -> Result<(), Error> {
        let start = self.dut.cycle();
        while !self.is_quiet() {
            self.step()?;
            if self.dut.cycle() - start > SETTLE_CYCLES_MAX {
                return Err(self.stuck(0));
            }
        }
        Ok(())
    }

    /// Lets the clock run until every write burst of which an address or a beat was taken by now is
    /// answered: committed, or refused.
    ///
    /// # Errors
    /// As [`NicHarness::step`].
    pub fn finish_writes(&mut self) -> Result<(), Error> {
        self.called();
        // Bursts of one id are answered in order, others may overtake: all of them are.
        let begun = self.writes.begun;
        while !self.writes.is_answered(begun) {
            self.step()?;
        }
        Ok(())
    }

    pub(super) fn stuck(&self, idle_cycles: u64) -> Error {
        let (items, _) = self.inputs.waiting();
        let mut waiting = vec![format!("{items} frames and tokens not offered yet")];
        waiting.extend(self.inputs.describe().map(str::to_owned));
        waiting.extend(self.lite.busy().map(|access| format!("AXI-Lite {access:x?}")));
        waiting.extend((self.phase == Phase::Flr).then(|| "flr_busy".to_owned()));
        waiting.extend([self.writes.describe(), self.reads.describe()]);
        Error::Stuck { cycle: self.cycle(), idle_cycles, waiting: waiting.join(", ") }
    }

    /// Time in waves of a cycle since power-on: two steps a cycle.
    pub fn wave_time(&self, cycle: u64) -> u64 {
        cycle.saturating_add(self.start).saturating_mul(2)
    }

    /// Starts and ends waves at their cycles.
    pub(super) fn wave(&mut self) -> Result<(), Error> {
        let Some(wave) = &self.config.wave else { return Ok(()) };
        let cycle = self.dut.cycle() - self.start;
        if cycle == wave.from_cycle {
            self.dut.trace_start(&wave.path)?;
            self.wave_on = true;
        } else if self.wave_on && cycle - wave.from_cycle >= wave.cycles {
            self.dut.trace_stop();
            self.wave_on = false;
        }
        Ok(())
    }
}
