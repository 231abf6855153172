//! Registers, memories, FIFO and wiring helpers under Verilator against small models.

mod rtl_support;

use std::collections::VecDeque;

use groove_hdl::blocks::bits::{Join, Pack};
use groove_hdl::blocks::deep_fifo::DeepFifo;
use groove_hdl::blocks::fifo::Fifo;
use groove_hdl::blocks::frame_fifo::StoredInfo;
use groove_hdl::blocks::keep::KeepCount;
use groove_hdl::blocks::ram::Ram;
use groove_hdl::blocks::reg::{RegE, RegInit, RegR};
use groove_hdl::emit::{Design, emit};
use groove_verilator::{Dut, Source};
use rtl_support::{Rng, set, start};

fn read(dut: &Dut, name: &str) -> u64 {
    dut.read(dut.port(name).expect("an output"))
}

/// The register's value after each of 200 random cycles is that of `step(reset, enable, d, q)`.
fn follows(design: &Design, enabled: bool, mut q: u64, step: fn(bool, bool, u64, u64) -> u64) {
    let mut rng = Rng(31);
    let mut dut = start(design);
    if enabled {
        set(&mut dut, "en", 1);
        set(&mut dut, "d", q);
        dut.clock().expect("runs");
    }
    for _ in 0..200 {
        let (reset, enable, d) = (rng.chance(20), rng.chance(50), rng.next() & 0xff);
        set(&mut dut, "cr_rst", reset.into());
        set(&mut dut, "d", d);
        if enabled {
            set(&mut dut, "en", enable.into());
        }
        dut.settle().expect("runs");
        assert_eq!(read(&dut, "q"), q);
        dut.edge().expect("runs");
        q = step(reset, enable, d, q);
    }
}

#[test]
fn registers_follow_their_model() {
    let reset = emit("reg_r", RegR::<StoredInfo>::default());
    follows(&reset, false, 0, |reset, _, d, _| if reset { 0 } else { d });
    let to = StoredInfo { last: true, ..Default::default() };
    let init = emit("reg_init", RegInit::new(to));
    follows(&init, false, 0x80, |reset, _, d, _| if reset { 0x80 } else { d });
    let enable = emit("reg_e", RegE::<StoredInfo>::default());
    follows(&enable, true, 0, |_, enable, d, q| if enable { d } else { q });
}

#[test]
fn ram_holds_without_read_enable() {
    let mut rng = Rng(32);
    // 24 words: the address has five bits, the port six.
    let mut dut = start(&emit("ram", Ram::<StoredInfo, 6>::new(24)));
    let mut words: Vec<Option<u64>> = vec![None; 24];
    let mut last = None;
    for _ in 0..3000 {
        let (raddr, waddr) = (rng.below(24), rng.below(24));
        let (ren, wen, wdata) = (rng.chance(50), rng.chance(50), rng.next() & 0xff);
        for (name, value) in [
            ("raddr", raddr as u64),
            ("waddr", waddr as u64),
            ("ren", ren.into()),
            ("wen", wen.into()),
            ("wdata", wdata),
        ] {
            set(&mut dut, name, value);
        }
        dut.settle().expect("runs");
        if let Some(word) = last {
            assert_eq!(read(&dut, "rdata"), word);
        }
        dut.edge().expect("runs");
        if ren {
            // A word that is being written reads as anything.
            last = words[raddr].filter(|_| !(wen && raddr == waddr));
        }
        if wen {
            words[waddr] = Some(wdata);
        }
    }
}

struct FifoRun {
    dut: Dut,
    rng: Rng,
    queue: VecDeque<u64>,
}

impl FifoRun {
    /// One cycle; returns whether a word went in and whether one came out.
    fn cycle(&mut self, offer: bool, take: bool) -> (bool, bool) {
        let word = self.rng.next() & 0xff;
        set(&mut self.dut, "s_data", word);
        set(&mut self.dut, "s_valid", offer.into());
        set(&mut self.dut, "m_ready", take.into());
        self.dut.settle().expect("runs");
        let put = offer && read(&self.dut, "s_ready") == 1;
        let got = take && read(&self.dut, "m_valid") == 1;
        if read(&self.dut, "m_valid") == 1 {
            assert_eq!(Some(&read(&self.dut, "m_data")), self.queue.front(), "oldest word");
        }
        if got {
            self.queue.pop_front();
        }
        if put {
            self.queue.push_back(word);
        }
        self.dut.edge().expect("runs");
        (put, got)
    }
}

