//! What the client lets the device reach.
//!
//! Invariants: ranges never overlap, and none wraps (`ranges_do_not_overlap`); an unmap takes whole
//! mappings, all inside its range, or nothing (`an_unmap_takes_whole_mappings`); a memory file is
//! let go with its last mapping (`files_are_let_go`); what is counted is what is mapped
//! (`stays_are_counted`).
//! Not here: reaching it, which the device does.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use groove_driver::DmaMemory;
use rustix::io::Errno;

/// Most mappings: each costs an area of this process's address space, of which the kernel gives
/// 65,530.
pub const MAPPINGS_MAX: usize = 16_384;

/// Device and inode of a file.
type Key = (u64, u64);

#[derive(Debug)]
struct Mapping {
    bytes: u64,
    file: Option<Key>,
    /// Nothing, if the device cannot reach it: memory without a file, or read-only.
    memory: Option<Arc<DmaMemory>>,
}

/// Most stays that are kept apart; the last one counts on for those behind it.
const STAYS_MAX: usize = 1024;

/// What was mapped from the first mapping until nothing was mapped any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stay {
    /// Mappings that were made: one message each.
    pub maps: u64,
    /// Messages that took any away.
    pub unmaps: u64,
    /// Most bytes mapped at a time.
    pub bytes_most: u64,
    /// Bytes mapped now: 0 when it has ended.
    pub bytes: u64,
}

/// Mappings by where they start.
#[derive(Debug, Default)]
pub struct Mappings {
    stays: Vec<Stay>,
    ranges: BTreeMap<u64, Mapping>,
    /// Each file is kept open once, with the number of mappings of it.
    files: HashMap<Key, (Arc<File>, usize)>,
}

/// A mapping that the device is to know of, or to forget.
pub type Range = (u64, Arc<DmaMemory>);

impl Mappings {
    /// Adds a range. Gives what the device can reach of it.
    pub fn map(
        &mut self,
        iova: u64,
        bytes: u64,
        file: Option<(OwnedFd, u64)>,
        writable: bool,
    ) -> Result<Option<Range>, Errno> {
        let end = iova.checked_add(bytes).filter(|_| bytes > 0).ok_or(Errno::INVAL)?;
        let before = self.ranges.range(..end).next_back();
        if before.is_some_and(|(at, mapping)| at + mapping.bytes > iova) {
            return Err(Errno::EXIST);
        }
        if self.ranges.len() >= MAPPINGS_MAX {
            return Err(Errno::NOSPC);
        }
        let mut mapping = Mapping { bytes, file: None, memory: None };
        if let Some((file, offset)) = file.filter(|_| writable) {
            let (key, file) = self.known(file)?;
            let length = usize::try_from(bytes).map_err(|_| Errno::INVAL)?;
            let memory = DmaMemory::of_file(Arc::clone(&file), offset, length);
            mapping.memory = Some(Arc::new(memory.map_err(|_| Errno::INVAL)?));
            mapping.file = Some(key);
            self.files.entry(key).or_insert((file, 0)).1 += 1;
        }
        let range = mapping.memory.clone().map(|memory| (iova, memory));
        if self.ranges.is_empty() && self.stays.len() < STAYS_MAX {
            self.stays.push(Stay::default());
        }
        if let Some(stay) = self.stays.last_mut() {
            stay.maps += 1;
            stay.bytes += bytes;
            stay.bytes_most = stay.bytes_most.max(stay.bytes);
        }
        self.ranges.insert(iova, mapping);
        Ok(range)
    }

    fn known(&self, file: OwnedFd) -> Result<(Key, Arc<File>), Errno> {
        let file = File::from(file);
        let metadata = file.metadata().map_err(|_| Errno::INVAL)?;
        let key = (metadata.dev(), metadata.ino());
        let known = self.files.get(&key).map(|(file, _)| Arc::clone(file));
        Ok((key, known.unwrap_or_else(|| Arc::new(file))))
    }

