//! `groove oracle rules`: what each kernel does, rule by rule, as a table for the docs.

use super::{failure_among, open, read_failure};
use crate::cli::RulesArgs;
use crate::commands::measured;
use crate::oracle::rules;
use crate::{Failure, golden};

/// Runs of each case on the running kernel.
const RUNS: usize = 3;

/// Runs the command.
pub fn run(args: &RulesArgs) -> Result<(), Failure> {
    let all = golden::cases(&args.dir).map_err(|e| read_failure(&e))?;
    let mut cases = rules::cases(&all).map_err(|name| {
        Failure::usage(format!("{}: no case is called {name}", args.dir.display()))
            .help("name the directory tests/golden of a checkout")
    })?;
    if args.live {
        let live = open()?;
        let found = live.deliveries(&cases, RUNS, 1).map_err(|e| failure_among(&e, &cases))?;
        let label = format!("{} (running)", live.kernel.label);
        for (case, list) in cases.iter_mut().zip(found) {
            case.golden.insert(label.clone(), list);
        }
    }
    let rows = rules::rows(&cases);
    measured::report(args.json.as_deref(), &rules::markdown(&rows), &rows)
}
