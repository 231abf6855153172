//! Arguments of `groove plugin`.

use std::path::PathBuf;

use clap::Args;

use crate::plugin::Shell;

/// Arguments of `groove plugin`.
#[derive(Debug, Args)]
pub struct PluginArgs {
    /// NIC shell, and the place in it
    #[arg(long, value_enum)]
    pub shell: Shell,

    /// Directory to write to: new, or empty
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// As JSON, to FILE, or to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}
