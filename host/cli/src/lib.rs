//! Library half of the command: captures, engines, comparison, reports.
//!
//! Only `main.rs` and `commands/` print and choose exit codes; everything else returns values and
//! errors.

pub mod bench;
pub mod boards;
pub mod capture;
pub mod cli;
pub mod commands;
pub mod compare;
pub mod deploy;
pub mod digest;
pub mod doctor;
pub mod emit;
pub mod engine;
pub mod exit;
mod failure;
pub mod golden;
pub mod live;
pub mod oracle;
pub mod pci;
pub mod plugin;
pub mod prove;
pub mod run;
pub mod serve;
pub mod settings;
pub mod sim;
pub mod spec;
pub mod stats;
pub mod synth;
pub mod vm;

pub use failure::Failure;
