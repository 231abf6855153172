//! The inline form under Verilator: what leaves is what the model delivers, whatever stalls; what
//! does not leave is counted.

mod rtl_support;

use groove::engine::registers;
use groove_hdl::blocks::byte_ram::ByteRam;
use groove_hdl::emit::{Design, emit};
use groove_hdl::inline::{self, BUFFERS_SMALL};
use groove_hdl::pipeline::Parameters;
use groove_model::Config;
use groove_spec::inline::{
    BUFFERS_MAX, HEADER_BYTES, INLINE_CONTROL, INLINE_DELIVERED, INLINE_DROP_SWITCH, INLINE_HOLD,
    INLINE_PASSED, INLINE_STATUS, REGISTERS,
};
use groove_spec::stages::{admit, device, ingress};
use groove_spec::{Access, Delivery, DropReason, Register, TokenKind};
use groove_tests::differential::Segment;
use groove_tests::frames;
use groove_tests::generate::Item;
use groove_tests::generate::segment::Scope;
use groove_tests::inline::{Bench, Stalls, check_meta, user};
use groove_tests::stream::Whole;
use groove_verilator::{Dut, Source, Toolbox};
use rtl_support::{Rng, set, start};

/// 512 bits with its whole packet memory, or 64 bits with one that traffic exhausts.
fn design(width: usize) -> Design {
    let parameters = Parameters { width, ..Parameters::default() };
    let emit = if width == 64 { inline::emit_small } else { inline::emit };
    emit(&parameters).expect("parameters are possible")
}

fn bench(width: usize, seed: u64) -> Bench {
    let design = design(width);
    let source = Source { top: &design.top, verilog: &design.verilog, trace: false };
    Bench::new(Dut::build(&source).expect("the inline form builds"), seed)
}

fn buffers(width: usize) -> u32 {
    (if width == 64 { BUFFERS_SMALL } else { BUFFERS_MAX }) as u32
}

fn field(register: &Register, name: &str, word: u32) -> u32 {
    let field = register.field(name);
    (word & field.mask()) >> field.lsb
}

fn free(bench: &mut Bench) -> u32 {
    field(&INLINE_STATUS, "free", bench.read(INLINE_STATUS.offset as u32))
}

/// Writes the configuration, then sends frames through the pipeline.
fn enable(bench: &mut Bench, config: &Config, hold: u32, header: bool) {
    for (address, value) in registers::image(config) {
        bench.write(address, value);
    }
    bench.write(INLINE_HOLD.offset as u32, hold);
    // The tables are cleared by then: the switch waits for it.
    bench.write(INLINE_CONTROL.offset as u32, 1 | u32::from(header) << 1);
    let state = bench.dut.port("state").expect("a pin");
    for _ in 0..5_000 {
        if bench.dut.read(state) == 1 {
            return;
        }
        bench.run(1);
    }
    panic!("the switch does not turn");
}

/// Holds what left to deliveries, bytes and all that is beside them.
fn compare(bench: &mut Bench, expected: &[Delivery], header: bool) {
    assert_eq!(bench.monitor.frames.len(), expected.len(), "as many as the model delivers");
    let ahead = if header { HEADER_BYTES } else { 0 };
    for (frame, delivery) in bench.monitor.frames.drain(..).zip(expected) {
        let Whole { bytes, beside } = frame;
        assert!(bytes[ahead..] == delivery.bytes, "bytes of {:?}", delivery.frames);
        let [of_first, core, meta, size] = &beside[..] else { panic!("four pins") };
        assert_eq!(*of_first, user(delivery.frames[0]), "beside {:?}", delivery.frames);
        assert_eq!((core[0], size[0] as usize), (1, bytes.len()));
        check_meta(meta, delivery);
        if header {
            let words = meta.iter().flat_map(|word| word.to_le_bytes());
            let shown: Vec<u8> = words.chain([0; HEADER_BYTES / 2]).collect();
            assert_eq!(bytes[..HEADER_BYTES], shown, "header of {:?}", delivery.frames);
        }
    }
}

