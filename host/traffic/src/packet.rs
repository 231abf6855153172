//! A frame as its fields: what a generator changes, encoded to bytes with every sum right unless
//! told otherwise.
//!
//! Follows: RFC 791, 8200, 9293, 768, 1071; IEEE 802.1Q.
//! Invariant: without a fault, the encoded frame verifies (`a_frame_without_fault_verifies`).
//! Not here: what a receiver makes of it.

use super::random::Rng;
use groove_spec::Tag;

/// Fault of a checksum field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sum {
    /// Right.
    #[default]
    Good,
    /// Right, xor this.
    Wrong(u16),
    /// This value, whatever the sum is.
    Field(u16),
}

/// Network header.
#[derive(Clone, Debug)]
pub enum Network {
    /// IPv4.
    V4(V4),
    /// IPv6.
    V6(V6),
}

/// IPv4 header.
#[derive(Clone, Debug)]
pub struct V4 {
    /// Version and header length, if not the right ones.
    pub first_byte: Option<u8>,
    /// Type of service.
    pub tos: u8,
    /// Identification.
    pub id: u16,
    /// Reserved bit, DF, MF, fragment offset.
    pub fragment: u16,
    /// Time to live.
    pub ttl: u8,
    /// Source.
    pub source: [u8; 4],
    /// Destination.
    pub destination: [u8; 4],
    /// Options, a multiple of 4 bytes up to 40.
    pub options: Vec<u8>,
    /// Header checksum.
    pub sum: Sum,
}

/// IPv6 header with its extension headers.
#[derive(Clone, Debug)]
pub struct V6 {
    /// Version, normally 6.
    pub version: u8,
    /// Traffic class.
    pub class: u8,
    /// Flow label.
    pub label: u32,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source.
    pub source: [u8; 16],
    /// Destination.
    pub destination: [u8; 16],
    /// Extension headers: kind and body behind the first two bytes (8n + 6 bytes).
    pub extensions: Vec<(u8, Vec<u8>)>,
}

/// Transport header.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TCP.
    Tcp(Tcp),
    /// UDP.
    Udp(Udp),
    /// Anything else: protocol number; the payload follows at once.
    Other(u8),
}

/// TCP header.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Data offset in words, if not the right one.
    pub data_offset: Option<u8>,
    /// The four bits behind the data offset; the lowest is AE.
    pub reserved: u8,
    /// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from bit 7.
    pub flags: u8,
    /// Window.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options, a multiple of 4 bytes up to 40.
    pub options: Vec<u8>,
    /// Checksum.
    pub sum: Sum,
}

/// UDP header.
#[derive(Clone, Debug)]
pub struct Udp {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Added to the length field.
    pub length_error: i32,
    /// Checksum.
    pub sum: Sum,
}

/// A whole frame.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Destination address.
    pub to: [u8; 6],
    /// Source address.
    pub from: [u8; 6],
    /// Tags, outermost first.
    pub tags: Vec<Tag>,
    /// Ethertype, if not that of the network header.
    pub ethertype: Option<u16>,
    /// Network header.
    pub network: Network,
    /// Added to the IP length field.
    pub length_error: i32,
    /// Transport header.
    pub transport: Transport,
    /// Payload bytes.
    pub payload_len: usize,
    /// Seed of the payload's bytes.
    pub payload_seed: u64,
    /// Chooses the last payload word so that the transport checksum becomes 0.
    pub zero_sum: bool,
    /// Bytes behind the IP datagram.
    pub padding: usize,
    /// Frame length after truncation.
    pub cut: Option<usize>,
}

/// One's-complement sum, not folded.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut total: u64 = words.iter().map(|w| u64::from(u32::from_be_bytes(*w))).sum();
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        total += u64::from(u32::from_be_bytes(last));
    }
    total
}

/// Folds a sum to 16 bits.
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Folded one's-complement sum of bytes that start at an even position.
pub fn ones_sum(bytes: &[u8]) -> u16 {
    fold(sum(bytes))
}

impl Sum {
    fn apply(self, right: u16) -> u16 {
        match self {
            Sum::Good => right,
            Sum::Wrong(xor) => right ^ xor,
            Sum::Field(value) => value,
        }
    }
}

