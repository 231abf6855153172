//! Interrupt vectors under Verilator against the model of a vector.

mod rtl_support;

use std::collections::VecDeque;

use groove_hdl::blocks::interrupts::{Interrupts, VisitKind};
use groove_hdl::emit::emit;
use groove_spec::nic::{MODERATION, QUEUE_CONTROL};
use groove_verilator::{Dut, Toolbox};
use rtl_support::{Rng, set, start};

const QUEUES: usize = 32;

struct Bench {
    dut: Dut,
    rng: Rng,
    produced: [u16; QUEUES],
    running: u32,
    closing: u32,
    fault: u32,
    /// Percent of cycles in which the host takes no vector.
    stall: u8,
    /// Percent of cycles in which `produced` is somebody else's.
    hold: u8,
    /// A completion comes without its event: as if the FIFO had had no room.
    silent: bool,
    completed: Option<usize>,
    flushed: VecDeque<usize>,
    visit: Option<(VisitKind, usize, u16)>,
    stop: Option<usize>,
    vectors: Vec<(u64, usize)>,
    expiries: Vec<(u64, usize)>,
}

fn read(dut: &mut Dut, name: &str) -> u64 {
    dut.settle().expect("runs");
    dut.read(dut.port(name).expect("an output"))
}

impl Bench {
    fn new(seed: u64) -> Self {
        let mut bench = Self {
            dut: start(&emit("interrupts", Interrupts::default())),
            rng: Rng(seed),
            produced: [0; QUEUES],
            running: 0,
            closing: 0,
            fault: 0,
            stall: 0,
            hold: 0,
            silent: false,
            completed: None,
            flushed: VecDeque::new(),
            visit: None,
            stop: None,
            vectors: Vec::new(),
            expiries: Vec::new(),
        };
        set(&mut bench.dut, "clear", 1);
        for queue in 0..QUEUES {
            set(&mut bench.dut, "set_queue", queue as u64);
            bench.cycle();
        }
        set(&mut bench.dut, "clear", 0);
        bench
    }

    /// A register of a queue is written.
    fn put(&mut self, queue: usize, offset: usize, word: u32) {
        set(&mut self.dut, "set_valid", 1);
        set(&mut self.dut, "set_queue", queue as u64);
        set(&mut self.dut, "set_number", offset as u64 / 4);
        set(&mut self.dut, "set_word", word.into());
        self.cycle();
        set(&mut self.dut, "set_valid", 0);
    }

    /// Settings of a queue that starts.
    fn open(&mut self, queue: usize, count: u32, time: u32) {
        self.put(queue, MODERATION.offset, time << 16 | count);
        self.put(queue, QUEUE_CONTROL.offset, 5);
        self.produced[queue] = 0;
        self.visit(VisitKind::Start, queue, 0);
        self.running |= 1 << queue;
    }

    fn visit(&mut self, kind: VisitKind, queue: usize, value: u16) {
        self.visit = Some((kind, queue, value));
        for _ in 0..50 {
            self.cycle();
            if self.visit.is_none() {
                return;
            }
        }
        panic!("nobody takes the visit");
    }