/// Random traffic through both; how many frames were merged and how many found no buffer.
fn run(width: usize, seed: u64, frames: usize, stalls: Stalls) -> (usize, usize) {
    let mut bench = bench(width, seed);
    let segment = Segment {
        seed,
        queues: 1,
        frames,
        stall_percent: 0,
        output_stall_percent: None,
        refuse_percent: 0,
    };
    let (config, items) = segment.input(Scope::Hardware);
    let header = seed % 2 == 1;
    enable(&mut bench, &config, 0, header);
    bench.stalls = stalls;
    bench.push(&items);
    bench.stalls = Stalls::default();
    bench.settle();
    let expected = bench.expected(&config, &items);
    let delivered = bench.read(INLINE_DELIVERED.offset as u32) as usize;
    assert_eq!(delivered, expected.len());
    assert_eq!(free(&mut bench), buffers(width), "every buffer is home");
    assert_eq!(bench.feed.stalled, 0, "the input never stalls");
    compare(&mut bench, &expected, header);
    let merged = expected.iter().map(|d| usize::from(d.gso_segs)).sum();
    let no_buffer = bench.logs.drops.iter().filter(|d| d.1 == DropReason::NoBuffer).count();
    (merged, no_buffer)
}

#[test]
fn the_inline_form_equals_the_model() {
    let mut merged = 0;
    for (seed, output) in [(1, 0), (2, 300), (3, 100), (4, 600), (5, 50)] {
        let stalls = Stalls { input: 200, output };
        merged += run(512, seed, 1_500, stalls).0;
    }
    assert!(merged > 1_000, "{merged} frames were merged");
}

#[test]
fn an_exhausted_pool_drops_and_counts() {
    let (mut merged, mut refused) = (0, 0);
    for (seed, output) in [(11, 0), (12, 500), (13, 900)] {
        let (more, no_buffer) = run(64, seed, 800, Stalls { input: 100, output });
        (merged, refused) = (merged + more, refused + no_buffer);
    }
    assert!(merged > 100 && refused > 100, "{merged} merged, {refused} refused");
}

/// Frames of one flow that merge until a token or the timer ends it.
fn train(frames: usize, payload: usize) -> Vec<Item> {
    let frame =
        |n| Item::Frame { bytes: frames::encode(frames::v4(n, payload), |_| {}), bad_fcs: false };
    (0..frames).map(frame).collect()
}

fn flush() -> Item {
    Item::Token { queue: 0, kind: TokenKind::FlushAll }
}

#[test]
fn the_pool_conserves_buffers() {
    // More deliveries than there are buffers, of one buffer, of many, and of none but the slot.
    let mut bench = bench(512, 21);
    let config = Config::default();
    enable(&mut bench, &config, 0, false);
    let mut items = Vec::new();
    for round in 0..80 {
        items.extend(train([1, 3, 44][round % 3], [2, 700, 1460][round % 3]));
        items.push(flush());
    }
    bench.push(&items);
    bench.settle();
    let expected = bench.expected(&config, &items);
    assert!(expected.iter().any(|d| d.bytes.len() > 60_000), "one of many buffers");
    compare(&mut bench, &expected, false);
    assert_eq!(free(&mut bench), buffers(512));
    // Frames without any gap are faster than a wire of 100 Gb/s: some find no beat's room.
    let overflow = |drop: &(u32, DropReason)| drop.1 == DropReason::Overflow;
    assert!(bench.logs.drops.iter().all(overflow), "none was refused for want of buffers");
}

#[test]
fn the_output_keeps_the_stream_rules() {
    // Long stalls, then none: beats that wait, and frames that follow each other at once.
    let mut bench = bench(512, 31);
    let config = Config::default();
    enable(&mut bench, &config, 0, true);
    let mut items = Vec::new();
    for round in 0..24 {
        items.extend(train([40, 1, 2][round % 3], [1460, 1, 180][round % 3]));
        items.push(flush());
    }
    for part in items.chunks(items.len() / 6) {
        bench.stalls.output = if bench.stalls.output == 0 { 950 } else { 0 };
        bench.push(part);
    }
    bench.stalls.output = 0;
    bench.settle();
    let expected = bench.expected(&config, &items);
    compare(&mut bench, &expected, true);
}

