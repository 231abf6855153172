//! `groove serve`: a device over vfio-user, with a capture on its wire; and the other end of it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use groove_driver::{Interrupt, KernelVfio, SocketVfio};
use groove_serve::{BindError, Event, Server};

use super::run::signals;
use super::{device, output, sim};
use crate::cli::{CutChoice, DeviceAddress, ServeArgs};
use crate::run::{Bed, RemoteBed};
use crate::serve::{self, Wire, WireError};
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
    if let Some(capture) = &args.capture {
        // What is wrong with it is said before anybody connects.
        crate::capture::Reader::open(capture).map_err(|e| sim::capture_failure(&e))?;
    }
    let server = Server::bind(&args.socket).map_err(|e| bind_failure(&e))?;
    let path = args.socket.display();
    output::talk(&format!(
        "serving {} at {path}; receive: groove run CAPTURE --device vfio-user:{path}",
        bed.name()
    ))?;
    let stop = signals()?;
    let told = Interrupt::new();
    let told =
        told.map_err(|e| Failure::caused(exit::FAULT, "failed to make an event file", &e))?;
    let wire = args.capture.as_deref().map(|capture| wire(args, capture));
    let drivers = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (stop, told, bed) = (&*stop, &told, &*bed);
        let drivers = &drivers;
        let player = wire.map(|wire| scope.spawn(move || play(bed, &wire, drivers, stop, told)));
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
    })
}

fn wire(args: &ServeArgs, capture: &Path) -> Wire {
    let pace = match args.ticks {
        Some(microseconds) => Pace::Ticks(Duration::from_micros(microseconds)),
        None => Pace::Batch(args.batch.unwrap_or(64)),
    };
    let cut = match args.cut {
        CutChoice::Skip => CutRule::Skip,
        CutChoice::Run => CutRule::Run,
    };
    Wire { capture: capture.into(), pace, cut, limit: args.limit }
}

fn play(
    bed: &dyn Bed,
    wire: &Wire,
    drivers: &AtomicU64,
    stop: &AtomicBool,
    told: &Interrupt,
) -> Result<(), Failure> {
    let played = serve::play(bed, wire, drivers, stop, |played| {
        let how = if played.cut_short { "the driver went after" } else { "played" };
        // Nobody has to read it.
        let _ = output::talk(&format!("{how} {} frames", played.frames));
    });
    played.map_err(|error| {
        // The server has nothing to serve any more.
        let _ = told.signal();
        match &error {
            WireError::Capture(error) => sim::capture_failure(error),
            WireError::Bed(source) => device::failure(&error, source),
            _ => Failure::of(exit::DEVICE, &error),
        }
    })
}

fn told_of(event: &Event) -> String {
    match event {
        Event::Connected => "a driver is there".into(),
        Event::Gone { messages } => format!("the driver has gone after {messages} messages"),
        Event::Refused => "a second driver came, and was refused".into(),
        Event::Failed { messages, error } => {
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
