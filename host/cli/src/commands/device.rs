//! Devices by their name on the command line, and their failures.

use std::error::Error;
use std::sync::Arc;

use groove_device::verilated::{self, Clock, VerilatedDevice};
use groove_model::Config;
use groove_spec::QUEUES_MAX;
use groove_verilator::BuildOptions;
use groove_verilator::nic::NicConfig;

use super::{engine, output};
use crate::cli::{DeviceChoice, GoldenArgs, RunArgs, ServeArgs};
use crate::run::{Bed, BedError, ModelBed, RtlBed};
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
    /// When the clock runs.
    pub clock: Clock,
}

impl Options {
    /// As the command line has them.
    pub fn of_run(args: &RunArgs) -> Self {
        Self {
            queues: args.input.queue_count(),
            width: args.width,
            latency: args.latency,
            stall: args.stall,
            seed: args.seed,
            clock: Clock::Thread,
        }
    }

    fn verilated(&self) -> verilated::Options {
        verilated::Options {
            build: BuildOptions {
                width: self.width,
                queues: self.queues.into(),
                ..BuildOptions::default()
            },
            run: NicConfig {
                seed: self.seed,
                stall_percent: self.stall,
                latency_cycles: 0..=self.latency,
                ..NicConfig::default()
            },
            clock: self.clock,
        }
    }

    /// All queues, as other runs build them: a recorded case uses one.
    pub fn of_golden(args: &GoldenArgs) -> Self {
        Self {
            queues: QUEUES_MAX as u8,
            width: args.width,
            latency: 0,
            stall: 0,
            seed: 1,
            clock: Clock::Stepped,
        }
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
            let talk = "building the hardware under Verilator, or taking it from the cache";
            output::talk(talk)?;
            let device = VerilatedDevice::open(&options.verilated())
                .map_err(|e| engine::rtl_failure(&e, e.error()))?;
            Ok(Arc::new(RtlBed::new(device)))
        }
    }
}

/// A device that is served, which lives on while drivers come and go.
pub fn open_served(args: &ServeArgs) -> Result<Arc<dyn Bed>, Failure> {
    let options = Options {
        queues: args.queues,
        width: args.width,
        latency: 0,
        stall: 0,
        seed: 1,
        clock: Clock::Thread,
    };
    open(args.device, &options)
}

/// A failure of a device, seen at `error`.
pub fn failure(error: &(dyn Error + 'static), source: &BedError) -> Failure {
    match source {
        BedError::Device(device) if device.help().is_some() => {
            Failure::of(exit::DEVICE, error).help(device.help().unwrap_or_default())
        }
        BedError::Device(_) => {
            Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it")
        }
        BedError::Rtl(failure) => engine::rtl_failure(error, failure.error()),
    }
}
