//! Number of kept bytes of a beat, from a contiguous `tkeep`; and the mask that keeps them.
//!
//!   keep ─► binary search for its highest one ─► bytes      combinational, log2(K) multiplexers
//!   bytes, data ─► shifted ones ─► masked data              combinational, log2(K) multiplexers
//!
//! Invariants: `bytes` is the number of ones of a contiguous `keep` (`keep_count_is_a_popcount`);
//! bytes behind are zero (`ingress_marks_bad_frames`). A `keep` with holes gives some number up to
//! K: no beat is lost over it. Not here: the stream.

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

/// Zeroes what lies behind the first `bytes` bytes of a beat.
#[derive(LogicBlock)]
pub struct TailMask<const W: usize> {
    /// The beat.
    pub data: Signal<In, Bits<W>>,
    /// Bytes to keep.
    pub bytes: Signal<In, Bits<7>>,
    /// Nothing but those.
    pub masked: Signal<Out, Bits<W>>,
    gap: Signal<Local, Bits<7>>,
    gap_bits: Signal<Local, Bits<16>>,
    beat_bytes: Constant<Bits<7>>,
    ones: Constant<Bits<W>>,
}

impl<const W: usize> Default for TailMask<W> {
    fn default() -> Self {
        Self {
            data: Default::default(),
            bytes: Default::default(),
            masked: Default::default(),
            gap: Default::default(),
            gap_bits: Default::default(),
            beat_bytes: Constant::new((W / 8).to_bits()),
            ones: Constant::new(!Bits::<W>::default()),
        }
    }
}

impl<const W: usize> Logic for TailMask<W> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: tail_mask");
        self.gap.next = self.beat_bytes.val() - self.bytes.val();
        self.gap_bits.next = bit_cast::<16, 7>(self.gap.val()) << 3;
        self.masked.next = self.data.val();
        // Most beats are whole: the shift costs simulation time in the others only.
        if self.bytes.val() != self.beat_bytes.val() {
            self.masked.next = self.data.val() & (self.ones.val() >> self.gap_bits.val());
        }
    }
}
