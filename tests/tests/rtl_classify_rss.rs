//! parse, classify and rss in a row under Verilator: packet type, protocol, hash and queue as in
//! the model.

mod rtl_support;

use groove_hdl::blocks::head_path::HeadPath;
use groove_hdl::emit::emit;
use groove_model::{Config, Frame, RssConfig, look};
use groove_spec::stages::parse::FRAME_META;
use groove_spec::{HASH_KEY_DEFAULT, HashType, INDIRECTION_ENTRIES, SymmetricMode};
use groove_verilator::Dut;
use rtl_support::{Drain, Feed, Record, Rng, cycle, field, frames, set, start, words};

const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];
const QUEUES: usize = 5;

fn open() -> Dut {
    let mut dut = start(&emit("head_path", HeadPath::new(QUEUES)));
    set(&mut dut, "mac_low", u64::from(u32::from_le_bytes([2, 0, 0, 0])));
    set(&mut dut, "mac_high", u64::from(u16::from_le_bytes([0, 2])));
    dut
}

fn configure(dut: &mut Dut, config: &Config) {
    let rss = &config.rss;
    set(dut, "control", config.control_word().into());
    let modes = u32::from(rss.symmetric.code()) << 8 | u32::from(rss.default_queue) << 16;
    set(dut, "rss_control", u64::from(u32::from(rss.hash_types) | modes));
    for (i, word) in words(&rss.key, 40).into_iter().enumerate() {
        set(dut, &format!("key_{i}"), word.into());
    }
    for (i, queue) in rss.indirection.iter().enumerate() {
        set(dut, "table_write", 1);
        set(dut, "table_index", i as u64);
        set(dut, "table_wdata", u64::from(*queue));
        dut.clock().expect("runs");
    }
    set(dut, "table_write", 0);
}

fn head(frame: &[u8]) -> Record {
    let seen = frame.len().min(128);
    vec![words(&frame[..seen], 128), vec![seen as u32], vec![0], vec![0], vec![0]]
}

fn simulate(dut: &mut Dut, rng: &mut Rng, inputs: Vec<Record>, gap: u8, stall: u8) -> Drain {
    let mut s = Feed::new(dut, "s", &["header", "bytes", "is_token", "token_kind", "queue"]);
    let mut m = Drain::new(dut, "m", &["meta", "header"]);
    let mut sum = Drain::new(dut, "sum", &["control"]);
    let count = inputs.len();
    s.records = inputs.into();
    (s.gap, m.stall) = (gap, stall);
    let deadline = dut.cycle() + 100 * count as u64;
    while m.records.len() < count {
        assert!(dut.cycle() < deadline, "stuck after {} of {count}", m.records.len());
        cycle(dut, rng, &mut [&mut s], &mut [&mut m, &mut sum]);
    }
    m
}

fn check(config: &Config, frame: &[u8], out: &Record) {
    let seen = look(config, &Frame::new(frame));
    for (name, value) in [
        ("packet_type", u64::from(seen.packet_type.code())),
        ("protocol", seen.protocol.into()),
        ("hash", seen.steering.hash.into()),
        ("hash_type", seen.steering.hash_type.code().into()),
        ("queue", seen.steering.queue.into()),
        ("hdr_len", seen.parsed.hdr_len as u64),
    ] {
        assert_eq!(field(&FRAME_META, &out[0], name), value, "{name} of {frame:02x?}\n{seen:?}");
    }
    let mut head = frame[..frame.len().min(128)].to_vec();
    if seen.vlan.is_some() {
        head.drain(12..16);
    }
    assert_eq!(out[1], words(&head, 128), "header of {frame:02x?}");
}

/// Method: random frames under random keys, types, modes and tables.
#[test]
fn hash_and_queue_equal_the_model() {
    let mut dut = open();
    let mut rng = Rng(1);
    for round in 0..24 {
        let mut config = Config { station: STATION, queues: QUEUES as u8, ..Config::default() };
        config.options.vlan_strip = rng.chance(50);
        config.rss = RssConfig {
            key: std::array::from_fn(|_| rng.next() as u8),
            hash_types: if rng.chance(40) { 0x7e } else { rng.next() as u8 & 0x7f },
            symmetric: SymmetricMode::ALL[round % 3],
            indirection: std::array::from_fn(|_| rng.below(32) as u8),
            default_queue: rng.below(8) as u8,
        };
        configure(&mut dut, &config);
        let frames: Vec<Vec<u8>> = (0..600).map(|_| frames::random(&mut rng, &STATION)).collect();
        let stall = if round % 2 == 0 { 0 } else { 50 };
        let inputs = frames.iter().map(|f| head(f)).collect();
        let out = simulate(&mut dut, &mut rng, inputs, stall / 2, stall);
        for (frame, record) in frames.iter().zip(&out.records) {
            check(&config, frame, record);
        }
    }
}

