//! What the cross-crate suites share.

pub mod coverage;
pub mod differential;
pub mod frames;
pub mod generate;
pub mod inverse;
pub mod vectors;
