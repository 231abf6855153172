//! Faults that other receive offloads shipped, each as the sequence of frames that shows it.
//!
//! The numbers are those of the project's list of published bugs. A..D are consecutive segments of
//! one flow. Each test is named after what it protects; the frames are built here. Every sequence
//! goes through the model and through the emitted hardware under Verilator, with pauses: what a
//! test says about one holds for both (`hardware_agrees`).

use groove::engine::registers;
use groove_model::{Config, Event, Frame, Model, Options};
use groove_spec::stages::coalesce::{GSO_ACCECN, GSO_TCPV4, GSO_TCPV6};
use groove_spec::{
    AloneReason, CsumState, Delivery, DropReason, EndReason, HashType, PacketType, Profile, Tag,
    TokenKind, Verdict,
};
use groove_tests::differential::{Segment, check};
use groove_tests::frames::{
    CWR, FIN, PSH, RST, STATION, SYN, URG, encode, ip4, ip6, tcp, udp, v4, v6,
};
use groove_tests::generate::Item;
use groove_tests::generate::packet::{Packet, Sum, Transport, fold, ones_sum};
use groove_verilator::{BuildOptions, Pipeline};
use std::sync::{Mutex, OnceLock, PoisonError};

fn config() -> Config {
    Config { station: STATION, ..Config::default() }
}

/// The hardware has all its queues; a case with fewer sends nothing to the others.
const QUEUES: u8 = 32;

/// One pipeline for all tests: they wait for each other, and start it anew.
fn hardware() -> &'static Mutex<Pipeline> {
    static HARDWARE: OnceLock<Mutex<Pipeline>> = OnceLock::new();
    HARDWARE.get_or_init(|| {
        Mutex::new(Pipeline::open(&BuildOptions::default()).expect("the hardware builds"))
    })
}

/// Runs a sequence through both; fails unless they agree.
fn hardware_agrees(config: &Config, items: &[Item]) {
    let config = Config { queues: QUEUES, ..config.clone() };
    // A test that failed here has left a run open: the next one resets it.
    let mut pipeline = hardware().lock().unwrap_or_else(PoisonError::into_inner);
    let segment = Segment {
        seed: 1,
        queues: QUEUES,
        frames: items.len(),
        stall_percent: 20,
        output_stall_percent: None,
        refuse_percent: 0,
    };
    if let Err(difference) =
        check(&mut pipeline, &segment, registers::image(&config), &config, items)
    {
        panic!("model and hardware differ: {difference}");
    }
}

/// Frames, then a flush of every queue.
fn items(frames: &[Vec<u8>]) -> Vec<Item> {
    let frame = |bytes: &Vec<u8>| Item::Frame { bytes: bytes.clone(), bad_fcs: false };
    let flush = |queue| Item::Token { queue, kind: TokenKind::FlushAll };
    frames.iter().map(frame).chain((0..QUEUES).map(flush)).collect()
}

/// Everything that comes out, with a flush at the end.
fn events(config: Config, frames: &[Vec<u8>]) -> Vec<Event> {
    hardware_agrees(&config, &items(frames));
    let mut model = Model::new(config).expect("a possible configuration");
    let mut out = Vec::new();
    for bytes in frames {
        model.frame(Frame::new(bytes), &mut out);
    }
    for queue in 0..model.config().queues {
        model.token(queue, TokenKind::FlushAll, &mut out);
    }
    assert!(model.stats().conserved() && model.stats().held == 0);
    out
}

fn run(frames: &[Vec<u8>]) -> Vec<Delivery> {
    run_with(config(), frames)
}

fn run_with(config: Config, frames: &[Vec<u8>]) -> Vec<Delivery> {
    let deliveries = events(config, frames).into_iter().map(|event| match event {
        Event::Delivery(delivery) => delivery,
        Event::Drop { frame, reason } => panic!("frame {frame} dropped: {}", reason.name()),
    });
    deliveries.collect()
}

fn sources(deliveries: &[Delivery]) -> Vec<Vec<u32>> {
    deliveries.iter().map(|d| d.frames.clone()).collect()
}

