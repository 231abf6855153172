//! Order of accesses to the two rings: what makes a record of the other side whole when it is seen.
//!
//!   host:   descriptor words ──► release ──► doorbell         device: doorbell ──► descriptor
//!   device: data, record words ──► last word (generation)     host:   last word ──► record, data
//!
//! Follows: architecture "Rings" (generation bit, doorbell).
//! Invariants: a completion is seen whole or not at all (`a_completion_is_seen_whole`), also when
//! its ring wraps; a descriptor that a doorbell covers is whole
//! (`a_doorbell_covers_its_descriptors`).
//! Not here: what the records mean (`completion`).

use crate::sync::{AtomicU64, Ordering, fence};

/// Words of a completion.
pub const COMPLETION_WORDS: usize = 4;
/// Words of a descriptor.
pub const DESCRIPTOR_WORDS: usize = 2;

/// The completion of a slot, if it is of this generation. Acquires the data that it tells of.
#[inline]
pub fn take(
    slot: &[AtomicU64; COMPLETION_WORDS],
    generation: bool,
) -> Option<[u64; COMPLETION_WORDS]> {
    let last = u64::from_le(slot[3].load(Ordering::Acquire));
    let expected = u64::from(generation) << 63;
    if (last ^ expected) >> 63 != 0 {
        return None;
    }
    let word = |i: usize| u64::from_le(slot[i].load(Ordering::Relaxed));
    Some([word(0), word(1), word(2), last])
}

/// Writes a completion, as a device does: the word with the generation last, and behind all data.
#[inline]
pub fn publish(slot: &[AtomicU64; COMPLETION_WORDS], record: [u64; COMPLETION_WORDS]) {
    for (word, value) in slot.iter().zip(record).take(COMPLETION_WORDS - 1) {
        word.store(value.to_le(), Ordering::Relaxed);
    }
    slot[3].store(record[3].to_le(), Ordering::Release);
}

/// Writes a descriptor. [`before_doorbell`] comes before the device is told.
#[inline]
pub fn post(slot: &[AtomicU64; DESCRIPTOR_WORDS], iova: u64, bytes: u32, id: u16) {
    slot[0].store(iova.to_le(), Ordering::Relaxed);
    let rest = u64::from(bytes) | u64::from(id) << 32;
    slot[1].store(rest.to_le(), Ordering::Relaxed);
}

/// Orders the descriptors, and all that was done with their buffers, before the doorbell.
#[inline]
pub fn before_doorbell() {
    fence(Ordering::Release);
}

/// The descriptor of a slot, as a device reads it behind a doorbell that it acquired.
pub fn descriptor(slot: &[AtomicU64; DESCRIPTOR_WORDS]) -> (u64, u32, u16) {
    let word = |i: usize| u64::from_le(slot[i].load(Ordering::Relaxed));
    (word(0), word(1) as u32, (word(1) >> 32) as u16)
}
