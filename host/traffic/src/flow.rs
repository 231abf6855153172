//! TCP flows: what stays the same from frame to frame, and what the next good frame is.
//!
//! Not here: faults and changes (`twist.rs`), equal hashes (`collide.rs`).

use super::packet::{Network, Packet, Sum, Tcp, Transport, V4, V6};
use super::random::Rng;
use groove_spec::{MERGED_BYTES_MAX, Tag};

/// ACK, as every frame of an established flow carries it.
pub const ACK: u8 = 0x10;

/// How a flow numbers its IPv4 datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// One more each.
    Increment,
    /// Always the same.
    Fixed,
    /// Anything.
    Random,
}

/// One TCP flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The next frame but for its payload; sequence number and identification are up to date.
    pub next: Packet,
    /// Payload bytes of a full segment.
    pub segment_bytes: usize,
    /// IPv4 identification.
    pub numbering: Numbering,
}

impl Flow {
    /// A flow; `payload_max` bounds its segments.
    pub fn new(rng: &mut Rng, stations: &[[u8; 6]], payload_max: usize) -> Self {
        let network = if rng.chance(600) { v4(rng) } else { v6(rng) };
        let seq =
            if rng.chance(100) { u32::MAX - rng.below(4000) as u32 } else { rng.draw() as u32 };
        let next = Packet {
            to: rng.pick(stations),
            from: [2, 0, 0, 9, 9, rng.below(4) as u8],
            tags: tags(rng),
            ethertype: None,
            network,
            length_error: 0,
            transport: Transport::Tcp(Tcp {
                source: rng.draw() as u16,
                destination: rng.pick(&[80, 443, 8080, 5201]),
                seq,
                ack: rng.draw() as u32,
                data_offset: None,
                reserved: 0,
                flags: ACK
                    | if rng.chance(50) { 0x40 } else { 0 }
                    | if rng.chance(50) { 0x80 } else { 0 },
                window: rng.draw() as u16,
                urgent: 0,
                options: options(rng),
                sum: Sum::Good,
            }),
            payload_len: 0,
            payload_seed: 0,
            zero_sum: false,
            padding: 0,
            cut: None,
        };
        let numbering = rng.pick(&[
            Numbering::Increment,
            Numbering::Increment,
            Numbering::Increment,
            Numbering::Fixed,
            Numbering::Fixed,
            Numbering::Random,
        ]);
        Self { next, segment_bytes: segment_bytes(rng).min(payload_max), numbering }
    }

    /// Its TCP header.
    pub fn tcp(&mut self) -> &mut Tcp {
        tcp(&mut self.next)
    }

    /// The next good frame with that much payload; the flow moves on.
    pub fn frame(&mut self, rng: &mut Rng, payload_len: usize) -> Packet {
        let mut packet = self.next.clone();
        packet.payload_len = payload_len;
        packet.payload_seed = rng.draw();
        self.advance(rng, payload_len as u32);
        packet
    }

    /// Moves on by so many sequence numbers and one datagram.
    pub fn advance(&mut self, rng: &mut Rng, bytes: u32) {
        let tcp = self.tcp();
        tcp.seq = tcp.seq.wrapping_add(bytes);
        let numbering = self.numbering;
        if let Network::V4(v4) = &mut self.next.network {
            v4.id = match numbering {
                Numbering::Increment => v4.id.wrapping_add(1),
                Numbering::Fixed => v4.id,
                Numbering::Random => rng.draw() as u16,
            };
        }
    }

    /// Payloads of one aggregate that is exactly as large as the limit allows, plus `over` bytes in
    /// the last.
    pub fn full_aggregate(&self, over: usize) -> Vec<usize> {
        let mut probe = self.next.clone();
        probe.payload_len = 0;
        let room = MERGED_BYTES_MAX - (probe.encode().len() - 14);
        let last = match room % self.segment_bytes {
            0 => self.segment_bytes, // the last segment is a full one
            rest => rest,
        };
        let mut sizes = vec![self.segment_bytes; (room - last) / self.segment_bytes];
        sizes.push(last + over);
        sizes
    }
}