impl Packet {
    /// The bytes from the destination address on, without FCS.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128 + self.payload_len + self.padding);
        out.extend(self.to);
        out.extend(self.from);
        for tag in &self.tags {
            out.extend(tag.tpid.to_be_bytes());
            out.extend(tag.tci.to_be_bytes());
        }
        let own = match self.network {
            Network::V4(_) => 0x0800_u16,
            Network::V6(_) => 0x86dd,
        };
        out.extend(self.ethertype.unwrap_or(own).to_be_bytes());
        let ip = out.len();
        self.encode_network(&mut out);
        let transport = out.len();
        self.encode_transport(&mut out);
        self.encode_payload(&mut out);
        self.set_lengths(&mut out, ip);
        self.set_transport_sum(&mut out, transport);
        let end = out.len();
        out.resize(end + self.padding, 0);
        if self.payload_seed & 1 != 0 {
            Rng::new(self.payload_seed).fill(&mut out[end..]); // padding need not be zero
        }
        if let Some(cut) = self.cut {
            out.truncate(cut.max(1));
        }
        out
    }

    fn protocol(&self) -> u8 {
        match self.transport {
            Transport::Tcp(_) => 6,
            Transport::Udp(_) => 17,
            Transport::Other(protocol) => protocol,
        }
    }

    fn encode_network(&self, out: &mut Vec<u8>) {
        match &self.network {
            Network::V4(v4) => {
                let words = (5 + v4.options.len() / 4) as u8;
                out.extend([v4.first_byte.unwrap_or(0x40 | words), v4.tos, 0, 0]);
                out.extend(v4.id.to_be_bytes());
                out.extend(v4.fragment.to_be_bytes());
                out.extend([v4.ttl, self.protocol(), 0, 0]);
                out.extend(v4.source);
                out.extend(v4.destination);
                out.extend(&v4.options);
            }
            Network::V6(v6) => {
                let word =
                    u32::from(v6.version) << 28 | u32::from(v6.class) << 20 | v6.label & 0xf_ffff;
                out.extend(word.to_be_bytes());
                let kinds: Vec<u8> = v6.extensions.iter().map(|(kind, _)| *kind).collect();
                let mut next = kinds.into_iter().chain([self.protocol()]);
                out.extend([0, 0, next.next().unwrap_or(59), v6.hop_limit]);
                out.extend(v6.source);
                out.extend(v6.destination);
                for (_, body) in &v6.extensions {
                    let units = ((body.len() + 2) / 8).saturating_sub(1) as u8;
                    out.extend([next.next().unwrap_or(59), units]);
                    out.extend(body);
                }
            }
        }
    }

    fn encode_transport(&self, out: &mut Vec<u8>) {
        match &self.transport {
            Transport::Tcp(tcp) => {
                out.extend(tcp.source.to_be_bytes());
                out.extend(tcp.destination.to_be_bytes());
                out.extend(tcp.seq.to_be_bytes());
                out.extend(tcp.ack.to_be_bytes());
                let words = tcp.data_offset.unwrap_or(5 + (tcp.options.len() / 4) as u8);
                out.extend([words << 4 | tcp.reserved & 15, tcp.flags]);
                out.extend(tcp.window.to_be_bytes());
                out.extend([0, 0]);
                out.extend(tcp.urgent.to_be_bytes());
                out.extend(&tcp.options);
            }
            Transport::Udp(udp) => {
                out.extend(udp.source.to_be_bytes());
                out.extend(udp.destination.to_be_bytes());
                let length = 8 + self.payload_len as i32 + udp.length_error;
                out.extend((length as u16).to_be_bytes());
                out.extend([0, 0]);
            }
            Transport::Other(_) => {}
        }
    }

    fn encode_payload(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.payload_len, 0);
        Rng::new(self.payload_seed).fill(&mut out[start..]);
    }

    fn set_lengths(&self, out: &mut [u8], ip: usize) {
        let bytes = (out.len() - ip) as i32 + self.length_error;
        match &self.network {
            Network::V4(v4) => {
                out[ip + 2..ip + 4].copy_from_slice(&(bytes as u16).to_be_bytes());
                let right = !ones_sum(&out[ip..ip + 20 + v4.options.len()]);
                out[ip + 10..ip + 12].copy_from_slice(&v4.sum.apply(right).to_be_bytes());
            }
            Network::V6(_) => {
                let payload = (bytes - 40) as u16;
                out[ip + 4..ip + 6].copy_from_slice(&payload.to_be_bytes());
            }
        }
    }

    fn set_transport_sum(&self, out: &mut [u8], transport: usize) {
        let (field, fault) = match &self.transport {
            Transport::Tcp(tcp) => (transport + 16, tcp.sum),
            Transport::Udp(udp) => (transport + 6, udp.sum),
            Transport::Other(_) => return,
        };
        let bytes = out.len() - transport;
        let pseudo = self.addresses_sum() + u64::from(self.protocol()) + bytes as u64;
        if self.zero_sum && self.payload_len >= 3 {
            // An even position in the payload; the word there makes the whole sum 0xffff.
            let at = out.len() - self.payload_len + (out.len() - self.payload_len - transport) % 2;
            out[at..at + 2].fill(0);
            let word = !fold(pseudo + sum(&out[transport..]));
            out[at..at + 2].copy_from_slice(&word.to_be_bytes());
        }
        let mut right = !fold(pseudo + sum(&out[transport..]));
        if right == 0 && matches!(self.transport, Transport::Udp(_)) {
            right = 0xffff; // 0 means that there is none
        }
        out[field..field + 2].copy_from_slice(&fault.apply(right).to_be_bytes());
    }

    fn addresses_sum(&self) -> u64 {
        match &self.network {
            Network::V4(v4) => sum(&v4.source) + sum(&v4.destination),
            Network::V6(v6) => sum(&v6.source) + sum(&v6.destination),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Packet {
        Packet {
            to: [2, 0, 0, 0, 0, 1],
            from: [2, 0, 0, 0, 0, 2],
            tags: vec![],
            ethertype: None,
            network: Network::V4(V4 {
                first_byte: None,
                tos: 0,
                id: 7,
                fragment: 0x4000,
                ttl: 64,
                source: [10, 0, 0, 1],
                destination: [10, 0, 0, 2],
                options: vec![],
                sum: Sum::Good,
            }),
            length_error: 0,
            transport: Transport::Tcp(Tcp {
                source: 1000,
                destination: 2000,
                seq: 1,
                ack: 2,
                data_offset: None,
                reserved: 0,
                flags: 0x10,
                window: 100,
                urgent: 0,
                options: vec![1, 1, 1, 1],
                sum: Sum::Good,
            }),
            payload_len: 33,
            payload_seed: 5,
            zero_sum: false,
            padding: 0,
            cut: None,
        }
    }

    #[test]
    fn a_frame_without_fault_verifies() {
        let mut packet = packet();
        for zero_sum in [false, true] {
            packet.zero_sum = zero_sum;
            let bytes = packet.encode();
            assert_eq!(bytes.len(), 14 + 20 + 24 + 33);
            assert_eq!(ones_sum(&bytes[14..34]), 0xffff);
            let pseudo = ones_sum(&bytes[26..34]);
            let total = u64::from(pseudo) + 6 + (24 + 33) + u64::from(ones_sum(&bytes[34..]));
            assert_eq!(fold(total), 0xffff);
            assert_eq!(bytes[50..52] == [0, 0], zero_sum);
        }
    }

    #[test]
    fn faults_reach_their_field() {
        let good = packet().encode();
        let mut packet = packet();
        packet.length_error = 1;
        let Network::V4(v4) = &mut packet.network else { unreachable!() };
        v4.sum = Sum::Field(0xabcd);
        let Transport::Tcp(tcp) = &mut packet.transport else { unreachable!() };
        tcp.sum = Sum::Wrong(0x0100);
        let bad = packet.encode();
        assert_eq!(bad[17], good[17] + 1);
        assert_eq!(bad[24..26], [0xab, 0xcd]);
        assert_eq!(bad[50] ^ good[50], 1);
    }

    #[test]
    fn extension_headers_are_chained() {
        let mut packet = packet();
        packet.network = Network::V6(V6 {
            version: 6,
            class: 0,
            label: 0xfffff,
            hop_limit: 9,
            source: [1; 16],
            destination: [2; 16],
            extensions: vec![(0, vec![0; 6]), (60, vec![0; 14])],
        });
        let bytes = packet.encode();
        assert_eq!(bytes[14..18], [0x60, 0x0f, 0xff, 0xff]);
        assert_eq!((bytes[20], bytes[54], bytes[55]), (0, 60, 0));
        assert_eq!((bytes[62], bytes[63]), (6, 1));
        assert_eq!(u16::from_be_bytes([bytes[18], bytes[19]]) as usize, bytes.len() - 54);
    }
}
