//! coalesce and fixup in a row under Verilator: deliveries as the model's, field by field, and
//! their pace.

mod rtl_support;

use std::collections::HashMap;

use groove_hdl::blocks::session_path::SessionPath;
use groove_hdl::emit::emit;
use groove_model::stages::{admit, coalesce::path, parse::L4Kind};
use groove_model::{Config, Event, Frame, Given, Model, Seen, Stats, look};
use groove_spec::stages::coalesce::OPERATION;
use groove_spec::stages::parse::FRAME_META;
use groove_spec::{
    AloneReason, CsumState, Delivery, EndReason, HashType, OpKind, PacketType, Profile, Tag,
    TokenKind, Verdict,
};
use groove_verilator::{Dut, Toolbox};
use rtl_support::trains::{Flow, Twist, train};
use rtl_support::{Drain, Feed, Record, Rng, cycle, field, pack, set, start, words};

/// What goes in.
#[derive(Clone, Debug)]
enum Input {
    Frame(Vec<u8>, Option<Given>),
    Token(u8, TokenKind),
}

impl Input {
    fn plain(bytes: Vec<u8>) -> Self {
        Input::Frame(bytes, None)
    }

    /// The queue below `queues` that it flushes.
    fn flushes(&self, queues: u8) -> Option<u8> {
        match self {
            Input::Token(queue, TokenKind::FlushAll) if *queue < queues => Some(*queue),
            _ => None,
        }
    }
}

fn frame_of<'a>(bytes: &'a [u8], given: &'a Option<Given>) -> Frame<'a> {
    Frame { bytes, bad_fcs: false, given: given.as_ref() }
}

fn fold(mut sum: u64) -> u64 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// A record by the table; fields that are not named are 0.
fn meta_record(values: &[(&str, u64)]) -> Vec<u32> {
    let value = |name: &str| values.iter().find(|(n, _)| *n == name).map_or(0, |(_, v)| *v);
    let fields: Vec<_> = FRAME_META.fields.iter().map(|f| (value(f.name), f.width)).collect();
    pack(&fields)
}

fn token_record(queue: u8, kind: TokenKind) -> Record {
    let meta = [("is_token", 1), ("token_kind", kind.code().into()), ("queue", queue.into())];
    vec![meta_record(&meta), words(&[], 128)]
}

/// What the stages in front of coalesce say about a frame.
fn frame_record(seen: &Seen, candidate: bool) -> Record {
    let p = &seen.parsed;
    let byte = |at: usize| u64::from(seen.bytes.get(at).copied().unwrap_or(0));
    let be = |at: usize, n: usize| (0..n).fold(0, |v, i| v << 8 | byte(at + i));
    let tcp = if p.l4_kind == L4Kind::Tcp { p.l4_off } else { seen.bytes.len() };
    let addresses = groove_model::stages::checksum::addresses(&seen.bytes, p);
    let tag = seen.vlan.unwrap_or(Tag { tpid: 0x8100, tci: 0 });
    let meta = [
        ("queue", seen.steering.queue.into()),
        ("hash", seen.steering.hash.into()),
        ("hash_type", seen.steering.hash_type.code().into()),
        ("vlan_valid", seen.vlan.is_some().into()),
        ("vlan_tpid", (tag.tpid == 0x88a8).into()),
        ("vlan_tci", tag.tci.into()),
        ("packet_type", seen.packet_type.code().into()),
        ("protocol", seen.protocol.into()),
        ("hdr_len", p.hdr_len as u64),
        ("l3_kind", p.l3_kind as u64),
        ("l3_off", p.l3_off as u64),
        ("l4_kind", p.l4_kind as u64),
        ("l4_off", p.l4_off as u64),
        ("fragment", p.fragment.into()),
        ("ip_len", p.ip_len as u64),
        ("l3_verdict", seen.verdicts.l3.code().into()),
        ("l4_verdict", seen.verdicts.l4.code().into()),
        ("addr_sum", fold(addresses + 6)),
        ("candidate", candidate.into()),
        ("soft_flush", seen.soft_flush.into()),
        ("ip_id", be(p.l3_off + 4, 2)),
        ("ip_csum", be(p.l3_off + 10, 2)),
        ("ip_tot_len", be(p.l3_off + 2, 2)),
        ("tcp_seq", be(tcp + 4, 4)),
        ("tcp_flags", byte(tcp + 13)),
        ("payload_len", (seen.bytes.len() - p.hdr_len) as u64),
        ("frame_bytes", seen.bytes.len() as u64),
    ];
    vec![meta_record(&meta), words(&seen.bytes[..seen.bytes.len().min(128)], 128)]
}

