//! A delivery's metadata as a `virtio_net_hdr`, for tap devices and virtual machines.
//!
//! Follows: virtio 1.2 §5.1.6; kernel `virtio_net_hdr_from_skb` (7.3).
//! Invariant: what the header cannot say is no header (`tunnels_have_no_header`).

use groove_spec::stages::coalesce::{
    GSO_ACCECN, GSO_ECN, GSO_FIXEDID, GSO_FIXEDID_INNER, GSO_TCPV4, GSO_TCPV6,
};
use groove_spec::{CsumState, TCP_CSUM_OFFSET_BYTES};

use crate::metadata::Metadata;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
pub const NEEDS_CSUM: u8 = 1;
/// `VIRTIO_NET_HDR_F_DATA_VALID`.
pub const DATA_VALID: u8 = 2;
/// `VIRTIO_NET_HDR_GSO_TCPV4`.
pub const TCPV4: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV6`.
pub const TCPV6: u8 = 4;
/// `VIRTIO_NET_HDR_GSO_ECN`.
pub const ECN: u8 = 0x80;

/// `struct virtio_net_hdr`, before it is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtioNetHdr {
    /// [`NEEDS_CSUM`] or [`DATA_VALID`].
    pub flags: u8,
    /// 0, [`TCPV4`] or [`TCPV6`], with [`ECN`] or not.
    pub gso_type: u8,
    /// Header bytes.
    pub hdr_len: u16,
    /// Payload of a segment.
    pub gso_size: u16,
    /// Where the sum starts.
    pub csum_start: u16,
    /// Position of the checksum field from there.
    pub csum_offset: u16,
}

impl VirtioNetHdr {
    /// The ten bytes, little endian.
    pub fn to_bytes(&self) -> [u8; 10] {
        let [a, b] = self.hdr_len.to_le_bytes();
        let [c, d] = self.gso_size.to_le_bytes();
        let [e, f] = self.csum_start.to_le_bytes();
        let [g, h] = self.csum_offset.to_le_bytes();
        [self.flags, self.gso_type, a, b, c, d, e, f, g, h]
    }
}

/// The header of a delivery; `None` for what it has no words for: merged tunnels, and CWR on every
/// segment.
pub fn virtio_net_hdr(metadata: &Metadata) -> Option<VirtioNetHdr> {
    let known = GSO_TCPV4 | GSO_TCPV6 | GSO_FIXEDID | GSO_FIXEDID_INNER | GSO_ECN;
    if metadata.gso_type & !known != 0 || metadata.encapsulation {
        return None;
    }
    debug_assert!(known & GSO_ACCECN == 0);
    let mut header = VirtioNetHdr::default();
    match metadata.csum {
        CsumState::None => {}
        CsumState::Unnecessary => header.flags = DATA_VALID,
        CsumState::Partial => {
            header.flags = NEEDS_CSUM;
            header.csum_start = metadata.csum_start.into();
            header.csum_offset = TCP_CSUM_OFFSET_BYTES as u16;
        }
    }
    if metadata.gso_segs > 0 {
        header.gso_type = if metadata.gso_type & GSO_TCPV4 != 0 { TCPV4 } else { TCPV6 };
        header.gso_type |= if metadata.gso_type & GSO_ECN != 0 { ECN } else { 0 };
        header.hdr_len = metadata.header_bytes.into();
        header.gso_size = metadata.gso_size;
    }
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completion::Completion;
    use crate::metadata::check;
    use groove_spec::stages::coalesce::{GSO_GRE, GSO_IPXIP4};

    fn metadata(csum: u8, gso_type: u16) -> Metadata {
        let merged = gso_type != 0;
        let head = Completion {
            total_len: 66 + 2000,
            header_bytes: 66,
            csum,
            csum_start: if csum == 2 { 34 } else { 0 },
            gso_segs: if merged { 2 } else { 0 },
            gso_size: if merged { 1448 } else { 0 },
            gso_type,
            end_reason: 1,
            ..Completion::default()
        };
        check(head.encode()).unwrap();
        Metadata::of(head.encode())
    }

    #[test]
    fn a_merged_delivery_is_said_as_the_kernel_says_it() {
        let header = virtio_net_hdr(&metadata(2, GSO_TCPV4 | GSO_ECN)).unwrap();
        assert_eq!(header.to_bytes(), [1, 0x81, 66, 0, 0xa8, 5, 34, 0, 16, 0]);
        let header = virtio_net_hdr(&metadata(2, GSO_TCPV6)).unwrap();
        assert_eq!((header.gso_type, header.flags), (TCPV6, NEEDS_CSUM));
    }

    #[test]
    fn a_single_frame_says_whether_its_sum_was_good() {
        let said = |csum| virtio_net_hdr(&metadata(csum, 0)).unwrap().to_bytes();
        assert_eq!(said(1), [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(said(0), [0; 10]);
    }

    #[test]
    fn tunnels_have_no_header() {
        for bits in [GSO_IPXIP4, GSO_GRE, GSO_ACCECN] {
            assert_eq!(virtio_net_hdr(&metadata(2, GSO_TCPV4 | bits)), None);
        }
    }
}
