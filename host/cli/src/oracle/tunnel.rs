//! A tunnel around the frames of a burst: one outer header, numbered as tunnels number theirs.
//!
//! Follows: RFC 2003 (IPIP), 4213 (SIT), 2473 (in IPv6), 2784 and 2890 (GRE with key).
//! Not here: whether anything merges.

use groove_traffic::packet::ones_sum;
use groove_traffic::random::Rng;

/// How outer IPv4 headers are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    Increment,
    Fixed,
    Random,
}

/// One tunnel.
#[derive(Clone, Debug)]
pub struct Tunnel {
    v6: bool,
    gre: bool,
    key: Option<u32>,
    fragment: u16,
    numbering: Numbering,
    id: u16,
}

impl Tunnel {
    /// A tunnel drawn at random.
    pub fn new(rng: &mut Rng) -> Self {
        use Numbering::{Fixed, Increment, Random};
        Self {
            v6: rng.chance(400),
            gre: rng.chance(400),
            key: rng.chance(300).then(|| rng.draw() as u32),
            fragment: if rng.chance(500) { 0x4000 } else { 0 },
            numbering: rng.pick(&[Increment, Increment, Fixed, Fixed, Random]),
            id: rng.draw() as u16,
        }
    }

    /// The frame inside an outer header; what is not plain IP stays as it is. Few outer headers
    /// differ from the others.
    pub fn around(&mut self, rng: &mut Rng, frame: Vec<u8>) -> Vec<u8> {
        let protocol = match frame.get(12..14) {
            Some([0x08, 0x00]) => 4,
            Some([0x86, 0xdd]) => 41,
            _ => return frame,
        };
        let inner = &frame[14..];
        let gre = if self.gre { self.gre_header(&frame[12..14]) } else { Vec::new() };
        let next = if self.gre { 47 } else { protocol };
        let payload = gre.len() + inner.len();
        let odd = rng.chance(40);
        let outer = match self.v6 {
            true => self.outer_v6(next, payload, odd),
            false => self.outer_v4(rng, next, payload, odd),
        };
        let ethertype: [u8; 2] = if self.v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        [&frame[..12], &ethertype, &outer, &gre, inner].concat()
    }

    fn gre_header(&self, ethertype: &[u8]) -> Vec<u8> {
        let flags: [u8; 2] = if self.key.is_some() { [0x20, 0] } else { [0, 0] };
        let key = self.key.map(u32::to_be_bytes);
        [&flags[..], ethertype, key.as_ref().map_or(&[], |key| key.as_slice())].concat()
    }

    fn outer_v4(&mut self, rng: &mut Rng, protocol: u8, payload: usize, odd: bool) -> Vec<u8> {
        self.id = match self.numbering {
            Numbering::Increment => self.id.wrapping_add(1),
            Numbering::Fixed => self.id,
            Numbering::Random => rng.draw() as u16,
        };
        let ttl = if odd { 63 } else { 64 };
        let mut out = vec![0x45, 0];
        for word in [(20 + payload) as u16, self.id, self.fragment] {
            out.extend(word.to_be_bytes());
        }
        out.extend([ttl, protocol, 0, 0, 198, 51, 100, 1, 198, 51, 100, 2]);
        let sum = !ones_sum(&out);
        out[10..12].copy_from_slice(&sum.to_be_bytes());
        out
    }

    fn outer_v6(&self, next: u8, payload: usize, odd: bool) -> Vec<u8> {
        let mut out = vec![0x60, 0, 0, 0];
        out.extend((payload as u16).to_be_bytes());
        out.extend([next, if odd { 63 } else { 64 }]);
        for last in [1, 2] {
            out.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::configuration;
    use groove_model::{Frame, Model};
    use groove_spec::TokenKind;
    use groove_traffic::frames::{v4, v6};

    /// Deliveries of two segments of a flow in a tunnel, by the model.
    fn deliveries(tunnel: &mut Tunnel, frames: [Vec<u8>; 2]) -> usize {
        let mut rng = Rng::new(1);
        let config = configuration("7.3.4").unwrap();
        let mut model = Model::new(config).unwrap();
        let mut out = Vec::new();
        for frame in frames {
            let bytes = tunnel.around(&mut rng, frame);
            model.frame(Frame::new(&bytes), &mut out);
        }
        model.token(0, TokenKind::FlushAll, &mut out);
        out.len()
    }

    #[test]
    fn every_kind_of_tunnel_is_one_that_merges() {
        for v6_outside in [false, true] {
            for (gre, key) in [(false, None), (true, None), (true, Some(7))] {
                let numbering = Numbering::Increment;
                let tunnel =
                    Tunnel { v6: v6_outside, gre, key, fragment: 0, numbering, id: 0xffff };
                let v4s = [0, 1].map(|n| v4(n, 100).encode());
                let v6s = [0, 1].map(|n| v6(n, 100).encode());
                assert_eq!(deliveries(&mut tunnel.clone(), v4s), 1, "{tunnel:?}");
                assert_eq!(deliveries(&mut tunnel.clone(), v6s), 1, "{tunnel:?}");
            }
        }
    }

    #[test]
    fn what_is_no_ip_stays_outside() {
        let mut rng = Rng::new(2);
        let mut tunnel = Tunnel::new(&mut rng);
        for frame in [vec![1; 60], vec![1; 13]] {
            assert_eq!(tunnel.around(&mut rng, frame.clone()), frame);
        }
    }
}
