//! checksum: verdicts on the IPv4 header, TCP and UDP checksums.
//!
//! Follows: RFC 1071 §1; RFC 791 §3.1 "Header Checksum"; RFC 9293 §3.1 "Checksum"; RFC 768; RFC
//! 8200 §8.1. These are a NIC's verdicts: the sum covers the IP length, so padding does not change
//! it.
//!
//! Decisions, the same in hardware:
//! - Header: IPv4 with all its bytes (options included) visible; else not applicable. IPv6 has
//!   none.
//! - Transport: `l4_kind` is TCP or UDP, the least header (20, 8) is visible, `l3_off + ip_len` is
//!   inside the frame, and `ip_len` leaves at least that header. Else not applicable. The data
//!   offset plays no part.
//! - The pseudo-header length is `ip_len` minus the IP header (walked extension headers included).
//! - UDP with checksum field 0 is absent, also over IPv6 (B23).
//!
//! Invariant: carries are folded to the end (tests: `header_sums_with_many_carries_are_good`).

use groove_spec::Verdict;

use super::parse::{L3Kind, L4Kind, Parsed, TCP, UDP};
use crate::bytes::{fold, sum};

/// Both verdicts of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// IPv4 header.
    pub l3: Verdict,
    /// TCP or UDP.
    pub l4: Verdict,
}

/// Verdicts of `frame`, whose headers are where `parsed` says.
pub fn run(frame: &[u8], parsed: &Parsed) -> Verdicts {
    Verdicts { l3: header(frame, parsed), l4: transport(frame, parsed) }
}

fn good_if(ok: bool) -> Verdict {
    if ok { Verdict::Good } else { Verdict::Bad }
}

fn header(frame: &[u8], parsed: &Parsed) -> Verdict {
    if parsed.l3_kind != L3Kind::Ipv4 || parsed.l4_off > parsed.visible_bytes {
        return Verdict::NotApplicable;
    }
    good_if(fold(sum(&frame[parsed.l3_off..parsed.l4_off])) == 0xffff)
}

fn transport(frame: &[u8], parsed: &Parsed) -> Verdict {
    let (protocol, header_bytes) = match parsed.l4_kind {
        L4Kind::Tcp => (TCP, 20),
        L4Kind::Udp => (UDP, 8),
        L4Kind::None => return Verdict::NotApplicable,
    };
    let end = parsed.l3_off + parsed.ip_len;
    if parsed.l4_off + header_bytes > end.min(parsed.visible_bytes) || end > frame.len() {
        return Verdict::NotApplicable;
    }
    if protocol == UDP && frame[parsed.l4_off + 6..parsed.l4_off + 8] == [0, 0] {
        return Verdict::Absent;
    }
    let segment = &frame[parsed.l4_off..end];
    let pseudo = addresses(frame, parsed) + u64::from(protocol) + segment.len() as u64;
    good_if(fold(pseudo + sum(segment)) == 0xffff)
}

/// Sum of both addresses.
pub fn addresses(frame: &[u8], parsed: &Parsed) -> u64 {
    match parsed.l3_kind {
        L3Kind::None => 0,
        L3Kind::Ipv4 => sum(&frame[parsed.l3_off + 12..parsed.l3_off + 20]),
        L3Kind::Ipv6 => sum(&frame[parsed.l3_off + 8..parsed.l3_off + 40]),
    }
}

#[cfg(test)]
#[path = "checksum_tests.rs"]
mod tests;
