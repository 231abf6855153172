//! Descriptors fetched ahead, under Verilator: against queues of plain values.

mod rtl_support;

use std::collections::VecDeque;

use groove_hdl::blocks::prefetch::Prefetch;
use groove_hdl::blocks::round_robin::RoundRobin;
use groove_hdl::emit::{Design, emit};
use groove_spec::nic::{
    BUFFER_SIZE, DESCRIPTOR_BYTES, FREE_BASE_HIGH, FREE_BASE_LOW, QUEUE_CONTROL, RING_SIZES,
};
use groove_verilator::{Dut, Toolbox};
use rtl_support::{Rng, pack, set, start, words};

const QUEUES: usize = 32;
const DEPTH: u64 = 64;
const GROUP_BYTES: u64 = 64;

/// A queue as its driver and its frames see it.
#[derive(Default)]
struct Queue {
    base: u64,
    log2: u32,
    size: u64,
    running: bool,
    closing: bool,
    failed: bool,
    /// Failed reads that came back.
    bad: u64,
    posted: u16,
    /// Posted and not taken, oldest first.
    expected: VecDeque<(u16, u64)>,
    /// By slot.
    ring: Vec<(u16, u64)>,
    reserved: i64,
    unused: i64,
    popped: i64,
    /// Frames that have buffers to take.
    frames: usize,
}

impl Queue {
    fn entries(&self) -> u64 {
        1 << self.log2
    }

    fn free(&self, fetched: u64) -> i64 {
        fetched as i64 - (self.reserved - self.unused)
    }
}

/// What takes buffers: a frame's operation, or the draining of one buffer.
struct Taker {
    queue: usize,
    used: u64,
    credit: i64,
}

/// A read under way.
struct Read {
    queue: usize,
    address: u64,
    from: u64,
    beat: usize,
    bad: bool,
}

#[derive(Clone, Copy, Default)]
struct Pace {
    stall: u8,
    latency: usize,
    bad: u8,
    close: u8,
}

#[derive(Default)]
struct Seen {
    takes: u64,
    refusals: u64,
    pops: u64,
    errors: u64,
    restarts: u64,
    reads_max: usize,
    stored_max: u64,
    wraps: u64,
}

struct Bench {
    dut: Dut,
    rng: Rng,
    width_bytes: usize,
    pace: Pace,
    queues: Vec<Queue>,
    settings: VecDeque<(usize, usize, u64)>,
    starting: Option<usize>,
    /// Cycle of the last doorbell.
    rung: u64,
    doorbells: VecDeque<(usize, u16)>,
    reads: VecDeque<Read>,
    question: Option<(usize, u64)>,
    /// What the answer must be in this cycle, from the cycle before.
    answer: Option<bool>,
    takers: VecDeque<Taker>,
    /// The oldest taker has its turn in this cycle; its buffer is shown.
    taking: bool,
    shown: bool,
    seen: Seen,
    /// Queues open in this cycle.
    open: u64,
    /// A read is taken in this cycle, if one is asked for.
    ready: bool,
    /// Nothing new begins.
    quiet: bool,
    /// The driver does as it likes.
    auto: bool,
}

fn need(bytes: u64, size: u64) -> u64 {
    1 + bytes.div_ceil(size)
}

impl Bench {
    fn new(design: &Design, width_bytes: usize, seed: u64, pace: Pace) -> Self {
        let mut dut = start(design);
        for queue in 0..QUEUES as u64 {
            let bus = pack(&[(1, 1), (0, 1), (queue, 5), (0, 37)]);
            let port = dut.port("setup_bus").expect("a port");
            dut.set_words(port, &bus);
            dut.clock().expect("runs");
        }
        Self {
            dut,
            rng: Rng(seed),
            width_bytes,
            pace,
            queues: (0..QUEUES).map(|_| Queue::default()).collect(),
            settings: VecDeque::new(),
            starting: None,
            rung: 0,
            doorbells: VecDeque::new(),
            reads: VecDeque::new(),
            question: None,
            answer: None,
            takers: VecDeque::new(),
            taking: false,
            shown: false,
            seen: Seen::default(),
            open: 0,
            ready: false,
            quiet: false,
            auto: true,
        }
    }

