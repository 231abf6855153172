//! The way of a frame through the kernel's receive handlers: candidate for a merge, or bypass.
//!
//!   ethertype ─► [tag]* ─► [PPPoE] ─► IPv4, IPv6 ─► [one tunnel ─► IPv4, IPv6] ─► TCP: candidate
//!
//! Follows: kernel 7.3 `inet_gro_receive`, `ipv6_gro_receive`, `vlan_gro_receive`,
//! `eth_gro_receive`, `pppoe_gro_receive`, `gre_gro_receive`, `ipip_gro_receive`,
//! `tcp4_gro_receive`, `udp4_gro_receive`.
//!
//! With tunnels and PPPoE off this says, in the terms of the frame metadata, what hardware
//! computes:
//! - reaches transport = (no in-band tag or `vlan_gro`) and l3_kind is not none and l4_kind is not
//!   none and the least transport header (20, 8) is visible and, with IPv4: IHL is 5 and the header
//!   verdict is good.
//! - if it does, and is not soft-flushed: entered as verified => stays so and passes; transport
//!   verdict good or absent => becomes verified, level 0, and passes; else (bad) does not pass.
//!   Soft-flushed: passes unverified.
//! - candidate = passes and l4_kind is TCP and the whole TCP header is visible with data offset >=
//!   5.
//!
//! A bypass never touches what is held: it overtakes. A wrong least header is not summed (the
//! kernel sums even a cut one, which is right only by chance).
//!
//! Invariants: the description above is what the walk does (test:
//! `plain_frames_follow_from_the_metadata`); fields behind the visible bytes bypass (test:
//! `every_prefix_of_a_frame_is_walked`).

use groove_spec::stages::coalesce::{GSO_GRE, GSO_IPXIP4, GSO_IPXIP6, GSO_TCPV4, GSO_TCPV6};

use crate::bytes::{fold, sum, u16_at};
use crate::stages::admit::Csum;
use crate::stages::parse::{
    ETHERTYPE_IPV4, ETHERTYPE_IPV6, TAGS_MAX, TCP, UDP, VLAN_TPIDS, skip_extensions,
    tcp_header_bytes,
};
use crate::{Config, GivenCsum};

/// Ethertype of PPPoE session frames.
pub const ETHERTYPE_PPPOE: u16 = 0x8864;
/// Ethertype of Ethernet inside GRE (transparent Ethernet bridging).
pub const ETHERTYPE_TEB: u16 = 0x6558;
/// Handlers that may call each other (`GRO_RECURSION_LIMIT`).
const CALLS_MAX: usize = 15;

/// A header whose length field changes with the merged length; where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthField {
    /// IPv4 total length and header checksum.
    Ipv4(usize),
    /// IPv6 payload length.
    Ipv6(usize),
    /// PPPoE length.
    Pppoe(usize),
}

/// A frame that reaches the TCP merge decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Bits of the frame that must be equal in all frames of a flow.
    pub identity: Vec<u8>,
    /// Position of the IP header that is compared at merge time: outer or only, then inner.
    pub networks: Vec<usize>,
    /// Headers with a length, outermost first.
    pub lengths: Vec<LengthField>,
    /// `GSO_*` bits known from the headers alone.
    pub gso_type: u16,
    /// A tunnel.
    pub encapsulation: bool,
    /// Position of the TCP header.
    pub tcp_off: usize,
    /// Position of the payload.
    pub payload_off: usize,
    /// Padding, truncation or the reserved fragment bit, in any IP header.
    pub soft_flush: bool,
}

struct Walk<'a> {
    config: &'a Config,
    frame: &'a [u8],
    head: &'a [u8],
    at: usize,
    calls: usize,
    tags: usize,
    addresses: u64,
    csum: Csum,
    found: Candidate,
}

/// Walks the frame, of which the first `visible` bytes may hold headers. Gives the candidate, or
/// `None` for a bypass, and the checksum state that the frame leaves with.
pub fn run(config: &Config, frame: &[u8], visible: usize, csum: Csum) -> (Option<Candidate>, Csum) {
    let found = Candidate {
        identity: vec![0xff; 14],
        networks: Vec::new(),
        lengths: Vec::new(),
        gso_type: 0,
        encapsulation: false,
        tcp_off: 0,
        payload_off: 0,
        soft_flush: false,
    };
    let head = &frame[..visible.min(frame.len())];
    let mut walk =
        Walk { config, frame, head, at: 14, calls: 0, tags: 0, addresses: 0, csum, found };
    let reached = u16_at(head, 12).and_then(|ethertype| walk.ethertype(ethertype)).is_some();
    (reached.then_some(walk.found), walk.csum)
}

