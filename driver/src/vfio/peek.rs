//! Registers of a function that somebody else may be driving: read, never written.
//!
//!   sysfs ──► there, memory on? ─┬─► the file of its driver, read by the kernel (`borrow`)
//!                                └─► resource0, mapped read-only, where that is not to be had
//!
//! Follows: `Documentation/PCI/sysfs-pci.rst` (`resource0`, `enable`).
//! Invariants: what keeps it from being read is named (`each_obstacle_to_a_look_is_named`); nothing
//! is written, as the map cannot be (`a_look_reads_what_is_there`).
//! Not here: a function that is pulled out while its map is read: that access ends the process with
//! SIGBUS.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::bar::Bar;
use super::borrow::{self, Borrowed};
use super::sysfs::{Bdf, Sysfs};
use super::way;
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
                     run it as root beside a driver of one function, or boot with iomem=relaxed"
                }
                _ => "see the kernel's log: dmesg",
            },
        }
    }
}

/// A look at a function's registers.
#[derive(Debug)]
pub struct Peek(By);

/// What they are read by.
#[derive(Debug)]
enum By {
    Driver(Borrowed),
    Map(Bar),
}

impl Peek {
    /// Opens the registers of a function, whoever drives it.
    pub fn open(sysfs: &Sysfs, bdf: Bdf) -> Result<Self, PeekError> {
        let function = sysfs.function(bdf).ok_or(PeekError::Absent(bdf))?;
        if sysfs.enabled(bdf) != Some(true) {
            return Err(PeekError::Disabled(bdf));
        }
        let group = function.group.map(|group| sysfs.group_file(group));
        let own = way::device_file(sysfs, &function);
        let holder = borrow::holder(Path::new("/proc"), group.as_deref(), own.as_deref());
        match holder.map(Borrowed::open) {
            Some(Ok(borrowed)) => Ok(Self(By::Driver(borrowed))),
            // Nobody drives it from user space, or this process may not share the file.
            _ => Self::map(sysfs, bdf),
        }
    }

    fn map(sysfs: &Sysfs, bdf: Bdf) -> Result<Self, PeekError> {
        let path = sysfs.directory(bdf).join("resource0");
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
        let bar = Bar::read_only(file.as_fd(), REGISTERS, bytes).map_err(failed("map"))?;
        Ok(Self(By::Map(bar)))
    }

    /// Reads a register; `offset` is a multiple of 4.
    pub fn read32(&self, offset: u64) -> Result<u32, Error> {
        match &self.0 {
            By::Driver(borrowed) => borrowed.read32(offset),
            By::Map(bar) => bar.read32(offset),
        }
    }
}
