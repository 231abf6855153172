//! `groove deploy`: a bitstream onto a card, and the card to user space.

use std::path::PathBuf;

use groove_verilator::Toolbox;

use super::run::signals;
use super::{measured, output};
use crate::boards::Board;
use crate::cli::DeployArgs;
use crate::deploy::{
    self, Cable, DeployError, Deployment, Journal, JournalError, Machine, Order, Outcome, Place,
    Plan, PlanError, Programmer, ProgrammerError, Undone,
};
use crate::pci::PciError;
use crate::{Failure, exit};

/// Runs the command.
pub fn run(args: &DeployArgs) -> Result<(), Failure> {
    if args.dry_run {
        return show(args);
    }
    let place = Place::take(&places(args)).map_err(|e| journal_failure(&e))?;
    let begun = place.journal().map_err(|e| journal_failure(&e))?;
    let sysfs = args.kernel.sysfs();
    let (plan, journal) = match (begun, args.resume, args.recover) {
        (Some(journal), false, false) => return Err(cut_off(&journal)),
        (None, false, false) => Plan::make(&order(args)?, &sysfs, Some(place.directory()))
            .map_err(|e| plan_failure(&e))?,
        (None, _, _) => {
            let message = "no deployment was cut off: there is nothing to go on with";
            return Err(Failure::usage(message).help("`groove devices` shows who has the card"));
        }
        (Some(journal), true, _) => {
            let plan = Plan::resume(&journal, &sysfs, place.directory());
            (plan.map_err(|e| plan_failure(&e))?, journal)
        }
        (Some(journal), _, true) => return recover(args, &place, &journal),
    };
    let stop = signals()?;
    let mut machine = machine(&place);
    let deployment = Deployment {
        plan: &plan,
        sysfs: &sysfs,
        place: &place,
        hardware: &mut machine,
        stop: &stop,
        talk: &talk,
    };
    let Outcome { report, failed } = deployment.run(journal).map_err(|e| journal_failure(&e))?;
    measured::report(args.json.as_deref(), &deploy::table(&report), &report)?;
    failed.map_or(Ok(()), |(error, undone)| Err(failure(&error, &undone)))
}

/// Progress, for people; nobody has to read it.
fn talk(line: &str) {
    let _ = output::talk(line);
}

fn places(args: &DeployArgs) -> Vec<PathBuf> {
    match &args.state {
        Some(directory) => vec![directory.clone()],
        None => deploy::places(Toolbox::from_env().cache),
    }
}

fn machine(place: &Place) -> Machine {
    Machine { log: place.directory().join("programmer.log") }
}

fn order(args: &DeployArgs) -> Result<Order, Failure> {
    let (Some(board), Some(file)) = (args.board.as_deref().and_then(Board::named), &args.bitstream)
    else {
        return Err(Failure::usage("--board and BITSTREAM are missing"));
    };
    let cable = Cable { kind: args.cable.clone(), serial: args.serial.clone(), xvc: args.xvc };
    let programmer = match &args.programmer {
        Some(program) => Programmer::command(program.clone(), args.flash, args.limit),
        None => Programmer::loader(board, &cable, args.flash, args.limit)
            .map_err(|e| plan_failure(&e.into()))?,
    };
    Ok(Order { board, file: file.clone(), bdf: args.bdf, programmer, force: args.force })
}

/// What would be done, for people and shells.
fn show(args: &DeployArgs) -> Result<(), Failure> {
    let sysfs = args.kernel.sysfs();
    let (plan, journal) = Plan::make(&order(args)?, &sysfs, None).map_err(|e| plan_failure(&e))?;
    let steps = plan.steps().into_iter().flat_map(|step| plan.lines(step, &journal, &sysfs));
    output::data(&steps.map(|line| line + "\n").collect::<String>())
}

fn cut_off(journal: &Journal) -> Failure {
    let Journal { board, step, .. } = journal;
    let message = format!("a deployment to {board} was cut off at step {}", step.name());
    Failure::new(exit::DEVICE, message)
        .help("go on: groove deploy --resume; or put the host back: groove deploy --recover")
}

fn recover(args: &DeployArgs, place: &Place, journal: &Journal) -> Result<(), Failure> {
    let mut machine = machine(place);
    let undone = deploy::recover(&args.kernel.sysfs(), &mut machine, journal);
    if !undone.left.is_empty() {
        let failure = Failure::new(exit::DEVICE, "not everything could be put back");
        return Err(failure.help(undone.text()));
    }
    place.clear().map_err(|e| journal_failure(&e))?;
    output::talk(&undone.text())
}

fn journal_failure(error: &JournalError) -> Failure {
    let code = match error {
        JournalError::Busy(_) => exit::DEVICE,
        JournalError::NoPlace { .. } | JournalError::File { .. } | JournalError::Damaged { .. } => {
            exit::USAGE
        }
    };
    Failure::of(code, error).help(error.help())
}

fn plan_failure(error: &PlanError) -> Failure {
    let code = match error {
        PlanError::Programmer(ProgrammerError::Missing(_))
        | PlanError::Pci(PciError::NoDriver | PciError::NoIommu(_)) => exit::TOOL,
        PlanError::Pci(_) | PlanError::Nowhere(_) | PlanError::Port { .. } => exit::DEVICE,
        PlanError::File { .. }
        | PlanError::Programmer(_)
        | PlanError::Copy { .. }
        | PlanError::Changed(_)
        | PlanError::Unknown(_) => exit::USAGE,
    };
    Failure::of(code, error).help(error.help())
}

fn failure(error: &DeployError, undone: &Undone) -> Failure {
    let code = match error {
        error if error.is_interruption() => exit::INTERRUPTED,
        error if error.is_missing() => exit::TOOL,
        DeployError::Journal(_) => exit::USAGE,
        _ => exit::DEVICE,
    };
    Failure::of(code, error).help(format!("{}; {}", error.help(), undone.text()))
}