fn record(config: &Config, input: &Input) -> Record {
    match input {
        Input::Token(queue, kind) => token_record(*queue, *kind),
        Input::Frame(bytes, given) => {
            let frame = frame_of(bytes, given);
            let seen = look(config, &frame);
            let csum = admit::entry_csum(config.options.rxcsum, &seen.verdicts, frame.given);
            let (flow, _) = path::run(config, &seen.bytes, seen.parsed.visible_bytes, csum);
            frame_record(&seen, flow.is_some())
        }
    }
}

/// Turns operations into deliveries, given the frames in order.
#[derive(Default)]
struct Assembler {
    frames: Vec<Vec<u8>>,
    taken: usize,
    open: HashMap<(u64, u64), (Vec<u32>, Vec<u8>)>,
    deliveries: Vec<Delivery>,
    /// Queues that are flushed.
    flushed: Vec<u8>,
}

impl Assembler {
    /// Number and payload of the next frame.
    fn take(&mut self, op: &[u32]) -> (u32, Vec<u8>) {
        let f = |name| field(&OPERATION, op, name) as usize;
        let (hdr_len, payload_len) = (f("hdr_len"), f("payload_len"));
        let bytes = &self.frames[self.taken];
        assert_eq!(bytes.len(), hdr_len + payload_len, "length of frame {}", self.taken);
        self.taken += 1;
        (self.taken as u32 - 1, bytes[hdr_len..].to_vec())
    }

    fn operation(&mut self, record: &Record) {
        let op = &record[0];
        let f = |name| field(&OPERATION, op, name);
        let slot = (f("queue"), f("session"));
        match OpKind::from_code(f("kind")).expect("a kind") {
            OpKind::Alone => {
                let (frame, payload) = self.take(op);
                assert_eq!((f("session"), f("end_reason")), (0, 0));
                self.deliver(record, vec![frame], &payload);
            }
            OpKind::Open => {
                let (frame, payload) = self.take(op);
                let before = self.open.insert(slot, (vec![frame], payload));
                assert!(before.is_none(), "session {slot:?} was open");
            }
            OpKind::Append => {
                let (frame, payload) = self.take(op);
                let session = self.open.get_mut(&slot).expect("an open session");
                session.0.push(frame);
                session.1.extend(payload);
            }
            OpKind::Close => {
                let (frames, payload) = self.open.remove(&slot).expect("an open session");
                assert_eq!(f("alone_reason"), 0);
                self.deliver(record, frames, &payload);
            }
            OpKind::Flushed => {
                let queue = f("queue");
                let bare = [("kind", f("kind")), ("queue", queue)];
                let other = OPERATION.fields.iter().map(|field| {
                    let known = bare.iter().find(|(name, _)| *name == field.name);
                    (known.map_or(0, |(_, value)| *value), field.width)
                });
                assert_eq!(*op, pack(&other.collect::<Vec<_>>()), "fields without meaning are 0");
                assert!(self.open.keys().all(|(of, _)| *of != queue), "queue {queue} is flushed");
                self.flushed.push(queue as u8);
            }
        }
    }

