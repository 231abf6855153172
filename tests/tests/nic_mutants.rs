//! The checks of the whole NIC can fail: named one-line breaks of its emitted Verilog, each caught
//! by the driver, the model or a monitor of the pins.
//!
//!   emitted text ──► every break in it, off ──► one build ──► break N on ──► a scenario fails
//!
//! As in `mutants.rs`; a break is found by its module and line, and the number is written over
//! AXI-Lite to an address that nothing else has. No reset clears it.
//! Scenarios poll in the middle of what the hardware does, without letting it settle: what is
//! visible must be whole at any time.

mod driver_support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use driver_support::{Bench, Testbed, settings, small};
use groove_device::Step;
use groove_device::verilated::{Clock, Options, VerilatedDevice};
use groove_driver::identify::REGISTERS;
use groove_driver::{Device, Settings};
use groove_hdl::nic;
use groove_hdl::pipeline::Parameters;
use groove_spec::TokenKind;
use groove_spec::nic::{
    COMPLETION_CONSUMER, COMPLETION_PRODUCER, FREE_BASE_HIGH, FREE_CONSUMER, FREE_PRODUCER,
    QUEUE_CONTROL, QUEUE_STATUS, queue_offset,
};
use groove_tests::frames::{encode, tcp, udp, v4};
use groove_tests::generate::Traffic;
use groove_tests::generate::random::Rng;
use groove_tests::generate::segment::Scope;
use groove_verilator::BuildOptions;
use groove_verilator::nic::NicConfig;

/// Address of the number, in no stage's window.
const NUMBER_ADDRESS: u64 = 0x0ffc;
const WIDTH: usize = 64;
const QUEUES: usize = 2;
/// Of 100 cycles: how long a queue may take to stop.
const STOP_TICKS: usize = 300;

