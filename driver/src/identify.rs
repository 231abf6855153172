//! Makes sure that a device was built from the table that this driver was built from.
//!
//!   SPEC_ID ──► equal? ──► CAPABILITIES ──► possible? ──► Identity
//!
//! Follows: spec rows `device::SPEC_ID`, `device::CAPABILITIES`.
//! Invariants: another table is refused, naming both (`refuses_another_table`); so is a device that
//! is gone (`names_a_device_that_is_gone`), and sizes that the table rules out
//! (`refuses_impossible_sizes`).

use groove_spec::stages::device::{CAPABILITIES, SPEC_ID};
use groove_spec::{QUEUES_MAX, WIDTHS};

use crate::{Device, Error, Region};

/// Where the registers are.
pub const REGISTERS: Region = Region::Bar(0);
/// What a read returns when nobody answers it.
const NOBODY: u32 = 0xffff_ffff;

/// What was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Receive queues.
    pub queues: usize,
    /// Bytes of a beat.
    pub width_bytes: usize,
    /// Buckets of held sessions per queue.
    pub buckets: usize,
    /// Held sessions per bucket.
    pub depth: usize,
    /// Back-pressures the MAC instead of dropping.
    pub lossless: bool,
}

/// Why a device is not driven.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// It could not be read.
    #[error("failed to read the device's identity")]
    Device(#[from] Error),
    /// Reads return all ones.
    #[error("the device answers every read with ones: it is gone, or its memory space is disabled")]
    Gone,
    /// It was built from another table.
    #[error(
        "the device was built from table {device:#010x}, this driver from {driver:#010x}: \
         load the bitstream and the driver of one version"
    )]
    OtherTable {
        /// `SPEC_ID` of the device.
        device: u32,
        /// `SPEC_ID` of this driver.
        driver: u32,
    },
    /// The table matches, but the sizes are none that the table allows.
    #[error("the device claims impossible sizes: CAPABILITIES is {0:#010x}")]
    Sizes(u32),
}

impl IdentityError {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Device(error) => error.help().unwrap_or("see the kernel's log: dmesg"),
            Self::Gone => "see `groove devices`, the link, and the kernel's log: dmesg",
            Self::OtherTable { .. } => {
                "load a bitstream of this version, or use the version of \
                                        groove that it was built with"
            }
            Self::Sizes(_) => "load a bitstream of this version",
        }
    }
}

/// Reads who the device is, and refuses strangers.
pub fn identify(device: &dyn Device) -> Result<Identity, IdentityError> {
    identify_by(|offset| device.read32(REGISTERS, offset))
}

/// As [`identify`], for whoever can only read registers: by their byte offset.
pub fn identify_by(read32: impl Fn(u64) -> Result<u32, Error>) -> Result<Identity, IdentityError> {
    let found = read32(SPEC_ID.offset as u64)?;
    match found {
        groove_spec::SPEC_ID => {}
        NOBODY => return Err(IdentityError::Gone),
        _ => {
            let driver = groove_spec::SPEC_ID;
            return Err(IdentityError::OtherTable { device: found, driver });
        }
    }
    let word = read32(CAPABILITIES.offset as u64)?;
    let field = |name| {
        let field = CAPABILITIES.field(name);
        ((word & field.mask()) >> field.lsb) as usize
    };
    let identity = Identity {
        queues: field("queues"),
        width_bytes: field("width_bytes"),
        buckets: field("buckets"),
        depth: field("depth"),
        lossless: field("lossless") == 1,
    };
    let possible = (1..=QUEUES_MAX).contains(&identity.queues)
        && WIDTHS.contains(&(8 * identity.width_bytes))
        && identity.buckets.is_power_of_two()
        && identity.depth > 0;
    if possible { Ok(identity) } else { Err(IdentityError::Sizes(word)) }
}
