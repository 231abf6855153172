//! Rows of `coalesce`: the operation at the boundary to `place`.
use crate::{Layout, layout, registers};

registers! { base 0x900, end 0xa00;
    /// Sessions closed with more than one segment.
    GRO_PACKETS @ 0x00 ReadOnly = 0; { packets[0 +: 32] "Kernel name rx-hw-gro-packets; wraps." }
    /// Frames in those sessions.
    GRO_WIRE_PACKETS @ 0x04 ReadOnly = 0; { packets[0 +: 32] "Kernel name rx-hw-gro-wire-packets; wraps." }
    /// Sessions closed because their bucket was full.
    EVICTIONS @ 0x08 ReadOnly = 0; { sessions[0 +: 32] "Wraps." }
}

/// Merged over IPv4.
pub const GSO_TCPV4: u16 = 1 << 0;
/// Merged over IPv6.
pub const GSO_TCPV6: u16 = 1 << 1;
/// Outer or only IPv4 identification is fixed.
pub const GSO_FIXEDID: u16 = 1 << 2;
/// Inner IPv4 identification is fixed.
pub const GSO_FIXEDID_INNER: u16 = 1 << 3;
/// CWR on the first segment only (6.12).
pub const GSO_ECN: u16 = 1 << 4;
/// CWR on every segment.
pub const GSO_ACCECN: u16 = 1 << 5;
/// Tunnel with an outer IPv4 header.
pub const GSO_IPXIP4: u16 = 1 << 6;
/// Tunnel with an outer IPv6 header.
pub const GSO_IPXIP6: u16 = 1 << 7;
/// GRE tunnel.
pub const GSO_GRE: u16 = 1 << 8;
/// Kernel names of the bits, from bit 0.
pub const GSO_NAMES: [&str; 9] = [
    "TCPV4",
    "TCPV6",
    "TCP_FIXEDID",
    "TCP_FIXEDID_INNER",
    "TCP_ECN",
    "TCP_ACCECN",
    "IPXIP4",
    "IPXIP6",
    "GRE",
];

layout!(
    /// One operation. Delivery fields hold in ALONE and CLOSE; OPEN and APPEND carry queue,
    /// session, hdr_len and payload_len of their frame, FLUSHED its queue alone. The header (up to
    /// 128 bytes, first byte lowest) travels beside it.
    pub OPERATION {
        kind: 3 "Code of OpKind.",
        queue: 5 "Receive queue.",
        session: 10 "Session within the queue: bucket * depth + slot; 0 in ALONE.",
        hash: 32 "Receive hash of the first frame.",
        hash_type: 3 "Code of HashType.",
        vlan_valid: 1 "A tag was stripped.",
        vlan_tpid: 1 "0: 0x8100, 1: 0x88a8.",
        vlan_tci: 16 "PCP, DEI, VID.",
        packet_type: 2 "Code of PacketType.",
        protocol: 16 "As eth_type_trans gives it.",
        csum: 2 "0 none, 1 unnecessary, 2 partial.",
        csum_level: 2 "Verified levels minus one.",
        csum_start: 8 "With partial: position of the TCP header; else 0.",
        l3_verdict: 2 "Code of Verdict, of the first frame.",
        l4_verdict: 2 "Code of Verdict, of the first frame.",
        hdr_len: 8 "Header bytes.",
        payload_len: 17 "ALONE, OPEN, APPEND: payload of the frame. CLOSE: payload of the session.",
        gso_size: 16 "Payload of the first segment; 0 if one frame.",
        gso_segs: 16 "Segments; 0 if one frame.",
        gso_type: 9 "GSO bits; 0 if one frame.",
        encapsulation: 1 "Inner headers are valid.",
        end_reason: 5 "CLOSE: code of EndReason; else 0.",
        alone_reason: 3 "ALONE: code of AloneReason; else 0.",
    }
);
/// Records.
pub const LAYOUTS: &[Layout] = &[OPERATION];