// Each handler gives `None` for a bypass.
impl Walk<'_> {
    fn bytes(&self, len: usize) -> Option<&[u8]> {
        self.head.get(self.at..self.at + len)
    }

    /// The frame's bytes in this range belong to the flow's identity, where `bits` are set.
    fn same(&mut self, at: usize, bits: &[u8]) {
        let identity = &mut self.found.identity;
        identity.resize(identity.len().max(at + bits.len()), 0);
        identity[at..at + bits.len()].copy_from_slice(bits);
    }

    fn call(&mut self) -> Option<()> {
        self.calls += 1;
        (self.calls <= CALLS_MAX).then_some(())
    }

    fn ethertype(&mut self, ethertype: u16) -> Option<()> {
        self.call()?;
        let options = &self.config.options;
        match ethertype {
            ETHERTYPE_IPV4 => self.ipv4(),
            ETHERTYPE_IPV6 => self.ipv6(),
            ETHERTYPE_TEB if options.tunnels => self.ethernet(),
            ETHERTYPE_PPPOE if options.pppoe => self.pppoe(),
            tpid if options.vlan_gro && VLAN_TPIDS.contains(&tpid) => self.vlan(),
            _ => None,
        }
    }

    /// `vlan_gro_receive` (7.3): TCI and inner ethertype are compared.
    fn vlan(&mut self) -> Option<()> {
        let inner = u16_at(self.bytes(4)?, 2)?;
        if self.config.max_header_bytes.is_some() && self.tags == TAGS_MAX {
            return None;
        }
        self.tags += 1;
        self.same(self.at, &[0xff; 4]);
        self.at += 4;
        self.ethertype(inner)
    }

    /// `eth_gro_receive` (7.3).
    fn ethernet(&mut self) -> Option<()> {
        let inner = u16_at(self.bytes(14)?, 12)?;
        self.same(self.at, &[0xff; 14]);
        self.at += 14;
        self.ethertype(inner)
    }

    /// RFC 2516 §4 and `pppoe_gro_receive` (7.3): version and type 1, code 0, a length that ends
    /// with the frame.
    fn pppoe(&mut self) -> Option<()> {
        let header = self.bytes(8)?;
        let rest = self.frame.len() - self.at - 6;
        if u16_at(header, 0)? != 0x1100 || usize::from(u16_at(header, 4)?) != rest {
            return None;
        }
        let ethertype = match u16_at(header, 6)? {
            0x0021 => ETHERTYPE_IPV4,
            0x0057 => ETHERTYPE_IPV6,
            _ => return None,
        };
        self.same(self.at, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0xff, 0xff]);
        self.found.lengths.push(LengthField::Pppoe(self.at));
        self.at += 8;
        self.ethertype(ethertype)
    }

    /// `inet_gro_receive` (7.3). TTL, TOS, DF and identification are no part of the flow's
    /// identity.
    fn ipv4(&mut self) -> Option<()> {
        let header = self.bytes(20)?;
        let protocol = header[9];
        let flags = u16_at(header, 6)?;
        let fragment = flags & 0x3fff != 0;
        let bad = fold(sum(header)) != 0xffff;
        if !self.handled(protocol) || header[0] != 0x45 || fragment || bad {
            return None;
        }
        let wrong_length = usize::from(u16_at(header, 2)?) != self.frame.len() - self.at;
        self.addresses = sum(&header[12..]);
        self.found.soft_flush |= wrong_length || flags & 0x8000 != 0;
        self.same(self.at + 9, &[0xff]);
        self.same(self.at + 12, &[0xff; 8]);
        self.network(LengthField::Ipv4(self.at), GSO_TCPV4);
        self.at += 20;
        self.transport(protocol, GSO_IPXIP4)
    }

    /// `ipv6_gro_receive` (7.3). The version nibble is not checked: it is part of the flow's
    /// identity, as are flow label, addresses, first next header and every byte of the walked
    /// extension headers.
    fn ipv6(&mut self) -> Option<()> {
        let header = self.bytes(40)?;
        let first = header[6];
        let wrong_length = usize::from(u16_at(header, 4)?) != self.frame.len() - self.at - 40;
        self.addresses = sum(&header[8..]);
        let (protocol, end) = skip_extensions(self.head, first, self.at + 40);
        if !self.handled(protocol) {
            return None;
        }
        self.found.soft_flush |= wrong_length;
        self.same(self.at, &[0xf0, 0x0f, 0xff, 0xff]);
        self.same(self.at + 6, &[0xff]);
        self.same(self.at + 8, &vec![0xff; end - self.at - 8]);
        self.network(LengthField::Ipv6(self.at), GSO_TCPV6);
        self.at = end;
        self.transport(protocol, GSO_IPXIP6)
    }

    /// The last IP header in front of a tunnel, and the last one of all, are compared at merge time
    /// (`network_offsets`, 6.12).
    fn network(&mut self, header: LengthField, tcp_type: u16) {
        self.found.networks.truncate(usize::from(self.found.encapsulation));
        self.found.networks.push(self.at);
        self.found.lengths.push(header);
        self.found.gso_type = self.found.gso_type & !(GSO_TCPV4 | GSO_TCPV6) | tcp_type;
    }

    /// Protocols with a receive handler.
    fn handled(&self, protocol: u8) -> bool {
        match protocol {
            TCP | UDP => true,
            4 | 41 | 47 => self.config.options.tunnels,
            _ => false,
        }
    }

    fn transport(&mut self, protocol: u8, tunnel_type: u16) -> Option<()> {
        self.call()?;
        match protocol {
            TCP => self.tcp(),
            UDP => self.udp(),
            4 => self.encapsulate(tunnel_type).and_then(|()| self.ipv4()),
            41 => self.encapsulate(tunnel_type).and_then(|()| self.ipv6()),
            47 => self.gre(),
            _ => None,
        }
    }

    /// One level of encapsulation (`encap_mark`, 7.3); the GSO type goes by the version of the
    /// outer header.
    fn encapsulate(&mut self, gso_type: u16) -> Option<()> {
        if self.found.encapsulation {
            return None;
        }
        self.found.encapsulation = true;
        self.found.gso_type |= gso_type;
        Some(())
    }

    /// RFC 2784 §2, RFC 2890 §2 and `gre_gro_receive` (7.3): version 0, at most checksum and key.
    /// The key is compared where it lies without a checksum: with both, the kernel compares
    /// checksum and reserved word.
    fn gre(&mut self) -> Option<()> {
        self.encapsulate(GSO_GRE)?;
        let header = self.bytes(4)?;
        let (flags, inner) = (u16_at(header, 0)?, u16_at(header, 2)?);
        if flags & !0xa000 != 0 || !self.has_handler(inner) {
            return None;
        }
        let (has_csum, has_key) = (flags & 0x8000 != 0, flags & 0x2000 != 0);
        let end = self.at + 4 + 4 * (usize::from(has_csum) + usize::from(has_key));
        self.head.get(..end)?;
        if has_csum && !self.found.soft_flush && !self.verify(0, false) {
            return None;
        }
        self.same(self.at, &[0xff; 4]);
        if has_key {
            self.same(self.at + 4, &[0xff; 4]);
        }
        self.at = end;
        self.ethertype(inner)
    }

    fn has_handler(&self, ethertype: u16) -> bool {
        let options = &self.config.options;
        match ethertype {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 | ETHERTYPE_TEB => true,
            ETHERTYPE_PPPOE => options.pppoe,
            tpid => options.vlan_gro && VLAN_TPIDS.contains(&tpid),
        }
    }

    /// `udp4_gro_receive` (7.3) without a socket: verified, never merged. Field 0 counts as right.
    fn udp(&mut self) -> Option<()> {
        let no_csum = self.bytes(8)?[6..8] == [0, 0];
        if !self.found.soft_flush {
            self.verify(self.addresses + u64::from(UDP), no_csum);
        }
        None
    }

    /// `tcp4_gro_receive` (7.3): the checksum is verified before the header is looked at.
    fn tcp(&mut self) -> Option<()> {
        self.bytes(20)?;
        if !self.found.soft_flush && !self.verify(self.addresses + u64::from(TCP), false) {
            return None;
        }
        self.found.payload_off = self.at + tcp_header_bytes(self.head, self.at)?;
        self.found.tcp_off = self.at;
        self.same(self.at, &[0xff; 4]);
        Some(())
    }

    /// `skb_gro_checksum_validate` (7.3). Needed unless a transmit-side state covers this position,
    /// or a verified level is left; the pseudo-header has the bytes that are there, not the IP
    /// length. `pseudo` is 0 for GRE, else addresses and protocol.
    fn verify(&mut self, pseudo: u64, accepted: bool) -> bool {
        let rest = &self.frame[self.at..];
        let length = if pseudo == 0 { 0 } else { rest.len() as u64 };
        let covered = matches!(self.csum.state,
            GivenCsum::Partial { start, .. } if usize::from(start) >= self.at);
        let needed = !covered && self.csum.credit == 0 && !accepted;
        if needed && fold(pseudo + length + sum(rest)) != 0xffff {
            return false;
        }
        self.accept();
        true
    }

    /// `skb_gro_incr_csum_unnecessary` (7.3): uses up a verified level, or adds one.
    fn accept(&mut self) {
        match self.csum.state {
            _ if self.csum.credit > 0 => self.csum.credit -= 1,
            GivenCsum::Unnecessary => self.csum.level = (self.csum.level + 1).min(3),
            GivenCsum::None => self.csum.state = GivenCsum::Unnecessary,
            GivenCsum::Partial { .. } => {}
        }
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