    /// One queue that is driven by hand, with `count` descriptors posted.
    fn by_hand(seed: u64, pace: Pace, count: usize) -> Self {
        let design = emit("prefetch", Prefetch::<512>::default());
        let mut bench = Self::new(&design, 64, seed, pace);
        (bench.auto, bench.quiet) = (false, true);
        bench.start_queue(0);
        bench.cycles(20);
        bench.append(0, count);
        bench
    }

    fn cycles(&mut self, count: usize) {
        for _ in 0..count {
            self.cycle();
        }
    }

    fn read(&self, name: &str) -> u64 {
        self.dut.read(self.dut.port(name).expect("an output"))
    }

    /// Descriptors fetched, at rest, empty: of a queue, in this cycle.
    fn status(&mut self, queue: usize) -> (u64, bool, bool) {
        set(&mut self.dut, "status_queue", queue as u64);
        self.dut.settle().expect("runs");
        let flag = |name| self.read(name) == 1;
        (self.read("status_fetched"), flag("status_idle"), flag("status_empty"))
    }

    fn start_queue(&mut self, queue: usize) {
        let base = (queue as u64) << 40 | (self.rng.next() & 0xff_ffff_ffc0);
        let log2 = 4 + self.rng.below(4) as u32;
        let size = self.rng.pick(&[2048, 2048, 4096, 9216, 65536]);
        let fresh = || (0xdead, 0xdead_dead);
        self.queues[queue] = Queue {
            base,
            log2,
            size,
            ring: (0..1 << log2).map(|_| fresh()).collect(),
            ..Queue::default()
        };
        for (register, value) in [
            (&FREE_BASE_LOW, base & 0xffff_ffff),
            (&FREE_BASE_HIGH, base >> 32),
            (&RING_SIZES, u64::from(log2)),
            (&BUFFER_SIZE, size),
            (&QUEUE_CONTROL, 1),
        ] {
            self.settings.push_back((queue, register.offset / 4, value));
        }
    }

    /// Posts descriptors as a driver does: never into slots that may be read yet.
    fn post(&mut self, queue: usize) {
        let (fetched, ..) = self.status(queue);
        let entry = &self.queues[queue];
        let waiting = u64::from(entry.posted.wrapping_sub(fetched as u16));
        let room = entry.entries() - waiting;
        let count = self.rng.below(room as usize + 1).min(self.rng.below(20));
        self.append(queue, count);
        if self.rng.chance(10) {
            // Backwards: no ring holds so many.
            let back = 1 + self.rng.below(9) as u16;
            self.doorbells.push_back((queue, (fetched as u16).wrapping_sub(back)));
        }
    }

    fn append(&mut self, queue: usize, count: usize) {
        for _ in 0..count {
            let buffer = (self.rng.next() as u16, self.rng.next() & !63);
            let entry = &mut self.queues[queue];
            let slot = u64::from(entry.posted) % entry.entries();
            entry.ring[slot as usize] = buffer;
            entry.expected.push_back(buffer);
            entry.posted = entry.posted.wrapping_add(1);
            self.seen.wraps += u64::from(slot + 1 == entry.entries());
        }
        self.doorbells.push_back((queue, self.queues[queue].posted));
    }

    /// One random thing that a driver does.
    fn driver(&mut self) {
        let queue = self.rng.below(QUEUES);
        let entry = &self.queues[queue];
        if entry.closing {
            let (_, idle, empty) = self.status(queue);
            if idle && empty && self.queues[queue].frames == 0 {
                let entry = &self.queues[queue];
                assert_eq!(entry.reserved, entry.unused + entry.popped, "all came back");
                self.queues[queue] = Queue::default();
                self.seen.restarts += 1;
            } else if idle && self.queues[queue].frames == 0 {
                self.takers.push_back(Taker { queue, used: 1, credit: -1 });
                self.queues[queue].frames += 1;
            }
        } else if entry.running {
            if entry.failed && self.rng.chance(10) || self.rng.chance(self.pace.close) {
                self.queues[queue].closing = true;
            } else if !self.quiet {
                self.post(queue);
            }
        } else if self.settings.is_empty()
            && self.starting.is_none()
            && self.doorbells.is_empty()
            && !self.quiet
        {
            self.start_queue(queue);
        }
    }