    fn cycle(&mut self) {
        let dut = &mut self.dut;
        let now = dut.cycle();
        let event = self.completed.take();
        set(dut, "completed_valid", (event.is_some() && !self.silent).into());
        set(dut, "completed_queue", event.unwrap_or_default() as u64);
        let flushed = self.flushed.pop_front();
        set(dut, "flushed_valid", flushed.is_some().into());
        set(dut, "flushed_queue", flushed.unwrap_or_default() as u64);
        let (kind, queue, value) = self.visit.unwrap_or((VisitKind::Touch, 0, 0));
        set(dut, "visit_valid", self.visit.is_some().into());
        set(dut, "visit_kind", kind as u64);
        set(dut, "visit_queue", queue as u64);
        set(dut, "visit_value", value.into());
        set(dut, "stop_valid", self.stop.is_some().into());
        set(dut, "stop_queue", self.stop.unwrap_or_default() as u64);
        set(dut, "running", self.running.into());
        set(dut, "closing", self.closing.into());
        set(dut, "fault", self.fault.into());
        let held = self.rng.chance(self.hold);
        set(dut, "hold", held.into());
        let takes = !self.rng.chance(self.stall);
        set(dut, "msix_ready", takes.into());
        set(dut, "expire_ready", 1);
        let queue = read(dut, "produced_queue") as usize;
        // What is somebody else's is anything.
        let produced = if held { 0x7777 } else { self.produced[queue] };
        set(dut, "produced", produced.into());
        if read(dut, "msix_valid") == 1 && takes {
            self.vectors.push((now, read(dut, "msix_vector") as usize));
        }
        if read(dut, "expire_valid") == 1 {
            self.expiries.push((now, read(dut, "expire_queue") as usize));
        }
        if read(dut, "visit_ready") == 1 {
            self.visit = None;
        }
        if self.stop.is_some() && read(dut, "stop_ready") == 1 {
            self.stop = None;
        }
        dut.edge().expect("runs");
        if let Some(queue) = event {
            self.produced[queue] = self.produced[queue].wrapping_add(1);
        }
    }

    fn cycles(&mut self, count: usize) {
        (0..count).for_each(|_| self.cycle());
    }

    /// Completions, one per cycle.
    fn complete(&mut self, queue: usize, count: usize) {
        for _ in 0..count {
            self.completed = Some(queue);
            self.cycle();
        }
    }

    fn taken(&mut self) -> usize {
        std::mem::take(&mut self.vectors).len()
    }
}

#[test]
fn lint_is_clean() {
    let design = emit("interrupts", Interrupts::default());
    // Widening without a cast, states that a module does not name, outputs that nobody needs.
    let waived = ["WIDTH", "UNUSEDSIGNAL", "UNUSEDPARAM"];
    let warnings =
        Toolbox::from_env().lint(&design.top, &design.verilog, &waived).expect("verilator lints");
    assert!(warnings.is_empty(), "{warnings:#?}");
}

#[test]
fn fires_once_until_re_armed() {
    let mut bench = Bench::new(1);
    bench.open(3, 1, 0);
    bench.cycles(200);
    assert_eq!(bench.taken(), 0, "nothing is there");
    bench.complete(3, 1);
    bench.cycles(12);
    assert_eq!(bench.vectors.len(), 1, "within 12 cycles");
    bench.complete(3, 5);
    bench.cycles(300);
    assert_eq!(bench.vectors.iter().map(|v| v.1).collect::<Vec<_>>(), [3]);
    bench.taken();
    bench.visit(VisitKind::Consumer, 3, 1);
    bench.cycles(8);
    assert_eq!(bench.taken(), 1, "five newer ones");
    bench.visit(VisitKind::Consumer, 3, 6);
    bench.cycles(300);
    assert_eq!(bench.taken(), 0, "all are known");
    bench.complete(3, 1);
    bench.cycles(300);
    assert_eq!(bench.taken(), 1);
}

/// The host wakes, looks at what is there, and acknowledges exactly that; the device completes one
/// more, at every cycle around it, at every position of the scan, with its event and without.
#[test]
fn no_wake_up_is_lost() {
    let mut bench = Bench::new(2);
    bench.open(9, 1, 0);
    bench.hold = 20;
    let mut consumed = 0;
    for silent in [false, true] {
        bench.silent = silent;
        for phase in 0..70 {
            for at in 0..12 {
                let seen = bench.produced[9];
                bench.cycles(phase);
                assert_eq!(bench.taken(), 0, "nothing new");
                bench.visit = Some((VisitKind::Consumer, 9, seen));
                consumed = seen;
                for cycle in 0..12 {
                    if cycle == at {
                        bench.completed = Some(9);
                    }
                    bench.cycle();
                }
                bench.cycles(250);
                assert_eq!(bench.taken(), 1, "silent {silent}, phase {phase}, completion at {at}");
                let all = bench.produced[9];
                bench.visit(VisitKind::Consumer, 9, all);
                bench.cycles(3);
            }
        }
    }
    assert_ne!(consumed, 0);
}

