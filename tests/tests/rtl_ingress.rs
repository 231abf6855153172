//! Ingress, and the header collector behind it, under Verilator against a byte model.

mod rtl_support;

use groove_hdl::blocks::collect::Collect;
use groove_hdl::emit::{Design, emit};
use groove_hdl::stages::ingress::Ingress;
use groove_spec::DropReason;
use groove_verilator::Dut;
use rtl_support::{Drain, Feed, Record, Rng, bits, cycle, pack, set, start, words};

const MAX_FRAME: usize = 1000;

struct Frame {
    bytes: Vec<u8>,
    bad_fcs: bool,
}

fn frame(rng: &mut Rng) -> Frame {
    let len = match rng.below(10) {
        0 => 1 + rng.below(20),
        1 => rng.pick(&[13, 14, 15, 63, 64, 65, 999, 1000, 1001, 1008, 1064]),
        2 => 900 + rng.below(300),
        _ => 14 + rng.below(300),
    };
    Frame { bytes: rng.bytes(len), bad_fcs: rng.chance(10) }
}

/// Beats for `s_axis`, with garbage behind the end and in `tuser` before it.
fn axis(rng: &mut Rng, frame: &Frame, width_bytes: usize) -> Vec<Record> {
    let count = frame.bytes.len().div_ceil(width_bytes);
    let mut records = Vec::new();
    for (i, beat) in frame.bytes.chunks(width_bytes).enumerate() {
        let last = i + 1 == count;
        let mut data = beat.to_vec();
        data.extend(rng.bytes(width_bytes - beat.len()));
        let keep = u64::MAX >> (64 - beat.len());
        let user = if last { frame.bad_fcs } else { rng.chance(50) };
        records.push(vec![
            words(&data, width_bytes),
            vec![keep as u32, (keep >> 32) as u32],
            vec![last.into()],
            vec![user.into()],
        ]);
    }
    records
}

fn reason(frame: &Frame) -> Option<DropReason> {
    match frame.bytes.len() {
        0..14 => Some(DropReason::Runt),
        len if len > MAX_FRAME => Some(DropReason::Oversize),
        _ => frame.bad_fcs.then_some(DropReason::BadFcs),
    }
}

/// What left: bytes, drop reason and number of a frame, or queue and kind of a token.
#[derive(Debug, PartialEq)]
enum Out {
    Frame { bytes: Vec<u8>, drop: Option<u64>, number: u64 },
    Token { queue: u64, kind: u64 },
}

fn outputs(records: &[Record]) -> Vec<Out> {
    let (mut out, mut open) = (Vec::new(), Vec::new());
    for record in records {
        let info = &record[1];
        if bits(info, 8, 1) == 1 {
            assert!(open.is_empty(), "a token inside a frame");
            out.push(Out::Token { kind: bits(info, 9, 2), queue: bits(info, 11, 5) });
            continue;
        }
        let data: Vec<u8> = record[0].iter().flat_map(|w| w.to_le_bytes()).collect();
        let (kept, rest) = data.split_at(bits(info, 0, 7) as usize);
        assert!(rest.iter().all(|b| *b == 0), "bytes behind the end are zero");
        open.extend_from_slice(kept);
        let last = bits(info, 7, 1) == 1;
        assert!(last || rest.is_empty(), "full inside a frame");
        if last {
            let drop = (bits(info, 16, 1) == 1).then(|| bits(info, 17, 3));
            let number = bits(info, 20, 32);
            out.push(Out::Frame { bytes: std::mem::take(&mut open), drop, number });
        }
    }
    assert!(open.is_empty(), "a last beat is missing");
    out
}

fn open(design: &Design) -> Dut {
    let mut dut = start(design);
    set(&mut dut, "max_frame", MAX_FRAME as u64);
    for _ in 0..3 {
        dut.clock().expect("runs");
        dut.settle().expect("runs");
        for name in ["s_tready", "token_ready", "m_valid"] {
            assert_eq!(dut.read(dut.port(name).expect("a port")), 0, "{name} before it opens");
        }
    }
    set(&mut dut, "open", 1);
    dut
}

