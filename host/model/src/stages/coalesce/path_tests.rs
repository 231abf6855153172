use super::*;
use crate::stages::admit::{entry_csum, soft_flush};
use crate::stages::parse::{self, L3Kind, L4Kind};
use crate::stages::{checksum, parse::Parsed};
use crate::test_frames::{IP, TCP4, TCP6, tagged, tcp4, tcp6, with, with_options};
use groove_spec::Verdict;

fn config(change: impl FnOnce(&mut crate::Options)) -> Config {
    let mut config = Config::default();
    change(&mut config.options);
    config
}

fn walk(config: &Config, frame: &[u8]) -> (Option<Candidate>, Csum) {
    run(config, frame, 128, Csum::default())
}

/// The rule in the header, from the frame's metadata alone.
fn by_metadata(config: &Config, frame: &[u8], entry: Csum) -> (bool, Csum) {
    let p: Parsed = parse::run(frame, 128, 3, false);
    let verdicts = checksum::run(frame, &p);
    let least = if p.l4_kind == L4Kind::Tcp { 20 } else { 8 };
    let plain_ipv4 = p.l4_off == p.l3_off + 20 && verdicts.l3 == Verdict::Good;
    let reaches = (p.tags == 0 || config.options.vlan_gro)
        && p.l4_kind != L4Kind::None
        && p.l4_off + least <= p.visible_bytes
        && (p.l3_kind != L3Kind::Ipv4 || plain_ipv4);
    if !reaches {
        return (false, entry);
    }
    let whole_tcp = p.l4_kind == L4Kind::Tcp && p.hdr_len > p.l4_off;
    if soft_flush(frame, &p) {
        return (whole_tcp, entry);
    }
    match (entry.state, verdicts.l4) {
        (GivenCsum::Unnecessary, _) => (whole_tcp, entry),
        (_, Verdict::Good | Verdict::Absent) => {
            (whole_tcp, Csum { state: GivenCsum::Unnecessary, ..entry })
        }
        _ => (false, entry),
    }
}

fn samples() -> Vec<Vec<u8>> {
    let mut frames = vec![tcp4(0, 0), tcp4(0, 100), tcp6(0, 0), tcp6(0, 100)];
    for frame in [tcp4(0, 64), tcp6(0, 64)] {
        for byte in 12..frame.len().min(100) {
            for bit in 0..8 {
                let mut flipped = frame.clone();
                flipped[byte] ^= 1 << bit;
                // With the sums as they were, and with sums made right again.
                if byte >= IP + 10 {
                    frames.push(with(flipped.clone(), |_| {}));
                }
                frames.push(flipped);
            }
        }
    }
    for frame in [tcp4(0, 30), tcp6(0, 30)] {
        frames.push(tagged(&frame, &[[0x81, 0, 0, 1]]));
        frames.push(tagged(&frame, &[[0x88, 0xa8, 0, 1], [0x81, 0, 0, 1], [0x81, 0, 0, 2]]));
        frames.push(tagged(&frame, &[[0x81, 0, 0, 1]; 4]));
        frames.push([&frame[..], &[0; 3]].concat());
        frames.extend((14..frame.len()).map(|len| frame[..len].to_vec()));
    }
    let deep = with_options(tcp6(0, 30), TCP6, &[1; 40]);
    frames.push(tagged(&deep, &[[0x81, 0, 0, 1], [0x81, 0, 0, 2], [0x81, 0, 0, 3]]));
    frames.push(with(tcp4(0, 60), |f| f[TCP4 + 12] = 0xf0));
    frames
}

#[test]
fn plain_frames_follow_from_the_metadata() {
    let mut candidates = 0;
    for frame in samples() {
        for vlan_gro in [false, true] {
            for rxcsum in [false, true] {
                let config = config(|o| o.vlan_gro = vlan_gro);
                let p = parse::run(&frame, 128, 3, false);
                let entry = entry_csum(rxcsum, &checksum::run(&frame, &p), None);
                let (found, csum) = run(&config, &frame, 128, entry);
                let (candidate, expected) = by_metadata(&config, &frame, entry);
                assert_eq!(found.is_some(), candidate, "{frame:02x?}");
                assert_eq!((csum.state, csum.level), (expected.state, expected.level));
                if let Some(found) = found {
                    candidates += 1;
                    assert_eq!(found.payload_off, p.hdr_len);
                    assert_eq!(found.tcp_off, p.l4_off);
                    assert_eq!(found.soft_flush, soft_flush(&frame, &p));
                }
            }
        }
    }
    assert!(candidates > 1000, "only {candidates} candidates were tried");
}

#[test]
fn every_prefix_of_a_frame_is_walked() {
    let all = Config { max_header_bytes: None, ..config(|o| (o.tunnels, o.pppoe) = (true, true)) };
    for frame in [gre(&tcp4(0, 20), 0xa000), pppoe(&tcp4(0, 20)), ipip(&tcp6(0, 20), 41)] {
        assert!(walk(&all, &frame).0.is_some());
        for len in 14..frame.len() {
            // Cut frames do not carry what their lengths say: never a clean candidate.
            let found = walk(&all, &frame[..len]).0;
            assert!(found.is_none_or(|c| c.soft_flush), "{len}");
            assert!(run(&all, &frame, len, Csum::default()).0.is_none_or(|c| c.payload_off <= len));
        }
    }
}

