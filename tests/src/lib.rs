//! What the cross-crate suites share.

pub mod generate;
