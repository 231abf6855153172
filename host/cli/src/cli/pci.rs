//! Arguments of the commands that handle PCI functions: `devices`, `stats`, `bind`,
//! `unbind`.

use std::path::PathBuf;

use clap::Args;
use groove_driver::vfio::sysfs::{Bdf, Sysfs};

/// Where the kernel's files are.
#[derive(Clone, Debug, Args)]
pub struct KernelArgs {
    /// The kernel's tree of devices, for tests
    #[arg(long, value_name = "DIR", default_value = "/sys", hide = true)]
    pub sys: PathBuf,

    /// The directory of device files, for tests
    #[arg(long, value_name = "DIR", default_value = "/dev", hide = true)]
    pub dev: PathBuf,
}

impl KernelArgs {
    /// The trees.
    pub fn sysfs(&self) -> Sysfs {
        Sysfs::at(&self.sys, &self.dev)
    }
}

/// Arguments of `groove devices`.
#[derive(Clone, Debug, Args)]
pub struct DevicesArgs {
    /// Every network controller, not only Groove's
    #[arg(long)]
    pub all: bool,

    /// As JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,

    /// Where the kernel's files are.
    #[command(flatten)]
    pub kernel: KernelArgs,
}

/// Arguments of `groove stats`.
#[derive(Clone, Debug, Args)]
pub struct StatsArgs {
    /// PCI address of the function, as 0000:3b:00.0 or 3b:00.0
    #[arg(value_name = "BDF")]
    pub bdf: Bdf,

    /// As JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,

    /// Where the kernel's files are.
    #[command(flatten)]
    pub kernel: KernelArgs,
}

/// Arguments of `groove bind`.
#[derive(Clone, Debug, Args)]
pub struct BindArgs {
    /// PCI address of the function, as 0000:3b:00.0 or 3b:00.0
    #[arg(value_name = "BDF")]
    pub bdf: Bdf,

    /// Print each step, and do none
    #[arg(long)]
    pub dry_run: bool,

    /// Also if it is no Groove device, or has a network interface that is up
    #[arg(long)]
    pub force: bool,

    /// Where the kernel's files are.
    #[command(flatten)]
    pub kernel: KernelArgs,
}

/// Arguments of `groove unbind`.
#[derive(Clone, Debug, Args)]
pub struct UnbindArgs {
    /// PCI address of the function, as 0000:3b:00.0 or 3b:00.0
    #[arg(value_name = "BDF")]
    pub bdf: Bdf,

    /// Print each step, and do none
    #[arg(long)]
    pub dry_run: bool,

    /// Where the kernel's files are.
    #[command(flatten)]
    pub kernel: KernelArgs,
}