    /// Takes every mapping inside a range away. Gives what the device has to forget, and the bytes
    /// that are gone.
    pub fn unmap(&mut self, iova: u64, bytes: u64) -> Result<(Vec<Range>, u64), Errno> {
        // A range may end where addresses do; no mapping does.
        let last = iova.checked_add(bytes.saturating_sub(1)).ok_or(Errno::INVAL)?;
        let end = last.saturating_add(u64::from(bytes > 0));
        let cut = |(at, mapping): (&u64, &Mapping)| *at < iova || at + mapping.bytes > end;
        let before = self.ranges.range(..iova).next_back();
        if before.is_some_and(|(at, mapping)| at + mapping.bytes > iova)
            || self.ranges.range(iova..end).any(cut)
        {
            return Err(Errno::INVAL);
        }
        let inside: Vec<u64> = self.ranges.range(iova..end).map(|(at, _)| *at).collect();
        let mut gone = Vec::new();
        let mut total = 0;
        for at in inside {
            let Some(mapping) = self.ranges.remove(&at) else { continue };
            total += mapping.bytes;
            gone.extend(self.release(mapping).map(|memory| (at, memory)));
        }
        self.took(total);
        Ok((gone, total))
    }

    fn took(&mut self, bytes: u64) {
        if let Some(stay) = self.stays.last_mut().filter(|_| bytes > 0) {
            stay.unmaps += 1;
            stay.bytes -= bytes;
        }
    }

    /// Every stay so far, the first ones first.
    pub fn stays(&self) -> &[Stay] {
        &self.stays
    }

    fn release(&mut self, mapping: Mapping) -> Option<Arc<DmaMemory>> {
        if let Some(key) = mapping.file
            && let Some((_, count)) = self.files.get_mut(&key)
        {
            *count -= 1;
            if *count == 0 {
                self.files.remove(&key);
            }
        }
        mapping.memory
    }

    /// Takes all away.
    pub fn clear(&mut self) -> Vec<Range> {
        let ranges = std::mem::take(&mut self.ranges);
        self.took(ranges.values().map(|mapping| mapping.bytes).sum());
        let all = ranges.into_iter();
        all.filter_map(|(at, mapping)| Some((at, self.release(mapping)?))).collect()
    }

