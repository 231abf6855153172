//! Rows of `ingress`.
use crate::{Layout, registers};

registers! { base 0x100, end 0x200;
    /// Longest frame that is not dropped.
    MAX_FRAME @ 0x00 ReadWrite = 9216; { max_frame_bytes[0 +: 14] "Without FCS; values above 9,216 act as 9,216." }
    /// Frames received, drops included.
    FRAMES @ 0x10 ReadOnly = 0; { frames[0 +: 32] "Wraps." }
    /// Frames dropped as runts.
    DROP_RUNT @ 0x14 ReadOnly = 0; { frames[0 +: 32] "Wraps." }
    /// Frames dropped as oversize.
    DROP_OVERSIZE @ 0x18 ReadOnly = 0; { frames[0 +: 32] "Wraps." }
    /// Frames dropped with a bad FCS.
    DROP_BAD_FCS @ 0x1c ReadOnly = 0; { frames[0 +: 32] "Wraps." }
    /// Frames dropped for want of room.
    DROP_OVERFLOW @ 0x20 ReadOnly = 0; { frames[0 +: 32] "Wraps." }
}
/// No records.
pub const LAYOUTS: &[Layout] = &[];
