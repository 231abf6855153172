//! The merge decision: may this candidate join this held session of its flow?
//!
//! Follows: kernel `tcp_gro_receive`, `inet_gro_flush`, `ipv6_gro_flush`,
//! `gro_receive_network_flush` and the refusals of `skb_gro_receive`, 6.12, 6.18 and 7.3. RFC 9293
//! §3.1, RFC 3168 §6.1.2 (CWR), RFC 6864 §4.1 (id).
//!
//! The first reason that holds, in this order, is the session's end reason: cwr, flags-differ,
//! ack-differ, options-differ, network-differ, ip-id, empty, larger, sequence, soft-flush, limit.
//!
//! | profile | CWR | fixed id with DF=0 | outer id of a tunnel |
//! |---|---|---|---|
//! | 6.12 | new one with CWR never merges; not compared | no | DF=1: ignored; DF=0: increments |
//! | 6.18 | new one with CWR never merges; compared | yes | as the inner one |
//! | 7.3 | compared like any other flag | yes | as the inner one |
//!
//! Decisions:
//! - Compared word: TCP bytes 12 to 15 (data offset, reserved bits, flags, window) without FIN and
//!   PSH. Not compared: urgent pointer, checksums, IP lengths.
//! - Identification: distance to the *first* frame's. With one segment held and distance 0 the
//!   header becomes fixed. Then the distance must be 0 if fixed, else the number of segments held.
//! - An IP header goes by its version nibble, as in the kernel: under 0x86dd with a nibble other
//!   than 6 the IPv4 rules read TOS (byte 1), TTL (byte 8), DF (byte 6, bit 6) and identification
//!   (bytes 4 and 5: the payload length) from those positions. So do hold and merge such frames on
//!   hardware: IPv4 fields by position.
//!
//! Invariant: total on any two frames (test: `decides_on_any_two_headers`).

use groove_spec::{EndReason, MERGED_BYTES_MAX, Profile};

use super::path::Candidate;
use crate::bytes::{u16_at, u32_at};

const FIN: u32 = 0x0001_0000;
const PSH: u32 = 0x0008_0000;
const CWR: u32 = 0x0080_0000;

/// Identification of the outer or only IPv4 header is fixed.
pub const FIXED: u8 = 1 << 0;
/// Identification of the inner IPv4 header is fixed.
pub const FIXED_INNER: u8 = 1 << 1;

/// What the decision needs of a held session.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// Bytes so far: headers of the first frame, payload of all.
    pub bytes: &'a [u8],
    /// Position of the payload.
    pub payload_off: usize,
    /// Segments so far.
    pub segs: u16,
    /// Payload of the first segment.
    pub gso_size: usize,
    /// `FIXED` bits.
    pub fixed: u8,
}

/// `Ok`: it merges, and these are the `FIXED` bits from now on. `Err`: the session ends for this
/// reason.
pub fn decide(
    profile: Profile,
    held: &Held,
    new: &Candidate,
    frame: &[u8],
) -> Result<u8, EndReason> {
    tcp_header(profile, held.bytes, new, frame)?;
    let fixed = network_headers(profile, held, new, frame)?;
    let payload = frame.len() - new.payload_off;
    let held_payload = held.bytes.len() - held.payload_off;
    let next = seq(held.bytes, new).wrapping_add(held_payload as u32);
    let first_reason = [
        (payload == 0, EndReason::Empty),
        (payload > held.gso_size, EndReason::Larger),
        (seq(frame, new) != next, EndReason::Sequence),
        (new.soft_flush, EndReason::SoftFlush),
        // Everything behind the MAC header counts: an in-band tag costs 4 bytes, PPPoE 8.
        (held.bytes.len() - 14 + payload > MERGED_BYTES_MAX, EndReason::Limit),
    ];
    match first_reason.into_iter().find(|(holds, _)| *holds) {
        Some((_, reason)) => Err(reason),
        None => Ok(fixed),
    }
}

fn seq(bytes: &[u8], new: &Candidate) -> u32 {
    u32_at(bytes, new.tcp_off + 4).unwrap_or(0)
}

/// `tcp_gro_receive` (6.12, 6.18, 7.3): flags and window, acknowledgement, options.
fn tcp_header(
    profile: Profile,
    held: &[u8],
    new: &Candidate,
    frame: &[u8],
) -> Result<(), EndReason> {
    let at = new.tcp_off;
    let word = u32_at(frame, at + 12).unwrap_or(0);
    if profile != Profile::Linux73 && word & CWR != 0 {
        return Err(EndReason::CwrDiffer);
    }
    let ignored = if profile == Profile::Linux612 { FIN | PSH | CWR } else { FIN | PSH };
    if (word ^ u32_at(held, at + 12).unwrap_or(0)) & !ignored != 0 {
        return Err(EndReason::FlagsDiffer);
    }
    if u32_at(frame, at + 8) != u32_at(held, at + 8) {
        return Err(EndReason::AckDiffer);
    }
    // Equal data offsets: the option areas have one length.
    if frame.get(at + 20..new.payload_off) != held.get(at + 20..new.payload_off) {
        return Err(EndReason::OptionsDiffer);
    }
    Ok(())
}

/// What an IP header says about merging, by its version nibble.
struct Network {
    /// Equal in all frames of a session: TTL, TOS and DF, or hop limit and traffic class.
    equal: (u8, u8, bool),
    /// IPv4 identification.
    id: Option<u16>,
}

fn network(bytes: &[u8], at: usize) -> Network {
    let byte = |i: usize| bytes.get(at + i).copied().unwrap_or(0);
    if byte(0) >> 4 == 6 {
        Network { equal: (byte(7), byte(0) << 4 | byte(1) >> 4, false), id: None }
    } else {
        let df = byte(6) & 0x40 != 0;
        Network { equal: (byte(8), byte(1), df), id: Some(u16_at(bytes, at + 4).unwrap_or(0)) }
    }
}

/// `gro_receive_network_flush` (6.12, 6.18, 7.3): outer or only header first, then the inner one.
fn network_headers(
    profile: Profile,
    held: &Held,
    new: &Candidate,
    frame: &[u8],
) -> Result<u8, EndReason> {
    let headers = || new.networks.iter().map(|at| (network(held.bytes, *at), network(frame, *at)));
    if headers().any(|(first, new)| first.equal != new.equal) {
        return Err(EndReason::NetworkDiffer);
    }
    let mut fixed = held.fixed;
    for (level, (first, this)) in headers().enumerate() {
        let (Some(first_id), Some(id)) = (first.id, this.id) else { continue };
        let outer = new.encapsulation && level == 0;
        let df = this.equal.2;
        if profile == Profile::Linux612 && outer && df {
            continue;
        }
        let bit = fixed_bit(profile, level);
        let distance = id.wrapping_sub(first_id);
        let may_fix = df || profile != Profile::Linux612;
        if held.segs == 1 && distance == 0 && may_fix {
            fixed |= bit;
        }
        let expected = if fixed & bit != 0 { 0 } else { held.segs };
        if distance != expected {
            return Err(EndReason::IpId);
        }
    }
    Ok(fixed)
}

/// 6.12 has one bit for all headers.
fn fixed_bit(profile: Profile, level: usize) -> u8 {
    if level == 0 || profile == Profile::Linux612 { FIXED } else { FIXED_INNER }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
