//! `groove prove`: formal proofs on the emitted Verilog, for every input and any length of time.
//!
//!   emitted modules + properties ──► yosys ──► SMT-LIB ──► yosys-smtbmc, z3 ──► proved
//!                                                                          └──► counterexample
//!
//! A property is an `assert` with a label, in a file of `properties/`; the text is put into the
//! emitted module, in front of its `endmodule`, where it sees every signal. Invariants that only
//! help induction are there too, under `INVARIANTS`: they are proved with the properties, and left
//! out where a property has to stand alone (covers, mutants). Inputs are free, the reset too.
//!
//! Follows: yosys manual, SMT2 back end; docs/formal.md. Invariants: every property has a mutant
//! that it kills (`every_property_kills_a_mutant`), and every block is reached by its covers
//! (`quick_proofs_hold`). Not here: liveness beyond bounds, timing, what is printed.

mod attach;
mod report;
mod run;
mod solver;
pub mod table;

pub use report::{MutantReport, Report, Verdict, text};
pub use run::{mutants, properties, prove};
pub use table::PROOFS;

use groove_hdl::emit::Design;
use std::path::PathBuf;

/// How a block is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// For ever: by induction over this many cycles, from reset and from any state.
    Induction(u32),
    /// For this many cycles from reset on.
    Bounded(u32),
    /// For every input of a block without state.
    Combinational,
}

/// A break of the emitted Verilog, and the property that must catch it.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Name.
    pub name: &'static str,
    /// Module in which it is made; `*` at the end stands for anything.
    pub module: &'static str,
    /// Text, once in the module.
    pub from: &'static str,
    /// What it becomes.
    pub to: &'static str,
    /// Label of the property that catches it.
    pub kills: &'static str,
}

/// Properties that are put into a module.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// Module; `*` at the end stands for anything.
    pub module: &'static str,
    /// Properties.
    pub text: &'static str,
    /// Words of the text, and what they become here.
    pub words: &'static [(&'static str, &'static str)],
}

/// Properties of a block.
#[derive(Clone, Copy, Debug)]
pub struct Proof {
    /// Name on the command line.
    pub block: &'static str,
    /// Parameters of the emission that is proved.
    pub parameters: &'static str,
    /// Emits the hardware.
    pub design: fn() -> Design,
    /// Module of it that is proved.
    pub module: &'static str,
    /// What is put into it, and into modules in it.
    pub properties: &'static [Attachment],
    /// Texts of the emission, and what they become: widths that the solver cannot bear.
    pub narrow: &'static [(&'static str, &'static str)],
    /// Modules in it whose outputs may be anything: what is proved does not rest on them.
    pub cut: &'static [&'static str],
    /// How.
    pub method: Method,
    /// Cycles from reset within which covers are reached and mutants caught.
    pub depth: u32,
    /// Every property has one here.
    pub mutants: &'static [Mutant],
    /// Fast enough for every run of the tests, mutants included.
    pub quick: bool,
}

impl Proof {
    /// Every block of the table, in order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROOFS.iter().map(|proof| proof.block)
    }
}

/// Why a proof could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// A tool is missing, or refused its input.
    #[error("proof of {block}")]
    Tool {
        /// Block.
        block: String,
        /// Cause; names the command that installs what is missing.
        source: groove_verilator::Error,
    },
    /// The property file or the mutant does not fit the emission.
    #[error("{block}: {message}")]
    Unfit {
        /// Block.
        block: String,
        /// What does not fit.
        message: String,
    },
    /// The solver ended without an answer.
    #[error("{block}: no answer from the solver:\n{output}")]
    NoAnswer {
        /// Block.
        block: String,
        /// Its last words.
        output: String,
    },
    /// Files.
    #[error("{path}: {source}")]
    Io {
        /// File or directory.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
}

impl ProveError {
    /// Whether a tool must be installed first.
    pub fn is_missing_tool(&self) -> bool {
        matches!(self, ProveError::Tool { source, .. } if source.is_missing_tool())
    }
}