#[test]
fn waits_for_the_count() {
    let mut bench = Bench::new(3);
    bench.open(0, 5, 0);
    for start in [0u16, 65_530] {
        bench.produced[0] = start;
        bench.visit(VisitKind::Consumer, 0, start);
        for i in 1..=5 {
            bench.complete(0, 1);
            bench.cycles(250);
            assert_eq!(bench.taken(), usize::from(i == 5), "completion {i} from {start}");
        }
    }
    // A count of 0 acts as 1, and a lower one acts on what waits.
    bench.put(0, MODERATION.offset, 200);
    bench.visit(VisitKind::Consumer, 0, 65_535);
    let now = bench.produced[0];
    bench.visit(VisitKind::Consumer, 0, now);
    bench.cycles(20);
    bench.taken();
    bench.visit(VisitKind::Consumer, 0, now);
    bench.complete(0, 1);
    bench.cycles(250);
    assert_eq!(bench.taken(), 0);
    bench.put(0, MODERATION.offset, 0);
    bench.cycles(70);
    assert_eq!(bench.taken(), 1);
}

/// Time: exact in its unit, at most 128 cycles late; the flush comes first.
#[test]
fn waits_for_the_time_and_flushes_first() {
    let mut bench = Bench::new(4);
    bench.open(7, 100, 0);
    for time in [1u32, 2, 3, 17] {
        bench.put(7, MODERATION.offset, time << 16 | 100);
        let now = bench.produced[7];
        bench.visit(VisitKind::Consumer, 7, now);
        bench.cycles(5 + time as usize);
        bench.expiries.clear();
        bench.taken();
        let begun = bench.dut.cycle();
        bench.complete(7, 1);
        bench.cycles(64 * time as usize + 140);
        let at: Vec<u64> = bench.expiries.iter().map(|e| e.0 - begun).collect();
        assert_eq!(at.len(), 1, "one flush at a time: {at:?}");
        let due = 64 * u64::from(time);
        assert!((due..due + 140).contains(&at[0]), "time {time}: after {} cycles", at[0]);
        assert_eq!(bench.taken(), 0, "the flush is not through");
        bench.complete(7, 2);
        bench.flushed.push_back(7);
        bench.cycles(10);
        assert_eq!(bench.taken(), 1, "signals at once");
        bench.cycles(500);
        assert_eq!(
            (bench.taken(), bench.expiries.len()),
            (0, 1),
            "disarmed, and nothing unsignalled"
        );
    }
    // Acknowledged before the flush is through: nothing is left to signal.
    let now = bench.produced[7];
    bench.visit(VisitKind::Consumer, 7, now);
    bench.complete(7, 1);
    bench.cycles(64 * 17 + 140);
    assert_eq!(bench.expiries.len(), 2);
    let now = bench.produced[7];
    bench.visit(VisitKind::Consumer, 7, now);
    bench.flushed.push_back(7);
    bench.cycles(300);
    assert_eq!(bench.taken(), 0);
    // Time off: waits for ever. Switched on: what has waited since is over at once.
    bench.put(7, MODERATION.offset, 100);
    bench.complete(7, 1);
    bench.cycles(3_000);
    assert_eq!((bench.taken(), bench.expiries.len()), (0, 2));
    bench.put(7, MODERATION.offset, 10 << 16 | 100);
    bench.cycles(140);
    assert_eq!(bench.expiries.len(), 3);
    // A queue that stops asks for nothing, and signals when it has stopped.
    bench.flushed.push_back(7);
    bench.cycles(20);
    assert_eq!(bench.taken(), 1);
    let now = bench.produced[7];
    bench.visit(VisitKind::Consumer, 7, now);
    bench.complete(7, 1);
    bench.closing = 1 << 7;
    bench.cycles(2_000);
    assert_eq!((bench.taken(), bench.expiries.len()), (0, 3));
    bench.stop = Some(7);
    bench.cycles(12);
    assert_eq!(bench.taken(), 1);
}