#[test]
fn the_timer_flushes() {
    let mut bench = bench(512, 41);
    enable(&mut bench, &Config::default(), 8, false);
    let items = train(3, 1000);
    bench.push(&items);
    let end = bench.dut.cycle() + 2 * 8 * 64 + 400;
    while bench.monitor.frames.is_empty() {
        bench.run(1);
        assert!(bench.dut.cycle() < end, "held for more than two periods");
    }
    bench.run(4 * 8 * 64);
    let kinds: Vec<TokenKind> = bench.logs.tokens.iter().map(|t| t.2).collect();
    assert!(kinds.len() >= 6, "{kinds:?}");
    assert!(kinds.chunks(2).all(|pair| pair[0] == TokenKind::FlushOld), "{kinds:?}");
    assert!(kinds.chunks_exact(2).all(|pair| pair[1] == TokenKind::Tick), "{kinds:?}");
    let expected = bench.expected(&Config::default(), &items);
    assert_eq!(expected.len(), 1);
    compare(&mut bench, &expected, false);
}

/// Frames that the pipeline would drop or change, and what comes beside them.
fn wild(rng: &mut Rng, frames: usize) -> Vec<Whole> {
    let frame = |number| {
        let len = rng.pick(&[1, 13, 64, 65, 200, 1514, 9700]);
        let beside = vec![user(number), vec![rng.below(2) as u32]];
        Whole { bytes: rng.bytes(len), beside }
    };
    (0..frames as u32).map(frame).collect()
}

#[test]
fn frames_pass_through_until_enabled() {
    let mut bench = bench(512, 51);
    let frames = wild(&mut Rng(7), 300);
    // What passes breaks where it broke before.
    bench.feed.breaks = false;
    let error = bench.dut.port("m_axis_tuser").expect("a pin");
    for output in [0, 400] {
        bench.stalls = Stalls { input: 300, output };
        bench.feed.frames.extend(frames.iter().cloned());
        let mut marks = Vec::new();
        while bench.monitor.frames.len() < frames.len() {
            let before = bench.monitor.frames.len();
            let mut mark = 0;
            bench.cycle(|dut| mark = dut.read(error));
            if bench.monitor.frames.len() > before {
                marks.push(mark);
            }
        }
        for ((out, mark), sent) in bench.monitor.frames.drain(..).zip(marks).zip(&frames) {
            assert!(out.bytes == sent.bytes, "bit by bit");
            assert_eq!((&out.beside[0], mark as u32), (&sent.beside[0], sent.beside[1][0]));
            assert_eq!(out.beside[1], [0], "no delivery");
        }
    }
    assert_eq!(bench.read(INLINE_PASSED.offset as u32), 600);
}

#[test]
fn the_input_never_stalls() {
    // Frames without a gap, and an output that takes nothing for long.
    let mut bench = bench(64, 61);
    enable(&mut bench, &Config::default(), 64, false);
    let mut rng = Rng(9);
    let frame = |n: usize| Item::Frame {
        bytes: frames::encode(frames::v4(n, rng.pick(&[6, 10, 700, 1460])), |_| {}),
        bad_fcs: false,
    };
    let items: Vec<Item> = (0..1_500).map(frame).collect();
    for part in items.chunks(300) {
        bench.stalls.output = 1000 - bench.stalls.output;
        bench.push(part);
    }
    bench.stalls.output = 0;
    bench.settle();
    bench.run(3 * 64 * 64);
    assert_eq!(bench.feed.stalled, 0);
    let drops = bench.logs.drops.len();
    assert!(drops > 300, "{drops} frames were dropped");
    let expected = bench.expected(&Config::default(), &items);
    let delivered: usize = expected.iter().map(|d| d.frames.len()).sum();
    assert_eq!(delivered + drops, items.len(), "in = delivered + dropped");
    compare(&mut bench, &expected, false);
    let counted = [&admit::DROP_NO_BUFFER, &ingress::DROP_OVERFLOW]
        .map(|register| bench.read(register.offset as u32) as usize);
    assert_eq!(counted.iter().sum::<usize>(), drops, "{counted:?}");
}

