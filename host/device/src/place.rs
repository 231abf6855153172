//! Where the bytes of a delivery lie.
//!
//!   delivery of 256 bytes or less   ──► header slot
//!   else, split                     ──► header: header slot; payload: buffers
//!   else                            ──► header and payload: buffers
//!
//! Follows: architecture "Rings", "Completions".
//!
//! Decisions, the same in hardware:
//! - A delivery of 256 bytes or less lies wholly in the header slot of its one buffer, `split`
//!   clear.
//! - Otherwise with split: the header lies in the slot of the first buffer, the payload back to
//!   back in the buffers. Without: header and payload back to back in the buffers.
//! - The next buffer is taken when there is a byte for it, never before.
//! - Metadata stands in the first completion of a delivery; it is zero in the others.
//! - A prefetched buffer that a disabled queue returns is a completion of 0 bytes, first and last.
//! - Hardware writes the payload of a held session as it comes; what it leaves in buffers or slots
//!   beside the delivery means nothing.
//!
//! Invariants: a slot holds 256 bytes (`a_small_delivery_lies_in_its_slot`); no buffer is empty but
//! the first (`a_buffer_is_begun_for_a_byte`). Not here: completions (`complete`), rings (`queue`).

use groove_spec::nic::HEADER_SLOT_BYTES;

/// How a delivery is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Bytes in the header slot; the others lie in the buffers.
    pub in_slot: usize,
    /// The slot holds the header and nothing else.
    pub split: bool,
}

/// Divides a delivery of `total` bytes on a queue with or without `split`.
pub fn parts(split: bool, total: usize, hdr_len: usize) -> Parts {
    let split = split && total > HEADER_SLOT_BYTES;
    let in_slot = match total {
        0..=HEADER_SLOT_BYTES => total,
        _ if split => hdr_len,
        _ => 0,
    };
    Parts { in_slot, split }
}

/// Buffers that hold a delivery, or what there is of it: one at least.
pub fn buffers(split: bool, total: usize, hdr_len: usize, buffer_bytes: usize) -> usize {
    let bytes = if split { total - hdr_len } else { total };
    bytes.div_ceil(buffer_bytes).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_delivery_lies_in_its_slot() {
        for split in [false, true] {
            assert_eq!(parts(split, 256, 54), Parts { in_slot: 256, split: false });
        }
        assert_eq!(parts(true, 257, 54), Parts { in_slot: 54, split: true });
        assert_eq!(parts(false, 257, 54), Parts { in_slot: 0, split: false });
    }

    #[test]
    fn a_buffer_is_begun_for_a_byte() {
        let split = |total| buffers(true, total, 54, 2048);
        assert_eq!([split(54), split(54 + 2048), split(54 + 2049)], [1, 1, 2]);
        let whole = |total| buffers(false, total, 54, 2048);
        assert_eq!([whole(2048), whole(2049), whole(4096), whole(4097)], [1, 2, 2, 3]);
    }
}
