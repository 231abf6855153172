//! Devices by their name on the command line, and their failures.

use std::error::Error;
use std::sync::Arc;

use groove_model::Config;

use super::engine;
use crate::cli::{DeviceChoice, GoldenArgs, RunArgs};
use crate::run::{Bed, BedError, ModelBed};
use crate::{Failure, exit};

/// How a device is built and run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Receive queues.
    pub queues: u8,
    /// Bus width in bits.
    pub width: usize,
    /// Cycles that memory takes.
    pub latency: u32,
    /// Share of paused cycles, in percent.
    pub stall: u8,
    /// Seed of the pauses.
    pub seed: u64,
}

impl Options {
    /// As the command line has them.
    pub fn of_run(args: &RunArgs) -> Self {
        Self {
            queues: args.input.queues,
            width: args.width,
            latency: args.latency,
            stall: args.stall,
            seed: args.seed,
        }
    }

    /// One queue: a recorded case has no more.
    pub fn of_golden(args: &GoldenArgs) -> Self {
        Self { queues: 1, width: args.width, latency: 0, stall: 0, seed: 1 }
    }
}

/// Refuses what no device can be given.
pub fn check(_choice: DeviceChoice, config: &Config) -> Result<(), Failure> {
    engine::check_hardware(config, "use `groove sim --engine model`")
}

/// A device after reset.
pub fn open(choice: DeviceChoice, options: &Options) -> Result<Arc<dyn Bed>, Failure> {
    match choice {
        DeviceChoice::Model => Ok(Arc::new(ModelBed::new(options.queues))),
        DeviceChoice::Rtl => {
            Err(Failure::new(exit::DEVICE, "--device rtl: not built in yet")
                .help("use --device model"))
        }
    }
}

/// A failure of a device, seen at `error`.
pub fn failure(error: &(dyn Error + 'static), source: &BedError) -> Failure {
    match source {
        BedError::Device(_) => {
            Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it")
        }
        BedError::Rtl(failure) => engine::rtl_failure(error, failure.error()),
    }
}
