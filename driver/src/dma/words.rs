//! Copies between bytes and shared words.
//!
//! Every access is to a whole aligned 64-bit word, atomically: a device in this process may write
//! at any time, and two accesses of different size never meet (which no memory model allows to
//! race). A relaxed load or store of such a word is one plain move, so a copy runs at 8 bytes a
//! move, aligned or not.
//!
//! Invariants: bytes beside those written are as they were (`neighbours_are_untouched`); what was
//! stored at any offset and length is what is loaded (`every_offset_and_length_comes_back`).

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a word.
pub const WORD_BYTES: usize = 8;

#[inline]
fn load_word(word: &AtomicU64) -> u64 {
    u64::from_le(word.load(Ordering::Relaxed))
}

/// Copies out of `words`, from byte `shift` (0 to 7) of the first on. There are as many words as
/// the bytes touch.
#[inline]
pub fn load(words: &[AtomicU64], shift: usize, into: &mut [u8]) {
    let (chunks, tail) = into.as_chunks_mut::<WORD_BYTES>();
    if shift == 0 {
        for (chunk, word) in chunks.iter_mut().zip(words) {
            *chunk = load_word(word).to_le_bytes();
        }
        if let Some(word) = words.get(chunks.len()) {
            part_of_word(load_word(word), tail);
        }
        return;
    }
    let Some((first, rest)) = words.split_first() else { return };
    let (down, up) = (8 * shift as u32, 64 - 8 * shift as u32);
    let mut low = load_word(first);
    let mut rest = rest.iter();
    for (chunk, word) in chunks.iter_mut().zip(&mut rest) {
        let high = load_word(word);
        *chunk = (low >> down | high << up).to_le_bytes();
        low = high;
    }
    // The last bytes may need one more word, and then there is one.
    let high = rest.next().map_or(0, load_word);
    part_of_word(low >> down | high << up, tail);
}

/// The first bytes of a word, fewer than all. In three steps at most: a call to copy so few costs
/// as much as all words before it.
#[inline]
fn part_of_word(word: u64, into: &mut [u8]) {
    let (mut bytes, mut at) = (word, 0);
    for step in [4, 2, 1] {
        if into.len() & step != 0
            && let Some(part) = into.get_mut(at..at + step)
        {
            part.copy_from_slice(&bytes.to_le_bytes()[..step]);
            bytes >>= 8 * step;
            at += step;
        }
    }
}

/// Replaces bytes `at` to `at + from.len()` of a word.
fn merge(word: &AtomicU64, at: usize, from: &[u8], order: Ordering) {
    let mut bytes = [0; WORD_BYTES];
    let mut keep = [0xff; WORD_BYTES];
    bytes[at..at + from.len()].copy_from_slice(from);
    keep[at..at + from.len()].fill(0);
    let (bytes, keep) = (u64::from_ne_bytes(bytes), u64::from_ne_bytes(keep));
    let mut old = word.load(Ordering::Relaxed);
    while let Err(other) =
        word.compare_exchange_weak(old, old & keep | bytes, order, Ordering::Relaxed)
    {
        old = other;
    }
}

/// Copies into `words`, from byte `shift` (0 to 7) of the first on. There are as many words as the
/// bytes touch. The last store releases all that this thread wrote before.
pub fn store(words: &[AtomicU64], shift: usize, from: &[u8]) {
    let head = if shift == 0 { 0 } else { (WORD_BYTES - shift).min(from.len()) };
    let (head, body) = from.split_at(head);
    let (chunks, tail) = body.as_chunks::<WORD_BYTES>();
    let order = |is_last| if is_last { Ordering::Release } else { Ordering::Relaxed };
    let mut words = words.iter();
    if !head.is_empty()
        && let Some(word) = words.next()
    {
        merge(word, shift, head, order(body.is_empty()));
    }
    let last = if tail.is_empty() { chunks.len().wrapping_sub(1) } else { usize::MAX };
    for (i, (chunk, word)) in chunks.iter().zip(&mut words).enumerate() {
        word.store(u64::from_ne_bytes(*chunk), order(i == last));
    }
    if !tail.is_empty()
        && let Some(word) = words.next()
    {
        merge(word, 0, tail, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(words: &[AtomicU64], offset: usize, bytes: usize) -> &[AtomicU64] {
        &words[offset / WORD_BYTES..(offset + bytes).div_ceil(WORD_BYTES)]
    }

    #[test]
    fn every_offset_and_length_comes_back() {
        let pattern: Vec<u8> = (1..=64).collect();
        for offset in 0..24 {
            for bytes in 0..=40 {
                let words: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
                store(touched(&words, offset, bytes), offset % 8, &pattern[..bytes]);
                let mut back = vec![0; bytes];
                load(touched(&words, offset, bytes), offset % 8, &mut back);
                assert_eq!(back, pattern[..bytes], "{bytes} bytes at {offset}");
                let mut all = [0; 64];
                load(&words, 0, &mut all);
                assert_eq!(all[offset..offset + bytes], pattern[..bytes]);
            }
        }
    }

    #[test]
    fn neighbours_are_untouched() {
        for offset in 0..17 {
            for bytes in 0..=20 {
                let words: Vec<AtomicU64> = (0..6).map(|_| AtomicU64::new(u64::MAX)).collect();
                store(touched(&words, offset, bytes), offset % 8, &vec![0; bytes]);
                let mut all = [0; 48];
                load(&words, 0, &mut all);
                let zero: Vec<usize> = (0..48).filter(|i| all[*i] == 0).collect();
                assert_eq!(zero, (offset..offset + bytes).collect::<Vec<_>>());
            }
        }
    }
}
