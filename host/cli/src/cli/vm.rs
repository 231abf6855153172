//! Arguments of `groove vm`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use groove_driver::vfio::sysfs::Bdf;
use groove_spec::QUEUES_MAX;
use groove_vm::KernelSpec;

use super::DeviceChoice;

/// Arguments of `groove vm`.
#[derive(Clone, Debug, Args)]
pub struct VmArgs {
    /// What to do with the guest.
    #[command(subcommand)]
    pub action: VmAction,
}

/// What to do with the guest.
#[derive(Clone, Debug, Subcommand)]
pub enum VmAction {
    /// Boot, bind, run captures, compare what the driver delivered with the model, power off
    Test(VmTestArgs),
    /// Boot, bind, and give a console to explore
    Shell(VmShellArgs),
    /// In the guest: make the device reach for memory that it was not given
    #[command(hide = true)]
    Stray(StrayArgs),
}

/// How the driver comes into the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriverChoice {
    /// Static if it can be built, else copied
    Auto,
    /// Built for it by cargo, linked statically
    Static,
    /// This command itself, with its libraries
    Copy,
}

/// A guest with a device.
#[derive(Clone, Debug, Args)]
pub struct VmGuestArgs {
    /// Device behind the guest's PCI function
    #[arg(long, value_enum, default_value = "rtl")]
    pub device: DeviceChoice,

    /// Capture for the driver; may be repeated [default: some small ones of the project's own]
    #[arg(long, value_name = "FILE")]
    pub capture: Vec<PathBuf>,

    /// Receive queues, 1 to 32
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=QUEUES_MAX as i64))]
    pub queues: u8,

    /// Read at most so many records of each capture
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,

    /// Debian's kernel of the guest: a version, as far as it matters, and -generic for more drivers
    #[arg(long, value_name = "VERSION", default_value_t)]
    pub kernel: KernelSpec,

    /// How the driver comes into the guest
    #[arg(long, value_enum, default_value = "auto")]
    pub driver: DriverChoice,
}

/// Arguments of `groove vm test`.
#[derive(Clone, Debug, Args)]
pub struct VmTestArgs {
    /// The guest.
    #[command(flatten)]
    pub guest: VmGuestArgs,

    /// Report as JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Arguments of `groove vm shell`.
#[derive(Clone, Debug, Args)]
pub struct VmShellArgs {
    /// The guest.
    #[command(flatten)]
    pub guest: VmGuestArgs,
}

/// Arguments of `groove vm stray`.
#[derive(Clone, Debug, Args)]
pub struct StrayArgs {
    /// PCI address of the function
    #[arg(value_name = "BDF")]
    pub bdf: Bdf,

    /// Report as JSON
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}
