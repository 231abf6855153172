//! `groove serve`: a device over vfio-user, with a capture or a TAP interface on its wire; and the
//! other end of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use groove_driver::{Device, Interrupt, KernelVfio, SocketVfio, identify};
use groove_serve::{BindError, Event, Server, Summary, Tap, TapError};

use super::run::signals;
use super::{device, measured, output, sim};
use crate::cli::{CutChoice, DeviceAddress, ServeArgs};
use crate::run::{Bed, RemoteBed};
use crate::serve::{self, Heard, Report, Wire, WireError};
use crate::sim::{CutRule, Pace};
use crate::{Failure, exit};

/// Longest silence of a device that is elsewhere.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at the signals.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Cycles of a device without a clock in that time, at 250 MHz.
const LOOK_CYCLES: u64 = 500_000;

/// Runs `groove serve`.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    let bed = device::open_served(args)?;
    let traffic = traffic(args)?;
    let server = Server::bind(&args.socket).map_err(|e| bind_failure(&e))?;
    let path = args.socket.display();
    let receive = match traffic {
        Some(Traffic::Capture(_)) => "groove run CAPTURE",
        _ => "groove run",
    };
    output::talk(&format!(
        "serving {} at {path}; receive: {receive} --device vfio-user:{path}",
        bed.name()
    ))?;
    if let Some(Traffic::Tap(tap, _)) = &traffic {
        let name = tap.name();
        output::talk(&format!("frames come from {name}, once it is up: ip link set {name} up"))?;
    }
    let stop = signals()?;
    let told = Interrupt::new();
    let told =
        told.map_err(|e| Failure::caused(exit::FAULT, "failed to make an event file", &e))?;
    let drivers = AtomicU64::new(0);
    let report = Mutex::new(Report { device: bed.name().into(), ..Report::default() });
    let outcome = std::thread::scope(|scope| {
        let (stop, told, bed) = (&*stop, &told, &*bed);
        let (drivers, report) = (&drivers, &report);
        let player = |t| scope.spawn(move || play(bed, t, drivers, stop, told, report));
        let player = traffic.map(player);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) && bed.tick(LOOK_CYCLES).is_ok() {
                std::thread::sleep(LOOK_EVERY);
            }
            // If it cannot be told so, the second signal ends it.
            let _ = told.signal();
        });
        let served = server.run(&bed.device(), told, |event| {
            if args.once && matches!(event, Event::Gone { .. } | Event::Failed { .. }) {
                stop.store(true, Ordering::Relaxed);
            }
            if matches!(event, Event::Connected) {
                drivers.fetch_add(1, Ordering::Release);
            }
            note(report, &event);
            // Nobody has to read it.
            let _ = output::talk(&told_of(&event));
        });
        stop.store(true, Ordering::Relaxed);
        let played = player.map_or(Ok(()), |player| match player.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        played?;
        served.map_err(|e| Failure::caused(exit::FAULT, format!("failed to serve {path}"), &e))
    });
    if let Some(json) = &args.json {
        measured::json(json, &*report.lock().unwrap_or_else(PoisonError::into_inner))?;
    }
    outcome
}

fn note(report: &Mutex<Report>, event: &Event) {
    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
    match event {
        Event::Connected => {}
        Event::Gone(summary) => report.driver(summary, None),
        Event::Refused => report.refused += 1,
        Event::Failed { summary, error } => report.driver(summary, Some(error.to_string())),
    }
}

/// What is on the wire.
enum Traffic {
    Capture(Wire),
    /// With the frames of a batch.
    Tap(Tap, u32),
}

/// What is wrong with it is said before anybody connects.
fn traffic(args: &ServeArgs) -> Result<Option<Traffic>, Failure> {
    let batch = args.batch.unwrap_or(64);
    if let Some(name) = &args.tap {
        return Ok(Some(Traffic::Tap(tap_failure(Tap::open(name))?, batch)));
    }
    if args.capture.is_empty() {
        return Ok(None);
    }
    for capture in &args.capture {
        crate::capture::Reader::open(capture).map_err(|e| sim::capture_failure(&e))?;
    }
    let pace = match args.ticks {
        Some(microseconds) => Pace::Ticks(Duration::from_micros(microseconds)),
        None => Pace::Batch(batch),
    };
    let cut = match args.cut {
        CutChoice::Skip => CutRule::Skip,
        CutChoice::Run => CutRule::Run,
    };
    Ok(Some(Traffic::Capture(Wire {
        captures: args.capture.clone(),
        pace,
        cut,
        limit: args.limit,
    })))
}

