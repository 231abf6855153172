//! place under Verilator: commands, records and credits of random operations against a reference
//! that keeps whole deliveries.

mod place_support;
mod rtl_support;

use std::collections::{HashMap, VecDeque};

use groove_hdl::blocks::worst_case::WorstCase;
use groove_hdl::emit::emit;
use groove_hdl::stages::place::Place;
use groove_spec::OpKind;
use groove_spec::Register;
use groove_spec::nic::{BUFFER_SIZE, HEADER_BASE_HIGH, HEADER_BASE_LOW, QUEUE_CONTROL, RING_SIZES};
use groove_verilator::{Dut, Source};
use place_support::{Queue, Reference, Step, operation};
use rtl_support::{Drain, Feed, Rng, cycle_with, pack, set, start};

const QUEUES: usize = 3;
const SESSIONS: usize = 4;

fn read(dut: &Dut, name: &str) -> u64 {
    dut.read(dut.port(name).expect("an output"))
}

fn write(dut: &mut Dut, queue: usize, register: &Register, value: u64) {
    let fields = [(0, 1), (1, 1), (queue as u64, 5), (register.offset as u64 / 4, 5), (value, 32)];
    let words = pack(&fields);
    set(dut, "setup_bus", u64::from(words[0]) | u64::from(words[1]) << 32);
    dut.clock().expect("runs");
    set(dut, "setup_bus", 0);
}

fn configure(dut: &mut Dut, queues: &[Queue]) {
    for (i, queue) in queues.iter().enumerate() {
        write(dut, i, &HEADER_BASE_LOW, queue.slots & 0xffff_ffff);
        write(dut, i, &HEADER_BASE_HIGH, queue.slots >> 32);
        // Of no concern to place.
        write(dut, i, &RING_SIZES, 0xffff_ffff);
        write(dut, i, &BUFFER_SIZE, queue.size as u64);
        write(dut, i, &QUEUE_CONTROL, 1 | u64::from(queue.split) << 1);
    }
}

/// A module at work: operations and drains in, everything out.
struct Bench {
    dut: Dut,
    rng: Rng,
    /// Percent of cycles without a new operation, drain, and without readiness of the two outputs.
    stalls: [u8; 4],
}

struct Run {
    commands: Drain,
    records: Drain,
    reference: Reference,
    /// Which of the steps were accepted, in order: true for a drain.
    order: Vec<bool>,
}

impl Bench {
    fn new() -> Self {
        let dut = start(&emit("place_dut", Place::new(QUEUES, SESSIONS)));
        Self { dut, rng: Rng(5), stalls: [0; 4] }
    }

    /// Runs the steps; drains wait beside the operations.
    fn run(&mut self, queues: &[Queue], steps: &[Step]) -> Run {
        let dut = &mut self.dut;
        set(dut, "cr_rst", 1);
        dut.clock().expect("runs");
        set(dut, "cr_rst", 0);
        configure(dut, queues);
        let mut ops = Feed::new(dut, "s", &["meta", "header"]);
        let mut drains = Feed::new(dut, "drain", &["queue", "quiet"]);
        let mut run = Run {
            commands: Drain::new(dut, "m", &["command"]),
            records: Drain::new(dut, "records", &["record", "body"]),
            reference: Reference::new(queues),
            order: Vec::new(),
        };
        let mut waiting: [VecDeque<&Step>; 2] = Default::default();
        for step in steps {
            match step {
                Step::Op { record, .. } => {
                    ops.records.push_back(record.clone());
                    waiting[0].push_back(step);
                }
                Step::Drain { queue, quiet } => {
                    drains.records.push_back(vec![vec![*queue as u32], vec![u32::from(*quiet)]]);
                    waiting[1].push_back(step);
                }
            }
        }
        (ops.gap, drains.gap) = (self.stalls[0], self.stalls[1]);
        (run.commands.stall, run.records.stall) = (self.stalls[2], self.stalls[3]);
        let mut taken = vec![0; queues.len()];
        let (mut credits, mut headers) = (VecDeque::new(), VecDeque::new());
        let deadline = dut.cycle() + 1000 + 500 * steps.len() as u64;
        let mut idle = 0;
        while idle < 300 {
            assert!(dut.cycle() < deadline, "stuck with {} operations left", ops.records.len());
            let before = [ops.records.len(), drains.records.len()];
            let mut shown = None;
            let (rng, outs) = (&mut self.rng, &mut [&mut run.commands, &mut run.records]);
            cycle_with(dut, rng, &mut [&mut ops, &mut drains], outs, |dut| {
                shown = pop(dut, queues, &mut taken);
                if read(dut, "credit_valid") == 1 {
                    credits.push_back((read(dut, "credit_queue"), read(dut, "credit_unused")));
                }
                headers.extend(header(dut));
                keeps_ready(dut);
            });
            show(dut, rng, shown);
            for (of, left) in [ops.records.len(), drains.records.len()].into_iter().enumerate() {
                if left < before[of] {
                    run.reference.step(waiting[of].pop_front().expect("a step"));
                    run.order.push(of == 1);
                }
            }
            idle = if waiting.iter().all(VecDeque::is_empty) { idle + 1 } else { 0 };
            if idle == 1 {
                (run.commands.stall, run.records.stall) = (0, 0);
            }
        }
        assert_eq!(credits, run.reference.credits);
        run.reference.finish(&run.commands.records, headers, &run.records.records);
        run
    }
}

