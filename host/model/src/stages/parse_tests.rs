use super::*;
use crate::test_frames::{IP, TCP4, TCP6, tagged, tcp4, tcp6, with, with_options};

fn parsed(frame: &[u8]) -> Parsed {
    run(frame, 128, TAGS_MAX, false)
}

#[test]
fn plain_segments_are_found() {
    let p = parsed(&tcp4(0, 100));
    assert_eq!((p.l3_kind, p.l3_off, p.l4_kind, p.l4_off), (L3Kind::Ipv4, 14, L4Kind::Tcp, 34));
    assert_eq!((p.ip_len, p.hdr_len, p.fragment, p.tags), (140, 54, false, 0));
    let p = parsed(&tcp6(0, 100));
    assert_eq!((p.l3_kind, p.l3_off, p.l4_kind, p.l4_off), (L3Kind::Ipv6, 14, L4Kind::Tcp, 54));
    assert_eq!((p.ip_len, p.hdr_len, p.fragment), (160, 74, false));
}

#[test]
fn every_prefix_of_a_frame_parses() {
    let options = with_options(tcp4(0, 40), TCP4, &[1; 40]);
    let deep = tagged(&tcp6(0, 40), &[[0x88, 0xa8, 0, 1], [0x81, 0, 0, 2], [0x81, 0, 0, 3]]);
    for frame in [tcp4(0, 40), tcp6(0, 40), options, deep] {
        for len in 0..=frame.len() {
            for trim in [false, true] {
                let p = run(&frame[..len], 128, TAGS_MAX, trim);
                assert!(p.hdr_len <= len && p.visible_bytes <= len && p.frame_bytes <= len);
                if p.l4_kind != L4Kind::None {
                    assert!(p.l4_off + 4 <= p.visible_bytes && p.hdr_len >= p.l4_off);
                }
            }
        }
    }
}

#[test]
fn tags_count_up_to_three() {
    let tag = [0x81, 0x00, 0, 5];
    for count in 0..=4 {
        let p = parsed(&tagged(&tcp4(0, 20), &vec![tag; count]));
        let seen = count.min(3);
        assert_eq!((p.tags, p.l3_off), (seen, 14 + 4 * seen), "{count} tags");
        assert_eq!(p.l3_kind, if count < 4 { L3Kind::Ipv4 } else { L3Kind::None });
        assert_eq!(p.hdr_len, if count < 4 { 54 + 4 * count } else { 26 });
    }
    let cut = tagged(&tcp4(0, 20), &[tag]);
    assert_eq!(
        parsed(&cut[..17]),
        Parsed { tags: 0, l3_off: 14, hdr_len: 14, ..parsed(&cut[..17]) }
    );
    assert_eq!(parsed(&cut[..18]).tags, 1);
}

#[test]
fn ipv4_needs_version_length_and_twenty_bytes() {
    for (first, kind) in [(0x45, L3Kind::Ipv4), (0x4f, L3Kind::Ipv4), (0x44, L3Kind::None)] {
        let frame = with(tcp4(0, 60), |f| f[IP] = first);
        assert_eq!(parsed(&frame).l3_kind, kind, "{first:#x}");
    }
    let frame = tcp4(0, 60);
    let six = [&frame[..IP], &[0x65], &frame[IP + 1..]].concat();
    assert_eq!(parsed(&six).l3_kind, L3Kind::None);
    assert_eq!(parsed(&frame[..33]).l3_kind, L3Kind::None);
    assert_eq!(parsed(&frame[..34]).l3_kind, L3Kind::Ipv4);
}

#[test]
fn ipv6_counts_whatever_its_version_nibble() {
    let mut frame = tcp6(0, 20);
    frame[IP] = 0x40;
    assert_eq!((parsed(&frame).l3_kind, parsed(&frame).l4_kind), (L3Kind::Ipv6, L4Kind::Tcp));
    assert_eq!(parsed(&frame[..53]).l3_kind, L3Kind::None);
    assert_eq!(parsed(&frame[..54]).l3_kind, L3Kind::Ipv6);
}

#[test]
fn fragments_have_no_transport() {
    for field in [0x2000u16, 0x0001, 0x3fff] {
        let frame = with(tcp4(0, 60), |f| f[IP + 6..IP + 8].copy_from_slice(&field.to_be_bytes()));
        let p = parsed(&frame);
        assert_eq!((p.fragment, p.l4_kind, p.hdr_len), (true, L4Kind::None, 34), "{field:#x}");
    }
    for field in [0x0000u16, 0x4000, 0x8000] {
        let frame = with(tcp4(0, 60), |f| f[IP + 6..IP + 8].copy_from_slice(&field.to_be_bytes()));
        assert_eq!((parsed(&frame).fragment, parsed(&frame).l4_kind), (false, L4Kind::Tcp));
    }
}

/// Extension headers put in front of TCP; each is its kind and its length in units of 8 bytes.
fn extended(kinds: &[(u8, usize)]) -> Vec<u8> {
    let mut frame = tcp6(0, 60);
    let mut headers = Vec::new();
    for (i, (_, units)) in kinds.iter().enumerate() {
        let next = kinds.get(i + 1).map_or(6, |(kind, _)| *kind);
        headers.extend([next, (units - 1) as u8]);
        headers.resize(headers.len() + 8 * units - 2, 0);
    }
    frame[IP + 6] = kinds[0].0;
    frame.splice(TCP6..TCP6, headers);
    frame
}

