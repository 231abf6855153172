//! Builds emitted Verilog with Verilator, drives its ports, and watches its protocol.
//!
//!   Verilog text ──► [`Dut::build`]: verilate, own shim, g++, cache ──► shared object ──► ports
//!
//! Invariants: processes are spawned in `process.rs` alone; one build per (sources, flags, tools, CPU),
//! even with parallel users (`parallel_builds_share_one_entry`); a damaged cache entry is rebuilt, never
//! loaded (`damaged_entry_is_rebuilt`).
//! Not here: what the design means. Nothing in this crate looks into a frame.

mod build;
mod cache;
mod dut;
mod error;
mod process;
mod shim;

pub use build::Source;
pub use dut::{Dut, Port, PortInfo};
pub use error::Error;
pub use process::{Output, Tool, Toolbox, Version};
