//! Registers, run state, timers and tokens of the queues under Verilator.

mod queues_support;
mod rtl_support;

use groove_hdl::blocks::queues::Queues;
use groove_hdl::emit::emit;
use groove_spec::nic::{
    self, BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, BUFFER_SIZE, COMPLETION_CONSUMER,
    COMPLETION_PRODUCER, FREE_CONSUMER, FREE_PRODUCER, HOLD, MODERATION, QUEUE_CONTROL,
    QUEUE_DMA_ERRORS, QUEUE_NO_BUFFER, QUEUE_STATUS, QUEUE_STRIDE, QUEUES_BASE, RING_LOG2_MIN,
    RING_SIZES, WINDOW_BYTES, queue_offset,
};
use groove_spec::{Access, Register};
use groove_verilator::Toolbox;
use queues_support::{Bench, Seen};
use rtl_support::Rng;

#[test]
fn lint_is_clean() {
    let design = emit("queues", Queues::new(32));
    // Widening without a cast, states that a module does not name, outputs that nobody needs.
    let waived = ["WIDTH", "UNUSEDSIGNAL", "UNUSEDPARAM"];
    let warnings =
        Toolbox::from_env().lint(&design.top, &design.verilog, &waived).expect("verilator lints");
    assert!(warnings.is_empty(), "{warnings:#?}");
}

#[test]
fn rows_behave_as_the_table_says() {
    let mut bench = Bench::new(32, 1);
    for queue in [0, 1, 17, 31] {
        for row in nic::REGISTERS {
            assert_eq!(bench.read(queue_offset(queue, row)), row.reset, "{} of {queue}", row.name);
        }
    }
    let mut rng = Rng(2);
    let mut written = Vec::new();
    for queue in 0..32 {
        for row in nic::REGISTERS.iter().filter(|r| r.name != "QUEUE_CONTROL") {
            let value = rng.next() as u32;
            bench.write(queue_offset(queue, row), value);
            written.push((queue, row, value));
        }
    }
    for (queue, row, value) in written {
        let expected = match row.access {
            Access::ReadWrite => value & row.mask(),
            Access::ReadOnly => row.reset,
        };
        assert_eq!(bench.read(queue_offset(queue, row)), expected, "{} of {queue}", row.name);
    }
    // What is no register.
    for offset in
        (0..QUEUE_STRIDE).step_by(4).filter(|o| nic::REGISTERS.iter().all(|r| r.offset != *o))
    {
        let address = QUEUES_BASE + 5 * QUEUE_STRIDE + offset;
        bench.write(address, u32::MAX);
        assert_eq!(bench.read(address), 0, "{address:#x}");
    }
    for address in [WINDOW_BYTES, WINDOW_BYTES + 0x24, 0x4024, 0xfffc] {
        bench.write(address, u32::MAX);
        assert_eq!(bench.read(address), 0, "{address:#x}");
    }
}

#[test]
fn queues_that_were_not_built_are_not_there() {
    let mut bench = Bench::new(3, 3);
    for queue in [3, 4, 31] {
        for row in nic::REGISTERS {
            bench.tell(queue, row, u32::MAX);
            assert_eq!(bench.ask(queue, row), 0, "{} of {queue}", row.name);
        }
    }
    bench.cycles(300);
    assert_eq!(bench.get("running"), 0);
    assert!(bench.seen.is_empty(), "{:?}", bench.seen);
    for row in nic::REGISTERS {
        assert_eq!(bench.ask(2, row), row.reset, "{}", row.name);
    }
}

#[test]
fn the_pipelines_registers_are_reached() {
    let mut bench = Bench::new(4, 4);
    let mut rng = Rng(5);
    for _ in 0..200 {
        let address = rng.below(0x400) * 4;
        assert_eq!(bench.read(address), Bench::piped(address as u16));
        let value = rng.next() as u32;
        bench.pipe_writes.clear();
        bench.write(address, value);
        bench.cycles(3);
        assert_eq!(bench.pipe_writes, [(address as u16, value)]);
        bench.write(QUEUES_BASE + address, value & !1);
        assert_eq!(bench.pipe_writes.len(), 1);
    }
}

