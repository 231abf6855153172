use groove_spec::HASH_KEY_DEFAULT;

use super::*;
use crate::stages::parse;
use crate::test_frames::{IP, TCP4, tagged, tcp4, tcp6, with};

/// Source, port, destination, port, hash over addresses, hash over addresses and ports.
type Vector<A> = (A, u16, A, u16, u32, u32);

/// Microsoft "Verifying the RSS hash calculation", also in DPDK `app/test/test_thash.c`.
const VECTORS_V4: [Vector<[u8; 4]>; 5] = [
    ([66, 9, 149, 187], 2794, [161, 142, 100, 80], 1766, 0x323e_8fc2, 0x51cc_c178),
    ([199, 92, 111, 2], 14230, [65, 69, 140, 83], 4739, 0xd718_262a, 0xc626_b0ea),
    ([24, 19, 198, 95], 12898, [12, 22, 207, 184], 38024, 0xd2d0_a5de, 0x5c2b_394a),
    ([38, 27, 205, 30], 48228, [209, 142, 163, 6], 2217, 0x8298_9176, 0xafc7_327f),
    ([153, 39, 163, 191], 44251, [202, 188, 127, 2], 1303, 0x5d18_09c5, 0x10e8_28a2),
];
const VECTORS_V6: [Vector<&str>; 3] = [
    ("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2cc1_8cd5, 0x4020_7d3d),
    ("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0f0c_461c, 0xdde5_1bbf),
    (
        "3ffe:1900:4545:3:200:f8ff:fe21:67cf",
        44251,
        "fe80::200:f8ff:fe21:67cf",
        38024,
        0x4b61_e985,
        0x02d1_feef,
    ),
];

fn steer(rss: &RssConfig, frame: &[u8]) -> Steering {
    run(rss, 32, frame, &parse::run(frame, 128, 3, false))
}

fn only(types: &[HashType]) -> RssConfig {
    let hash_types = types.iter().fold(0, |bits, kind| bits | 1 << kind.code());
    RssConfig { hash_types, ..RssConfig::spread(32) }
}

fn flow4(source: [u8; 4], sport: u16, destination: [u8; 4], dport: u16) -> Vec<u8> {
    with(tcp4(0, 10), |f| {
        f[IP + 12..IP + 16].copy_from_slice(&source);
        f[IP + 16..IP + 20].copy_from_slice(&destination);
        f[TCP4..TCP4 + 2].copy_from_slice(&sport.to_be_bytes());
        f[TCP4 + 2..TCP4 + 4].copy_from_slice(&dport.to_be_bytes());
    })
}

fn flow6(source: &str, sport: u16, destination: &str, dport: u16) -> Vec<u8> {
    let address = |text: &str| text.parse::<std::net::Ipv6Addr>().expect("a vector").octets();
    with(tcp6(0, 10), |f| {
        f[IP + 8..IP + 24].copy_from_slice(&address(source));
        f[IP + 24..IP + 40].copy_from_slice(&address(destination));
        f[54..56].copy_from_slice(&sport.to_be_bytes());
        f[56..58].copy_from_slice(&dport.to_be_bytes());
    })
}

#[test]
fn hash_equals_the_verification_suite() {
    let (both, addresses) = (RssConfig::spread(32), only(&[HashType::Ipv4, HashType::Ipv6]));
    let frames = VECTORS_V4
        .map(|(s, sp, d, dp, l3, l4)| (flow4(s, sp, d, dp), l3, l4))
        .into_iter()
        .chain(VECTORS_V6.map(|(s, sp, d, dp, l3, l4)| (flow6(s, sp, d, dp), l3, l4)));
    for (frame, l3, l4) in frames {
        assert_eq!(steer(&both, &frame).hash, l4);
        assert_eq!(steer(&both, &frame).queue, (l4 & 127) as u8 % 32);
        assert_eq!(steer(&addresses, &frame).hash, l3);
    }
}

#[test]
fn toeplitz_of_nothing_is_zero() {
    assert_eq!(toeplitz(&HASH_KEY_DEFAULT, &[]), 0);
    assert_eq!(toeplitz(&HASH_KEY_DEFAULT, &[0; 36]), 0);
    // The first input bit takes the first 32 key bits, the last of 36 bytes the last 32.
    assert_eq!(toeplitz(&HASH_KEY_DEFAULT, &[0x80]), 0x6d5a_56da);
    let mut last = [0; 36];
    last[35] = 1;
    let bits = u64::from_be_bytes(HASH_KEY_DEFAULT[32..].try_into().expect("8 bytes"));
    assert_eq!(toeplitz(&HASH_KEY_DEFAULT, &last), (bits >> 1) as u32);
}

#[test]
fn symmetric_orders_hash_both_directions_alike() {
    let there4 = flow4([192, 0, 2, 1], 1000, [198, 51, 100, 7], 80);
    let back4 = flow4([198, 51, 100, 7], 80, [192, 0, 2, 1], 1000);
    let there6 = flow6("2001:db8::1", 1000, "2001:db8:1::7", 80);
    let back6 = flow6("2001:db8:1::7", 80, "2001:db8::1", 1000);
    for symmetric in SymmetricMode::ALL {
        let rss = RssConfig { symmetric: *symmetric, ..RssConfig::default() };
        for (there, back) in [(&there4, &back4), (&there6, &back6)] {
            let equal = steer(&rss, there).hash == steer(&rss, back).hash;
            assert_eq!(equal, *symmetric != SymmetricMode::Off, "{}", symmetric.name());
        }
    }
}

#[test]
fn symmetric_orders_feed_what_they_say() {
    let feed = |mode| mix(mode, &[0x12, 0x34], &[0x0f, 0xf0]);
    assert_eq!(feed(SymmetricMode::Off), [0x12, 0x34, 0x0f, 0xf0]);
    assert_eq!(feed(SymmetricMode::Xor), [0x1d, 0xc4, 0x1d, 0xc4]);
    assert_eq!(feed(SymmetricMode::OrXor), [0x1f, 0xf4, 0x1d, 0xc4]);
}

#[test]
fn each_type_is_enabled_by_its_own_bit() {
    // B41: TCP and UDP over either version are told apart.
    let udp4 = with(tcp4(0, 10), |f| f[IP + 9] = 17);
    let udp6 = with(tcp6(0, 10), |f| f[IP + 6] = 17);
    let frames = [
        (tcp4(0, 10), HashType::Ipv4Tcp, HashType::Ipv4),
        (udp4, HashType::Ipv4Udp, HashType::Ipv4),
        (tcp6(0, 10), HashType::Ipv6Tcp, HashType::Ipv6),
        (udp6, HashType::Ipv6Udp, HashType::Ipv6),
    ];
    for (frame, own, addresses) in frames {
        for enabled in &HashType::ALL[1..] {
            let expected = match enabled {
                kind if *kind == own || *kind == addresses => *kind,
                _ => HashType::None,
            };
            let steering = steer(&only(&[*enabled]), &frame);
            assert_eq!(steering.hash_type, expected, "{} of {}", enabled.name(), own.name());
            assert_eq!(steering.hash == 0, expected == HashType::None);
        }
        assert_eq!(steer(&only(&[own, addresses]), &frame).hash_type, own);
    }
}

#[test]
fn fragments_and_others_hash_on_addresses() {
    // B39: all fragments of a datagram, the first one included, go to one queue.
    let rss = RssConfig::spread(32);
    let fragment =
        |field: u16| with(tcp4(0, 60), |f| f[IP + 6..IP + 8].copy_from_slice(&field.to_be_bytes()));
    let first = steer(&rss, &fragment(0x2000));
    assert_eq!(first.hash_type, HashType::Ipv4);
    for field in [0x2001, 0x0002] {
        assert_eq!(steer(&rss, &fragment(field)), first);
    }
    let icmp = with(tcp4(0, 60), |f| f[IP + 9] = 1);
    assert_eq!(steer(&rss, &icmp).hash, first.hash);
}

#[test]
fn tags_are_not_hashed() {
    // B43.
    let plain = steer(&RssConfig::default(), &tcp4(0, 10)).hash;
    let one = tagged(&tcp4(0, 10), &[[0x81, 0, 0, 5]]);
    let two = tagged(&tcp4(0, 10), &[[0x88, 0xa8, 0, 7], [0x81, 0, 0, 6]]);
    assert_eq!(steer(&RssConfig::default(), &one).hash, plain);
    assert_eq!(steer(&RssConfig::default(), &two).hash, plain);
}

#[test]
fn ports_are_behind_ipv4_options() {
    let rss = RssConfig::default();
    let options = with(tcp4(0, 60), |f| {
        f.splice(TCP4..TCP4, [1; 8]);
        f[IP] = 0x47;
        let length = (f.len() - IP) as u16;
        f[IP + 2..IP + 4].copy_from_slice(&length.to_be_bytes());
    });
    assert_eq!(steer(&rss, &options), steer(&rss, &tcp4(0, 60)));
}

#[test]
fn frames_without_a_hash_go_to_the_default_queue() {
    // B42: not through the indirection table.
    let mut rss = RssConfig { default_queue: 3, indirection: [1; 128], ..RssConfig::default() };
    let arp = with(tcp4(0, 10), |f| f[IP - 1] = 6);
    let none = Steering { hash: 0, hash_type: HashType::None, queue: 3 };
    assert_eq!(steer(&rss, &arp), none);
    let mut wrong_version = tcp6(0, 10);
    wrong_version[IP] = 0x40;
    assert_eq!(steer(&rss, &wrong_version), none);
    assert_eq!(steer(&rss, &tcp4(0, 10)).queue, 1);
    // A queue that does not exist is queue 0.
    assert_eq!(run(&rss, 3, &arp, &parse::run(&arp, 128, 3, false)).queue, 0);
    rss.indirection = [7; 128];
    let frame = tcp4(0, 10);
    assert_eq!(run(&rss, 7, &frame, &parse::run(&frame, 128, 3, false)).queue, 0);
    assert_eq!(run(&rss, 8, &frame, &parse::run(&frame, 128, 3, false)).queue, 7);
}