    fn deliver(&mut self, record: &Record, frames: Vec<u32>, payload: &[u8]) {
        let op = &record[0];
        let f = |name| field(&OPERATION, op, name);
        assert_eq!(f("payload_len") as usize, payload.len());
        let header: Vec<u8> = record[1].iter().flat_map(|w| w.to_le_bytes()).collect();
        let tpid = if f("vlan_tpid") == 1 { 0x88a8 } else { 0x8100 };
        let csum = [CsumState::None, CsumState::Unnecessary, CsumState::Partial];
        let csum = csum[f("csum") as usize];
        self.deliveries.push(Delivery {
            queue: f("queue") as u8,
            frames,
            bytes: [&header[..f("hdr_len") as usize], payload].concat(),
            hdr_len: f("hdr_len") as u16,
            hash: f("hash") as u32,
            hash_type: HashType::from_code(f("hash_type")).expect("a code"),
            vlan: (f("vlan_valid") == 1).then(|| Tag { tpid, tci: f("vlan_tci") as u16 }),
            packet_type: PacketType::from_code(f("packet_type")).expect("a code"),
            protocol: f("protocol") as u16,
            csum,
            csum_level: f("csum_level") as u8,
            csum_start: f("csum_start") as u16,
            csum_offset: if csum == CsumState::Partial { 16 } else { 0 },
            l3_verdict: Verdict::from_code(f("l3_verdict")).expect("a code"),
            l4_verdict: Verdict::from_code(f("l4_verdict")).expect("a code"),
            gso_size: f("gso_size") as u16,
            gso_segs: f("gso_segs") as u16,
            gso_type: f("gso_type") as u16,
            encapsulation: f("encapsulation") == 1,
            end_reason: EndReason::from_code(f("end_reason")).expect("a code"),
            alone_reason: AloneReason::from_code(f("alone_reason")).expect("a code"),
        });
    }
}

fn open(queues: usize, buckets: usize, depth: usize) -> Dut {
    let name = format!("session_path_{queues}_{buckets}_{depth}");
    start(&emit(&name, SessionPath::new(queues, buckets, depth)))
}

fn configure(dut: &mut Dut, config: &Config) {
    set(dut, "control", config.control_word().into());
}

fn reset(dut: &mut Dut) {
    set(dut, "cr_rst", 1);
    dut.clock().expect("runs");
    set(dut, "cr_rst", 0);
}

/// Operations of the inputs, and the cycle of each.
fn simulate(
    dut: &mut Dut,
    rng: &mut Rng,
    config: &Config,
    inputs: &[Input],
    gap: u8,
    stall: u8,
) -> (Vec<Record>, Vec<u64>) {
    // Of its own, so that inputs drawn later do not depend on the number of cycles.
    let rng = &mut Rng(rng.next());
    reset(dut);
    configure(dut, config);
    let mut s = Feed::new(dut, "s", &["meta", "header"]);
    let mut m = Drain::new(dut, "m", &["meta", "header"]);
    s.records = inputs.iter().map(|i| record(config, i)).collect();
    (s.gap, m.stall) = (gap, stall);
    let deadline = dut.cycle() + 2000 + 400 * inputs.len() as u64;
    while !s.records.is_empty() {
        assert!(dut.cycle() < deadline, "stuck with {} inputs left", s.records.len());
        cycle(dut, rng, &mut [&mut s], &mut [&mut m]);
    }
    m.stall = 0;
    for _ in 0..500 {
        cycle(dut, rng, &mut [&mut s], &mut [&mut m]);
    }
    (m.records, m.cycles)
}

fn counter(dut: &Dut, name: &str) -> u64 {
    dut.read(dut.port(name).expect("a counter"))
}

/// Runs both and compares; gives the model's counters.
fn compare(dut: &mut Dut, rng: &mut Rng, config: &Config, inputs: &[Input], stall: u8) -> Stats {
    let (operations, _) = simulate(dut, rng, config, inputs, stall, stall);
    let mut model = Model::new(config.clone()).expect("a good configuration");
    let (mut events, mut assembler) = (Vec::new(), Assembler::default());
    for input in inputs {
        match input {
            Input::Token(queue, kind) => model.token(*queue, *kind, &mut events),
            Input::Frame(bytes, given) => {
                let frame = frame_of(bytes, given);
                assembler.frames.push(look(config, &frame).bytes.into_owned());
                model.frame(frame, &mut events);
            }
        }
    }
    operations.iter().for_each(|op| assembler.operation(op));
    for (i, event) in events.iter().enumerate() {
        let Event::Delivery(want) = event else { panic!("nothing is dropped here") };
        let got = assembler.deliveries.get(i);
        assert_eq!(got, Some(want), "delivery {i}, {:?}", config.profile);
    }
    assert_eq!(assembler.deliveries.len(), events.len());
    let flushes: Vec<u8> = inputs.iter().filter_map(|i| i.flushes(config.queues)).collect();
    assert_eq!(assembler.flushed, flushes, "one mark for each flush-all of a queue that exists");
    let stats = model.stats().clone();
    let counters = ["gro_packets", "gro_wire_packets", "evictions"].map(|n| counter(dut, n));
    assert_eq!(counters, [stats.gro_packets, stats.gro_wire_packets, stats.evictions]);
    stats
}

