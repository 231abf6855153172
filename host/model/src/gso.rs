//! The inverse of coalescing: cuts a merged delivery into the frames it was made of.
//!
//! Follows: kernel `tcp_gso_segment`, `inet_gso_segment`, `ipv6_gso_segment`, `gre_gso_segment`
//! (6.12, 7.3); RFC 9293 §3.1, RFC 6864 §4.1.
//!
//! - Payload in pieces of `gso_size`; sequence number grows by it; FIN and PSH on the last alone;
//!   CWR on the first alone unless ACCECN; IPv4 identification grows by 1 unless fixed.
//! - Lengths, IPv4 header checksum and TCP checksum are computed anew from the bytes.
//! - 6.12 knows one fixed bit, of the inner or only header: an outer one always increments.
//!
//! Segments are frames as they reached coalesce: a stripped tag is given back by the caller.
//! Invariant: exact for everything that merges, but the exceptions named in `tests/tests/gso.rs`.
//! Not here: a GRE checksum. A merged delivery has the type GRE, never GRE_CSUM, so the kernel
//! leaves the first frame's in all segments, and so does this.

use groove_spec::stages::coalesce::{GSO_ACCECN, GSO_FIXEDID, GSO_FIXEDID_INNER};
use groove_spec::{Delivery, Profile};

use crate::bytes::{fold, put_u16, sum, u16_at, u32_at};
use crate::stages::coalesce::path::{ETHERTYPE_PPPOE, ETHERTYPE_TEB};
use crate::stages::parse::{
    ETHERTYPE_IPV4, ETHERTYPE_IPV6, TCP, VLAN_TPIDS, skip_extensions, tcp_header_bytes,
};

/// A delivery that says it is merged, but whose bytes or sizes cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentError {
    /// The headers do not lead to TCP.
    Headers,
    /// Segment size and count do not fit the payload.
    Sizes,
}

impl std::fmt::Display for SegmentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Headers => "the headers of a merged delivery do not lead to TCP",
            Self::Sizes => "gso_size and gso_segs do not fit the payload",
        })
    }
}

impl std::error::Error for SegmentError {}

/// A header whose fields differ between segments, and where it is.
#[derive(Clone, Copy, Debug)]
enum Header {
    Pppoe(usize),
    Ipv4 { at: usize, fixed: bool },
    Ipv6(usize),
}

/// Frames of a delivery, by the rules of 7.3 (those of 6.18 as well).
pub fn segment(delivery: &Delivery) -> Result<Vec<Vec<u8>>, SegmentError> {
    segment_as(Profile::Linux73, delivery)
}

/// Frames of a delivery, by the rules of a profile. A delivery of one frame is that frame.
pub fn segment_as(profile: Profile, delivery: &Delivery) -> Result<Vec<Vec<u8>>, SegmentError> {
    if delivery.gso_segs == 0 {
        return Ok(vec![delivery.bytes.clone()]);
    }
    let (headers, tcp_off) = headers(profile, delivery).ok_or(SegmentError::Headers)?;
    let bytes = &delivery.bytes;
    let header_bytes = tcp_header_bytes(bytes, tcp_off).ok_or(SegmentError::Headers)?;
    let (head, payload) = bytes.split_at(tcp_off + header_bytes);
    let size = usize::from(delivery.gso_size);
    if size == 0 || payload.len().div_ceil(size) != usize::from(delivery.gso_segs) {
        return Err(SegmentError::Sizes);
    }
    let last = usize::from(delivery.gso_segs) - 1;
    let accecn = delivery.gso_type & GSO_ACCECN != 0;
    let pieces = payload.chunks(size).enumerate();
    Ok(pieces
        .map(|(i, piece)| {
            let mut frame = [head, piece].concat();
            tcp(&mut frame, tcp_off, i * size, i == 0 || accecn, i == last);
            finish(&mut frame, &headers, tcp_off, i as u16);
            frame
        })
        .collect())
}

/// Sequence number and flags of one segment (`tcp_gso_segment`, 7.3).
fn tcp(frame: &mut [u8], at: usize, offset: usize, keeps_cwr: bool, is_last: bool) {
    let seq = u32_at(frame, at + 4).unwrap_or(0).wrapping_add(offset as u32);
    frame[at + 4..at + 8].copy_from_slice(&seq.to_be_bytes());
    if !is_last {
        frame[at + 13] &= !0x09;
    }
    if !keeps_cwr {
        frame[at + 13] &= !0x80;
    }
}

