//! Arguments of `groove oracle`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use groove_oracle::BURST_FRAMES_MAX;
use groove_spec::Profile;
use groove_vm::KernelSpec;

use super::{CutChoice, EngineChoice, width_parser};
use crate::settings::Setting;

/// Arguments of `groove oracle`.
#[derive(Debug, Args)]
pub struct OracleArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: OracleAction,
}

/// What to ask the running kernel.
#[derive(Debug, Subcommand)]
pub enum OracleAction {
    /// Record what the running kernel delivers for a capture, as `groove golden` reads it
    Record(RecordArgs),
    /// Hold model and hardware against what the running kernel delivers for a capture
    Check(CheckArgs),
    /// Hold model and hardware against the running kernel on random bursts
    Random(RandomArgs),
    /// Record other kernels, each in a guest under QEMU, and hold model and recordings against them
    Guest(GuestArgs),
    /// Show what each kernel does, rule by rule, from recorded cases, and what the running one does
    Rules(RulesArgs),
}

/// How often the kernel is asked.
#[derive(Clone, Debug, Args)]
pub struct RunsArgs {
    /// Runs of each burst, in shuffled orders; results that differ are refused
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=100))]
    pub runs: u8,
}

/// What is put through the kernel.
#[derive(Clone, Debug, Args)]
pub struct SourceArgs {
    /// Capture to read (pcap or pcapng, Ethernet; - is standard input), or recorded cases (a
    /// directory, NAME.json, GROUP.jsonl.gz)
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,

    /// What the network card does before GRO: rxcsum=on|off, vlan_strip=on|off; may be repeated
    #[arg(long = "set", value_name = "OPTION=VALUE", value_parser = Setting::parse)]
    pub settings: Vec<Setting>,

    /// Frames of a burst, 1 to 64; then everything held is flushed
    #[arg(long, value_name = "N", default_value_t = BURST_FRAMES_MAX as u8)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=BURST_FRAMES_MAX as i64))]
    pub burst: u8,

    /// Read at most so many records
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,

    /// What to do with frames that the snap length cut
    #[arg(long, value_enum, default_value = "skip")]
    pub cut: CutChoice,
}

/// What the kernel is held against.
#[derive(Clone, Debug, Args)]
pub struct AgainstArgs {
    /// Engine that is held against the kernel
    #[arg(long, value_enum, default_value = "model")]
    pub engine: EngineChoice,

    /// Rules of the engines [default: those of the running kernel's version]
    #[arg(long, value_name = "P", value_parser = profile_parser())]
    pub profile: Option<Profile>,

    /// Bus width of the hardware in bits
    #[arg(long, value_name = "N", default_value = "512", value_parser = width_parser())]
    pub width: usize,

    /// Directory for bursts that differ, each as NAME.pcap and NAME.json
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Report as JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Arguments of `groove oracle record`.
#[derive(Clone, Debug, Args)]
pub struct RecordArgs {
    /// What is put through.
    #[command(flatten)]
    pub source: SourceArgs,

    /// How often.
    #[command(flatten)]
    pub runs: RunsArgs,

    /// Directory for the recording, NAME.jsonl.gz; it is created
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Report as JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Arguments of `groove oracle check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// What is put through.
    #[command(flatten)]
    pub source: SourceArgs,

    /// How often.
    #[command(flatten)]
    pub runs: RunsArgs,

    /// Against what.
    #[command(flatten)]
    pub against: AgainstArgs,
}

/// Arguments of `groove oracle random`.
#[derive(Clone, Debug, Args)]
pub struct RandomArgs {
    /// Bursts
    #[arg(long, value_name = "N", default_value_t = 2000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub cases: u64,

    /// Seed of the first burst; each has the one after the last one's [default: a new one]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,

    /// How often.
    #[command(flatten)]
    pub runs: RunsArgs,

    /// Against what.
    #[command(flatten)]
    pub against: AgainstArgs,
}

/// Arguments of `groove oracle guest`.
#[derive(Clone, Debug, Args)]
pub struct GuestArgs {
    /// Recorded cases that are put through
    #[arg(value_name = "DIR", default_value = "tests/golden")]
    pub dir: PathBuf,

    /// Kernel, as VERSION, VERSION-cloud or VERSION-generic; may be repeated
    #[arg(long = "kernel", value_name = "K", default_values = ["6.12", "7.3"])]
    pub kernels: Vec<KernelSpec>,

    /// Module that is loaded beside veth, as pppoe (kernels that are generic have it); may be
    /// repeated
    #[arg(long = "module", value_name = "NAME")]
    pub modules: Vec<String>,

    /// Random bursts
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub cases: u64,

    /// Seed of the first burst [default: a new one]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,

    /// How often.
    #[command(flatten)]
    pub runs: RunsArgs,

    /// Directory for the recordings of the guests; `groove oracle rules DIR` shows them
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Report as JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Arguments of `groove oracle rules`.
#[derive(Clone, Debug, Args)]
pub struct RulesArgs {
    /// Recorded cases that show the rules
    #[arg(value_name = "DIR", default_value = "tests/golden")]
    pub dir: PathBuf,

    /// Ask the running kernel as well
    #[arg(long)]
    pub live: bool,

    /// As JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

fn profile_parser() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::NAMES)
        .map(|name| Profile::from_name(&name).unwrap_or(Profile::Linux73))
}
