//! The command line: what can be typed, its help, and its bounds.

mod deploy;
mod input;
mod oracle;
mod pci;
mod plugin;
mod prove;
mod run;
mod serve;
mod tools;
mod vm;
mod wrong;

pub use deploy::DeployArgs;
pub use input::{CutChoice, InputArgs};
pub use oracle::{
    AgainstArgs, CheckArgs, GuestArgs, OracleAction, OracleArgs, RandomArgs, RecordArgs, RulesArgs,
    SourceArgs,
};
pub use pci::{BindArgs, DevicesArgs, KernelArgs, StatsArgs, UnbindArgs};
pub use plugin::PluginArgs;
pub use prove::ProveArgs;
pub use run::{DeviceChoice, RunArgs, SplitChoice};
pub use serve::{DeviceAddress, ServeArgs};
pub use tools::{BenchArgs, BenchKind, BenchOptions, DriverOptions, SynthArgs};
pub use vm::{DriverChoice, StrayArgs, VmAction, VmArgs, VmGuestArgs, VmShellArgs, VmTestArgs};
pub use wrong::wrong_usage;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use groove_spec::QUEUES_MAX;

use crate::emit::Top;
use crate::{exit, settings};

/// Receive offloads of a NIC, designed and proven together with their driver.
///
/// Runs captures through the receive pipeline - the software model, the RustHDL hardware under
/// Verilator, or both held against each other - and checks it against what Linux kernels delivered.
#[derive(Debug, Parser)]
#[command(name = "groove", version, after_help = exit::table(), max_term_width = 100)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a capture through the receive pipeline
    Sim(SimArgs),
    /// Run a capture through a whole device into the driver, with buffers that come home
    Run(RunArgs),
    /// Run recorded kernel results through an engine and list what differs
    Golden(GoldenArgs),
    /// Ask the running kernel: record what its GRO delivers, and hold model and hardware against it
    Oracle(OracleArgs),
    /// Write the hardware as Verilog, with C header and tables
    Emit(EmitArgs),
    /// Write the hardware as a plug-in of a NIC shell, as the shell's own build expects it
    Plugin(PluginArgs),
    /// Show, write or check everything that is generated from the one table
    Spec(SpecArgs),
    /// Synthesise the hardware with yosys: cells, RAM and logic levels of each block
    Synth(SynthArgs),
    /// Prove properties of the emitted Verilog with yosys and z3, for every input and for ever
    Prove(ProveArgs),
    /// Measure the hardware's rates in clock cycles, the speed of its simulation, or the driver
    Bench(BenchArgs),
    /// Serve a device over vfio-user, to QEMU or to `groove run`
    Serve(ServeArgs),
    /// List PCI functions: Groove's, who has them, and what they were built from
    Devices(DevicesArgs),
    /// Show the counters of a PCI function, while a driver runs it
    Stats(StatsArgs),
    /// Give a PCI function to user space (vfio-pci)
    Bind(BindArgs),
    /// Give a PCI function back to the kernel
    Unbind(UnbindArgs),
    /// Put a bitstream onto a card, and the card to user space
    Deploy(DeployArgs),
    /// Run the driver in a Linux guest: its kernel, its vfio-pci, its IOMMU
    Vm(VmArgs),
    /// Show which tools are installed, which are missing and how to get them
    Doctor(DoctorArgs),
}

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// The software model
    Model,
    /// The hardware under Verilator
    Rtl,
    /// Both, held against each other
    Both,
}

/// Arguments of `groove sim`.
#[derive(Clone, Debug, Args)]
#[command(after_help = settings::help())]
pub struct SimArgs {
    /// Capture to read: pcap or pcapng, Ethernet; - is standard input
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,

    /// What runs through the pipeline.
    #[command(flatten)]
    pub input: InputArgs,

    /// Engine that runs the frames
    #[arg(long, value_enum, default_value = "both")]
    pub engine: EngineChoice,

    /// Bus width of the hardware in bits
    #[arg(long, value_name = "N", default_value = "512", value_parser = width_parser())]
    pub width: usize,

    /// Share of cycles, in percent, in which a port of the hardware is made to wait
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=90))]
    pub stall: u8,

    /// Seed of the stalls
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Report as JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,

    /// Write the deliveries as a capture
    #[arg(long, value_name = "FILE.pcapng")]
    pub out: Option<PathBuf>,

    /// Write the hardware's waveform
    #[arg(long, value_name = "FILE.fst")]
    pub wave: Option<PathBuf>,
}

/// Which engine is held against recorded kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GoldenEngine {
    /// The software model, given the recorded metadata
    Model,
    /// The hardware under Verilator; cases that it cannot be given are left out
    Rtl,
}

/// Arguments of `groove golden`.
#[derive(Debug, Args)]
pub struct GoldenArgs {
    /// Directory of recorded cases, searched to any depth
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,

    /// Engine to check
    #[arg(long, value_enum, default_value = "model")]
    pub engine: GoldenEngine,

    /// Whole device to check instead: rings, memory and the driver that takes the deliveries
    #[arg(long, value_enum, conflicts_with = "engine")]
    pub device: Option<DeviceChoice>,

    /// Only this recorded kernel
    #[arg(long, value_name = "LABEL")]
    pub kernel: Option<String>,

    /// Bus width of the hardware in bits
    #[arg(long, value_name = "N", default_value = "512", value_parser = width_parser())]
    pub width: usize,

    /// As JSON, for machines
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `groove emit`.
#[derive(Debug, Args)]
pub struct EmitArgs {
    /// Top module
    #[arg(long, value_enum, default_value = "rx")]
    pub top: Top,

    /// Bus width in bits
    #[arg(long, value_name = "N", default_value = "512", value_parser = width_parser())]
    pub width: usize,

    /// Receive queues, 1 to 32
    #[arg(long, value_name = "N", default_value_t = QUEUES_MAX as u8)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=QUEUES_MAX as i64))]
    pub queues: u8,

    /// Back-pressure to the MAC instead of dropping frames when full; a MAC ignores it
    #[arg(long)]
    pub lossless: bool,

    /// Directory to write to; it is created
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Arguments of `groove spec`.
#[derive(Debug, Args)]
pub struct SpecArgs {
    /// What to do with the table.
    #[command(subcommand)]
    pub action: SpecAction,
}

/// What to do with the table.
#[derive(Debug, Subcommand)]
pub enum SpecAction {
    /// Show registers, record layouts and coded names
    Show {
        /// As JSON, for machines
        #[arg(long)]
        json: bool,
    },
    /// Fill the fenced tables of the docs
    Write {
        /// Directory with the docs
        #[arg(long, value_name = "DIR", default_value = "docs")]
        docs: PathBuf,
    },
    /// Check that the fenced tables of the docs are those of this table (exit code 4 if not)
    Check {
        /// Directory with the docs
        #[arg(long, value_name = "DIR", default_value = "docs")]
        docs: PathBuf,
    },
}

/// Arguments of `groove doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// As JSON, for machines
    #[arg(long)]
    pub json: bool,
}

/// Bus widths as an argument.
pub fn width_parser() -> impl TypedValueParser<Value = usize> {
    PossibleValuesParser::new(["64", "128", "256", "512"]).map(|text| text.parse().unwrap_or(512))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn widths_are_those_of_the_table() {
        for width in groove_spec::WIDTHS {
            let text = width.to_string();
            let args = Cli::try_parse_from(["groove", "sim", "x", "--width", &text]);
            let Command::Sim(sim) = args.unwrap().command else { panic!("not sim") };
            assert_eq!(sim.width, width);
        }
    }
}
