//! `groove oracle random`: fresh bursts from seeds; one that differs is made small and kept.

use std::path::Path;

use super::{Against, failure, failure_among, finish, fresh_seed, keep, open};
use crate::Failure;
use crate::cli::RandomArgs;
use crate::commands::output;
use crate::golden::Case;
use crate::oracle::{Live, Report, random, shrink};

/// Bursts that are put through before the next are made.
const PIECE: u64 = 250;

/// Runs the command.
pub fn run(args: &RandomArgs) -> Result<(), Failure> {
    let live = open()?;
    let mut against = Against::open(&args.against, &live)?;
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let runs = args.runs.runs;
    let source = format!("random bursts from seed {seed}");
    let mut report = Report::new(&live.kernel, source, runs);
    report.seed = Some(seed);
    let mut kept = None;
    for start in (0..args.cases).step_by(PIECE as usize) {
        let numbers = start..args.cases.min(start + PIECE);
        let mut piece: Vec<Case> =
            numbers.map(|number| random::burst(seed.wrapping_add(number))).collect();
        live.record(&mut piece, runs.into(), seed).map_err(|e| failure_among(&e, &piece))?;
        for case in &piece {
            report.add(case);
            if against.add(&live, case)? && kept.is_none() {
                kept = Some(keep_small(args, &live, &mut against, case)?);
            }
        }
    }
    against.report(&mut report);
    finish(args.against.json.as_deref(), &[report], &kept.unwrap_or_default())
}

/// Leaves out what plays no part, writes the rest, and says how to see it again.
fn keep_small(
    args: &RandomArgs,
    live: &Live,
    against: &mut Against,
    case: &Case,
) -> Result<String, Failure> {
    output::talk(&format!("{} differs; making it smaller", case.name))?;
    let small = shrink(case.clone(), |case| {
        live.record(std::slice::from_mut(case), 1, 0).map_err(|e| failure(&e))?;
        against.differs(live, case)
    })?;
    let directory = args.against.out.as_deref().unwrap_or(Path::new("."));
    let path = keep(directory, &small, "a random burst that differs, made smaller")?;
    let seed = case.name.rsplit('-').next().unwrap_or_default();
    let rtl = match args.against.engine {
        crate::cli::EngineChoice::Model => "",
        _ => " --engine both",
    };
    Ok(format!(
        "the first one, with {} frames left, is {path}; again: groove oracle random --cases 1 \
         --seed {seed}{rtl}",
        small.frames.len()
    ))
}
