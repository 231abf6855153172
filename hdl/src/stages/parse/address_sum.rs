//! Sum of the words of both addresses.
//!
//!   window, version ──► 4 or 16 words ──► four levels of adders ──► sum, 20 bits used   0 cycles
//!
//! RFC 1071: words may be in either byte order. Invariant: no carry is lost (16 * 0xffff < 2^20).
//! Not here: the fold.

use crate::blocks::bits::ZExt;
use rust_hdl::prelude::*;

/// Combinational.
#[derive(LogicBlock)]
pub struct AddressSum {
    pub window: Signal<In, Bits<320>>,
    /// The addresses lie as in IPv4.
    pub v4: Signal<In, Bit>,
    pub sum: Signal<Out, Bits<24>>,
    /// Leaves, then sums: node 16 + i is the sum of nodes 2 i and 2 i + 1.
    node: Vec<Signal<Local, Bits<24>>>,
}

impl Default for AddressSum {
    fn default() -> Self {
        Self {
            window: Default::default(),
            v4: Default::default(),
            sum: Default::default(),
            node: vec![Default::default(); 31],
        }
    }
}

impl Logic for AddressSum {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..16 {
            self.node[i].next = self.window.val().get_bits::<16>(i * 16 + 64).to_bits();
        }
        if self.v4.val() {
            for i in 0..4 {
                self.node[i].next = self.window.val().get_bits::<16>(i * 16 + 96).to_bits();
            }
            for i in 4..16 {
                self.node[i].next = 0.into();
            }
        }
        for i in 0..15 {
            self.node[i + 16].next = self.node[2 * i].val() + self.node[2 * i + 1].val();
        }
        self.sum.next = self.node[30].val();
    }
}