/// Which frames come out together, in order.
fn merged(frames: &[Vec<u8>]) -> Vec<Vec<u32>> {
    sources(&run(frames))
}

fn plain(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| v4(n, 100).encode()).collect()
}

/// Segments A, B, …; `change` acts on the one with the given number.
fn train(count: usize, at: usize, change: impl Fn(&mut Packet)) -> Vec<Vec<u8>> {
    let one = |n| {
        encode(v4(n, 100), |p| {
            if n == at {
                change(p)
            }
        })
    };
    (0..count).map(one).collect()
}

fn train6(count: usize, at: usize, change: impl Fn(&mut Packet)) -> Vec<Vec<u8>> {
    let one = |n| {
        encode(v6(n, 100), |p| {
            if n == at {
                change(p)
            }
        })
    };
    (0..count).map(one).collect()
}

fn payload(delivery: &Delivery) -> &[u8] {
    &delivery.bytes[usize::from(delivery.hdr_len)..]
}

fn tcp_flags(delivery: &Delivery) -> u8 {
    delivery.bytes[usize::from(delivery.csum_start) + 13]
}

// ---- Merge decision ----

#[test]
fn b01_ttl_hop_limit_and_version_are_compared() {
    assert_eq!(merged(&train(2, 1, |p| ip4(p).ttl = 63)), [[0], [1]]);
    assert_eq!(merged(&train6(2, 1, |p| ip6(p).hop_limit = 63)), [[0], [1]]);
    let mixed = [v4(0, 100).encode(), v6(1, 100).encode(), v4(1, 100).encode()];
    let found = run(&mixed);
    let types: Vec<_> = found.iter().map(|d| (d.frames.len(), d.gso_type)).collect();
    assert!(types.contains(&(2, GSO_TCPV4)) && types.contains(&(1, 0)));
}

#[test]
fn b01_more_fragments_passes_through() {
    let found = run(&train(3, 1, |p| ip4(p).fragment = 0x2000));
    assert_eq!(sources(&found), [[1], [0], [2]]);
    assert_eq!(found[0].alone_reason, AloneReason::Bypass);
}

#[test]
fn b02_ae_and_reserved_bits_are_compared() {
    for bit in [1, 2, 4, 8] {
        assert_eq!(merged(&train(2, 1, |p| tcp(p).reserved = bit)), [[0], [1]], "bit {bit}");
        let all: Vec<_> = (0..2).map(|n| encode(v4(n, 100), |p| tcp(p).reserved = bit)).collect();
        assert_eq!(merged(&all), [[0, 1]]);
    }
}

#[test]
fn b03_equal_cwr_merges_and_different_does_not() {
    let all: Vec<_> = (0..4).map(|n| encode(v4(n, 100), |p| tcp(p).flags |= CWR)).collect();
    let found = run(&all);
    assert_eq!(sources(&found), [[0, 1, 2, 3]]);
    assert_eq!((tcp_flags(&found[0]) & CWR, found[0].gso_type), (CWR, GSO_TCPV4 | GSO_ACCECN));
    assert_eq!(merged(&train(2, 0, |p| tcp(p).flags |= CWR)), [[0], [1]]);
    for profile in [Profile::Linux612, Profile::Linux618] {
        let found = run_with(Config { profile, ..config() }, &all);
        assert_eq!(found.len(), 4, "{}", profile.name());
    }
}

#[test]
fn b04_flipped_payload_bit_stays_out_of_good_frames() {
    for rxcsum in [true, false] {
        let mut frames = plain(3);
        frames[1][80] ^= 0x04;
        let options = Options { rxcsum, ..Options::default() };
        let found = run_with(Config { options, ..config() }, &frames);
        assert_eq!(sources(&found), [[1], [0], [2]]);
        assert_eq!((found[0].csum, found[0].l4_verdict), (CsumState::None, Verdict::Bad));
    }
}

