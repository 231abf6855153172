//! Memory that another process made: what a vfio-user server gets with a mapping.
//!
//! Invariants: a file that its owner could shorten is refused, as an access behind its end would
//! end this process (`what_could_shrink_is_refused`); so is a part that the file does not have
//! (`parts_outside_the_file_are_refused`).

use std::fs::File;
use std::io;
use std::sync::Arc;

use memmap2::MmapOptions;
use rustix::fs::{SealFlags, fcntl_get_seals};
use rustix::param::page_size;

use super::DmaMemory;

impl DmaMemory {
    /// A part of somebody else's memory file, which must be sealed against being shortened.
    /// `offset` is a multiple of the page size.
    pub fn of_file(file: Arc<File>, offset: u64, bytes: usize) -> io::Result<Self> {
        let invalid = |what| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        let sealed = fcntl_get_seals(&*file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        if !sealed {
            return invalid("the memory is no memory file that is sealed against shrinking");
        }
        let end = offset.checked_add(bytes as u64);
        if bytes == 0 || end.is_none_or(|end| end > file.metadata().map_or(0, |m| m.len())) {
            return invalid("the part is empty, or not wholly inside its file");
        }
        if !offset.is_multiple_of(page_size() as u64) {
            return invalid("the part does not start with a page");
        }
        let map = MmapOptions::new().offset(offset).len(bytes).map_raw(&*file)?;
        Ok(Self::assemble(file, offset, map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};

    fn same_file(memory: &DmaMemory) -> Arc<File> {
        Arc::new(File::from(memory.file().try_clone_to_owned().unwrap()))
    }

    #[test]
    fn a_part_is_the_same_memory() {
        let whole = DmaMemory::new(3 * 4096).unwrap();
        let part = DmaMemory::of_file(same_file(&whole), 4096, 4096).unwrap();
        assert_eq!((part.bytes(), part.file_offset()), (4096, 4096));
        whole.write(4096 + 8, b"groove").unwrap();
        let mut back = [0; 6];
        part.read(8, &mut back).unwrap();
        assert_eq!(&back, b"groove");
        assert!(part.read(4096, &mut back).is_err());
    }

    #[test]
    fn parts_outside_the_file_are_refused() {
        let whole = DmaMemory::new(2 * 4096).unwrap();
        let part = |offset, bytes| DmaMemory::of_file(same_file(&whole), offset, bytes);
        assert!(part(0, 2 * 4096).is_ok());
        for (offset, bytes) in
            [(0, 0), (0, 2 * 4096 + 1), (4096, 4097), (8, 8), (u64::MAX - 4095, 4096)]
        {
            assert!(part(offset, bytes).is_err(), "{offset:#x} {bytes:#x}");
        }
    }

    #[test]
    fn what_could_shrink_is_refused() {
        let file = File::from(memfd_create("plain", MemfdFlags::CLOEXEC).unwrap());
        file.set_len(4096).unwrap();
        assert!(DmaMemory::of_file(Arc::new(file), 0, 4096).is_err());
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        assert!(DmaMemory::of_file(Arc::new(file), 0, 4096).is_err());
        let ours = DmaMemory::new(4096).unwrap();
        assert!(same_file(&ours).set_len(0).is_err(), "ours is sealed");
    }
}
