//! Builds emitted Verilog with Verilator, drives its ports, and watches its protocol.
//!
//!   Verilog text ──► [`Dut::build`]: verilate, own shim, g++, cache ──► shared object ──► ports
//!                                                                                     │
//!   frames, tokens ─► [`Pipeline::push`] ─► s_axis, s_token ─► hardware ─► monitors, outputs, logs
//!                                                                                     │
//!   deliveries, drops ◄── [`Pipeline::pull`] ◄── assembled from output ports alone ◄──┘
//!
//! Invariants: processes are spawned in `process.rs` alone; one build per (sources, flags, tools,
//! CPU), even with parallel users (`parallel_builds_share_one_entry`); a damaged cache entry is
//! rebuilt, never loaded (`damaged_entry_is_rebuilt`).
//! Not here: what the design means. Nothing in this crate looks into a frame.

mod assemble;
mod build;
mod cache;
mod dut;
mod error;
mod inputs;
mod monitor;
pub mod nic;
mod operation;
mod outputs;
mod pipeline;
mod process;
mod run;
mod shim;
mod stall;

pub use build::Source;
pub use dut::{Dut, Port, PortInfo};
pub use error::Error;
pub use pipeline::Pipeline;
pub use process::{Output, Tool, Toolbox, Version};
pub use run::{BuildOptions, Event, RunConfig, Stats, Stimulus, Wave};
