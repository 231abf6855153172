//! Rows of `admit`.
use crate::{Layout, registers};

registers! { base 0x800, end 0x900;
    /// Frames dropped because their worst case of buffers was not covered.
    DROP_NO_BUFFER @ 0x00 ReadOnly = 0; { frames[0 +: 32] "Wraps." }
}
/// No records.
pub const LAYOUTS: &[Layout] = &[];
