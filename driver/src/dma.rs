//! Memory that a device and the driver share.
//!
//! One memory file, mapped once: kernel VFIO takes its address, a vfio-user socket its descriptor,
//! a device in this process the object itself. It lies on huge pages if the machine has some
//! reserved, on normal ones otherwise ([`DmaMemory::page_bytes`] says which). All access is atomic,
//! in words of 64 bits, so that a device in this process may write at any time without undefined
//! behaviour.
//!
//! Invariants: every access is bounds-checked (`refuses_what_lies_outside`); a store is seen
//! through every handle (`bytes_written_are_the_bytes_read`); without huge pages there is memory
//! all the same (`falls_back_to_normal_pages`).
//! Not here: who owns which byte when: the rings decide.
#![allow(unsafe_code)] // one of its fixed homes

mod foreign;
pub mod lease;
#[cfg(test)]
mod lease_tests;
mod words;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::param::page_size;

use words::WORD_BYTES;

/// Bytes of a huge page.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

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
    page_bytes: usize,
}

fn create(bytes: usize, pages: MemfdFlags, page_bytes: usize) -> io::Result<DmaMemory> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | pages;
    let file = File::from(memfd_create("groove-dma", flags)?);
    file.set_len(bytes as u64)?;
    // Whoever gets the file can be sure that no access to it is a bus error.
    fcntl_add_seals(&file, SealFlags::SHRINK)?;
    // Fails here if the machine has too few huge pages: they are reserved when they are mapped.
    let map = MmapOptions::new().len(bytes).map_raw(&file)?;
    Ok(DmaMemory { page_bytes, ..DmaMemory::assemble(Arc::new(file), 0, map) })
}

impl DmaMemory {
    /// Makes `bytes` of it, at least one; on huge pages if it fills one and there are some, which
    /// rounds its size up to whole ones.
    pub fn new(bytes: usize) -> io::Result<Self> {
        if bytes >= HUGE_PAGE_BYTES
            && let Some(whole) = bytes.checked_next_multiple_of(HUGE_PAGE_BYTES)
            && let Ok(memory) =
                create(whole, MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB, HUGE_PAGE_BYTES)
        {
            return Ok(memory);
        }
        Self::on_normal_pages(bytes)
    }

