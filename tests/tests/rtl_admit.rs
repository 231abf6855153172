//! The admit stage under Verilator: metadata as parse to rss give it, outcomes as checksum gives
//! them.

mod rtl_support;

use std::collections::HashMap;

use groove_hdl::blocks::head_path::HeadPath;
use groove_hdl::emit::emit;
use groove_hdl::stages::admit::Admit;
use groove_model::{Config, Frame, look, stages};
use groove_spec::DropReason;
use groove_spec::stages::parse::FRAME_META;
use groove_verilator::Dut;
use rtl_support::{Drain, Feed, Record, Rng, bits, cycle, field, frames, pack, set, start, words};

const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// What goes in: a frame with its fate at the frame FIFO, or a token for a queue.
enum Input {
    Frame { bytes: Vec<u8>, drop: Option<DropReason> },
    Token(u8),
}

fn head(input: &Input) -> Record {
    match input {
        Input::Frame { bytes, .. } => {
            let seen = bytes.len().min(128);
            vec![words(&bytes[..seen], 128), vec![seen as u32], vec![0], vec![0], vec![0]]
        }
        Input::Token(queue) => {
            vec![words(&[], 128), vec![0], vec![1], vec![0], vec![(*queue).into()]]
        }
    }
}

/// Metadata and sum controls of the inputs, from the stages in front.
fn front(config: &Config, inputs: &[Input]) -> (Vec<Record>, Vec<Record>) {
    let mut dut = start(&emit("head_path", HeadPath::new(1)));
    set(&mut dut, "control", config.control_word().into());
    set(&mut dut, "rss_control", 0x7e);
    for (i, word) in words(&config.rss.key, 40).into_iter().enumerate() {
        set(&mut dut, &format!("key_{i}"), word.into());
    }
    let mut rng = Rng(0);
    let mut s = Feed::new(&dut, "s", &["header", "bytes", "is_token", "token_kind", "queue"]);
    let mut m = Drain::new(&dut, "m", &["meta", "header"]);
    let mut sum = Drain::new(&dut, "sum", &["control"]);
    s.records = inputs.iter().map(head).collect();
    while m.records.len() < inputs.len() {
        cycle(&mut dut, &mut rng, &mut [&mut s], &mut [&mut m, &mut sum]);
    }
    (m.records, sum.records)
}

