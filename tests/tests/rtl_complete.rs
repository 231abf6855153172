//! complete under Verilator: what is written to the completion rings, when, and what is told.

mod rtl_support;

use std::collections::VecDeque;

use groove_hdl::emit::emit;
use groove_hdl::stages::complete::Complete;
use groove_spec::Register;
use groove_spec::nic::{
    COMPLETION, COMPLETION_BASE_HIGH, COMPLETION_BASE_LOW, QUEUE_CONTROL, RING_SIZES,
};
use groove_verilator::Dut;
use rtl_support::{Drain, Feed, Record, Rng, cycle_with, pack, set, start};

const QUEUES: usize = 3;

fn read(dut: &Dut, name: &str) -> u64 {
    dut.read(dut.port(name).expect("an output"))
}

/// What comes to the stage: a delivery, a buffer that returns unseen, or a marker.
#[derive(Clone, Debug)]
struct Item {
    queue: usize,
    /// Data commands, and which of them fails.
    commands: usize,
    fails: Option<usize>,
    bodies: Vec<Vec<u32>>,
    marker: bool,
    quiet: bool,
}

impl Item {
    fn delivery(rng: &mut Rng, queue: usize, records: usize) -> Self {
        let body = |i: usize| {
            let fields = COMPLETION.fields.iter().map(|f| {
                let value = match f.name {
                    "first" => u64::from(i == 0),
                    "last" => u64::from(i + 1 == records),
                    "error" | "reserved" | "generation" => 0,
                    _ => rng.next() & ((1 << f.width) - 1),
                };
                (value, f.width)
            });
            pack(&fields.collect::<Vec<_>>())
        };
        let bodies = (0..records).map(body).collect();
        Self { queue, commands: records + 1, fails: None, bodies, marker: false, quiet: false }
    }

    fn marker(queue: usize) -> Self {
        let bodies = vec![vec![0; 8]];
        Self { queue, commands: 0, fails: None, bodies, marker: true, quiet: false }
    }

    fn quiet(rng: &mut Rng, queue: usize) -> Self {
        Self { commands: 0, quiet: true, ..Self::delivery(rng, queue, 1) }
    }
}

/// A ring as configured, and how far it is.
#[derive(Clone, Copy, Debug)]
struct Ring {
    base: u64,
    log2: u32,
    index: u16,
    stopped: bool,
}

impl Ring {
    fn random(rng: &mut Rng) -> Self {
        let log2 = 4 + rng.below(3) as u32;
        Self { base: rng.next() >> 1 & !63, log2, index: 0, stopped: false }
    }

    /// The completion of a body, as it has to be written.
    fn place(&mut self, queue: usize, body: &[u32], error: bool) -> Record {
        let slot = u64::from(self.index) & ((1 << self.log2) - 1);
        let address = self.base + 32 * slot;
        let mut data = body.to_vec();
        let bit = COMPLETION.field("error").lsb;
        data[bit / 32] |= u32::from(error) << (bit % 32);
        data[7] |= u32::from(self.index >> self.log2 & 1 == 0) << 31;
        self.index = self.index.wrapping_add(1);
        vec![vec![address as u32, (address >> 32) as u32], data, vec![queue as u32]]
    }
}

/// Everything around the stage.
struct Bench {
    dut: Dut,
    rng: Rng,
    rings: Vec<Ring>,
    records: Feed,
    m: Drain,
    /// Item of each record that waits outside.
    owners: VecDeque<usize>,
    items: Vec<Item>,
    /// Item of each command that is not done, and whether it fails.
    undone: VecDeque<(usize, bool)>,
    commands: u64,
    done: u64,
    /// Tags of the completions that are expected.
    tags: Vec<u64>,
    expected: Vec<Record>,
    /// Queue, and completions that have to be answered before.
    markers: VecDeque<(usize, usize)>,
    /// Completions answered.
    answered: usize,
    told: Vec<u64>,
    counted: Vec<u64>,
    errors: Vec<u64>,
    /// Percent of cycles without a done command, without a response.
    stalls: [u8; 2],
    /// Completion, by number, whose write fails.
    broken: Option<usize>,
}