fn flush(queues: u8) -> Vec<Input> {
    (0..queues).map(|q| Input::Token(q, TokenKind::FlushAll)).collect()
}

/// Frames of random flows with tokens between them.
fn mixed(rng: &mut Rng, config: &Config, flows: &mut [Flow], count: usize) -> Vec<Input> {
    let mut inputs = Vec::new();
    for (_, bytes) in train(rng, flows, count, 25) {
        inputs.push(Input::plain(bytes));
        if rng.chance(4) {
            let queue = rng.below(usize::from(config.queues) + 1) as u8;
            let kind = rng.pick(TokenKind::ALL);
            inputs.push(Input::Token(queue, kind));
        }
    }
    inputs.extend(flush(config.queues));
    inputs
}

fn config(rng: &mut Rng, queues: u8) -> Config {
    let mut config = Config { queues, ..Config::default() };
    config.profile = rng.pick(Profile::ALL);
    config.rss = groove_model::RssConfig::spread(queues);
    config.options.rxcsum = rng.chance(50);
    config.options.vlan_strip = rng.chance(60);
    config.options.vlan_gro = rng.chance(80);
    config.options.strict_order = rng.chance(30);
    config.options.trim_pad = rng.chance(20);
    config
}

#[test]
fn operations_equal_the_model() {
    let mut dut = open(4, 8, 8);
    let mut rng = Rng(11);
    let mut ends = [0; EndReason::ALL.len()];
    let mut alones = [0; AloneReason::ALL.len()];
    for run in 0..24 {
        let config = config(&mut rng, 4);
        let count = rng.pick(&[3, 20, 60, 200]);
        let mut flows: Vec<_> = (0..count).map(|_| Flow::new(&mut rng)).collect();
        let inputs = mixed(&mut rng, &config, &mut flows, 800);
        let stats = compare(&mut dut, &mut rng, &config, &inputs, [0, 40][run % 2]);
        ends.iter_mut().zip(stats.ends).for_each(|(sum, n)| *sum += n);
        alones.iter_mut().zip(stats.alones).for_each(|(sum, n)| *sum += n);
    }
    // The size limit has a test of its own.
    for reason in &EndReason::ALL[1..] {
        let count = ends[usize::from(reason.code())];
        assert!(
            count >= 10 || *reason == EndReason::Limit,
            "{} occurred {count} times",
            reason.name()
        );
    }
    for reason in &AloneReason::ALL[1..] {
        let count = alones[usize::from(reason.code())];
        assert!(count >= 10, "alone because {} occurred {count} times", reason.name());
    }
}

fn hashed(bytes: Vec<u8>, hash: u32) -> Input {
    Input::Frame(bytes, Some(Given { hash: Some(hash), ..Given::default() }))
}

#[test]
fn digest_collisions_never_merge() {
    let mut dut = open(4, 8, 8);
    let mut rng = Rng(12);
    for run in 0..6 {
        let mut config = config(&mut rng, 4);
        (config.options.rxcsum, config.options.vlan_strip) = (false, false);
        config.options.vlan_gro = true;
        // Flows that differ only in what cancels out, all with one of two hashes of one bucket.
        let first = Flow::new(&mut rng);
        let mut flows: Vec<_> = (0..6 + 3 * run).map(|_| first.collide(&mut rng)).collect();
        let hashes = [0, 8];
        let frames = train(&mut rng, &mut flows, 600, 15);
        let mut inputs: Vec<_> =
            frames.into_iter().map(|(i, bytes)| hashed(bytes, hashes[i % 2])).collect();
        inputs.extend(flush(4));
        let stats = compare(&mut dut, &mut rng, &config, &inputs, 20 * (run as u8 % 2));
        assert!(stats.equal_hash_meetings > 300, "{} meetings", stats.equal_hash_meetings);
    }
}

