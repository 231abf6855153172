//! Frames of sixteen flows, with fields changed as the input says; sums are right unless it says
//! otherwise.
//!
//!   kind ─► flow ─► its next segment ─► changes ─► bytes
//!
//! Flows differ in address family, tags and ports; the last four are tunnels.

use groove_spec::Tag;
use groove_traffic::frames::{v4, v6};
use groove_traffic::packet::{Network, Packet, Sum, Transport, Udp};

use crate::input::Input;

const FLOWS: usize = 16;
/// Payload lengths that an input can choose: merges end at short ones and at 65,535 bytes.
const LENGTHS: [usize; 8] = [100, 1, 8, 536, 1448, 4000, 8900, 9100];

#[derive(Clone, Copy)]
struct Flow {
    /// Next sequence number, from the first one.
    offset: u32,
    id: u16,
    payload: usize,
}

/// Where each flow is.
pub struct Flows([Flow; FLOWS]);

impl Default for Flows {
    fn default() -> Self {
        Self([Flow { offset: 0, id: 50, payload: LENGTHS[0] }; FLOWS])
    }
}

impl Flows {
    /// The next frame. `kind`, bits 0 to 2: how many fields change (0 to 3: none); bits 4 to 7: of
    /// which flow; bit 3: a length for the flow follows.
    pub fn frame(&mut self, kind: u8, input: &mut Input) -> Vec<u8> {
        let number = usize::from(kind >> 4);
        let flow = &mut self.0[number];
        if kind & 8 != 0 {
            let choice = input.byte();
            flow.payload = LENGTHS[usize::from(choice & 7)] + usize::from(choice >> 3 & 3);
        }
        let mut packet = base(number, flow);
        let mut patch = None;
        for _ in 0..(kind & 7).saturating_sub(3) {
            patch = change(&mut packet, flow, input).or(patch);
        }
        flow.offset = flow.offset.wrapping_add(packet.payload_len as u32);
        flow.id = flow.id.wrapping_add(1);
        let mut bytes = wrap(number, flow.id, packet.encode());
        if let Some((at, xor)) = patch
            && let Some(byte) = bytes.get_mut(at)
        {
            *byte ^= xor;
        }
        bytes
    }
}

fn base(number: usize, flow: &Flow) -> Packet {
    let mut packet =
        if number.is_multiple_of(2) { v4(0, flow.payload) } else { v6(0, flow.payload) };
    let tag = |tpid, tci| Tag { tpid, tci };
    packet.tags = match number / 2 {
        2 => vec![tag(0x8100, 5)],
        3 => vec![tag(0x88a8, 5), tag(0x8100, 7)],
        _ => vec![],
    };
    packet.payload_seed = 2 * u64::from(flow.offset) + 2;
    if let Network::V4(header) = &mut packet.network {
        header.id = flow.id;
    }
    if let Transport::Tcp(header) = &mut packet.transport {
        // Some ports are shared: the flows differ in what else is compared.
        header.source = 1500 + (number as u16 / 4);
        header.seq = 1000u32.wrapping_add(flow.offset);
    }
    packet
}

/// One change. Gives a byte to break behind the encoding, if that is the change.
fn change(packet: &mut Packet, flow: &mut Flow, input: &mut Input) -> Option<(usize, u8)> {
    let (what, value) = (input.byte(), input.byte());
    let wide = u16::from(value).wrapping_mul(257);
    match what % 10 {
        0 => packet.payload_len = usize::from(value),
        1 => packet.padding = usize::from(value & 63),
        2 => packet.length_error = i32::from(value as i8),
        3 => packet.cut = Some(14 + usize::from(value)),
        4 => packet.tags.push(Tag { tpid: 0x8100, tci: value.into() }),
        5 => {
            packet.ethertype = Some([0x0800, 0x86dd, 0x8100, 0x8864, wide][usize::from(value % 5)])
        }
        6 => packet.zero_sum = true,
        7 => return Some((usize::from(what / 10) * 8 + usize::from(value >> 5), 1 << (value & 7))),
        8 => change_network(packet, what / 10, value),
        _ => change_tcp(packet, flow, what / 10, value),
    }
    None
}

fn change_network(packet: &mut Packet, what: u8, value: u8) {
    match &mut packet.network {
        Network::V4(v4) => match what % 9 {
            0 => v4.tos = value,
            1 => v4.id = v4.id.wrapping_add_signed(i16::from(value as i8)),
            2 => v4.fragment = [0, 0x2000, 0x8000, 0xc000, 1][usize::from(value % 5)],
            3 => v4.ttl = value,
            4 => v4.source[3] = value,
            5 => v4.destination[3] = value,
            6 => v4.options = vec![1; 4 * usize::from(value % 11)],
            7 => v4.sum = Sum::Wrong(value.into()),
            _ => v4.first_byte = Some(value),
        },
        Network::V6(v6) => match what % 7 {
            0 => v6.class = value,
            1 => v6.label = value.into(),
            2 => v6.hop_limit = value,
            3 => v6.source[15] = value,
            4 => v6.destination[15] = value,
            5 => v6.version = value & 15,
            _ => {
                let kind = [0, 43, 60, 44, 51, value][usize::from(value % 6)];
                v6.extensions.push((kind, vec![0; 6 + 8 * usize::from(value >> 6)]));
            }
        },
    }
}

fn change_tcp(packet: &mut Packet, flow: &mut Flow, what: u8, value: u8) {
    if what == 24 {
        // Also for the segments to come.
        flow.offset = flow.offset.wrapping_add_signed(i32::from(value as i8) << 24);
    }
    if what == 25 {
        let header = Udp { source: 1500, destination: 8000, length_error: 0, sum: Sum::Good };
        packet.transport = Transport::Udp(header);
    }
    let Transport::Tcp(tcp) = &mut packet.transport else { return };
    match what % 12 {
        0 => tcp.flags = value,
        1 => tcp.flags ^= 1 << (value & 7),
        2 => tcp.seq = tcp.seq.wrapping_add_signed(i32::from(value as i8)),
        3 => tcp.ack = tcp.ack.wrapping_add(value.into()),
        4 => tcp.window = u16::from(value) << 4,
        5 => tcp.options = vec![value; 4 * usize::from(value % 11)],
        6 => tcp.options = [&[1, 1, 8, 10][..], &[value; 8]].concat(),
        7 => tcp.urgent = value.into(),
        8 => tcp.reserved = value & 15,
        9 => tcp.data_offset = Some(value & 15),
        10 => tcp.sum = Sum::Wrong(value.into()),
        _ => tcp.sum = Sum::Field([0, 0xffff][usize::from(value & 1)]),
    }
}

/// Puts the frame of a tunnel's flow into its tunnel.
fn wrap(number: usize, id: u16, frame: Vec<u8>) -> Vec<u8> {
    let (protocol, header): (u8, &[u8]) = match number {
        12 => (4, &[]),
        13 => (41, &[]),
        14 => (47, &[0, 0, 0x08, 0]),
        15 => (47, &[0x20, 0, 0x86, 0xdd, 0, 0, 0, 9]),
        _ => return frame,
    };
    let Some(inner) = frame.get(14..) else { return frame };
    let inner = [header, inner].concat();
    let mut outer = v4(0, inner.len());
    if let Network::V4(header) = &mut outer.network {
        header.id = id;
    }
    outer.transport = Transport::Other(protocol);
    let mut bytes = outer.encode();
    bytes[34..].copy_from_slice(&inner);
    bytes
}
