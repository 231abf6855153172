//! Fuzz targets: functions of any bytes that panic where an invariant does not hold.
//!
//!   corpus ─┬─► replay, with mutations by seed (every test run) ─┐
//!           └─► guided by coverage (`setup/fuzz`) ───────────────┴─► target ─► invariants
//!
//! A target is total and deterministic: no clock decides, nothing is left of one input for the
//! next. `docs/trust.md`, "Fuzzing", says what was run and found.
//!
//! Invariant: each target catches a fault that is put in (`tests/checks.rs`).

mod shared;

pub mod capture;
pub mod coalescer;
pub mod completions;
mod configuration;
pub mod corpus;
mod deliveries;
pub mod frame;
mod input;
pub mod mutate;
pub mod spec;
pub mod vfio_user;

use groove_model::Event;

/// Changes what the model gives: the fault that a test of a target puts in.
pub type Meddle<'a> = &'a mut dyn FnMut(&mut Vec<Event>);

/// Panics where an invariant does not hold.
pub type Target = fn(&[u8]);

/// Every target by name: that of its corpus, and the argument of `setup/fuzz`.
pub const TARGETS: [(&str, Target); 6] = [
    ("frame", frame::run),
    ("capture", capture::run),
    ("coalescer", coalescer::run),
    ("spec", spec::run),
    ("completions", completions::run),
    ("vfio_user", vfio_user::run),
];

/// Longest input.
pub const INPUT_BYTES_MAX: usize = 4096;

/// The target of a name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, run)| *run)
}
