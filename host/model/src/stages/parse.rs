//! parse: finds the headers of a frame.
//!
//!   MAC ─► up to 3 tags ─► IPv4 (options) or IPv6 (headers 0, 43, 60) ─► TCP or UDP
//!
//! Follows: IEEE 802.3 and 802.1Q (0x8100, 0x88a8), RFC 791 §3.1, RFC 8200 §3 and §4, RFC 9293
//! §3.1, RFC 768.
//!
//! What is visible: the first `max_header_bytes` (128) received bytes; a stripped tag took 4 of
//! them. A field behind that, or behind the frame, is not readable. With `trim_pad` the bytes
//! behind the IP length do not exist, when 20 (IPv4) or 40 (IPv6) <= IP length <= bytes there:
//! headers end there as well.
//!
//! Decisions, the same in hardware:
//! - A tag counts if its 4 bytes are readable. A fourth tag ends the parse: no IP.
//! - IPv4: ethertype 0x0800, 20 bytes readable, version 4, IHL >= 5. Else no IP.
//! - IPv6: ethertype 0x86dd and 40 bytes readable, whatever the version nibble: the kernel
//!   dispatches by ethertype alone. (Rss gives no hash unless the nibble is 6.)
//! - Extension headers 0, 43, 60 are walked while wholly readable. Where one is not, or another
//!   header comes, the walk ends there. Header 44 makes a fragment, also with offset 0 and no more
//!   fragments.
//! - `l4_kind` TCP or UDP: the protocol says so, not a fragment, IPv4 options wholly readable, and
//!   the 4 port bytes readable. No more than that: a cut header still has ports to hash.
//! - `hdr_len`: through TCP (20 bytes readable, data offset >= 5, all of it readable) or UDP (8
//!   bytes readable); else through IP (IPv4 options or walked extension headers included) if
//!   readable; else MAC and tags.
//!
//! Invariant: no offset leaves the visible bytes (test: `every_prefix_of_a_frame_parses`).
//! Not here: inner headers. A tunnel or PPPoE is opaque to parse; `coalesce` walks those.

use crate::bytes::u16_at;

/// Tag protocols that count as VLAN tags.
pub const VLAN_TPIDS: [u16; 2] = [0x8100, 0x88a8];
/// Ethertype of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// Ethertype of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;
/// Most in-band tags that hardware parses.
pub const TAGS_MAX: usize = 3;
/// Protocol number of TCP.
pub const TCP: u8 = 6;
/// Protocol number of UDP.
pub const UDP: u8 = 17;

/// Kind of the IP header; codes as in `FRAME_META.l3_kind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L3Kind {
    /// No IP, or its header is not readable.
    #[default]
    None = 0,
    /// IPv4.
    Ipv4 = 1,
    /// IPv6.
    Ipv6 = 2,
}

/// Kind of the transport header; codes as in `FRAME_META.l4_kind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L4Kind {
    /// Neither TCP nor UDP, a fragment, or the ports are not readable.
    #[default]
    None = 0,
    /// TCP.
    Tcp = 1,
    /// UDP.
    Udp = 2,
}

/// Where the headers are. Offsets are in the frame after VLAN strip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Tags left in the frame.
    pub tags: usize,
    /// Kind of the IP header.
    pub l3_kind: L3Kind,
    /// Position behind MAC and tags: of the IP header, if there is one.
    pub l3_off: usize,
    /// Kind of the transport header.
    pub l4_kind: L4Kind,
    /// Position behind the IP header; of the transport header, if there is one.
    pub l4_off: usize,
    /// IPv4 fragment, or IPv6 with a fragment header.
    pub fragment: bool,
    /// Bytes from `l3_off` to the end, by the IP header.
    pub ip_len: usize,
    /// Header bytes to strip.
    pub hdr_len: usize,
    /// Bytes of the frame in which headers were looked for.
    pub visible_bytes: usize,
    /// Bytes that are delivered: less than the frame only with `trim_pad`.
    pub frame_bytes: usize,
}

/// Parses `frame`, of which the first `visible` bytes may hold headers.
pub fn run(frame: &[u8], visible: usize, tags_max: usize, trim_pad: bool) -> Parsed {
    let head = &frame[..visible.min(frame.len())];
    let mut parsed =
        Parsed { visible_bytes: head.len(), frame_bytes: frame.len(), ..Parsed::default() };
    let ethertype = skip_tags(head, tags_max, &mut parsed);
    parsed.hdr_len = parsed.l3_off.min(head.len());
    match ethertype {
        Some(ETHERTYPE_IPV4) => ipv4(head, frame.len(), trim_pad, &mut parsed),
        Some(ETHERTYPE_IPV6) => ipv6(head, frame.len(), trim_pad, &mut parsed),
        _ => {}
    }
    parsed
}