/// The IP packet of a frame behind an outer IPv4 header.
fn ipip(inner: &[u8], protocol: u8) -> Vec<u8> {
    with(tcp4(0, inner.len() - 14 - 20), |f| {
        f[IP + 9] = protocol;
        f.truncate(TCP4);
        f.extend(&inner[14..]);
        let total = (f.len() - IP) as u16;
        f[IP + 2..IP + 4].copy_from_slice(&total.to_be_bytes());
    })
    .into_iter()
    .take(34)
    .chain(inner[14..].iter().copied())
    .collect()
}

/// The IP packet of a frame in GRE with these flags, key 7, checksum right if there is one.
fn gre(inner: &[u8], flags: u16) -> Vec<u8> {
    let mut packet = vec![0; 14];
    packet.extend(flags.to_be_bytes());
    packet.extend(&inner[12..14]);
    if flags & 0x8000 != 0 {
        packet.extend([0; 4]);
    }
    if flags & 0x2000 != 0 {
        packet.extend([0, 0, 0, 7]);
    }
    packet.extend(&inner[14..]);
    if flags & 0x8000 != 0 {
        let checksum = !fold(sum(&packet[14..]));
        packet[18..20].copy_from_slice(&checksum.to_be_bytes());
    }
    ipip(&packet, 47)
}

fn pppoe(inner: &[u8]) -> Vec<u8> {
    let length = (inner.len() - 14 + 2) as u16;
    let header = [&[0x88, 0x64, 0x11, 0, 0, 9][..], &length.to_be_bytes(), &[0, 0x21]].concat();
    [&inner[..12], &header, &inner[14..]].concat()
}

#[test]
fn one_tunnel_level_is_taken() {
    let on = config(|o| o.tunnels = true);
    let off = Config::default();
    let types = |frame: &[u8]| walk(&on, frame).0.map(|c| c.gso_type);
    assert_eq!(types(&ipip(&tcp4(0, 20), 4)), Some(GSO_IPXIP4 | GSO_TCPV4));
    assert_eq!(types(&ipip(&tcp6(0, 20), 41)), Some(GSO_IPXIP4 | GSO_TCPV6));
    assert_eq!(types(&gre(&tcp4(0, 20), 0)), Some(GSO_GRE | GSO_TCPV4));
    assert_eq!(types(&gre(&tcp6(0, 20), 0x2000)), Some(GSO_GRE | GSO_TCPV6));
    for frame in [
        ipip(&ipip(&tcp4(0, 20), 4), 4),
        gre(&gre(&tcp4(0, 20), 0), 0),
        gre(&ipip(&tcp4(0, 20), 4), 0),
        gre(&tcp4(0, 20), 0x1000),
        gre(&tcp4(0, 20), 0x0001),
    ] {
        assert_eq!(types(&frame), None);
    }
    assert_eq!(walk(&off, &ipip(&tcp4(0, 20), 4)).0, None);
    assert_eq!(walk(&off, &gre(&tcp4(0, 20), 0)).0, None);
}

#[test]
fn gre_checksum_is_a_level_of_its_own() {
    let on = config(|o| o.tunnels = true);
    let good = gre(&tcp4(0, 20), 0x8000);
    let (found, csum) = walk(&on, &good);
    assert!(found.is_some());
    assert_eq!((csum.state, csum.level), (GivenCsum::Unnecessary, 1));
    let mut bad = good.clone();
    bad[38] ^= 1;
    let (found, csum) = walk(&on, &bad);
    assert_eq!((found, csum.state), (None, GivenCsum::None));
    // A level that the receiver verified is used up by GRE, whatever the sum.
    let verified = Csum { state: GivenCsum::Unnecessary, level: 0, credit: 1 };
    let (found, csum) = run(&on, &bad, 128, verified);
    assert!(found.is_some());
    assert_eq!((csum.level, csum.credit), (1, 0));
}

#[test]
fn pppoe_length_must_end_with_the_frame() {
    let on = config(|o| o.pppoe = true);
    let frame = pppoe(&tcp4(0, 20));
    assert!(walk(&on, &frame).0.is_some());
    assert!(walk(&Config::default(), &frame).0.is_none());
    assert!(walk(&on, &[&frame[..], &[0]].concat()).0.is_none());
    assert!(walk(&on, &frame[..frame.len() - 1]).0.is_none());
    for (byte, flip) in [(14, 0x01), (15, 0x01), (21, 0x01)] {
        let mut other = frame.clone();
        other[byte] ^= flip;
        assert!(walk(&on, &other).0.is_none(), "byte {byte}");
    }
}

#[test]
fn handlers_call_each_other_fourteen_times() {
    // Tags, then IPv4, then TCP: 13 tags are the most when headers are not bounded.
    let unbounded = Config { max_header_bytes: None, ..Config::default() };
    for (count, taken) in [(12, true), (13, true), (14, false)] {
        let frame = tagged(&tcp4(0, 20), &vec![[0x81, 0, 0, 1]; count]);
        let found = run(&unbounded, &frame, frame.len(), Csum::default()).0;
        assert_eq!(found.is_some(), taken, "{count} tags");
    }
}