#[test]
fn the_sweep_clears_every_queue_once() {
    let mut bench = Bench::in_sweep(32, 6);
    // The access waits for its end.
    assert_eq!(bench.ask(31, &RING_SIZES), RING_SIZES.reset);
    assert_eq!(bench.get("cleared"), 1);
    bench.cycles(10);
    let first = bench.seen[0].0;
    let expected: Vec<_> =
        (0..32).map(|queue| (first + queue as u64, Seen::Clear { queue })).collect();
    assert_eq!(bench.seen, expected);
}

/// What the config bus gives for a written word.
fn bounded(index: usize, word: u32) -> u32 {
    match 4 * index {
        at if at == RING_SIZES.offset => {
            (word & 15).max(RING_LOG2_MIN as u32) | (word >> 8 & 15).max(RING_LOG2_MIN as u32) << 8
        }
        at if at == BUFFER_SIZE.offset => {
            (word as usize).clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX) as u32 & !63
        }
        _ => word,
    }
}

#[test]
fn a_start_copies_the_registers() {
    let mut bench = Bench::new(32, 7);
    let rows: Vec<&Register> =
        nic::REGISTERS.iter().filter(|r| (8..0x28).contains(&r.offset)).collect();
    assert_eq!(rows.len(), 8);
    for round in 0..40 {
        let queue = bench.rng.below(32);
        let mut words = Vec::new();
        for row in &rows {
            let mut value = bench.rng.next() as u32;
            if row.name == "BUFFER_SIZE" {
                value = bench
                    .rng
                    .pick(&[0, 1, 2047, 2048, 2049, 2112, 65_535, 65_536, 65_600, 0x1_ffff]);
            }
            bench.tell(queue, row, value);
            words.push((row.offset / 4, value & row.mask()));
        }
        let control = 1 | (bench.rng.next() as u32 & 6);
        bench.seen.clear();
        bench.tell(queue, &QUEUE_CONTROL, control);
        assert_eq!(bench.ask(queue, &QUEUE_STATUS), 1, "runs at once, to the host");
        // A doorbell that comes before or after the start: it rings behind it either way.
        let wait = bench.rng.below(60);
        bench.cycles(wait);
        bench.tell(queue, &FREE_PRODUCER, 7);
        bench.cycles(200);
        let mut expected: Vec<Seen> = words
            .iter()
            .map(|(index, word)| Seen::Config {
                queue,
                index: *index,
                data: bounded(*index, *word),
            })
            .collect();
        expected.push(Seen::Config { queue, index: 0, data: control });
        let seen: Vec<Seen> = bench.seen.iter().map(|s| s.1.clone()).collect();
        let (config, doorbells) = seen.split_at(expected.len());
        assert_eq!(config, expected, "round {round}");
        assert_eq!(doorbells.last(), Some(&Seen::Doorbell { queue, index: 7 }));
        assert!(doorbells.len() <= 2, "{doorbells:?}");
        // Rewriting what is enabled starts nothing.
        bench.tell(queue, &QUEUE_CONTROL, control ^ 6);
        bench.cycles(100);
        assert_eq!(bench.seen.len(), seen.len());
        assert_eq!(bench.ask(queue, &QUEUE_CONTROL), control ^ 6);
        bench.tell(queue, &QUEUE_CONTROL, 0);
        bench.stopped(queue);
        assert_eq!(bench.ask(queue, &FREE_PRODUCER), 7, "stays until the next enable");
        bench.tell(queue, &QUEUE_CONTROL, 1);
        assert_eq!(bench.ask(queue, &FREE_PRODUCER), 0);
        bench.tell(queue, &QUEUE_CONTROL, 0);
        bench.stopped(queue);
    }
}

#[test]
fn status_registers_are_those_of_the_neighbours() {
    let mut bench = Bench::new(32, 8);
    for queue in 0..32 {
        bench.queues[queue].fetched = 1000 + queue as u16;
        bench.queues[queue].taken = 1000 + queue as u16;
        bench.queues[queue].produced = 40_000 + queue as u16;
    }
    for queue in 0..32 {
        assert_eq!(bench.ask(queue, &FREE_CONSUMER), 1000 + queue as u32);
        assert_eq!(bench.ask(queue, &COMPLETION_PRODUCER), 40_000 + queue as u32);
        bench.fault = 1 << queue;
        assert_eq!(bench.ask(queue, &QUEUE_STATUS), 2);
        bench.fault = 0;
        assert_eq!(bench.ask(queue, &QUEUE_STATUS), 0);
    }
}

