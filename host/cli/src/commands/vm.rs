//! `groove vm`: the driver in a guest, tested or explored.

use std::sync::Arc;

use groove_driver::{Device, KernelVfio};

use super::{measured, output, sim};
use crate::cli::{StrayArgs, VmAction, VmArgs, VmGuestArgs, VmTestArgs};
use crate::vm::{self, ExpectError, Expected, ProgramError, Report, Session, SessionError, stray};
use crate::{Failure, exit};

/// Runs the command.
pub fn run(args: &VmArgs) -> Result<(), Failure> {
    match &args.action {
        VmAction::Test(args) => test(args),
        VmAction::Shell(args) => shell(&args.guest),
        VmAction::Stray(args) => go_astray(args),
    }
}

/// Progress, for people; nobody has to read it.
fn talk(line: &str) {
    let _ = output::talk(line);
}

fn captures(args: &VmGuestArgs) -> Result<Vec<Expected>, Failure> {
    let captures = match &args.capture[..] {
        [] => vm::own_captures(),
        named => named.to_vec(),
    };
    if captures.is_empty() {
        return Err(Failure::usage("no capture to run: the project's own are not there")
            .help("name one: --capture FILE"));
    }
    let expect = |capture| vm::expect(capture, args.queues, args.limit);
    captures.iter().map(|capture| expect(capture).map_err(|e| expect_failure(&e))).collect()
}

fn expect_failure(error: &ExpectError) -> Failure {
    match error {
        ExpectError::Capture(error) => sim::capture_failure(error),
        ExpectError::Sim(_) => {
            Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it")
        }
        ExpectError::Empty(_) => {
            Failure::of(exit::USAGE, error).help("record again while there is traffic")
        }
    }
}

fn test(args: &VmTestArgs) -> Result<(), Failure> {
    let expected = captures(&args.guest)?;
    let files: Vec<_> = expected.iter().map(|expected| expected.capture.clone()).collect();
    let mut session = Session::start(&args.guest, &files, &talk).map_err(|e| failure(&e))?;
    let script = vm::script::test(&expected, args.guest.queues, args.guest.limit);
    let outcome = session.run(script, vm::script::outputs(expected.len()), &talk);
    let outcome = outcome.map_err(|e| failure(&e))?;
    let (seconds, driver) = (session.seconds, session.driver().clone());
    let (qemu, kernel) = (session.qemu().map_err(|e| failure(&e))?, session.kernel().to_owned());
    let (served, _) = session.served().map_err(|e| failure(&e))?;
    let report = Report::new(vm::Found {
        qemu,
        kernel,
        driver: &driver,
        expected: &expected,
        outcome: &outcome,
        served: &served,
        seconds,
    });
    measured::report(args.json.as_deref(), &vm::table(&report), &report)?;
    let mut faults = report.faults.into_iter();
    let Some(first) = faults.next() else { return Ok(()) };
    let mut failure = Failure::new(exit::MISMATCH, first);
    failure.causes = faults.collect();
    Err(failure.help("`groove vm shell` gives a console in the same guest"))
}

fn shell(args: &VmGuestArgs) -> Result<(), Failure> {
    let expected = captures(args)?;
    let files: Vec<_> = expected.iter().map(|expected| expected.capture.clone()).collect();
    let session = Session::start(args, &files, &talk).map_err(|e| failure(&e))?;
    talk("booting; leave with exit, or with Ctrl-A and then X");
    session.interact(vm::script::shell(files.len(), args.queues)).map_err(|e| failure(&e))
}

fn go_astray(args: &StrayArgs) -> Result<(), Failure> {
    let device =
        KernelVfio::open(args.bdf).map_err(|e| Failure::of(exit::DEVICE, &e).help(e.help()))?;
    let device: Arc<dyn Device> = Arc::new(device);
    let report = stray::run(&device).map_err(|e| Failure::of(exit::DEVICE, &e))?;
    measured::report(args.json.as_deref(), &stray::table(&report), &report)?;
    match report.ways.iter().find(|way| !way.is_refused()) {
        None => Ok(()),
        Some(way) => {
            let message = format!("the device reached memory that is {}", way.name);
            Err(Failure::new(exit::MISMATCH, message).help("see the report above"))
        }
    }
}

fn failure(error: &SessionError) -> Failure {
    match error {
        SessionError::Vm(vm) => vm_failure(error, vm),
        SessionError::Program(ProgramError::Failed(vm)) => vm_failure(error, vm),
        SessionError::Program(_) => {
            Failure::of(exit::TOOL, error).help("take this command itself: --driver copy")
        }
        SessionError::NoCache => {
            Failure::of(exit::USAGE, error).help("name one: GROOVE_CACHE=/some/directory")
        }
        SessionError::Serve(_) | SessionError::NoReport(_) => {
            Failure::of(exit::DEVICE, error).help("`groove serve` alone says the same")
        }
        SessionError::Io(_) => {
            Failure::of(exit::USAGE, error).help("the directory for temporary files must have room")
        }
    }
}

fn vm_failure(error: &SessionError, vm: &groove_vm::Error) -> Failure {
    use groove_vm::Error;
    let code = match vm {
        vm if vm.is_unavailable() => exit::TOOL,
        Error::KernelName(_) | Error::NoKernel { .. } | Error::NoModule { .. } => exit::USAGE,
        Error::Io { .. } => exit::USAGE,
        Error::GuestPath(_) | Error::Results(_) => exit::FAULT,
        _ => exit::DEVICE,
    };
    Failure::of(code, error).help(vm.help())
}
