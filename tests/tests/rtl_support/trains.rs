//! Trains of TCP frames of a few flows: mostly what merges, with one thing changed now and then.

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

/// One direction of a connection.
#[derive(Clone, Debug)]
pub struct Flow {
    v6: bool,
    tags: Vec<[u8; 4]>,
    addresses: Vec<u8>,
    ports: [u8; 4],
    extensions: usize,
    options: Vec<u8>,
    pub mss: usize,
    seq: u32,
    ack: u32,
    window: u16,
    id: u16,
    id_step: u16,
    df: bool,
    ttl: u8,
    tos: u8,
    flags: u8,
    reserved: u8,
    label: [u8; 2],
}

/// What is unusual about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twist {
    None,
    Short,
    Flag(u8),
    Window,
    Ack,
    Option,
    Ttl,
    Tos,
    Df,
    Id,
    FixId,
    Empty,
    Larger,
    Gap,
    Repeat,
    Pad,
    Evil,
    Cut,
    BadTcp,
    BadIp,
    IpOptions,
    Reserved,
    Urgent,
    Udp,
    UdpNoSum,
    Version,
    NextHeader,
}

const TWISTS: &[Twist] = &[
    Twist::Short,
    Twist::Flag(0x01),
    Twist::Flag(0x02),
    Twist::Flag(0x04),
    Twist::Flag(0x08),
    Twist::Flag(0x20),
    Twist::Flag(0x40),
    Twist::Flag(0x80),
    Twist::Flag(0x09),
    Twist::Window,
    Twist::Ack,
    Twist::Option,
    Twist::Ttl,
    Twist::Tos,
    Twist::Df,
    Twist::Id,
    Twist::FixId,
    Twist::Empty,
    Twist::Larger,
    Twist::Gap,
    Twist::Repeat,
    Twist::Pad,
    Twist::Evil,
    Twist::Cut,
    Twist::BadTcp,
    Twist::BadIp,
    Twist::IpOptions,
    Twist::Reserved,
    Twist::Urgent,
    Twist::Udp,
    Twist::UdpNoSum,
    Twist::Version,
    Twist::NextHeader,
];

impl Flow {
    pub fn new(rng: &mut Rng) -> Self {
        let v6 = rng.chance(40);
        let tags = rng.pick(&[0, 0, 0, 0, 1, 1, 2, 3]);
        let tag = |rng: &mut Rng| {
            let tpid = rng.pick(&[[0x81, 0x00], [0x88, 0xa8]]);
            [tpid[0], tpid[1], rng.next() as u8 & 0x1f, rng.next() as u8]
        };
        let words = if tags < 2 { rng.pick(&[0, 3, 3, 5, 10]) } else { 3 };
        Self {
            v6,
            tags: (0..tags).map(|_| tag(rng)).collect(),
            addresses: rng.bytes(if v6 { 32 } else { 8 }),
            ports: std::array::from_fn(|_| rng.next() as u8),
            extensions: if v6 && tags == 0 && words < 6 { rng.below(3) } else { 0 },
            options: rng.bytes(4 * words),
            mss: rng.pick(&[1, 8, 100, 100, 100, 500]),
            seq: rng.next() as u32,
            ack: rng.next() as u32,
            window: rng.next() as u16,
            id: rng.next() as u16,
            id_step: rng.pick(&[0, 1, 1]),
            df: rng.chance(60),
            ttl: 64,
            tos: 0,
            flags: if rng.chance(15) { 0x90 } else { 0x10 },
            reserved: 0,
            label: [rng.next() as u8, rng.next() as u8],
        }
    }

    /// Another flow whose headers have the same exclusive-or.
    pub fn collide(&self, rng: &mut Rng) -> Self {
        let mut other = self.clone();
        let half = other.addresses.len() / 2;
        let at = rng.below(half);
        let flip = 1 << rng.below(8);
        other.addresses[at] ^= flip;
        other.addresses[half + at] ^= flip;
        other
    }

    fn advance(&mut self, twist: Twist, rng: &mut Rng) -> usize {
        match twist {
            Twist::Short => return 1.max(self.mss / 2),
            Twist::Window => self.window ^= 1 << rng.below(16),
            Twist::Ack => self.ack ^= 1 << rng.below(32),
            Twist::Option if !self.options.is_empty() => {
                let at = rng.below(self.options.len());
                self.options[at] ^= 1 << rng.below(8);
            }
            Twist::Ttl => self.ttl ^= 1 << rng.below(8),
            Twist::Tos => self.tos ^= 1 << rng.below(8),
            Twist::Df => self.df = !self.df,
            Twist::Id => self.id = self.id.wrapping_add(rng.below(3) as u16),
            Twist::FixId => self.id_step ^= 1,
            Twist::Reserved => self.reserved ^= 1 << rng.below(4),
            Twist::Empty | Twist::Flag(0x02 | 0x04) => return 0,
            Twist::Flag(0x80) => {
                self.flags ^= 0x80;
                return self.mss;
            }
            Twist::Larger => return self.mss + 1,
            Twist::Gap => self.seq = self.seq.wrapping_add(1 << rng.below(32)),
            Twist::Repeat => self.seq = self.seq.wrapping_sub(self.mss as u32),
            _ => {}
        }
        self.mss
    }

