//! Frames of one flow for tests that build their own: documentation addresses, equal segments,
//! right sums.
//!
//! A test takes a segment, changes fields, and encodes it: `encode(v4(1, 100), |p| tcp(p).ack +=
//! 1)`. Not here: random traffic (`generate`).

use crate::packet::{Network, Packet, Sum, Tcp, Transport, Udp, V4, V6};

pub use crate::flow::tcp;

/// Station address of the frames.
pub const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// FIN of the flags byte.
pub const FIN: u8 = 0x01;
/// SYN.
pub const SYN: u8 = 0x02;
/// RST.
pub const RST: u8 = 0x04;
/// PSH.
pub const PSH: u8 = 0x08;
/// ACK.
pub const ACK: u8 = 0x10;
/// URG.
pub const URG: u8 = 0x20;
/// ECE.
pub const ECE: u8 = 0x40;
/// CWR.
pub const CWR: u8 = 0x80;

fn segment(network: Network, number: usize, payload_len: usize) -> Packet {
    Packet {
        to: STATION,
        from: [2, 0, 0, 0, 0, 1],
        tags: Vec::new(),
        ethertype: None,
        network,
        length_error: 0,
        transport: Transport::Tcp(Tcp {
            source: 1500,
            destination: 8000,
            seq: 1000 + (number * payload_len) as u32,
            ack: 100,
            data_offset: None,
            reserved: 0,
            flags: ACK,
            window: 500,
            urgent: 0,
            options: Vec::new(),
            sum: Sum::Good,
        }),
        payload_len,
        payload_seed: 2 * number as u64 + 2,
        zero_sum: false,
        padding: 0,
        cut: None,
    }
}

/// Segment `number` of an IPv4 flow of equal segments.
pub fn v4(number: usize, payload_len: usize) -> Packet {
    let network = Network::V4(V4 {
        first_byte: None,
        tos: 0,
        id: 50 + number as u16,
        fragment: 0x4000,
        ttl: 64,
        source: [192, 0, 2, 1],
        destination: [192, 0, 2, 2],
        options: Vec::new(),
        sum: Sum::Good,
    });
    segment(network, number, payload_len)
}

/// Segment `number` of an IPv6 flow of equal segments.
pub fn v6(number: usize, payload_len: usize) -> Packet {
    let address = |last| [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let network = Network::V6(V6 {
        version: 6,
        class: 0,
        label: 0x1_2345,
        hop_limit: 64,
        source: address(1),
        destination: address(2),
        extensions: Vec::new(),
    });
    segment(network, number, payload_len)
}

/// The frame with a UDP header in place of TCP, same ports.
pub fn udp(mut packet: Packet) -> Packet {
    let header = Udp { source: 1500, destination: 8000, length_error: 0, sum: Sum::Good };
    packet.transport = Transport::Udp(header);
    packet
}

/// The IPv4 header of a frame that has one.
///
/// # Panics
/// If the frame is IPv6: a mistake of the test.
pub fn ip4(packet: &mut Packet) -> &mut V4 {
    match &mut packet.network {
        Network::V4(v4) => v4,
        Network::V6(_) => panic!("the frame is IPv6"),
    }
}

/// The IPv6 header of a frame that has one.
///
/// # Panics
/// If the frame is IPv4: a mistake of the test.
pub fn ip6(packet: &mut Packet) -> &mut V6 {
    match &mut packet.network {
        Network::V6(v6) => v6,
        Network::V4(_) => panic!("the frame is IPv4"),
    }
}

/// Changes fields, then encodes.
pub fn encode(mut packet: Packet, change: impl FnOnce(&mut Packet)) -> Vec<u8> {
    change(&mut packet);
    packet.encode()
}
