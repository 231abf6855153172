//! The checksum stage and the frame FIFO under Verilator against a byte model.

mod rtl_support;

use groove_hdl::blocks::frame_fifo::FrameFifo;
use groove_hdl::emit::{Design, emit};
use groove_hdl::stages::checksum::Checksum;
use rtl_support::{Drain, Feed, Record, Rng, bits, cycle, pack, start, words};

struct Case {
    frame: Vec<u8>,
    start: usize,
    end: usize,
    init: u16,
    /// Code of the drop reason.
    drop: Option<u64>,
}

/// Beats of frame number `number`, as `ingress` gives them.
fn beats(case: &Case, number: usize, width_bytes: usize) -> Vec<Record> {
    let count = case.frame.len().div_ceil(width_bytes);
    let record = |(i, beat): (usize, &[u8])| {
        let last = i + 1 == count;
        let drop = case.drop.filter(|_| last);
        let info = [
            (beat.len() as u64, 7),
            (u64::from(last), 1),
            (0, 8),
            (u64::from(drop.is_some()), 1),
            (drop.unwrap_or(0), 3),
            (number as u64, 32),
        ];
        vec![words(beat, width_bytes), pack(&info)]
    };
    case.frame.chunks(width_bytes).enumerate().map(record).collect()
}

fn sum_good(case: &Case) -> bool {
    let end = case.end.min(case.frame.len());
    let span = case.frame.get(case.start..end).unwrap_or(&[]);
    let word = |c: &[u8]| u64::from(c[0]) << 8 | u64::from(*c.get(1).unwrap_or(&0));
    let mut sum = u64::from(case.init) + span.chunks(2).map(word).sum::<u64>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

fn case(rng: &mut Rng) -> Case {
    let mut frame = match rng.below(8) {
        0 => vec![0xff; 60 + rng.below(400)],
        1 => vec![0; 60 + rng.below(100)],
        2 => {
            let len = 1400 + rng.below(400);
            rng.bytes(len)
        }
        _ => {
            let len = 1 + rng.below(300);
            rng.bytes(len)
        }
    };
    let start = 2 * rng.below(70);
    let end = start + rng.below(frame.len() + 20);
    let mut case = Case { frame: Vec::new(), start, end, init: rng.next() as u16, drop: None };
    // Half of them are made good through one word, where there is one.
    if rng.chance(50) && start + 2 <= end.min(frame.len()) {
        frame[start..start + 2].fill(0);
        case.frame = frame;
        let mut sum = u64::from(case.init);
        let end = case.end.min(case.frame.len());
        for c in case.frame[start..end].chunks(2) {
            sum += u64::from(c[0]) << 8 | u64::from(*c.get(1).unwrap_or(&0));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let word = (!sum as u16).to_be_bytes();
        case.frame[start..start + 2].copy_from_slice(&word);
    } else {
        case.frame = frame;
    }
    case.drop = rng.chance(20).then(|| rng.below(4) as u64);
    case
}

fn control(case: &Case) -> Record {
    vec![pack(&[(case.start as u64, 8), (case.end as u64, 17), (case.init.into(), 16)])]
}

fn sums(design: &Design, width_bytes: usize) {
    let mut rng = Rng(11);
    let mut dut = start(design);
    let mut good = 0;
    for (gap, stall) in [(0, 0), (30, 30), (0, 60)] {
        let cases: Vec<Case> = (0..400).map(|_| case(&mut rng)).collect();
        let mut s = Feed::new(&dut, "s", &["data", "info"]);
        let mut sum = Feed::new(&dut, "sum", &["control"]);
        let mut m = Drain::new(&dut, "m", &["data", "info"]);
        let mut outcome = Drain::new(&dut, "outcome", &["outcome"]);
        s.records = cases.iter().enumerate().flat_map(|(i, c)| beats(c, i, width_bytes)).collect();
        let all: Vec<Record> = s.records.iter().cloned().collect();
        sum.records = cases.iter().map(control).collect();
        (s.gap, sum.gap, m.stall, outcome.stall) = (gap, gap, stall, stall);
        let deadline = dut.cycle() + 500_000;
        while outcome.records.len() < cases.len() {
            assert!(dut.cycle() < deadline, "stuck after {}", outcome.records.len());
            let drains = &mut [&mut m, &mut outcome];
            cycle(&mut dut, &mut rng, &mut [&mut s, &mut sum], drains);
        }
        assert!(s.records.is_empty() && sum.records.is_empty());
        assert_eq!(m.records, all, "beats pass as they are");
        for (i, (record, case)) in outcome.records.iter().zip(&cases).enumerate() {
            let word = &record[0];
            assert_eq!(bits(word, 0, 32), i as u64, "number");
            assert_eq!(bits(word, 32, 16), case.frame.len() as u64, "length of {i}");
            assert_eq!(bits(word, 48, 1) == 1, sum_good(case), "sum of {i}");
            assert_eq!(bits(word, 49, 1) == 1, case.drop.is_some(), "drop of {i}");
            if let Some(reason) = case.drop {
                assert_eq!(bits(word, 50, 3), reason, "reason of {i}");
            }
            good += usize::from(sum_good(case));
        }
    }
    assert!((200..1000).contains(&good), "both results occur: {good}");
}

#[test]
fn checksum_matches_a_byte_model() {
    sums(&emit("checksum", Checksum::<64>::default()), 8);
    sums(&emit("checksum", Checksum::<512>::default()), 64);
}

fn rolls_back(design: &Design, width_bytes: usize) {
    let mut rng = Rng(12);
    let mut dut = start(design);
    for (gap, stall) in [(0, 0), (0, 70), (50, 0)] {
        let cases: Vec<Case> = (0..400).map(|_| case(&mut rng)).collect();
        let mut s = Feed::new(&dut, "s", &["data", "info"]);
        let mut m = Drain::new(&dut, "m", &["data", "info"]);
        (s.gap, m.stall) = (gap, stall);
        let with_beats: Vec<(bool, Vec<Record>)> = cases
            .iter()
            .enumerate()
            .map(|(i, c)| (c.drop.is_some(), beats(c, i, width_bytes)))
            .collect();
        s.records = with_beats.iter().flat_map(|(_, b)| b.clone()).collect();
        let kept: Vec<&Record> =
            with_beats.iter().filter(|(drop, _)| !drop).flat_map(|(_, b)| b).collect();
        let deadline = dut.cycle() + 500_000;
        while !s.records.is_empty() || m.records.len() < kept.len() {
            assert!(dut.cycle() < deadline, "stuck after {} beats", m.records.len());
            cycle(&mut dut, &mut rng, &mut [&mut s], &mut [&mut m]);
        }
        for _ in 0..50 {
            cycle(&mut dut, &mut rng, &mut [&mut s], &mut [&mut m]);
        }
        assert_eq!(m.records.len(), kept.len());
        for (got, sent) in m.records.iter().zip(kept) {
            assert_eq!(got[0], sent[0]);
            assert_eq!(bits(&got[1], 0, 8), bits(&sent[1], 0, 8), "bytes and last");
        }
    }
}

#[test]
fn frame_fifo_rolls_back() {
    rolls_back(&emit("frame_fifo", FrameFifo::<64>::default()), 8);
    rolls_back(&emit("frame_fifo", FrameFifo::<512>::default()), 64);
}

/// Two frames of the longest kind fit while nothing is read.
#[test]
fn frame_fifo_holds_two_longest_frames() {
    let mut rng = Rng(13);
    let mut dut = start(&emit("frame_fifo", FrameFifo::<512>::default()));
    let mut s = Feed::new(&dut, "s", &["data", "info"]);
    let mut m = Drain::new(&dut, "m", &["data", "info"]);
    m.stall = 100;
    for number in 0..2 {
        let frame = rng.bytes(9216);
        let case = Case { frame, start: 0, end: 0, init: 0, drop: None };
        s.records.extend(beats(&case, number, 64));
    }
    for _ in 0..400 {
        cycle(&mut dut, &mut rng, &mut [&mut s], &mut [&mut m]);
    }
    assert!(s.records.is_empty(), "{} beats found no room", s.records.len());
}
