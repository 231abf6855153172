use super::*;
use crate::Config;
use crate::stages::admit::Csum;
use crate::stages::coalesce::path;
use crate::test_frames::{IP, TCP4, TCP6, tcp4, tcp6, with, with_options};

fn candidate(frame: &[u8]) -> Candidate {
    let found = path::run(&Config::default(), frame, frame.len(), Csum::default()).0;
    found.expect("a plain segment is a candidate")
}

/// Decision on `new` behind `first` of which `segs` are held.
fn on(profile: Profile, first: &[u8], segs: u16, new: &[u8]) -> Result<u8, EndReason> {
    let flow = candidate(first);
    let payload = first[flow.payload_off..].to_vec();
    let mut bytes = first.to_vec();
    for _ in 1..segs {
        bytes.extend(&payload);
    }
    let held = Held {
        bytes: &bytes,
        payload_off: flow.payload_off,
        segs,
        gso_size: payload.len(),
        fixed: 0,
    };
    decide(profile, &held, &candidate(new), new)
}

fn second(change: impl FnOnce(&mut Vec<u8>)) -> Result<u8, EndReason> {
    on(Profile::Linux73, &tcp4(0, 100), 1, &with(tcp4(1, 100), change))
}

#[test]
fn continuing_segment_merges() {
    for profile in Profile::ALL {
        assert_eq!(on(*profile, &tcp4(0, 100), 1, &tcp4(1, 100)), Ok(0));
        assert_eq!(on(*profile, &tcp4(0, 100), 7, &tcp4(7, 100)), Ok(0));
        assert_eq!(on(*profile, &tcp6(0, 100), 7, &tcp6(7, 100)), Ok(0));
    }
}

#[test]
fn each_flag_and_the_window_are_compared() {
    // Reserved bits, flags and window: all of the word but the data offset.
    for bit in 0..28 {
        let expected = match 1u32 << bit {
            FIN | PSH => Ok(0),
            _ => Err(EndReason::FlagsDiffer),
        };
        let found = second(|f| f[TCP4 + 12 + (31 - bit) / 8] ^= 1 << (bit % 8));
        assert_eq!(found, expected, "bit {bit}");
    }
    assert_eq!(second(|f| f[TCP4 + 12] = 0x60), Err(EndReason::FlagsDiffer));
}

#[test]
fn every_other_reason_is_found() {
    assert_eq!(second(|f| f[TCP4 + 11] ^= 1), Err(EndReason::AckDiffer));
    assert_eq!(second(|f| f[IP + 8] -= 1), Err(EndReason::NetworkDiffer));
    assert_eq!(second(|f| f[IP + 1] ^= 1), Err(EndReason::NetworkDiffer));
    assert_eq!(second(|f| f[IP + 6] ^= 0x40), Err(EndReason::NetworkDiffer));
    assert_eq!(second(|f| f[IP + 5] = 2), Err(EndReason::IpId));
    assert_eq!(second(|f| f[TCP4 + 7] ^= 1), Err(EndReason::Sequence));
    assert_eq!(second(|f| f[IP + 6] ^= 0x80), Err(EndReason::SoftFlush));
    let on4 = |new: &[u8]| on(Profile::Linux73, &tcp4(0, 100), 1, new);
    let sized =
        |bytes| with(tcp4(1, bytes), |f| f[TCP4 + 4..TCP4 + 8].copy_from_slice(&[0, 0, 4, 76]));
    assert_eq!(on4(&sized(0)), Err(EndReason::Empty));
    assert_eq!(on4(&sized(1)), Ok(0));
    assert_eq!(on4(&sized(100)), Ok(0));
    assert_eq!(on4(&sized(101)), Err(EndReason::Larger));
    let options =
        |n, last| with_options(tcp4(n, 100), TCP4, &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, last]);
    assert_eq!(on(Profile::Linux73, &options(0, 5), 1, &options(1, 5)), Ok(0));
    let differ = on(Profile::Linux73, &options(0, 5), 1, &options(1, 6));
    assert_eq!(differ, Err(EndReason::OptionsDiffer));
    let on6 = |change: fn(&mut Vec<u8>)| {
        on(Profile::Linux73, &tcp6(0, 100), 1, &with(tcp6(1, 100), change))
    };
    assert_eq!(on6(|f| f[IP + 7] -= 1), Err(EndReason::NetworkDiffer));
    assert_eq!(on6(|f| f[IP + 1] ^= 0x10), Err(EndReason::NetworkDiffer));
    assert_eq!(on6(|f| f[IP] ^= 0x08), Err(EndReason::NetworkDiffer));
    assert_eq!(on6(|f| f[TCP6 + 18] ^= 1), Ok(0), "the urgent pointer is not compared");
}

