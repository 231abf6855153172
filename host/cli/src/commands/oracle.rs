//! `groove oracle`: the running kernel, recorded and held against model and hardware.

mod check;
mod guest;
mod random;
mod rules;
mod source;

use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use groove_model::Config;
use groove_spec::Profile;
use groove_verilator::{BuildOptions, Pipeline};

use super::{engine, measured};
use crate::cli::{AgainstArgs, EngineChoice, OracleAction, OracleArgs};
use crate::engine::{EngineError, RtlEngine, RtlOptions};
use crate::golden::{
    Case, EngineRunner, KernelModel, Outcome, ReadError, Runner, WriteError, write_pair,
};
use crate::oracle::{Error, Live, Report, Tally, Target};
use crate::{Failure, exit, golden};

/// Runs the command.
pub fn run(args: &OracleArgs) -> Result<(), Failure> {
    match &args.action {
        OracleAction::Record(args) => check::record(args),
        OracleAction::Check(args) => check::check(args),
        OracleAction::Random(args) => random::run(args),
        OracleAction::Guest(args) => guest::run(args),
        OracleAction::Rules(args) => rules::run(args),
    }
}

/// Opens the running kernel, or says what is missing.
fn open() -> Result<Live, Failure> {
    Live::open().map_err(|e| failure(&e))
}

/// An oracle's error with its exit code and next step.
fn failure(error: &Error) -> Failure {
    match error {
        Error::Missing { feature, .. } => Failure::of(exit::TOOL, error).help(feature.help()),
        Error::Types(_) => Failure::of(exit::TOOL, error)
            .help("Groove does not know this kernel yet: please report its version"),
        Error::Burst(_) | Error::Length { .. } => {
            Failure::of(exit::USAGE, error).help("leave that case out")
        }
        Error::Refused { .. } => Failure::of(exit::USAGE, error)
            .help("leave that frame out: this kernel cannot be asked"),
        Error::Unrepeatable { .. } | Error::Lost { .. } | Error::Delivery { .. } => {
            Failure::of(exit::MISMATCH, error)
                .help("nothing was recorded; try again on a machine with less to do")
        }
        Error::At { source, .. } => failure(source),
        Error::Io { .. } | Error::Ended => {
            Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it")
        }
    }
}

/// The same of many cases: the one that failed is named.
fn failure_among(error: &Error, cases: &[Case]) -> Failure {
    let (burst, failure) = match error {
        Error::At { burst, source } => (*burst, failure(source)),
        Error::Unrepeatable { first, .. } => (*first, failure(error)),
        other => return failure(other),
    };
    let name = cases.get(burst).map_or("a burst", |case| &case.name);
    Failure { message: format!("{name}: {}", failure.message), ..failure }
}

fn write_failure(error: &WriteError) -> Failure {
    Failure::of(exit::USAGE, error)
        .help("check that the directory exists, is writable and has room")
}

/// What the kernel is held against, and by which rules.
struct Against {
    rules: Config,
    engines: Vec<(Tally, Box<dyn Runner>)>,
    record: Option<Tally>,
}

impl Against {
    /// Opens the engines that were asked for; rules are the kernel's own, or those asked for.
    fn open(args: &AgainstArgs, live: &Live) -> Result<Self, Failure> {
        let rules = rules_of(args.profile, live)?;
        let mut engines: Vec<(Tally, Box<dyn Runner>)> = Vec::new();
        if args.engine != EngineChoice::Rtl {
            engines.push((Tally::new(Target::Model), Box::new(KernelModel)));
        }
        if args.engine != EngineChoice::Model {
            engines.push((Tally::new(Target::Rtl), hardware(args.width)?));
        }
        Ok(Self { rules, engines, record: None })
    }

    /// Holds a case that was put through against each; whether it differs from any.
    fn add(&mut self, live: &Live, case: &Case) -> Result<bool, Failure> {
        let mut any = false;
        for (tally, runner) in &mut self.engines {
            let outcome = live.compare(runner.as_mut(), case, &self.rules);
            any |= tally.add(case, &outcome.map_err(|e| engine::failure(&e))?);
        }
        Ok(any)
    }

    /// Whether a case differs, without counting it.
    fn differs(&mut self, live: &Live, case: &Case) -> Result<bool, Failure> {
        for (_, runner) in &mut self.engines {
            let outcome = live.compare(runner.as_mut(), case, &self.rules);
            if matches!(outcome.map_err(|e| engine::failure(&e))?, Outcome::Differs(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts what was found into the report.
    fn report(self, report: &mut Report) {
        report.profile = Some(self.rules.profile.name());
        report.against = self.engines.into_iter().map(|(tally, _)| tally).collect();
        report.against.extend(self.record);
    }
}

/// The rules of the running kernel; with a profile, the rules of that one under what was probed.
fn rules_of(profile: Option<Profile>, live: &Live) -> Result<Config, Failure> {
    let kernel = &live.kernel;
    match (profile, kernel.rules()) {
        (None, Ok(rules)) => Ok(rules),
        (None, Err(unknown)) => Err(Failure::of(exit::TOOL, &unknown).help(
            "--profile compares with the rules of a kernel that is known; `groove oracle rules \
             --live` shows what this one does",
        )),
        (Some(profile), rules) => {
            let mut rules = rules.unwrap_or_else(|_| usual());
            rules.profile = profile;
            rules.options.vlan_gro = kernel.vlan_gro;
            rules.options.pppoe = kernel.pppoe;
            Ok(rules)
        }
    }
}

/// Any kernel's configuration; the profile of it is replaced.
fn usual() -> Config {
    golden::configuration("7.3").expect("a known kernel")
}

fn hardware(width: usize) -> Result<Box<dyn Runner>, Failure> {
    let build = BuildOptions { width, ..BuildOptions::default() };
    let pipeline = Pipeline::open(&build).map_err(|e| engine::failure(&e.into()))?;
    let shared = std::rc::Rc::new(std::cell::RefCell::new(pipeline));
    let open = move |config: &Config| -> Result<RtlEngine, EngineError> {
        RtlEngine::attach(shared.clone(), config, &RtlOptions::default())
    };
    Ok(Box::new(EngineRunner(open)))
}

/// Writes a case that differs, and says where.
fn keep(directory: &Path, case: &Case, about: &str) -> Result<String, Failure> {
    let path = write_pair(directory, case, about).map_err(|e| write_failure(&e))?;
    Ok(path.display().to_string())
}

/// A seed that no run before has had.
fn fresh_seed() -> u64 {
    // Short enough to be typed.
    RandomState::new().hash_one(std::process::id()) >> 24
}

fn read_failure(error: &ReadError) -> Failure {
    Failure::of(exit::USAGE, error).help("name the directory tests/golden of a checkout")
}

/// Prints the reports; cases that differ are a failure.
fn finish(json: Option<&Path>, reports: &[Report], help: &str) -> Result<(), Failure> {
    let text = reports.iter().map(Report::text).collect::<Vec<_>>().join("\n");
    match reports {
        [one] => measured::report(json, &text, one)?,
        all => measured::report(json, &text, &all)?,
    }
    let tallies = || reports.iter().flat_map(|report| &report.against);
    match tallies().map(|tally| tally.differ).sum::<usize>() {
        0 => Ok(()),
        differ => {
            let all = differ + tallies().map(|tally| tally.equal).sum::<usize>();
            let what = format!("{differ} of {all} comparisons with the kernel differ");
            Err(Failure::new(exit::MISMATCH, what).help(help))
        }
    }
}
