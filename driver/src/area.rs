//! Where everything of a queue lies in its DMA memory.
//!
//!   free ring · completion ring · header slots · buffers
//!
//! Each begins on a page, with an empty page between: a write that runs over hits nothing of use.
//! Invariant: no two parts overlap, and all lie inside (`parts_do_not_overlap`).

use groove_spec::nic::{COMPLETION_BYTES, DESCRIPTOR_BYTES, HEADER_SLOT_BYTES};

const PAGE_BYTES: usize = 4096;

/// Offsets of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Descriptors.
    pub free: usize,
    /// Completions.
    pub completions: usize,
    /// Header slots.
    pub headers: usize,
    /// Buffers.
    pub buffers: usize,
    /// Bytes of a buffer.
    pub buffer_bytes: usize,
    /// Entries of each ring.
    pub entries: usize,
    /// All of it.
    pub bytes: usize,
}

impl Area {
    /// Lays out `pool` buffers and two rings of `entries`.
    pub fn new(entries: usize, pool: usize, buffer_bytes: usize) -> Self {
        let mut end = 0;
        let mut part = |bytes: usize| {
            let start = end;
            end += bytes.next_multiple_of(PAGE_BYTES) + PAGE_BYTES;
            start
        };
        let free = part(entries * DESCRIPTOR_BYTES);
        let completions = part(entries * COMPLETION_BYTES);
        let headers = part(pool * HEADER_SLOT_BYTES);
        let buffers = part(pool * buffer_bytes);
        Self { free, completions, headers, buffers, buffer_bytes, entries, bytes: end }
    }

    /// Generation that the completion of an index has.
    pub fn generation(&self, index: u16) -> bool {
        // The entries are a power of two: this bit of the index changes with each pass.
        usize::from(index) & self.entries == 0
    }

    /// Header slot of a buffer.
    pub fn header(&self, id: u16) -> usize {
        self.headers + usize::from(id) * HEADER_SLOT_BYTES
    }

    /// A buffer.
    pub fn buffer(&self, id: u16) -> usize {
        self.buffers + usize::from(id) * self.buffer_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        let area = Area::new(16, 12, 2048);
        let last = 11;
        assert!(area.free + 16 * DESCRIPTOR_BYTES <= area.completions);
        assert!(area.completions + 16 * COMPLETION_BYTES <= area.headers);
        assert!(area.header(last) + HEADER_SLOT_BYTES <= area.buffers);
        assert!(area.buffer(last) + 2048 <= area.bytes);
        for part in [area.free, area.completions, area.headers, area.buffers, area.bytes] {
            assert_eq!(part % PAGE_BYTES, 0);
        }
    }

    #[test]
    fn generations_take_turns() {
        let area = Area::new(16, 12, 2048);
        let passes = [0, 15, 16, 31, 32, 65535].map(|index| area.generation(index));
        assert_eq!(passes, [true, true, false, false, true, false]);
    }
}
