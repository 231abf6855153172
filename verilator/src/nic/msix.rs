//! Takes MSI-X messages, with pauses.
//!
//! Invariants: a message stays until it is taken (`messages_that_change_are_caught`).

use std::collections::VecDeque;

use super::config::NicConfig;
use crate::Error;
use crate::dut::{Dut, Port};
use crate::monitor::Monitor;
use crate::stall::Stall;

const SALT: u64 = 71;

/// The sink.
pub(crate) struct Msix {
    vector: Port,
    monitor: Monitor,
    stall: Stall,
    ready: bool,
    /// Vectors that came.
    pub messages: VecDeque<u8>,
    /// How many came since power-on.
    pub count: u64,
}

impl Msix {
    pub(crate) fn new(dut: &Dut) -> Result<Self, Error> {
        Ok(Self {
            vector: dut.port("msix_vector")?,
            monitor: Monitor::new(dut, "msix", ["valid", "ready"], &["vector"])?,
            stall: Stall::new(0, 0, 0),
            ready: false,
            messages: VecDeque::new(),
            count: 0,
        })
    }

    pub(crate) fn power_on(&mut self, dut: &mut Dut, config: &NicConfig) {
        self.stall = Stall::new(config.seed, SALT, config.stall_percent);
        self.count = 0;
        self.reset(dut);
    }

    /// Forgets what came.
    pub(crate) fn reset(&mut self, dut: &mut Dut) {
        self.monitor.reset(dut);
        self.messages.clear();
    }

    /// Nothing may be offered, because of `why`.
    pub(crate) fn check_silent(&self, dut: &Dut, why: &str) -> Result<(), Error> {
        self.monitor.check_silent(dut, why)
    }

    pub(crate) fn present(&mut self, dut: &mut Dut, on: bool) {
        self.ready = on && !self.stall.pause();
        self.monitor.set_ready(dut, self.ready);
    }

    /// After the cycle settled. True if a message is taken.
    pub(crate) fn observe(&mut self, dut: &Dut) -> Result<bool, Error> {
        let taken = self.monitor.check(dut, self.ready)?;
        if taken {
            self.messages.push_back(dut.read(self.vector) as u8);
            self.count += 1;
        }
        Ok(taken)
    }
}
