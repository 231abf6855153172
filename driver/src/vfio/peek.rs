//! Registers of a function that somebody else may be driving: read, never written.
//!
//!   sysfs ──► there, memory space on? ──► resource0, mapped read-only ──► one word at a time
//!
//! Follows: `Documentation/PCI/sysfs-pci.rst` (`resource0`, `enable`).
//! Invariants: what keeps it from being read is named (`each_obstacle_to_a_look_is_named`); nothing
//! is written, as the map cannot be (`a_look_reads_what_is_there`).
//! Not here: a function that is pulled out while it is read: as with every map of a BAR, the access
//! ends the process with SIGBUS.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::io::Errno;

use super::bar::Bar;
use super::sysfs::{Bdf, Sysfs};
use crate::Error;
use crate::identify::REGISTERS;

/// Why registers cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum PeekError {
    /// Nothing is there.
    #[error("there is no PCI function {0}")]
    Absent(Bdf),
    /// Nobody has switched it on.
    #[error("{0} does not answer: its memory space is disabled")]
    Disabled(Bdf),
    /// No registers of ours.
    #[error("{bdf} has a BAR 0 of {bytes} bytes, too few for a Groove device")]
    Small {
        /// The function.
        bdf: Bdf,
        /// Bytes of its BAR 0.
        bytes: u64,
    },
    /// The kernel refused.
    #[error("failed to {step} {}", path.display())]
    File {
        /// What was being done.
        step: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl PeekError {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Absent(_) => "`groove devices` lists the functions of this machine",
            Self::Disabled(_) => "a driver switches it on: start one, and look again",
            Self::Small { .. } => "check that this is a Groove card: groove devices",
            Self::File { source, .. } => match Errno::from_io_error(source) {
                Some(Errno::ACCESS | Errno::PERM) => "run it as root",
                Some(Errno::INVAL | Errno::BUSY) => {
                    "this kernel keeps the registers for their driver (CONFIG_IO_STRICT_DEVMEM): \
                     boot with iomem=relaxed, or look at the driver's own report"
                }
                _ => "see the kernel's log: dmesg",
            },
        }
    }
}

/// A look at a function's registers.
#[derive(Debug)]
pub struct Peek(Bar);

impl Peek {
    /// Opens the registers of a function, whoever drives it.
    pub fn open(sysfs: &Sysfs, bdf: Bdf) -> Result<Self, PeekError> {
        let directory = sysfs.directory(bdf);
        if !directory.exists() {
            return Err(PeekError::Absent(bdf));
        }
        if sysfs.enabled(bdf) != Some(true) {
            return Err(PeekError::Disabled(bdf));
        }
        let path = directory.join("resource0");
        let failed = |step| {
            let path = path.clone();
            move |source| PeekError::File { step, path, source }
        };
        let file = File::open(&path).map_err(failed("open"))?;
        let bytes = file.metadata().map_err(failed("look at"))?.len();
        // Another table may have a smaller window: that is told by its SPEC_ID.
        if bytes < 4 {
            return Err(PeekError::Small { bdf, bytes });
        }
        Ok(Self(Bar::read_only(file.as_fd(), REGISTERS, bytes).map_err(failed("map"))?))
    }

    /// Reads a register; `offset` is a multiple of 4.
    pub fn read32(&self, offset: u64) -> Result<u32, Error> {
        self.0.read32(offset)
    }
}