#[test]
fn first_reason_in_order_is_reported() {
    type Break = fn(&mut Vec<u8>);
    let breaks: [(Break, EndReason); 6] = [
        (|f| f[TCP4 + 15] ^= 1, EndReason::FlagsDiffer),
        (|f| f[TCP4 + 11] ^= 1, EndReason::AckDiffer),
        (|f| f[IP + 8] -= 1, EndReason::NetworkDiffer),
        (|f| f[IP + 5] = 9, EndReason::IpId),
        (|f| f[TCP4 + 7] ^= 1, EndReason::Sequence),
        (|f| f[IP + 6] ^= 0x80, EndReason::SoftFlush),
    ];
    for (i, (_, reason)) in breaks.iter().enumerate() {
        let found = second(|f| breaks[i..].iter().for_each(|(change, _)| change(f)));
        assert_eq!(found, Err(*reason));
    }
    let cwr = with(tcp4(1, 100), |f| {
        f[TCP4 + 13] |= 0x80;
        f[TCP4 + 15] ^= 1;
    });
    for (profile, reason) in [
        (Profile::Linux612, EndReason::CwrDiffer),
        (Profile::Linux618, EndReason::CwrDiffer),
        (Profile::Linux73, EndReason::FlagsDiffer),
    ] {
        assert_eq!(on(profile, &tcp4(0, 100), 1, &cwr), Err(reason));
    }
}

#[test]
fn cwr_follows_the_profile() {
    let plain = |n| tcp4(n, 100);
    let cwr = |n| with(tcp4(n, 100), |f| f[TCP4 + 13] |= 0x80);
    for (profile, both, first_only) in [
        (Profile::Linux612, Err(EndReason::CwrDiffer), Ok(0)),
        (Profile::Linux618, Err(EndReason::CwrDiffer), Err(EndReason::FlagsDiffer)),
        (Profile::Linux73, Ok(0), Err(EndReason::FlagsDiffer)),
    ] {
        assert_eq!(on(profile, &cwr(0), 1, &cwr(1)), both, "{}", profile.name());
        assert_eq!(on(profile, &cwr(0), 1, &plain(1)), first_only, "{}", profile.name());
    }
}

#[test]
fn fixed_identification_needs_df_only_in_6_12() {
    let id = |n: usize, id: u8, df: u8| {
        with(tcp4(n, 100), |f| {
            f[IP + 5] = id;
            f[IP + 6] = df;
        })
    };
    for profile in Profile::ALL {
        assert_eq!(on(*profile, &id(0, 8, 0x40), 1, &id(1, 8, 0x40)), Ok(FIXED));
        let df0 = on(*profile, &id(0, 8, 0), 1, &id(1, 8, 0));
        let expected = if *profile == Profile::Linux612 { Err(EndReason::IpId) } else { Ok(FIXED) };
        assert_eq!(df0, expected, "{}", profile.name());
        // Two held, incrementing so far: the third must be the first plus 2.
        assert_eq!(on(*profile, &id(0, 8, 0x40), 2, &id(2, 9, 0x40)), Err(EndReason::IpId));
        assert_eq!(on(*profile, &id(0, 255, 0x40), 1, &id(1, 0, 0x40)), Err(EndReason::IpId));
    }
    let wrap = |n: usize, id: u16| {
        with(tcp4(n, 100), |f| f[IP + 4..IP + 6].copy_from_slice(&id.to_be_bytes()))
    };
    assert_eq!(on(Profile::Linux73, &wrap(0, 0xffff), 1, &wrap(1, 0)), Ok(0));
}

#[test]
fn sequence_number_wraps() {
    let seq = |n: usize, seq: u32| {
        with(tcp4(n, 100), |f| f[TCP4 + 4..TCP4 + 8].copy_from_slice(&seq.to_be_bytes()))
    };
    assert_eq!(on(Profile::Linux73, &seq(0, u32::MAX - 49), 1, &seq(1, 50)), Ok(0));
}

#[test]
fn merged_length_ends_at_65535_behind_the_mac_header() {
    // Held: 40 header bytes and n times 1,000 of payload.
    for (payload, expected) in [(494, Ok(0)), (495, Ok(0)), (496, Err(EndReason::Limit))] {
        let mut new = with(tcp4(65, payload), |f| {
            let seq = 1000u32 + 65_000;
            f[TCP4 + 4..TCP4 + 8].copy_from_slice(&seq.to_be_bytes());
        });
        new[IP + 4..IP + 6].copy_from_slice(&65u16.to_be_bytes());
        assert_eq!(on(Profile::Linux73, &tcp4(0, 1000), 65, &new), expected, "{payload}");
    }
}

#[test]
fn version_nibble_other_than_6_goes_by_ipv4_rules() {
    let nibble4 = |n: usize, bytes: usize| with_nibble(tcp6(n, bytes));
    // The payload length stands where IPv4 has its identification: equal lengths are a fixed one.
    assert_eq!(on(Profile::Linux73, &nibble4(0, 100), 1, &nibble4(1, 100)), Ok(FIXED));
    assert_eq!(on(Profile::Linux612, &nibble4(0, 100), 1, &nibble4(1, 100)), Err(EndReason::IpId));
    let mut hop_limit = nibble4(1, 100);
    hop_limit[IP + 7] -= 1;
    assert_eq!(on(Profile::Linux73, &nibble4(0, 100), 1, &hop_limit), Ok(FIXED));
}

fn with_nibble(mut frame: Vec<u8>) -> Vec<u8> {
    frame[IP] = 0x40 | frame[IP] & 15;
    frame
}

#[test]
fn decides_on_any_two_headers() {
    // Total: a held session much shorter than the new frame's positions is no more than different.
    let new = tcp6(1, 100);
    let held = Held { bytes: &[0; 20], payload_off: 20, segs: 1, gso_size: 100, fixed: 0 };
    for profile in Profile::ALL {
        assert!(decide(*profile, &held, &candidate(&new), &new).is_err());
    }
}
