//! Rows of `classify`.
use crate::{Layout, registers};

registers! { base 0x200, end 0x300;
    /// Station address, bytes 0 to 3, first byte lowest.
    MAC_LOW @ 0x00 ReadWrite = 0; { mac_low[0 +: 32] "Bytes 0 to 3." }
    /// Station address, bytes 4 and 5.
    MAC_HIGH @ 0x04 ReadWrite = 0; { mac_high[0 +: 16] "Bytes 4 and 5." }
}
/// No records.
pub const LAYOUTS: &[Layout] = &[];