#[test]
fn b05_bad_frame_neither_starts_nor_joins() {
    for bad in [0, 1] {
        let found = run(&train(3, bad, |p| tcp(p).sum = Sum::Wrong(0x8000)));
        assert_eq!(found[0].frames, [bad as u32]);
        assert_eq!((found[0].csum, found[0].gso_segs), (CsumState::None, 0));
    }
    let found = run(&train(2, 0, |p| ip4(p).sum = Sum::Wrong(1)));
    assert_eq!((found[0].l3_verdict, found[0].csum), (Verdict::Bad, CsumState::None));
    assert_eq!(sources(&found), [[0], [1]]);
}

#[test]
fn b06_special_flag_does_not_overtake_held_data() {
    for (flag, sources) in [
        (FIN, vec![vec![0, 1, 2]]),
        (PSH, vec![vec![0, 1, 2]]),
        (RST, vec![vec![0, 1], vec![2]]),
        (SYN, vec![vec![0, 1], vec![2]]),
        (URG, vec![vec![0, 1], vec![2]]),
    ] {
        assert_eq!(merged(&train(3, 2, |p| tcp(p).flags |= flag)), sources, "flag {flag:#x}");
    }
    let empty = train(3, 2, |p| {
        p.payload_len = 0;
        tcp(p).flags |= RST;
    });
    assert_eq!(merged(&empty), [vec![0, 1], vec![2]]);
}

#[test]
fn b07_psh_of_the_last_segment_is_on_the_merged_header() {
    let found = run(&train(3, 2, |p| tcp(p).flags |= PSH));
    assert_eq!(sources(&found), [[0, 1, 2]]);
    assert_eq!((tcp_flags(&found[0]) & PSH, found[0].end_reason), (PSH, EndReason::Flags));
}

#[test]
fn b08_flags_are_set_in_the_head_and_payload_stays() {
    let frames = train(2, 1, |p| {
        p.payload_len = 99;
        tcp(p).flags |= PSH;
    });
    let found = run(&frames);
    assert_eq!(tcp_flags(&found[0]) & PSH, PSH);
    assert_eq!(payload(&found[0]), [&frames[0][54..], &frames[1][54..]].concat());
}

#[test]
fn b09_order_within_a_flow_is_kept() {
    assert_eq!(merged(&plain(3)), [[0, 1, 2]]);
    let frames = plain(3);
    let acb = [frames[0].clone(), frames[2].clone(), frames[1].clone()];
    assert_eq!(merged(&acb), [[0], [1], [2]]);
    let found = run(&plain(5));
    let expected: Vec<u8> = plain(5).iter().flat_map(|f| f[54..].to_vec()).collect();
    assert_eq!(payload(&found[0]), expected);
}

#[test]
fn b10_fin_is_visible_on_the_merged_header() {
    let found = run(&train6(2, 1, |p| tcp(p).flags |= FIN));
    assert_eq!((found[0].frames.len(), tcp_flags(&found[0]) & FIN), (2, FIN));
    assert_eq!(found[0].gso_type, GSO_TCPV6);
}

#[test]
fn b11_twenty_segments_are_one_frame() {
    let found = run(&plain(20));
    assert_eq!((found.len(), found[0].gso_segs, found[0].frames.len()), (1, 20, 20));
}

#[test]
fn b13_ip_length_inside_the_tcp_header_touches_nothing_else() {
    // Total length 30 leaves 10 bytes for a TCP header that says 32.
    let short = |p: &mut Packet| {
        p.length_error = -110;
        tcp(p).data_offset = Some(8);
    };
    let found = run(&train(3, 1, short));
    let lone = found.iter().find(|d| d.frames == [1]).expect("delivered alone");
    assert_eq!((lone.l4_verdict, lone.csum), (Verdict::NotApplicable, CsumState::None));
    assert_eq!(lone.bytes.len(), 154);
    // A frame that ends inside the TCP header bypasses: what is held stays held.
    let cut = train(2, 1, |p| p.cut = Some(46));
    let frames = [cut[0].clone(), cut[1].clone(), plain(2)[1].clone()];
    assert_eq!(merged(&frames), [vec![1], vec![0, 2]]);
}