#[test]
fn counters_count_every_event() {
    let mut bench = Bench::new(32, 9);
    let mut counts = [[0u32; 3]; 32];
    for round in 0..400 {
        for _ in 0..bench.rng.below(40) {
            for (kind, event) in bench.events.iter_mut().enumerate() {
                if bench.rng.chance(40) {
                    let queue = bench.rng.pick(&[0, 5, 5, 31]);
                    *event = Some(queue);
                    counts[queue][kind] += 1;
                }
            }
            bench.cycle();
        }
        bench.cycles(6);
        // Events in the very cycles of the access.
        let queue = bench.rng.pick(&[0, 5, 31]);
        bench.steady = Some(queue);
        let before = bench.steady_events;
        let seen = bench.ask(queue, &QUEUE_NO_BUFFER);
        bench.steady = None;
        let during = bench.steady_events - before;
        assert!((counts[queue][0]..=counts[queue][0] + during).contains(&seen), "round {round}");
        counts[queue][0] += during;
        if round % 20 == 19 {
            bench.cycles(80);
            for queue in [0, 5, 6, 31] {
                let [no_buffer, writes, reads] = counts[queue];
                assert_eq!(bench.ask(queue, &QUEUE_NO_BUFFER), no_buffer, "{queue}");
                assert_eq!(bench.ask(queue, &QUEUE_DMA_ERRORS), writes + reads, "{queue}");
            }
        }
    }
}

/// Token kinds that the pipeline took for a queue, with their cycles.
fn tokens_of(bench: &Bench, queue: usize) -> Vec<(u8, u64)> {
    bench.tokens.iter().filter(|t| t.queue == queue).map(|t| (t.kind, t.cycle)).collect()
}

/// In exact periods, at most 64 cycles and the tokens' way late, FlushOld in front of Tick.
#[test]
fn ticks_come_in_time() {
    let mut bench = Bench::new(32, 10);
    let times = [(0, 1u32), (7, 2), (31, 5)];
    for (queue, time) in times {
        bench.tell(queue, &HOLD, time);
        bench.enable(queue);
    }
    bench.enable(3);
    bench.tell(3, &HOLD, 0);
    let begun = bench.dut.cycle();
    let length = 40_960;
    bench.cycles(length);
    for (queue, time) in times {
        let tokens = tokens_of(&bench, queue);
        let period = 1024 * u64::from(time);
        let ticks: Vec<u64> = tokens.chunks(2).map(|pair| pair[0].1).collect();
        let expected = length as u64 / period;
        assert!((expected - 1..=expected + 1).contains(&(ticks.len() as u64)), "{ticks:?}");
        for pair in tokens.chunks(2).filter(|p| p.len() == 2) {
            assert_eq!([pair[0].0, pair[1].0], [1, 2], "FlushOld, then Tick");
        }
        // Without drift: each is so late behind a grid through the first.
        for (i, tick) in ticks.iter().enumerate() {
            let late = (tick - ticks[0]) as i64 - (i as u64 * period) as i64;
            assert!((-80..=80).contains(&late), "queue {queue}, tick {i}: {late}");
        }
        assert!(ticks[0] + 400 > begun + period - 300 && ticks[0] < begun + period + 150);
    }
    assert!(tokens_of(&bench, 3).is_empty() && tokens_of(&bench, 4).is_empty());
    // A queue that does not run has none.
    bench.tell(0, &QUEUE_CONTROL, 0);
    bench.stopped(0);
    bench.tokens.clear();
    bench.cycles(3_000);
    assert!(tokens_of(&bench, 0).is_empty());
    assert!(!tokens_of(&bench, 7).is_empty());
}

#[test]
fn a_blocked_tick_waits() {
    let mut bench = Bench::new(4, 11);
    for queue in 0..4 {
        bench.tell(queue, &HOLD, 1);
        bench.enable(queue);
    }
    bench.cycles(1_500);
    bench.stall = 100;
    bench.cycles(20_000);
    bench.tokens.clear();
    bench.stall = 0;
    bench.cycles(700);
    for queue in 0..4 {
        let kinds: Vec<u8> = tokens_of(&bench, queue).iter().map(|t| t.0).collect();
        assert!([&[1, 2][..], &[1, 2, 1, 2]].contains(&&kinds[..]), "queue {queue}: {kinds:?}");
    }
}

