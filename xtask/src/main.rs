//! Long checks of the project itself: `cargo xtask mutants` breaks the hardware, the model or the
//! driver in many places and counts which breaks the suites find.
//!
//! Not here: anything that a user of Groove needs; that is `groove`.

mod judged;
mod report;
mod rtl;
mod software;

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Long checks of the project itself", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Break the project in many places, one at a time, and count which breaks its checks find.
    Mutants {
        /// What is broken.
        #[arg(value_enum, default_value_t = What::Rtl)]
        what: What,
        /// Breaks, a like number of each class.
        #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u16).range(1..=5000))]
        count: u16,
        /// Decides which breaks.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Random segments of 1,000 frames that each break has to survive.
        #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..))]
        segments: u16,
        /// Of an RTL report by --json=FILE: only what was not caught there, anew.
        #[arg(long, value_name = "FILE")]
        again: Option<PathBuf>,
        /// Of model and driver: the part K of N, as K/N from 0/N on.
        #[arg(long, default_value = "0/1")]
        shard: String,
        /// Also as JSON: to the file, or to standard output.
        #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-",
              require_equals = true)]
        json: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The emitted Verilog of the pipeline, against random traffic and the register file.
    Rtl,
    /// The model's Rust, by cargo-mutants.
    Model,
    /// The driver's Rust, by cargo-mutants.
    Driver,
}

/// What went wrong, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    what: String,
    help: &'static str,
    code: u8,
}

impl Failure {
    fn new(code: u8, what: impl Into<String>, help: &'static str) -> Self {
        Self { what: what.into(), help, code }
    }
}

fn run(cli: Cli) -> Result<u8, Failure> {
    let Task::Mutants { what, count, seed, segments, again, shard, json } = cli.task;
    match what {
        What::Rtl => {
            let judged = judged::Judged::read()?;
            let again = again.as_deref().map(report::Outcome::read).transpose()?;
            let plan = rtl::Plan { count: count.into(), seed, segments: segments.into(), again };
            let outcome = rtl::run(&plan, &judged)?;
            report::print(&outcome, json.as_deref())?;
            Ok(if outcome.unjudged() == 0 { 0 } else { groove::exit::MISMATCH })
        }
        What::Model => software::run("groove-model", &shard),
        What::Driver => software::run("groove-driver", &shard),
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code.into(),
        Err(failure) => {
            eprintln!("error: {}\nhelp: {}", failure.what, failure.help);
            failure.code.into()
        }
    }
}