    /// The same on normal pages.
    pub fn on_normal_pages(bytes: usize) -> io::Result<Self> {
        if bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no bytes to map"));
        }
        create(bytes, MemfdFlags::empty(), page_size())
    }

    fn assemble(file: Arc<File>, file_offset: u64, map: MmapRaw) -> Self {
        Self { file, file_offset, map, page_bytes: page_size() }
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.map.len()
    }

    /// Bytes of the pages that it lies on.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
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

    #[inline]
    fn check(&self, offset: usize, bytes: usize, align: usize) -> Result<(), OutOfBounds> {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes());
        if inside && offset.is_multiple_of(align) {
            return Ok(());
        }
        Err(OutOfBounds { offset, bytes, size: self.bytes() })
    }

    /// A 32-bit word in memory order of the device (little endian).
    /// It must not race with any other access to the 64-bit word that it is in.
    pub fn word(&self, offset: usize) -> Result<&AtomicU32, OutOfBounds> {
        self.check(offset, 4, 4)?;
        // SAFETY: `check` saw offset + 4 <= len and alignment to 4; the map begins on a page, lives
        // as long as `self`, and is only ever accessed atomically, here and below.
        Ok(unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(offset).cast()) })
    }

    /// `count` 64-bit words in memory order of the device (little endian).
    #[inline]
    pub fn words(&self, offset: usize, count: usize) -> Result<&[AtomicU64], OutOfBounds> {
        let bytes = count.saturating_mul(WORD_BYTES);
        self.check(offset, bytes, WORD_BYTES)?;
        Ok(self.span(offset, bytes))
    }

    /// The words that hold some bytes.
    #[inline]
    fn span(&self, offset: usize, bytes: usize) -> &[AtomicU64] {
        let first = offset / WORD_BYTES;
        let count = (offset + bytes).div_ceil(WORD_BYTES) - first;
        debug_assert!(offset + bytes <= self.bytes());
        // SAFETY: the callers saw offset + bytes <= len with `check`. The map begins on a page and
        // ends with a whole one, and pages are multiples of 8 bytes: so the words are aligned, and
        // the last one is mapped to its end. AtomicU64 has the layout of u64; the map lives as long
        // as `self`, and is only ever accessed atomically.
        unsafe {
            let start = self.map.as_ptr().cast::<AtomicU64>().add(first);
            std::slice::from_raw_parts(start, count)
        }
    }

    /// Copies out of it. Order it behind an acquiring load of the word that hands the bytes over.
    #[inline]
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), OutOfBounds> {
        self.check(offset, into.len(), 1)?;
        words::load(self.span(offset, into.len()), offset % WORD_BYTES, into);
        Ok(())
    }

    /// Copies into it. The last word is stored with release order: a record whose last word hands
    /// it over is published with one call, and with it all that this thread wrote before.
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), OutOfBounds> {
        self.check(offset, from.len(), 1)?;
        words::store(self.span(offset, from.len()), offset % WORD_BYTES, from);
        Ok(())
    }

    /// Begins to load the cache line of a byte; outside the memory it does nothing.
    #[inline]
    pub fn prefetch(&self, offset: usize) {
        #[cfg(target_arch = "x86_64")]
        if offset < self.bytes() {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint; the address is inside the map, which lives as long as `self`.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.map.as_ptr().add(offset).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

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
        assert_eq!(memory.words(8, 1).unwrap()[0].load(Ordering::Relaxed).to_le(), 0x0403_0201);

        let second = MmapOptions::new().len(4096).map_raw_read_only(&*memory.file).unwrap();
        assert_ne!(second.as_ptr().addr(), memory.address());
        // SAFETY: offset 4090 is inside the second map, and no other thread runs.
        assert_eq!(unsafe { second.as_ptr().add(4090).read_volatile() }, b'g');
    }

    #[test]
    fn refuses_what_lies_outside() {
        let memory = DmaMemory::new(61).unwrap();
        let mut one = [0];
        assert!(memory.read(60, &mut one).is_ok());
        assert_eq!(memory.read(61, &mut one), Err(OutOfBounds { offset: 61, bytes: 1, size: 61 }));
        assert!(memory.write(usize::MAX, &[1, 2]).is_err());
        assert!(memory.word(56).is_ok());
        assert!(memory.word(57).is_err());
        assert!(memory.word(60).is_err());
        assert!(memory.words(48, 1).is_ok());
        assert!(memory.words(48, 2).is_err());
        assert!(memory.words(4, 1).is_err());
        assert!(memory.words(0, usize::MAX).is_err());
        memory.prefetch(usize::MAX);
    }

    #[test]
    fn no_memory_is_an_error() {
        assert!(DmaMemory::new(0).is_err());
    }

    #[test]
    fn falls_back_to_normal_pages() {
        let small = DmaMemory::new(HUGE_PAGE_BYTES - 1).unwrap();
        assert_eq!((small.bytes(), small.page_bytes()), (HUGE_PAGE_BYTES - 1, page_size()));
        let large = DmaMemory::new(HUGE_PAGE_BYTES + 1).unwrap();
        let whole = if large.page_bytes() == HUGE_PAGE_BYTES {
            2 * HUGE_PAGE_BYTES
        } else {
            HUGE_PAGE_BYTES + 1
        };
        assert_eq!(large.bytes(), whole);
        // More than any machine has reserved: the file is made, the map is refused.
        let refused = create(1 << 50, MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB, HUGE_PAGE_BYTES);
        assert!(refused.is_err());
        for memory in [small, large, DmaMemory::on_normal_pages(HUGE_PAGE_BYTES).unwrap()] {
            let end = memory.bytes() - 3;
            memory.write(end, b"end").unwrap();
            let mut back = [0; 3];
            memory.read(end, &mut back).unwrap();
            assert_eq!(&back, b"end");
        }
    }
}