/// The TCP header of a frame that has one by construction.
pub fn tcp(packet: &mut Packet) -> &mut Tcp {
    match &mut packet.transport {
        Transport::Tcp(tcp) => tcp,
        _ => unreachable!("flows are TCP"),
    }
}

/// Mostly short, for speed; also the sizes of real links.
fn segment_bytes(rng: &mut Rng) -> usize {
    match rng.weighted(&[45, 30, 17, 6, 2]) {
        0 => rng.range(1, 120),
        1 => rng.range(1, 500),
        2 => rng.range(60, 64),
        3 => rng.pick(&[1448, 1460, 1428, 536]),
        _ => rng.pick(&[4096, 8948, 8960, 8928, 9140]),
    }
}

fn v4(rng: &mut Rng) -> Network {
    Network::V4(V4 {
        first_byte: None,
        tos: if rng.chance(300) { rng.draw() as u8 } else { 0 },
        id: if rng.chance(100) { 0xffff - rng.below(8) as u16 } else { rng.draw() as u16 },
        fragment: if rng.chance(700) { 0x4000 } else { 0 },
        ttl: rng.pick(&[64, 64, 63, 128, 255, 1]),
        source: [10, 0, rng.draw() as u8, rng.draw() as u8],
        destination: [192, 168, 0, rng.draw() as u8],
        options: vec![],
        sum: Sum::Good,
    })
}

fn v6(rng: &mut Rng) -> Network {
    let mut extensions = vec![];
    if rng.chance(150) {
        for _ in 0..rng.range(1, 2) {
            let mut body = vec![0; 8 * rng.pick(&[1, 1, 1, 2, 3]) - 2];
            rng.fill(&mut body);
            extensions.push((rng.pick(&[0, 43, 60]), body));
        }
    }
    let address = |rng: &mut Rng| {
        let mut address = [0xfd; 16];
        rng.fill(&mut address[12..]);
        address
    };
    Network::V6(V6 {
        version: 6,
        class: if rng.chance(300) { rng.draw() as u8 } else { 0 },
        label: if rng.chance(500) { rng.draw() as u32 & 0xf_ffff } else { 0 },
        hop_limit: rng.pick(&[64, 64, 63, 255]),
        source: address(rng),
        destination: address(rng),
        extensions,
    })
}

/// No tag, one, two, three, or more than are looked at.
pub fn tags(rng: &mut Rng) -> Vec<Tag> {
    let count = rng.weighted(&[600, 230, 100, 60, 10]);
    (0..count).map(|_| tag(rng)).collect()
}

/// One tag.
pub fn tag(rng: &mut Rng) -> Tag {
    Tag { tpid: rng.pick(&[0x8100, 0x8100, 0x88a8]), tci: rng.draw() as u16 & 0x701f }
}

/// None, a timestamp in its usual place, or any bytes.
fn options(rng: &mut Rng) -> Vec<u8> {
    match rng.weighted(&[40, 45, 15]) {
        0 => vec![],
        1 => {
            let mut bytes = vec![1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
            rng.fill(&mut bytes[4..]);
            bytes
        }
        _ => {
            let mut bytes = vec![0; 4 * rng.range(1, 10)];
            rng.fill(&mut bytes);
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_aggregates_reach_the_limit_exactly() {
        let mut rng = Rng::new(3);
        for _ in 0..200 {
            let flow = Flow::new(&mut rng, &[[2; 6]], 9000);
            let mut header = flow.next.clone();
            header.payload_len = 0;
            let header = header.encode().len() - 14;
            assert_eq!(header + flow.full_aggregate(0).iter().sum::<usize>(), 65535);
            assert_eq!(header + flow.full_aggregate(1).iter().sum::<usize>(), 65536);
        }
    }

    #[test]
    fn frames_of_a_flow_follow_each_other() {
        let mut rng = Rng::new(4);
        let mut flow = Flow::new(&mut rng, &[[2; 6]], 9000);
        flow.tcp().seq = u32::MAX - 5;
        let mut first = flow.frame(&mut rng, 100);
        let mut second = flow.frame(&mut rng, 50);
        assert_eq!(tcp(&mut first).seq, u32::MAX - 5);
        assert_eq!(tcp(&mut second).seq, 94);
    }
}
