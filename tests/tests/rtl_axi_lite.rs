//! The register port under Verilator: random requests in any order of channels, a slow bus behind.

mod rtl_support;

use std::collections::VecDeque;

use groove_hdl::blocks::axi_lite::AxiLite;
use groove_hdl::emit::emit;
use groove_verilator::Dut;
use rtl_support::{Drain, Feed, Rng, cycle, set, start};

const OKAY: u64 = 0;
const SLVERR: u64 = 2;

/// A request, and whether it may reach the bus.
#[derive(Clone, Copy, Debug)]
struct Request {
    address: u64,
    data: u64,
    good: bool,
}

struct Bench {
    dut: Dut,
    rng: Rng,
    aw: Feed,
    w: Feed,
    ar: Feed,
    b: Drain,
    r: Drain,
    /// Good requests that have not reached the bus.
    writes: VecDeque<Request>,
    reads: VecDeque<Request>,
    /// Expected responses: code, then code and data.
    write_responses: VecDeque<Request>,
    read_responses: VecDeque<Request>,
    read_data: VecDeque<u64>,
    written: usize,
    /// Kinds of accesses, in order: whether they write.
    accesses: Vec<bool>,
    held: u64,
    interrupted: usize,
    waits: Option<[u64; 3]>,
}

impl Bench {
    fn new() -> Self {
        let dut = start(&emit("axi_lite", AxiLite::default()));
        Self {
            aw: Feed::with(&dut, "s", &["awaddr"], ["awvalid", "awready"]),
            w: Feed::with(&dut, "s", &["wdata", "wstrb"], ["wvalid", "wready"]),
            ar: Feed::with(&dut, "s", &["araddr"], ["arvalid", "arready"]),
            b: Drain::with(&dut, "s", &["bresp"], ["bvalid", "bready"]),
            r: Drain::with(&dut, "s", &["rdata", "rresp"], ["rvalid", "rready"]),
            dut,
            rng: Rng(51),
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            write_responses: VecDeque::new(),
            read_responses: VecDeque::new(),
            read_data: VecDeque::new(),
            written: 0,
            accesses: Vec::new(),
            held: 0,
            interrupted: 0,
            waits: None,
        }
    }

    fn request(&mut self, write: bool, good_percent: u8) {
        let mut address = self.rng.next() & 0xfffc;
        let (mut strobes, data) = (0xf, self.rng.next() & 0xffff_ffff);
        let good = self.rng.chance(good_percent);
        if !good && write && self.rng.chance(50) {
            strobes = self.rng.below(15) as u32;
        } else if !good {
            address |= 1 + self.rng.below(3) as u64;
        }
        let request = Request { address, data, good };
        if write {
            self.aw.records.push_back(vec![vec![address as u32]]);
            self.w.records.push_back(vec![vec![data as u32], vec![strobes]]);
            self.writes.extend(good.then_some(request));
            self.write_responses.push_back(request);
        } else {
            self.ar.records.push_back(vec![vec![address as u32]]);
            self.reads.extend(good.then_some(request));
            self.read_responses.push_back(request);
        }
    }

    fn read(&self, name: &str) -> u64 {
        self.dut.read(self.dut.port(name).expect("an output"))
    }

    /// The bus in this cycle: presents its answer and checks the access that ends.
    fn bus(&mut self, ready_percent: u8, hold_percent: u8) {
        if self.held == 0 && self.rng.chance(hold_percent) {
            self.held = 1 + self.rng.below(10) as u64;
        }
        let hold = self.held > 0;
        self.held = self.held.saturating_sub(1);
        let (ready, rdata) = (self.rng.chance(ready_percent), self.rng.next() & 0xffff_ffff);
        set(&mut self.dut, "hold", hold.into());
        set(&mut self.dut, "m_ready", ready.into());
        set(&mut self.dut, "m_rdata", rdata);
        self.dut.settle().expect("runs");
        let mut access = ["m_write", "m_addr", "m_wdata"].map(|name| self.read(name));
        // The data of a read mean nothing.
        access[2] *= access[0];
        if self.read("m_valid") == 0 {
            assert!(hold || self.waits.is_none(), "an access that waited is gone");
            self.interrupted += usize::from(self.waits.take().is_some());
            return;
        }
        assert!(!hold, "an access while held");
        if let Some(waiting) = self.waits {
            assert_eq!(waiting, access, "an access that waited has changed");
        }
        self.waits = (!ready).then_some(access);
        if !ready {
            return;
        }
        let write = access[0] == 1;
        self.accesses.push(write);
        if write {
            let next = self.writes.pop_front().expect("a good write");
            assert_eq!((access[1], access[2]), (next.address, next.data));
            self.written += 1;
        } else {
            assert_eq!(access[1], self.reads.pop_front().expect("a good read").address);
            self.read_data.push_back(rdata);
        }
    }

    fn cycle(&mut self, ready_percent: u8, hold_percent: u8) {
        self.bus(ready_percent, hold_percent);
        let (b, r) = (self.b.records.len(), self.r.records.len());
        cycle(
            &mut self.dut,
            &mut self.rng,
            &mut [&mut self.aw, &mut self.w, &mut self.ar],
            &mut [&mut self.b, &mut self.r],
        );
        for record in &self.b.records[b..] {
            let request = self.write_responses.pop_front().expect("a response per write");
            assert_eq!(u64::from(record[0][0]), if request.good { OKAY } else { SLVERR });
            if request.good {
                assert!(self.written > 0, "responded before it was written");
                self.written -= 1;
            }
        }
        for record in &self.r.records[r..] {
            let request = self.read_responses.pop_front().expect("a response per read");
            let expected = match request.good {
                true => (self.read_data.pop_front().expect("was read"), OKAY),
                false => (0, SLVERR),
            };
            assert_eq!((u64::from(record[0][0]), u64::from(record[1][0])), expected);
        }
    }

    fn finish(&mut self, ready_percent: u8, hold_percent: u8) {
        let deadline = self.dut.cycle() + 100_000;
        while !self.write_responses.is_empty() || !self.read_responses.is_empty() {
            assert!(self.dut.cycle() < deadline, "stuck");
            self.cycle(ready_percent, hold_percent);
        }
        assert!(self.writes.is_empty() && self.reads.is_empty() && self.read_data.is_empty());
    }
}

#[test]
fn axi_lite_answers_everything() {
    let mut bench = Bench::new();
    for (gap, stall, ready, hold) in
        [(0, 0, 100, 0), (60, 0, 50, 0), (0, 60, 30, 5), (40, 40, 40, 3)]
    {
        (bench.aw.gap, bench.w.gap, bench.ar.gap) = (gap, gap, gap);
        (bench.b.stall, bench.r.stall) = (stall, stall);
        for _ in 0..500 {
            let write = bench.rng.chance(50);
            bench.request(write, 85);
        }
        bench.finish(ready, hold);
    }
    assert!(bench.interrupted > 10, "{} accesses were interrupted", bench.interrupted);
    assert!(bench.accesses.len() > 1000);
}

#[test]
fn axi_lite_takes_turns() {
    let mut bench = Bench::new();
    for _ in 0..100 {
        bench.request(true, 100);
        bench.request(false, 100);
    }
    let begin = bench.dut.cycle();
    bench.finish(100, 0);
    assert_eq!(bench.accesses.len(), 200);
    let same = bench.accesses.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(same <= 2, "{same} times the same side went twice");
    assert!(bench.dut.cycle() - begin < 600, "{} cycles", bench.dut.cycle() - begin);
}
