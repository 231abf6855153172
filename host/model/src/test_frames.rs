//! Frames for the model's own tests: plain TCP segments whose bytes a test then changes.

use crate::bytes::{fold, put_u16, sum};

/// Position of the IPv4 header without tags.
pub const IP: usize = 14;
/// Position of the TCP header over IPv4 without tags and options.
pub const TCP4: usize = 34;
/// Position of the TCP header over IPv6 without tags and extension headers.
pub const TCP6: usize = 54;

/// Segment `number` of one IPv4 flow of equal segments; sums are right.
pub fn tcp4(number: usize, payload_bytes: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
    frame.extend([0x45, 0, 0, 0, 0, number as u8, 0x40, 0, 64, 6, 0, 0]);
    frame.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    finish(frame, number, payload_bytes)
}

/// Segment `number` of one IPv6 flow of equal segments; sums are right.
pub fn tcp6(number: usize, payload_bytes: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
    frame.extend([0x60, 1, 0x23, 0x45, 0, 0, 6, 64]);
    for last in [1, 2] {
        frame.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    finish(frame, number, payload_bytes)
}

fn finish(mut frame: Vec<u8>, number: usize, payload_bytes: usize) -> Vec<u8> {
    let seq = 1000 + (number * payload_bytes) as u32;
    frame.extend([0x05, 0xdc, 0x1f, 0x40]);
    frame.extend(seq.to_be_bytes());
    frame.extend([0, 0, 0, 100, 0x50, 0x10, 0x01, 0xf4, 0, 0, 0, 0]);
    frame.extend((0..payload_bytes).map(|i| (i * 7 + number * 13 + 1) as u8));
    set_length(&mut frame);
    fix(&mut frame);
    frame
}

/// Makes the IP length that of the frame.
pub fn set_length(frame: &mut [u8]) {
    let at = ip(frame);
    let rest = frame.len() - at;
    if frame[at] >> 4 == 4 {
        put_u16(frame, at + 2, rest as u16);
    } else {
        put_u16(frame, at + 4, (rest - 40) as u16);
    }
}

/// Makes the sums right: of the IPv4 header, and of TCP or UDP behind it (extension headers: none).
pub fn fix(frame: &mut [u8]) {
    let at = ip(frame);
    let (l4, end, addresses, protocol) = if frame[at] >> 4 == 4 {
        let l4 = at + usize::from(frame[at] & 15) * 4;
        put_u16(frame, at + 10, 0);
        let checksum = !fold(sum(&frame[at..l4]));
        put_u16(frame, at + 10, checksum);
        let total = usize::from(u16::from_be_bytes([frame[at + 2], frame[at + 3]]));
        (l4, at + total, sum(&frame[at + 12..at + 20]), frame[at + 9])
    } else {
        let rest = usize::from(u16::from_be_bytes([frame[at + 4], frame[at + 5]]));
        (at + 40, at + 40 + rest, sum(&frame[at + 8..at + 40]), frame[at + 6])
    };
    let field = l4 + if protocol == 17 { 6 } else { 16 };
    let end = end.min(frame.len());
    if field + 2 > end {
        return;
    }
    put_u16(frame, field, 0);
    let pseudo = addresses + u64::from(protocol) + (end - l4) as u64;
    let checksum = !fold(pseudo + sum(&frame[l4..end]));
    put_u16(frame, field, checksum);
}

/// Position of the IP header.
fn ip(frame: &[u8]) -> usize {
    let mut at = 14;
    while matches!(frame[at - 2..at], [0x81, 0] | [0x88, 0xa8]) {
        at += 4;
    }
    at
}

/// The frame after a change, sums right again.
pub fn with(mut frame: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut frame);
    fix(&mut frame);
    frame
}

/// The frame with tags in it, outermost first.
pub fn tagged(frame: &[u8], tags: &[[u8; 4]]) -> Vec<u8> {
    [&frame[..12], &tags.concat(), &frame[12..]].concat()
}

/// TCP options (a multiple of 4) put in.
pub fn with_options(frame: Vec<u8>, l4: usize, options: &[u8]) -> Vec<u8> {
    with(frame, |f| {
        f.splice(l4 + 20..l4 + 20, options.iter().copied());
        f[l4 + 12] = (((20 + options.len()) / 4) << 4) as u8;
        set_length(f);
    })
}
