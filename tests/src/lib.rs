//! What the cross-crate suites share.

pub mod frames;
pub mod generate;