    /// All that the device can reach.
    pub fn reachable(&self) -> impl Iterator<Item = Range> {
        self.ranges
            .iter()
            .filter_map(|(at, mapping)| Some((*at, Arc::clone(mapping.memory.as_ref()?))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(memory: &DmaMemory) -> Option<(OwnedFd, u64)> {
        Some((memory.file().try_clone_to_owned().unwrap(), 0))
    }

    #[test]
    fn ranges_do_not_overlap() {
        let memory = DmaMemory::new(8192).unwrap();
        let mut mappings = Mappings::default();
        let mut map = |iova, bytes| mappings.map(iova, bytes, file(&memory), true).map(|_| ());
        assert_eq!(map(0x2000, 8192), Ok(()));
        for iova in [0x1001, 0x2000, 0x3fff] {
            assert_eq!(map(iova, 4096), Err(Errno::EXIST), "{iova:#x}");
        }
        assert_eq!(map(0, u64::MAX), Err(Errno::EXIST));
        assert_eq!(map(u64::MAX - 4095, 4096), Err(Errno::INVAL));
        assert_eq!(map(0x8000, 0), Err(Errno::INVAL));
        assert_eq!(map(0x8000, 8193), Err(Errno::INVAL), "more than the file has");
        assert_eq!(map(0x4000, 4096), Ok(()));
        assert_eq!(map(0x1000, 4096), Ok(()));
        assert_eq!(mappings.reachable().count(), 3);
    }

    #[test]
    fn an_unmap_takes_whole_mappings() {
        let memory = DmaMemory::new(8192).unwrap();
        let mut mappings = Mappings::default();
        for iova in [0x1000, 0x2000, 0x8000] {
            mappings.map(iova, 4096, file(&memory), true).unwrap();
        }
        for (iova, bytes) in [(0x1800, 0x1000), (0x1000, 0x1800), (0x1800, 8), (2, u64::MAX)] {
            assert_eq!(mappings.unmap(iova, bytes).unwrap_err(), Errno::INVAL, "{iova:#x}");
        }
        assert_eq!(mappings.unmap(0x4000, 0x1000).unwrap().1, 0, "nothing is there");
        assert_eq!(mappings.unmap(0x4000, 0).unwrap().1, 0);
        // As QEMU does it for all that is behind the interrupts' range.
        let rest = 0u64.wrapping_sub(0xfef0_0000);
        mappings.map(1 << 40, 4096, file(&memory), true).unwrap();
        assert_eq!(mappings.unmap(0xfef0_0000, rest).unwrap().1, 4096);
        assert_eq!(mappings.unmap(0xfef0_0000, rest + 1).unwrap_err(), Errno::INVAL);
        let (gone, bytes) = mappings.unmap(0, 0x4000).unwrap();
        assert_eq!((gone.len(), bytes), (2, 8192));
        assert_eq!(mappings.reachable().count(), 1);
    }

    #[test]
    fn what_the_device_cannot_reach_takes_its_place() {
        let memory = DmaMemory::new(4096).unwrap();
        let mut mappings = Mappings::default();
        assert!(mappings.map(0, 4096, None, true).unwrap().is_none());
        assert!(mappings.map(0x1000, 4096, file(&memory), false).unwrap().is_none());
        assert_eq!(mappings.map(0, 4096, None, true).unwrap_err(), Errno::EXIST);
        assert_eq!(mappings.unmap(0, 0x2000).unwrap().1, 8192);
    }

    #[test]
    fn files_are_let_go() {
        let memory = DmaMemory::new(8192).unwrap();
        let mut mappings = Mappings::default();
        for iova in 0..100 {
            mappings.map(0x1000 * iova, 4096, file(&memory), true).unwrap();
        }
        assert_eq!(mappings.files.len(), 1);
        mappings.unmap(0, 0x1000 * 99).unwrap();
        assert_eq!(mappings.files.len(), 1);
        assert_eq!(mappings.clear().len(), 1);
        assert!(mappings.files.is_empty());
    }

    #[test]
    fn stays_are_counted() {
        let mut mappings = Mappings::default();
        let map = |at: u64, mappings: &mut Mappings| {
            mappings.map(0x1000 * at, 4096, None, true).map(drop)
        };
        for at in [0, 1, 5] {
            map(at, &mut mappings).unwrap();
        }
        map(5, &mut mappings).unwrap_err();
        mappings.unmap(0, 0x2000).unwrap();
        mappings.unmap(0, 0x2000).unwrap();
        map(0, &mut mappings).unwrap();
        assert_eq!(mappings.stays(), [Stay { maps: 4, unmaps: 1, bytes_most: 12288, bytes: 8192 }]);
        mappings.clear();
        mappings.clear();
        map(0, &mut mappings).unwrap();
        let [first, second] = mappings.stays() else { panic!("{:?}", mappings.stays()) };
        assert_eq!((first.unmaps, first.bytes), (2, 0));
        assert_eq!(second, &Stay { maps: 1, unmaps: 0, bytes_most: 4096, bytes: 4096 });
        for _ in 0..2 * STAYS_MAX {
            mappings.clear();
            map(0, &mut mappings).unwrap();
        }
        assert_eq!(mappings.stays().len(), STAYS_MAX);
        assert_eq!(
            mappings.stays().iter().map(|stay| stay.maps).sum::<u64>(),
            5 + 2 * STAYS_MAX as u64
        );
    }

    #[test]
    fn mappings_are_bounded() {
        let mut mappings = Mappings::default();
        for n in 0..MAPPINGS_MAX as u64 {
            mappings.map(0x1000 * n, 4096, None, true).unwrap();
        }
        let one_more = mappings.map(1 << 40, 4096, None, true);
        assert_eq!(one_more.unwrap_err(), Errno::NOSPC);
    }
}
