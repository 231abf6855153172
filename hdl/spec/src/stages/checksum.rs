//! Rows of `checksum`.
use crate::{Layout, Register};

/// No registers.
pub const REGISTERS: &[Register] = &[];
/// No records.
pub const LAYOUTS: &[Layout] = &[];