/// The prefetched buffers: what place sees in the next cycle.
fn pop(dut: &Dut, queues: &[Queue], taken: &mut [u32]) -> Option<(u16, u64)> {
    let queue = read(dut, "pop_queue") as usize;
    let shown = (read(dut, "pop_read") == 1).then(|| queues[queue].buffer(queue, taken[queue]));
    if read(dut, "pop_take") == 1 {
        assert!(shown.is_none(), "reads what it takes");
        taken[queue] += 1;
    }
    shown
}

/// A buffer is there for one cycle after it was asked for; else anything is.
fn show(dut: &mut Dut, rng: &mut Rng, shown: Option<(u16, u64)>) {
    let (id, iova) = shown.unwrap_or((rng.next() as u16, rng.next()));
    set(dut, "pop_id", id.into());
    set(dut, "pop_iova", iova);
}

/// The header that leaves in this cycle; it means something with a header command only.
fn header(dut: &Dut) -> Option<Vec<u32>> {
    let mut words = vec![0; 32];
    dut.read_words(dut.port("m_header").expect("an output"), &mut words);
    let leaves = read(dut, "m_valid") & dut.read(dut.port("m_ready").expect("an input")) == 1;
    let mut command = vec![0; 3];
    dut.read_words(dut.port("m_command").expect("an output"), &mut command);
    (leaves && command[0] & 3 == 0).then_some(words)
}

/// Neither ready output follows a ready input.
fn keeps_ready(dut: &mut Dut) {
    let outputs = ["s_ready", "drain_ready"].map(|name| read(dut, name));
    let inputs = ["m_ready", "records_ready"].map(|name| dut.port(name).expect("an input"));
    let before = inputs.map(|port| dut.read(port));
    for value in 0..4 {
        dut.set(inputs[0], value & 1);
        dut.set(inputs[1], value >> 1);
        dut.settle().expect("runs");
        let now = ["s_ready", "drain_ready"].map(|name| read(dut, name));
        assert_eq!(now, outputs, "ready follows ready");
    }
    dut.set(inputs[0], before[0]);
    dut.set(inputs[1], before[1]);
    dut.settle().expect("runs");
}

/// Legal operations of all kinds, with drained buffers between them.
struct Traffic {
    open: HashMap<(usize, usize), (usize, usize)>,
    steps: Vec<Step>,
}

impl Traffic {
    fn payload(rng: &mut Rng) -> usize {
        match rng.below(6) {
            0 => 1 + rng.below(64),
            1 => 1 + rng.below(300),
            2 => 1460,
            3 => rng.pick(&[2048, 2112, 4096, 8192]) - rng.below(2),
            _ => 1 + rng.below(9080),
        }
    }

    fn close(&mut self, rng: &mut Rng, key: (usize, usize)) {
        let (hdr_len, payload) = self.open.remove(&key).expect("an open session");
        self.steps.push(operation(rng, OpKind::Close, key, hdr_len, payload));
    }

    fn step(&mut self, rng: &mut Rng) {
        let key = (rng.below(QUEUES), rng.below(SESSIONS));
        match rng.below(16) {
            0 => self.steps.push(operation(rng, OpKind::Flushed, (key.0, 0), 0, 0)),
            1 => self.steps.push(Step::Drain { queue: key.0, quiet: rng.chance(30) }),
            2..=5 => {
                let payload = if rng.chance(20) { 0 } else { Self::payload(rng) };
                let hdr_len = 14 + rng.below(115);
                self.steps.push(operation(rng, OpKind::Alone, (key.0, 0), hdr_len, payload));
            }
            _ => match self.open.get_mut(&key) {
                None => {
                    let (hdr_len, payload) = (14 + rng.below(115), Self::payload(rng));
                    self.open.insert(key, (hdr_len, payload));
                    self.steps.push(operation(rng, OpKind::Open, key, hdr_len, payload));
                }
                Some((hdr_len, total)) => {
                    let payload = Self::payload(rng);
                    if *total + payload > 65_535 - 20 || rng.chance(15) {
                        self.close(rng, key);
                    } else {
                        *total += payload;
                        let hdr_len = *hdr_len;
                        self.steps.push(operation(rng, OpKind::Append, key, hdr_len, payload));
                    }
                }
            },
        }
    }

    fn random(rng: &mut Rng, count: usize) -> Vec<Step> {
        let mut traffic = Self { open: HashMap::new(), steps: Vec::new() };
        (0..count).for_each(|_| traffic.step(rng));
        let mut open: Vec<_> = traffic.open.keys().copied().collect();
        open.sort_unstable();
        open.into_iter().for_each(|key| traffic.close(rng, key));
        traffic.steps
    }
}

