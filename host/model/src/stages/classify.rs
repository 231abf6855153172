//! classify: packet type, protocol and the stripped tag.
//!
//! Follows: kernel `eth_type_trans` (7.3), `skb_vlan_untag` (7.3); IEEE 802.3 §3.2.6.
//!
//! Decisions, the same in hardware:
//! - The station address is compared first: a group address that is the station's own gives `host`.
//! - Ethertype >= 0x0600 is the protocol, tag protocols included. Below: 0x0001 (Novell raw) if the
//!   next two bytes are there and are ff ff, else 0x0004 (LLC), also if they are not there.
//! - `vlan_strip` takes a 0x8100 or 0x88a8 tag out if all 18 bytes up to the inner ethertype are
//!   there; the frame then reads as if the tag had never been in it.
//!
//! Not here: DSA; decoding of SNAP.

use groove_spec::{PacketType, Tag};

use super::parse::VLAN_TPIDS;
use crate::bytes::u16_at;

/// Protocol of Novell raw IPX frames (`ETH_P_802_3`).
pub const PROTOCOL_802_3: u16 = 0x0001;
/// Protocol of LLC frames (`ETH_P_802_2`).
pub const PROTOCOL_802_2: u16 = 0x0004;

/// The outermost tag, and the frame without it; `None` if there is no whole tag.
pub fn strip(frame: &[u8]) -> Option<(Tag, Vec<u8>)> {
    let tpid = u16_at(frame, 12)?;
    let tci = u16_at(frame, 14)?;
    u16_at(frame, 16)?;
    VLAN_TPIDS.contains(&tpid).then(|| (Tag { tpid, tci }, [&frame[..12], &frame[16..]].concat()))
}

/// Class of the destination address. The frame is no runt.
pub fn packet_type(station: &[u8; 6], frame: &[u8]) -> PacketType {
    let destination = &frame[..6];
    if destination == station {
        PacketType::Host
    } else if destination == [0xff; 6] {
        PacketType::Broadcast
    } else if destination[0] & 1 != 0 {
        PacketType::Multicast
    } else {
        PacketType::OtherHost
    }
}

/// Protocol of the frame. The frame is no runt.
pub fn protocol(frame: &[u8]) -> u16 {
    let ethertype = u16::from_be_bytes([frame[12], frame[13]]);
    if ethertype >= 0x0600 {
        ethertype
    } else if u16_at(frame, 14) == Some(0xffff) {
        PROTOCOL_802_3
    } else {
        PROTOCOL_802_2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn frame(destination: [u8; 6], rest: &[u8]) -> Vec<u8> {
        [&destination[..], &[2, 0, 0, 0, 0, 1], rest].concat()
    }

    #[test]
    fn station_address_is_compared_before_groups() {
        let kind = |destination| packet_type(&STATION, &frame(destination, &[8, 0]));
        assert_eq!(kind(STATION), PacketType::Host);
        assert_eq!(kind([0xff; 6]), PacketType::Broadcast);
        assert_eq!(kind([0x33, 0x33, 0, 0, 0, 1]), PacketType::Multicast);
        assert_eq!(kind([2, 0, 0, 0, 0, 3]), PacketType::OtherHost);
        let group = [1, 0, 0x5e, 0, 0, 1];
        assert_eq!(packet_type(&group, &frame(group, &[8, 0])), PacketType::Host);
        assert_eq!(packet_type(&[0xff; 6], &frame([0xff; 6], &[8, 0])), PacketType::Host);
    }

    #[test]
    fn protocol_follows_the_table() {
        let protocol = |rest: &[u8]| protocol(&frame(STATION, rest));
        assert_eq!(protocol(&[0x08, 0x00]), 0x0800);
        assert_eq!(protocol(&[0x81, 0x00, 0, 5, 8, 0]), 0x8100);
        assert_eq!(protocol(&[0x06, 0x00]), 0x0600);
        assert_eq!(protocol(&[0x05, 0xff, 0xff, 0xff]), PROTOCOL_802_3);
        assert_eq!(protocol(&[0x05, 0xff, 0xff, 0xfe]), PROTOCOL_802_2);
        assert_eq!(protocol(&[0x05, 0xdd]), PROTOCOL_802_2);
        assert_eq!(protocol(&[0x00, 0x2e, 0xff]), PROTOCOL_802_2);
        assert_eq!(protocol(&[0x00, 0x2e, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]), PROTOCOL_802_2);
    }

    #[test]
    fn strips_only_a_whole_tag() {
        let tagged = frame(STATION, &[0x88, 0xa8, 0x20, 0x05, 0x08, 0x00, 0x45]);
        let (tag, rest) = strip(&tagged).expect("a whole tag");
        assert_eq!(tag, Tag { tpid: 0x88a8, tci: 0x2005 });
        assert_eq!(rest, frame(STATION, &[0x08, 0x00, 0x45]));
        assert!(strip(&tagged[..18]).is_some());
        assert_eq!(strip(&tagged[..17]), None);
        assert_eq!(strip(&frame(STATION, &[0x91, 0, 0, 5, 8, 0])), None);
    }
}