#[test]
fn tokens_take_turns() {
    let mut bench = Bench::new(16, 12);
    bench.stall = 60;
    for queue in 0..16 {
        bench.tell(queue, &HOLD, 1);
        bench.tell(queue, &MODERATION, 1 << 16 | 200);
        bench.enable(queue);
    }
    // More from the pins than can pass: queues 16 to 31, which were not built.
    let outside: Vec<(usize, u8)> = (0..2_000).map(|i| (16 + i % 16, (i % 3) as u8)).collect();
    bench.outside = outside.iter().copied().collect();
    let begun = bench.dut.cycle();
    let mut completed = 0;
    while !bench.outside.is_empty() {
        if bench.dut.cycle().is_multiple_of(50) {
            bench.complete(completed % 16);
            completed += 1;
        }
        if bench.dut.cycle().is_multiple_of(400) {
            let queue = completed % 16;
            let produced = bench.queues[queue].produced;
            bench.tell(queue, &COMPLETION_CONSUMER, produced.into());
        }
        bench.cycle();
    }
    let cycles = (bench.dut.cycle() - begun) as usize;
    let passed: Vec<(usize, u8)> =
        bench.tokens.iter().filter(|t| t.queue >= 16).map(|t| (t.queue, t.kind)).collect();
    assert_eq!(passed, outside[..passed.len()], "in order");
    assert!(passed.len() >= outside.len() - 1);
    // The timers had their turns: a tick for each queue and period, less one.
    for queue in 0..16 {
        let ticks = tokens_of(&bench, queue).iter().filter(|t| t.0 == 2).count();
        assert!(ticks + 2 >= cycles / 1024, "queue {queue}: {ticks} ticks in {cycles} cycles");
    }
    assert!(bench.tokens.iter().filter(|t| t.queue < 16 && t.kind == 0).count() > 20, "expiries");
    // FlushOld and Tick are neighbours.
    for (i, token) in bench.tokens.iter().enumerate().filter(|(_, t)| t.queue < 16 && t.kind == 1) {
        let next = bench.tokens.get(i + 1).map(|t| (t.queue, t.kind));
        assert!(next.is_none_or(|n| n == (token.queue, 2)), "{next:?} behind {token:?}");
    }
}

/// The marker of a FlushAll from the pins, of the same queue, is not that of the expiry.
#[test]
fn markers_find_their_source() {
    let mut bench = Bench::new(8, 13);
    bench.latency = 400;
    bench.tell(6, &MODERATION, 2 << 16 | 200);
    bench.enable(6);
    for round in 0..10 {
        let produced = bench.queues[6].produced;
        bench.tell(6, &COMPLETION_CONSUMER, produced.into());
        bench.vectors.clear();
        bench.markers.clear();
        let outside = 1 + round % 4;
        bench.outside.extend(vec![(6, 0); outside]);
        bench.complete(6);
        for _ in 0..2_500 {
            bench.queues[6].held += u16::from(bench.vectors.is_empty() && bench.rng.chance(1));
            bench.cycle();
        }
        assert_eq!(bench.markers.len(), outside + 1);
        let [(vector, 6)] = bench.vectors[..] else { panic!("{:?}", bench.vectors) };
        let own = bench.markers[outside].0;
        assert!((own..own + 30).contains(&vector), "{vector}: {:?}", bench.markers);
    }
}

/// Two queues run, with surroundings of this round, for up to 500 cycles.
fn run_two(bench: &mut Bench, queues: [usize; 2]) {
    bench.stall = bench.rng.pick(&[0, 30, 80]);
    bench.slow = bench.rng.pick(&[0, 50, 90]);
    bench.latency = bench.rng.pick(&[10, 60, 300]);
    let empty = bench.rng.chance(20);
    for queue in queues {
        bench.enable(queue);
        if !empty {
            bench.tell(queue, &FREE_PRODUCER, 80);
        }
    }
    for _ in 0..bench.rng.below(500) {
        bench.traffic();
        if bench.rng.chance(2) {
            bench.outside.push_back((queues[0], 0));
        }
        bench.cycle();
    }
}

