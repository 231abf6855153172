//! Frames that no TCP rule merges: other protocols, tunnels, broken headers, noise.
//!
//! Not here: faults of TCP flows (`twist.rs`).

use super::flow::{Flow, tags};
use super::packet::{Network, Packet, Sum, Transport, Udp, ones_sum};
use super::random::Rng;

/// One such frame. `flow` gives addresses, so that some of them belong to a held session's hosts.
pub fn frame(rng: &mut Rng, flow: &Flow, frame_max: usize) -> Vec<u8> {
    match rng.weighted(&[300, 110, 100, 60, 110, 120, 40, 40, 60, 60]) {
        0 => udp(rng, flow),
        1 => other_protocol(rng, flow),
        2 => link(rng),
        3 => length_field(rng),
        4 => tunnel(rng, flow),
        5 => mangled(rng, flow),
        6 => noise(rng),
        7 => runt(rng),
        8 => oversize(rng, flow, frame_max),
        _ => deep_headers(rng, flow),
    }
}

fn with_transport(rng: &mut Rng, flow: &Flow, transport: Transport, payload_len: usize) -> Packet {
    let mut packet = flow.next.clone();
    packet.transport = transport;
    packet.payload_len = payload_len;
    packet.payload_seed = rng.draw();
    packet
}

fn udp(rng: &mut Rng, flow: &Flow) -> Vec<u8> {
    let header = Udp {
        source: rng.draw() as u16,
        destination: rng.pick(&[53, 443, 4789, 9]),
        length_error: if rng.chance(100) { rng.pick(&[-1, 1, -8, -20]) } else { 0 },
        sum: match rng.weighted(&[70, 15, 15]) {
            0 => Sum::Good,
            1 => Sum::Wrong(1 << rng.below(16)),
            _ => Sum::Field(0),
        },
    };
    let payload_len = rng.pick(&[0, 1, 2, 18, 64, 200, 1472]);
    let mut packet = with_transport(rng, flow, Transport::Udp(header), payload_len);
    packet.zero_sum = rng.chance(150);
    if rng.chance(100) {
        packet.padding = rng.range(1, 18);
    }
    if let (true, Network::V4(v4)) = (rng.chance(80), &mut packet.network) {
        v4.fragment = rng.pick(&[0x2000, 1, 0x20ff]);
    }
    packet.encode()
}

fn other_protocol(rng: &mut Rng, flow: &Flow) -> Vec<u8> {
    let protocols = [1, 58, 2, 50, 51, 89, 132, 103, 59, 44, 0, 43, 60, 253, 255];
    let transport = Transport::Other(rng.pick(&protocols));
    let payload_len = rng.range(0, 90);
    with_transport(rng, flow, transport, payload_len).encode()
}

/// Ethertypes other than IP, tagged or not, whole or cut.
fn link(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = rng.bytes::<12>().to_vec();
    bytes[0] &= 0xfe;
    for tag in tags(rng) {
        bytes.extend(tag.tpid.to_be_bytes());
        bytes.extend(tag.tci.to_be_bytes());
    }
    let kinds =
        [0x0806_u16, 0x8864, 0x8863, 0x8847, 0x88cc, 0x88f7, 0x9100, 0x6558, 0x0600, 0x8100];
    bytes.extend(rng.pick(&kinds).to_be_bytes());
    let body = rng.range(0, 60);
    let at = bytes.len();
    bytes.resize(at + body, 0);
    rng.fill(&mut bytes[at..]);
    if rng.chance(400) && bytes.len() < 60 {
        bytes.resize(60, 0);
    }
    bytes
}

/// 802.3 length in place of an ethertype: LLC, SNAP, raw IPX.
fn length_field(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = rng.bytes::<12>().to_vec();
    let body = rng.range(0, 60);
    let length = rng.pick(&[body as u16, 0x05dc, 0x05ff, 0, 0x0100]);
    bytes.extend(length.to_be_bytes());
    bytes.extend(rng.pick(&[[0xff, 0xff, 0], [0xaa, 0xaa, 3], [0x42, 0x42, 3], [0xff, 0, 0xff]]));
    bytes.truncate(14 + body.min(3));
    bytes.resize(14 + body, 0x5a);
    bytes
}

