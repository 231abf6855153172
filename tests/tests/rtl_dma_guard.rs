//! The guard under Verilator, between a function that is reset at any time and a slow AXI fabric.

mod rtl_support;

use std::collections::VecDeque;

use groove_hdl::blocks::dma_guard::DmaGuard;
use groove_hdl::emit::{Design, emit};
use groove_verilator::Dut;
use rtl_support::{Drain, Feed, Rng, pack, set, start};

const ADDRESS: [&str; 5] = ["id", "addr", "len", "size", "burst"];

fn channel(prefix: &str, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("{prefix}{name}")).collect()
}

/// What the function has asked for and not yet been answered: id, address, beats.
type Asked = (u32, u64, u64);

struct Function {
    aw: Feed,
    w: Feed,
    ar: Feed,
    writes: VecDeque<Asked>,
    reads: VecDeque<Asked>,
    /// Addresses still in the feeds.
    next_writes: VecDeque<Asked>,
    next_reads: VecDeque<Asked>,
    beats_read: u64,
    next_tag: u64,
    answered: usize,
}

impl Function {
    fn new(dut: &Dut) -> Self {
        let feed = |name: &str, prefix: &str, fields: &[&str]| {
            let fields = channel(prefix, fields);
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            let handshake = [format!("{prefix}valid"), format!("{prefix}ready")];
            Feed::with(dut, name, &fields, [&handshake[0], &handshake[1]])
        };
        Self {
            aw: feed("write", "aw", &ADDRESS),
            w: feed("write", "w", &["data", "strb", "last"]),
            ar: feed("read", "ar", &ADDRESS),
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            next_writes: VecDeque::new(),
            next_reads: VecDeque::new(),
            beats_read: 0,
            next_tag: 1,
            answered: 0,
        }
    }

    /// A burst; its address is its number, its beats carry the number and their own.
    fn ask(&mut self, rng: &mut Rng, most_beats: usize, width_bytes: usize) {
        let (tag, beats) = (self.next_tag, 1 + rng.below(most_beats) as u64);
        self.next_tag += 1;
        let write = rng.chance(70);
        let id = if write { rng.below(2) as u32 } else { 2 };
        let address = vec![
            vec![id],
            pack(&[(tag << 12, 64)]),
            vec![beats as u32 - 1],
            vec![width_bytes.ilog2()],
            vec![1],
        ];
        if write {
            self.aw.records.push_back(address);
            self.next_writes.push_back((id, tag, beats));
            for beat in 0..beats {
                let mut data = vec![0; width_bytes / 4];
                (data[0], data[1]) = (tag as u32, beat as u32);
                let strobes = pack(&vec![(1, 1); width_bytes]);
                self.w.records.push_back(vec![data, strobes, vec![(beat + 1 == beats).into()]]);
            }
        } else {
            self.ar.records.push_back(address);
            self.next_reads.push_back((id, tag, beats));
        }
    }

    /// Moves what the guard has taken from "to ask" to "asked".
    fn note(&mut self) {
        while self.next_writes.len() > self.aw.records.len() {
            self.writes.extend(self.next_writes.pop_front());
        }
        while self.next_reads.len() > self.ar.records.len() {
            self.reads.extend(self.next_reads.pop_front());
        }
    }

    fn reset(&mut self) {
        for feed in [&mut self.aw, &mut self.w, &mut self.ar] {
            feed.clear();
        }
        for list in [&mut self.writes, &mut self.reads, &mut self.next_writes, &mut self.next_reads]
        {
            list.clear();
        }
        self.beats_read = 0;
    }

    /// What the guard lets through in this cycle.
    fn answers(&mut self, dut: &Dut, ready: [bool; 2]) {
        let read = |name: &str| dut.read(dut.port(name).expect("an output"));
        if ready[0] && read("write_bvalid") == 1 {
            let (id, ..) = self.writes.pop_front().expect("a response to a write of ours");
            assert_eq!(read("write_bid"), u64::from(id));
            self.answered += 1;
        }
        if ready[1] && read("read_rvalid") == 1 {
            let (id, tag, beats) = *self.reads.front().expect("a beat of a read of ours");
            let mut data = [0; 16];
            dut.read_words(dut.port("read_rdata").expect("an output"), &mut data[..dut_words(dut)]);
            assert_eq!(read("read_rid"), u64::from(id));
            assert_eq!((data[0], data[1]), (tag as u32, self.beats_read as u32));
            self.beats_read += 1;
            assert_eq!(read("read_rlast") == 1, self.beats_read == beats);
            if self.beats_read == beats {
                self.reads.pop_front();
                self.beats_read = 0;
                self.answered += 1;
            }
        }
    }
}