    /// The next frame; its FIN or PSH and the like are not remembered, changed header fields are.
    pub fn next(&mut self, twist: Twist, rng: &mut Rng) -> Vec<u8> {
        let payload = self.advance(twist, rng);
        let udp = matches!(twist, Twist::Udp | Twist::UdpNoSum);
        let mut l4 = if udp { self.udp(rng, payload) } else { self.tcp(twist, rng, payload) };
        let pseudo = sum(&self.addresses) + if udp { 17 } else { 6 } + l4.len() as u64;
        let field = if udp { 6 } else { 16 };
        let mut value = checksum(pseudo + sum(&l4));
        if twist == Twist::BadTcp {
            value[1] ^= 0x10;
        }
        if twist != Twist::UdpNoSum {
            l4[field..field + 2].copy_from_slice(&value);
        }
        if !udp {
            self.seq = self.seq.wrapping_add(payload as u32);
            self.id = self.id.wrapping_add(self.id_step);
        }
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        self.tags.iter().for_each(|tag| frame.extend(tag));
        let ip = if self.v6 { self.ipv6(twist, &l4, udp) } else { self.ipv4(twist, &l4, udp) };
        frame.extend(ip);
        frame.extend(l4);
        match twist {
            Twist::Pad => frame.extend(vec![0; 1 + rng.below(9)]),
            Twist::Cut => frame.truncate(frame.len() - 1.min(payload)),
            _ => {}
        }
        frame
    }

    fn udp(&self, rng: &mut Rng, payload: usize) -> Vec<u8> {
        let length = (8 + payload as u16).to_be_bytes();
        [&self.ports[..], &length, &[0, 0], &rng.bytes(payload)].concat()
    }

    fn tcp(&self, twist: Twist, rng: &mut Rng, payload: usize) -> Vec<u8> {
        let mut flags = self.flags;
        if let Twist::Flag(bits) = twist {
            flags |= bits & 0x7f;
        }
        let doff = 5 + self.options.len() / 4;
        let word = [(doff as u8) << 4 | self.reserved, flags];
        let urgent = if twist == Twist::Urgent { rng.next() as u16 } else { 0 };
        [
            &self.ports[..],
            &self.seq.to_be_bytes(),
            &self.ack.to_be_bytes(),
            &word,
            &self.window.to_be_bytes(),
            &[0, 0],
            &urgent.to_be_bytes(),
            &self.options,
            &rng.bytes(payload),
        ]
        .concat()
    }

    fn ipv4(&self, twist: Twist, l4: &[u8], udp: bool) -> Vec<u8> {
        let options = if twist == Twist::IpOptions { 4 } else { 0 };
        let total = (20 + options + l4.len()) as u16;
        let fragment = u16::from(self.df) << 14 | u16::from(twist == Twist::Evil) << 15;
        let mut header = [
            &[0x45 + options as u8 / 4, self.tos][..],
            &total.to_be_bytes(),
            &self.id.to_be_bytes(),
            &fragment.to_be_bytes(),
            &[self.ttl, if udp { 17 } else { 6 }, 0, 0],
            &self.addresses,
            &vec![1; options],
        ]
        .concat();
        let value = checksum(sum(&header));
        header[10..12].copy_from_slice(&value);
        header[11] ^= u8::from(twist == Twist::BadIp);
        [&[8, 0][..], &header].concat()
    }

    fn ipv6(&self, twist: Twist, l4: &[u8], udp: bool) -> Vec<u8> {
        let length = (8 * self.extensions + l4.len()) as u16;
        let version = if twist == Twist::Version { 0x40 } else { 0x60 };
        let protocol = if udp { 17 } else { 6 };
        let first = if self.extensions > 0 { 60 } else { protocol };
        let first = if twist == Twist::NextHeader { 59 } else { first };
        let mut header = [
            &[0x86, 0xdd, version | self.tos >> 4, self.tos << 4, self.label[0], self.label[1]][..],
            &length.to_be_bytes(),
            &[first, self.ttl],
            &self.addresses,
        ]
        .concat();
        for i in (0..self.extensions).rev() {
            header.extend([if i > 0 { 60 } else { protocol }, 0, 1, 4, 0, 0, 0, 0]);
        }
        header
    }
}

/// Frames of `flows` in random order, in bursts; every `twists` percent of them unusual.
pub fn train(rng: &mut Rng, flows: &mut [Flow], count: usize, twists: u8) -> Vec<(usize, Vec<u8>)> {
    let mut frames = Vec::new();
    while frames.len() < count {
        let which = rng.below(flows.len());
        for _ in 0..1 + rng.below(6) {
            let twist = if rng.chance(twists) { rng.pick(TWISTS) } else { Twist::None };
            frames.push((which, flows[which].next(twist, rng)));
        }
    }
    frames.truncate(count);
    frames
}