/// The sum that checksum would take.
fn sum_good(bytes: &[u8], control: &[u32]) -> bool {
    let (begin, end) = (bits(control, 0, 8) as usize, bits(control, 8, 17) as usize);
    let part = &bytes[begin.min(bytes.len())..end.min(bytes.len()).max(begin.min(bytes.len()))];
    let pair = |c: &[u8]| u64::from(c[0]) << 8 | u64::from(c.get(1).copied().unwrap_or(0));
    let mut sum = bits(control, 25, 16) + part.chunks(2).map(pair).sum::<u64>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

fn outcome(number: usize, bytes: &[u8], drop: Option<DropReason>, control: &[u32]) -> Record {
    vec![pack(&[
        (number as u64, 32),
        (bytes.len() as u64, 16),
        (sum_good(bytes, control).into(), 1),
        (drop.is_some().into(), 1),
        (drop.map_or(0, |d| d.code().into()), 3),
    ])]
}

struct Outputs {
    meta: Vec<Record>,
    strip: Vec<Record>,
    /// By number of the frame.
    drops: HashMap<usize, DropReason>,
    cycles: Vec<u64>,
    /// Queue and bytes of each question, and whether the frame was taken.
    asked: Vec<(u64, u64, bool)>,
}

/// Answers for the buffers, some cycles after the question.
struct Answers {
    ports: [groove_verilator::Port; 5],
    delay: u64,
    age: u64,
    asked: Vec<(u64, u64, bool)>,
}

impl Answers {
    fn new(dut: &Dut, delay: u64) -> Self {
        let ports = ["ask", "ask_queue", "ask_bytes", "take", "refuse"]
            .map(|name| dut.port(name).expect("a port"));
        Self { ports, delay, age: 0, asked: Vec::new() }
    }

    fn cycle(&mut self, dut: &mut Dut, covered: bool) {
        let answer = self.age >= self.delay;
        set(dut, "answer", answer.into());
        set(dut, "buffers", covered.into());
        dut.settle().expect("runs");
        let [ask, queue, bytes, take, refuse] = self.ports.map(|port| dut.read(port));
        if take + refuse > 0 {
            assert_eq!((ask, answer), (1, true), "it ends what is asked and answered");
            assert_eq!((take == 1, refuse == 1), (covered, !covered));
            self.asked.push((queue, bytes, take == 1));
        }
        self.age = if ask == 1 && take + refuse == 0 { self.age + 1 } else { 0 };
    }
}

fn simulate(
    dut: &mut Dut,
    rng: &mut Rng,
    (meta, outcomes): (Vec<Record>, Vec<Record>),
    (gap, stall, refuse): (u8, u8, u8),
    delay: u64,
) -> Outputs {
    let mut s = Feed::new(dut, "s", &["meta", "header"]);
    let mut o = Feed::new(dut, "outcome", &["outcome"]);
    let mut m = Drain::new(dut, "m", &["meta", "header"]);
    let mut strip = Drain::new(dut, "strip", &["control"]);
    let log = ["drop_valid", "drop_frame", "drop_reason"].map(|n| dut.port(n).expect("a port"));
    let deadline = dut.cycle() + 100 * meta.len() as u64;
    let mut drops = HashMap::new();
    let tokens = meta.len() - outcomes.len();
    let frames = outcomes.len();
    (s.records, o.records) = (meta.into(), outcomes.into());
    (s.gap, o.gap, m.stall, strip.stall) = (gap, gap, stall, stall);
    let mut answers = Answers::new(dut, delay);
    let mut idle = 0;
    while idle < 20 {
        assert!(dut.cycle() < deadline, "stuck with {} to go", s.records.len());
        answers.cycle(dut, !rng.chance(refuse));
        cycle(dut, rng, &mut [&mut s, &mut o], &mut [&mut m, &mut strip]);
        dut.settle().expect("runs");
        if dut.read(log[0]) == 1 {
            let reason = DropReason::from_code(dut.read(log[2])).expect("a reason");
            let before = drops.insert(dut.read(log[1]) as usize, reason);
            assert_eq!(before, None, "one line per drop");
        }
        let all = m.records.len() + drops.len() == tokens + frames;
        idle = if all { idle + 1 } else { 0 };
    }
    let asked = answers.asked;
    Outputs { meta: m.records, strip: strip.records, drops, cycles: m.cycles, asked }
}

fn check(config: &Config, bytes: &[u8], meta: &Record, strip: &Record) {
    let seen = look(config, &Frame::new(bytes));
    let entry = stages::admit::entry_csum(config.options.rxcsum, &seen.verdicts, None);
    let visible = seen.parsed.visible_bytes;
    let (candidate, _) = stages::coalesce::path::run(config, &seen.bytes, visible, entry);
    let payload = seen.bytes.len() - seen.parsed.hdr_len;
    for (name, value) in [
        ("is_token", 0),
        ("l3_verdict", u64::from(seen.verdicts.l3.code())),
        ("l4_verdict", seen.verdicts.l4.code().into()),
        ("candidate", candidate.is_some().into()),
        ("soft_flush", seen.soft_flush.into()),
        ("payload_len", payload as u64),
        ("frame_bytes", seen.bytes.len() as u64),
        ("hash", seen.steering.hash.into()),
    ] {
        let got = field(&FRAME_META, &meta[0], name);
        assert_eq!(got, value, "{name} of {bytes:02x?}\n{seen:?}");
    }
    if let Some(candidate) = candidate {
        assert_eq!(candidate.payload_off, seen.parsed.hdr_len);
        assert_eq!(candidate.soft_flush, seen.soft_flush);
    }
    let tag = if seen.vlan.is_some() { 4 } else { 0 };
    let want = pack(&[(0, 1), ((seen.parsed.hdr_len + tag) as u64, 8), (payload as u64, 16)]);
    assert_eq!(strip[0], want, "strip of {bytes:02x?}");
}

fn random_inputs(rng: &mut Rng, count: usize) -> Vec<Input> {
    (0..count)
        .map(|_| match rng.below(20) {
            0 => Input::Token(rng.below(32) as u8),
            1 => {
                let drop = Some(rng.pick(&DropReason::ALL[..4]));
                Input::Frame { bytes: frames::random(rng, &STATION), drop }
            }
            _ => Input::Frame { bytes: frames::random(rng, &STATION), drop: None },
        })
        .collect()
}

/// Runs the inputs and checks each of them; gives the drops by reason.
fn run(dut: &mut Dut, rng: &mut Rng, config: &Config, pace: (u8, u8, u8), delay: u64) -> [u64; 5] {
    let inputs = random_inputs(rng, 1500);
    let (meta, sums) = front(config, &inputs);
    let mut outcomes = Vec::new();
    for input in &inputs {
        if let Input::Frame { bytes, drop } = input {
            outcomes.push(outcome(outcomes.len(), bytes, *drop, &sums[outcomes.len()][0]));
        }
    }
    let out = simulate(dut, rng, (meta, outcomes), pace, delay);
    let (mut passed, mut stripped, mut number) = (out.meta.iter(), out.strip.iter(), 0);
    let mut asked = out.asked.iter();
    let mut counts = [0; 5];
    for input in &inputs {
        let Input::Frame { bytes, drop } = input else {
            let Input::Token(queue) = input else { unreachable!() };
            let meta = &passed.next().expect("a token passes")[0];
            let f = |name| field(&FRAME_META, meta, name);
            assert_eq!((f("is_token"), f("queue")), (1, u64::from(*queue)));
            continue;
        };
        let dropped = out.drops.get(&number).copied();
        number += 1;
        if drop.is_none() {
            let length = look(config, &Frame::new(bytes)).bytes.len() as u64;
            assert_eq!(asked.next(), Some(&(0, length, dropped.is_none())), "asked for");
        }
        match dropped {
            Some(reason) => {
                counts[usize::from(reason.code())] += 1;
                assert_eq!(reason, drop.unwrap_or(DropReason::NoBuffer));
                if reason == DropReason::NoBuffer {
                    let control = &stripped.next().expect("one per frame in the FIFO")[0];
                    assert_eq!(bits(control, 0, 1), 1, "discarded");
                }
            }
            None => {
                assert_eq!(*drop, None);
                let meta = passed.next().expect("a frame passes");
                check(config, bytes, meta, stripped.next().expect("one per frame in the FIFO"));
            }
        }
    }
    assert!(passed.next().is_none() && stripped.next().is_none() && asked.next().is_none());
    counts
}

/// Method: random frames, fates and tokens under all options that count here, with gaps, stalls and
/// refusals; what passes equals the model, what does not is in the log, once.
#[test]
fn admit_equals_the_model() {
    let mut dut = start(&emit("admit", Admit::default()));
    let mut rng = Rng(1);
    let mut counts = [0; 5];
    for options in 0..8 {
        let mut config = Config { queues: 1, ..Config::default() };
        config.options.rxcsum = options & 1 != 0;
        config.options.trim_pad = options & 2 != 0;
        config.options.vlan_gro = options & 4 != 0;
        config.options.vlan_strip = rng.chance(50);
        set(&mut dut, "trim_pad", config.options.trim_pad.into());
        let pace = [(0, 0, 0), (30, 50, 20), (0, 70, 50)][options % 3];
        let delay = options as u64 % 4;
        let more = run(&mut dut, &mut rng, &config, pace, delay);
        for (total, count) in counts.iter_mut().zip(more) {
            *total += count;
        }
    }
    dut.settle().expect("runs");
    for (name, reason) in [
        ("runt", DropReason::Runt),
        ("oversize", DropReason::Oversize),
        ("bad_fcs", DropReason::BadFcs),
        ("no_buffer", DropReason::NoBuffer),
    ] {
        let value = dut.read(dut.port(name).expect("a counter"));
        assert!(value > 0, "{name} happened");
        assert_eq!(value, counts[usize::from(reason.code())], "{name}");
    }
}

/// And what the answer takes: four at an answer two cycles behind the question.
#[test]
fn a_frame_takes_two_cycles() {
    let mut rng = Rng(2);
    let plain = |_| Input::Frame { bytes: frames::plain(&mut rng, &STATION, 20), drop: None };
    let inputs: Vec<Input> = (0..300).map(plain).collect();
    let config = Config { queues: 1, ..Config::default() };
    let (meta, sums) = front(&config, &inputs);
    let outcomes = inputs.iter().zip(&sums).enumerate().map(|(i, (input, control))| {
        let Input::Frame { bytes, drop } = input else { unreachable!("frames only") };
        outcome(i, bytes, *drop, &control[0])
    });
    let records: (Vec<Record>, Vec<Record>) = (meta, outcomes.collect());
    let mut dut = start(&emit("admit", Admit::default()));
    for delay in [0, 1, 2] {
        let out = simulate(&mut dut, &mut Rng(3), records.clone(), (0, 0, 0), delay);
        let intervals: Vec<u64> = out.cycles.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(intervals.iter().all(|i| *i == 2 + delay), "{intervals:?}");
    }
}
