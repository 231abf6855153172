//! `groove oracle guest`: other kernels, each in a guest, held against model and recordings.

use std::path::PathBuf;
use std::time::Duration;

use groove_verilator::Toolbox;
use groove_vm::{Host, Program, Store};

use super::{engine, finish, fresh_seed, read_failure};
use crate::cli::GuestArgs;
use crate::commands::output;
use crate::golden::{self, Case, KernelModel};
use crate::oracle::guest::{GuestError, Question};
use crate::oracle::{Identity, Report, Tally, Target, against_record, random, recorded_like};
use crate::{Failure, exit};

/// Longest that a guest may take: everything in it is emulated.
const LIMIT: Duration = Duration::from_secs(3600);

/// Runs the command.
pub fn run(args: &GuestArgs) -> Result<(), Failure> {
    let mut cases = golden::cases(&args.dir).map_err(|e| read_failure(&e))?;
    let seed = args.seed.unwrap_or_else(fresh_seed);
    cases.extend((0..args.cases).map(|number| random::burst(seed.wrapping_add(number))));
    let scratch = tempfile::tempdir()
        .map_err(|e| Failure::caused(exit::USAGE, "failed to create a directory", &e))?;
    let directory: PathBuf = args.out.clone().unwrap_or_else(|| scratch.path().to_owned());
    let program = std::env::current_exe()
        .map_err(|e| Failure::caused(exit::FAULT, "failed to find this program", &e))?;
    let Some(cache) = Toolbox::from_env().cache else {
        return Err(Failure::usage("there is no cache directory")
            .help("set GROOVE_CACHE, XDG_CACHE_HOME or HOME"));
    };
    let store = Store::new(&cache, Host::default());
    // Whoever has closed standard error wants to hear nothing.
    let talk = |line: &str| drop(output::talk(line));
    let machine = store.machine(&talk).map_err(|e| vm_failure(&e))?;
    let question = Question {
        groove: Program::of(&program).map_err(|e| vm_failure(&e))?,
        cases: &cases,
        runs: args.runs.runs,
        modules: args.modules.clone(),
        limit: LIMIT,
        directory: &directory,
    };
    let mut reports = Vec::new();
    for spec in &args.kernels {
        let kernel = store.kernel(spec, &talk).map_err(|e| vm_failure(&e))?;
        talk(&format!("{} cases go into a guest with {}", cases.len(), kernel.release()));
        let (identity, recorded) = question
            .ask(&machine, &kernel, &mut |line| talk(&format!("  guest: {line}")))
            .map_err(|e| guest_failure(&e))?;
        let mut report = compare(&identity, &cases, &recorded, args.runs.runs)?;
        report.seed = Some(seed);
        reports.push(report);
    }
    finish(args.json.as_deref(), &reports, "--out DIR keeps the recordings of the guests")
}

/// Holds a guest's recording against the model, and against the recording of a kernel like it.
fn compare(
    kernel: &Identity,
    given: &[Case],
    recorded: &[Case],
    runs: u8,
) -> Result<Report, Failure> {
    let rules = kernel.rules().map_err(|e| {
        Failure::of(exit::TOOL, &e).help("--kernel takes a version whose rules are known")
    })?;
    let source = "recorded cases and random bursts".to_owned();
    let mut report = Report::new(kernel, source, runs);
    report.profile = Some(rules.profile.name());
    let [mut model, mut record] = [Target::Model, Target::Record].map(Tally::new);
    for (given, case) in given.iter().zip(recorded) {
        report.add(case);
        let outcome = golden::run(&mut KernelModel, case, &kernel.label, &rules);
        let outcome = outcome.map_err(|e| engine::failure(&e))?;
        model.add(case, &outcome.expect("the guest recorded the case"));
        if let Some(label) = recorded_like(given, &kernel.label) {
            let (old, new) = (&given.golden[label], &case.golden[&kernel.label]);
            record.add(case, &against_record(old, new));
        }
    }
    report.against = vec![model, record];
    Ok(report)
}

fn vm_failure(error: &groove_vm::Error) -> Failure {
    let code = if error.is_unavailable() { exit::TOOL } else { exit::DEVICE };
    Failure::of(code, error).help(error.help())
}

fn guest_failure(error: &GuestError) -> Failure {
    match error {
        GuestError::Guest(cause) => Failure { message: error.to_string(), ..vm_failure(cause) },
        GuestError::Write(_) => Failure::of(exit::USAGE, error)
            .help("check that the directory exists, is writable and has room"),
        GuestError::Failed { .. } => Failure::of(exit::DEVICE, error)
            .help("what the guest said is above; its kernel may lack something"),
        _ => Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it"),
    }
}
