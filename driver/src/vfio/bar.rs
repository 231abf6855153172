//! A BAR in this process: registers that are read and written in place.
//!
//! Invariant: an access outside it is an error, never a fault (`outside_is_an_error`).
//! Not here: a card that is pulled out (`vfio`).

use std::io;
use std::os::fd::BorrowedFd;

use memmap2::{MmapOptions, MmapRaw};
use rustix::fd::AsRawFd;

use crate::device::{Error, Region, check_access};

/// A mapped BAR.
#[derive(Debug)]
pub struct Bar {
    map: MmapRaw,
    region: Region,
}

impl Bar {
    /// Maps `bytes` of `file` from `offset`.
    pub fn new(file: BorrowedFd<'_>, region: Region, offset: u64, bytes: u64) -> io::Result<Self> {
        let len = usize::try_from(bytes).map_err(io::Error::other)?;
        let map = MmapOptions::new().offset(offset).len(len).map_raw(file.as_raw_fd())?;
        Ok(Self { map, region })
    }

    /// Maps the first `bytes` of `file` to be read only: a write is not possible by it.
    pub fn read_only(file: BorrowedFd<'_>, region: Region, bytes: u64) -> io::Result<Self> {
        let len = usize::try_from(bytes).map_err(io::Error::other)?;
        let map = MmapOptions::new().len(len).map_raw_read_only(file.as_raw_fd())?;
        Ok(Self { map, region })
    }

    fn at(&self, offset: u64) -> Result<*mut u32, Error> {
        check_access(self.region, offset, self.map.len() as u64)?;
        Ok(self.map.as_mut_ptr().wrapping_add(offset as usize).cast())
    }

    /// Reads a register: one load of 32 bits.
    pub fn read32(&self, offset: u64) -> Result<u32, Error> {
        let register = self.at(offset)?;
        // SAFETY: `at` saw that the four bytes are in the map, and aligned, as the map begins on a
        // page. Nothing but volatile accesses reaches it, and no reference to it is ever made.
        Ok(u32::from_le(unsafe { register.read_volatile() }))
    }

    /// Writes a register: one store of 32 bits. All that this thread stored to memory before is
    /// visible to the device first.
    pub fn write32(&self, offset: u64, value: u32) -> Result<(), Error> {
        let register = self.at(offset)?;
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        // SAFETY: as in `read32`; `new` alone makes a `Bar` that is written to, and maps it so.
        unsafe { register.write_volatile(value.to_le()) }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    #[test]
    fn outside_is_an_error() {
        let file = memfd_create("bar", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 3 * 4096).unwrap();
        let bar = Bar::new(file.as_fd(), Region::Bar(0), 4096, 4096).unwrap();
        bar.write32(0xffc, 0x0403_0201).unwrap();
        assert_eq!(bar.read32(0xffc).unwrap(), 0x0403_0201);
        for offset in [1, 0xffd, 0x1000, u64::MAX - 3] {
            assert!(bar.read32(offset).is_err(), "{offset:#x}");
            assert!(bar.write32(offset, 0).is_err(), "{offset:#x}");
        }
        let mut bytes = [0; 4];
        rustix::io::pread(&file, &mut bytes, 4096 + 0xffc).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4], "at its place in the file, little endian");
    }
}
