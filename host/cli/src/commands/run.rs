//! `groove run`: a capture through a device and the driver, reported; Ctrl-C drains. Without a
//! capture: `live`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use groove_driver::SetupError;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::progress::Progress;
use super::{device, live, measured, serve, sim};
use crate::capture::Reader;
use crate::cli::{DeviceAddress, DeviceChoice, RunArgs, SplitChoice};
use crate::run::{self, RunError, Setup, Shortage};
use crate::{Failure, exit};

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let Some(capture) = &args.capture else { return live::run(args) };
    let here = match args.device {
        DeviceAddress::Here(choice) => choice,
        // It is given what hardware can do.
        _ => DeviceChoice::Rtl,
    };
    device::check(here, &args.input.setup().config)?;
    let mut reader = Reader::open(capture).map_err(|e| sim::capture_failure(&e))?;
    let mut args = args.clone();
    let bed = match serve::attach(&args.device)? {
        Some(bed) => {
            let available = serve::queues(&*bed.device())?;
            args.input.queues.get_or_insert(available);
            bed
        }
        None => device::open(here, &device::Options::of_run(&args))?,
    };
    let setup = setup(&args);
    let stop = signals()?;
    let mut progress = Progress::new(reader.total_bytes());
    let outcome = run::run(&mut reader, bed, &setup, &stop, &mut |at| progress.at(at));
    progress.finish();
    let outcome = outcome.map_err(|error| run_failure(&error))?;
    let report = &outcome.report;
    if report.records > 0 || outcome.damage.is_none() {
        measured::report(args.json.as_deref(), &run::table(report), report)?;
    }
    if let Some(mismatch) = &outcome.mismatch {
        let mut lines = mismatch.lines.iter().cloned();
        let first = lines.next().unwrap_or_default();
        let mut failure = Failure::new(exit::MISMATCH, format!("driver and model differ: {first}"));
        failure.causes = lines.collect();
        return Err(failure.help("`groove sim` says whether the pipeline alone is right"));
    }
    if report.interrupted {
        let message = format!("interrupted behind frame {}", report.frames);
        return Err(Failure::new(exit::INTERRUPTED, message)
            .help("the report holds for the frames up to there; all of them are accounted for"));
    }
    let limit = args.input.limit;
    sim::read_failure(&outcome.damage, report.frames, &report.skipped, capture, limit)
}

fn setup(args: &RunArgs) -> Setup {
    Setup {
        input: args.input.setup(),
        threads: args.threads.into(),
        release: args.release,
        pool: args.pool as usize,
        buffer_bytes: args.buffer,
        split: args.split == SplitChoice::On,
        shortage: match args.device {
            DeviceAddress::Here(_) => args.shortage,
            // The other end of the wire waits.
            _ => Shortage::Drop,
        },
    }
}

/// A flag that the first Ctrl-C or SIGTERM raises; the second one ends at once.
pub fn signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let code = exit::INTERRUPTED.into();
        flag::register_conditional_shutdown(signal, code, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(|e| Failure::caused(exit::FAULT, "failed to listen for signals", &e))?;
    }
    Ok(stop)
}

/// What to do when the driver does not take a device.
pub fn setup_help(error: &SetupError) -> &'static str {
    let sizes = "take fewer queues, a smaller --pool, or smaller buffers with --buffer";
    error.help().unwrap_or(sizes)
}

fn run_failure(error: &RunError) -> Failure {
    match error {
        RunError::Config(_) => Failure::of(exit::USAGE, error)
            .help("`groove run --help` lists the options and their bounds"),
        RunError::Bed { source, .. } => device::failure(error, source),
        // The device has gone, or is to go.
        RunError::Queue(source) if source.help().is_some() => {
            Failure::of(exit::DEVICE, error).help(source.help().unwrap_or_default())
        }
        RunError::Setup(source) => Failure::of(exit::DEVICE, error).help(setup_help(source)),
        _ => Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it"),
    }
}
