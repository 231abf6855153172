//! The parse stage under Verilator, field by field against the model.

mod rtl_support;

use groove_hdl::emit::emit;
use groove_hdl::stages::parse::Parse;
use groove_model::{Config, Frame, Seen, look, stages};
use groove_spec::stages::parse::FRAME_META;
use groove_spec::{TokenKind, Verdict};
use groove_verilator::Dut;
use rtl_support::{Drain, Feed, Record, Rng, bits, cycle, field, frames, pack, set, start, words};
use stages::parse::{L3Kind, L4Kind};

const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];

enum Input {
    Frame(Vec<u8>),
    Token(u8, TokenKind),
}

fn head(input: &Input) -> Record {
    match input {
        Input::Frame(bytes) => {
            let seen = bytes.len().min(128);
            vec![words(&bytes[..seen], 128), vec![seen as u32], vec![0], vec![0], vec![0]]
        }
        Input::Token(queue, kind) => {
            vec![words(&[], 128), vec![0], vec![1], vec![kind.code().into()], vec![(*queue).into()]]
        }
    }
}

struct Outputs {
    flow: Vec<Record>,
    sum: Vec<Record>,
    cycles: Vec<u64>,
}

fn simulate(dut: &mut Dut, rng: &mut Rng, inputs: &[Input], gap: u8, stall: u8) -> Outputs {
    let mut s = Feed::new(dut, "s", &["header", "bytes", "is_token", "token_kind", "queue"]);
    let mut m = Drain::new(dut, "m", &["meta", "header", "addresses", "ports", "hashable"]);
    let mut sum = Drain::new(dut, "sum", &["control"]);
    s.records = inputs.iter().map(head).collect();
    (s.gap, m.stall, sum.stall) = (gap, stall, stall);
    let frames = inputs.iter().filter(|i| matches!(i, Input::Frame(_))).count();
    let deadline = dut.cycle() + 100 * inputs.len() as u64;
    while m.records.len() < inputs.len() || sum.records.len() < frames {
        assert!(dut.cycle() < deadline, "stuck after {} of {}", m.records.len(), inputs.len());
        cycle(dut, rng, &mut [&mut s], &mut [&mut m, &mut sum]);
    }
    for _ in 0..20 {
        cycle(dut, rng, &mut [&mut s], &mut [&mut m, &mut sum]);
    }
    assert_eq!((m.records.len(), sum.records.len()), (inputs.len(), frames));
    Outputs { flow: m.records, sum: sum.records, cycles: m.cycles }
}

