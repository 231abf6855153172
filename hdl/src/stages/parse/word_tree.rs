//! Adds 32 16-bit words without losing a carry.
//!
//!   lane 0..31 ──► five levels of adders ──► sum, 21 bits used      0 cycles
//!
//! Words may be in either byte order: RFC 1071 (2)(B). Invariant: no overflow (32 * 0xffff < 2^21).
//! Not here: the fold.

use crate::blocks::bits::ZExt;
use rust_hdl::prelude::*;

/// Combinational.
#[derive(LogicBlock)]
pub struct WordTree {
    pub lane: [Signal<In, Bits<16>>; 32],
    pub sum: Signal<Out, Bits<24>>,
    /// Leaves, then sums: node 32 + i is the sum of nodes 2 i and 2 i + 1.
    node: Vec<Signal<Local, Bits<24>>>,
}

impl Default for WordTree {
    fn default() -> Self {
        Self {
            lane: std::array::from_fn(|_| Default::default()),
            sum: Default::default(),
            node: vec![Default::default(); 63],
        }
    }
}

impl Logic for WordTree {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..32 {
            self.node[i].next = self.lane[i].val().to_bits();
        }
        for i in 0..31 {
            self.node[i + 32].next = self.node[2 * i].val() + self.node[2 * i + 1].val();
        }
        self.sum.next = self.node[62].val();
    }
}