/// Longest time, beyond what `since` can hold, while the vector is off.
#[test]
fn an_old_completion_does_not_become_young() {
    let mut bench = Bench::new(5);
    bench.open(1, 100, 0xffff);
    bench.put(1, QUEUE_CONTROL.offset, 1);
    bench.complete(1, 1);
    // A bit more than 2^24 cycles, in which the other inputs stay.
    bench.cycles(4);
    for _ in 0..(1 << 24) + 1_000 {
        bench.dut.clock().expect("runs");
    }
    bench.put(1, QUEUE_CONTROL.offset, 5);
    bench.cycles(140);
    assert_eq!(bench.expiries.len(), 1);
}

#[test]
fn switching_on_signals_what_waits() {
    let mut bench = Bench::new(6);
    bench.open(2, 1, 0);
    bench.put(2, QUEUE_CONTROL.offset, 1);
    bench.complete(2, 3);
    bench.cycles(300);
    bench.visit(VisitKind::Consumer, 2, 1);
    bench.cycles(300);
    assert_eq!(bench.taken(), 0, "off is silent");
    bench.put(2, QUEUE_CONTROL.offset, 5);
    bench.cycles(70);
    assert_eq!(bench.taken(), 1);
    // Of a queue that does not run, too, when the host writes QUEUE_CONTROL.
    bench.put(2, QUEUE_CONTROL.offset, 0);
    bench.visit(VisitKind::Consumer, 2, 1);
    bench.running = 0;
    bench.put(2, QUEUE_CONTROL.offset, 4);
    bench.cycles(300);
    assert_eq!(bench.taken(), 0);
    bench.visit(VisitKind::Control, 2, 0);
    bench.cycles(10);
    assert_eq!(bench.taken(), 1);
}

/// A DMA error is told when its queue has stopped, though nothing is unsignalled; who is not armed
/// then learns of it when he arms, and each time from there on until the queue starts.
#[test]
fn a_fault_is_told() {
    let mut bench = Bench::new(10);
    for armed in [true, false] {
        bench.open(4, 100, 0);
        bench.complete(4, 100);
        bench.cycles(100);
        assert_eq!(bench.taken(), 1);
        if armed {
            bench.visit(VisitKind::Consumer, 4, 100);
            bench.cycles(8);
        }
        bench.fault = 1 << 4;
        bench.closing = 1 << 4;
        bench.cycles(300);
        assert_eq!(bench.taken(), 0, "it has not stopped");
        bench.stop = Some(4);
        bench.cycles(20);
        (bench.running, bench.closing) = (0, 0);
        bench.cycles(300);
        assert_eq!(bench.taken(), armed.into());
        for _ in 0..2 {
            bench.visit(VisitKind::Consumer, 4, 100);
            bench.cycles(300);
            assert_eq!(bench.taken(), 1, "at each re-arm");
        }
        // Off is silent; on tells it.
        bench.put(4, QUEUE_CONTROL.offset, 1);
        bench.visit(VisitKind::Consumer, 4, 100);
        bench.cycles(300);
        assert_eq!(bench.taken(), 0);
        bench.put(4, QUEUE_CONTROL.offset, 5);
        bench.visit(VisitKind::Control, 4, 0);
        bench.cycles(20);
        assert_eq!(bench.taken(), 1);
        bench.fault = 0;
        bench.cycles(8);
        bench.visit(VisitKind::Consumer, 4, 100);
        bench.cycles(300);
        assert_eq!(bench.taken(), 0, "no fault any more");
    }
}