/// IEEE 802.1Q §9.6: a tag is TPID and TCI in front of the ethertype. Gives the ethertype behind
/// the tags.
fn skip_tags(head: &[u8], tags_max: usize, parsed: &mut Parsed) -> Option<u16> {
    parsed.l3_off = 14;
    let mut ethertype = u16_at(head, 12)?;
    while VLAN_TPIDS.contains(&ethertype) {
        if parsed.tags == tags_max {
            return None;
        }
        ethertype = u16_at(head, parsed.l3_off + 2)?;
        parsed.tags += 1;
        parsed.l3_off += 4;
    }
    Some(ethertype)
}

/// Bytes behind the IP length do not exist, if the length is possible at all.
fn trim(frame_bytes: usize, trim_pad: bool, ip_len_min: usize, parsed: &mut Parsed) {
    let available = frame_bytes - parsed.l3_off;
    if trim_pad && (ip_len_min..=available).contains(&parsed.ip_len) {
        parsed.frame_bytes = parsed.l3_off + parsed.ip_len;
        parsed.visible_bytes = parsed.visible_bytes.min(parsed.frame_bytes);
    }
}

/// RFC 791 §3.1.
fn ipv4(head: &[u8], frame_bytes: usize, trim_pad: bool, parsed: &mut Parsed) {
    let Some(ip) = head.get(parsed.l3_off..parsed.l3_off + 20) else { return };
    let header_bytes = usize::from(ip[0] & 0x0f) * 4;
    if ip[0] >> 4 != 4 || header_bytes < 20 {
        return;
    }
    parsed.l3_kind = L3Kind::Ipv4;
    parsed.ip_len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    // "More fragments" or a fragment offset: RFC 791 §3.1 "Flags", "Fragment Offset".
    parsed.fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff != 0;
    parsed.l4_off = parsed.l3_off + header_bytes;
    trim(frame_bytes, trim_pad, 20, parsed);
    let head = &head[..parsed.visible_bytes];
    if parsed.l4_off <= head.len() {
        parsed.hdr_len = parsed.l4_off;
        transport(head, ip[9], parsed);
    }
}

/// RFC 8200 §3 and §4.1; the header kinds walked are those of the kernel's `ipv6_gro_pull_exthdrs`
/// (7.3).
fn ipv6(head: &[u8], frame_bytes: usize, trim_pad: bool, parsed: &mut Parsed) {
    let Some(ip) = head.get(parsed.l3_off..parsed.l3_off + 40) else { return };
    parsed.l3_kind = L3Kind::Ipv6;
    parsed.ip_len = 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]]));
    let first = ip[6];
    trim(frame_bytes, trim_pad, 40, parsed);
    let head = &head[..parsed.visible_bytes];
    let (protocol, l4_off) = skip_extensions(head, first, parsed.l3_off + 40);
    parsed.l4_off = l4_off;
    parsed.hdr_len = l4_off;
    parsed.fragment = protocol == 44;
    transport(head, protocol, parsed);
}

/// RFC 8200 §4.3, §4.4, §4.6: header extension length in units of 8 bytes, the first 8 not counted.
/// Gives the first header that is not walked, and its position.
pub fn skip_extensions(head: &[u8], first: u8, at: usize) -> (u8, usize) {
    let (mut kind, mut at) = (first, at);
    while matches!(kind, 0 | 43 | 60) {
        let Some(length) = head.get(at + 1) else { break };
        let end = at + 8 * (usize::from(*length) + 1);
        if end > head.len() {
            break;
        }
        kind = head[at];
        at = end;
    }
    (kind, at)
}

/// Transport header at `parsed.l4_off`: RFC 9293 §3.1, RFC 768.
fn transport(head: &[u8], protocol: u8, parsed: &mut Parsed) {
    if parsed.fragment || parsed.l4_off + 4 > head.len() {
        return;
    }
    let header_bytes = match protocol {
        TCP => {
            parsed.l4_kind = L4Kind::Tcp;
            tcp_header_bytes(head, parsed.l4_off)
        }
        UDP => {
            parsed.l4_kind = L4Kind::Udp;
            (parsed.l4_off + 8 <= head.len()).then_some(8)
        }
        _ => None,
    };
    parsed.hdr_len = parsed.l4_off + header_bytes.unwrap_or(0);
}

/// Length of the TCP header at `at`, options included; `None` if its data offset is below 5 or it
/// is not readable to its end. The length is the high nibble alone (B36).
pub fn tcp_header_bytes(head: &[u8], at: usize) -> Option<usize> {
    let bytes = usize::from(head.get(at..at + 20)?[12] >> 4) * 4;
    (bytes >= 20 && at + bytes <= head.len()).then_some(bytes)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
