//! Power-on and function-level reset.
//!
//! Invariants: a function-level reset ends with every burst finished
//! (`a_reset_finishes_its_bursts`), and one that leaves any open is an error
//! (`bursts_left_open_by_a_reset_are_caught`).

use super::{HostMemory, NicConfig, NicHarness, Phase};
use crate::Error;
use crate::monitor::violation;

/// Cycles of power-on reset.
const RESET_CYCLES: usize = 4;

impl<M: HostMemory> NicHarness<M> {
    /// Starts a run: power-on reset. What is under way is forgotten; memory stays.
    ///
    /// # Errors
    /// If an output is valid before reset ends, or waves are asked for that it was not built for.
    pub fn power_on(&mut self, config: &NicConfig) -> Result<(), Error> {
        self.dut.trace_stop();
        self.wave_on = false;
        self.config = config.clone();
        self.start = self.dut.cycle();
        self.inputs.reset(&mut self.dut, config.seed, config.stall_percent);
        self.writes.reset(&mut self.dut, config);
        self.reads.reset(&mut self.dut, config);
        self.lite.reset(&mut self.dut, config);
        self.msix.power_on(&mut self.dut, config);
        self.logs.reset();
        (self.pushed_frames, self.frames, self.beats_in, self.last_beat) = (0, 0, 0, 0);
        self.phase = Phase::Fresh;
        self.hold_reset().map_err(|e| e.since(self.start))?;
        self.last_move = self.dut.cycle();
        Ok(())
    }

    fn hold_reset(&mut self) -> Result<(), Error> {
        self.dut.set(self.ports.reset, 1);
        self.dut.set(self.ports.flr, 0);
        for cycle in 0..RESET_CYCLES {
            self.wave()?;
            self.dut.settle()?;
            // Registers need one edge to take their reset values.
            if cycle > 0 {
                self.inputs.check_reset(&self.dut)?;
                const WHY: &str = "valid before reset ended";
                self.writes.check_silent(&self.dut, WHY)?;
                self.reads.check_silent(&self.dut, WHY)?;
                self.lite.check_reset(&self.dut)?;
                self.msix.check_silent(&self.dut, WHY)?;
            }
            self.dut.edge()?;
        }
        self.dut.set(self.ports.reset, 0);
        Ok(())
    }

    /// Function-level reset: bursts are finished, everything else is forgotten. Frames and tokens
    /// that were not taken yet are lost, but the rest of a frame that has begun still comes, as
    /// from a MAC: the hardware swallows it. Numbers of frames begin anew.
    ///
    /// # Errors
    /// If the hardware breaks a protocol, leaves a burst open, or does not end its reset.
    pub fn flr(&mut self) -> Result<(), Error> {
        self.called();
        self.phase = Phase::Flr;
        self.inputs.cut(&mut self.dut);
        self.dut.set(self.ports.flr, 1);
        let mut busy = false;
        loop {
            self.step()?;
            let now = self.dut.read(self.ports.flr_busy) != 0;
            if now {
                self.dut.set(self.ports.flr, 0);
            } else if busy {
                break;
            }
            busy = now;
        }
        if !self.writes.is_idle() || !self.reads.is_idle() {
            let what = format!("fell with {}, {}", self.writes.describe(), self.reads.describe());
            return Err(violation(&self.dut, "flr_busy", what).since(self.start));
        }
        self.logs.reset();
        self.msix.reset(&mut self.dut);
        self.pushed_frames = 0;
        self.phase = Phase::Fresh;
        Ok(())
    }
}