#[test]
fn b14_first_fragment_is_not_tcp() {
    let found = run(&train(2, 1, |p| ip4(p).fragment = 0x2000));
    assert_eq!(sources(&found), [[1], [0]]);
    assert_eq!((found[0].hash_type, found[0].hdr_len), (HashType::Ipv4, 34));
}

#[test]
fn b16_others_in_the_burst_are_not_lost() {
    let mut frames: Vec<_> = (0..2).map(|n| udp(v4(n, 50)).encode()).collect();
    frames.extend(plain(4));
    assert_eq!(merged(&frames), [vec![0], vec![1], vec![2, 3, 4, 5]]);
}

#[test]
fn b17_padding_is_not_payload() {
    let one = |n: usize| encode(v4(n, 1), |p| p.padding = 5);
    assert_eq!(one(0).len(), 60);
    let frames = [one(0), one(1)];
    assert_eq!(merged(&frames), [[0], [1]], "as Linux: padded frames do not merge");
    let options = Options { trim_pad: true, ..Options::default() };
    let found = run_with(Config { options, ..config() }, &frames);
    assert_eq!((sources(&found), payload(&found[0]).len()), (vec![vec![0, 1]], 2));
    let fin = encode(v4(0, 0), |p| {
        p.padding = 6;
        tcp(p).flags |= FIN;
    });
    let found = run_with(Config { options, ..config() }, &[fin]);
    assert_eq!((payload(&found[0]).len(), found[0].bytes.len()), (0, 54));
    assert_eq!(found[0].alone_reason, AloneReason::Empty);
}

#[test]
fn b18_lengths_agree_with_an_unequal_last_segment() {
    let found = run(&train(3, 2, |p| p.payload_len = 37));
    let delivery = &found[0];
    let total = usize::from(u16::from_be_bytes([delivery.bytes[16], delivery.bytes[17]]));
    assert_eq!((payload(delivery).len(), total), (237, 40 + 237));
    assert_eq!(delivery.bytes.len(), 14 + total);
}

#[test]
fn b19_acknowledgement_may_not_advance() {
    assert_eq!(merged(&plain(2)), [[0, 1]]);
    assert_eq!(merged(&train(2, 1, |p| tcp(p).ack += 1)), [[0], [1]]);
}

#[test]
fn b20_pure_acks_are_delivered_one_by_one_and_at_once() {
    let ack = |number: u32| encode(v4(0, 0), |p| tcp(p).ack += number);
    let mut model = Model::new(config()).expect("plain");
    let mut out = Vec::new();
    hardware_agrees(&config(), &items(&[ack(1), ack(1), ack(2)]));
    for number in [1, 1, 2] {
        let before = out.len();
        model.frame(Frame::new(&ack(number)), &mut out);
        assert_eq!(out.len(), before + 1, "not held");
    }
}

#[test]
fn b22_order_across_flows_is_that_of_completion() {
    let frames = [v4(0, 100).encode(), udp(v4(5, 40)).encode(), v4(1, 100).encode()];
    assert_eq!(merged(&frames), [vec![1], vec![0, 2]]);
}

#[test]
fn b23_udp_checksum_zero_is_absent_not_bad() {
    for (version, packet) in [(4, udp(v4(0, 60))), (6, udp(v6(0, 60)))] {
        let mut packet = packet;
        if let Transport::Udp(header) = &mut packet.transport {
            header.sum = Sum::Field(0);
        }
        let found = run(&[packet.encode()]);
        assert_eq!(found[0].l4_verdict, Verdict::Absent, "IPv{version}");
        assert_eq!(found[0].csum, CsumState::Unnecessary);
    }
}

// ---- What is reported about the merged frame ----

#[test]
fn b24_merged_checksum_field_is_the_pseudo_header_sum() {
    for (frames, at, addresses) in [(plain(3), 34, 26..34), (train6(3, 9, |_| ()), 54, 22..54)] {
        let found = run(&frames);
        let bytes = &found[0].bytes;
        let length = (bytes.len() - at) as u64;
        let sum = fold(u64::from(ones_sum(&bytes[addresses])) + 6 + length);
        assert_eq!(bytes[at + 16..at + 18], sum.to_be_bytes());
        assert_eq!((found[0].csum, found[0].csum_start), (CsumState::Partial, at as u16));
    }
}