#[test]
fn a_switch_loses_only_what_it_counts() {
    let mut bench = bench(64, 71);
    let config = Config::default();
    enable(&mut bench, &config, 0, false);
    bench.stalls = Stalls { input: 500, output: 200 };
    bench.feed.breaks = false;
    let mut rng = Rng(3);
    let mut sent = 0;
    for round in 0..12 {
        for n in 0..1 + rng.below(60) {
            let bytes = frames::encode(frames::v4(n, 50 + 10 * (n % 3)), |_| {});
            bench.feed.frames.push_back(Whole { bytes, beside: vec![user(sent), vec![0]] });
            sent += 1;
        }
        bench.run(rng.below(400));
        bench.write(INLINE_CONTROL.offset as u32, round % 2);
        bench.run(rng.below(900));
    }
    bench.stalls = Stalls::default();
    while !bench.feed.frames.is_empty() {
        bench.run(1);
    }
    // The last word was to go through the pipeline; then to pass.
    bench.write(INLINE_CONTROL.offset as u32, 0);
    bench.settle();
    assert_eq!(bench.read(INLINE_STATUS.offset as u32) & 3, 0, "it is empty and lets pass");
    let read = |bench: &mut Bench, register: &Register| bench.read(register.offset as u32);
    let passed = read(&mut bench, &INLINE_PASSED);
    let lost = read(&mut bench, &INLINE_DROP_SWITCH);
    let dropped = bench.logs.drops.len() as u32;
    let mut through = 0;
    let mut last = None;
    for frame in &bench.monitor.frames {
        let [number, ..] = frame.beside[0][..] else { panic!("words") };
        assert!(last.is_none_or(|l| l < number), "in order");
        last = Some(number);
        if frame.beside[1] == [1] {
            through += (groove_tests::inline::meta(&frame.beside[2], "gso_segs") as u32).max(1);
        }
    }
    assert!(passed > 50 && through > 50 && lost > 0, "{passed} passed, {through}, {lost} lost");
    assert_eq!(passed + through + lost + dropped, sent, "every frame is accounted for");
}

#[test]
fn registers_behave_as_the_table_says() {
    let mut bench = bench(64, 81);
    for row in REGISTERS {
        let at = row.offset as u32;
        let before = bench.read(at);
        if row.name != "INLINE_STATUS" {
            assert_eq!(before, row.reset, "{}", row.name);
        }
        bench.write(at, u32::MAX);
        let after = bench.read(at);
        let expected = if row.access == Access::ReadWrite { row.mask() } else { before };
        if row.name != "INLINE_STATUS" {
            assert_eq!(after, expected, "{}", row.name);
        }
    }
    assert_eq!(bench.read(0xf80), 0, "no register");
    assert_eq!(bench.read(device::SPEC_ID.offset as u32), groove_spec::SPEC_ID);
    let capabilities = bench.read(device::CAPABILITIES.offset as u32);
    assert_eq!(field(&device::CAPABILITIES, "queues", capabilities), 1);
    assert_eq!(field(&device::CAPABILITIES, "lossless", capabilities), 0);
}

#[test]
fn byte_ram_keeps_what_is_not_written() {
    let mut dut = start(&emit("byte_ram", ByteRam::<64, 8, 4>::new(12)));
    let mut rng = Rng(5);
    let mut words = [0u64; 12];
    for round in 0..2_000 {
        let (at, value) = (rng.below(12), rng.next());
        let strobe = if round < 12 { 0xff } else { rng.below(256) as u64 };
        let at = if round < 12 { round } else { at };
        let mask = (0..8).filter(|b| strobe >> b & 1 == 1).fold(0, |m, b| m | 0xff << (8 * b));
        words[at] = words[at] & !mask | value & mask;
        let other = (at + 1 + rng.below(11)) % 12;
        for (name, value) in [
            ("waddr", at as u64),
            ("wdata", value),
            ("wstrb", strobe),
            ("wen", 1),
            ("raddr", other as u64),
            ("ren", 1),
        ] {
            set(&mut dut, name, value);
        }
        dut.clock().expect("runs");
        dut.settle().expect("runs");
        if round >= 12 {
            assert_eq!(dut.read(dut.port("rdata").expect("a pin")), words[other]);
        }
    }
}

#[test]
fn inline_lint_is_clean() {
    let waived = ["DECLFILENAME", "WIDTH", "UNUSEDSIGNAL", "UNUSEDPARAM"];
    for width in [64, 512] {
        let design = design(width);
        let lines = Toolbox::from_env().lint(&design.top, &design.verilog, &waived).expect("lints");
        assert!(lines.is_empty(), "W = {width}: {lines:#?}");
    }
}
