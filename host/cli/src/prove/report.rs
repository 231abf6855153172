//! What is reported of a proof, as data and as a table.

use super::Method;
use serde::Serialize;
use std::fmt::{self, Write as _};

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Induction(k) => write!(f, "induction, k = {k}"),
            Method::Bounded(cycles) => write!(f, "{cycles} cycles"),
            Method::Combinational => f.write_str("every input"),
        }
    }
}

/// How a proof ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All properties hold, and all covers are reached.
    Proved,
    /// There is a counterexample.
    Failed {
        /// Part of the proof that failed.
        during: &'static str,
        /// Properties that do not hold in it; invariants are among them.
        properties: Vec<String>,
    },
    /// The properties hold, but a cover is not reached: they may hold for want of any case.
    Unreached,
}

/// A case that must be possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoverReport {
    /// Label.
    pub name: String,
    /// First cycle that reaches it.
    pub cycle: Option<u32>,
}

/// A block's proof.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Block.
    pub block: &'static str,
    /// Parameters of the emission.
    pub parameters: &'static str,
    /// Method and its depth.
    pub method: String,
    /// Labels of what was to be proved.
    pub properties: Vec<String>,
    /// What was to be reached.
    pub covers: Vec<CoverReport>,
    /// Time, s.
    pub seconds: f64,
    /// Result.
    pub verdict: Verdict,
}

/// A mutant's fate.
#[derive(Clone, Debug, Serialize)]
pub struct MutantReport {
    /// Block.
    pub block: &'static str,
    /// Name.
    pub name: &'static str,
    /// Property that must catch it.
    pub property: &'static str,
    /// It did.
    pub killed: bool,
    /// Time, s.
    pub seconds: f64,
}

impl Report {
    fn verdict_of(&self, property: &str) -> String {
        match &self.verdict {
            Verdict::Proved => "proved".into(),
            Verdict::Unreached => "cover not reached".into(),
            Verdict::Failed { during, properties } if properties.iter().any(|p| p == property) => {
                format!("FAILED in the {during}")
            }
            Verdict::Failed { .. } => "open".into(),
        }
    }
}

/// The table of all properties, then what went wrong, then the mutants.
pub fn text(reports: &[Report], mutants: &[MutantReport]) -> String {
    let mut text = format!(
        "{:<18} {:<24} {:<18} {:>6} {:>7}  {}\n",
        "block", "property", "method", "covers", "s", "verdict"
    );
    for report in reports {
        let reached = report.covers.iter().filter(|cover| cover.cycle.is_some()).count();
        let mut covers = format!("{reached}/{}", report.covers.len());
        let mut seconds = format!("{:.1}", report.seconds);
        for property in &report.properties {
            let (block, method) = (report.block, &report.method);
            let verdict = report.verdict_of(property);
            let _ = writeln!(
                text,
                "{block:<18} {property:<24} {method:<18} {covers:>6} {seconds:>7}  {verdict}"
            );
            covers.clear();
            seconds.clear();
        }
        wrong(&mut text, report);
    }
    if !mutants.is_empty() {
        let _ = writeln!(text, "\n{:<18} {:<34} {:<24} {:>7}", "block", "mutant", "caught by", "s");
    }
    for mutant in mutants {
        let by = if mutant.killed { mutant.property } else { "NOTHING" };
        let MutantReport { block, name, seconds, .. } = mutant;
        let _ = writeln!(text, "{block:<18} {name:<34} {by:<24} {seconds:>7.1}");
    }
    text
}

fn wrong(text: &mut String, report: &Report) {
    if let Verdict::Failed { properties, .. } = &report.verdict {
        for invariant in properties.iter().filter(|p| !report.properties.contains(p)) {
            let _ = writeln!(text, "{:<18} {invariant:<24} helps; does not hold", report.block);
        }
    }
    for cover in report.covers.iter().filter(|cover| cover.cycle.is_none()) {
        let _ = writeln!(text, "{:<18} {:<24} cover; not reached", report.block, cover.name);
    }
}