const AXIS: [&str; 4] = ["tdata", "tkeep", "tlast", "tuser"];

fn marks(design: &Design, width_bytes: usize) {
    let mut rng = Rng(21);
    let mut dut = open(design);
    let mut number = 0;
    for (gap, stall) in [(0, 0), (30, 0), (0, 60), (40, 40)] {
        let frames: Vec<Frame> = (0..300).map(|_| frame(&mut rng)).collect();
        let mut s = Feed::axis(&dut, "s", &AXIS);
        let mut m = Drain::new(&dut, "m", &["data", "info"]);
        s.records = frames.iter().flat_map(|f| axis(&mut rng, f, width_bytes)).collect();
        (s.gap, m.stall) = (gap, stall);
        let deadline = dut.cycle() + 500_000;
        let mut quiet = 0;
        while quiet < 400 {
            assert!(dut.cycle() < deadline, "stuck");
            cycle(&mut dut, &mut rng, &mut [&mut s], &mut [&mut m]);
            quiet = if s.records.is_empty() { quiet + 1 } else { 0 };
        }
        let got = outputs(&m.records);
        assert_eq!(got.len(), frames.len());
        for (got, sent) in got.iter().zip(&frames) {
            let Out::Frame { bytes, drop, number: given } = got else {
                panic!("no token was sent")
            };
            assert_eq!(*given, number);
            assert_eq!(*drop, reason(sent).map(|r| r.code().into()), "{} bytes", sent.bytes.len());
            if drop.is_none() {
                assert_eq!(*bytes, sent.bytes);
            }
            number += 1;
        }
        assert_eq!(dut.read(dut.port("frames").expect("a port")), number);
    }
}

#[test]
fn ingress_marks_bad_frames() {
    marks(&emit("ingress", Ingress::<64, 8>::new(true)), 8);
    marks(&emit("ingress", Ingress::<512, 64>::new(true)), 64);
}

/// Tokens come between frames, in the order in which the handshakes were seen.
#[test]
fn ingress_keeps_tokens_between_frames() {
    let mut rng = Rng(22);
    let mut dut = open(&emit("ingress", Ingress::<64, 8>::new(true)));
    let mut s = Feed::axis(&dut, "s", &AXIS);
    let mut token = Feed::new(&dut, "token", &["queue", "kind"]);
    let mut m = Drain::new(&dut, "m", &["data", "info"]);
    let frames: Vec<Frame> = (0..300).map(|_| frame(&mut rng)).collect();
    s.records = frames.iter().flat_map(|f| axis(&mut rng, f, 8)).collect();
    token.records = (0..200).map(|i| vec![vec![i % 32], vec![i % 3]]).collect();
    (s.gap, token.gap, m.stall) = (20, 90, 30);
    let (mut order, mut entered, mut log) = (Vec::new(), Vec::new(), Vec::new());
    let line = ["valid", "queue", "kind", "frame"]
        .map(|field| dut.port(&format!("token_log_{field}")).expect("a log"));
    let (mut index, mut quiet) = (0u64, 0);
    let deadline = dut.cycle() + 500_000;
    while quiet < 400 {
        assert!(dut.cycle() < deadline, "stuck");
        let (beats, tokens) = (s.records.len(), token.records.len());
        let last = s.records.front().is_some_and(|r| r[2][0] == 1);
        cycle(&mut dut, &mut rng, &mut [&mut s, &mut token], &mut [&mut m]);
        if token.records.len() < tokens {
            assert_eq!(s.records.len(), beats, "a beat beside a token");
            let i = 200 - tokens as u64;
            order.push(Out::Token { queue: i % 32, kind: i % 3 });
            entered.push([i % 32, i % 3, index]);
        } else if s.records.len() < beats && last {
            let sent = &frames[index as usize];
            let drop = reason(sent).map(|r| u64::from(r.code()));
            order.push(Out::Frame { bytes: sent.bytes.clone(), drop, number: index });
            index += 1;
        }
        if dut.read(line[0]) == 1 {
            log.push([1, 2, 3].map(|field| dut.read(line[field])));
        }
        quiet = if s.records.is_empty() && token.records.is_empty() { quiet + 1 } else { 0 };
    }
    assert_eq!(log, entered, "queue, kind, frame behind it");
    let got = outputs(&m.records);
    assert_eq!(got.len(), order.len());
    for (got, expected) in got.iter().zip(&order) {
        match (got, expected) {
            (
                Out::Frame { drop: Some(a), number: n, .. },
                Out::Frame { drop: Some(b), number: k, .. },
            ) => {
                assert_eq!((a, n), (b, k));
            }
            _ => assert_eq!(got, expected),
        }
    }
}

