//! What a run needs of a device: the driver's side of it, the wire in front of it, and its journal.
//!
//!   capture ──► [`Bed::inject`], [`Bed::token`] ──► device ──► driver
//!                                                     └──► [`Bed::journal`] ──► model
//!
//! Invariant: what a device drops or adds by itself stands in its journal; nothing else that it
//! says about itself is used (`a_run_equals_a_simulation`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use groove_device::verilated::{Failure, VerilatedDevice};
use groove_device::{ModelDevice, Parameters, Step};
use groove_driver::Device;
use groove_spec::TokenKind;

/// Why a device did not take what came from the wire.
#[derive(Debug, thiserror::Error)]
pub enum BedError {
    /// An interrupt or a register failed.
    #[error("{0}")]
    Device(#[from] groove_driver::Error),
    /// The simulation cannot be built, broke a protocol, or came to a stop.
    #[error("{0}")]
    Rtl(#[from] Failure),
}

/// A device, and the wire in front of it.
pub trait Bed: Send + Sync {
    /// Name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// What the driver sees.
    fn device(&self) -> Arc<dyn Device>;

    /// A frame comes from the wire.
    fn inject(&self, bytes: &[u8]) -> Result<(), BedError>;

    /// A token comes in between two frames.
    fn token(&self, queue: u8, kind: TokenKind) -> Result<(), BedError>;

    /// Waits until the device has done all that it can without the host.
    fn settle(&self) -> Result<(), BedError>;

    /// Time passes, for a device that has no clock of its own.
    fn tick(&self, _cycles: u64) -> Result<(), BedError> {
        Ok(())
    }

    /// What went into the pipeline since the last call, in order.
    fn journal(&self) -> Result<Vec<Step>, BedError>;

    /// Clock cycles so far; `None` for a device without a clock.
    fn cycles(&self) -> Option<u64> {
        None
    }
}

/// The software device.
pub struct ModelBed(Arc<ModelDevice>);

impl ModelBed {
    /// After reset.
    pub fn new(queues: u8) -> Self {
        Self(Arc::new(ModelDevice::new(Parameters { queues, ..Parameters::default() })))
    }
}

impl Bed for ModelBed {
    fn name(&self) -> &'static str {
        "model"
    }

    fn device(&self) -> Arc<dyn Device> {
        Arc::clone(&self.0) as Arc<dyn Device>
    }

    fn inject(&self, bytes: &[u8]) -> Result<(), BedError> {
        Ok(self.0.inject(bytes, false)?)
    }

    fn token(&self, queue: u8, kind: TokenKind) -> Result<(), BedError> {
        Ok(self.0.token(queue, kind)?)
    }

    fn settle(&self) -> Result<(), BedError> {
        Ok(())
    }

    fn tick(&self, cycles: u64) -> Result<(), BedError> {
        Ok(self.0.tick(cycles)?)
    }

    fn journal(&self) -> Result<Vec<Step>, BedError> {
        Ok(self.0.take_journal())
    }
}

/// The hardware under Verilator, with a memory behind its AXI port.
///
/// It has a port for tokens of its own, and takes one when it likes. Here it has to be between two
/// frames, as in a simulation of the pipeline: before what comes behind the other kind, the
/// hardware comes to rest.
pub struct RtlBed {
    device: Arc<VerilatedDevice>,
    token_was_last: AtomicBool,
}

impl RtlBed {
    /// After reset.
    pub fn new(device: VerilatedDevice) -> Self {
        Self { device: Arc::new(device), token_was_last: AtomicBool::new(false) }
    }

    fn between(&self, token: bool) -> Result<(), BedError> {
        if self.token_was_last.swap(token, Ordering::Relaxed) != token {
            self.device.settle()?;
        }
        Ok(())
    }
}

impl Bed for RtlBed {
    fn name(&self) -> &'static str {
        "rtl"
    }

    fn device(&self) -> Arc<dyn Device> {
        Arc::clone(&self.device) as Arc<dyn Device>
    }

    fn inject(&self, bytes: &[u8]) -> Result<(), BedError> {
        self.between(false)?;
        Ok(self.device.inject(bytes, false)?)
    }

    fn token(&self, queue: u8, kind: TokenKind) -> Result<(), BedError> {
        self.between(true)?;
        Ok(self.device.token(queue, kind)?)
    }

    fn settle(&self) -> Result<(), BedError> {
        Ok(self.device.settle()?)
    }

    fn journal(&self) -> Result<Vec<Step>, BedError> {
        Ok(self.device.take_journal()?)
    }

    fn cycles(&self) -> Option<u64> {
        Some(self.device.cycles())
    }
}