#[test]
fn back_pressure_loses_no_vector() {
    let mut bench = Bench::new(7);
    for queue in 0..QUEUES {
        bench.open(queue, 1, 0);
    }
    for round in 0..20 {
        bench.stall = 100;
        // Each fires, most of them several times.
        for _ in 0..100 {
            let queue = bench.rng.below(QUEUES);
            bench.complete(queue, 1);
            bench.cycles(6);
            let known = bench.produced[queue].wrapping_sub(1);
            bench.visit(VisitKind::Consumer, queue, known);
        }
        for queue in 0..QUEUES {
            bench.complete(queue, 1);
            bench.cycles(70);
            let known = bench.produced[queue].wrapping_sub(1);
            bench.visit(VisitKind::Consumer, queue, known);
        }
        bench.cycles(20);
        assert!(bench.vectors.is_empty());
        bench.stall = 70;
        bench.cycles(400);
        let mut vectors: Vec<usize> =
            std::mem::take(&mut bench.vectors).iter().map(|v| v.1).collect();
        vectors.sort_unstable();
        assert_eq!(vectors, (0..QUEUES).collect::<Vec<_>>(), "round {round}: each once");
        for queue in 0..QUEUES {
            let all = bench.produced[queue];
            bench.visit(VisitKind::Consumer, queue, all);
        }
    }
}

/// The scan meets every queue in time, whatever else there is to do.
#[test]
fn the_scan_is_bounded() {
    let mut bench = Bench::new(8);
    bench.open(0, 1, 0);
    bench.open(31, 1, 0);
    let mut longest = 0;
    for i in 0..300 {
        let now = bench.produced[31];
        bench.visit(VisitKind::Consumer, 31, now);
        bench.cycles(bench.rng.clone().below(70) + i % 7);
        bench.taken();
        // Without an event; queue 0 has one in every cycle, the host writes in every fourth.
        bench.produced[31] = now.wrapping_add(1);
        let begun = bench.dut.cycle();
        let mut took = None;
        for cycle in 0..300 {
            bench.completed = Some(0);
            if cycle % 4 == 0 {
                bench.visit = Some((VisitKind::Consumer, 5, 0));
            }
            bench.cycle();
            if let Some(hit) = bench.vectors.iter().find(|v| v.1 == 31) {
                took = Some(hit.0 - begun);
                break;
            }
        }
        longest = longest.max(took.expect("within 300 cycles"));
        bench.visit = None;
        bench.taken();
    }
    assert!(longest > 100, "{longest}: the scan was not under pressure");
    assert!(longest <= 270, "{longest} cycles");
}

/// The model of a vector, as the software device has it.
#[derive(Clone, Copy)]
struct Model {
    armed: bool,
    known: u16,
}

/// Slow random events, each with time to settle: the vector fires exactly when the model does.
#[test]
fn random_events_equal_the_model() {
    let mut bench = Bench::new(9);
    let mut models = [Model { armed: true, known: 0 }; QUEUES];
    let counts: [u32; QUEUES] = std::array::from_fn(|q| (q as u32 * 3) % 11);
    for (queue, count) in counts.iter().enumerate() {
        bench.open(queue, *count, 0);
    }
    bench.hold = 30;
    let mut fired = [0; QUEUES];
    for step in 0..6_000 {
        let queue = bench.rng.below(QUEUES);
        let model = &mut models[queue];
        let fires;
        if bench.rng.chance(65) {
            let burst = 1 + bench.rng.below(3);
            let mut any = false;
            for _ in 0..burst {
                bench.completed = Some(queue);
                bench.cycle();
                // Let it settle: each completion is seen by itself.
                bench.cycles(30);
                let new = bench.produced[queue].wrapping_sub(model.known);
                if model.armed && u32::from(new) >= counts[queue].max(1) {
                    any = true;
                    *model = Model { armed: false, known: bench.produced[queue] };
                }
            }
            fires = any;
        } else {
            let back = bench.rng.below(4) as u16;
            let consumed =
                bench.produced[queue].wrapping_sub(back * u16::from(bench.rng.chance(50)));
            *model = Model { armed: true, known: consumed };
            fires = consumed != bench.produced[queue];
            if fires {
                *model = Model { armed: false, known: bench.produced[queue] };
            }
            bench.visit(VisitKind::Consumer, queue, consumed);
        }
        bench.cycles(20);
        fired[queue] += usize::from(fires);
        let vectors: Vec<usize> = std::mem::take(&mut bench.vectors).iter().map(|v| v.1).collect();
        assert_eq!(vectors, vec![queue; fires.into()], "step {step}, queue {queue}");
    }
    assert!(fired.iter().all(|f| *f > 5), "{fired:?}");
}
