//! Sum of the words of an IPv4 header, options included.
//!
//!   window ──► words up to the IHL ──► five levels of adders ──► sum, 21 bits used      0 cycles
//!
//! RFC 791 (3.1), RFC 1071: words may be in either byte order. Invariant: no carry is lost
//! (30 * 0xffff < 2^21). Not here: the fold; whether this is IPv4.

use crate::blocks::bits::ZExt;
use rust_hdl::prelude::*;

/// Combinational. It finds the IHL itself: fed by the window alone, it is no loop in its parent.
#[derive(LogicBlock)]
pub struct HeaderSum {
    pub window: Signal<In, Bits<480>>,
    pub sum: Signal<Out, Bits<24>>,
    ihl: Signal<Local, Bits<4>>,
    /// IHL up to which option word `i` is not part of the header.
    option_ihl: [Constant<Bits<4>>; 10],
    /// Leaves, then sums: node 32 + i is the sum of nodes 2 i and 2 i + 1.
    node: Vec<Signal<Local, Bits<24>>>,
}

impl Default for HeaderSum {
    fn default() -> Self {
        Self {
            window: Default::default(),
            sum: Default::default(),
            ihl: Default::default(),
            option_ihl: std::array::from_fn(|i| Constant::new((i + 5).to_bits())),
            node: vec![Default::default(); 63],
        }
    }
}

impl Logic for HeaderSum {
    #[hdl_gen]
    fn update(&mut self) {
        self.ihl.next = self.window.val().get_bits::<4>(0);
        for i in 0..10 {
            self.node[i].next = self.window.val().get_bits::<16>(i * 16).to_bits();
            self.node[2 * i + 10].next = 0.into();
            self.node[2 * i + 11].next = 0.into();
            if self.ihl.val() > self.option_ihl[i].val() {
                self.node[2 * i + 10].next =
                    self.window.val().get_bits::<16>(i * 32 + 160).to_bits();
                self.node[2 * i + 11].next =
                    self.window.val().get_bits::<16>(i * 32 + 176).to_bits();
            }
        }
        for i in 30..32 {
            self.node[i].next = 0.into();
        }
        for i in 0..31 {
            self.node[i + 32].next = self.node[2 * i].val() + self.node[2 * i + 1].val();
        }
        self.sum.next = self.node[62].val();
    }
}