#[test]
fn b25_a_bad_last_segment_does_not_make_the_others_bad() {
    let found = run(&train(3, 2, |p| tcp(p).sum = Sum::Wrong(1)));
    assert_eq!(sources(&found), [vec![2], vec![0, 1]]);
    assert_eq!((found[0].l4_verdict, found[1].l4_verdict), (Verdict::Bad, Verdict::Good));
    assert_eq!(found[1].csum, CsumState::Partial);
}

#[test]
fn b26_segments_are_counted_not_computed() {
    let frames: Vec<_> = (0..10).map(|n| v4(n, 536).encode()).collect();
    let found = run(&frames);
    assert_eq!((found[0].gso_segs, found[0].gso_size), (10, 536));
}

#[test]
fn b27_segment_count_fits_the_payload() {
    for count in [2, 3, 7] {
        let found = run(&train(count, count - 1, |p| p.payload_len = 1));
        let size = usize::from(found[0].gso_size);
        let expected = payload(&found[0]).len().div_ceil(size);
        assert_eq!((usize::from(found[0].gso_segs), size), (expected, 100));
    }
}

#[test]
fn b28_segment_size_is_the_first_payload() {
    let found = run(&train(3, 2, |p| p.payload_len = 40));
    assert_eq!((found[0].gso_size, found[0].gso_segs), (100, 3));
}

#[test]
fn b30_only_tcp_is_marked_for_segmentation() {
    let found = run(&[udp(v4(0, 2000)).encode()]);
    assert_eq!((found[0].gso_type, found[0].gso_size, found[0].gso_segs), (0, 0, 0));
    assert_eq!((found[0].csum, found[0].csum_start), (CsumState::Unnecessary, 0));
}

#[test]
fn b31_a_single_segment_has_no_gso_mark() {
    let found = run(&plain(1));
    assert_eq!((found[0].gso_segs, found[0].gso_size, found[0].gso_type), (0, 0, 0));
    let found = run(&train(2, 1, |p| p.payload_len = 1));
    assert_eq!((found[0].gso_segs, found[0].gso_size), (2, 100));
}

#[test]
fn b32_merged_frames_split_into_the_original_ones() {
    let frames: Vec<_> = (0..2).map(|n| v4(n, 1448).encode()).collect();
    let found = run(&frames);
    assert_eq!(payload(&found[0]).len(), 2896);
    assert_eq!(groove_model::gso::segment(&found[0]), Ok(frames));
}

// ---- Checksum arithmetic ----

#[test]
fn b34_ipv4_header_with_many_ones_is_good() {
    let broadcast = |n| {
        encode(v4(n, 100), |p| {
            ip4(p).source = [255; 4];
            ip4(p).destination = [255; 4];
            ip4(p).tos = 0xff;
            ip4(p).ttl = 255;
            ip4(p).id = 0xfffe + n as u16;
        })
    };
    let found = run(&[broadcast(0), broadcast(1)]);
    assert_eq!((sources(&found), found[0].l3_verdict), (vec![vec![0, 1]], Verdict::Good));
    assert_eq!(ones_sum(&found[0].bytes[14..34]), 0xffff, "rewritten header");
}

#[test]
fn b35_sums_are_folded_until_no_carry_is_left() {
    for length in 90..110 {
        let mut frame = v4(0, length).encode();
        frame[54..].fill(0xff);
        frame[50..52].fill(0);
        let pseudo = u64::from(ones_sum(&frame[26..34])) + 6 + (frame.len() - 34) as u64;
        let sum = !fold(pseudo + u64::from(ones_sum(&frame[34..])));
        frame[50..52].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(run(&[frame])[0].l4_verdict, Verdict::Good, "{length} bytes");
    }
}

