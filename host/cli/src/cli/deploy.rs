//! Arguments of `groove deploy`.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use groove_driver::vfio::sysfs::Bdf;

use super::pci::KernelArgs;
use crate::boards::BOARDS;

/// Arguments of `groove deploy`.
#[derive(Clone, Debug, Args)]
pub struct DeployArgs {
    /// The bitstream: .bit of ecppack, Diamond or Vivado
    #[arg(value_name = "BITSTREAM", required_unless_present_any = ["resume", "recover"])]
    pub bitstream: Option<PathBuf>,

    /// The board
    #[arg(long, value_name = "BOARD", value_parser = boards())]
    #[arg(required_unless_present_any = ["resume", "recover"])]
    pub board: Option<String>,

    /// PCI address of the card's function; without, the host is not touched
    #[arg(long, value_name = "BDF")]
    pub bdf: Option<Bdf>,

    /// Write the flash, and read it again; without, the chip's SRAM, which power takes away
    #[arg(long)]
    pub flash: bool,

    /// Print each step, and do none
    #[arg(long)]
    pub dry_run: bool,

    /// Also a function of another vendor, or with a network interface that is up
    #[arg(long)]
    pub force: bool,

    /// Cable, by openFPGALoader's name, instead of the board's own
    #[arg(long, value_name = "NAME")]
    pub cable: Option<String>,

    /// Serial number of the cable, of several
    #[arg(long, value_name = "NUMBER")]
    pub serial: Option<String>,

    /// Server of the Xilinx Virtual Cable protocol instead of a cable
    #[arg(long, value_name = "IP:PORT", conflicts_with = "cable")]
    pub xvc: Option<SocketAddrV4>,

    /// Another program instead of openFPGALoader: called as `CMD sram|flash FILE`
    #[arg(long, value_name = "CMD", conflicts_with_all = ["cable", "serial", "xvc"])]
    pub programmer: Option<PathBuf>,

    /// Longest that programming may take, in seconds; 120, with --flash 1200
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub limit: Option<u64>,

    /// Go on with a deployment that was cut off
    #[arg(long, conflicts_with_all = WHAT, conflicts_with = "recover")]
    pub resume: bool,

    /// Put the host back as it was before a deployment that was cut off
    #[arg(long, conflicts_with_all = WHAT)]
    pub recover: bool,

    /// Report as JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,

    /// Where the kernel's files are.
    #[command(flatten)]
    pub kernel: KernelArgs,

    /// Directory of the lock and the journal, for tests
    #[arg(long, value_name = "DIR", hide = true)]
    pub state: Option<PathBuf>,
}

/// What a journal says already.
const WHAT: [&str; 10] = [
    "bitstream",
    "board",
    "bdf",
    "flash",
    "dry_run",
    "force",
    "cable",
    "serial",
    "xvc",
    "programmer",
];

fn boards() -> PossibleValuesParser {
    let value = |board: &crate::boards::Board| {
        PossibleValue::new(board.name).help(format!("{} ({})", board.title, board.part()))
    };
    BOARDS.iter().map(value).collect::<Vec<_>>().into()
}