/// Lengths, identifications and checksums of one segment. The innermost IP header's addresses are
/// those of the TCP checksum.
fn finish(frame: &mut [u8], headers: &[Header], tcp_off: usize, number: u16) {
    let total = frame.len();
    let mut tcp_done = false;
    for header in headers.iter().rev() {
        match *header {
            Header::Pppoe(at) => put_u16(frame, at + 4, (total - at - 6) as u16),
            Header::Ipv4 { at, fixed } => {
                let id = u16_at(frame, at + 4).unwrap_or(0);
                put_u16(frame, at + 2, (total - at) as u16);
                put_u16(frame, at + 4, if fixed { id } else { id.wrapping_add(number) });
                put_u16(frame, at + 10, 0);
                let checksum = !fold(sum(&frame[at..at + 20]));
                put_u16(frame, at + 10, checksum);
            }
            Header::Ipv6(at) => put_u16(frame, at + 4, (total - at - 40) as u16),
        }
        if !tcp_done {
            let addresses = match *header {
                Header::Ipv4 { at, .. } => sum(&frame[at + 12..at + 20]),
                Header::Ipv6(at) => sum(&frame[at + 8..at + 40]),
                _ => continue,
            };
            tcp_checksum(frame, tcp_off, addresses);
            tcp_done = true;
        }
    }
}

/// RFC 9293 §3.1 "Checksum".
fn tcp_checksum(frame: &mut [u8], at: usize, addresses: u64) {
    put_u16(frame, at + 16, 0);
    let length = (frame.len() - at) as u64;
    let checksum = !fold(addresses + u64::from(TCP) + length + sum(&frame[at..]));
    put_u16(frame, at + 16, checksum);
}

/// Headers on the way to TCP, outermost first, and where TCP is.
fn headers(profile: Profile, delivery: &Delivery) -> Option<(Vec<Header>, usize)> {
    let bytes = &delivery.bytes;
    let mut list = Vec::new();
    let (mut at, mut ethertype) = (14, u16_at(bytes, 12)?);
    let mut inside = false;
    loop {
        let protocol = match ethertype {
            tpid if VLAN_TPIDS.contains(&tpid) => {
                ethertype = u16_at(bytes, at + 2)?;
                at += 4;
                continue;
            }
            ETHERTYPE_TEB => {
                ethertype = u16_at(bytes, at + 12)?;
                at += 14;
                continue;
            }
            ETHERTYPE_PPPOE => {
                list.push(Header::Pppoe(at));
                let ipv4 = u16_at(bytes, at + 6)? == 0x0021;
                ethertype = if ipv4 { ETHERTYPE_IPV4 } else { ETHERTYPE_IPV6 };
                at += 8;
                continue;
            }
            ETHERTYPE_IPV4 => {
                list.push(Header::Ipv4 { at, fixed: is_fixed(profile, delivery, inside) });
                at += 20;
                *bytes.get(at - 11)?
            }
            ETHERTYPE_IPV6 => {
                list.push(Header::Ipv6(at));
                let (protocol, end) = skip_extensions(bytes, *bytes.get(at + 6)?, at + 40);
                at = end;
                protocol
            }
            _ => return None,
        };
        match protocol {
            TCP => return Some((list, at)),
            4 => ethertype = ETHERTYPE_IPV4,
            41 => ethertype = ETHERTYPE_IPV6,
            47 => {
                let flags = u16_at(bytes, at)?;
                ethertype = u16_at(bytes, at + 2)?;
                at += 4 + 4 * (usize::from(flags >> 15 & 1) + usize::from(flags >> 13 & 1));
            }
            _ => return None,
        }
        inside = true;
    }
}

/// Whether the identification of the outer or only, or of the inner header, is fixed. 6.12 has one
/// bit, for the inner or only header; an outer one always increments.
fn is_fixed(profile: Profile, delivery: &Delivery, inside: bool) -> bool {
    let bit = match (profile, delivery.encapsulation) {
        (Profile::Linux612, true) if !inside => return false,
        (Profile::Linux612, _) | (_, false) => GSO_FIXEDID,
        (_, true) if inside => GSO_FIXEDID_INNER,
        (_, true) => GSO_FIXEDID,
    };
    delivery.gso_type & bit != 0
}