impl Bench {
    fn new() -> Self {
        let dut = start(&emit("complete_dut", Complete::default()));
        let records = Feed::new(&dut, "records", &["record", "body"]);
        let m = Drain::new(&dut, "m", &["address", "data", "queue"]);
        let mut rng = Rng(51);
        let rings = (0..QUEUES).map(|_| Ring::random(&mut rng)).collect();
        let mut bench = Self {
            dut,
            rng,
            rings,
            records,
            m,
            owners: VecDeque::new(),
            items: Vec::new(),
            undone: VecDeque::new(),
            commands: 0,
            done: 0,
            tags: Vec::new(),
            expected: Vec::new(),
            markers: VecDeque::new(),
            answered: 0,
            told: vec![0; QUEUES],
            counted: vec![0; QUEUES],
            errors: vec![0; QUEUES],
            stalls: [0; 2],
            broken: None,
        };
        (0..QUEUES).for_each(|queue| bench.restart(queue));
        bench
    }

    fn write(&mut self, queue: usize, register: &Register, value: u64) {
        let index = register.offset as u64 / 4;
        let words = pack(&[(0, 1), (1, 1), (queue as u64, 5), (index, 5), (value, 32)]);
        set(&mut self.dut, "setup_bus", u64::from(words[0]) | u64::from(words[1]) << 32);
        self.cycle();
        set(&mut self.dut, "setup_bus", 0);
    }

    /// Starts a queue with its ring from the beginning.
    fn restart(&mut self, queue: usize) {
        let Ring { base, log2, .. } = self.rings[queue];
        self.write(queue, &COMPLETION_BASE_LOW, base & 0xffff_ffff);
        self.write(queue, &COMPLETION_BASE_HIGH, base >> 32);
        self.write(queue, &RING_SIZES, u64::from(log2) << 8 | 0xf);
        self.write(queue, &QUEUE_CONTROL, 1);
        (self.rings[queue].index, self.rings[queue].stopped) = (0, false);
        (self.told[queue], self.counted[queue]) = (0, 0);
    }

    /// Queues an item and says what has to come of it.
    fn offer(&mut self, item: Item) {
        let number = self.items.len();
        for command in 0..item.commands {
            self.undone.push_back((number, item.fails == Some(command)));
        }
        self.commands += item.commands as u64;
        let tag = self.commands;
        for body in &item.bodies {
            let fields = [
                (u64::from(item.marker), 1),
                (item.queue as u64, 5),
                (tag, 32),
                (u64::from(item.quiet), 1),
            ];
            self.records.records.push_back(vec![pack(&fields), body.clone()]);
            self.owners.push_back(number);
        }
        let ring = &mut self.rings[item.queue];
        if item.marker {
            self.markers.push_back((item.queue, self.expected.len()));
        } else if !item.quiet && !ring.stopped {
            for body in &item.bodies {
                self.expected.push(ring.place(item.queue, body, item.fails.is_some()));
                self.tags.push(tag);
            }
            ring.stopped = item.fails.is_some();
        }
        self.items.push(item);
    }

    /// Finishes a command; an error only when the records before it are gone.
    fn finish_command(&mut self) {
        let waits = self.owners.front().copied().unwrap_or(self.items.len());
        let ready = self
            .undone
            .front()
            .is_some_and(|(item, fails)| if *fails { *item <= waits } else { *item <= waits + 20 });
        let goes = ready && !self.rng.chance(self.stalls[0]);
        set(&mut self.dut, "done_valid", goes.into());
        if goes && let Some((item, fails)) = self.undone.pop_front() {
            set(&mut self.dut, "done_queue", self.items[item].queue as u64);
            set(&mut self.dut, "done_error", fails.into());
            self.done += 1;
        }
    }

    /// Answers a completion; gives its queue if it is visible now.
    fn answer(&mut self) -> Option<usize> {
        let goes = self.answered < self.m.records.len() && !self.rng.chance(self.stalls[1]);
        set(&mut self.dut, "written_valid", goes.into());
        if !goes {
            return None;
        }
        let queue = self.m.records[self.answered][2][0] as usize;
        let fails = self.broken == Some(self.answered);
        set(&mut self.dut, "written_queue", queue as u64);
        set(&mut self.dut, "written_error", fails.into());
        self.answered += 1;
        (!fails).then_some(queue)
    }

