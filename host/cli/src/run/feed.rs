//! The wire: frames of a capture and the tokens between them, to the device; what comes back, to
//! the check.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use groove_driver::Device;
use groove_model::Model;

use super::check::{Check, Checked, Fault};
use super::receive::Shared;
use super::room::{self, Room, Shortage};
use super::{Bed, BedError, Report, RunError, Setup};
use crate::capture::{self, Frame, Reader};
use crate::compare::Mismatch;
use crate::sim::{CutRule, Ledger, Schedule};

/// Frames between two looks at journal and deliveries.
const CHECK_EVERY: u64 = 64;

/// Why feeding ends early.
pub enum Stop {
    /// No report.
    Failed(RunError),
    /// Driver and model differ.
    Mismatch(Box<Mismatch>),
}

impl<E: Into<RunError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The wire.
pub struct Feeder<'a> {
    bed: Arc<dyn Bed>,
    device: Arc<dyn Device>,
    setup: &'a Setup,
    shared: &'a Shared,
    steering: Model,
    schedule: Schedule,
    room: Room,
    check: Check,
    checked: Vec<Checked>,
    /// Counts so far.
    pub report: Report,
}

impl<'a> Feeder<'a> {
    /// At the start of a capture.
    pub fn new(
        bed: Arc<dyn Bed>,
        setup: &'a Setup,
        shared: &'a Shared,
        check: Check,
        report: Report,
    ) -> Result<Self, RunError> {
        let config = &setup.input.config;
        Ok(Self {
            device: bed.device(),
            bed,
            setup,
            shared,
            steering: Model::new(config.clone())?,
            schedule: Schedule::new(setup.input.pace, config.queues),
            room: Room::new(config.queues.into(), setup.buffer_bytes),
            check,
            checked: Vec::new(),
            report,
        })
    }

    /// Feeds a capture to its end, or to the signal, and flushes every queue. Gives what is wrong
    /// with the capture.
    pub fn feed(
        &mut self,
        reader: &mut Reader,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<capture::Error>, Stop> {
        let mut damage = None;
        self.shared.wait_for_start();
        self.bed.settle().map_err(|source| self.failed(source))?;
        while self.setup.input.limit.is_none_or(|limit| self.report.records < limit) {
            if stop.load(Ordering::Relaxed) {
                self.report.interrupted = true;
                break;
            }
            match reader.next_frame() {
                Ok(Some(frame)) => {
                    progress(frame.offset);
                    self.record(&frame)?;
                }
                Ok(None) => break,
                Err(error) => {
                    damage = Some(error);
                    break;
                }
            }
        }
        let mut tokens = Vec::new();
        self.schedule.end(&mut tokens);
        self.send(&tokens)?;
        self.bed.settle().map_err(|source| self.failed(source))?;
        self.step()?;
        Ok(damage)
    }

    /// Checks what the threads left. Call when they have ended.
    pub fn finish(&mut self) -> Result<(), Stop> {
        self.step()?;
        self.check.finish().map_err(stop)
    }

    /// Where frames came from.
    pub fn ledger(&mut self) -> &mut Ledger {
        &mut self.check.ledger
    }

    fn failed(&self, source: BedError) -> RunError {
        RunError::Bed { frame: self.report.frames.saturating_sub(1), source }
    }

    fn record(&mut self, frame: &Frame) -> Result<(), Stop> {
        self.report.records += 1;
        if frame.bytes.is_empty() {
            self.report.skipped.empty += 1;
            return Ok(());
        }
        if frame.is_cut() {
            self.report.skipped.cut += 1;
            if self.setup.input.cut == CutRule::Skip {
                return Ok(());
            }
        }
        let mut tokens = Vec::new();
        self.schedule.before(frame.time, &mut tokens);
        self.send(&tokens)?;
        let queue = (groove_spec::MIN_FRAME_BYTES..=self.setup.input.config.max_frame_bytes)
            .contains(&frame.bytes.len())
            .then(|| self.steering.steer(frame.bytes));
        if let Some(queue) = queue.filter(|_| self.setup.shortage == Shortage::Wait) {
            self.wait_for_room(queue, frame.bytes.len())?;
        }
        self.report.frames += 1;
        self.check.enter(frame, queue);
        self.bed.inject(frame.bytes).map_err(|source| self.failed(source))?;
        if let Some(queue) = queue {
            tokens.clear();
            self.schedule.after(queue, &mut tokens);
            self.send(&tokens)?;
        }
        if self.report.frames.is_multiple_of(CHECK_EVERY) {
            self.step()?;
        }
        Ok(())
    }

    fn send(&mut self, tokens: &[crate::sim::Token]) -> Result<(), Stop> {
        for token in tokens {
            self.report.tokens += 1;
            self.bed.token(token.queue, token.kind).map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    fn wait_for_room(&mut self, queue: u8, bytes: usize) -> Result<(), Stop> {
        let failed = |error: groove_driver::Error, frame| RunError::Bed {
            frame,
            source: BedError::Device(error),
        };
        let start = Instant::now();
        let frame = self.report.frames;
        while !self.room.covers(&*self.device, queue, bytes).map_err(|e| failed(e, frame))? {
            self.bed.settle().map_err(|source| self.failed(source))?;
            let seen = &self.shared.seen[usize::from(queue)];
            let idle = room::is_idle(&*self.device, queue, seen).map_err(|e| failed(e, frame))?;
            // A thread that has failed brings nothing home; what it failed of is said at the end.
            let in_vain = idle || self.shared.failed.load(Ordering::Acquire);
            if in_vain || !room::pause(start) {
                break;
            }
            self.step()?;
        }
        Ok(())
    }

    /// Checks what has come so far, and counts it.
    fn step(&mut self) -> Result<(), Stop> {
        let journal = self.bed.journal().map_err(|source| self.failed(source))?;
        let result = self.check.step(&journal, &mut self.checked);
        for checked in self.checked.drain(..) {
            match checked {
                Checked::Delivery(delivery, wire) => self.report.delivery(&delivery, wire),
                Checked::Drop(reason) => self.report.drop(reason),
            }
        }
        result.map_err(stop)
    }
}

fn stop(fault: Fault) -> Stop {
    match fault {
        Fault::Mismatch(mismatch) => Stop::Mismatch(mismatch),
        Fault::Conservation(fault) => Stop::Failed(fault.into()),
        Fault::Journal => Stop::Failed(RunError::Journal),
    }
}
