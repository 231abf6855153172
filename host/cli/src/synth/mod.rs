//! `groove synth`: what a block costs in an FPGA, measured with the distribution's yosys.
//!
//!   emitted Verilog ──► yosys (flattened, mapped) ──► JSON netlist ──► cells, RAM, logic levels
//!
//! Levels are counted on the mapped netlist, from register, RAM or input to register, RAM or
//! output: a LUT is 1, a whole carry chain 1, a wide multiplexer (MUXF, PFUMX, L6MUX) 0, a read of
//! distributed RAM 1.
//!
//! Invariants: the count of every cell kind is fixed by hand-written modules of known depth
//! (`tests/tests/synth_levels.rs`); a cell that `cells.rs` does not know is refused, never counted
//! as 0 (`an_unknown_cell_is_refused`).
//! Not here: placement, timing in nanoseconds, power.

pub mod baseline;
pub mod blocks;
mod cells;
mod chart;
mod levels;
mod netlist;
mod report;
mod yosys;

pub use chart::chart;
pub use report::{BlockReport, Levels, Memory, MemoryKind, table};

use std::path::PathBuf;
use std::sync::Arc;

/// FPGA family that yosys maps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Lattice ECP5: LUT4, CCU2C, PFUMX, DP16KD.
    Ecp5,
    /// AMD 7 series: LUT6, CARRY4, MUXF7/8, RAMB36E1.
    Xc7,
    /// AMD UltraScale+: LUT6, CARRY4, MUXF7/8, RAMB36E2.
    Xcup,
}

impl Target {
    /// Every target, in the order of the report.
    pub const ALL: [Target; 3] = [Target::Ecp5, Target::Xc7, Target::Xcup];

    /// Name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Ecp5 => "ecp5",
            Target::Xc7 => "xc7",
            Target::Xcup => "xcup",
        }
    }

    /// Target of a name given by a person.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }
}

/// One block to synthesise.
#[derive(Clone, Debug)]
pub struct Request {
    /// Verilog text that holds the block and all it instantiates.
    pub verilog: Arc<str>,
    /// Module to synthesise.
    pub module: String,
    /// Name in the report.
    pub block: String,
    /// Family.
    pub target: Target,
}

/// Why a block could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// yosys is missing, or refused the Verilog.
    #[error("synthesis of {module}")]
    Tool {
        /// Module.
        module: String,
        /// Cause; names the command that installs what is missing.
        source: groove_verilator::Error,
    },
    /// The hardware cannot be built so, or has no such block.
    #[error("{0}")]
    Parameters(String),
    /// The mapped netlist holds a cell that the level counter does not know.
    #[error("{module}: cell type {cell} is unknown to the level counter")]
    UnknownCell {
        /// Module.
        module: String,
        /// Cell type.
        cell: String,
    },
    /// Combinational loop.
    #[error("{module}: combinational loop through {net}")]
    Loop {
        /// Module.
        module: String,
        /// A net of the loop.
        net: String,
    },
    /// The netlist does not read as yosys writes it.
    #[error("{module}: netlist: {message}")]
    Netlist {
        /// Module.
        module: String,
        /// What is wrong.
        message: String,
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

impl SynthError {
    /// Whether a tool must be installed first.
    pub fn is_missing_tool(&self) -> bool {
        matches!(self, SynthError::Tool { source, .. } if source.is_missing_tool())
    }
}

/// Synthesises one block and measures it.
pub fn synthesise(request: &Request) -> Result<BlockReport, SynthError> {
    let run = yosys::run(request)?;
    let netlist = netlist::Netlist::parse(&run.netlist, &request.module)?;
    let levels = levels::longest(&netlist, &request.module)?;
    Ok(report::build(request, &netlist, levels, run.memories, run.seconds))
}