/// Without back-pressure a token waits for a gap: no beat waits for a token. A frame makes way only
/// for one that has waited for long.
#[test]
fn ingress_lossy_takes_tokens_in_gaps() {
    let mut rng = Rng(26);
    let mut dut = open(&emit("ingress", Ingress::<64, 8>::new(false)));
    let mut s = Feed::axis(&dut, "s", &AXIS);
    let mut token = Feed::new(&dut, "token", &["queue", "kind"]);
    let mut m = Drain::new(&dut, "m", &["data", "info"]);
    let frames: Vec<Frame> = (0..300).map(|_| frame(&mut rng)).collect();
    s.records = frames.iter().flat_map(|f| axis(&mut rng, f, 8)).collect();
    token.records = (0..200).map(|i| vec![vec![i % 32], vec![i % 3]]).collect();
    (s.gap, token.gap) = (20, 80);
    let ready = dut.port("s_tready").unwrap();
    let [valid, number] = ["drop_in_valid", "drop_in_frame"].map(|n| dut.port(n).unwrap());
    let mut displaced = Vec::new();
    for _ in 0..60_000 {
        cycle(&mut dut, &mut rng, &mut [&mut s, &mut token], &mut [&mut m]);
        assert_eq!(dut.read(ready), 1);
        if dut.read(valid) == 1 {
            displaced.push(dut.read(number) as usize);
        }
    }
    assert!(s.records.is_empty() && token.records.is_empty());
    assert!(displaced.len() < 60, "{} of 200 tokens found no gap", displaced.len());
    let (mut whole, mut tokens) = (0, 0);
    for out in outputs(&m.records) {
        match out {
            Out::Token { .. } => tokens += 1,
            Out::Frame { bytes, drop: None, number } => {
                assert_eq!(bytes, frames[number as usize].bytes);
                whole += 1;
            }
            Out::Frame { .. } => {}
        }
    }
    let came = |index: &usize| !displaced.contains(index);
    let good = (0..frames.len()).filter(came).filter(|i| reason(&frames[*i]).is_none()).count();
    assert_eq!((whole, tokens), (good, 200));
}