fn dut_words(dut: &Dut) -> usize {
    dut.width(dut.port("read_rdata").expect("an output")) / 32
}

struct Fabric {
    aw: Drain,
    w: Drain,
    ar: Drain,
    b: Feed,
    r: Feed,
    open: VecDeque<(Asked, bool)>,
    due: VecDeque<(u64, u32)>,
    reads: VecDeque<(u64, Asked)>,
    fillers: usize,
}

impl Fabric {
    fn new(dut: &Dut) -> Self {
        let drain = |prefix: &str, fields: &[&str]| {
            let fields = channel(prefix, fields);
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            let handshake = [format!("{prefix}valid"), format!("{prefix}ready")];
            Drain::with(dut, "axi", &fields, [&handshake[0], &handshake[1]])
        };
        Self {
            aw: drain("aw", &ADDRESS),
            w: drain("w", &["data", "strb", "last"]),
            ar: drain("ar", &ADDRESS),
            b: Feed::with(dut, "axi", &["bid", "bresp"], ["bvalid", "bready"]),
            r: Feed::with(dut, "axi", &["rid", "rdata", "rresp", "rlast"], ["rvalid", "rready"]),
            open: VecDeque::new(),
            due: VecDeque::new(),
            reads: VecDeque::new(),
            fillers: 0,
        }
    }

    /// `clean_from`: bursts from this number on have seen no reset.
    fn serve(&mut self, rng: &mut Rng, now: u64, latency: usize, clean_from: u64, words: usize) {
        for record in std::mem::take(&mut self.aw.records) {
            let tag = (u64::from(record[1][0]) | u64::from(record[1][1]) << 32) >> 12;
            self.open.push_back(((record[0][0], tag, u64::from(record[2][0]) + 1), false));
        }
        for record in std::mem::take(&mut self.ar.records) {
            let tag = (u64::from(record[1][0]) | u64::from(record[1][1]) << 32) >> 12;
            let due = now + rng.below(latency + 1) as u64;
            self.reads.push_back((due, (record[0][0], tag, u64::from(record[2][0]) + 1)));
        }
        while let Some(((id, tag, beats), _)) = self.open.front().copied()
            && self.w.records.len() as u64 >= beats
        {
            self.open.pop_front();
            let burst: Vec<_> = self.w.records.drain(..beats as usize).collect();
            let mut filling = false;
            for (i, beat) in burst.iter().enumerate() {
                assert_eq!(beat[2][0] == 1, i + 1 == burst.len(), "WLAST ends the burst");
                filling |= beat[1][0] == 0;
                self.fillers += usize::from(filling);
                let expected = if filling { 0 } else { u32::MAX >> (32 - (4 * words).min(32)) };
                assert_eq!(beat[1][0], expected, "strobes");
                assert!(filling || (beat[0][0], beat[0][1]) == (tag as u32, i as u32), "mixed up");
            }
            assert!(!filling || tag < clean_from, "a filler without a reset");
            self.due.push_back((now + 1 + rng.below(latency + 1) as u64, id));
        }
        while let Some((due, id)) = self.due.front().copied()
            && due <= now
        {
            self.due.pop_front();
            self.b.records.push_back(vec![vec![id], vec![0]]);
        }
        while let Some((due, (id, tag, beats))) = self.reads.front().copied()
            && due <= now
        {
            self.reads.pop_front();
            for beat in 0..beats {
                let mut data = vec![0; words];
                (data[0], data[1]) = (tag as u32, beat as u32);
                let last = vec![u32::from(beat + 1 == beats)];
                self.r.records.push_back(vec![vec![id], data, vec![0], last]);
            }
        }
    }

    fn idle(&self) -> bool {
        self.open.is_empty()
            && self.w.records.is_empty()
            && self.due.is_empty()
            && self.reads.is_empty()
            && self.b.records.is_empty()
            && self.r.records.is_empty()
    }
}

struct Bench {
    dut: Dut,
    rng: Rng,
    function: Function,
    fabric: Fabric,
    width_bytes: usize,
    latency: usize,
    clean_from: u64,
    was_busy: bool,
    resets: usize,
}