#[test]
fn aggregates_reach_exactly_the_limit() {
    let mut dut = open(4, 8, 8);
    let mut rng = Rng(13);
    let (mut full, mut limited) = (0, 0);
    for run in 0..12 {
        let mut config = config(&mut rng, 4);
        (config.options.rxcsum, config.options.vlan_gro) = (false, true);
        let mut flow = Flow::new(&mut rng);
        let plain = flow.next(Twist::None, &mut rng);
        let seen = look(&config, &Frame::new(&plain));
        // So that n segments end at, one below, or one above the limit.
        flow.mss = 8900 + rng.below(60);
        let room = 65_535 + 14 - seen.parsed.hdr_len;
        let last = room % flow.mss + run % 3;
        let mut inputs: Vec<_> =
            (0..room / flow.mss).map(|_| Input::plain(flow.next(Twist::None, &mut rng))).collect();
        flow.mss = last.max(2) - 1;
        inputs.push(Input::plain(flow.next(Twist::None, &mut rng)));
        inputs.extend(flush(4));
        let stats = compare(&mut dut, &mut rng, &config, &inputs, 0);
        full += stats.full_aggregates;
        limited += stats.ends[usize::from(EndReason::Limit.code())];
    }
    assert!(full >= 2 && limited >= 2, "{full} full, {limited} beyond");
}

#[test]
fn stalls_change_nothing() {
    let mut dut = open(4, 8, 8);
    let mut rng = Rng(14);
    let config = config(&mut rng, 4);
    let mut flows: Vec<_> = (0..40).map(|_| Flow::new(&mut rng)).collect();
    let inputs = mixed(&mut rng, &config, &mut flows, 600);
    let (calm, _) = simulate(&mut dut, &mut rng, &config, &inputs, 0, 0);
    for (gap, stall) in [(0, 80), (70, 0), (50, 50)] {
        let (stalled, _) = simulate(&mut dut, &mut rng, &config, &inputs, gap, stall);
        assert!(calm == stalled, "gaps {gap} %, stalls {stall} %");
    }
}

/// Cycles from the first operation to the last, per frame.
fn pace(cycles: &[u64], frames: usize) -> f64 {
    (cycles[cycles.len() - 1] - cycles[0]) as f64 / (frames - 1) as f64
}

#[test]
fn four_cycles_per_frame() {
    let mut dut = open(4, 8, 8);
    let mut rng = Rng(15);
    let mut config = Config { queues: 4, ..Config::default() };
    config.options.vlan_gro = true;
    let mut one = Flow::new(&mut rng);
    one.mss = 10;
    let merging: Vec<_> = (0..200).map(|_| hashed(one.next(Twist::None, &mut rng), 5)).collect();
    let (operations, cycles) = simulate(&mut dut, &mut rng, &config, &merging, 0, 0);
    assert_eq!((operations.len(), pace(&cycles, 200)), (200, 4.0), "OPEN, then APPEND");

    // Nine frames fill a bucket; from then on each evicts and opens.
    let mut flows: Vec<_> = (0..200).map(|_| Flow::new(&mut rng)).collect();
    let mut evicting: Vec<_> =
        flows.iter_mut().map(|f| (f.next(Twist::None, &mut rng), rng.next() as u32 & !7)).collect();
    let inputs: Vec<_> = evicting.drain(..).map(|(bytes, hash)| hashed(bytes, hash)).collect();
    let (operations, cycles) = simulate(&mut dut, &mut rng, &config, &inputs, 0, 0);
    assert_eq!(operations.len(), 200 + 192);
    assert!(pace(&cycles, 200) <= 4.01, "{} cycles for CLOSE and OPEN", pace(&cycles, 200));

    // Frames alone.
    let bypass: Vec<_> = (0..200).map(|_| hashed(one.next(Twist::BadTcp, &mut rng), 5)).collect();
    let (operations, cycles) = simulate(&mut dut, &mut rng, &config, &bypass, 0, 0);
    assert_eq!((operations.len(), pace(&cycles, 200)), (200, 4.0), "ALONE");
}