    fn present_setup(&mut self) {
        let step = self.settings.pop_front();
        let (queue, index, data) = step.unwrap_or_default();
        let write = (step.is_some().into(), 1);
        let word = [(0, 1), write, (queue as u64, 5), (index as u64, 5), (data, 32)];
        let bus = self.dut.port("setup_bus").expect("a port");
        self.dut.set_words(bus, &pack(&word));
        // It runs some cycles after its start.
        if let Some(queue) = self.starting.take() {
            self.queues[queue].running = true;
        }
        if step.is_some() && index == QUEUE_CONTROL.offset / 4 {
            self.starting = Some(queue);
        }
        let mask = |of: fn(&Queue) -> bool| {
            self.queues.iter().enumerate().fold(0, |m, (i, q)| m | u64::from(of(q)) << i)
        };
        let (running, closing) = (mask(|q| q.running), mask(|q| q.closing));
        self.open = running & !closing;
        set(&mut self.dut, "running", running);
        set(&mut self.dut, "closing", closing);
        // As fast as the register bus is, at most.
        let may_ring = self.settings.is_empty() && self.dut.cycle() >= self.rung + 3;
        let door = if may_ring { self.doorbells.pop_front() } else { None };
        if door.is_some() {
            self.rung = self.dut.cycle();
        }
        let (queue, index) = door.unwrap_or_default();
        set(&mut self.dut, "doorbell_valid", door.is_some().into());
        set(&mut self.dut, "doorbell_queue", queue as u64);
        set(&mut self.dut, "doorbell_index", index.into());
    }

    /// A beat of the oldest read, if its time has come.
    fn present_memory(&mut self) {
        self.ready = !self.rng.chance(self.pace.stall);
        set(&mut self.dut, "m_arready", self.ready.into());
        let now = self.dut.cycle();
        let valid = self.reads.front().is_some_and(|r| r.beat > 0 || r.from <= now);
        set(&mut self.dut, "m_rvalid", valid.into());
        let Some(read) = self.reads.front() else { return };
        let entry = &self.queues[read.queue];
        let at = read.address - entry.base + (read.beat * self.width_bytes) as u64;
        let byte = |place: u64| {
            let (id, iova) = entry.ring[(place / DESCRIPTOR_BYTES as u64) as usize];
            let mut descriptor = [0x55; DESCRIPTOR_BYTES];
            descriptor[..8].copy_from_slice(&iova.to_le_bytes());
            descriptor[12..14].copy_from_slice(&id.to_le_bytes());
            descriptor[place as usize % DESCRIPTOR_BYTES]
        };
        let bytes: Vec<u8> = (at..at + self.width_bytes as u64).map(byte).collect();
        let last = (read.beat + 1) * self.width_bytes == GROUP_BYTES as usize;
        let data = self.dut.port("m_rdata").expect("a port");
        self.dut.set_words(data, &words(&bytes, self.width_bytes));
        set(&mut self.dut, "m_rlast", last.into());
        set(&mut self.dut, "m_rresp", if read.bad { 2 } else { 0 });
    }

    fn present_frames(&mut self) {
        if self.question.is_none() && !self.quiet && self.rng.chance(70) {
            let bytes = 14 + self.rng.below(9200) as u64;
            self.question = Some((self.rng.below(QUEUES), bytes));
        }
        let (queue, bytes) = self.question.unwrap_or_default();
        set(&mut self.dut, "ask", self.question.is_some().into());
        set(&mut self.dut, "ask_queue", queue as u64);
        set(&mut self.dut, "ask_bytes", bytes);
        set(&mut self.dut, "take", 0);
        set(&mut self.dut, "refuse", 0);
    }

    fn present_taker(&mut self) {
        let taker = self.takers.front();
        self.taking = taker.is_some();
        let queue = taker.map_or(0, |t| t.queue) as u64;
        let pops = taker.is_some_and(|t| t.used > 0);
        let credit = taker.filter(|t| t.used == 0).map(|t| t.credit as u64 & 15);
        set(&mut self.dut, "pop_queue", queue);
        set(&mut self.dut, "pop_read", (pops && !self.shown).into());
        set(&mut self.dut, "pop_take", (pops && self.shown).into());
        set(&mut self.dut, "credit_valid", credit.is_some().into());
        set(&mut self.dut, "credit_queue", queue);
        set(&mut self.dut, "credit_unused", credit.unwrap_or_default());
    }

