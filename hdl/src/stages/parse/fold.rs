//! Folds a sum of 16-bit words to 16 bits, end-around carries included (RFC 1071).
//!
//!   sum ──► + ──► + ──► folded      0 cycles, 2 carry chains
//!
//! Invariant: the second addition cannot carry again: the first gives at most 0xffff + 0xff. Not
//! here: byte order.

use crate::blocks::bits::ZExt;
use rust_hdl::prelude::*;

/// Combinational.
#[derive(LogicBlock, Default)]
pub struct Fold {
    pub sum: Signal<In, Bits<24>>,
    pub folded: Signal<Out, Bits<16>>,
    low: Signal<Local, Bits<17>>,
    high: Signal<Local, Bits<17>>,
    once: Signal<Local, Bits<17>>,
    base: Signal<Local, Bits<16>>,
    carry: Signal<Local, Bits<16>>,
}

impl Logic for Fold {
    #[hdl_gen]
    fn update(&mut self) {
        self.low.next = self.sum.val().get_bits::<16>(0).to_bits();
        self.high.next = self.sum.val().get_bits::<8>(16).to_bits();
        self.once.next = self.low.val() + self.high.val();
        self.base.next = self.once.val().get_bits::<16>(0);
        self.carry.next = self.once.val().get_bits::<1>(16).to_bits();
        self.folded.next = self.base.val() + self.carry.val();
    }
}
