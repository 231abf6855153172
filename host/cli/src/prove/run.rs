//! Runs a proof, and its mutants.
//!
//!   design + properties ─┬─► with invariants: from reset, step ──► verdict
//!                        └─► without: covers; bounded proofs; each mutant, against one property
//!
//! Invariants: a proof whose covers are not all reached is not one (`an_unreached_cover_fails`); a
//! mutant counts as killed by a counterexample from reset on alone, of the property that it names
//! (`a_harmless_mutant_survives`).

use super::report::{CoverReport, MutantReport, Report, Verdict};
use super::solver::{Answer, Labels, Question, Solver};
use super::{Method, Proof, ProveError, attach};
use groove_verilator::Toolbox;
use std::path::Path;
use std::time::Instant;

/// Monitors that property files instantiate.
const MONITORS: &str = include_str!("properties/monitors.sv");

/// Proves the properties of a block; what is made stays in `dir`. `depth` adds the first so many
/// cycles from reset, without invariants.
///
/// # Errors
/// If a tool is missing or the properties do not fit: not if a property does not hold.
pub fn prove(proof: &Proof, depth: Option<u32>, dir: &Path) -> Result<Report, ProveError> {
    let tools = Toolbox::from_env();
    let solver = Solver::new(&tools, proof, dir);
    let start = Instant::now();
    let emitted = emitted(proof)?;
    let own = |label: &String| attach::is_own(&emitted, proof.module, label);
    solver.write("block.v", &with_properties(proof, &emitted)?)?;
    let Labels { properties, covers } = solver.translate("block", false, None)?;
    let mut report = Report {
        block: proof.block,
        parameters: proof.parameters,
        method: proof.method.to_string(),
        properties: properties.into_iter().filter(own).collect(),
        covers: Vec::new(),
        seconds: 0.0,
        verdict: Verdict::Proved,
    };
    if let Some((during, answer)) = failure(proof, depth, &solver)? {
        report.verdict = Verdict::Failed { during, properties: answer.failed };
    } else if !covers.is_empty() {
        let reached = solver.ask("block", Question::Reach(proof.depth), "cover")?.reached;
        let step = |name: &str| reached.iter().find(|(label, _)| label == name).map(|(_, s)| *s);
        let covers = covers.into_iter().filter(own);
        report.covers = covers.map(|name| CoverReport { cycle: step(&name), name }).collect();
        if report.covers.iter().any(|cover| cover.cycle.is_none()) {
            report.verdict = Verdict::Unreached;
        }
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// Labels of the properties of a block.
///
/// # Errors
/// As [`prove`].
pub fn properties(proof: &Proof, dir: &Path) -> Result<Vec<String>, ProveError> {
    let tools = Toolbox::from_env();
    let solver = Solver::new(&tools, proof, dir);
    let emitted = emitted(proof)?;
    solver.write("block.v", &with_properties(proof, &emitted)?)?;
    let labels = solver.translate("block", false, None)?;
    let own = |label: &String| attach::is_own(&emitted, proof.module, label);
    Ok(labels.properties.into_iter().filter(own).collect())
}

/// The first question whose answer is no, and its name.
fn failure(
    proof: &Proof,
    depth: Option<u32>,
    solver: &Solver<'_>,
) -> Result<Option<(&'static str, Answer)>, ProveError> {
    let mut questions = Vec::new();
    match proof.method {
        Method::Induction(k) => {
            solver.write("invariants.v", &with_properties(proof, &emitted(proof)?)?)?;
            solver.translate("invariants", true, None)?;
            questions.push(("base case", "invariants", Question::FromReset(k)));
            questions.push(("induction", "invariants", Question::Step(k)));
        }
        Method::Bounded(cycles) => {
            let cycles = depth.unwrap_or(cycles);
            questions.push(("bounded check", "block", Question::FromReset(cycles)));
        }
        Method::Combinational => questions.push(("check", "block", Question::FromReset(1))),
    }
    if let (Method::Induction(_), Some(cycles)) = (proof.method, depth) {
        questions.push(("bounded check", "block", Question::FromReset(cycles)));
    }
    for (during, name, question) in questions {
        let answer = solver.ask(name, question, "trace")?;
        if !answer.passed {
            return Ok(Some((during, answer)));
        }
    }
    Ok(None)
}

/// Tries the mutants of a block.
///
/// # Errors
/// If a tool is missing, or a mutant does not fit the emission.
pub fn mutants(proof: &Proof, dir: &Path) -> Result<Vec<MutantReport>, ProveError> {
    let tools = Toolbox::from_env();
    let solver = Solver::new(&tools, proof, dir);
    let emitted = emitted(proof)?;
    let mut reports = Vec::new();
    for mutant in proof.mutants {
        let start = Instant::now();
        let broken = attach::mutate(&emitted, mutant).map_err(|message| unfit(proof, message))?;
        solver.write("mutant.v", &with_properties(proof, &broken)?)?;
        let labels = solver.translate("mutant", false, Some(mutant.kills))?;
        if labels.properties != [mutant.kills] {
            let message = format!("mutant {}: no property {}", mutant.name, mutant.kills);
            return Err(unfit(proof, message));
        }
        let answer = solver.ask("mutant", Question::FromReset(proof.depth), "mutant")?;
        reports.push(MutantReport {
            block: proof.block,
            name: mutant.name,
            property: mutant.kills,
            killed: !answer.passed,
            seconds: start.elapsed().as_secs_f64(),
        });
    }
    Ok(reports)
}

/// The emission, as narrow as the proof wants it.
fn emitted(proof: &Proof) -> Result<String, ProveError> {
    attach::narrow(&(proof.design)().verilog, proof).map_err(|message| unfit(proof, message))
}

fn with_properties(proof: &Proof, verilog: &str) -> Result<String, ProveError> {
    let text = attach::attach(verilog, proof.properties).map_err(|m| unfit(proof, m))?;
    Ok(format!("{MONITORS}\n{text}"))
}

fn unfit(proof: &Proof, message: String) -> ProveError {
    ProveError::Unfit { block: proof.block.into(), message }
}
