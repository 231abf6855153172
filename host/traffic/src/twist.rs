//! Changes to one frame of a flow: every field that a merge rule looks at, and every way to be
//! broken.
//!
//! Each change is one row of [`Twist`]; most frames get none, some get two.
//! Not here: whether a change ends a session: that is the model's to say.

use super::flow::{ACK, Flow, Numbering, tag, tcp};
use super::packet::{Network, Packet, Sum};
use super::random::Rng;

/// Changes to TCP fields.
const TCP_TWISTS: usize = 18;
/// Changes to IP fields.
const IP_TWISTS: usize = 15;
/// Changes to the frame around them.
const FRAME_TWISTS: usize = 9;

/// Changes one thing about the frame. `flow` has moved on to the frame after it, and may be changed
/// for good.
pub fn twist(rng: &mut Rng, packet: &mut Packet, flow: &mut Flow) {
    match rng.weighted(&[45, 30, 25]) {
        0 => match rng.below(TCP_TWISTS) {
            kind @ 0..9 => twist_flags(rng, kind, packet, flow),
            kind => twist_tcp(rng, kind - 9, packet, flow),
        },
        1 => match (rng.below(IP_TWISTS), &packet.network) {
            (kind @ 0..9, Network::V4(_)) => twist_v4(rng, kind, packet, flow),
            (kind @ 0..9, Network::V6(_)) => twist_v6(rng, kind, packet, flow),
            (kind, _) => twist_sizes(rng, kind - 9, packet),
        },
        _ => twist_frame(rng, packet, flow),
    }
}

/// Flags, on this frame alone but for the ECN ones, which may stay.
fn twist_flags(rng: &mut Rng, kind: usize, packet: &mut Packet, flow: &mut Flow) {
    const PSH: u8 = 0x08;
    let stays = rng.chance(400);
    let header = tcp(packet);
    match kind {
        0 | 1 => header.flags |= PSH,
        2 => header.flags |= 0x01,
        3 => header.flags |= 0x02,
        4 => header.flags |= 0x04,
        5 => {
            header.flags |= 0x20;
            header.urgent = rng.draw() as u16;
        }
        6 => header.flags ^= 0x40,
        7 => header.flags ^= 0x80,
        _ if rng.chance(500) => header.flags ^= ACK,
        _ => header.reserved ^= 1 << rng.below(4),
    }
    let (flags, reserved) = (header.flags, header.reserved);
    if stays && matches!(kind, 6..) {
        flow.tcp().flags = flags;
        flow.tcp().reserved = reserved;
    }
    if rng.chance(300) && matches!(kind, 2 | 3) {
        flow.tcp().seq = flow.tcp().seq.wrapping_add(1); // SYN and FIN take a sequence number
    }
}

/// The other TCP fields.
fn twist_tcp(rng: &mut Rng, kind: usize, packet: &mut Packet, flow: &mut Flow) {
    let step = rng.pick(&[1_u32, 1, 2, 100, u32::MAX, u32::MAX - 1, 0x8000_0000]);
    let bit = rng.below(32);
    let segment_bytes = flow.segment_bytes as u32;
    let header = tcp(packet);
    match kind {
        0 => header.window ^= 1 << (bit % 16),
        1 => header.ack = header.ack.wrapping_add(step),
        2 if !header.options.is_empty() => {
            let at = rng.below(header.options.len());
            header.options[at] ^= 1 << (bit % 8);
        }
        2 | 3 if header.options.len() < 40 => header.options.extend([1, 1, 1, 1]),
        3 => header.options.truncate(4 * rng.below(10)),
        4 => header.seq = header.seq.wrapping_add(step),
        5 => header.seq = header.seq.wrapping_sub(segment_bytes),
        6 => header.seq = header.seq.wrapping_add(segment_bytes),
        7 => header.urgent = rng.draw() as u16,
        _ => match rng.below(5) {
            0 | 1 => header.sum = Sum::Wrong(1 << (bit % 16)),
            2 => header.data_offset = Some(rng.below(5) as u8),
            3 => header.data_offset = Some(rng.range(6, 15) as u8),
            _ => header.sum = Sum::Field(rng.pick(&[0, 0xffff])),
        },
    }
    if rng.chance(500) && kind < 4 {
        *flow.tcp() = super::packet::Tcp { seq: flow.tcp().seq, ..header.clone() };
    }
}