#[test]
fn false_candidates_cost_two_cycles_each() {
    let mut dut = open(4, 8, 8);
    let mut rng = Rng(16);
    let mut config = Config { queues: 4, ..Config::default() };
    config.options.vlan_gro = true;
    let mut first = Flow::new(&mut rng);
    first.mss = 10;
    let mut twins: Vec<_> = (0..8).map(|_| first.collide(&mut rng)).collect();
    let held: Vec<_> = twins.iter_mut().map(|f| hashed(f.next(Twist::None, &mut rng), 8)).collect();
    // The slot that was filled last is looked at last.
    let more: Vec<_> = (0..100).map(|_| hashed(twins[7].next(Twist::None, &mut rng), 8)).collect();
    let inputs = [held, more].concat();
    let (operations, cycles) = simulate(&mut dut, &mut rng, &config, &inputs, 0, 0);
    assert_eq!(operations.len(), 108, "no two of them collide wholly");
    assert_eq!(pace(&cycles[8..], 100), 4.0 + 2.0 * 7.0);
    // A ninth one meets eight, then evicts the oldest.
    let ninth: Vec<_> =
        (0..20).map(|_| hashed(first.collide(&mut rng).next(Twist::None, &mut rng), 8)).collect();
    let inputs = [inputs[..8].to_vec(), ninth].concat();
    let (_, cycles) = simulate(&mut dut, &mut rng, &config, &inputs, 0, 0);
    assert!(pace(&cycles[9..], 20) <= 4.0 + 2.0 * 8.0 + 2.0);
}

/// Cycles from here until the stage takes the next record.
fn cycles_until_taken(dut: &mut Dut, rng: &mut Rng, s: &mut Feed, m: &mut Drain) -> u64 {
    let (start, left) = (dut.cycle(), s.records.len());
    while s.records.len() == left {
        assert!(dut.cycle() < start + 10_000, "stuck");
        cycle(dut, rng, &mut [s], &mut [m]);
    }
    dut.cycle() - start
}

#[test]
fn walks_are_bounded() {
    let (queues, buckets, depth) = (4, 8, 8);
    let mut dut = open(queues, buckets, depth);
    let mut rng = Rng(17);
    let mut config = Config { queues: 4, ..Config::default() };
    config.options.vlan_gro = true;
    for held in [0, 1, 5, 64] {
        reset(&mut dut);
        configure(&mut dut, &config);
        let mut s = Feed::new(&dut, "s", &["meta", "header"]);
        let mut m = Drain::new(&dut, "m", &["meta", "header"]);
        for i in 0..held {
            let frame = Flow::new(&mut rng).next(Twist::None, &mut rng);
            s.records.push_back(record(&config, &hashed(frame, 256 * (i as u32) + i as u32)));
        }
        for _ in 0..3 {
            s.records.push_back(token_record(0, TokenKind::FlushAll));
        }
        while s.records.len() > 2 {
            cycle(&mut dut, &mut rng, &mut [&mut s], &mut [&mut m]);
        }
        let walk = cycles_until_taken(&mut dut, &mut rng, &mut s, &mut m);
        // The mark waits until the last session is out of the emitter.
        let bound = buckets as u64 + 3 * held as u64 + 6;
        assert!(walk <= bound, "{walk} cycles for {held} sessions, {bound} allowed");
        let empty = cycles_until_taken(&mut dut, &mut rng, &mut s, &mut m);
        assert!(empty <= buckets as u64 + 4, "{empty} cycles for an empty queue");
        for _ in 0..400 {
            cycle(&mut dut, &mut rng, &mut [&mut s], &mut [&mut m]);
        }
        let closes = m.records.iter().filter(|r| field(&OPERATION, &r[0], "kind") == 3).count();
        assert_eq!(closes, held);
    }
}