/// The published vectors, through the hardware: IPv4 and IPv6, with ports and without.
#[test]
fn hash_equals_the_verification_suite() {
    let ipv4 = |source: [u8; 4], sport: u16, destination: [u8; 4], dport: u16| {
        let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 8, 6, 0, 0];
        ip.extend([source, destination].concat());
        ip.extend([sport.to_be_bytes(), dport.to_be_bytes()].concat());
        ip.extend([0; 16]);
        [&[0; 12][..], &[8, 0], &ip].concat()
    };
    let cases = [
        (ipv4([66, 9, 149, 187], 2794, [161, 142, 100, 80], 1766), 0x323e_8fc2, 0x51cc_c178),
        (ipv4([199, 92, 111, 2], 14230, [65, 69, 140, 83], 4739), 0xd718_262a, 0xc626_b0ea),
        (ipv4([24, 19, 198, 95], 12898, [12, 22, 207, 184], 38024), 0xd2d0_a5de, 0x5c2b_394a),
    ];
    let mut dut = open();
    let mut rng = Rng(2);
    for addresses_only in [true, false] {
        let mut config = Config { queues: QUEUES as u8, ..Config::default() };
        config.rss = RssConfig { key: HASH_KEY_DEFAULT, ..RssConfig::default() };
        if addresses_only {
            config.rss.hash_types = 1 << HashType::Ipv4.code();
        }
        configure(&mut dut, &config);
        let inputs = cases.iter().map(|(frame, ..)| head(frame)).collect();
        let out = simulate(&mut dut, &mut rng, inputs, 0, 0);
        for ((_, addresses, full), record) in cases.iter().zip(&out.records) {
            let want = if addresses_only { *addresses } else { *full };
            assert_eq!(field(&FRAME_META, &record[0], "hash"), want);
        }
    }
}

#[test]
fn a_frame_takes_four_cycles() {
    let mut dut = open();
    configure(&mut dut, &Config::default());
    let mut rng = Rng(3);
    let inputs = (0..500).map(|_| head(&frames::plain(&mut rng, &STATION, 20))).collect();
    let out = simulate(&mut dut, &mut rng, inputs, 0, 0);
    let intervals: Vec<u64> = out.cycles.windows(2).map(|w| w[1] - w[0]).collect();
    // The first ones may wait until both stages are in step.
    assert!(intervals[4..].iter().all(|i| *i == 4), "{intervals:?}");
}

#[test]
fn a_token_keeps_its_queue() {
    let mut dut = open();
    configure(&mut dut, &Config::default());
    let mut rng = Rng(4);
    let token = |queue: u32| vec![words(&[], 128), vec![0], vec![1], vec![2], vec![queue]];
    let out = simulate(&mut dut, &mut rng, (0..32).map(token).collect(), 0, 20);
    for (queue, record) in out.records.iter().enumerate() {
        let f = |name| field(&FRAME_META, &record[0], name);
        assert_eq!((f("is_token"), f("token_kind"), f("queue")), (1, 2, queue as u64));
    }
}

#[test]
fn entries_are_zero_after_reset() {
    let mut dut = open();
    let mut config = Config::default();
    config.rss.indirection = [7; INDIRECTION_ENTRIES];
    configure(&mut dut, &config);
    let read = |dut: &mut Dut, index: usize| {
        set(dut, "table_index", index as u64);
        dut.settle().expect("runs");
        let value = dut.read(dut.port("table_rdata").expect("a port"));
        dut.edge().expect("runs");
        value
    };
    assert!((0..INDIRECTION_ENTRIES).all(|i| read(&mut dut, i) == 7));
    set(&mut dut, "cr_rst", 1);
    dut.clock().expect("runs");
    set(&mut dut, "cr_rst", 0);
    assert!((0..INDIRECTION_ENTRIES).all(|i| read(&mut dut, i) == 0));
}
