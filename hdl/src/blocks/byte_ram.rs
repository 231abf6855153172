//! Simple dual-port RAM with a write enable for each byte: the packet memory.
//!
//!   waddr, wdata, wstrb ──►[ words ]──► rdata      1 cycle after raddr, ren
//!
//! As [`Ram`](super::ram::Ram): reading the address that is being written gives an undefined word,
//! `rdata` holds while `ren` is low, words are not reset. Invariant: a byte without its strobe
//! stays (`byte_ram_keeps_what_is_not_written`). Not here: who writes where.

use super::reg::{ClkRst, UNUSED_RESET};
use rust_hdl::prelude::*;
use std::collections::HashMap;

/// RAM of any number of words of `W` bits, `K` bytes, up to 2^A.
#[derive(LogicBlock, Clone, Debug)]
pub struct ByteRam<const W: usize, const K: usize, const A: usize> {
    /// Clock; no reset.
    pub cr: ClkRst,
    /// Word to read.
    pub raddr: Signal<In, Bits<A>>,
    /// Reads at this edge.
    pub ren: Signal<In, Bit>,
    /// Word read at the last edge with `ren`.
    pub rdata: Signal<Out, Bits<W>>,
    /// Word to write.
    pub waddr: Signal<In, Bits<A>>,
    /// New value.
    pub wdata: Signal<In, Bits<W>>,
    /// Its bytes that are written.
    pub wstrb: Signal<In, Bits<K>>,
    /// Writes at this edge.
    pub wen: Signal<In, Bit>,
    _words: usize,
    _mem: HashMap<u64, Bits<W>>,
}

impl<const W: usize, const K: usize, const A: usize> ByteRam<W, K, A> {
    /// A RAM of `words` words.
    ///
    /// # Panics
    /// If `words` is 0 or needs more than `A` address bits, or `W` is not `K` bytes.
    pub fn new(words: usize) -> Self {
        assert_eq!(W, 8 * K);
        assert!(words > 0 && words <= 1 << A, "{words} words need more than {A} address bits");
        Self {
            cr: Default::default(),
            raddr: Default::default(),
            ren: Default::default(),
            rdata: Default::default(),
            waddr: Default::default(),
            wdata: Default::default(),
            wstrb: Default::default(),
            wen: Default::default(),
            _words: words,
            _mem: HashMap::new(),
        }
    }
}

impl<const W: usize, const K: usize, const A: usize> Logic for ByteRam<W, K, A> {
    fn update(&mut self) {
        if self.cr.clk.pos_edge() {
            if self.ren.val() {
                let word = self._mem.get(&self.raddr.val().to_u64());
                self.rdata.next = word.copied().unwrap_or_default();
            }
            if self.wen.val() {
                let word = self._mem.entry(self.waddr.val().to_u64()).or_default();
                for byte in (0..K).filter(|byte| self.wstrb.val().get_bit(*byte)) {
                    word.set_bits::<8>(8 * byte, self.wdata.val().get_bits::<8>(8 * byte));
                }
            }
        }
    }
    fn connect(&mut self) {
        self.rdata.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "// block: byte_ram_{words}x{W}\n\
             reg [{msb}:0] words [0:{last}];\n\
             integer lane;\n\
             always @(posedge cr$clk)\n    \
                 for (lane = 0; lane < {K}; lane = lane + 1)\n        \
                     if (wen && wstrb[lane])\n            \
                         words[waddr][8 * lane +: 8] <= wdata[8 * lane +: 8];\n\
             always @(posedge cr$clk) if (ren) rdata <= words[raddr];\n\
             {UNUSED_RESET}",
            words = self._words,
            msb = W - 1,
            last = self._words - 1,
        ))
    }
    fn timing(&self) -> Vec<TimingInfo> {
        vec![]
    }
}