fn be16(bytes: &[u8], at: usize) -> u64 {
    u64::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

fn fold(mut sum: u64) -> u64 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// Whether the header alone makes a candidate; `stages::coalesce::path` says so in its header.
fn header_candidate(config: &Config, seen: &Seen) -> bool {
    let p = &seen.parsed;
    let head = &seen.bytes[..p.visible_bytes];
    (p.tags == 0 || config.options.vlan_gro)
        && p.l4_kind == L4Kind::Tcp
        && (p.l3_kind == L3Kind::Ipv6
            || (p.l4_off == p.l3_off + 20 && seen.verdicts.l3 == Verdict::Good))
        && stages::parse::tcp_header_bytes(head, p.l4_off).is_some()
}

/// `Good` where the sum is to decide.
fn provisional(seen: &Seen, received: &[u8]) -> Verdict {
    let p = &seen.parsed;
    let least = match p.l4_kind {
        L4Kind::None => return Verdict::NotApplicable,
        L4Kind::Tcp => 20,
        L4Kind::Udp => 8,
    };
    if p.l4_off + least > p.visible_bytes || p.l4_off + least > p.l3_off + p.ip_len {
        return Verdict::NotApplicable;
    }
    let cut = received.len() - seen.bytes.len();
    let at = p.l4_off + if seen.vlan.is_some() { 4 } else { 0 };
    assert!(cut >= at - p.l4_off);
    if p.l4_kind == L4Kind::Udp && received[at + 6..at + 8] == [0, 0] {
        Verdict::Absent
    } else {
        Verdict::Good
    }
}

fn check_meta(config: &Config, received: &[u8], seen: &Seen, meta: &[u32]) {
    let p = &seen.parsed;
    let f = |name| field(&FRAME_META, meta, name);
    let at = |at: usize| p.l3_off + at;
    let bytes = &seen.bytes;
    let mut want = vec![
        ("is_token", 0),
        ("vlan_valid", seen.vlan.is_some().into()),
        ("hdr_len", p.hdr_len as u64),
        ("l3_kind", p.l3_kind as u64),
        ("l3_off", p.l3_off as u64),
        ("l4_kind", p.l4_kind as u64),
        ("l3_verdict", seen.verdicts.l3.code().into()),
        ("l4_verdict", provisional(seen, received).code().into()),
        ("candidate", header_candidate(config, seen).into()),
        ("fragment", p.fragment.into()),
        ("payload_len", 0),
        ("frame_bytes", 0),
    ];
    if let Some(tag) = seen.vlan {
        want.push(("vlan_tpid", (tag.tpid == 0x88a8).into()));
        want.push(("vlan_tci", tag.tci.into()));
    }
    if p.l3_kind != L3Kind::None {
        want.push(("l4_off", p.l4_off as u64));
        want.push(("ip_len", p.ip_len as u64));
        let addresses = if p.l3_kind == L3Kind::Ipv4 { 12..20 } else { 8..40 };
        let pairs = addresses.step_by(2).map(|i| be16(bytes, at(i)));
        want.push(("addr_sum", fold(6 + pairs.sum::<u64>())));
    }
    if p.l3_kind == L3Kind::Ipv4 {
        want.push(("soft_flush", (bytes[at(6)] >> 7).into()));
        want.push(("ip_id", be16(bytes, at(4))));
        want.push(("ip_csum", be16(bytes, at(10))));
        want.push(("ip_tot_len", be16(bytes, at(2))));
    } else {
        want.push(("soft_flush", 0));
    }
    if header_candidate(config, seen) {
        let seq = be16(bytes, p.l4_off + 4) << 16 | be16(bytes, p.l4_off + 6);
        want.push(("tcp_seq", seq));
        want.push(("tcp_flags", bytes[p.l4_off + 13].into()));
    }
    for (name, value) in want {
        assert_eq!(f(name), value, "{name} of {received:02x?}\n{p:?}");
    }
}

fn check_frame(config: &Config, received: &[u8], flow: &Record, sum: &Record) {
    let seen = look(config, &Frame::new(received));
    let p = &seen.parsed;
    check_meta(config, received, &seen, &flow[0]);
    let mut head = received[..received.len().min(128)].to_vec();
    if seen.vlan.is_some() {
        head.drain(12..16);
    }
    assert_eq!(flow[1], words(&head, 128), "header of {received:02x?}");
    let at = match p.l3_kind {
        L3Kind::None => None,
        L3Kind::Ipv4 => Some(p.l3_off + 12..p.l3_off + 20),
        L3Kind::Ipv6 => Some(p.l3_off + 8..p.l3_off + 40),
    };
    if let Some(at) = at {
        assert_eq!(flow[2], words(&head[at], 32), "addresses of {received:02x?}");
        let fits = head[p.l3_off] >> 4 == if p.l3_kind == L3Kind::Ipv4 { 4 } else { 6 };
        assert_eq!(flow[4], [fits.into()], "version of {received:02x?}");
    }
    if p.l4_kind != L4Kind::None {
        assert_eq!(flow[3], words(&head[p.l4_off..p.l4_off + 4], 4), "ports of {received:02x?}");
    }
    let extra = if seen.vlan.is_some() { 4 } else { 0 };
    let (begin, end) = (bits(&sum[0], 0, 8) as usize, bits(&sum[0], 8, 17) as usize);
    if provisional(&seen, received) == Verdict::NotApplicable {
        assert_eq!((begin, end), (0, 0), "sum of {received:02x?}");
        return;
    }
    assert_eq!((begin, end), (p.l4_off + extra, p.l3_off + p.ip_len + extra));
    if end <= received.len() && provisional(&seen, received) == Verdict::Good {
        let chunks = received[begin..end].chunks(2);
        let total: u64 = chunks.map(|c| be16(&[c[0], c.get(1).copied().unwrap_or(0)], 0)).sum();
        let good = fold(bits(&sum[0], 25, 16) + total) == 0xffff;
        assert_eq!(good, seen.verdicts.l4 == Verdict::Good, "pseudo sum of {received:02x?}");
    }
}

fn configure(dut: &mut Dut, options: usize) -> Config {
    let mut config = Config { station: STATION, ..Config::default() };
    config.options.vlan_strip = options & 1 != 0;
    config.options.vlan_gro = options & 2 != 0;
    config.options.trim_pad = options & 4 != 0;
    set(dut, "vlan_strip", u64::from(config.options.vlan_strip));
    set(dut, "vlan_gro", u64::from(config.options.vlan_gro));
    set(dut, "trim_pad", u64::from(config.options.trim_pad));
    config
}

/// Method: random frames around every bound, all options, with and without gaps and stalls; each
/// field that means something is compared with the model.
#[test]
fn parse_equals_the_model() {
    let mut dut = start(&emit("parse", Parse::default()));
    let mut rng = Rng(1);
    for options in 0..8 {
        let config = configure(&mut dut, options);
        for (gap, stall) in [(0, 0), (30, 50)] {
            let inputs: Vec<Input> = (0..2500)
                .map(|_| match rng.below(20) {
                    0 => Input::Token(rng.below(32) as u8, rng.pick(TokenKind::ALL)),
                    _ => Input::Frame(frames::random(&mut rng, &STATION)),
                })
                .collect();
            let outputs = simulate(&mut dut, &mut rng, &inputs, gap, stall);
            let mut sums = outputs.sum.iter();
            for (input, flow) in inputs.iter().zip(&outputs.flow) {
                match input {
                    Input::Frame(bytes) => {
                        check_frame(&config, bytes, flow, sums.next().expect("one per frame"));
                    }
                    Input::Token(queue, kind) => {
                        let want = pack(&[(1, 1), (kind.code().into(), 2), ((*queue).into(), 5)]);
                        assert_eq!(flow[0][0] & 0xff, want[0]);
                    }
                }
            }
        }
    }
}

/// Every prefix of one frame with all layers: no bound is off by one.
#[test]
fn every_prefix_parses() {
    let mut dut = start(&emit("parse", Parse::default()));
    let mut rng = Rng(2);
    for options in 0..8 {
        let config = configure(&mut dut, options);
        let whole: Vec<Vec<u8>> = (0..12).map(|_| frames::random(&mut rng, &STATION)).collect();
        let cut = |frame: &Vec<u8>| {
            let frame = frame.clone();
            (14..=frame.len().min(160)).map(move |len| Input::Frame(frame[..len].to_vec()))
        };
        let inputs: Vec<Input> = whole.iter().flat_map(cut).collect();
        let outputs = simulate(&mut dut, &mut rng, &inputs, 0, 0);
        for ((input, flow), sum) in inputs.iter().zip(&outputs.flow).zip(&outputs.sum) {
            let Input::Frame(bytes) = input else { unreachable!("frames only") };
            check_frame(&config, bytes, flow, sum);
        }
    }
}

/// The sustained interval is 4 cycles exactly for frames without extension headers.
#[test]
fn a_frame_takes_four_cycles() {
    let mut dut = start(&emit("parse", Parse::default()));
    configure(&mut dut, 3);
    let mut rng = Rng(3);
    let inputs: Vec<Input> =
        (0..500).map(|_| Input::Frame(frames::plain(&mut rng, &STATION, 20))).collect();
    let outputs = simulate(&mut dut, &mut rng, &inputs, 0, 0);
    let intervals: Vec<u64> = outputs.cycles.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(intervals.iter().all(|i| *i == 4), "{intervals:?}");
}
