//! The hardware as a device: Verilated in this process, with host memory behind its AXI pins.
//!
//!   driver ──► registers ──► AXI-Lite ──►┌──────────┐──► AXI ──► translation ──► DMA memory
//!   frames, tokens ─────────────────────►│ hardware │──► MSI-X ──► interrupts
//!   clock: calls, or a thread ──────────►└──────────┘──► logs ──► journal
//!
//! Stepped, the clock runs within calls alone: the same seed and calls give the same memory. With a
//! thread of its own it also runs between them, while there is work or a timer may expire.
//! What went into the pipeline is kept in a journal, as the software device keeps it.
//!
//! Invariants: what was not mapped is not reached, and nothing is written behind the return of an
//! unmap (`unmapped_memory_is_never_written`); the same calls give the same memory
//! (`the_same_calls_give_the_same_memory`); a broken device answers every call with the same error
//! (`a_broken_device_stays_broken`).
//! Not here: protocol and waits of the pins, which `groove_verilator::nic` has.

mod clock;
mod memory;
pub mod rig;
mod state;

use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;

use groove_driver::device::check_access;
use groove_driver::identify::REGISTERS;
use groove_driver::{Device, DmaMemory, Error, Interrupt, Region};
use groove_spec::TokenKind;
use groove_spec::nic::WINDOW_BYTES;
use groove_verilator::nic::{NicConfig, NicHarness, NicStats};
use groove_verilator::{BuildOptions, Stimulus};

use crate::Step;
use crate::memory::Translation;
use clock::Shared;
use state::State;

/// When the clock runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Within calls alone.
    #[default]
    Stepped,
    /// In a thread too, while there is work or a timer may expire.
    Thread,
}

/// What is built, and how it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The hardware.
    pub build: BuildOptions,
    /// Its surroundings.
    pub run: NicConfig,
    /// When the clock runs.
    pub clock: Clock,
}

/// Why the simulation does not go on.
#[derive(Clone, Debug)]
pub struct Failure(Arc<groove_verilator::Error>);

impl Failure {
    /// The error of the harness.
    pub fn error(&self) -> &groove_verilator::Error {
        &self.0
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl From<groove_verilator::Error> for Failure {
    fn from(error: groove_verilator::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Io(std::io::Error::other(failure))
    }
}

/// The device.
pub struct VerilatedDevice {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    vectors: usize,
}

impl std::fmt::Debug for VerilatedDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerilatedDevice").field("vectors", &self.vectors).finish_non_exhaustive()
    }
}

impl VerilatedDevice {
    /// Builds the hardware, or takes it from the cache, and resets it.
    ///
    /// # Errors
    /// If a tool is missing or fails, the parameters cannot be built, or no thread starts.
    pub fn open(options: &Options) -> Result<Self, Failure> {
        let harness = NicHarness::open(&options.build, &options.run, Translation::default())?;
        Self::with_harness(harness, options)
    }

    /// As [`VerilatedDevice::open`], from a Verilog text of the caller's, with top `groove_nic`.
    ///
    /// # Errors
    /// As for [`VerilatedDevice::open`].
    pub fn from_verilog(verilog: &str, options: &Options) -> Result<Self, Failure> {
        let Options { build, run, .. } = options;
        let harness = NicHarness::from_verilog(verilog, build, run, Translation::default())?;
        Self::with_harness(harness, options)
    }

    fn with_harness(harness: NicHarness<Translation>, options: &Options) -> Result<Self, Failure> {
        let vectors = options.build.queues;
        let shared = Arc::new(Shared::new(State::new(harness, vectors)));
        let thread = match options.clock {
            Clock::Stepped => None,
            Clock::Thread => Some(clock::start(&shared)?),
        };
        Ok(Self { shared, thread, vectors })
    }

    /// A frame comes from the wire.
    ///
    /// # Errors
    /// If the simulation has failed.
    pub fn inject(&self, bytes: &[u8], bad_fcs: bool) -> Result<(), Failure> {
        self.change(|state| state.run(|nic| nic.push(Stimulus::Frame { bytes, bad_fcs })))
    }

    /// A token comes in.
    ///
    /// # Errors
    /// If the simulation has failed.
    pub fn token(&self, queue: u8, kind: TokenKind) -> Result<(), Failure> {
        self.change(|state| state.run(|nic| nic.push(Stimulus::Token { queue, kind })))
    }

    /// Time passes.
    ///
    /// # Errors
    /// If the simulation has failed.
    pub fn tick(&self, cycles: u64) -> Result<(), Failure> {
        self.change(|state| state.run(|nic| nic.run(cycles)))
    }

    /// Waits until all that can be done without the host and without time is done.
    ///
    /// # Errors
    /// If the simulation has failed.
    pub fn settle(&self) -> Result<(), Failure> {
        self.state().run(NicHarness::settle)
    }

    /// What went into the pipeline since the last call or reset, in order; settles first.
    ///
    /// # Errors
    /// If the simulation has failed.
    pub fn take_journal(&self) -> Result<Vec<Step>, Failure> {
        self.state().take_journal()
    }

    /// Cycles since power-on.
    pub fn cycles(&self) -> u64 {
        self.state().nic.cycle()
    }

    /// Counts since power-on.
    pub fn stats(&self) -> NicStats {
        self.state().nic.stats()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock()
    }

    /// For calls that give the hardware something to do.
    fn change<T>(&self, call: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let result = call(&mut state);
        state.stay_awake();
        drop(state);
        self.shared.wake();
        result
    }
}

impl Drop for VerilatedDevice {
    fn drop(&mut self) {
        self.state().stops = true;
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            // It has no result, and a panic of it was told already.
            let _ = thread.join();
        }
    }
}

impl Device for VerilatedDevice {
    fn region_bytes(&self, region: Region) -> u64 {
        if region == REGISTERS { WINDOW_BYTES as u64 } else { 0 }
    }

    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        check_access(region, offset, self.region_bytes(region))?;
        Ok(self.state().run(|nic| nic.read32(offset as u16))?)
    }

    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        check_access(region, offset, self.region_bytes(region))?;
        Ok(self.change(|state| state.write(offset as usize, value))?)
    }

    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        self.state().nic.memory_mut().map(iova, memory)
    }

    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        let mut state = self.state();
        let finished = state.run(NicHarness::finish_writes);
        state.nic.memory_mut().unmap(iova, bytes)?;
        Ok(finished?)
    }

    fn vectors(&self) -> usize {
        self.vectors
    }

    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        let (wanted, available) = (interrupts.len(), self.vectors);
        if wanted > available {
            return Err(Error::TooManyVectors { wanted, available });
        }
        self.state().interrupts = interrupts.to_vec();
        Ok(())
    }

    fn reset(&self) -> Result<(), Error> {
        Ok(self.state().reset()?)
    }
}

#[cfg(test)]
#[path = "verilated_tests.rs"]
mod tests;
