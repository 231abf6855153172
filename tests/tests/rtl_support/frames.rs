//! Random frames around the edges of what parse accepts: mostly well-formed, then broken in one
//! place.

use super::Rng;

fn sum(bytes: &[u8]) -> u64 {
    let pair = |c: &[u8]| u64::from(u16::from_be_bytes([c[0], c.get(1).copied().unwrap_or(0)]));
    bytes.chunks(2).map(pair).sum()
}

fn checksum(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

fn tcp(rng: &mut Rng, payload: usize) -> Vec<u8> {
    let doff = if rng.chance(50) { 5 } else { rng.below(16) as u8 };
    let mut segment = rng.bytes(20 + 4 * usize::from(doff.max(5) - 5) + payload);
    segment[12] = doff << 4 | rng.below(16) as u8;
    segment[13] = if rng.chance(60) { 0x10 } else { rng.next() as u8 };
    segment
}

fn udp(rng: &mut Rng, payload: usize) -> Vec<u8> {
    let mut datagram = rng.bytes(8 + payload);
    let length = (datagram.len() as u16).to_be_bytes();
    datagram[4..6].copy_from_slice(&length);
    datagram
}

/// Transport header and payload, with its protocol number and checksum.
fn transport(rng: &mut Rng, addresses: &[u8]) -> (u8, Vec<u8>) {
    let payload = if rng.chance(30) { rng.below(4) } else { rng.below(300) };
    let (protocol, mut segment, field) = match rng.below(10) {
        0..6 => (6, tcp(rng, payload), 16),
        6..8 => (17, udp(rng, payload), 6),
        _ => return (rng.pick(&[1, 2, 4, 41, 44, 47, 58, 59, 0, 43, 60]), rng.bytes(payload)),
    };
    segment[field..field + 2].fill(0);
    if protocol == 6 || rng.chance(70) {
        let pseudo = sum(addresses) + u64::from(protocol) + segment.len() as u64;
        let value = checksum(pseudo + sum(&segment));
        segment[field..field + 2].copy_from_slice(&value);
    }
    (protocol, segment)
}

fn ipv4(rng: &mut Rng) -> Vec<u8> {
    let words = if rng.chance(70) { 5 } else { 5 + rng.below(11) };
    let mut header = rng.bytes(4 * words);
    if rng.chance(10) {
        // Sums with many carries.
        header[12..].fill(0xff);
    }
    let (protocol, segment) = transport(rng, &header[12..20]);
    header[0] = 0x40 | words as u8;
    let total = (header.len() + segment.len()) as u16;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    let fragment = rng.pick(&[0x4000u16, 0x4000, 0x4000, 0, 0, 0x2000, 0x0001, 0x8000, 0xc000]);
    header[6..8].copy_from_slice(&fragment.to_be_bytes());
    header[9] = protocol;
    header[10..12].fill(0);
    let value = checksum(sum(&header));
    header[10..12].copy_from_slice(&value);
    [header, segment].concat()
}

fn ipv6(rng: &mut Rng) -> Vec<u8> {
    let mut header = rng.bytes(40);
    let (mut kind, segment) = transport(rng, &header[8..40]);
    let mut extensions = Vec::new();
    while rng.chance(25) {
        let length = if rng.chance(80) { rng.below(3) } else { rng.below(12) };
        let mut extension = rng.bytes(8 * (length + 1));
        (extension[0], extension[1]) = (kind, length as u8);
        kind = rng.pick(&[0, 43, 60, 60, 44]);
        extensions = [extension, extensions].concat();
    }
    header[0] = header[0] & 0x0f | 0x60;
    let payload = (extensions.len() + segment.len()) as u16;
    header[4..6].copy_from_slice(&payload.to_be_bytes());
    header[6] = kind;
    [header, extensions, segment].concat()
}

fn link(rng: &mut Rng, station: &[u8; 6]) -> Vec<u8> {
    let destination = match rng.below(6) {
        0..3 => station.to_vec(),
        3 => vec![0xff; 6],
        4 => [&[1, 0, 0x5e][..], &rng.bytes(3)].concat(),
        _ => rng.bytes(6),
    };
    let mut header = [destination, rng.bytes(6)].concat();
    let tags = rng.pick(&[0, 0, 0, 1, 1, 2, 3, 4]);
    for _ in 0..tags {
        header.extend(rng.pick(&[[0x81, 0x00], [0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]]));
        header.extend(rng.bytes(2));
    }
    header
}

fn damage(rng: &mut Rng, frame: &mut Vec<u8>) {
    let near = frame.len().min(110);
    match rng.below(8) {
        0 => frame.truncate(14 + rng.below(frame.len() - 13)),
        1 => frame.truncate(14 + rng.below(near - 13)),
        2 => frame.extend(vec![0; 1 + rng.below(40)]),
        3 | 4 => {
            let at = rng.below(near);
            frame[at] = rng.next() as u8;
        }
        5 => {
            let at = 12 + rng.below(near - 12);
            frame[at] ^= 1 << rng.below(8);
        }
        6 => {
            // A length field, where the frame is untagged.
            let at = (if rng.chance(50) { 17 } else { 19 }).min(frame.len() - 1);
            frame[at] = frame[at].wrapping_add(rng.below(200) as u8);
        }
        _ => {
            // A total length below the header's, where the frame is untagged IPv4.
            let at = 16.min(frame.len() - 2);
            frame[at] = 0;
            frame[at + 1] = rng.below(80) as u8;
        }
    }
}

/// A frame of at least 14 bytes.
pub fn random(rng: &mut Rng, station: &[u8; 6]) -> Vec<u8> {
    let mut frame = link(rng, station);
    match rng.below(20) {
        0..9 => {
            frame.extend([8, 0]);
            frame.extend(ipv4(rng));
        }
        9..18 => {
            frame.extend([0x86, 0xdd]);
            frame.extend(ipv6(rng));
        }
        18 => {
            frame.extend([rng.below(8) as u8, rng.next() as u8]);
            let fill = rng.pick(&[0xff, 0xaa, 0]);
            frame.extend(vec![fill; rng.below(60)]);
        }
        _ => {
            let len = 2 + rng.below(200);
            frame.extend(rng.bytes(len));
        }
    }
    if rng.chance(40) {
        damage(rng, &mut frame);
    }
    frame
}

/// A plain TCP frame over IPv4 with `payload` bytes.
pub fn plain(rng: &mut Rng, station: &[u8; 6], payload: usize) -> Vec<u8> {
    let mut header = rng.bytes(20);
    let mut segment = rng.bytes(20 + payload);
    (segment[12], segment[13]) = (0x50, 0x10);
    header[0] = 0x45;
    header[2..4].copy_from_slice(&(40 + payload as u16).to_be_bytes());
    header[6..8].copy_from_slice(&[0x40, 0]);
    header[9] = 6;
    header[10..12].fill(0);
    segment[16..18].fill(0);
    let value = checksum(sum(&header[12..20]) + 6 + segment.len() as u64 + sum(&segment));
    segment[16..18].copy_from_slice(&value);
    let value = checksum(sum(&header));
    header[10..12].copy_from_slice(&value);
    [&station[..], &rng.bytes(6), &[8, 0], &header, &segment].concat()
}
