//! The device trait: all that the driver knows of a PCI function, whatever stands behind it.
//!
//! Invariants: implementations answer any argument with a value or an [`Error`], and never panic
//! (`out_of_range_is_an_error`); memory stays alive while a device holds it, since `dma_map` takes
//! an `Arc` (`memory_outlives_the_drivers_own_handle`).
//! Not here: opening a device; every transport has its own way.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::interrupt::Woken;
use crate::{DmaMemory, Interrupt};

/// A region of a PCI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// Base address register 0 to 5.
    Bar(u8),
    /// Configuration space.
    Config,
}

/// What the platform says of a function, beside the function's own interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// An error of the bus that cannot be corrected (PCIe AER).
    Fault,
    /// The function is to be let go: it is being pulled out, or taken away from this driver.
    Release,
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fault => "the bus reports an error of the device that cannot be corrected",
            Self::Release => "the kernel asks for the device back",
        })
    }
}

/// Why a device did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The function has no such region.
    #[error("{0:?}: no such region")]
    NoRegion(Region),
    /// The access is misaligned, or not wholly inside the region.
    #[error("{region:?} offset {offset:#x}: outside its {bytes} bytes, or not a multiple of 4")]
    OutOfRange {
        /// Region of the access.
        region: Region,
        /// Its byte offset.
        offset: u64,
        /// Size of the region.
        bytes: u64,
    },
    /// The range overlaps a mapping, or is none.
    #[error("IOVA {iova:#x}, {bytes} bytes: overlaps a mapping, or is not one")]
    Mapping {
        /// Start of the range.
        iova: u64,
        /// Its length.
        bytes: u64,
    },
    /// More vectors than the function has.
    #[error("{wanted} interrupt vectors: the device has {available}")]
    TooManyVectors {
        /// Vectors asked for.
        wanted: usize,
        /// Vectors of the function.
        available: usize,
    },
    /// Reads return all ones.
    #[error("the device answers every read with ones: it is gone, or its memory space is disabled")]
    Gone,
    /// The platform says something of the function.
    #[error("{0}")]
    Alarm(Alarm),
    /// The transport failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The transport failed at something that can be named.
    #[error("{what}")]
    Transport {
        /// What failed.
        what: String,
        /// What can be done.
        help: Option<&'static str>,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// What can be done, if it is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Transport { help, .. } => *help,
            Self::Gone => Some("see `groove devices`, the link, and the kernel's log: dmesg"),
            Self::Alarm(Alarm::Fault) => Some(
                "see the kernel's log (dmesg, AER), and start the driver again: it resets the device",
            ),
            Self::Alarm(Alarm::Release) => Some(
                "it is being pulled out or unbound, which waits for the driver to end: end it, and \
                 start it again when the device is back",
            ),
            _ => None,
        }
    }
}

/// What the driver needs from a PCI function.
///
/// Shared references throughout: queues are driven from several threads, and a device orders the
/// accesses of each thread itself.
pub trait Device: Send + Sync {
    /// Size of a region; 0 if there is none.
    fn region_bytes(&self, region: Region) -> u64;

    /// Reads a register. `offset` is a multiple of 4.
    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error>;

    /// Writes a register, in program order with this thread's other writes.
    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error>;

    /// Lets the device reach `memory` at `iova`, until [`Device::dma_unmap`] or [`Device::reset`].
    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error>;

    /// Takes a mapping away: exactly the range of one `dma_map`. The device does not touch the
    /// memory after the return.
    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error>;

    /// Interrupt vectors of the function.
    fn vectors(&self) -> usize;

    /// Signals `interrupts[n]` when vector `n` fires; replaces what was there. Empty switches off.
    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error>;

    /// Event files that the platform signals, with what that means. They are never read, so that
    /// each thread sees them raised. [`check_alarms`] looks at them; who waits, waits for them too.
    fn alarms(&self) -> &[(Alarm, Arc<Interrupt>)] {
        &[]
    }

    /// Function-level reset: registers at their reset values, no mapping, no interrupt.
    fn reset(&self) -> Result<(), Error>;
}

/// Sees whether an alarm was raised: an error that says which.
pub fn check_alarms(device: &dyn Device) -> Result<(), Error> {
    let alarms = device.alarms();
    if alarms.is_empty() {
        return Ok(());
    }
    let files: Vec<&Interrupt> = alarms.iter().map(|(_, raised)| &**raised).collect();
    match Interrupt::wait_beside(&[], &files, Duration::ZERO)? {
        Woken::Alarm(at) => Err(Error::Alarm(alarms[at].0)),
        Woken::Vector | Woken::Nobody => Ok(()),
    }
}

/// Checks a register access against a region of `bytes`; for implementations.
pub fn check_access(region: Region, offset: u64, bytes: u64) -> Result<(), Error> {
    if bytes == 0 {
        return Err(Error::NoRegion(region));
    }
    if !offset.is_multiple_of(4) || offset.checked_add(4).is_none_or(|end| end > bytes) {
        return Err(Error::OutOfRange { region, offset, bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_is_checked_at_the_bound_and_on_both_sides_of_it() {
        let at = |offset| check_access(Region::Bar(0), offset, 0x1000);
        assert!(at(0).is_ok());
        assert!(at(0xffc).is_ok());
        for offset in [1, 2, 0xffd, 0xffe, 0x1000, u64::MAX, u64::MAX - 3] {
            assert!(matches!(at(offset), Err(Error::OutOfRange { .. })), "{offset:#x}");
        }
        assert!(matches!(check_access(Region::Config, 0, 0), Err(Error::NoRegion(_))));
    }
}