#[test]
fn reset_forgets_everything() {
    let mut dut = open(4, 8, 8);
    let mut rng = Rng(18);
    let config = Config { queues: 4, ..Config::default() };
    let mut flows: Vec<_> = (0..30).map(|_| Flow::new(&mut rng)).collect();
    let held: Vec<_> =
        flows.iter_mut().map(|f| Input::plain(f.next(Twist::None, &mut rng))).collect();
    let ticks = vec![Input::Token(1, TokenKind::Tick); 5];
    let (operations, _) =
        simulate(&mut dut, &mut rng, &config, &[held.clone(), ticks].concat(), 0, 0);
    assert!(operations.len() >= 20);
    // Also in the middle of something.
    let (s_valid, cleared) = (dut.port("s_valid").expect("it"), dut.port("cleared").expect("it"));
    dut.set(s_valid, 0);
    reset(&mut dut);
    dut.settle().expect("runs");
    assert_eq!(dut.read(cleared), 0, "tags are being cleared");
    let inputs = [flush(4), held, flush(4)].concat();
    compare(&mut dut, &mut rng, &config, &inputs, 0);
}

#[test]
fn age_counts_from_open() {
    let mut dut = open(4, 8, 8);
    let mut rng = Rng(19);
    let mut config = Config { queues: 1, ..Config::default() };
    config.options.vlan_gro = true;
    let mut flows: Vec<_> = (0..6).map(|_| Flow::new(&mut rng)).collect();
    let mut inputs = Vec::new();
    for round in 0..4 {
        for (i, flow) in flows.iter_mut().enumerate() {
            // The even ones come in every round, the odd ones in every second.
            if i % 2 == 0 || round % 2 == 0 {
                inputs.push(hashed(flow.next(Twist::None, &mut rng), 16 * i as u32));
            }
        }
        inputs.push(Input::Token(0, TokenKind::Tick));
        inputs.push(hashed(flows[0].next(Twist::None, &mut rng), 0));
        inputs.push(Input::Token(0, TokenKind::FlushOld));
        inputs.push(Input::Token(0, TokenKind::FlushOld));
    }
    inputs.extend(flush(1));
    let stats = compare(&mut dut, &mut rng, &config, &inputs, 0);
    assert!(stats.ends[usize::from(EndReason::FlushOld.code())] >= 12);
}

#[test]
fn frames_with_ip_options_meet_no_session() {
    let mut dut = open(4, 8, 8);
    let mut rng = Rng(21);
    let mut config = Config { queues: 4, ..Config::default() };
    config.options.strict_order = true;
    let mut inputs = Vec::new();
    for i in 0..40 {
        let held = Flow::new(&mut rng).next(Twist::None, &mut rng);
        // The same bytes read as a header with options: what lies at "its" ports is equal, too.
        let mut options = held.clone();
        let at = look(&config, &Frame::new(&held)).parsed.l3_off;
        let stripped = held.len() - look(&config, &Frame::new(&held)).bytes.len();
        options[at + stripped] = options[at + stripped] & 0xf0 | (6 + i % 9);
        inputs.extend([hashed(held, i.into()), hashed(options, i.into())]);
    }
    inputs.extend(flush(4));
    let stats = compare(&mut dut, &mut rng, &config, &inputs, 0);
    assert!(stats.alones[usize::from(AloneReason::Bypass.code())] >= 10);
}

#[test]
fn other_shapes_equal_the_model() {
    let mut rng = Rng(20);
    for (queues, buckets, depth) in [(1, 1, 1), (3, 4, 2)] {
        let mut dut = open(queues, buckets, depth);
        for _ in 0..4 {
            let mut config = config(&mut rng, queues as u8);
            (config.buckets, config.depth) = (buckets, depth);
            let mut flows: Vec<_> = (0..12).map(|_| Flow::new(&mut rng)).collect();
            let inputs = mixed(&mut rng, &config, &mut flows, 300);
            compare(&mut dut, &mut rng, &config, &inputs, 20);
        }
    }
    for (queues, buckets, depth) in [(32, 8, 16), (4, 16, 16), (32, 32, 32)] {
        let design = emit("session_path", SessionPath::new(queues, buckets, depth));
        assert!(design.verilog.contains(&format!("[0:{}]", queues * buckets * depth - 1)));
    }
}

#[test]
fn lint_is_clean() {
    let design = emit("session_path", SessionPath::new(32, 8, 8));
    let waived = ["DECLFILENAME", "WIDTH", "UNUSEDSIGNAL", "UNUSEDPARAM"];
    let warnings =
        Toolbox::from_env().lint(&design.top, &design.verilog, &waived).expect("verilator lints");
    assert!(warnings.is_empty(), "{warnings:#?}");
}
