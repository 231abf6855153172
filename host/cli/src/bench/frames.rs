//! Frames of the benches: TCP and UDP over IPv4 without options, flow by number.

/// Ethernet, IPv4 and TCP without options.
pub(super) const HEADER_BYTES: usize = 14 + 20 + 20;
/// Network of the senders.
const SOURCE_NET: u32 = 0x0a00_0000;

/// One flow: the sequence number of its next frame.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    number: u32,
    seq: u32,
    id: u16,
}

impl Flow {
    pub(crate) fn new(number: u32) -> Self {
        Self { number, seq: number.wrapping_mul(0x9e37_79b9), id: 0 }
    }

    /// The flow's next frame of so many bytes, at least one byte of payload, ACK alone.
    pub(crate) fn frame(&mut self, bytes: usize) -> Vec<u8> {
        let payload = bytes.max(HEADER_BYTES + 1) - HEADER_BYTES;
        let mut frame = packet(HEADER_BYTES + payload, 6, self.number, self.id);
        let tcp = &mut frame[34..54];
        tcp.fill(0);
        tcp[0..2].copy_from_slice(&(1024 + (self.number % 50_000) as u16).to_be_bytes());
        tcp[2..4].copy_from_slice(&443_u16.to_be_bytes());
        tcp[4..8].copy_from_slice(&self.seq.to_be_bytes());
        tcp[12] = 5 << 4;
        tcp[13] = 0x10;
        tcp[14] = 0xff;
        let length = (20 + payload) as u64;
        let checksum = !fold(sum(&frame[26..34]) + 6 + length + sum(&frame[34..]));
        frame[50..52].copy_from_slice(&checksum.to_be_bytes());
        self.seq = self.seq.wrapping_add(payload as u32);
        self.id = self.id.wrapping_add(1);
        frame
    }
}

/// A UDP frame of so many bytes, at least its headers, without a checksum of its own: never merged.
pub(super) fn datagram(number: u32, bytes: usize) -> Vec<u8> {
    let mut frame = packet(bytes.max(14 + 20 + 8), 17, number, 0);
    let length = (frame.len() - 34) as u16;
    frame[34..36].copy_from_slice(&(1024 + (number % 50_000) as u16).to_be_bytes());
    frame[36..38].copy_from_slice(&443_u16.to_be_bytes());
    frame[38..40].copy_from_slice(&length.to_be_bytes());
    frame[40..42].fill(0);
    frame
}

/// Ethernet and IPv4 headers in front of filler.
fn packet(bytes: usize, protocol: u8, number: u32, id: u16) -> Vec<u8> {
    let mut frame = vec![0x5a; bytes];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&0x0800_u16.to_be_bytes());
    let ip = &mut frame[14..34];
    ip.fill(0);
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&((bytes - 14) as u16).to_be_bytes());
    ip[4..6].copy_from_slice(&id.to_be_bytes());
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = protocol;
    ip[12..16].copy_from_slice(&(SOURCE_NET + number).to_be_bytes());
    ip[16..20].copy_from_slice(&[192, 168, 0, 1]);
    let checksum = !fold(sum(ip));
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame
}

fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let last = rest.first().map_or(0, |b| u64::from(*b) << 8);
    words.iter().fold(last, |sum, w| sum + u64::from(u16::from_be_bytes(*w)))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_model::{Config, Event, Frame, Model};
    use groove_spec::Verdict;

    #[test]
    fn frames_of_a_flow_merge() {
        let mut model = Model::new(Config::default()).unwrap();
        let mut flow = Flow::new(7);
        for bytes in [64, 64, 64] {
            model.frame(Frame::new(&flow.frame(bytes)), &mut Vec::new());
        }
        assert_eq!((model.stats().held, model.stats().held_frames), (1, 3));
        assert_eq!(model.stats().frames, 3);
    }

    #[test]
    fn datagrams_stay_alone() {
        let mut model = Model::new(Config::default()).unwrap();
        let mut events = Vec::new();
        for number in [7, 7, 8] {
            model.frame(Frame::new(&datagram(number, 64)), &mut events);
        }
        let good =
            |event: &Event| matches!(event, Event::Delivery(d) if d.l3_verdict == Verdict::Good);
        assert_eq!(events.iter().filter(|event| good(event)).count(), 3);
    }
}
