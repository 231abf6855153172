//! Records: what the two programs and the oracle exchange through maps, by byte position.
//!
//!   Metadata   oracle ─► egress: hash, tag, verified
//!   Counters   ingress ─► oracle: deliveries and their segments so far
//!   Record     ingress ─► oracle: three fields, copies of the socket buffer and its shared info
//!
//! Invariant: parts of a record do not overlap (`records_have_room_for_everything`).

use crate::layout::Layout;

/// What a frame is given on its way out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Receive hash.
    pub hash: u32,
    /// Stripped tag: TPID and TCI.
    pub tag: Option<(u16, u16)>,
    /// Verified by the receiver.
    pub verified: bool,
}

impl Metadata {
    /// Bytes in the map.
    pub const BYTES: usize = 20;
    /// Position of the hash.
    pub const HASH: i16 = 0;
    /// Position of the TCI.
    pub const TCI: i16 = 4;
    /// Position of the mark that there is a tag.
    pub const TAGGED: i16 = 8;
    /// Position of the mark that it is verified.
    pub const VERIFIED: i16 = 12;
    /// Position of the TPID, in network order.
    pub const TPID: i16 = 16;

    /// As the program reads it.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let (tpid, tci) = self.tag.unwrap_or_default();
        let words = [
            self.hash,
            tci.into(),
            self.tag.is_some().into(),
            self.verified.into(),
            tpid.to_be().into(),
        ];
        let mut bytes = [0; Self::BYTES];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

/// Deliveries of a burst so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Deliveries.
    pub deliveries: usize,
    /// Frames in them, as the kernel counts segments.
    pub segments: usize,
}

impl Counters {
    /// Bytes in the map.
    pub const BYTES: usize = 8;
    /// Position of the deliveries.
    pub const DELIVERIES: i16 = 0;
    /// Position of the segments.
    pub const SEGMENTS: i16 = 4;

    /// As the program wrote it.
    pub fn read(bytes: &[u8]) -> Self {
        Self {
            deliveries: word(bytes, Self::DELIVERIES as usize) as usize,
            segments: word(bytes, Self::SEGMENTS as usize) as usize,
        }
    }
}

/// Where the parts of a record are, on this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Position of the copied socket buffer.
    pub buffer: i16,
    /// Position of the copied shared info.
    pub shared: i16,
    /// Bytes of it all.
    pub bytes: usize,
}

impl Record {
    /// Position of the length, as programs see it.
    pub const LEN: i16 = 0;
    /// Position of `gso_segs`, as programs see it.
    pub const GSO_SEGS: i16 = 4;
    /// Position of `gso_size`, as programs see it.
    pub const GSO_SIZE: i16 = 8;
    /// Bytes before the copies.
    const HEAD_BYTES: usize = 16;

    /// The record for a kernel's layout.
    pub fn of(layout: &Layout) -> Self {
        let shared = Self::HEAD_BYTES + layout.buffer_bytes.next_multiple_of(8);
        let bytes = shared + layout.shared_bytes.next_multiple_of(8);
        Self { buffer: Self::HEAD_BYTES as i16, shared: shared as i16, bytes }
    }
}

/// A word of a map's value; 0 behind its end.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..at + 4) {
        Some(word) => u32::from_ne_bytes([word[0], word[1], word[2], word[3]]),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_room_for_everything() {
        let layout = Layout::example();
        let record = Record::of(&layout);
        assert!(Record::GSO_SIZE as usize + 4 <= record.buffer as usize);
        assert!(record.buffer as usize + layout.buffer_bytes <= record.shared as usize);
        assert!(record.shared as usize + layout.shared_bytes <= record.bytes);
        assert!(record.bytes.is_multiple_of(8));
    }

    #[test]
    fn metadata_is_where_the_program_reads_it() {
        let given = Metadata { hash: 0x0102_0304, tag: Some((0x8100, 5)), verified: true };
        let bytes = given.bytes();
        assert_eq!(word(&bytes, Metadata::HASH as usize), 0x0102_0304);
        assert_eq!(word(&bytes, Metadata::TCI as usize), 5);
        assert_eq!(word(&bytes, Metadata::TAGGED as usize), 1);
        assert_eq!(word(&bytes, Metadata::VERIFIED as usize), 1);
        assert_eq!(bytes[Metadata::TPID as usize..][..2], [0x81, 0x00]);
        assert_eq!(Metadata::default().bytes(), [0; Metadata::BYTES]);
    }
}
