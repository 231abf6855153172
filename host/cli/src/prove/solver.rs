//! The two programs: yosys makes SMT-LIB of Verilog, yosys-smtbmc asks z3 about it.
//!
//!   Verilog ──► translate ──► file, labels ──► ask ──► held, or the labels that did not
//!
//! What the Verilog leaves open (an `x`, a wire that nobody drives, RAM at power-on) is free: the
//! proof is for every value of it. Invariant: an answer that is neither PASSED nor FAILED is an
//! error (`no_status_is_no_answer`). Not here: which files, which depth.

use super::{Proof, ProveError};
use groove_verilator::{Tool, Toolbox};
use std::path::Path;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Question {
    /// Do all properties hold in the first cycles?
    FromReset(u32),
    /// Do they hold in a cycle if they did in so many before?
    Step(u32),
    /// Is every cover reached in the first cycles?
    Reach(u32),
}

/// Labels of a translated design.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    pub(super) properties: Vec<String>,
    pub(super) covers: Vec<String>,
}

/// What the solver says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) passed: bool,
    /// Properties that did not hold in the counterexample.
    pub(super) failed: Vec<String>,
    /// Covers, with the cycle that reaches them.
    pub(super) reached: Vec<(String, u32)>,
}

/// The programs at work in a directory.
pub(super) struct Solver<'a> {
    pub(super) tools: &'a Toolbox,
    pub(super) block: &'a str,
    pub(super) module: &'a str,
    pub(super) cut: &'a [&'a str],
    pub(super) dir: &'a Path,
}

impl<'a> Solver<'a> {
    pub(super) fn new(tools: &'a Toolbox, proof: &Proof, dir: &'a Path) -> Self {
        let Proof { block, module, cut, .. } = *proof;
        Self { tools, block, module, cut, dir }
    }

    /// Translates `NAME.v` to `NAME.smt2`: with the invariants, or with one property alone.
    pub(super) fn translate(
        &self,
        name: &str,
        invariants: bool,
        only: Option<&str>,
    ) -> Result<Labels, ProveError> {
        let define = if invariants { "-DINVARIANTS" } else { "" };
        let cuts = self.cut.iter().map(|inner| format!("cutpoint {inner}\n")).collect::<String>();
        let module = self.module;
        // Before anything is optimised: an `x` must not be taken for what suits best.
        let mut script = format!(
            "read_verilog -formal -sv {define} {name}.v\nhierarchy -check -top {module}\nproc\n\
             {cuts}setundef -anyseq\nflatten\nsetundef -undriven -anyseq\nopt_clean\nmemory_collect\n\
             opt_clean\n"
        );
        if let Some(label) = only {
            script += &format!("select -set rest t:$assert c:{label} %d\ndelete @rest\n");
        }
        script += &format!("write_smt2 -wires {name}.smt2\n");
        self.write(&format!("{name}.ys"), &script)?;
        let args = ["-q", "-s", &format!("{name}.ys")].map(String::from);
        self.tools.run(Tool::YOSYS, self.dir, &args).map_err(|e| self.tool(e))?;
        let text = self.read(&format!("{name}.smt2"))?;
        let labels = |mark: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(mark));
            lines.filter_map(|line| Some(line.split_once(' ')?.1.to_string())).collect()
        };
        Ok(Labels {
            properties: labels("; yosys-smt2-assert "),
            covers: labels("; yosys-smt2-cover "),
        })
    }

    /// Asks about `NAME.smt2`; a counterexample goes to `TRACE.vcd`.
    pub(super) fn ask(
        &self,
        name: &str,
        question: Question,
        trace: &str,
    ) -> Result<Answer, ProveError> {
        self.tools.require(Tool::Z3).map_err(|e| self.tool(e))?;
        // Without unrolling, states are uninterpreted: z3 then takes minutes where seconds do.
        let mut args = ["--noprogress", "--unroll", "-s", "z3", "-t"].map(String::from).to_vec();
        match question {
            Question::FromReset(cycles) => args.push(cycles.to_string()),
            Question::Step(cycles) => args.extend([cycles.to_string(), "-i".into()]),
            Question::Reach(cycles) => args.extend([cycles.to_string(), "-c".into()]),
        }
        args.extend(["--dump-vcd".into(), format!("{trace}.vcd"), format!("{name}.smt2")]);
        let (output, _) =
            self.tools.run_any(Tool::SMTBMC, self.dir, &args).map_err(|e| self.tool(e))?;
        answer(&output.stdout).ok_or_else(|| {
            let all = format!("{}{}", output.stdout, output.stderr);
            let lines: Vec<&str> = all.lines().collect();
            let output = lines[lines.len().saturating_sub(12)..].join("\n");
            ProveError::NoAnswer { block: self.block.into(), output }
        })
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), ProveError> {
        let path = self.dir.join(name);
        std::fs::write(&path, text).map_err(|source| ProveError::Io { path, source })
    }

    fn read(&self, name: &str) -> Result<String, ProveError> {
        let path = self.dir.join(name);
        std::fs::read_to_string(&path).map_err(|source| ProveError::Io { path, source })
    }

    fn tool(&self, source: groove_verilator::Error) -> ProveError {
        ProveError::Tool { block: self.block.into(), source }
    }
}

/// Reads the solver's lines: `##   0:00:01  Status: PASSED`.
fn answer(output: &str) -> Option<Answer> {
    let mut answer = Answer { passed: false, failed: Vec::new(), reached: Vec::new() };
    let mut status = None;
    for line in output.lines() {
        let words: Vec<&str> = line.split_whitespace().skip(2).collect();
        match words[..] {
            ["Status:", word] => status = Some(word),
            ["Assert", "failed", "in", _, label, ..] => answer.failed.push(label.into()),
            ["Reached", "cover", "statement", "at", label, "in", "step", step] => {
                answer.reached.push((label.into(), step.trim_end_matches('.').parse().ok()?));
            }
            _ => {}
        }
    }
    answer.passed = match status? {
        "PASSED" => true,
        "FAILED" => false,
        _ => return None,
    };
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let failed = "##   0:00:01  Assert failed in fifo: order.in_order\n\
                      ##   0:00:02  Status: FAILED\n";
        let found = answer(failed).unwrap();
        assert_eq!((found.passed, found.failed), (false, vec!["order.in_order".into()]));
        let reached = "##   0:00:00  Reached cover statement at order.full in step 6.\n\
                       ##   0:00:00  Status: PASSED\n";
        let found = answer(reached).unwrap();
        assert_eq!((found.passed, found.reached), (true, vec![("order.full".into(), 6)]));
    }

    #[test]
    fn no_status_is_no_answer() {
        assert_eq!(answer("Traceback (most recent call last):\n"), None);
        assert_eq!(answer("##   0:00:00  Status: UNKNOWN\n"), None);
    }
}