#[test]
fn b36_header_length_ignores_the_low_nibble() {
    let frames: Vec<_> = (0..2)
        .map(|n| {
            encode(v4(n, 100), |p| {
                tcp(p).options = vec![1; 12];
                tcp(p).reserved = 0x0f;
            })
        })
        .collect();
    let found = run(&frames);
    assert_eq!((found[0].hdr_len, payload(&found[0]).len()), (34 + 32, 200));
}

#[test]
fn b38_tags_and_padding_do_not_disturb_the_sum() {
    let tag = Tag { tpid: 0x8100, tci: 5 };
    for strip in [true, false] {
        let options = Options { vlan_strip: strip, ..Options::default() };
        let frames = [
            encode(v4(0, 100), |p| p.tags = vec![tag]),
            encode(v4(0, 1), |p| p.padding = 5),
            encode(v4(0, 1), |p| (p.tags, p.padding) = (vec![tag, tag], 5)),
        ];
        for delivery in run_with(Config { options, ..config() }, &frames) {
            let verdicts = (delivery.l3_verdict, delivery.l4_verdict);
            assert_eq!(verdicts, (Verdict::Good, Verdict::Good));
        }
    }
}

// ---- RSS ----

fn spread() -> Config {
    Config { queues: 32, rss: groove_model::RssConfig::spread(32), ..config() }
}

#[test]
fn b39_all_fragments_of_a_datagram_go_to_one_queue() {
    let fragment = |n, field| encode(udp(v4(n, 64)), |p| ip4(p).fragment = field);
    let frames = [fragment(0, 0x2000), fragment(1, 0x2008), fragment(2, 0x0010)];
    let found = run_with(spread(), &frames);
    for delivery in &found {
        assert_eq!(delivery.hash_type, HashType::Ipv4);
        assert_eq!((delivery.hash, delivery.queue), (found[0].hash, found[0].queue));
    }
    let v6 = encode(v6(0, 64), |p| ip6(p).extensions = vec![(44, vec![0, 1, 0, 0, 0, 9])]);
    assert_eq!(run_with(spread(), &[v6])[0].hash_type, HashType::Ipv6);
}

#[test]
fn b40_hash_of_the_published_vectors() {
    let frame = encode(v4(0, 10), |p| {
        ip4(p).source = [66, 9, 149, 187];
        ip4(p).destination = [161, 142, 100, 80];
        (tcp(p).source, tcp(p).destination) = (2794, 1766);
    });
    let found = run_with(spread(), &[frame]);
    assert_eq!((found[0].hash, found[0].queue), (0x51cc_c178, (0x78 & 127) % 32));
}

#[test]
fn b41_tcp_and_udp_over_ipv6_have_their_own_types() {
    let frames = [v6(0, 10).encode(), udp(v6(0, 10)).encode()];
    for (enabled, types) in [
        (HashType::Ipv6Tcp, [HashType::Ipv6Tcp, HashType::None]),
        (HashType::Ipv6Udp, [HashType::None, HashType::Ipv6Udp]),
    ] {
        let mut config = spread();
        config.rss.hash_types = 1 << enabled.code();
        hardware_agrees(&config, &items(&frames));
        let mut model = Model::new(config).expect("plain");
        let mut out = Vec::new();
        for (frame, expected) in frames.iter().zip(types) {
            model.frame(Frame::new(frame), &mut out);
            model.token(0, TokenKind::FlushAll, &mut out);
            (1..32).for_each(|queue| model.token(queue, TokenKind::FlushAll, &mut out));
            let Some(Event::Delivery(delivery)) = out.pop() else { panic!("nothing delivered") };
            assert_eq!(delivery.hash_type, expected, "{}", enabled.name());
        }
    }
}

#[test]
fn b42_frames_without_ip_go_to_the_default_queue() {
    let arp = encode(v4(0, 20), |p| p.ethertype = Some(0x0806));
    let mut config = spread();
    config.rss.indirection[0] = 3;
    config.rss.default_queue = 9;
    let found = run_with(config, &[arp]);
    assert_eq!((found[0].queue, found[0].hash), (9, 0));
    assert_eq!((found[0].protocol, found[0].packet_type), (0x0806, PacketType::Host));
}

