//! What stands behind the AXI pins: memory that does as it is told, or refuses.

use std::collections::BTreeMap;

/// An access that the memory refused: what AXI calls an error response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Host memory as a device reaches it.
///
/// Refused or done: an access that is refused changes nothing.
pub trait HostMemory {
    /// Reads.
    ///
    /// # Errors
    /// If any byte may not be reached.
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Refused>;

    /// Writes data.
    ///
    /// # Errors
    /// If any byte may not be reached.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Refused>;

    /// Writes a completion: its last word hands it, and all that was written before, to the host.
    ///
    /// # Errors
    /// If any byte may not be reached.
    fn publish(&mut self, address: u64, record: &[u8; 32]) -> Result<(), Refused>;
}

/// Plain memory in ranges, for tests of blocks.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    ranges: BTreeMap<u64, Vec<u8>>,
    /// Addresses of the completions published, in order.
    pub published: Vec<u64>,
}

impl Ranges {
    /// Adds a range of zeroes; one that begins at the same address is replaced.
    pub fn add(&mut self, address: u64, bytes: usize) {
        self.ranges.insert(address, vec![0; bytes]);
    }

    /// The bytes from `address` on.
    pub fn at(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], Refused> {
        let (start, range) = self.ranges.range_mut(..=address).next_back().ok_or(Refused)?;
        let offset = usize::try_from(address - start).map_err(|_| Refused)?;
        let end = offset.checked_add(bytes).ok_or(Refused)?;
        range.get_mut(offset..end).ok_or(Refused)
    }
}

impl HostMemory for Ranges {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Refused> {
        into.copy_from_slice(self.at(address, into.len())?);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Refused> {
        self.at(address, from.len())?.copy_from_slice(from);
        Ok(())
    }

    fn publish(&mut self, address: u64, record: &[u8; 32]) -> Result<(), Refused> {
        self.write(address, record)?;
        self.published.push(address);
        Ok(())
    }
}
