//! The harness of the NIC on a toy: what it does is known, and each of its faults must be caught.

use groove_spec::{DropReason, TokenKind};

use super::*;

const TOY: &str = include_str!("../../testdata/nic_toy.v");
const BASE: u64 = 0x12_3456_0000;
const BYTES: usize = 0x4000;
/// Kinds of commands.
const DATA: u32 = 1;
const COMPLETION: u32 = 2;
const READ: u32 = 3;

type Toy = NicHarness<Ranges>;

fn options() -> BuildOptions {
    BuildOptions { width: 64, queues: 2, ..BuildOptions::default() }
}

fn calm(seed: u64) -> NicConfig {
    NicConfig { seed, watchdog_cycles: 2000, ..NicConfig::default() }
}

fn rough(seed: u64) -> NicConfig {
    NicConfig { stall_percent: 40, latency_cycles: 5..=90, bursts_max: 6, ..calm(seed) }
}

fn toy(config: &NicConfig) -> Toy {
    let mut memory = Ranges::default();
    memory.add(BASE, BYTES);
    Toy::from_verilog(TOY, &options(), config, memory).unwrap()
}

fn command(toy: &mut Toy, kind: u32, address: u64, beats: u32) -> Result<(), Error> {
    toy.write32(4, address as u32)?;
    toy.write32(8, (address >> 32) as u32)?;
    toy.write32(12, (beats - 1) << 8 | kind)
}

/// What the toy writes.
fn pattern(address: u64, bytes: usize) -> Vec<u8> {
    (address..).take(bytes).map(|at| (at / 8) as u8).collect()
}

#[test]
fn writes_are_committed_with_their_responses() {
    for config in [calm(1), rough(1), rough(2), rough(3)] {
        let mut toy = toy(&config);
        for i in 0..40 {
            let (address, beats) = (BASE + 0x100 * i + i % 8, 1 + (i as u32) * 5 % 31);
            let kind = if i % 4 == 3 { COMPLETION } else { DATA };
            let (address, beats) = if kind == DATA { (address, beats) } else { (address & !31, 4) };
            let bytes = beats as usize * 8 - (address % 8) as usize;
            command(&mut toy, kind, address, beats).unwrap();
            let before = toy.memory.at(address, bytes).unwrap().to_vec();
            assert!(before.iter().all(|byte| *byte == 0), "not before its response");
            toy.settle().unwrap();
            assert_eq!(toy.memory.at(address, bytes).unwrap(), pattern(address, bytes));
            toy.memory.add(BASE, BYTES);
        }
        assert_eq!(toy.memory.published.len(), 10);
        let vectors: Vec<u8> = std::iter::from_fn(|| toy.take_message()).collect();
        assert_eq!(vectors, (0..10).collect::<Vec<u8>>());
        assert_eq!((toy.read32(16).unwrap(), toy.read32(20).unwrap()), (40, 0));
        let stats = toy.stats();
        assert_eq!((stats.writes, stats.reads, stats.messages, stats.refused), (40, 0, 10, 0));
    }
}

#[test]
fn a_refused_access_changes_nothing_and_is_answered_so() {
    let mut toy = toy(&rough(4));
    toy.memory.add(BASE, 0xff8);
    for (address, beats) in [(BASE + 0xff0, 2), (BASE - 8, 1), (0, 1), (u64::MAX - 7, 1)] {
        command(&mut toy, READ, address, beats).unwrap();
        command(&mut toy, DATA, address, beats).unwrap();
    }
    toy.settle().unwrap();
    assert!(toy.memory.at(BASE, 0xff8).unwrap().iter().all(|byte| *byte == 0));
    assert_eq!((toy.read32(16).unwrap(), toy.read32(20).unwrap()), (8, 8));
    assert_eq!(toy.stats().refused, 8);
}

#[test]
fn reads_see_memory_as_it_is_when_they_are_answered() {
    let mut toy = toy(&NicConfig { latency_cycles: 400..=400, ..calm(1) });
    command(&mut toy, READ, BASE + 0x40, 2).unwrap();
    toy.run(100).unwrap();
    toy.memory.write(BASE + 0x40, &[5, 0, 0, 0, 9, 9, 9, 9, 7]).unwrap();
    toy.settle().unwrap();
    assert_eq!(toy.read32(24).unwrap(), 12);
}

#[test]
fn finished_writes_are_committed_or_refused() {
    let mut toy = toy(&NicConfig { latency_cycles: 300..=500, ..calm(2) });
    for i in 0..6 {
        command(&mut toy, DATA, BASE + 0x80 * i, 4).unwrap();
    }
    toy.run(20).unwrap();
    assert!(!toy.writes.is_idle());
    toy.finish_writes().unwrap();
    assert!(toy.memory.at(BASE + 0x280, 32).unwrap() == pattern(BASE + 0x280, 32));
}

