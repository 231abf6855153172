//! The merged header: what a session of more than one frame looks like when it is delivered.
//!
//! Follows: kernel `inet_gro_complete`, `ipv6_gro_complete`, `tcp4_gro_complete`,
//! `tcp6_gro_complete`, `tcp_gro_complete`, `ipip_gro_complete`, `gre_gro_complete`,
//! `pppoe_gro_complete` (7.3); RFC 1624 §3.
//!
//! - IPv4 total length (0 above 65,535) and header checksum, updated step by step as
//!   `csum_replace2` does.
//! - IPv6 payload length (0 above 65,535); PPPoE length. Of every header on the way, outer and
//!   inner.
//! - FIN and PSH are OR-ed while merging; all else is the first frame's. A GRE checksum stays as it
//!   was: stale.
//! - TCP checksum: folded, not inverted sum of addresses, 6 and TCP length (header and payload).
//!   State partial.
//! - GSO type: TCPV4 or TCPV6 of the innermost header; fixed-id bits only with TCPV4; ECN (6.12) or
//!   ACCECN if the first segment has CWR.

use groove_spec::stages::coalesce::{
    GSO_ACCECN, GSO_ECN, GSO_FIXEDID, GSO_FIXEDID_INNER, GSO_TCPV4,
};
use groove_spec::{CsumState, Delivery, Profile, TCP_CSUM_OFFSET_BYTES};

use super::decide::{FIXED, FIXED_INNER};
use super::path::{Candidate, LengthField};
use crate::bytes::{fold, put_u16, replace16, sum, u16_at};
use crate::stages::parse::TCP;

/// Turns the first frame's headers, in front of the payload of all, into those of the merged frame.
pub fn finish(profile: Profile, flow: &Candidate, fixed: u8, delivery: &mut Delivery) {
    for field in &flow.lengths {
        set_length(&mut delivery.bytes, *field);
    }
    let length = delivery.bytes.len() - flow.tcp_off;
    let addresses = match flow.lengths.last() {
        Some(LengthField::Ipv4(at)) => sum(&delivery.bytes[at + 12..at + 20]),
        Some(LengthField::Ipv6(at)) => sum(&delivery.bytes[at + 8..at + 40]),
        _ => 0,
    };
    let pseudo = fold(addresses + u64::from(TCP) + length as u64);
    put_u16(&mut delivery.bytes, flow.tcp_off + TCP_CSUM_OFFSET_BYTES, pseudo);
    delivery.csum = CsumState::Partial;
    delivery.csum_level = 0;
    delivery.csum_start = flow.tcp_off as u16;
    delivery.csum_offset = TCP_CSUM_OFFSET_BYTES as u16;
    delivery.encapsulation = flow.encapsulation;
    delivery.gso_type = gso_type(profile, flow, fixed, delivery.bytes[flow.tcp_off + 13]);
}

fn set_length(bytes: &mut [u8], field: LengthField) {
    // A length that does not fit is 0; the merge limit keeps it from happening.
    let behind = |at: usize| u16::try_from(bytes.len() - at).unwrap_or(0);
    match field {
        LengthField::Ipv4(at) => {
            let length = behind(at);
            let old = u16_at(bytes, at + 2).unwrap_or(0);
            let checksum = u16_at(bytes, at + 10).unwrap_or(0);
            put_u16(bytes, at + 2, length);
            put_u16(bytes, at + 10, replace16(checksum, old, length));
        }
        LengthField::Ipv6(at) => {
            let length = behind(at + 40);
            put_u16(bytes, at + 4, length);
        }
        LengthField::Pppoe(at) => {
            let length = behind(at + 6);
            put_u16(bytes, at + 4, length);
        }
    }
}

fn gso_type(profile: Profile, flow: &Candidate, fixed: u8, tcp_flags: u8) -> u16 {
    let mut kind = flow.gso_type;
    // `tcp6_gro_complete` does not report fixed identifications: so SIT loses an outer one.
    if kind & GSO_TCPV4 != 0 {
        for (bit, name) in [(FIXED, GSO_FIXEDID), (FIXED_INNER, GSO_FIXEDID_INNER)] {
            kind |= if fixed & bit != 0 { name } else { 0 };
        }
    }
    if tcp_flags & 0x80 != 0 {
        kind |= if profile == Profile::Linux612 { GSO_ECN } else { GSO_ACCECN };
    }
    kind
}
