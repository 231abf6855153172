//! The hardware with what its pins lead to.
//!
//! Invariants: as in `verilated/mod.rs`.

use std::sync::Arc;

use groove_driver::Interrupt;
use groove_spec::nic::{HOLD, MODERATION, QUEUE_STRIDE, QUEUES_BASE};
use groove_spec::{DropReason, QUEUES_MAX};
use groove_verilator::nic::{Entry, NicHarness};

use super::Failure;
use crate::Step;
use crate::memory::Translation;
use crate::registers::field;

/// Cycles of a unit of `HOLD.time` and of `MODERATION.time`.
const HOLD_CYCLES: u64 = 1024;
const MODERATION_CYCLES: u64 = 64;
/// Cycles in which the hardware does all that it can without a timer.
const WORK_CYCLES: u64 = 20_000;

/// All behind the lock.
pub struct State {
    /// The hardware; its memory is what is mapped.
    pub nic: NicHarness<Translation>,
    /// Where vectors go.
    pub interrupts: Vec<Arc<Interrupt>>,
    /// The thread shall end.
    pub stops: bool,
    failure: Option<Failure>,
    queues: usize,
    /// `HOLD` and `MODERATION` of each queue, in cycles until the last expiry that does anything.
    timers: [[u64; 2]; QUEUES_MAX],
    awake_until: u64,
}

impl State {
    /// After reset.
    pub fn new(nic: NicHarness<Translation>, queues: usize) -> Self {
        Self {
            nic,
            interrupts: Vec::new(),
            stops: false,
            failure: None,
            queues,
            timers: Default::default(),
            awake_until: 0,
        }
    }

    /// Lets the hardware do something; raises the interrupts that come of it.
    pub fn run<T>(
        &mut self,
        call: impl FnOnce(&mut NicHarness<Translation>) -> Result<T, groove_verilator::Error>,
    ) -> Result<T, Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let result = call(&mut self.nic).map_err(Failure::from);
        while let Some(vector) = self.nic.take_message() {
            if let Some(interrupt) = self.interrupts.get(usize::from(vector)) {
                // It is an event file that was opened; it can be full, never gone.
                let _ = interrupt.signal();
            }
        }
        self.failure = result.as_ref().err().filter(|f| f.0.cycle().is_some()).cloned();
        result
    }

    /// Writes a register.
    pub fn write(&mut self, offset: usize, value: u32) -> Result<(), Failure> {
        if let Some(inside) = offset.checked_sub(QUEUES_BASE) {
            let timers = &mut self.timers[inside / QUEUE_STRIDE % QUEUES_MAX];
            let time = |register| u64::from(field(register, "time", value));
            match inside % QUEUE_STRIDE {
                at if at == HOLD.offset => timers[0] = 3 * HOLD_CYCLES * time(&HOLD),
                at if at == MODERATION.offset => {
                    timers[1] = 2 * MODERATION_CYCLES * time(&MODERATION);
                }
                _ => {}
            }
        }
        self.run(|nic| nic.write32(offset as u16, value))
    }

    /// The clock has to run for all that a change may bring about.
    pub fn stay_awake(&mut self) {
        let timers = self.timers.iter().flatten().copied().max().unwrap_or(0);
        self.awake_until = self.nic.cycle() + WORK_CYCLES + timers;
    }

    /// The clock has a reason to run.
    pub fn has_work(&self) -> bool {
        self.failure.is_none() && (self.nic.cycle() < self.awake_until || !self.nic.is_quiet())
    }

    /// What went into the pipeline.
    pub fn take_journal(&mut self) -> Result<Vec<Step>, Failure> {
        self.run(NicHarness::settle)?;
        let entries = self.nic.entries();
        Ok(entries.into_iter().filter_map(|entry| step(entry, self.queues)).collect())
    }

    /// Function-level reset: nothing is mapped, and the journal is empty.
    pub fn reset(&mut self) -> Result<(), Failure> {
        let result = self.run(NicHarness::flr);
        *self.nic.memory_mut() = Translation::default();
        self.interrupts.clear();
        self.timers = Default::default();
        result
    }
}

/// What an entry means to the model. Bad frames are dropped by the model itself; a token for a
/// queue that was not built does nothing.
fn step(entry: Entry, queues: usize) -> Option<Step> {
    match entry {
        Entry::Frame { dropped: Some(reason @ (DropReason::NoBuffer | DropReason::Overflow)) } => {
            Some(Step::Skip(reason))
        }
        Entry::Frame { .. } => Some(Step::Frame),
        Entry::Token { queue, .. } if usize::from(queue) >= queues => None,
        Entry::Token { queue, kind } => Some(Step::Token { queue, kind }),
    }
}