#[test]
fn same_seed_and_calls_repeat_the_run() {
    let run = |seed| {
        let mut toy = toy(&rough(seed));
        for i in 0..30 {
            command(&mut toy, 1 + (i & 1) as u32, BASE + 0x20 * i, 4).unwrap();
            toy.push(Stimulus::Frame { bytes: &[1; 70], bad_fcs: false }).unwrap();
        }
        toy.settle().unwrap();
        (toy.cycle(), toy.stats(), toy.memory.published.clone())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).0, run(8).0);
    // The same object again.
    let mut toy = toy(&rough(7));
    let mut again = || {
        toy.power_on(&rough(9)).unwrap();
        command(&mut toy, READ, BASE, 3).unwrap();
        toy.settle().unwrap();
        toy.stats()
    };
    assert_eq!(again(), again());
}

#[test]
fn entries_are_in_the_order_of_the_hardware() {
    for config in [calm(1), rough(1)] {
        let mut toy = toy(&config);
        let token = Entry::Token { queue: 17, kind: TokenKind::FlushOld };
        let mut frames = 0;
        for i in 0..300 {
            if i % 3 == 2 {
                toy.push(Stimulus::Token { queue: 17, kind: TokenKind::FlushOld }).unwrap();
            } else {
                toy.push(Stimulus::Frame { bytes: &[3; 20], bad_fcs: i % 4 == 0 }).unwrap();
            }
        }
        toy.settle().unwrap();
        let entries = toy.entries();
        assert_eq!(entries.iter().filter(|e| **e == token).count(), 100);
        for entry in entries.iter().filter(|e| **e != token) {
            let i = frames / 2 * 3 + frames % 2;
            let dropped = (i % 4 == 0).then_some(DropReason::NoBuffer);
            assert_eq!(*entry, Entry::Frame { dropped }, "frame {frames}");
            frames += 1;
        }
        assert_eq!(frames, 200);
        assert_eq!(toy.entries(), []);
        assert_eq!(toy.read32(28).unwrap(), 200);
    }
}

#[test]
fn registers_answer_with_their_codes() {
    let mut toy = toy(&rough(5));
    assert_eq!(toy.write_strobed(4, 7, 3).unwrap(), 2);
    let text = toy.write32(0xf000, 0).unwrap_err().to_string();
    assert!(text.starts_with("axil_b, cycle "), "{text}");
    assert!(text.ends_with("register 0xf000 answers with the code 2"), "{text}");
    assert!(toy.read32(0xf000).is_err());
}

#[test]
fn a_reset_finishes_its_bursts() {
    for seed in 0..12 {
        let mut toy = toy(&rough(seed));
        for i in 0..5 {
            command(&mut toy, DATA, BASE + 0x800 * i, 200).unwrap();
            command(&mut toy, READ, BASE + 0x800 * i, 20).unwrap();
            toy.push(Stimulus::Frame { bytes: &[1; 1000], bad_fcs: false }).unwrap();
        }
        toy.run(60 * seed).unwrap();
        toy.flr().unwrap();
        toy.run(100).unwrap();
        let before = toy.memory.at(BASE, BYTES).unwrap().to_vec();
        command(&mut toy, DATA, BASE + 0x3000, 8).unwrap();
        toy.push(Stimulus::Frame { bytes: &[1; 100], bad_fcs: false }).unwrap();
        toy.settle().unwrap();
        assert_eq!(toy.entries(), [Entry::Frame { dropped: None }]);
        assert_eq!(toy.read32(28).unwrap(), 1, "the rest of an older frame is none");
        let after = toy.memory.at(BASE, BYTES).unwrap();
        assert_eq!(after[..0x3000], before[..0x3000]);
        assert_eq!(after[0x3000..0x3040], pattern(BASE + 0x3000, 64));
    }
}

/// The error of a run in which the toy misbehaves, without the numbers of cycles.
fn fault(number: u32) -> String {
    let mut toy = toy(&rough(5));
    let mut run = || {
        toy.write32(0, number)?;
        for i in 0..40 {
            command(&mut toy, DATA, BASE + 0x40 * i + 4, 4)?;
            command(&mut toy, READ, BASE + 0x40 * i, 8)?;
            command(&mut toy, COMPLETION, BASE + 0x1000 + 0x20 * i, 4)?;
            toy.push(Stimulus::Frame { bytes: &[1; 50], bad_fcs: true })?;
            toy.push(Stimulus::Token { queue: 1, kind: TokenKind::Tick })?;
        }
        toy.read32(24)?;
        toy.flr()?;
        toy.run(50)?;
        // A fault outlives the reset, so that the reset can be broken.
        let config = toy.config.clone();
        toy.power_on(&config)
    };
    let error: Error = run().expect_err("the fault must be caught");
    assert!(error.cycle().is_some(), "{error}");
    words(&error.to_string())
}

fn words(text: &str) -> String {
    let keep = |word: &&str| word.trim_end_matches([':', ',']).parse::<u64>().is_err();
    text.split(' ').filter(keep).collect::<Vec<_>>().join(" ")
}

