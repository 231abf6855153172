//! Rows of `parse`: the frame metadata that travels beside the header to `coalesce`.
use crate::{Layout, Register, layout};

/// No registers.
pub const REGISTERS: &[Register] = &[];

layout!(
    /// Frame metadata, filled by parse, checksum, classify, rss and admit. Offsets are in the
    /// delivered frame (after VLAN strip). The header itself, up to 128 bytes, first byte lowest,
    /// travels beside it.
    pub FRAME_META {
        is_token: 1 "A token, not a frame: only queue and token_kind count.",
        token_kind: 2 "Code of TokenKind.",
        queue: 5 "Receive queue.",
        hash: 32 "Receive hash, 0 if none.",
        hash_type: 3 "Code of HashType.",
        vlan_valid: 1 "A tag was stripped.",
        vlan_tpid: 1 "0: 0x8100, 1: 0x88a8.",
        vlan_tci: 16 "PCP, DEI, VID.",
        packet_type: 2 "Code of PacketType.",
        protocol: 16 "As eth_type_trans gives it, after VLAN strip.",
        hdr_len: 8 "Header bytes to strip.",
        l3_kind: 2 "0 none, 1 IPv4, 2 IPv6.",
        l3_off: 5 "Position of the IP header.",
        l4_kind: 2 "0 none, 1 TCP, 2 UDP (whole header readable, not a fragment).",
        l4_off: 7 "Position of the TCP or UDP header.",
        fragment: 1 "IPv4 fragment, or IPv6 with a fragment header.",
        ip_len: 17 "Bytes from l3_off to the end by the IP header: total length, or 40 + payload length.",
        l3_verdict: 2 "Code of Verdict.",
        l4_verdict: 2 "Code of Verdict.",
        addr_sum: 16 "Folded sum of both addresses and the protocol number 6.",
        candidate: 1 "Reaches the TCP merge decision; else the frame bypasses.",
        soft_flush: 1 "Padding, truncation or the reserved fragment bit.",
        ip_id: 16 "IPv4 identification.",
        ip_csum: 16 "IPv4 header checksum as received.",
        ip_tot_len: 16 "IPv4 total length as received.",
        tcp_seq: 32 "Sequence number.",
        tcp_flags: 8 "CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from bit 7.",
        payload_len: 16 "Delivered bytes behind hdr_len.",
        frame_bytes: 16 "Delivered bytes.",
    }
);
/// Records.
pub const LAYOUTS: &[Layout] = &[FRAME_META];