    /// Ends the question, or says what its answer is in the next cycle.
    fn frames(&mut self) -> Option<bool> {
        let (queue, bytes) = self.question?;
        let covered = self.read("covered") == 1;
        if self.read("answer") == 1 {
            assert_eq!(Some(covered), self.answer, "queue {queue}, {bytes} bytes");
            if !self.rng.chance(self.pace.stall) {
                self.end_question(queue, bytes, covered);
                return None;
            }
        }
        let (fetched, ..) = self.status(queue);
        let entry = &self.queues[queue];
        let free = entry.free(fetched);
        assert!(free >= 0, "queue {queue}: more promised than there is");
        let open = self.open >> queue & 1 == 1;
        Some(open && free >= need(bytes, entry.size) as i64)
    }

    fn end_question(&mut self, queue: usize, bytes: u64, covered: bool) {
        set(&mut self.dut, if covered { "take" } else { "refuse" }, 1);
        self.question = None;
        if !covered {
            self.seen.refusals += 1;
            return;
        }
        self.seen.takes += 1;
        let entry = &mut self.queues[queue];
        let need = need(bytes, entry.size);
        let used = 1 + self.rng.below(need as usize) as u64;
        entry.reserved += need as i64;
        entry.frames += 1;
        self.takers.push_back(Taker { queue, used, credit: need as i64 - used as i64 });
    }

    /// Reads that are asked for, beats that are taken, failures that are told.
    fn memory(&mut self) {
        if self.read("m_arvalid") == 1 && self.ready {
            self.asked();
        }
        if self.read("m_rvalid") == 1 && self.read("m_rready") == 1 {
            let read = &mut self.reads[0];
            read.beat += 1;
            if read.beat * self.width_bytes == GROUP_BYTES as usize {
                self.queues[read.queue].bad += u64::from(read.bad);
                self.reads.pop_front();
            }
        }
        if self.read("read_error_valid") == 1 {
            let queue = self.read("read_error_queue") as usize;
            let entry = &mut self.queues[queue];
            assert!(entry.bad > 0 && !entry.failed, "an error is told once");
            entry.failed = true;
            self.seen.errors += 1;
        }
    }

    /// One read: an aligned group that holds a descriptor posted and not yet fetched.
    fn asked(&mut self) {
        let address = self.read("m_araddr");
        let fixed = ["m_arid", "m_arlen", "m_arsize", "m_arburst"].map(|name| self.read(name));
        let beats = GROUP_BYTES as usize / self.width_bytes;
        assert_eq!(fixed, [2, beats as u64 - 1, u64::from(self.width_bytes.ilog2()), 1]);
        let ring = |q: &Queue| 16u64 << q.log2;
        let queue = (0..QUEUES)
            .find(|i| {
                let entry = &self.queues[*i];
                entry.base > 0 && address.wrapping_sub(entry.base) < ring(entry)
            })
            .unwrap_or_else(|| panic!("{address:x} is in no ring"));
        let (fetched, ..) = self.status(queue);
        let entry = &self.queues[queue];
        assert!(address.is_multiple_of(GROUP_BYTES) && entry.running, "{address:x}, queue {queue}");
        let group = (address - entry.base) / GROUP_BYTES;
        let waiting = u64::from(entry.posted.wrapping_sub(fetched as u16));
        let in_group = |index: u64| index % entry.entries() / 4 == group;
        assert!(
            (fetched..fetched + waiting).any(in_group),
            "queue {queue}: group {group} holds nothing of {fetched} + {waiting}"
        );
        let late = self.rng.below(self.pace.latency + 1) as u64;
        let bad = self.rng.below(1000) < usize::from(self.pace.bad);
        let from = self.dut.cycle() + 1 + late;
        self.reads.push_back(Read { queue, address, from, beat: 0, bad });
        assert!(self.reads.len() <= 32, "reads under way");
        self.seen.reads_max = self.seen.reads_max.max(self.reads.len());
    }

    /// Buffers that are taken, credit that is given.
    fn taker(&mut self) {
        let Some(taker) = self.takers.front_mut().filter(|_| self.taking) else { return };
        let queue = taker.queue;
        if taker.used > 0 && !self.shown {
            self.shown = true;
        } else if taker.used > 0 {
            taker.used -= 1;
            self.shown = false;
            let entry = &mut self.queues[queue];
            let want = entry.expected.pop_front();
            entry.popped += 1;
            let got = (self.read("pop_id") as u16, self.read("pop_iova"));
            assert_eq!(Some(got), want, "queue {queue}: the oldest buffer");
            self.seen.pops += 1;
        } else {
            let credit = taker.credit;
            let entry = &mut self.queues[queue];
            entry.unused += credit;
            entry.frames -= 1;
            self.takers.pop_front();
        }
    }