fn twist_v4(rng: &mut Rng, kind: usize, packet: &mut Packet, flow: &mut Flow) {
    let Network::V4(v4) = &mut packet.network else { return };
    let mut stays = rng.chance(500);
    match kind {
        0 => v4.ttl ^= 1 << rng.below(8),
        1 => v4.tos ^= 1 << rng.below(8),
        2 => v4.fragment ^= 0x4000,
        3 => {
            v4.id = v4.id.wrapping_add(rng.pick(&[1, 2, 0xffff, 0x8000]));
            stays = false;
        }
        4 => {
            flow.numbering = rng.pick(&[Numbering::Increment, Numbering::Fixed, Numbering::Random]);
            return;
        }
        5 => v4.fragment |= 0x8000,
        6 => v4.fragment |= rng.pick(&[0x2000, 0x2001, 1, 0x0100, 0x1fff]),
        7 => {
            let mut options = vec![1; 4 * rng.range(1, 10)];
            rng.fill(&mut options[1..]);
            v4.options = options;
            stays = false;
        }
        _ => {
            stays = false;
            match rng.below(4) {
                0 => v4.first_byte = Some(0x40 | rng.below(16) as u8),
                1 => v4.first_byte = Some((rng.below(16) << 4 | 5) as u8),
                2 => v4.sum = Sum::Field(rng.pick(&[0, 0xffff])),
                _ => v4.sum = Sum::Wrong(1 << rng.below(16)),
            }
        }
    }
    if let (true, Network::V4(next)) = (stays && kind < 3, &mut flow.next.network) {
        (next.ttl, next.tos, next.fragment) = (v4.ttl, v4.tos, v4.fragment);
    }
}

fn twist_v6(rng: &mut Rng, kind: usize, packet: &mut Packet, flow: &mut Flow) {
    let Network::V6(v6) = &mut packet.network else { return };
    let extension = |rng: &mut Rng, kind: u8, units: usize| {
        let mut body = vec![0; 8 * units - 2];
        rng.fill(&mut body);
        (kind, body)
    };
    match kind {
        0 => v6.hop_limit ^= 1 << rng.below(8),
        1 => v6.class ^= 1 << rng.below(8),
        2 => v6.label ^= 1 << rng.below(20),
        3 => v6.version = rng.below(16) as u8,
        4 => {
            let units = rng.pick(&[1, 1, 1, 2, 4, 6, 8]);
            let next = extension(rng, [0, 43, 60][units % 3], units);
            v6.extensions.push(next);
        }
        5 => {
            let next = extension(rng, 44, 1); // a fragment header
            v6.extensions.push(next);
        }
        6 => {
            let kind = rng.pick(&[50, 51, 59, 135, 139, 253, 6]);
            let next = extension(rng, kind, 1);
            v6.extensions.push(next);
        }
        7 if !v6.extensions.is_empty() => {
            let (_, body) = &mut v6.extensions[0];
            let at = rng.below(body.len());
            body[at] ^= 1;
        }
        7 => v6.extensions = vec![extension(rng, 60, 1), extension(rng, 0, 1)],
        _ => packet.length_error = -(rng.below(60) as i32),
    }
    let Network::V6(v6) = &packet.network else { return };
    if let (true, Network::V6(next)) = (rng.chance(500) && kind < 3, &mut flow.next.network) {
        (next.hop_limit, next.class, next.label) = (v6.hop_limit, v6.class, v6.label);
    }
}

/// Lengths against each other: padding, truncation, the IP length field.
fn twist_sizes(rng: &mut Rng, kind: usize, packet: &mut Packet) {
    match kind {
        0 => packet.padding = rng.pick(&[1, 2, 3, 6, 18, 46, 64, 65]),
        1 => packet.length_error = rng.pick(&[1, -1, 2, -2, 40, -40, 0x7fff, -0x7fff]),
        2 => packet.cut = Some(rng.range(14, 140)),
        3 => {
            let whole = packet.encode().len();
            packet.cut = Some(whole.saturating_sub(rng.range(1, 70)).max(14));
        }
        4 => packet.zero_sum = true,
        _ => {
            // A checksum of 0xffff in place of 0: both verify.
            packet.zero_sum = true;
            tcp(packet).sum = Sum::Field(0xffff);
        }
    }
}

/// Link layer.
fn twist_frame(rng: &mut Rng, packet: &mut Packet, flow: &mut Flow) {
    match rng.below(FRAME_TWISTS) {
        0 => packet.tags.push(tag(rng)),
        1 => drop(packet.tags.pop()),
        2 => match packet.tags.first_mut() {
            Some(first) => first.tci ^= 1 << rng.below(16),
            None => packet.tags.push(tag(rng)),
        },
        3 => match packet.tags.last_mut() {
            Some(last) => last.tpid ^= 0x8100 ^ 0x88a8,
            None => packet.tags.push(tag(rng)),
        },
        4 => packet.to = rng.pick(&[[0xff; 6], [1, 0, 0x5e, 0, 0, 1], [0x33; 6], [2; 6]]),
        5 => packet.from[rng.below(6)] ^= 1 << rng.below(8),
        6 => {
            let kinds = [0x0806, 0x88cc, 0x8847, 0x9100, 0x05ff, 0x0600, 46, 0x6558];
            packet.ethertype = Some(rng.pick(&kinds));
        }
        7 => {
            // The other IP version's number, or a change that the flow keeps.
            packet.ethertype = Some(rng.pick(&[0x0800, 0x86dd]));
        }
        _ => flow.next.tags = packet.tags.clone(),
    }
}

/// Flips single bits of the encoded header, without repair of any sum.
pub fn flip(rng: &mut Rng, bytes: &mut [u8]) {
    for _ in 0..rng.range(1, 3) {
        let at = rng.below(bytes.len().min(110));
        bytes[at] ^= 1 << rng.below(8);
    }
}
