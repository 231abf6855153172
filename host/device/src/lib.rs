//! The golden model as a device: the same registers, rings, memory and interrupts as the hardware.
//!
//!   frame, token ──► admission ──► model ──► place ──► complete ──► MSI-X
//!                        ▲                     ▲
//!                        └── prefetched ◄── free ring            registers ◄── driver
//!
//! There is no clock and no thread: frames come in through [`ModelDevice::inject`], and time passes
//! in [`ModelDevice::tick`]. Equal calls give equal memory.
//! What went into the model is kept in a journal: replaying it in a second model must give what the
//! driver delivers.
//!
//! Invariants: a frame without buffers for its worst case is a counted drop and changes nothing
//! else (`an_uncovered_frame_changes_nothing`); memory that is not mapped
//! is never touched (`refuses_what_was_not_mapped`); disable flushes, then returns prefetched
//! buffers (`stopping_returns_what_was_prefetched`).
//! Not here: bus widths, AXI, latency: the Verilated device has them (`verilated`).

mod complete;
mod interrupts;
mod memory;
mod place;
mod queue;
mod registers;
mod state;
#[cfg(feature = "verilated")]
pub mod verilated;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use groove_driver::device::check_access;
use groove_driver::identify::REGISTERS;
use groove_driver::{Device, DmaMemory, Error, Interrupt, Region};
use groove_spec::nic::WINDOW_BYTES;
use groove_spec::{DropReason, QUEUES_MAX, TokenKind};

pub use registers::configuration;
use state::State;

/// What is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Receive queues; 0 acts as 1, more than 32 as 32.
    pub queues: u8,
    /// Buffers that a queue prefetches.
    pub prefetch: usize,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { queues: 1, prefetch: 64 }
    }
}

/// One thing that went into the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next frame, as it came.
    Frame,
    /// The next frame, dropped before the model saw it.
    Skip(DropReason),
    /// A token, from outside or from a timer.
    Token {
        /// Queue.
        queue: u8,
        /// Kind.
        kind: TokenKind,
    },
}

/// The device. All of it stands behind one lock.
#[derive(Debug)]
pub struct ModelDevice {
    state: Mutex<State>,
}

impl ModelDevice {
    /// A device after reset.
    pub fn new(parameters: Parameters) -> Self {
        let queues = parameters.queues.clamp(1, QUEUES_MAX as u8);
        Self { state: Mutex::new(State::new(Parameters { queues, ..parameters })) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A frame comes from the wire.
    pub fn inject(&self, frame: &[u8], bad_fcs: bool) -> Result<(), Error> {
        self.state().frame(frame, bad_fcs)
    }

    /// A token comes in between two frames.
    pub fn token(&self, queue: u8, kind: TokenKind) -> Result<(), Error> {
        self.state().token(queue, kind)
    }

    /// Time passes: timers run.
    pub fn tick(&self, cycles: u64) -> Result<(), Error> {
        self.state().tick(cycles)
    }

    /// What went into the model since the last call, in order.
    pub fn take_journal(&self) -> Vec<Step> {
        std::mem::take(&mut self.state().journal)
    }
}

impl Device for ModelDevice {
    fn region_bytes(&self, region: Region) -> u64 {
        if region == REGISTERS { WINDOW_BYTES as u64 } else { 0 }
    }

    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        check_access(region, offset, self.region_bytes(region))?;
        Ok(self.state().read(offset as usize))
    }

    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        check_access(region, offset, self.region_bytes(region))?;
        self.state().write(offset as usize, value)
    }

    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        self.state().memory.map(iova, memory)
    }

    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        self.state().memory.unmap(iova, bytes)
    }

    fn vectors(&self) -> usize {
        self.state().queues.len()
    }

    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        let available = self.vectors();
        let wanted = interrupts.len();
        if wanted > available {
            return Err(Error::TooManyVectors { wanted, available });
        }
        self.state().interrupts = interrupts.to_vec();
        Ok(())
    }

    fn reset(&self) -> Result<(), Error> {
        let mut state = self.state();
        *state = State::new(state.parameters);
        Ok(())
    }
}