/// Without back-pressure and without a gap a token takes a frame's place, which is a logged drop:
/// it waits for 255 cycles, and to the end of the frame that is under way.
#[test]
fn ingress_lossy_starves_no_token() {
    for (design, width_bytes, stall) in [
        (emit("ingress", Ingress::<64, 8>::new(false)), 8, 0),
        (emit("ingress", Ingress::<512, 64>::new(false)), 64, 0),
        (emit("ingress", Ingress::<512, 64>::new(false)), 64, 30),
    ] {
        let mut rng = Rng(27);
        let mut dut = open(&design);
        let longest = MAX_FRAME.div_ceil(width_bytes);
        let frames: Vec<Frame> = (0..6_000).map(|_| frame(&mut rng)).collect();
        let mut s = Feed::axis(&dut, "s", &AXIS);
        let mut token = Feed::new(&dut, "token", &["queue", "kind"]);
        let mut m = Drain::new(&dut, "m", &["data", "info"]);
        s.records = frames.iter().flat_map(|f| axis(&mut rng, f, width_bytes)).collect();
        token.records = (0..2_000).map(|i| vec![vec![i % 32], vec![i % 3]]).collect();
        m.stall = stall;
        let tokens = token.records.len();
        let port = |name: &str| dut.port(name).unwrap();
        let [ready, valid, number] = ["s_tready", "drop_in_valid", "drop_in_frame"].map(port);
        let (mut logged, mut waited, mut worst) = (Vec::new(), 0, 0);
        while !s.records.is_empty() {
            let before = token.records.len();
            cycle(&mut dut, &mut rng, &mut [&mut s, &mut token], &mut [&mut m]);
            waited = if token.records.len() < before { 0 } else { waited + 1 };
            worst = worst.max(waited);
            assert_eq!(dut.read(ready), 1);
            if dut.read(valid) == 1 {
                logged.push(dut.read(number));
            }
        }
        let taken = tokens - token.records.len();
        token.records.clear();
        for _ in 0..400 {
            cycle(&mut dut, &mut rng, &mut [&mut s, &mut token], &mut [&mut m]);
            if dut.read(valid) == 1 {
                logged.push(dut.read(number));
            }
        }
        // A frame that is longer than allowed is on the wire to its end.
        let bound = 255 + 2 * longest + if stall == 0 { 4 } else { 40 };
        assert!(worst <= bound, "{worst} cycles, {bound} allowed");
        assert!(taken > 20, "{taken} tokens");
        let mut seen = logged.clone();
        let mut tokens = 0;
        for out in outputs(&m.records) {
            match out {
                Out::Token { queue, kind } => {
                    assert_eq!((queue, kind), (tokens % 32, tokens % 3));
                    tokens += 1;
                }
                Out::Frame { bytes, drop: None, number } => {
                    assert_eq!(bytes, frames[number as usize].bytes);
                    seen.push(number);
                }
                Out::Frame { number, .. } => seen.push(number),
            }
        }
        // The one that was offered last may have been taken when the wire fell silent.
        assert!((taken as u64..=taken as u64 + 1).contains(&tokens), "{taken} {tokens}");
        seen.sort_unstable();
        assert_eq!(seen, (0..6_000).collect::<Vec<u64>>(), "each frame exactly once");
        if stall == 0 {
            assert_eq!(logged.len(), taken, "a frame for each token, and no other");
        }
        let (drops, frames) = ("drop_overflow", "frames");
        assert!(dut.read(dut.port(drops).unwrap()) >= logged.len() as u64);
        assert_eq!(dut.read(dut.port(frames).unwrap()), 6_000);
    }
}