    fn cycle(&mut self) {
        self.finish_command();
        let visible = self.answer();
        let before = self.records.records.len();
        let ask = self.rng.below(QUEUES);
        set(&mut self.dut, "produced_queue", ask as u64);
        let (mut completed, mut flushed, mut error, mut produced) = (None, None, None, 0);
        let event = |dut: &Dut, name: &str| {
            let queue = read(dut, &format!("{name}_queue")) as usize;
            (read(dut, &format!("{name}_valid")) == 1).then_some(queue)
        };
        let (feeds, drains) = (&mut [&mut self.records], &mut [&mut self.m]);
        cycle_with(&mut self.dut, &mut self.rng, feeds, drains, |dut| {
            completed = event(dut, "completed");
            flushed = event(dut, "flushed");
            error = event(dut, "dma_error");
            produced = read(dut, "produced");
        });
        assert!(self.m.records.len() <= self.answered + 128, "128 on their way");
        if before > self.records.records.len() {
            self.owners.pop_front();
        }
        if let Some(queue) = flushed {
            let (due, answers) = self.markers.pop_front().expect("a marker");
            assert_eq!(queue, due, "order of the markers");
            assert!(self.answered >= answers, "a marker overtook a response");
        }
        if let Some(queue) = completed {
            self.told[queue] += 1;
            assert!(self.told[queue] <= self.counted[queue], "completed before its response");
        }
        assert!(produced >= self.told[ask] && produced <= self.counted[ask], "{produced}");
        if let Some(queue) = error {
            self.errors[queue] += 1;
        }
        if let Some(queue) = visible {
            self.counted[queue] += 1;
        }
        if let Some(last) = self.m.records.len().checked_sub(1)
            && let Some(tag) = self.tags.get(last)
        {
            assert!(self.done >= *tag, "a completion before its data");
        }
    }

    /// Runs until nothing moves.
    fn settle(&mut self) {
        let deadline = self.dut.cycle() + 2000 + 40 * self.owners.len() as u64;
        let mut idle = 0;
        while idle < 400 {
            assert!(self.dut.cycle() < deadline, "stuck with {} records", self.owners.len());
            let open = self.m.records.len() - self.answered + self.owners.len();
            idle = if open + self.undone.len() == 0 { idle + 1 } else { 0 };
            self.cycle();
        }
    }

    fn compare(&self) {
        for (i, want) in self.expected.iter().enumerate() {
            assert_eq!(self.m.records.get(i), Some(want), "completion {i}");
        }
        assert_eq!(self.m.records.len(), self.expected.len());
        assert!(self.markers.is_empty(), "all markers came out");
        assert_eq!(self.told, self.counted);
    }
}

#[test]
fn completions_equal_the_reference() {
    let mut bench = Bench::new();
    let mut rng = Rng(52);
    for run in 0..8 {
        bench.stalls = [[0, 0], [60, 0], [0, 80], [50, 50]][run % 4];
        (bench.records.gap, bench.m.stall) = [(0, 0), (50, 30), (0, 70), (30, 0)][run % 4];
        for _ in 0..200 {
            let queue = rng.below(QUEUES);
            let item = match rng.below(12) {
                0 => Item::marker(queue),
                1 => Item::quiet(&mut rng, queue),
                2 => {
                    let records = 3 + rng.below(31);
                    Item::delivery(&mut rng, queue, records)
                }
                kind => Item::delivery(&mut rng, queue, 1 + kind % 2),
            };
            bench.offer(item);
        }
        bench.settle();
        bench.compare();
    }
    let wrapped = bench.rings.iter().all(|r| r.index >> r.log2 > 2);
    assert!(wrapped, "each ring was passed several times");
    assert_eq!((bench.errors, read(&bench.dut, "fault")), (vec![0; QUEUES], 0));
}

#[test]
fn completed_follows_the_response() {
    let mut bench = Bench::new();
    let mut rng = Rng(53);
    bench.stalls = [0, 100];
    (0..10).for_each(|_| bench.offer(Item::delivery(&mut rng, 1, 1)));
    (0..200).for_each(|_| bench.cycle());
    assert_eq!((bench.m.records.len(), bench.told[1]), (10, 0), "written, and not answered");
    bench.stalls = [0, 0];
    bench.settle();
    assert_eq!(bench.told[1], 10);
}

#[test]
fn at_most_128_on_their_way() {
    let mut bench = Bench::new();
    let mut rng = Rng(54);
    bench.stalls = [0, 100];
    (0..200).for_each(|_| bench.offer(Item::delivery(&mut rng, 1, 1)));
    (0..2000).for_each(|_| bench.cycle());
    assert_eq!(bench.m.records.len(), 128);
    bench.stalls = [0, 0];
    bench.settle();
    bench.compare();
}

/// Appends have commands and no records: thousands get done while a record waits for room.
#[test]
fn a_tag_stays_reached() {
    let mut bench = Bench::new();
    let mut rng = Rng(61);
    bench.stalls = [0, 100];
    (0..140).for_each(|_| bench.offer(Item::delivery(&mut rng, 1, 1)));
    bench.offer(Item { commands: 3000, bodies: Vec::new(), ..Item::marker(0) });
    bench.markers.clear();
    (0..5000).for_each(|_| bench.cycle());
    assert_eq!((bench.m.records.len(), bench.undone.len()), (128, 0));
    bench.stalls = [0, 0];
    bench.settle();
    bench.compare();
}