/// An interface, or why it cannot be had.
pub fn tap_failure<T>(taken: Result<T, TapError>) -> Result<T, Failure> {
    taken.map_err(|error| {
        let code = match error {
            TapError::Name(_) => exit::USAGE,
            _ => exit::DEVICE,
        };
        Failure::of(code, &error).help(error.help())
    })
}

fn play(
    bed: &dyn Bed,
    traffic: Traffic,
    drivers: &AtomicU64,
    stop: &AtomicBool,
    told: &Interrupt,
    report: &Mutex<Report>,
) -> Result<(), Failure> {
    let mut name = String::new();
    let played = match traffic {
        Traffic::Capture(wire) => serve::play(bed, &wire, drivers, stop, |played| {
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            report.played(&wire.captures[played.capture], played);
            let how = if played.cut_short { "the driver went after" } else { "played" };
            // Nobody has to read it.
            let _ = output::talk(&format!("{how} {} frames", played.frames));
        }),
        Traffic::Tap(mut tap, batch) => {
            tap.name().clone_into(&mut name);
            serve::listen(bed, &mut tap, batch, drivers, stop, |heard| {
                let Heard { frames, lost } = heard;
                let _ = output::talk(&format!(
                    "the driver got {frames} frames from {name}; {lost} came to nobody"
                ));
            })
        }
    };
    played.map_err(|error| {
        // The server has nothing to serve any more.
        let _ = told.signal();
        match &error {
            WireError::Capture(error) => sim::capture_failure(error),
            WireError::Tap(_) => Failure::of(exit::DEVICE, &error)
                .help(format!("the interface is gone: see `ip link show {name}`, and serve again")),
            WireError::Bed(source) => device::failure(&error, source),
            _ => Failure::of(exit::DEVICE, &error),
        }
    })
}

fn told_of(event: &Event) -> String {
    match event {
        Event::Connected => "a driver is there".into(),
        Event::Gone(Summary { messages, .. }) => {
            format!("the driver has gone after {messages} messages")
        }
        Event::Refused => "a second driver came, and was refused".into(),
        Event::Failed { summary: Summary { messages, .. }, error } => {
            let mut text = format!("the driver was sent away after {messages} messages: {error}");
            let mut cause = std::error::Error::source(error);
            while let Some(error) = cause {
                text += &format!(": {error}");
                cause = error.source();
            }
            text
        }
    }
}

fn bind_failure(error: &BindError) -> Failure {
    let help = match error {
        BindError::InUse(_) => "end the other server, or serve at another path",
        BindError::NoSocket(_) => "serve at another path",
        BindError::Io { .. } => {
            "the directory must be there and writable, and the path at most \
                                 107 bytes long"
        }
    };
    Failure::of(exit::USAGE, error).help(help)
}

/// A device that is elsewhere; `None` if it is here.
pub fn attach(address: &DeviceAddress) -> Result<Option<Arc<dyn Bed>>, Failure> {
    let bed = match address {
        DeviceAddress::Here(_) => return Ok(None),
        DeviceAddress::Vfio(bdf) => {
            let device =
                KernelVfio::open(*bdf).map_err(|e| Failure::of(exit::DEVICE, &e).help(e.help()))?;
            RemoteBed::new("vfio", Arc::new(device), PATIENCE)
        }
        DeviceAddress::VfioUser(path) => {
            let device =
                SocketVfio::open(path).map_err(|e| Failure::of(exit::DEVICE, &e).help(e.help()))?;
            RemoteBed::new("vfio-user", Arc::new(device), PATIENCE)
        }
    };
    Ok(Some(Arc::new(bed)))
}

/// Queues of a device that is elsewhere: one that is not of our table is refused here.
pub fn queues(device: &dyn Device) -> Result<u8, Failure> {
    let identity = identify(device).map_err(|e| Failure::of(exit::DEVICE, &e).help(e.help()))?;
    Ok(identity.queues as u8)
}