impl Bench {
    fn new(design: &Design, width_bytes: usize) -> Self {
        let dut = start(design);
        let (function, fabric) = (Function::new(&dut), Fabric::new(&dut));
        Self {
            dut,
            rng: Rng(61),
            function,
            fabric,
            width_bytes,
            latency: 0,
            clean_from: 0,
            was_busy: false,
            resets: 0,
        }
    }

    fn cycle(&mut self, flr: bool, function_stall: u8) {
        set(&mut self.dut, "flr", flr.into());
        let ready = [(); 2].map(|()| !self.rng.chance(function_stall));
        set(&mut self.dut, "write_bready", ready[0].into());
        set(&mut self.dut, "read_rready", ready[1].into());
        let Self { dut, rng, function, fabric, .. } = self;
        // As `rtl_support::cycle`, with a look at the function's side in between.
        dut.settle().expect("runs");
        let before = dut.cycle();
        let mut feeds =
            [&mut function.aw, &mut function.w, &mut function.ar, &mut fabric.b, &mut fabric.r];
        rtl_support::present(
            dut,
            rng,
            &mut feeds,
            &mut [&mut fabric.aw, &mut fabric.w, &mut fabric.ar],
        );
        rtl_support::sample(dut, &mut feeds, &mut [&mut fabric.aw, &mut fabric.w, &mut fabric.ar]);
        function.note();
        function.answers(dut, ready);
        let busy = dut.read(dut.port("busy").expect("an output")) == 1;
        let reset = dut.read(dut.port("core_rst").expect("an output")) == 1;
        assert_eq!(busy, reset);
        if self.was_busy && !busy {
            assert!(fabric.idle() && fabric.aw.is_idle(), "released with bursts open");
        }
        self.resets += usize::from(busy && !self.was_busy);
        self.was_busy = busy;
        dut.edge().expect("runs");
        if busy {
            function.reset();
            self.clean_from = function.next_tag;
        }
        let (clean, words) = (self.clean_from, self.width_bytes / 4);
        fabric.serve(rng, before, self.latency, clean, words);
    }
}

fn ends(design: &Design, width_bytes: usize) {
    let mut bench = Bench::new(design, width_bytes);
    for (gap, stall, latency) in [(0, 0, 0), (20, 50, 30), (0, 80, 5), (70, 20, 100)] {
        bench.latency = latency;
        for feed in [&mut bench.function.aw, &mut bench.function.w, &mut bench.function.ar] {
            feed.gap = gap;
        }
        (bench.fabric.aw.stall, bench.fabric.w.stall, bench.fabric.ar.stall) =
            (stall, stall, stall);
        (bench.fabric.b.gap, bench.fabric.r.gap) = (stall, stall);
        let mut level = 0;
        for _ in 0..8000 {
            if bench.rng.chance(1) && bench.rng.chance(60) {
                level = bench.rng.pick(&[1, 1, 3, 60]);
            }
            if !bench.was_busy && bench.function.w.records.len() < 50 {
                let most = bench.rng.pick(&[1, 4, 40]);
                bench.function.ask(&mut bench.rng, most, width_bytes);
            }
            bench.cycle(level > 0, 20);
            level = i32::max(level - 1, 0);
        }
        let deadline = bench.dut.cycle() + 20_000;
        while bench.was_busy
            || !bench.function.writes.is_empty()
            || !bench.function.reads.is_empty()
            || !bench.function.next_writes.is_empty()
            || !bench.function.next_reads.is_empty()
        {
            assert!(bench.dut.cycle() < deadline, "stuck");
            bench.cycle(false, 20);
        }
    }
    assert!(bench.resets > 60 && bench.fabric.fillers > 100, "{}", bench.resets);
    assert!(bench.function.answered > 1000, "{}", bench.function.answered);
}

#[test]
fn guard_ends_every_burst() {
    ends(&emit("dma_guard", DmaGuard::<64, 8>::default()), 8);
    ends(&emit("dma_guard", DmaGuard::<512, 64>::default()), 64);
}

#[test]
fn guard_costs_no_throughput() {
    let mut bench = Bench::new(&emit("dma_guard", DmaGuard::<64, 8>::default()), 8);
    for (most, count) in [(1, 200), (16, 200)] {
        for _ in 0..count {
            bench.function.ask(&mut bench.rng, most, 8);
        }
        let beats = bench.function.w.records.len() as u64;
        let begin = bench.dut.cycle();
        while !bench.function.w.records.is_empty() {
            bench.cycle(false, 0);
        }
        let cycles = bench.dut.cycle() - begin;
        assert!(cycles <= beats + 6, "{beats} beats in {cycles} cycles");
    }
}
