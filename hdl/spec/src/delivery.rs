//! What reaches the host: one delivery, plain data. Filled by the model, by the harness from output
//! ports, and by the driver; compared field by field.

use crate::names::{AloneReason, EndReason, HashType, PacketType, Verdict};

/// A VLAN tag out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Tag protocol, 0x8100 or 0x88a8.
    pub tpid: u16,
    /// PCP, DEI, VID.
    pub tci: u16,
}

/// Checksum state of a delivery, in the kernel's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CsumState {
    /// Nothing was verified.
    #[default]
    None = 0,
    /// `csum_level + 1` checksums were verified.
    Unnecessary = 1,
    /// The TCP checksum field holds the pseudo-header sum.
    Partial = 2,
}

/// One delivery. `frames` are numbers of input frames in order of arrival, counted from 0, drops
/// included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Receive queue.
    pub queue: u8,
    /// Input frames in it, first one first.
    pub frames: Vec<u32>,
    /// All delivered bytes, headers fixed up.
    pub bytes: Vec<u8>,
    /// Bytes of `bytes` that are header.
    pub hdr_len: u16,
    /// Receive hash.
    pub hash: u32,
    /// What the hash covers.
    pub hash_type: HashType,
    /// Stripped tag.
    pub vlan: Option<Tag>,
    /// Class of the destination address.
    pub packet_type: PacketType,
    /// Protocol as `eth_type_trans` gives it.
    pub protocol: u16,
    /// Checksum state.
    pub csum: CsumState,
    /// Verified levels minus one.
    pub csum_level: u8,
    /// With `Partial`: position of the TCP header.
    pub csum_start: u16,
    /// With `Partial`: offset of the checksum field from `csum_start`.
    pub csum_offset: u16,
    /// IPv4 header checksum of the first frame.
    pub l3_verdict: Verdict,
    /// TCP or UDP checksum of the first frame.
    pub l4_verdict: Verdict,
    /// Payload bytes of every segment but the last; 0 if one frame.
    pub gso_size: u16,
    /// Segments; 0 if one frame.
    pub gso_segs: u16,
    /// Bits of `stages::coalesce::GSO_*`; 0 if one frame.
    pub gso_type: u16,
    /// Inner headers are valid (merged tunnel frames).
    pub encapsulation: bool,
    /// Why the session ended; `None` when the frame was never held.
    pub end_reason: EndReason,
    /// Why the frame was delivered alone; `None` when it was held.
    pub alone_reason: AloneReason,
}
