//! `groove run` without a capture: receives from a device elsewhere, reported; Ctrl-C ends it.

use std::io::ErrorKind;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use groove_driver::Settings;
use groove_serve::TapOutput;

use super::run::{setup_help, signals};
use super::{measured, output, serve, sim};
use crate::capture::Writer;
use crate::cli::{RunArgs, SplitChoice};
use crate::live::kernel::Kernel;
use crate::live::{self, GiveError, LiveError, Plan};
use crate::{Failure, exit, run};

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let Some(bed) = serve::attach(&args.device)? else {
        return Err(Failure::usage(
            "CAPTURE is missing: nothing else comes to a device in this process",
        )
        .help(
            "`groove run CAPTURE`, or a device that has a wire: --device vfio-user:SOCKET, \
                   --device vfio:BDF",
        ));
    };
    let device = bed.device();
    let plan = Plan {
        settings: settings(args, serve::queues(&*device)?),
        frames: args.frames,
        time: args.seconds.map(|seconds| Duration::from_secs(seconds.into())),
    };
    let mut out = match &args.out {
        Some(path) => Some(Writer::create(path).map_err(|e| sim::capture_failure(&e))?),
        None => None,
    };
    let mut kernel = match &args.tap {
        Some(name) => Some(Kernel::new(name, serve::tap_failure(TapOutput::open(name))?)),
        None => None,
    };
    let stop = signals()?;
    if let Some(name) = &args.tap {
        output::talk(&format!("the kernel gets them from {name}: ip link set {name} up"))?;
    }
    if plan.frames.is_none() && plan.time.is_none() {
        output::talk("receiving until Ctrl-C")?;
    }
    let (mut report, result) = live::run(bed.name(), device, &plan, &stop, &mut |delivery| {
        if let Some(out) = &mut out {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            out.delivery(now, &delivery.to_spec())?;
        }
        kernel.as_mut().map_or(Ok(()), |kernel| Ok(kernel.give(delivery)?))
    });
    report.tap = kernel.map(|kernel| kernel.given());
    let written = out.map_or(Ok(()), Writer::finish).map_err(|e| sim::capture_failure(&e));
    measured::report(args.json.as_deref(), &live::table(&report), &report)?;
    result.map_err(|error| failure(&error))?;
    written
}

fn settings(args: &RunArgs, available: u8) -> Settings {
    let mut input = args.input.clone();
    input.queues.get_or_insert(available);
    let config = input.setup().config;
    // Nobody out there says where sessions are flushed: the timers do.
    let timers = Settings::new(config.queues.into());
    let pool = args.pool as usize;
    Settings {
        ring: pool.next_power_of_two(),
        buffers: pool,
        buffer_bytes: args.buffer,
        split: args.split == SplitChoice::On,
        moderation_time: timers.moderation_time,
        hold_time: timers.hold_time,
        ..run::settings(&config)
    }
}

fn failure(error: &LiveError) -> Failure {
    match error {
        LiveError::Setup(source) => Failure::of(exit::DEVICE, error).help(setup_help(source)),
        LiveError::Device(source) => Failure::of(exit::DEVICE, error).help(source.help()),
        LiveError::Queue(source) => Failure::of(exit::DEVICE, error).help(
            source.help().unwrap_or("see whether the device is still there: groove devices, dmesg"),
        ),
        LiveError::Give(GiveError::Capture(source)) => sim::capture_failure(source),
        LiveError::Give(GiveError::Kernel(source)) => {
            let name = &source.name;
            let help = match source.source.kind() {
                ErrorKind::InvalidInput => {
                    "the kernel refused a virtio_net_hdr: please report it, with what \
                     `groove run --out` writes of the same traffic"
                        .into()
                }
                _ => format!("the interface is gone: see `ip link show {name}`, and run it again"),
            };
            Failure::of(exit::DEVICE, source).help(help)
        }
        LiveError::Buffers(..) => {
            Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it")
        }
    }
}
