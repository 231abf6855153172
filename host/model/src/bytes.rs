//! Big-endian reads and Internet checksum arithmetic on bounded slices.
//!
//! Follows RFC 1071 §1 and §4.1; end-around carries are folded until none is left.

/// 16-bit word at `at`; `None` behind the end.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes([word[0], word[1]]))
}

/// 32-bit word at `at`; `None` behind the end.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16_at(bytes, at)?) << 16 | u32::from(u16_at(bytes, at + 2)?))
}

/// Overwrites a 16-bit word; nothing happens behind the end.
pub fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(word) = bytes.get_mut(at..at + 2) {
        word.copy_from_slice(&value.to_be_bytes());
    }
}

/// Sum of the 16-bit words; an odd last byte is the high half of a word.
pub fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |b| u64::from(*b) << 8);
    words.fold(last, |s, w| s + u64::from(u16::from_be_bytes([w[0], w[1]])))
}

/// RFC 1071 §1 (2): end-around carry, repeated: one fold can leave a carry.
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// One's complement addition (kernel `csum16_add`, 7.3).
fn add16(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

/// Kernel `csum_replace2` (7.3): the checksum after a covered word changed from `old` to `new`.
/// RFC 1624 §3 (3) step by step: 0x0000 and 0xffff come out as the kernel has them.
pub fn replace16(checksum: u16, old: u16, new: u16) -> u16 {
    !add16(add16(!checksum, !old), new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_a_second_carry() {
        // B35: one fold of 0x8fffe gives 0x10006.
        assert_eq!(fold(0x8_fffe), 0x0007);
        assert_eq!(fold(3 * 0x1_ffff), 0x0003);
        assert_eq!(fold(0xffff), 0xffff);
        assert_eq!(fold(0), 0);
    }

    #[test]
    fn sums_rfc1071_example_and_odd_tail() {
        // RFC 1071 §3: 00 01 f2 03 f4 f5 f6 f7 sums to 2ddf0, folded ddf2.
        let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(sum(&example), 0x2_ddf0);
        assert_eq!(fold(sum(&example)), 0xddf2);
        assert_eq!(sum(&[0x12, 0x34, 0x56]), 0x1234 + 0x5600);
        assert_eq!(sum(&[]), 0);
    }

    #[test]
    fn replace_equals_recomputation() {
        for (old, new) in [(0u16, 1u16), (40, 1500), (1500, 65535), (0xffff, 0), (7, 7)] {
            let rest = 0x1234u64 + 0xfedc;
            let before = !fold(rest + u64::from(old));
            assert_eq!(replace16(before, old, new), !fold(rest + u64::from(new)));
        }
    }

    #[test]
    fn reads_end_at_the_end() {
        assert_eq!(u16_at(&[1, 2], 0), Some(0x0102));
        assert_eq!(u16_at(&[1, 2], 1), None);
        assert_eq!(u32_at(&[1, 2, 3, 4], 0), Some(0x0102_0304));
        assert_eq!(u32_at(&[1, 2, 3], 0), None);
        assert_eq!(u16_at(&[1, 2], usize::MAX), None);
    }
}