    fn cycle(&mut self) {
        if self.auto && self.rng.chance(30) {
            self.driver();
        }
        self.present_setup();
        self.present_memory();
        self.present_frames();
        self.present_taker();
        self.dut.settle().expect("runs");
        self.answer = self.frames();
        self.memory();
        let queue = self.rng.below(QUEUES);
        let (fetched, ..) = self.status(queue);
        let entry = &self.queues[queue];
        if entry.running {
            let stored = fetched - entry.popped as u64;
            assert!(stored <= DEPTH, "queue {queue}: {stored} buffers");
            self.seen.stored_max = self.seen.stored_max.max(stored);
        }
        self.taker();
        self.dut.settle().expect("runs");
        self.dut.edge().expect("runs");
    }

    /// Nothing new; what is under way ends. Then no descriptor lies where it could be fetched.
    fn settle(&mut self) {
        self.quiet = true;
        let deadline = self.dut.cycle() + 40_000;
        let mut calm = 0;
        while calm < 400 {
            self.cycle();
            assert!(self.dut.cycle() < deadline, "it comes to rest");
            let rest = self.reads.is_empty() && self.takers.is_empty() && self.question.is_none();
            calm = if rest { calm + 1 } else { 0 };
        }
        for queue in 0..QUEUES {
            let (fetched, idle, empty) = self.status(queue);
            let entry = &self.queues[queue];
            if !entry.running {
                continue;
            }
            let stored = fetched - entry.popped as u64;
            assert_eq!(idle, entry.reserved == entry.unused + entry.popped, "queue {queue}");
            assert_eq!(empty, stored == 0);
            let lies = u64::from(entry.posted.wrapping_sub(fetched as u16));
            let open = !entry.closing && !entry.failed;
            assert!(!open || lies == 0 || stored > DEPTH - 4, "queue {queue}: {lies} lie");
        }
        self.quiet = false;
    }
}

fn check(design: &Design, width_bytes: usize, seed: u64, pace: Pace) -> Seen {
    let mut bench = Bench::new(design, width_bytes, seed, pace);
    for _ in 0..3 {
        for _ in 0..12_000 {
            bench.cycle();
        }
        bench.settle();
    }
    bench.seen
}

/// Method: a driver that starts, posts, rings (also wrongly), closes; a memory with latency, stalls
/// and failures; frames that ask, take and return. All of it at once, on all queues.
#[test]
fn prefetch_equals_the_reference() {
    let calm = Pace { close: 1, ..Pace::default() };
    let slow = Pace { stall: 30, latency: 300, close: 1, ..Pace::default() };
    let rough = Pace { stall: 60, latency: 40, bad: 8, close: 2 };
    for (design, width_bytes) in [
        (emit("prefetch", Prefetch::<512>::default()), 64),
        (emit("prefetch", Prefetch::<64>::default()), 8),
    ] {
        let runs: Vec<Seen> = [calm, slow, rough]
            .into_iter()
            .enumerate()
            .map(|(i, pace)| check(&design, width_bytes, 50 + i as u64, pace))
            .collect();
        let sum = |of: fn(&Seen) -> u64| runs.iter().map(of).sum::<u64>();
        assert!(sum(|s| s.takes) > 500 && sum(|s| s.refusals) > 500 && sum(|s| s.pops) > 1000);
        assert!(sum(|s| s.errors) > 5 && sum(|s| s.restarts) > 20 && sum(|s| s.wraps) > 20);
        assert!(runs.iter().any(|s| s.stored_max > DEPTH - 4), "a full store");
        assert!(runs.iter().any(|s| s.reads_max == 32), "all reads under way");
    }
}

/// Drains the queue as its manager does: only at rest, one by one.
fn drain(bench: &mut Bench) -> u64 {
    let mut drained = 0;
    while !bench.status(0).2 {
        assert!(bench.status(0).1, "at rest");
        bench.takers.push_back(Taker { queue: 0, used: 1, credit: -1 });
        bench.queues[0].frames += 1;
        bench.cycles(8);
        drained += 1;
    }
    assert!(bench.status(0).1, "at rest");
    drained
}