/// A break: its name, its module, a line in front of it or "", the line, what of it is replaced,
/// and by what.
struct Mutant {
    name: &'static str,
    module: &'static str,
    behind: &'static str,
    line: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn mutant(
    name: &'static str,
    [module, behind]: [&'static str; 2],
    line: &'static str,
    from: &'static str,
    to: &'static str,
) -> Mutant {
    Mutant { name, module, behind, line, from, to }
}

#[rustfmt::skip]
const MUTANTS: &[Mutant] = &[
    // Order of what becomes visible.
    mutant("completion-does-not-wait-for-its-data", ["complete", ""], "reached = records_valid & ~ahead[32'h1f];", "~ahead[32'h1f]", "1'b1"),
    mutant("tag-one-early", ["place_output", ""], "labelled[(64'h6)+:(32)] = counted;", "counted", "counted - 32'd1"),
    mutant("tag-one-late", ["place_output", ""], "labelled[(64'h6)+:(32)] = counted;", "counted", "counted + 32'd1"),
    mutant("generation-stuck", ["complete_ring", ""], "generation = fresh_q;", "fresh_q", "1'b1"),
    // Buffers.
    mutant("no-credit-check", ["prefetch_admission", ""], "covered = open_held_q & (free_held_q >= ((needed) & 7'h7f));", "(free_held_q >= ((needed) & 7'h7f))", "1'b1"),
    mutant("unused-credit-is-lost", ["place_credit", ""], "unused_d = need - took;", "need - took", "4'd0"),
    mutant("prefetched-buffers-do-not-return", ["manager", "ManagerState_Look:"], "if (empty) begin", "empty", "1'b1"),
    // Bytes.
    mutant("strobes-from-lane-0", ["mover_align", ""], "from_start = ones << a_shape_q[(64'h6)+:(6)];", "ones << a_shape_q[(64'h6)+:(6)]", "ones"),
    mutant("replay-not-realigned", ["mover_align", ""], "above = ones << a_shift;", "ones << a_shift", "ones"),
    mutant("kept-beats-are-not-replayed", ["mover_gather", ""], "if (steps_m_source == replay_code) begin", "steps_m_source == replay_code", "1'b0"),
    // Interrupts and timers.
    mutant("no-re-arm-compare", ["verdict", "VisitKind_Consumer:"], "fires = on & tells;", "on & tells", "1'b0"),
    mutant("fault-is-not-told-at-the-stop", ["verdict", "VisitKind_Stop:"], "fires = able & tells;", "able & tells", "able & some"),
    mutant("fault-is-not-told-at-re-arm", ["verdict", "VisitKind_Consumer:"], "fires = on & tells;", "on & tells", "on & some"),
    mutant("expiry-does-not-flush", ["verdict", ""], "if (able & enough) begin", "enough", "(enough | (was[(64'h1)+:(1)] & over))"),
    mutant("tick-is-no-tick", ["tokens", ""], "kind_d = tick;", "tick", "flush_old"),
    // Run state.
    mutant("running-falls-before-all-is-visible", ["manager", "ManagerState_AwaitLast:"], "if (flushed) begin", "flushed", "1'b1"),
    mutant("reset-does-not-wait-for-bursts", ["dma_guard_account", ""], "resets_d = ~idle;", "~idle", "1'b0"),
];

/// Where the line of a break is.
fn find(lines: &[String], mutant: &Mutant) -> usize {
    let Mutant { name, module, behind, line, .. } = mutant;
    let head = format!("module groove_nic_{module}(");
    let begin = lines.iter().position(|l| l.starts_with(&head));
    let begin = begin.unwrap_or_else(|| panic!("{name}: no module {module}"));
    let length = lines[begin..].iter().position(|l| l == "endmodule").expect("modules end");
    let body = &lines[begin..begin + length];
    let skip = match *behind {
        "" => 0,
        behind => body.iter().position(|l| l.trim() == behind).expect("the line in front"),
    };
    let mut found = (skip..length).filter(|i| body[*i].trim() == *line);
    let first = found.next().unwrap_or_else(|| panic!("{name}: its line is not in {module}"));
    assert!(!behind.is_empty() || found.next().is_none(), "{name}: its line is there twice");
    begin + first
}

/// Puts every break into the text, each behind its number, from 1.
fn with_breaks(verilog: &str) -> String {
    let unbroken: Vec<String> = verilog.lines().map(str::to_owned).collect();
    let mut lines = unbroken.clone();
    for (index, mutant) in MUTANTS.iter().enumerate() {
        let Mutant { name, from, to, .. } = mutant;
        let at = find(&unbroken, mutant);
        assert_eq!(unbroken[at].matches(from).count(), 1, "{name}: what it replaces");
        let either = format!("((groove_nic.mutant == 8'd{}) ? ({to}) : ({from}))", index + 1);
        // With several breaks of one line, the right text is the last.
        let place = lines[at].rfind(from).expect("it is there");
        lines[at].replace_range(place..place + from.len(), &either);
    }
    let text = lines.join("\n");
    // The top is the last module.
    let end = text.rfind("endmodule").expect("the text has modules");
    let number = format!(
        "    reg [7:0] mutant;\n    initial mutant = 8'd0;\n    always @(posedge sys_clk)\n\
         \x20       if (core_bus_valid & core_bus_write & (core_bus_addr == 16'h{NUMBER_ADDRESS:x}))\n\
         \x20           mutant <= core_bus_wdata[7:0];\n"
    );
    format!("{}{number}{}", &text[..end], &text[end..])
}

/// The hardware with one break on.
struct Broken {
    verilog: &'static str,
    number: usize,
}

/// It, among its surroundings.
#[derive(Clone)]
struct Bed(Arc<VerilatedDevice>);

impl Testbed for Bed {
    fn device(&self) -> Arc<dyn Device> {
        Arc::clone(&self.0) as Arc<dyn Device>
    }

    fn inject(&self, bytes: &[u8], bad_fcs: bool) {
        self.0.inject(bytes, bad_fcs).unwrap();
    }

    fn token(&self, queue: u8, kind: TokenKind) {
        self.0.token(queue, kind).unwrap();
    }

    fn tick(&self, cycles: u64) {
        self.0.tick(cycles).unwrap();
    }

    fn settle(&self) {
        self.0.settle().unwrap();
    }

    fn journal(&self) -> Vec<Step> {
        self.0.take_journal().unwrap()
    }
}

impl Broken {
    /// Opened by the driver; memory answers after so many cycles.
    fn open(&self, seed: u64, latency: [u32; 2], settings: &Settings) -> (Bed, Bench) {
        let run = NicConfig {
            seed,
            stall_percent: if seed % 3 == 1 { 30 } else { 0 },
            latency_cycles: latency[0]..=latency[1],
            watchdog_cycles: 20_000,
            ..NicConfig::default()
        };
        let build = BuildOptions { width: WIDTH, queues: QUEUES, ..BuildOptions::default() };
        let options = Options { build, run, clock: Clock::Stepped };
        let device = VerilatedDevice::from_verilog(self.verilog, &options).unwrap();
        device.write32(REGISTERS, NUMBER_ADDRESS, self.number as u32).unwrap();
        let bed = Bed(Arc::new(device));
        let bench = Bench::with(Arc::new(bed.clone()), settings, |device| device);
        (bed, bench)
    }
}

/// Disables the queues, within bounded time; the driver would wait for longer. When a queue has
/// stopped, every buffer that it fetched has come back, visibly.
fn disable(bed: &Bed, bench: Bench) -> Bench {
    for queue in 0..bench.receivers.len() {
        let offset = |register| queue_offset(queue, register) as u64;
        let read = |register| bed.0.read32(REGISTERS, offset(register)).unwrap();
        bed.0.write32(REGISTERS, offset(&QUEUE_CONTROL), 0).unwrap();
        let stops = (0..STOP_TICKS).any(|_| {
            bed.tick(100);
            read(&QUEUE_STATUS) & 1 == 0
        });
        let [produced, fetched] = [&COMPLETION_PRODUCER, &FREE_CONSUMER].map(read);
        if !stops || produced != fetched {
            // Its driver would try to stop it once more.
            std::mem::forget(bench);
            panic!("queue {queue} stops: {stops}; {fetched} fetched, {produced} came back");
        }
    }
    bench
}

/// Takes what is visible now.
fn take(bench: &mut Bench, queue: usize) -> usize {
    let mut taken = Vec::new();
    bench.receivers[queue].poll(64, |delivery| taken.push(delivery)).unwrap();
    taken.iter().for_each(|delivery| bench.took(delivery));
    taken.len()
}

/// A frame of its own.
fn alone(number: usize, payload_len: usize) -> Vec<u8> {
    encode(udp(v4(number, payload_len)), |_| {})
}

/// Segment of a flow that merges.
fn segment(flow: u16, number: usize, payload_len: usize) -> Vec<u8> {
    encode(v4(number, payload_len), |packet| tcp(packet).source = 1500 + flow)
}

/// Random traffic into the smallest pools, polled at any time.
fn traffic(broken: &Broken, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut traffic = Traffic::new(seed, QUEUES as u8, Scope::Hardware);
    let mut settings = settings(traffic.config());
    (settings.ring, settings.buffers, settings.buffer_bytes) = (16, 16, 2048);
    settings.split = seed.is_multiple_of(2);
    settings.hold_time = 1;
    let (bed, mut bench) = broken.open(seed, [1, 300], &settings);
    for item in traffic.by_ref().take(150) {
        bench.item(&item);
        bed.tick(rng.below(120) as u64);
        for queue in 0..QUEUES {
            if rng.chance(400) {
                take(&mut bench, queue);
            }
        }
    }
    disable(&bed, bench).finish();
}

/// A completion comes at every cycle around the last look and the acknowledgement behind it.
fn waits(broken: &Broken, seed: u64) {
    let mut settings = small(1, 2048, true);
    (settings.moderation_time, settings.hold_time) = (0, 0);
    let (bed, mut bench) = broken.open(3 * seed, [10, 10], &settings);
    let acknowledge = queue_offset(0, &COMPLETION_CONSUMER) as u64;
    let (mut early, mut late) = (0, 0);
    for delay in 0..300 {
        bench.inject(&alone(delay, 30), false);
        bed.tick(delay as u64);
        let before = bed.0.stats().messages;
        if take(&mut bench, 0) == 1 {
            early += 1;
            continue;
        }
        let consumed = bench.receivers[0].stats().completions;
        bed.0.write32(REGISTERS, acknowledge, consumed as u32).unwrap();
        let woken = (0..40).any(|_| {
            bed.tick(20);
            bed.0.stats().messages > before
        });
        assert!(woken, "delay {delay}: nobody wakes");
        assert_eq!(take(&mut bench, 0), 1);
        late += 1;
    }
    assert!(early > 20 && late > 20, "{early} before the wait, {late} behind it");
    disable(&bed, bench).finish();
}

/// What is there at an acknowledgement is signalled at once, whatever the count.
fn acknowledges(broken: &Broken, seed: u64) {
    let mut settings = small(1, 2048, true);
    (settings.moderation_count, settings.moderation_time, settings.hold_time) = (2, 0, 0);
    let (bed, mut bench) = broken.open(3 * seed, [10, 10], &settings);
    let acknowledge = queue_offset(0, &COMPLETION_CONSUMER) as u64;
    for number in 0..3 {
        bench.inject(&alone(number, 30), false);
        bed.settle();
        let before = bed.0.stats().messages;
        let consumed = bench.receivers[0].stats().completions;
        bed.0.write32(REGISTERS, acknowledge, consumed as u32).unwrap();
        bed.tick(200);
        assert_eq!(bed.0.stats().messages, before + 1, "frame {number}");
        assert_eq!(take(&mut bench, 0), 1);
    }
    disable(&bed, bench).finish();
}

/// The moderation time is over: what is held comes before the interrupt.
fn expiry(broken: &Broken, seed: u64) {
    let mut settings = small(1, 2048, true);
    (settings.moderation_count, settings.moderation_time, settings.hold_time) = (100, 4, 0);
    let (bed, mut bench) = broken.open(3 * seed, [5, 5], &settings);
    for round in 0..4 {
        bench.inject(&segment(0, round, 1000), false);
        bench.inject(&alone(round, 50), false);
        let before = bed.0.stats().messages;
        while bed.0.stats().messages == before {
            assert!(bed.0.cycles() < 100_000, "no interrupt");
            bed.tick(1);
        }
        assert_eq!(take(&mut bench, 0), 2, "round {round}");
        bench.receivers[0].wait(Duration::ZERO).unwrap();
    }
    disable(&bed, bench).finish();
}

/// The hold time is over after two ticks.
fn hold(broken: &Broken, seed: u64) {
    let mut settings = small(1, 2048, true);
    settings.hold_time = 1;
    let (bed, mut bench) = broken.open(3 * seed, [5, 5], &settings);
    for round in 0..3 {
        bench.inject(&segment(0, round, 1000), false);
        bed.tick(3_500);
        assert_eq!(take(&mut bench, 0), 1, "round {round}");
    }
    disable(&bed, bench).finish();
}

/// Stops in the middle of traffic; from then on nothing is written. Starts again.
fn stops(broken: &Broken, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut settings = small(1, 2048, seed.is_multiple_of(2));
    (settings.ring, settings.buffers) = (32, 32);
    let (bed, mut bench) = broken.open(seed, [100, 400], &settings);
    for _ in 0..6 {
        for number in 0..rng.range(2, 20) {
            let flow = rng.below(3) as u16;
            bench.inject(&segment(flow, number, 1400), false);
        }
        bed.tick(rng.below(1_500) as u64);
        bench = disable(&bed, bench);
        let mut taken = Vec::new();
        bench.receivers[0].stop(|delivery| taken.push(delivery)).unwrap();
        let writes = bed.0.stats().writes;
        bed.tick(5_000);
        assert_eq!(bed.0.stats().writes, writes, "writes of a queue that has stopped");
        taken.iter().for_each(|delivery| bench.took(delivery));
        drop(taken);
        bench.receivers[0].start().unwrap();
    }
    disable(&bed, bench).finish();
}

/// A DMA error with nothing unsignalled: descriptors that are nowhere.
fn faults(broken: &Broken, seed: u64) {
    let (bed, mut bench) = broken.open(seed, [0, 100], &small(1, 2048, true));
    bench.receivers[0].stop(|_| {}).unwrap();
    let write = |register, value| {
        bed.0.write32(REGISTERS, queue_offset(0, register) as u64, value).unwrap();
    };
    write(&FREE_BASE_HIGH, 0x7777);
    write(&QUEUE_CONTROL, 5);
    bed.tick(1_000);
    let before = bed.0.stats().messages;
    write(&FREE_PRODUCER, 4);
    bed.tick(3_000);
    assert_eq!(bed.0.stats().messages, before + 1, "when it has stopped");
    write(&COMPLETION_CONSUMER, 0);
    bed.tick(1_000);
    assert_eq!(bed.0.stats().messages, before + 2, "at the re-arm");
    write(&QUEUE_CONTROL, 0);
}

/// A function-level reset in the middle of bursts.
fn resets(broken: &Broken, seed: u64) {
    let mut rng = Rng::new(seed);
    let (bed, mut bench) = broken.open(seed, [200, 400], &small(1, 2048, true));
    for number in 0..20 {
        bench.inject(&alone(number, 1000), false);
    }
    bed.tick(rng.below(1_500) as u64);
    bed.0.reset().unwrap();
}

type Scenario = fn(&Broken, u64);

const SCENARIOS: [(&str, Scenario, u64); 8] = [
    ("traffic", traffic, 3),
    ("waits", waits, 1),
    ("acknowledges", acknowledges, 1),
    ("expiry", expiry, 1),
    ("hold", hold, 1),
    ("stops", stops, 3),
    ("faults", faults, 1),
    ("resets", resets, 4),
];

/// What fails first under a break.
fn failure(broken: &Broken) -> Option<String> {
    SCENARIOS.iter().find_map(|(name, scenario, seeds)| {
        (0..*seeds).find_map(|seed| {
            let caught = catch_unwind(AssertUnwindSafe(|| scenario(broken, seed)));
            caught.err().map(|_| format!("{name}, seed {seed}"))
        })
    })
}

#[test]
fn every_break_is_caught() {
    let parameters = Parameters { width: WIDTH, queues: QUEUES, ..Parameters::default() };
    let design = nic::emit(&parameters).expect("these parameters are possible");
    let verilog: &'static str = with_breaks(&design.verilog).leak();
    for (_, scenario, seeds) in SCENARIOS {
        (0..seeds).for_each(|seed| scenario(&Broken { verilog, number: 0 }, seed));
    }
    let mut missed = Vec::new();
    for (index, mutant) in MUTANTS.iter().enumerate() {
        match failure(&Broken { verilog, number: index + 1 }) {
            Some(how) => println!("{}: caught by {how}", mutant.name),
            None => missed.push(mutant.name),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
    assert!(MUTANTS.len() >= 12);
}