#[test]
fn markers_follow_the_responses() {
    let mut bench = Bench::new();
    let mut rng = Rng(55);
    bench.stalls = [0, 100];
    bench.offer(Item::marker(2));
    bench.offer(Item::delivery(&mut rng, 0, 1));
    bench.offer(Item::marker(1));
    bench.offer(Item::marker(0));
    (0..200).for_each(|_| bench.cycle());
    assert_eq!(bench.markers.len(), 2, "the first one does not wait, the others do");
    bench.stalls = [0, 0];
    bench.settle();
    bench.compare();
}

#[test]
fn errors_stop_a_queue() {
    let mut bench = Bench::new();
    let mut rng = Rng(56);
    for round in 0..12 {
        bench.stalls = [rng.pick(&[0, 50]), rng.pick(&[0, 70])];
        let mut broken = None;
        for _ in 0..30 {
            let (queue, records) = (rng.below(QUEUES), 1 + rng.below(4));
            let mut item = Item::delivery(&mut rng, queue, records);
            if broken.is_none() && rng.chance(20) {
                item.fails = Some(rng.below(item.commands));
                broken = Some(queue);
            }
            bench.offer(item);
            if rng.chance(10) {
                bench.offer(Item::marker(queue));
            }
        }
        bench.settle();
        bench.compare();
        let Some(queue) = broken else { continue };
        assert_eq!(read(&bench.dut, "fault"), 1 << queue, "round {round}");
        assert_eq!(bench.errors.iter().sum::<u64>(), 1);
        bench.errors[queue] = 0;
        bench.restart(queue);
        bench.cycle();
        assert_eq!(read(&bench.dut, "fault"), 0);
    }
}

#[test]
fn a_failed_completion_is_the_last() {
    let mut bench = Bench::new();
    let mut rng = Rng(57);
    bench.stalls = [0, 100];
    bench.offer(Item::delivery(&mut rng, 1, 3));
    (0..100).for_each(|_| bench.cycle());
    // The third is written already, but cannot be seen.
    (bench.stalls, bench.broken) = ([0, 0], Some(1));
    (0..100).for_each(|_| bench.cycle());
    assert_eq!((bench.answered, bench.told[1], bench.errors[1]), (3, 1, 1));
    assert_eq!(read(&bench.dut, "fault"), 2);
    bench.rings[1].stopped = true;
    bench.offer(Item::delivery(&mut rng, 1, 2));
    bench.offer(Item::delivery(&mut rng, 0, 2));
    bench.offer(Item::marker(1));
    bench.counted[1] = 1;
    bench.settle();
    bench.compare();
    assert_eq!(bench.errors[1], 1, "counted once");
}

#[test]
fn a_failed_descriptor_stops_a_queue() {
    let mut bench = Bench::new();
    let mut rng = Rng(58);
    bench.offer(Item::delivery(&mut rng, 2, 2));
    bench.settle();
    set(&mut bench.dut, "read_error_valid", 1);
    set(&mut bench.dut, "read_error_queue", 2);
    bench.cycle();
    set(&mut bench.dut, "read_error_valid", 0);
    bench.rings[2].stopped = true;
    bench.offer(Item::delivery(&mut rng, 2, 2));
    bench.settle();
    bench.compare();
    assert_eq!(read(&bench.dut, "fault"), 4);
    assert_eq!(bench.errors, [0; QUEUES], "its reader counts it");
}

#[test]
fn a_restart_counts_anew() {
    let mut bench = Bench::new();
    let mut rng = Rng(59);
    for _ in 0..3 {
        for _ in 0..21 {
            bench.offer(Item::delivery(&mut rng, 1, 1));
            bench.offer(Item::delivery(&mut rng, 2, 1));
        }
        bench.settle();
        bench.compare();
        bench.restart(1);
    }
    assert_eq!((bench.rings[1].index, bench.rings[2].index), (0, 63));
}

/// One record each 4 cycles at least, once it runs.
#[test]
fn a_record_takes_at_most_four_cycles() {
    let mut bench = Bench::new();
    let mut rng = Rng(60);
    (0..40).for_each(|_| bench.offer(Item::delivery(&mut rng, 0, 1)));
    for item in &mut bench.items {
        item.commands = 0;
    }
    bench.settle();
    let gaps: Vec<_> = bench.m.cycles.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap <= 4), "{gaps:?}");
}