#[test]
fn a_failed_read_stores_nothing() {
    let mut bench = Bench::by_hand(71, Pace { latency: 400, ..Pace::default() }, 16);
    while bench.reads.len() < 4 {
        bench.cycle();
    }
    bench.reads[1].bad = true;
    bench.cycles(2000);
    // The first group is in, and nothing from the second on.
    assert_eq!((bench.status(0), bench.seen.errors), ((4, true, false), 1));
    bench.queues[0].closing = true;
    bench.cycles(10);
    assert_eq!(drain(&mut bench), 4);
    // Started anew it fetches as ever.
    bench.queues[0].running = false;
    bench.start_queue(0);
    bench.cycles(20);
    bench.append(0, 5);
    bench.cycles(2000);
    assert_eq!((bench.status(0), bench.seen.errors), ((5, true, false), 1));
}

#[test]
fn a_closed_queue_comes_to_rest() {
    let mut bench = Bench::by_hand(72, Pace { latency: 300, ..Pace::default() }, 15);
    while bench.reads.len() < 2 {
        bench.cycle();
    }
    bench.queues[0].closing = true;
    bench.cycles(8);
    let under_way = bench.reads.len();
    assert!(!bench.status(0).1, "reads are under way");
    bench.cycles(2000);
    let (fetched, idle, _) = bench.status(0);
    assert!(idle && fetched <= 4 * under_way as u64, "{fetched} of {under_way} reads");
    assert_eq!(drain(&mut bench), fetched);
}

/// A frame of the worst case is covered exactly while so many are free; what it gives back counts.
#[test]
fn prefetch_keeps_its_counts() {
    let mut bench = Bench::by_hand(73, Pace::default(), 15);
    bench.cycles(300);
    let size = bench.queues[0].size;
    let (bytes, mut free) = (size, 15);
    while free >= 2 {
        bench.question = Some((0, bytes));
        while bench.question.is_some() {
            bench.cycle();
        }
        bench.cycles(12);
        let (fetched, ..) = bench.status(0);
        free = bench.queues[0].free(fetched);
    }
    // Each took one or two of two.
    let before = bench.seen.takes;
    assert!((7..15).contains(&before), "{before} frames");
    bench.question = Some((0, bytes));
    bench.cycles(12);
    assert_eq!((bench.seen.takes, bench.seen.refusals), (before, 1));
}

#[test]
fn everyone_has_a_turn() {
    let mut dut = start(&emit("round_robin", RoundRobin::default()));
    let mut rng = Rng(74);
    let ports = ["chosen", "index"].map(|name| dut.port(name).expect("an output"));
    let mut wants = 0u32;
    // Turns of others since each began to want one.
    let mut passed = vec![[0u32; 32]; 32];
    for _ in 0..20_000 {
        wants |= 1 << rng.below(32) & rng.next() as u32;
        let step = rng.chance(70);
        set(&mut dut, "wants", wants.into());
        set(&mut dut, "step", step.into());
        dut.clock().expect("runs");
        dut.settle().expect("runs");
        if !step {
            continue;
        }
        let [chosen, index] = ports.map(|port| dut.read(port));
        if wants == 0 {
            assert_eq!(chosen, 0);
            continue;
        }
        assert_eq!(chosen, 1 << index);
        assert_eq!(chosen as u32 & wants, chosen as u32, "it wants a turn");
        let index = index as usize;
        for (other, turns) in passed.iter_mut().enumerate() {
            turns[index] += u32::from(wants >> other & 1 == 1);
            assert!(turns[index] <= 1 || other == index, "{index} twice before {other}");
        }
        passed[index] = [0; 32];
        if rng.chance(50) {
            wants &= !(1 << index);
        }
    }
}

#[test]
fn lint_is_clean() {
    let design = emit("prefetch", Prefetch::<512>::default());
    let waived = ["DECLFILENAME", "WIDTH", "UNUSEDSIGNAL", "UNUSEDPARAM"];
    let lines = Toolbox::from_env().lint(&design.top, &design.verilog, &waived).expect("runs");
    assert!(lines.is_empty(), "{lines:#?}");
}
