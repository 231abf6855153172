//! Arguments of `groove prove`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::prove::Proof;

/// Arguments of `groove prove`.
#[derive(Debug, Args)]
pub struct ProveArgs {
    /// Only this block [default: all of them]
    #[arg(value_name = "BLOCK", value_parser = PossibleValuesParser::new(Proof::names()))]
    pub block: Option<String>,

    /// Cycles from reset of bounded proofs; with others, so many besides [default: each its own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub depth: Option<u32>,

    /// Also break the hardware in named places: each break must be caught by its property
    #[arg(long)]
    pub mutants: bool,

    /// Directory that keeps what yosys and the solver were given, and every trace; it is created
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,

    /// As JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}