/// Without back-pressure every frame is delivered, marked, or logged; `tready` never falls.
#[test]
fn ingress_lossy_never_stalls() {
    for (design, width_bytes) in [
        (emit("ingress", Ingress::<64, 8>::new(false)), 8),
        (emit("ingress", Ingress::<512, 64>::new(false)), 64),
    ] {
        let mut rng = Rng(23);
        let mut dut = open(&design);
        let frames: Vec<Frame> = (0..600).map(|_| frame(&mut rng)).collect();
        let mut s = Feed::axis(&dut, "s", &AXIS);
        let mut m = Drain::new(&dut, "m", &["data", "info"]);
        s.records = frames.iter().flat_map(|f| axis(&mut rng, f, width_bytes)).collect();
        m.stall = 70;
        let mut logged = Vec::new();
        let [valid, number] = ["drop_in_valid", "drop_in_frame"].map(|n| dut.port(n).unwrap());
        let ready = dut.port("s_tready").unwrap();
        for _ in 0..60_000 {
            cycle(&mut dut, &mut rng, &mut [&mut s], &mut [&mut m]);
            assert_eq!(dut.read(ready), 1);
            if dut.read(valid) == 1 {
                logged.push(dut.read(number));
            }
        }
        assert!(s.records.is_empty());
        let overflow = u64::from(DropReason::Overflow.code());
        let (mut whole, mut cut) = (0, 0);
        let mut seen = logged.clone();
        for out in outputs(&m.records) {
            let Out::Frame { bytes, drop, number } = out else { panic!("no token was sent") };
            let sent = &frames[number as usize];
            match drop {
                Some(r) if r == overflow => cut += 1,
                None => {
                    assert_eq!(bytes, sent.bytes);
                    whole += 1;
                }
                _ => assert_eq!(drop, reason(sent).map(|r| r.code().into())),
            }
            seen.push(number);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..600).collect::<Vec<u64>>(), "each frame exactly once");
        assert!(whole > 50 && cut > 5 && logged.len() > 50, "{whole} {cut} {}", logged.len());
        let counter = dut.read(dut.port("drop_overflow").unwrap());
        assert_eq!(counter, cut + logged.len() as u64);
        assert_eq!(dut.read(dut.port("frames").unwrap()), 600);
    }
}

fn collects(design: &Design, width_bytes: usize) {
    let mut rng = Rng(24);
    let mut dut = start(design);
    for (gap, stall) in [(0, 0), (30, 60), (0, 80)] {
        let mut s = Feed::new(&dut, "s", &["data", "info"]);
        let mut m = Drain::new(&dut, "m", &["data", "info"]);
        let fields = ["header", "bytes", "is_token", "token_kind", "queue"];
        let mut head = Drain::new(&dut, "head", &fields);
        (s.gap, m.stall, head.stall) = (gap, stall / 2, stall);
        let (mut beats, mut heads): (Vec<Record>, Vec<Record>) = (Vec::new(), Vec::new());
        for _ in 0..300 {
            if rng.chance(20) {
                let (queue, kind) = (rng.below(32), rng.below(3));
                let info = [(0, 7), (1, 1), (1, 1), (kind as u64, 2), (queue as u64, 5), (0, 36)];
                s.records.push_back(vec![words(&[], width_bytes), pack(&info)]);
                heads.push(vec![vec![], vec![], vec![1], vec![kind as u32], vec![queue as u32]]);
                continue;
            }
            let len = rng.pick(&[1, 14, 60, 64, 65, 127, 128, 129, 192, 256, 400]);
            let frame = rng.bytes(len);
            let count = len.div_ceil(width_bytes);
            for (i, beat) in frame.chunks(width_bytes).enumerate() {
                let info = [(beat.len() as u64, 7), (u64::from(i + 1 == count), 1), (0, 44)];
                beats.push(vec![words(beat, width_bytes), pack(&info)]);
                s.records.extend(beats.last().cloned());
            }
            let seen = len.min(128);
            let header = words(&frame[..seen], 128);
            heads.push(vec![header, vec![seen as u32], vec![0], vec![], vec![]]);
        }
        let deadline = dut.cycle() + 200_000;
        while head.records.len() < heads.len() || m.records.len() < beats.len() {
            assert!(dut.cycle() < deadline, "stuck after {} heads", head.records.len());
            cycle(&mut dut, &mut rng, &mut [&mut s], &mut [&mut m, &mut head]);
        }
        assert_eq!(m.records, beats);
        for (got, expected) in head.records.iter().zip(&heads) {
            for (got, expected) in got.iter().zip(expected).filter(|(_, e)| !e.is_empty()) {
                assert_eq!(got, expected);
            }
        }
    }
}

#[test]
fn collect_gathers_the_first_bytes() {
    collects(&emit("collect", Collect::<64>::default()), 8);
    collects(&emit("collect", Collect::<512>::default()), 64);
}