/// The flow's frame inside another header.
fn tunnel(rng: &mut Rng, flow: &Flow) -> Vec<u8> {
    let mut inner = flow.clone();
    inner.next.tags.clear();
    let payload_len = rng.range(0, 40);
    let inner = inner.frame(rng, payload_len).encode();
    let inner = &inner[14..];
    let version = inner[0] >> 4;
    let (protocol, before): (u8, Vec<u8>) = match rng.below(5) {
        0 | 1 => (if version == 6 { 41 } else { 4 }, vec![]),
        2 | 3 => {
            let ethertype = if version == 6 { 0x86dd_u16 } else { 0x0800 };
            let flags = rng.pick(&[0_u16, 0x2000, 0x8000, 0x1000]);
            let mut gre = flags.to_be_bytes().to_vec();
            gre.extend(ethertype.to_be_bytes());
            if flags != 0 {
                gre.extend([0; 4]);
            }
            (47, gre)
        }
        _ => return pppoe(flow, inner),
    };
    let mut outer =
        with_transport(rng, flow, Transport::Other(protocol), before.len() + inner.len());
    outer.tags.truncate(1);
    let mut bytes = outer.encode();
    let at = bytes.len() - inner.len();
    bytes[at..].copy_from_slice(inner);
    bytes[at - before.len()..at].copy_from_slice(&before);
    bytes
}

fn pppoe(flow: &Flow, inner: &[u8]) -> Vec<u8> {
    let mut bytes = flow.next.to.to_vec();
    bytes.extend(flow.next.from);
    bytes.extend([0x88, 0x64, 0x11, 0, 0, 7]);
    bytes.extend((inner.len() as u16 + 2).to_be_bytes());
    bytes.extend(if inner[0] >> 4 == 6 { [0, 0x57] } else { [0, 0x21] });
    bytes.extend(inner);
    bytes
}

/// A good frame with random bytes in its first 100, or the IPv4 sum put right after that.
fn mangled(rng: &mut Rng, flow: &Flow) -> Vec<u8> {
    let mut flow = flow.clone();
    let payload_len = rng.range(0, 100);
    let mut bytes = flow.frame(rng, payload_len).encode();
    for _ in 0..rng.range(1, 4) {
        let at = rng.below(bytes.len().min(100));
        bytes[at] = rng.draw() as u8;
    }
    if rng.chance(500) && bytes[12..14] == [8, 0] {
        let end = 14 + 4 * usize::from(bytes[14] & 15);
        if (34..=bytes.len()).contains(&end) {
            bytes[24..26].fill(0);
            let right = !ones_sum(&bytes[14..end]);
            bytes[24..26].copy_from_slice(&right.to_be_bytes());
        }
    }
    bytes
}

fn noise(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; rng.range(14, 200)];
    rng.fill(&mut bytes);
    let kinds = [[8, 0], [0x86, 0xdd], [0x81, 0], [0x88, 0xa8], [0, 4]];
    bytes[12..14].copy_from_slice(&rng.pick(&kinds));
    bytes
}

fn runt(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; rng.range(1, 13)];
    rng.fill(&mut bytes);
    bytes
}

/// At the limit, and beyond it by a byte or more.
fn oversize(rng: &mut Rng, flow: &Flow, frame_max: usize) -> Vec<u8> {
    let mut flow = flow.clone();
    let mut bytes = flow.frame(rng, 32).encode();
    // Long ones are rare: one of 9,217 bytes takes as long as a hundred short frames.
    if frame_max > 2500 && rng.chance(800) {
        return bytes;
    }
    bytes.resize(frame_max + rng.pick(&[0, 1, 1, 2, 63, 64, 65]), 0);
    bytes
}

/// Headers that end at, just before, and behind byte 128.
fn deep_headers(rng: &mut Rng, flow: &Flow) -> Vec<u8> {
    let mut flow = flow.clone();
    flow.next.tags = tags(rng);
    if let Network::V6(v6) = &mut flow.next.network {
        for _ in 0..rng.range(1, 4) {
            let mut body = vec![0; 8 * rng.range(1, 5) - 2];
            rng.fill(&mut body);
            v6.extensions.push((rng.pick(&[0, 43, 60]), body));
        }
    }
    let mut options = vec![0; 4 * rng.range(0, 10)];
    rng.fill(&mut options);
    flow.tcp().options = options;
    let payload_len = rng.range(0, 100);
    flow.frame(rng, payload_len).encode()
}