/// Disables a queue; `true`: a fault came before or behind that.
fn disable(bench: &mut Bench, queue: usize) -> bool {
    let fault = bench.rng.chance(40);
    let first = bench.rng.chance(50);
    for faults in [first, !first] {
        if fault && faults {
            bench.fault |= 1 << queue;
            let wait = bench.rng.below(300);
            bench.cycles(wait);
        }
        if !faults {
            bench.tell(queue, &QUEUE_CONTROL, 0);
            let wait = bench.rng.below(300);
            bench.cycles(wait);
        }
    }
    fault
}

/// Enables a queue that stops: it starts anew behind that.
fn restart(bench: &mut Bench, queue: usize) {
    let starts = bench.queues[queue].starts;
    bench.tell(queue, &QUEUE_CONTROL, 1);
    bench.tell(queue, &FREE_PRODUCER, 5);
    for _ in 0..8_000 {
        bench.traffic();
        bench.cycle();
        if bench.queues[queue].starts > starts {
            break;
        }
    }
    assert_eq!(bench.queues[queue].starts, starts + 1);
    bench.cycles(60);
    assert_eq!(bench.queues[queue].posted, 5, "the doorbell is repeated");
    assert_eq!(bench.ask(queue, &QUEUE_STATUS), 1, "no fault any more");
    bench.tell(queue, &QUEUE_CONTROL, 0);
}

/// With traffic, reads under way, an empty ring, a fault at any time; enabled again at once.
#[test]
fn a_queue_stops_from_every_state() {
    let (mut faults, mut restarts) = (0, 0);
    let mut bench = Bench::new(8, 14);
    for round in 0..150 {
        let queue = bench.rng.below(8);
        let other = (queue + 1) % 8;
        run_two(&mut bench, [queue, other]);
        faults += usize::from(disable(&mut bench, queue));
        if bench.rng.chance(40) {
            restart(&mut bench, queue);
            restarts += 1;
        }
        bench.stopped(queue);
        assert_eq!(bench.get("closing") >> queue & 1, 0);
        let status = bench.ask(queue, &QUEUE_STATUS);
        assert_eq!(status >> 1, u32::from(bench.fault >> queue & 1 == 1), "round {round}");
        bench.tell(other, &QUEUE_CONTROL, 0);
        bench.stopped(other);
    }
    let quiet: u32 = bench.queues.iter().map(|q| q.quiet).sum();
    let drained: u32 = bench.queues.iter().map(|q| q.drained).sum();
    assert!(bench.stops >= 300, "{}", bench.stops);
    assert!(
        faults > 20 && restarts > 20 && quiet > 20 && drained > 500,
        "{faults} {restarts} {quiet} {drained}"
    );
}

/// A fault stops a queue that the host leaves enabled; it signals what was written before.
#[test]
fn a_fault_stops_the_queue_and_signals() {
    let mut bench = Bench::new(4, 15);
    bench.tell(2, &MODERATION, 100);
    bench.enable(2);
    bench.tell(2, &FREE_PRODUCER, 16);
    (0..2_000).for_each(|_| {
        bench.traffic();
        bench.cycle();
    });
    bench.vectors.clear();
    let produced = bench.queues[2].produced;
    bench.tell(2, &COMPLETION_CONSUMER, produced.wrapping_sub(1).into());
    bench.cycles(10);
    bench.vectors.clear();
    bench.tell(2, &COMPLETION_CONSUMER, produced.into());
    bench.complete(2);
    bench.cycles(5);
    assert!(bench.vectors.is_empty(), "the count is not reached");
    bench.fault = 1 << 2;
    bench.cycles(3_000);
    assert_eq!(bench.ask(2, &QUEUE_STATUS), 2);
    assert_eq!(bench.vectors.iter().map(|v| v.1).collect::<Vec<_>>(), [2]);
    // Whoever arms behind it learns of it, though nothing is new.
    bench.vectors.clear();
    let produced = bench.queues[2].produced;
    bench.tell(2, &COMPLETION_CONSUMER, produced.into());
    bench.cycles(300);
    assert_eq!(bench.vectors.iter().map(|v| v.1).collect::<Vec<_>>(), [2]);
    // Only an edge of enable clears it.
    bench.tell(2, &QUEUE_CONTROL, 5);
    bench.cycles(300);
    assert_eq!(bench.ask(2, &QUEUE_STATUS), 2);
    bench.tell(2, &QUEUE_CONTROL, 0);
    bench.enable(2);
    assert_eq!(bench.ask(2, &QUEUE_STATUS), 1);
}

