//! Simple dual-port RAM: one write port, one read port, one clock.
//!
//!   waddr, wdata, wen ──►[ words ]──► rdata      Ram: 1 cycle after raddr, ren; LutRam: same cycle
//!
//! Reading the address that is being written in the same cycle gives an undefined word in `Ram` (as
//! in a block RAM without collision logic): forward it yourself. In `LutRam` it gives the old word.
//! Invariants: `rdata` holds while `ren` is low (`ram_holds_without_read_enable`); words are not
//! reset.

use super::reg::{ClkRst, UNUSED_RESET};
use rust_hdl::prelude::*;
use std::collections::HashMap;

/// Block RAM of any number of words up to 2^A, read synchronously.
#[derive(LogicBlock, Clone, Debug)]
pub struct Ram<T: Synth, const A: usize> {
    /// Clock; no reset.
    pub cr: ClkRst,
    /// Word to read.
    pub raddr: Signal<In, Bits<A>>,
    /// Reads at this edge.
    pub ren: Signal<In, Bit>,
    /// Word read at the last edge with `ren`.
    pub rdata: Signal<Out, T>,
    /// Word to write.
    pub waddr: Signal<In, Bits<A>>,
    /// New value.
    pub wdata: Signal<In, T>,
    /// Writes at this edge.
    pub wen: Signal<In, Bit>,
    _words: usize,
    _mem: HashMap<u64, T>,
}

impl<T: Synth, const A: usize> Ram<T, A> {
    /// A RAM of `words` words. Address bits that `words` does not need are ignored.
    ///
    /// # Panics
    /// If `words` is 0 or needs more than `A` address bits.
    pub fn new(words: usize) -> Self {
        assert!(words > 0 && words <= 1 << A, "{words} words need more than {A} address bits");
        Self {
            cr: Default::default(),
            raddr: Default::default(),
            ren: Default::default(),
            rdata: Default::default(),
            waddr: Default::default(),
            wdata: Default::default(),
            wen: Default::default(),
            _words: words,
            _mem: HashMap::new(),
        }
    }

    fn address_mask(&self) -> u64 {
        self._words.next_power_of_two() as u64 - 1
    }
}

/// `reg [..] mem [0:words-1];` and the address bits that it needs, at least one.
fn declare(bits: usize, words: usize) -> (String, usize) {
    let address = (usize::BITS - (words - 1).leading_zeros()).max(1) as usize;
    (format!("reg [{}:0] words [0:{}];\n", bits - 1, words - 1), address - 1)
}

/// Takes note of address bits above the last one used.
fn unused(name: &str, used_msb: usize, width: usize) -> String {
    if used_msb + 1 >= width {
        return String::new();
    }
    format!(
        "/* verilator lint_off UNUSEDSIGNAL */\n\
         wire _unused_{name} = |{name}[{}:{}];\n\
         /* verilator lint_on UNUSEDSIGNAL */\n",
        width - 1,
        used_msb + 1
    )
}

impl<T: Synth, const A: usize> Logic for Ram<T, A> {
    fn update(&mut self) {
        if self.cr.clk.pos_edge() {
            if self.ren.val() {
                let word = self.raddr.val().to_u64() & self.address_mask();
                self.rdata.next = self._mem.get(&word).copied().unwrap_or_default();
            }
            if self.wen.val() {
                let word = self.waddr.val().to_u64() & self.address_mask();
                self._mem.insert(word, self.wdata.val());
            }
        }
    }
    fn connect(&mut self) {
        self.rdata.connect();
    }
    fn hdl(&self) -> Verilog {
        let (mem, msb) = declare(T::BITS, self._words);
        // The `x` tells yosys that no collision logic is wanted.
        Verilog::Custom(format!(
            "// block: ram_{words}x{bits}\n\
             {mem}\
             always @(posedge cr$clk) begin\n    \
                 if (wen) words[waddr[{msb}:0]] <= wdata;\n\
             end\n\
             always @(posedge cr$clk) begin\n    \
                 if (ren) begin\n        \
                     rdata <= words[raddr[{msb}:0]];\n        \
                     if (wen && waddr[{msb}:0] == raddr[{msb}:0])\n            \
                         rdata <= {{{bits}{{1'bx}}}};\n    \
                 end\n\
             end\n\
             {r}{w}{UNUSED_RESET}",
            words = self._words,
            bits = T::BITS,
            r = unused("raddr", msb, A),
            w = unused("waddr", msb, A),
        ))
    }
    fn timing(&self) -> Vec<TimingInfo> {
        vec![]
    }
}

/// Distributed RAM of 2^A words, read in the same cycle.
#[derive(LogicBlock, Default, Clone, Debug)]
pub struct LutRam<T: Synth, const A: usize> {
    /// Clock; no reset.
    pub cr: ClkRst,
    /// Word to read.
    pub raddr: Signal<In, Bits<A>>,
    /// The word at `raddr`.
    pub rdata: Signal<Out, T>,
    /// Word to write.
    pub waddr: Signal<In, Bits<A>>,
    /// New value.
    pub wdata: Signal<In, T>,
    /// Writes at this edge.
    pub wen: Signal<In, Bit>,
    _mem: HashMap<u64, T>,
}

impl<T: Synth, const A: usize> Logic for LutRam<T, A> {
    fn update(&mut self) {
        if self.cr.clk.pos_edge() && self.wen.val() {
            self._mem.insert(self.waddr.val().to_u64(), self.wdata.val());
        }
        self.rdata.next = self._mem.get(&self.raddr.val().to_u64()).copied().unwrap_or_default();
    }
    fn connect(&mut self) {
        self.rdata.connect();
    }
    fn hdl(&self) -> Verilog {
        let (mem, _) = declare(T::BITS, 1 << A);
        Verilog::Custom(format!(
            "// block: lut_ram_{words}x{bits}\n\
             {mem}\
             always @(posedge cr$clk) if (wen) words[waddr] <= wdata;\n\
             always @(*) rdata = words[raddr];\n\
             {UNUSED_RESET}",
            words = 1 << A,
            bits = T::BITS,
        ))
    }
}