#[test]
fn walks_ipv6_headers_0_43_60_and_stops_at_others() {
    let p = parsed(&extended(&[(0, 1), (43, 2), (60, 1)]));
    assert_eq!((p.l4_kind, p.l4_off, p.hdr_len), (L4Kind::Tcp, 86, 106));
    let p = parsed(&extended(&[(60, 1), (44, 1)]));
    assert_eq!((p.fragment, p.l4_kind, p.l4_off, p.hdr_len), (true, L4Kind::None, 62, 62));
    for other in [50, 51, 58, 59, 135] {
        let p = parsed(&extended(&[(other, 1)]));
        assert_eq!((p.fragment, p.l4_kind, p.hdr_len), (false, L4Kind::None, 54), "{other}");
    }
    // One that ends behind the visible bytes is not walked.
    let p = parsed(&extended(&[(60, 4), (0, 8)]));
    assert_eq!((p.l4_kind, p.l4_off, p.hdr_len), (L4Kind::None, 86, 86));
}

#[test]
fn data_offset_is_the_high_nibble_alone() {
    // B36: data offset 8 with reserved bits and AE set is 32 bytes.
    let frame = with_options(tcp4(0, 60), TCP4, &[1; 12]);
    let frame = with(frame, |f| f[TCP4 + 12] |= 0x0f);
    assert_eq!(parsed(&frame).hdr_len, 34 + 32);
    for (offset, hdr_len) in [(4, 34), (5, 54), (6, 58), (15, 94)] {
        let frame = with(tcp4(0, 60), |f| f[TCP4 + 12] = offset << 4);
        let p = parsed(&frame);
        assert_eq!((p.l4_kind, p.hdr_len), (L4Kind::Tcp, hdr_len), "data offset {offset}");
    }
}

#[test]
fn header_may_end_at_byte_128_but_not_behind() {
    // IPv6 with 32 bytes of options: TCP at 86, so data offset 10 ends at 126, 11 at 130.
    let mut frame = extended(&[(60, 4)]);
    for (offset, hdr_len) in [(10, 126), (11, 86)] {
        frame[86 + 12] = offset << 4;
        assert_eq!(parsed(&frame).hdr_len, hdr_len);
    }
    // With a tag in front of 28 bytes of TCP options behind 24 of extension: exactly 128.
    let mut frame = tagged(&extended(&[(60, 2)]), &[[0x81, 0, 0, 1]]);
    frame[74 + 12] = 13 << 4;
    assert_eq!(parsed(&frame).hdr_len, 126);
    for (visible, hdr_len) in [(125, 74), (126, 126), (127, 126)] {
        assert_eq!(run(&frame, visible, TAGS_MAX, false).hdr_len, hdr_len);
    }
    // Ports need four bytes.
    for (visible, kind) in [(77, L4Kind::None), (78, L4Kind::Tcp)] {
        assert_eq!(run(&frame, visible, TAGS_MAX, false).l4_kind, kind);
    }
}

#[test]
fn udp_header_is_eight_bytes() {
    let frame = with(tcp4(0, 60), |f| f[IP + 9] = 17);
    assert_eq!((parsed(&frame).l4_kind, parsed(&frame).hdr_len), (L4Kind::Udp, 42));
    assert_eq!((parsed(&frame[..42]).l4_kind, parsed(&frame[..42]).hdr_len), (L4Kind::Udp, 42));
    assert_eq!((parsed(&frame[..41]).l4_kind, parsed(&frame[..41]).hdr_len), (L4Kind::Udp, 34));
    let icmp = with(tcp4(0, 60), |f| f[IP + 9] = 1);
    assert_eq!((parsed(&icmp).l4_kind, parsed(&icmp).hdr_len), (L4Kind::None, 34));
}

#[test]
fn trims_only_to_a_possible_ip_length() {
    let cut = |ip_len: u16, len: usize| {
        let mut frame = tcp4(0, 60);
        frame.resize(len, 0xee);
        frame[IP + 2..IP + 4].copy_from_slice(&ip_len.to_be_bytes());
        run(&frame, 128, TAGS_MAX, true)
    };
    assert_eq!(cut(19, 100).frame_bytes, 100);
    assert_eq!((cut(20, 100).frame_bytes, cut(20, 100).l4_kind), (34, L4Kind::None));
    assert_eq!((cut(30, 100).frame_bytes, cut(30, 100).hdr_len), (44, 34));
    assert_eq!(cut(40, 100).frame_bytes, 54);
    assert_eq!(cut(86, 100).frame_bytes, 100);
    assert_eq!(cut(87, 100).frame_bytes, 100);
    let mut v6 = tcp6(0, 60);
    v6[IP + 4..IP + 6].copy_from_slice(&[0, 30]);
    assert_eq!(run(&v6, 128, TAGS_MAX, true).frame_bytes, 84);
    assert_eq!(run(&v6, 128, TAGS_MAX, false).frame_bytes, 134);
}
