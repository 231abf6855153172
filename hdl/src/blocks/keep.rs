//! Number of kept bytes of a beat, from a contiguous `tkeep`.
//!
//!   keep ─► binary search for its highest one ─► bytes      combinational, log2(K) multiplexers
//!
//! Invariant: `bytes` is the number of ones of a contiguous `keep` (`keep_count_is_a_popcount`). A `keep`
//! with holes gives some number up to K: no beat is lost over it. Not here: the mask itself.

use crate::blocks::bits::ZExt;
use crate::comment;
use rust_hdl::prelude::*;

/// Counts the ones of a contiguous mask of `K` bits.
#[derive(LogicBlock)]
pub struct KeepCount<const K: usize> {
    /// Ones from bit 0.
    pub keep: Signal<In, Bits<K>>,
    /// How many.
    pub bytes: Signal<Out, Bits<7>>,
    window: Vec<Signal<Local, Bits<K>>>,
    count: Vec<Signal<Local, Bits<7>>>,
    rest: Signal<Local, Bits<7>>,
    half: Vec<Constant<Bits<7>>>,
    top: Vec<Constant<Bits<32>>>,
    zero: Constant<Bits<7>>,
}

impl<const K: usize> Default for KeepCount<K> {
    fn default() -> Self {
        assert!(K.is_power_of_two() && K <= 64);
        let halves: Vec<usize> = (0..K.ilog2()).map(|i| K >> (i + 1)).collect();
        Self {
            keep: Default::default(),
            bytes: Default::default(),
            window: vec![Default::default(); halves.len() + 1],
            count: vec![Default::default(); halves.len() + 1],
            rest: Default::default(),
            half: halves.iter().map(|h| Constant::new(h.to_bits())).collect(),
            top: halves.iter().map(|h| Constant::new((h - 1).to_bits())).collect(),
            zero: Constant::new(0usize.to_bits()),
        }
    }
}

impl<const K: usize> Logic for KeepCount<K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: keep_count");
        self.window[0].next = self.keep.val();
        self.count[0].next = self.zero.val();
        for i in 0..self.half.len() {
            self.window[i + 1].next = self.window[i].val();
            self.count[i + 1].next = self.count[i].val();
            if self.window[i].val().get_bit(self.top[i].val().index()) {
                self.window[i + 1].next = self.window[i].val() >> self.half[i].val();
                self.count[i + 1].next = self.count[i].val() | self.half[i].val();
            }
        }
        for i in self.half.len()..self.window.len() {
            self.rest.next = self.window[i].val().get_bits::<1>(0).to_bits();
            self.bytes.next = self.count[i].val() + self.rest.val();
        }
    }
}