fn fifo() -> FifoRun {
    run_of(&emit("fifo_dut", Fifo::<StoredInfo, 2>::default()))
}

fn run_of(design: &Design) -> FifoRun {
    let dut = start(design);
    FifoRun { dut, rng: Rng(33), queue: VecDeque::new() }
}

#[test]
fn fifo_matches_a_queue() {
    let mut run = fifo();
    let mut passed = 0;
    for (offer, take) in [(50, 50), (90, 30), (30, 90), (100, 100)] {
        for _ in 0..1000 {
            let (offer, take) = (run.rng.chance(offer), run.rng.chance(take));
            passed += usize::from(run.cycle(offer, take).1);
            assert!(run.queue.len() <= 5, "4 words and one in the output register");
        }
    }
    assert!(passed > 1900, "{passed} words passed");
    // It streams: one word each cycle, once it runs.
    assert!((0..100).all(|_| run.cycle(true, true) == (true, true)));
}

#[test]
fn deep_fifo_matches_a_queue() {
    let mut run = run_of(&emit("deep", DeepFifo::<StoredInfo, 4>::default()));
    let mut passed = 0;
    for (offer, take) in [(50, 50), (90, 30), (100, 0), (30, 90), (0, 100), (100, 100)] {
        for _ in 0..1000 {
            let (offer, take) = (run.rng.chance(offer), run.rng.chance(take));
            passed += usize::from(run.cycle(offer, take).1);
        }
        match (offer, take) {
            (100, 0) => assert!(run.queue.len() > 16, "16 words in the RAM, more behind"),
            (0, 100) => assert!(run.queue.is_empty(), "nothing is left over"),
            _ => {}
        }
    }
    assert!(passed > 1900, "{passed} words passed");
    assert!((0..100).all(|_| run.cycle(true, true) == (true, true)));
}

/// Flags count the words in the RAM: `half` from 2 of 4 on, `almost` from 3 on.
#[test]
fn fifo_levels() {
    let mut run = fifo();
    for words in 1..=5u64 {
        assert!(run.cycle(true, false).0, "word {words} finds room");
        run.cycle(false, false);
        run.dut.settle().expect("runs");
        let stored = words - 1;
        assert_eq!(read(&run.dut, "half"), u64::from(stored >= 2), "{words} words");
        assert_eq!(read(&run.dut, "almost"), u64::from(stored >= 3), "{words} words");
    }
    assert!(!run.cycle(true, false).0, "no room for a sixth word");
}

fn combinational(design: &Design) -> Dut {
    let source = Source { top: &design.top, verilog: &design.verilog, trace: false };
    Dut::build(&source).expect("the module builds")
}

#[test]
fn pack_orders_lanes() {
    let lanes = [0x11, 0x22, 0x33, 0x44];
    for design in
        [emit("lanes", Pack::<16, 4, 64>::default()), emit("lanes", Join::<16, 64>::default())]
    {
        let mut dut = combinational(&design);
        for (i, lane) in lanes.iter().enumerate() {
            set(&mut dut, &format!("i_{i}"), *lane);
        }
        dut.settle().expect("runs");
        assert_eq!(read(&dut, "o"), 0x0044_0033_0022_0011);
    }
}

#[test]
fn keep_count_is_a_popcount() {
    let mut wide = combinational(&emit("count", KeepCount::<64>::default()));
    let mut narrow = combinational(&emit("count", KeepCount::<8>::default()));
    for ones in 1..=64u64 {
        set(&mut wide, "keep", u64::MAX >> (64 - ones));
        wide.settle().expect("runs");
        assert_eq!(read(&wide, "bytes"), ones);
        if ones <= 8 {
            set(&mut narrow, "keep", 0xff >> (8 - ones));
            narrow.settle().expect("runs");
            assert_eq!(read(&narrow, "bytes"), ones);
        }
    }
}
