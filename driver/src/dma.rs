//! Memory that a device and the driver share.
//!
//! One memory file, mapped once: kernel VFIO takes its address, a vfio-user socket its descriptor,
//! a device in this process the object itself. All access is atomic, so that a device in this
//! process may write at any time without undefined behaviour.
//! Invariants: every access is bounds-checked (`refuses_what_lies_outside`); a store is seen
//! through every handle (`bytes_written_are_the_bytes_read`).
//! Not here: huge pages, and who owns which byte when: the rings decide.
#![allow(unsafe_code)] // one of its fixed homes

mod foreign;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// An access outside the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at {offset:#x}: outside the {size} bytes of DMA memory, or misaligned")]
pub struct OutOfBounds {
    /// Byte offset of the access.
    pub offset: usize,
    /// Its length.
    pub bytes: usize,
    /// Size of the memory.
    pub size: usize,
}

/// Memory for DMA, zeroed at first.
#[derive(Debug)]
pub struct DmaMemory {
    file: Arc<File>,
    file_offset: u64,
    map: MmapRaw,
}

impl DmaMemory {
    /// Makes `bytes` of it; at least one.
    pub fn new(bytes: usize) -> io::Result<Self> {
        if bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no bytes to map"));
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("groove-dma", flags)?);
        file.set_len(bytes as u64)?;
        // Whoever gets the file can be sure that no access to it is a bus error.
        fcntl_add_seals(&file, SealFlags::SHRINK)?;
        let map = MmapOptions::new().len(bytes).map_raw(&file)?;
        Ok(Self::assemble(Arc::new(file), 0, map))
    }

    fn assemble(file: Arc<File>, file_offset: u64, map: MmapRaw) -> Self {
        Self { file, file_offset, map }
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.map.len()
    }

    /// Where it lies in this process: what the kernel's IOMMU interface takes.
    pub fn address(&self) -> usize {
        self.map.as_ptr().addr()
    }

    /// The memory file: what a vfio-user server takes.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Where it starts in its file.
    pub fn file_offset(&self) -> u64 {
        self.file_offset
    }

    fn check(&self, offset: usize, bytes: usize, align: usize) -> Result<(), OutOfBounds> {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes());
        if inside && offset.is_multiple_of(align) {
            return Ok(());
        }
        Err(OutOfBounds { offset, bytes, size: self.bytes() })
    }

    /// A 32-bit word in memory order of the device (little endian), for flags and indices.
    /// Words and [`DmaMemory::read`]/[`DmaMemory::write`] must not race on the same bytes.
    pub fn word(&self, offset: usize) -> Result<&AtomicU32, OutOfBounds> {
        self.check(offset, 4, 4)?;
        // SAFETY: `check` saw offset + 4 <= len and alignment to 4; the map begins on a page, lives
        // as long as `self`, and is only ever accessed atomically, here and below.
        Ok(unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(offset).cast()) })
    }

    fn span(&self, offset: usize, bytes: usize) -> Result<&[AtomicU8], OutOfBounds> {
        self.check(offset, bytes, 1)?;
        // SAFETY: `check` saw offset + bytes <= len; AtomicU8 has the layout of u8; the map lives
        // as long as `self`, and is only ever accessed atomically.
        Ok(unsafe {
            std::slice::from_raw_parts(self.map.as_ptr().add(offset).cast::<AtomicU8>(), bytes)
        })
    }

    /// Copies out of it. Order it behind an acquiring load of the word that hands the bytes over.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), OutOfBounds> {
        let from = self.span(offset, into.len())?;
        into.iter_mut().zip(from).for_each(|(to, from)| *to = from.load(Ordering::Relaxed));
        Ok(())
    }

    /// Copies into it. Order it before a releasing store of the word that hands the bytes over.
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), OutOfBounds> {
        let to = self.span(offset, from.len())?;
        to.iter().zip(from).for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_written_are_the_bytes_read() {
        let memory = DmaMemory::new(4096).unwrap();
        memory.write(4090, b"groove").unwrap();
        let mut back = [0; 7];
        memory.read(4089, &mut back).unwrap();
        assert_eq!(&back, b"\0groove");
        memory.word(8).unwrap().store(0x0403_0201u32.to_le(), Ordering::Release);
        memory.read(8, &mut back[..4]).unwrap();
        assert_eq!(back[..4], [1, 2, 3, 4]);

        let second = MmapOptions::new().len(4096).map_raw_read_only(&*memory.file).unwrap();
        assert_ne!(second.as_ptr().addr(), memory.address());
        // SAFETY: offset 4090 is inside the second map, and no other thread runs.
        assert_eq!(unsafe { second.as_ptr().add(4090).read_volatile() }, b'g');
    }

    #[test]
    fn refuses_what_lies_outside() {
        let memory = DmaMemory::new(64).unwrap();
        let mut one = [0];
        assert!(memory.read(63, &mut one).is_ok());
        assert_eq!(memory.read(64, &mut one), Err(OutOfBounds { offset: 64, bytes: 1, size: 64 }));
        assert!(memory.write(usize::MAX, &[1, 2]).is_err());
        assert!(memory.word(60).is_ok());
        assert!(memory.word(61).is_err());
        assert!(memory.word(64).is_err());
    }

    #[test]
    fn no_memory_is_an_error() {
        assert!(DmaMemory::new(0).is_err());
    }
}
