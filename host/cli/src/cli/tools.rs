//! Arguments of the commands that measure: `synth` and `bench`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use groove_spec::QUEUES_MAX;

use super::width_parser;
use crate::synth::{Target, blocks};

/// Arguments of `groove synth`.
#[derive(Debug, Args)]
pub struct SynthArgs {
    /// Only this block [default: every block, the whole pipeline and the whole NIC]
    #[arg(long, value_name = "BLOCK", value_parser = PossibleValuesParser::new(blocks::names()))]
    pub block: Option<String>,

    /// Bus width in bits
    #[arg(long, value_name = "N", default_value = "512", value_parser = width_parser())]
    pub width: usize,

    /// Receive queues, 1 to 32
    #[arg(long, value_name = "N", default_value_t = QUEUES_MAX as u8)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=QUEUES_MAX as i64))]
    pub queues: u8,

    /// Only this FPGA family [default: all]
    #[arg(long, value_name = "FAMILY", value_parser = target_parser())]
    pub target: Option<Target>,

    /// Compare with the figures in FILE, and fail if one grew
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// Growth of cells and registers that --baseline lets pass, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 3, requires = "baseline")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub tolerance: u32,

    /// Write the figures to FILE, a line each: a later --baseline
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Draw the figures as bars, as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// As JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Arguments of `groove bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub what: BenchKind,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum BenchKind {
    /// The hardware: beats per clock cycle, clock cycles per frame, frames per delivery
    Rtl(BenchOptions),
    /// The simulation: clock cycles and frames per second
    Sim(BenchOptions),
    /// The driver: nanoseconds per delivery, and what it costs to bring a buffer home
    Driver(DriverOptions),
}

/// What measuring the driver takes.
#[derive(Debug, Args)]
pub struct DriverOptions {
    /// As JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// What every measurement takes.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Bus width in bits
    #[arg(long, value_name = "N", default_value = "512", value_parser = width_parser())]
    pub width: usize,

    /// Receive queues, 1 to 32
    #[arg(long, value_name = "N", default_value_t = QUEUES_MAX as u8)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=QUEUES_MAX as i64))]
    pub queues: u8,

    /// As JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

fn target_parser() -> impl TypedValueParser<Value = Target> {
    PossibleValuesParser::new(Target::ALL.map(Target::name))
        .map(|name| Target::from_name(&name).unwrap_or(Target::Ecp5))
}