const CHANGED: &str = "changed while valid waited for ready";

#[test]
fn bursts_that_break_a_rule_are_caught() {
    assert_eq!(fault(1), "axi_aw, cycle valid fell before ready");
    assert_eq!(fault(2), format!("axi_awaddr, cycle {CHANGED}"));
    assert_eq!(fault(6), format!("axi_araddr, cycle {CHANGED}"));
    assert_eq!(fault(7), "axi_aw, cycle bytes a beat, not");
    assert_eq!(fault(8), "axi_aw, cycle id is not one of [0, 1]");
    assert_eq!(fault(9), "axi_aw, cycle burst type is not INCR");
    let mut toy = toy(&calm(1));
    command(&mut toy, DATA, BASE + 0xff8, 2).unwrap();
    let text = toy.settle().unwrap_err().to_string();
    assert!(text.ends_with("2 beats from 0x1234560ff8 on cross 4 KiB"), "{text}");
}

#[test]
fn beats_that_break_a_rule_are_caught() {
    assert_eq!(fault(3), "axi_wlast, cycle beats with WLAST of a burst of");
    assert_eq!(fault(4), "axi_wlast, cycle beats without WLAST of a burst of");
    assert_eq!(fault(5), format!("axi_wdata, cycle {CHANGED}"));
    assert_eq!(fault(10), "axi_wstrb, cycle 0xef has holes");
    assert_eq!(fault(15), "axi_wstrb, cycle zero outside a function-level reset");
    assert_eq!(fault(16), "axi_wstrb, cycle bytes behind a gap in the burst");
    let text = fault(19);
    assert!(text.ends_with("bytes before the address"), "{text}");
    for (address, beats) in [(BASE, 5), (BASE, 3), (BASE + 8, 4), (BASE + 4, 4)] {
        let mut toy = toy(&calm(1));
        command(&mut toy, COMPLETION, address, beats).unwrap();
        let text = toy.settle().unwrap_err().to_string();
        assert!(text.ends_with(&format!("id 1, {address:#x}: not one completion")), "{text}");
    }
}

#[test]
fn responses_that_break_a_rule_are_caught() {
    assert_eq!(fault(11), "axil_b, cycle a response that nothing asked for by then");
    assert_eq!(fault(20), format!("axil_rdata, cycle {CHANGED}"));
}

#[test]
fn messages_that_change_are_caught() {
    assert_eq!(fault(12), format!("msix_vector, cycle {CHANGED}"));
}

#[test]
fn access_behind_a_reset_is_caught() {
    assert_eq!(fault(13), "axi_aw, cycle valid before reset ended");
    assert_eq!(fault(18), "axi_ar, cycle valid fell before ready");
    // The fault is a power-on value here: it acts at once.
    let text = TOY.replace("reg [31:0] fault = 0;", "reg [31:0] fault = 18;");
    let mut toy = Toy::from_verilog(&text, &options(), &calm(1), Ranges::default()).unwrap();
    let text = toy.run(20).unwrap_err().to_string();
    let wanted = "axi_ar, cycle valid behind a reset, before anything was asked for";
    assert_eq!(words(&text), wanted);
}

#[test]
fn bursts_left_open_by_a_reset_are_caught() {
    let text = fault(14);
    assert!(text.starts_with("flr_busy, cycle fell with write bursts incomplete"), "{text}");
}

#[test]
fn logs_that_cannot_be_are_caught() {
    assert!(fault(21).starts_with("drop, cycle frame were sent"), "{}", fault(21));
    assert_eq!(fault(22), "token_log, cycle kind has the code which does not exist");
    assert!(fault(23).starts_with("token_log, cycle in front of frame were"), "{}", fault(23));
}

#[test]
fn waits_are_bounded() {
    let text = fault(17);
    assert!(text.starts_with("no progress for cycles up to cycle"), "{text}");
    assert!(text.contains("AXI-Lite Write { address:"), "{text}");
}

#[test]
fn missing_and_wrong_ports_are_named() {
    let open = |text: &str, width| {
        let options = BuildOptions { width, ..options() };
        let toy = Toy::from_verilog(text, &options, &calm(1), Ranges::default());
        toy.map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(open(TOY, 128), "port s_axis_tdata is 64 bits wide, not 128");
    let text = TOY.replace("msix_vector", "msix_number");
    assert!(open(&text, 64).starts_with("groove_nic has no port msix_vector;"));
}

#[test]
fn waves_are_written_where_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nic.fst");
    let config = NicConfig { wave: Some(crate::Wave::around(&path, 600)), ..rough(1) };
    let options = BuildOptions { trace: true, ..options() };
    let mut toy = Toy::from_verilog(TOY, &options, &config, Ranges::default()).unwrap();
    toy.run(1000).unwrap();
    assert!(std::fs::metadata(path).unwrap().len() > 500);
}