fn queues(rng: &mut Rng) -> Vec<Queue> {
    (0..QUEUES).map(|queue| Queue::random(rng, queue)).collect()
}

#[test]
fn commands_and_records_equal_the_reference() {
    let mut bench = Bench::new();
    let mut rng = Rng(6);
    let mut lengths = [0; 3];
    for run in 0..24 {
        let queues = queues(&mut rng);
        let steps = Traffic::random(&mut rng, 400);
        bench.stalls = [[0; 4], [50, 50, 0, 0], [0, 0, 60, 60], [30, 90, 30, 60]][run % 4];
        let run = bench.run(&queues, &steps);
        lengths.iter_mut().zip(run.reference.lengths).for_each(|(sum, n)| *sum += n);
    }
    assert!(lengths.iter().all(|n| *n > 50), "deliveries of 1, 2, more buffers: {lengths:?}");
}

/// One session that fills 33 buffers of 2,048 bytes.
#[test]
fn the_largest_session_fits_its_chain() {
    let mut bench = Bench::new();
    let mut rng = Rng(7);
    for split in [false, true] {
        let queue = Queue { size: 2048, split, ..Queue::random(&mut rng, 0) };
        let mut steps = vec![operation(&mut rng, OpKind::Open, (0, 3), 66, 1460)];
        let mut total = 1460;
        while total < 65_495 {
            let payload = 1460.min(65_495 - total);
            total += payload;
            steps.push(operation(&mut rng, OpKind::Append, (0, 3), 66, payload));
        }
        steps.push(operation(&mut rng, OpKind::Close, (0, 3), 66, total));
        let run = bench.run(&[queue; QUEUES], &steps);
        assert_eq!(run.records.records.len(), if split { 32 } else { 33 });
    }
}

#[test]
fn the_slot_holds_256_bytes() {
    let mut bench = Bench::new();
    let mut rng = Rng(8);
    let queues = queues(&mut rng);
    let mut steps = Vec::new();
    for queue in 0..QUEUES {
        for total in [255, 256, 257] {
            steps.push(operation(&mut rng, OpKind::Alone, (queue, 0), 54, total - 54));
            steps.push(operation(&mut rng, OpKind::Open, (queue, 1), 54, 100));
            steps.push(operation(&mut rng, OpKind::Append, (queue, 1), 54, total - 54 - 100));
            steps.push(operation(&mut rng, OpKind::Close, (queue, 1), 54, total - 54));
        }
    }
    bench.run(&queues, &steps);
}

#[test]
fn drains_between_operations() {
    let mut bench = Bench::new();
    let mut rng = Rng(9);
    let queues = queues(&mut rng);
    let mut steps = vec![Step::Drain { queue: 1, quiet: false }; 20];
    steps.extend((0..20).map(|_| operation(&mut rng, OpKind::Alone, (1, 0), 54, 10)));
    let run = bench.run(&queues, &steps);
    assert!(run.order.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", run.order);
}

/// Cycles between two records, once the pipe is full.
fn pace(run: &Run) -> Vec<u64> {
    run.records.cycles.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn four_cycles_per_alone() {
    let mut bench = Bench::new();
    let mut rng = Rng(10);
    let queues = queues(&mut rng);
    for payload in [10, 1460] {
        let steps: Vec<_> =
            (0..40).map(|_| operation(&mut rng, OpKind::Alone, (2, 0), 54, payload)).collect();
        let run = bench.run(&queues, &steps);
        assert!(pace(&run).iter().all(|cycles| *cycles == 4), "{:?}", pace(&run));
    }
}

/// Commands of appends are at most 6 cycles apart.
#[test]
fn six_cycles_per_append() {
    let mut bench = Bench::new();
    let mut rng = Rng(11);
    let queue = Queue { size: 65536, ..Queue::random(&mut rng, 0) };
    let mut steps = vec![operation(&mut rng, OpKind::Open, (0, 0), 54, 8)];
    steps.extend((0..40).map(|_| operation(&mut rng, OpKind::Append, (0, 0), 54, 8)));
    steps.push(operation(&mut rng, OpKind::Close, (0, 0), 54, 41 * 8));
    let run = bench.run(&[queue; QUEUES], &steps);
    let cycles = &run.commands.cycles;
    let span = cycles[cycles.len() - 1] - cycles[0];
    assert!(span <= 42 * 6, "{span} cycles for 42 operations");
}

#[test]
fn worst_case_covers_the_frame() {
    let design = emit("worst_case", WorstCase::default());
    let source = Source { top: &design.top, verilog: &design.verilog, trace: false };
    let mut dut = Dut::build(&source).expect("the module builds");
    for size in [2048, 2112, 4096, 65536] {
        set(&mut dut, "size", size);
        for bytes in 0..=9216 {
            set(&mut dut, "bytes", bytes);
            dut.settle().expect("runs");
            assert_eq!(read(&dut, "need"), 1 + bytes.div_ceil(size), "{bytes} in {size}");
        }
    }
}
