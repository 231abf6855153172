//! Who the function is on its bus. Not part of the table: `SPEC_ID` tells one build from another.

/// Vendor. Not one that the PCI-SIG gave out: it stands for experiments, as in QEMU.
pub const VENDOR_ID: u16 = 0x1234;
/// Device.
pub const DEVICE_ID: u16 = 0x6772;
