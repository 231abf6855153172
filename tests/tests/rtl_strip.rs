//! The payload aligner under Verilator against a byte model.

mod rtl_support;

use groove_hdl::blocks::strip::Strip;
use groove_hdl::emit::{Design, emit};
use rtl_support::{Drain, Feed, Record, Rng, cycle, pack, start, words};

/// Bytes of a frame, bytes in front of the payload, payload bytes, whether it is discarded.
type Case = (Vec<u8>, usize, usize, bool);

fn beats(frame: &[u8], width_bytes: usize) -> Vec<Record> {
    let count = frame.len().div_ceil(width_bytes);
    let record = |(i, beat): (usize, &[u8])| {
        let info = [(beat.len() as u64, 7), (u64::from(i + 1 == count), 1), (0, 44)];
        vec![words(beat, width_bytes), pack(&info)]
    };
    frame.chunks(width_bytes).enumerate().map(record).collect()
}

fn control((_, header, payload, discard): &Case) -> Record {
    vec![pack(&[(u64::from(*discard), 1), (*header as u64, 8), (*payload as u64, 16)])]
}

/// Stream frames from output beats: keep must be contiguous, and full but in the last beat.
fn collect(records: &[Record], width_bytes: usize) -> Vec<Vec<u8>> {
    let (mut frames, mut open) = (Vec::new(), Vec::new());
    for record in records {
        let keep = u64::from(record[1][0]) | u64::from(*record[1].get(1).unwrap_or(&0)) << 32;
        let (bytes, last) = (keep.trailing_ones() as usize, record[2][0] == 1);
        assert_eq!(keep.count_ones() as usize, bytes, "contiguous");
        assert!(bytes > 0 && (last || bytes == width_bytes), "full inside a frame");
        let data: Vec<u8> = record[0].iter().flat_map(|w| w.to_le_bytes()).collect();
        open.extend_from_slice(&data[..bytes]);
        if last {
            frames.push(std::mem::take(&mut open));
        }
    }
    assert!(open.is_empty(), "a last beat is missing");
    frames
}

fn cases(rng: &mut Rng, count: usize) -> Vec<Case> {
    let case = |_| {
        let header = (14 + 4 * rng.below(29)).min(126);
        let room = rng.pick(&[0, 1, 2, 3, 8, 64, 130, 400]);
        let payload = rng.below(room + 1);
        let tail = if rng.chance(30) { rng.below(80) } else { 0 };
        (rng.bytes(header + payload + tail), header, payload, rng.chance(10))
    };
    (0..count).map(case).collect()
}

fn cuts(design: &Design, width_bytes: usize) {
    let mut rng = Rng(7);
    let mut dut = start(design);
    for (gap, stall) in [(0, 0), (30, 0), (0, 50), (40, 40)] {
        let cases = cases(&mut rng, 400);
        let mut s = Feed::new(&dut, "s", &["data", "info"]);
        let mut c = Feed::new(&dut, "control", &["control"]);
        let mut m = Drain::axis(&dut, "m", &["tdata", "tkeep", "tlast"]);
        s.records = cases.iter().flat_map(|c| beats(&c.0, width_bytes)).collect();
        c.records = cases.iter().map(control).collect();
        (s.gap, c.gap, m.stall) = (gap, gap, stall);
        let deadline = dut.cycle() + 200_000;
        while !s.records.is_empty() || !c.records.is_empty() {
            assert!(dut.cycle() < deadline, "stuck with {} beats left", s.records.len());
            cycle(&mut dut, &mut rng, &mut [&mut s, &mut c], &mut [&mut m]);
        }
        for _ in 0..50 {
            cycle(&mut dut, &mut rng, &mut [&mut s, &mut c], &mut [&mut m]);
        }
        let expected: Vec<Vec<u8>> = cases
            .iter()
            .filter(|c| c.2 > 0 && !c.3)
            .map(|c| c.0[c.1..c.1 + c.2].to_vec())
            .collect();
        let got = collect(&m.records, width_bytes);
        assert_eq!(got.len(), expected.len());
        for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
            assert_eq!(got, expected, "payload {i} at gap {gap}, stall {stall}");
        }
    }
}

#[test]
fn strip_cuts_any_header_and_tail() {
    cuts(&emit("strip", Strip::<64, 8>::default()), 8);
    cuts(&emit("strip", Strip::<128, 16>::default()), 16);
    cuts(&emit("strip", Strip::<256, 32>::default()), 32);
    cuts(&emit("strip", Strip::<512, 64>::default()), 64);
}

#[test]
fn strip_sustains_one_beat_per_cycle() {
    let mut rng = Rng(8);
    let mut dut = start(&emit("strip", Strip::<512, 64>::default()));
    for (length, payload) in [(256, 190), (64, 10), (1514, 1448)] {
        let frames: Vec<Case> =
            (0..100).map(|_| (rng.bytes(length), 66 - 12, payload, false)).collect();
        let mut s = Feed::new(&dut, "s", &["data", "info"]);
        let mut c = Feed::new(&dut, "control", &["control"]);
        let mut m = Drain::axis(&dut, "m", &["tdata", "tkeep", "tlast"]);
        s.records = frames.iter().flat_map(|c| beats(&c.0, 64)).collect();
        c.records = frames.iter().map(control).collect();
        let beats = s.records.len() as u64;
        let begin = dut.cycle();
        while !s.records.is_empty() {
            cycle(&mut dut, &mut rng, &mut [&mut s, &mut c], &mut [&mut m]);
        }
        assert_eq!(dut.cycle() - begin, beats, "frames of {length} bytes");
    }
}