/// What four queues' registers must be.
struct Words {
    words: [[u32; 32]; 4],
    rows: Vec<&'static Register>,
    toggles: usize,
}

impl Words {
    fn new() -> Self {
        let rows: Vec<&Register> =
            nic::REGISTERS.iter().filter(|r| r.access == Access::ReadWrite).collect();
        let mut words = [[0; 32]; 4];
        for queue in &mut words {
            rows.iter().for_each(|r| queue[r.offset / 4] = r.reset);
        }
        Self { words, rows, toggles: 0 }
    }

    /// A random write. Addresses and sizes stay from an enable on until it has settled.
    fn write(&mut self, bench: &mut Bench, fresh: &mut [bool; 4]) {
        let queue = bench.rng.below(4);
        let picked = bench.rng.pick(&self.rows);
        let row = if bench.rng.chance(30) { &QUEUE_CONTROL } else { picked };
        let index = row.offset / 4;
        let words = &mut self.words[queue];
        if (2..10).contains(&index) && (fresh[queue] || words[0] & 1 == 1) {
            return;
        }
        let mut value = bench.rng.next() as u32;
        if row.name == "FREE_PRODUCER" {
            value = u32::from(bench.queues[queue].fetched) + value % 16;
        }
        let before = words[0] & 1;
        bench.tell(queue, row, value);
        words[index] = value & row.mask();
        if index == 0 {
            self.toggles += usize::from(value & 1 != before);
            fresh[queue] |= value & 1 == 1;
            if value & 1 == 1 && before == 0 {
                words[FREE_PRODUCER.offset / 4] = 0;
                words[COMPLETION_CONSUMER.offset / 4] = 0;
            }
        }
    }

    /// All of a queue that has settled.
    fn check(&self, bench: &mut Bench, queue: usize, round: usize) {
        let at = format!("round {round}, queue {queue}");
        let words = &self.words[queue];
        for row in &self.rows {
            assert_eq!(bench.ask(queue, row), words[row.offset / 4], "{at}: {}", row.name);
        }
        let enabled = words[0] & 1;
        assert_eq!(bench.ask(queue, &QUEUE_STATUS), enabled, "{at}");
        assert_eq!((bench.get("running") >> queue & 1) as u32, enabled, "{at}");
        assert_eq!(bench.get("closing"), 0, "{at}");
        if enabled == 1 {
            let neighbour = &bench.queues[queue];
            assert_eq!(u32::from(neighbour.posted), words[FREE_PRODUCER.offset / 4], "{at}");
            for (index, word) in words.iter().enumerate().take(10).skip(2) {
                assert_eq!(neighbour.settings[index], bounded(index, *word), "{at}: {index}");
            }
        }
    }
}

/// Random accesses to four queues, with traffic; whenever they have settled, registers, run state
/// and what the neighbours were told are those of a model.
#[test]
fn random_accesses_equal_the_model() {
    let mut bench = Bench::new(4, 16);
    let mut model = Words::new();
    for round in 0..120 {
        bench.stall = bench.rng.pick(&[0, 0, 50]);
        let mut fresh = [false; 4];
        for _ in 0..bench.rng.below(30) {
            model.write(&mut bench, &mut fresh);
            if bench.rng.chance(50) {
                for _ in 0..bench.rng.below(40) {
                    bench.traffic();
                    bench.cycle();
                }
            }
        }
        bench.stall = 0;
        // What is being fetched lands, and everything that has to stop stops.
        for _ in 0..1_000 {
            bench.traffic();
            bench.cycle();
        }
        bench.cycles(3_000);
        (0..4).for_each(|queue| model.check(&mut bench, queue, round));
    }
    assert!(model.toggles > 200, "{}", model.toggles);
}
