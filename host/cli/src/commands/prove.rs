//! `groove prove`: formal proofs on the emitted Verilog.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::measured;
use super::output;
use crate::cli::ProveArgs;
use crate::prove::{self, MutantReport, PROOFS, Proof, ProveError, Report, Verdict};
use crate::{Failure, exit};

/// All of a run, for machines.
#[derive(Debug, Default, Serialize)]
struct Reports {
    proofs: Vec<Report>,
    mutants: Vec<MutantReport>,
}

/// Runs the command.
pub fn run(args: &ProveArgs) -> Result<(), Failure> {
    let mut all = Reports::default();
    let mut traces = Vec::new();
    for proof in PROOFS.iter().filter(|p| args.block.as_deref().is_none_or(|b| b == p.block)) {
        output::talk(&format!("proving {} ({})", proof.block, proof.parameters))?;
        let temporary = tempfile::tempdir()
            .map_err(|e| Failure::caused(exit::USAGE, "failed to make a directory", &e))?;
        let dir = directory(args.keep.as_deref(), proof, temporary.path())?;
        let report = prove::prove(proof, args.depth, &dir).map_err(|e| failure(&e))?;
        if matches!(report.verdict, Verdict::Failed { .. }) {
            traces.push(kept(&dir, args, proof)?);
        }
        all.proofs.push(report);
        if args.mutants {
            all.mutants.extend(prove::mutants(proof, &dir).map_err(|e| failure(&e))?);
        }
    }
    measured::report(args.json.as_deref(), &prove::text(&all.proofs, &all.mutants), &all)?;
    verdict(args, &all, &traces)
}

fn verdict(args: &ProveArgs, all: &Reports, traces: &[PathBuf]) -> Result<(), Failure> {
    let open: Vec<&str> =
        all.proofs.iter().filter(|r| r.verdict != Verdict::Proved).map(|r| r.block).collect();
    let alive: Vec<&str> = all.mutants.iter().filter(|m| !m.killed).map(|m| m.name).collect();
    if let Some(first) = open.first() {
        for trace in traces {
            output::talk(&format!("counterexample: {}", trace.display()))?;
        }
        let depth = args.depth.map(|n| format!(" --depth {n}")).unwrap_or_default();
        let repeat = format!("'groove prove {first}{depth} --keep DIR' repeats it");
        let message = format!("not proved: {}", open.join(", "));
        return Err(Failure::new(exit::MISMATCH, message).help(repeat));
    }
    if alive.is_empty() {
        return Ok(());
    }
    let message = format!("mutants that no property catches: {}", alive.join(", "));
    Err(Failure::new(exit::MISMATCH, message)
        .help("either the break changes nothing, or a property is missing"))
}

/// Where a proof works: kept under its name, or passing.
fn directory(keep: Option<&Path>, proof: &Proof, passing: &Path) -> Result<PathBuf, Failure> {
    let Some(keep) = keep else { return Ok(passing.into()) };
    let dir = keep.join(proof.block);
    std::fs::create_dir_all(&dir).map_err(|e| {
        Failure::caused(exit::USAGE, format!("failed to create {}", dir.display()), &e)
            .help("choose another directory with --keep")
    })?;
    Ok(dir)
}

/// The trace, where it stays: beside the rest, or in the directory of the caller.
fn kept(dir: &Path, args: &ProveArgs, proof: &Proof) -> Result<PathBuf, Failure> {
    let trace = dir.join("trace.vcd");
    if args.keep.is_some() {
        return Ok(trace);
    }
    let to = PathBuf::from(format!("groove-prove-{}.vcd", proof.block));
    std::fs::copy(&trace, &to).map_err(|e| {
        Failure::caused(exit::USAGE, format!("failed to write {}", to.display()), &e)
            .help("--keep DIR keeps it elsewhere")
    })?;
    Ok(to)
}

fn failure(error: &ProveError) -> Failure {
    if error.is_missing_tool() {
        return Failure::of(exit::TOOL, error)
            .help("apt-get install yosys z3; 'groove doctor' shows what else is missing");
    }
    match error {
        ProveError::Io { .. } => Failure::of(exit::USAGE, error),
        _ => Failure::of(exit::FAULT, error),
    }
}
