//! What the tests of single hardware modules share: valid/ready streams under random gaps and
//! stalls.
//!
//!   Feed ──► module ──► Drain: every record taken, in order; data held still while it waits

// Each test binary uses a part of it.
#![allow(dead_code)]

pub mod frames;
pub mod trains;

use std::collections::VecDeque;

use groove_hdl::emit::Design;
use groove_spec::Layout;
use groove_verilator::{Dut, Port, Source};

/// SplitMix64: small, seeded, the same everywhere.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// 0 to `bound` - 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
    pub fn chance(&mut self, percent: u8) -> bool {
        self.below(100) < usize::from(percent)
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// One record: the words of each field.
pub type Record = Vec<Vec<u32>>;

/// Builds the design, resets it.
pub fn start(design: &Design) -> Dut {
    let source = Source { top: &design.top, verilog: &design.verilog, trace: false };
    let mut dut = Dut::build(&source).expect("the module builds");
    let reset = dut.port("cr_rst").expect("a reset");
    dut.set(reset, 1);
    for _ in 0..3 {
        dut.clock().expect("runs");
    }
    dut.set(reset, 0);
    dut
}

/// Sets an input that is no stream.
pub fn set(dut: &mut Dut, name: &str, value: u64) {
    let port = dut.port(name).expect("an input");
    dut.set(port, value);
}

fn ports(dut: &Dut, name: &str, fields: &[&str]) -> Vec<Port> {
    fields.iter().map(|f| dut.port(&format!("{name}_{f}")).expect("a field")).collect()
}

/// Drives a sink of the module.
pub struct Feed {
    fields: Vec<Port>,
    valid: Port,
    ready: Port,
    offered: bool,
    /// Percent of cycles without a new record.
    pub gap: u8,
    pub records: VecDeque<Record>,
}

impl Feed {
    pub fn new(dut: &Dut, name: &str, fields: &[&str]) -> Self {
        Self::with(dut, name, fields, ["valid", "ready"])
    }

    /// An AXI4-Stream sink: its handshake is called `tvalid` and `tready`.
    pub fn axis(dut: &Dut, name: &str, fields: &[&str]) -> Self {
        Self::with(dut, name, fields, ["tvalid", "tready"])
    }

    /// A sink whose handshake has other names.
    pub fn with(dut: &Dut, name: &str, fields: &[&str], handshake: [&str; 2]) -> Self {
        let [valid, ready] = ports(dut, name, &handshake)[..] else { unreachable!() };
        let fields = ports(dut, name, fields);
        Self { fields, valid, ready, offered: false, gap: 0, records: VecDeque::new() }
    }

    /// Forgets what was to be sent, as a reset does.
    pub fn clear(&mut self) {
        self.records.clear();
        self.offered = false;
    }

    fn present(&mut self, dut: &mut Dut, rng: &mut Rng) {
        if !self.offered && !self.records.is_empty() && !rng.chance(self.gap) {
            self.offered = true;
            for (port, words) in self.fields.iter().zip(&self.records[0]) {
                dut.set_words(*port, words);
            }
        }
        dut.set(self.valid, u64::from(self.offered));
    }

    fn sample(&mut self, dut: &Dut) {
        if self.offered && dut.read(self.ready) == 1 {
            self.records.pop_front();
            self.offered = false;
        }
    }
}

/// Empties a source of the module.
pub struct Drain {
    name: String,
    fields: Vec<Port>,
    valid: Port,
    ready: Port,
    taking: bool,
    waits: Option<Record>,
    /// Percent of cycles that take nothing.
    pub stall: u8,
    pub records: Vec<Record>,
    /// Cycle at which each record was taken.
    pub cycles: Vec<u64>,
}

impl Drain {
    pub fn new(dut: &Dut, name: &str, fields: &[&str]) -> Self {
        Self::with(dut, name, fields, ["valid", "ready"])
    }

    /// An AXI4-Stream source: its handshake is called `tvalid` and `tready`.
    pub fn axis(dut: &Dut, name: &str, fields: &[&str]) -> Self {
        Self::with(dut, name, fields, ["tvalid", "tready"])
    }

    /// A source whose handshake has other names.
    pub fn with(dut: &Dut, name: &str, fields: &[&str], handshake: [&str; 2]) -> Self {
        let [valid, ready] = ports(dut, name, &handshake)[..] else { unreachable!() };
        Self {
            name: name.to_owned(),
            fields: ports(dut, name, fields),
            valid,
            ready,
            taking: false,
            waits: None,
            stall: 0,
            records: Vec::new(),
            cycles: Vec::new(),
        }
    }

    /// No record waits.
    pub fn is_idle(&self) -> bool {
        self.waits.is_none()
    }

    fn present(&mut self, dut: &mut Dut, rng: &mut Rng) {
        self.taking = !rng.chance(self.stall);
        dut.set(self.ready, u64::from(self.taking));
    }

    fn sample(&mut self, dut: &Dut) {
        if dut.read(self.valid) == 0 {
            assert!(self.waits.is_none(), "{}: a record that waited is gone", self.name);
            return;
        }
        let read = |port: &Port| {
            let mut words = vec![0; dut.width(*port).div_ceil(32)];
            dut.read_words(*port, &mut words);
            words
        };
        let record: Record = self.fields.iter().map(read).collect();
        if let Some(waiting) = &self.waits {
            assert_eq!(*waiting, record, "{}: a record that waited has changed", self.name);
        }
        if self.taking {
            self.waits = None;
            self.records.push(record);
            self.cycles.push(dut.cycle());
        } else {
            self.waits = Some(record);
        }
    }
}

/// One clock cycle with all streams.
pub fn cycle(dut: &mut Dut, rng: &mut Rng, feeds: &mut [&mut Feed], drains: &mut [&mut Drain]) {
    cycle_with(dut, rng, feeds, drains, |_| {});
}

/// As [`cycle`]; `look` sees the settled outputs before the edge.
pub fn cycle_with(
    dut: &mut Dut,
    rng: &mut Rng,
    feeds: &mut [&mut Feed],
    drains: &mut [&mut Drain],
    look: impl FnOnce(&mut Dut),
) {
    present(dut, rng, feeds, drains);
    sample(dut, feeds, drains);
    look(dut);
    dut.edge().expect("runs");
}

/// First part of [`cycle`]: drives the inputs, lets the outputs settle.
pub fn present(dut: &mut Dut, rng: &mut Rng, feeds: &mut [&mut Feed], drains: &mut [&mut Drain]) {
    feeds.iter_mut().for_each(|f| f.present(dut, rng));
    drains.iter_mut().for_each(|d| d.present(dut, rng));
    dut.settle().expect("runs");
}

/// Second part of [`cycle`]: takes what moves. The clock edge is the caller's.
pub fn sample(dut: &Dut, feeds: &mut [&mut Feed], drains: &mut [&mut Drain]) {
    feeds.iter_mut().for_each(|f| f.sample(dut));
    drains.iter_mut().for_each(|d| d.sample(dut));
}

/// A field of a record, by the table.
pub fn field(layout: &Layout, words: &[u32], name: &str) -> u64 {
    layout.field(name).extract(words)
}

/// Packs values of given widths, the first at bit 0, as RustHDL packs a struct.
pub fn pack(values: &[(u64, usize)]) -> Vec<u32> {
    let mut words = vec![0; values.iter().map(|(_, width)| width).sum::<usize>().div_ceil(32)];
    let mut at = 0;
    for (value, width) in values {
        for i in 0..*width {
            words[(at + i) / 32] |= ((value >> i & 1) as u32) << ((at + i) % 32);
        }
        at += width;
    }
    words
}

/// Bits `lsb` and up, `width` of them.
pub fn bits(words: &[u32], lsb: usize, width: usize) -> u64 {
    (0..width).fold(0, |v, i| v | u64::from(words[(lsb + i) / 32] >> ((lsb + i) % 32) & 1) << i)
}

/// Bytes as words, the first byte lowest; 0 behind them up to `len` bytes.
pub fn words(bytes: &[u8], len: usize) -> Vec<u32> {
    let byte = |i: usize| bytes.get(i).copied().unwrap_or(0);
    (0..len / 4).map(|w| u32::from_le_bytes(std::array::from_fn(|i| byte(4 * w + i)))).collect()
}
