//! What the device can reach: the ranges that were mapped for it, as an IOMMU has them.
//!
//! Invariants: an access that is not wholly inside one mapping changes nothing and is refused
//! (`refuses_what_was_not_mapped`); so is every access behind an unmap
//! (`nothing_is_reached_behind_an_unmap`).

use std::collections::BTreeMap;
use std::sync::Arc;

use groove_driver::{DmaMemory, Error};

/// An access that the translation refused: what AXI calls DECERR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Mappings by where they start.
#[derive(Debug, Default)]
pub struct Translation {
    mappings: BTreeMap<u64, Arc<DmaMemory>>,
}

impl Translation {
    /// Adds a mapping.
    pub fn map(&mut self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        let bytes = memory.bytes() as u64;
        let end = iova.checked_add(bytes).ok_or(Error::Mapping { iova, bytes })?;
        let before = self.mappings.range(..=iova).next_back();
        let overlaps = before.is_some_and(|(at, m)| at + m.bytes() as u64 > iova)
            || self.mappings.range(iova..).next().is_some_and(|(at, _)| end > *at);
        if overlaps {
            return Err(Error::Mapping { iova, bytes });
        }
        self.mappings.insert(iova, memory);
        Ok(())
    }

    /// Takes a mapping away.
    pub fn unmap(&mut self, iova: u64, bytes: u64) -> Result<(), Error> {
        match self.mappings.get(&iova) {
            Some(memory) if memory.bytes() as u64 == bytes => {
                self.mappings.remove(&iova);
                Ok(())
            }
            _ => Err(Error::Mapping { iova, bytes }),
        }
    }

    fn find(&self, iova: u64) -> Result<(&DmaMemory, usize), Refused> {
        let (at, memory) = self.mappings.range(..=iova).next_back().ok_or(Refused)?;
        Ok((memory, usize::try_from(iova - at).map_err(|_| Refused)?))
    }

    /// Reads what the host wrote.
    pub fn read(&self, iova: u64, into: &mut [u8]) -> Result<(), Refused> {
        let (memory, offset) = self.find(iova)?;
        memory.read(offset, into).map_err(|_| Refused)
    }

    /// Writes data.
    pub fn write(&self, iova: u64, from: &[u8]) -> Result<(), Refused> {
        let (memory, offset) = self.find(iova)?;
        memory.write(offset, from).map_err(|_| Refused)
    }

    /// Writes a record whose last word hands it, and all that was written before, to the host.
    pub fn publish(&self, iova: u64, record: &[u8; 32]) -> Result<(), Refused> {
        let (memory, offset) = self.find(iova)?;
        // The last word is stored with release order.
        memory.write(offset, record).map_err(|_| Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Arc<DmaMemory> {
        Arc::new(DmaMemory::new(4096).unwrap())
    }

    #[test]
    fn refuses_what_was_not_mapped() {
        let mut translation = Translation::default();
        let memory = page();
        translation.map(0x1000, Arc::clone(&memory)).unwrap();
        assert_eq!(translation.write(0x1ffe, &[1, 2]), Ok(()));
        for iova in [0, 0xffe, 0xfff, 0x1fff, 0x2000, u64::MAX] {
            assert_eq!(translation.write(iova, &[1, 2]), Err(Refused), "{iova:#x}");
            assert_eq!(translation.read(iova, &mut [0; 2]), Err(Refused), "{iova:#x}");
            assert_eq!(translation.publish(iova, &[9; 32]), Err(Refused), "{iova:#x}");
        }
        let mut all = [0; 4096];
        memory.read(0, &mut all).unwrap();
        assert_eq!((all[4094], all[4095], all.iter().filter(|b| **b != 0).count()), (1, 2, 2));
    }

    #[test]
    fn nothing_is_reached_behind_an_unmap() {
        let mut translation = Translation::default();
        translation.map(0x1000, page()).unwrap();
        assert!(translation.unmap(0x1000, 2048).is_err());
        assert!(translation.unmap(0x1800, 2048).is_err());
        translation.unmap(0x1000, 4096).unwrap();
        assert_eq!(translation.write(0x1000, &[1]), Err(Refused));
    }

    #[test]
    fn mappings_do_not_overlap() {
        let mut translation = Translation::default();
        translation.map(0x2000, page()).unwrap();
        for iova in [0x1001, 0x2000, 0x2fff, u64::MAX - 4095, u64::MAX] {
            assert!(translation.map(iova, page()).is_err(), "{iova:#x}");
        }
        translation.map(0x3000, page()).unwrap();
        translation.map(0x1000, page()).unwrap();
    }
}