#[test]
fn b43_tags_do_not_split_a_flow() {
    let tag = |tci| Tag { tpid: 0x8100, tci };
    let outer = Tag { tpid: 0x88a8, tci: 7 };
    for vlan_strip in [true, false] {
        let options = Options { vlan_strip, ..Options::default() };
        let tags = [vec![], vec![tag(5)], vec![outer, tag(6)]];
        let frames = tags.map(|tags| encode(v4(0, 20), |p| p.tags = tags));
        let found = run_with(Config { options, ..spread() }, &frames);
        assert!(found.iter().all(|d| d.hash == found[0].hash && d.queue == found[0].queue));
    }
}

#[test]
fn b46_metadata_of_a_merged_delivery_is_the_first_frames() {
    let frames: Vec<_> = (0..3)
        .map(|n| encode(v4(n, 4000), |p| p.tags = vec![Tag { tpid: 0x8100, tci: 0x2005 }]))
        .collect();
    let found = run_with(spread(), &frames);
    assert_eq!(found[0].hash_type, HashType::Ipv4Tcp);
    assert_eq!(found[0].vlan, Some(Tag { tpid: 0x8100, tci: 0x2005 }));
    assert_eq!((found[0].frames.len(), found[0].l4_verdict), (3, Verdict::Good));
}

// ---- Header split and framing ----

#[test]
fn b47_header_and_payload_lengths_are_those_of_the_frame() {
    for length in [0, 1, 63, 64, 65, 1460, 9162] {
        let frame = v4(0, length).encode();
        let found = run(std::slice::from_ref(&frame));
        assert_eq!((found[0].hdr_len, payload(&found[0])), (54, &frame[54..]));
    }
}

#[test]
fn b50_no_byte_is_lost_with_tags_or_at_the_minimum() {
    let tag = Tag { tpid: 0x88a8, tci: 1 };
    let options = Options { vlan_strip: false, ..Options::default() };
    for (tags, payload_len) in
        [(vec![], 1460), (vec![tag], 1460), (vec![tag, tag], 1460), (vec![], 6), (vec![], 10)]
    {
        let frame = encode(v4(0, payload_len), |p| p.tags = tags.clone());
        let found = run_with(Config { options, ..config() }, std::slice::from_ref(&frame));
        assert_eq!(found[0].bytes, frame);
    }
}

#[test]
fn b51_a_dropped_frame_leaves_its_neighbours_alone() {
    let frames = plain(3);
    let faulty = [(&frames[1][..], true), (&frames[1][..13], false), (&[0; 9217], false)];
    let mut input = items(&[frames[0].clone(), frames[1].clone()]);
    let wrong = |(bytes, bad_fcs): (&[u8], bool)| Item::Frame { bytes: bytes.to_vec(), bad_fcs };
    input.splice(1..1, faulty.map(wrong));
    hardware_agrees(&config(), &input);
    let mut model = Model::new(config()).expect("plain");
    let mut out = Vec::new();
    model.frame(Frame::new(&frames[0]), &mut out);
    for (bytes, bad_fcs) in faulty {
        model.frame(Frame { bytes, bad_fcs, given: None }, &mut out);
    }
    model.skip(DropReason::Overflow, &mut out);
    model.frame(Frame::new(&frames[1]), &mut out);
    model.token(0, TokenKind::FlushAll, &mut out);
    let Some(Event::Delivery(merged)) = out.pop() else { panic!("nothing delivered") };
    assert_eq!(merged.frames, [0, 5]);
    assert_eq!(payload(&merged), [&frames[0][54..], &frames[1][54..]].concat());
    let drops: Vec<_> = out
        .iter()
        .filter_map(|event| match event {
            Event::Drop { frame, reason } => Some((*frame, *reason)),
            Event::Delivery(_) => None,
        })
        .collect();
    let (fcs, runt) = (DropReason::BadFcs, DropReason::Runt);
    let (over, flow) = (DropReason::Oversize, DropReason::Overflow);
    assert_eq!(drops, [(1, fcs), (2, runt), (3, over), (4, flow)]);
}
