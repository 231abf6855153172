//! One's-complement sum of a stream of masked beats.
//!
//!   data, tag ──►[ 32 lanes to 8 ]──►[ to 1, accumulate ]──►[ fold ]──► done      2 cycles
//!
//! Follows RFC 1071. Words are added with the first byte lowest: that swaps the bytes of the sum,
//! and 0xffff is its own swap. 9,216 bytes of 0xff add up to less than 2^29, so the carries need no
//! folding before the end. Narrower buses leave lanes at zero.
//!
//! Invariant: see `checksum`. Not here: masks and bounds.

use super::bits::ZExt;
use super::meta::Outcome;
use super::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// 16-bit words in the widest beat.
const LANES: usize = 32;

/// What travels beside the data through the adders.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct SumTag {
    /// First beat of its frame.
    pub first: Bit,
    /// Last beat of its frame.
    pub last: Bit,
    /// Sum to start from, as a number.
    pub init: Bits<16>,
}

/// The block.
#[derive(LogicBlock)]
pub struct SumLanes<const W: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// A beat is there.
    pub valid: Signal<In, Bit>,
    /// Where it is in its frame.
    pub tag: Signal<In, SumTag>,
    /// Masked data.
    pub data: Signal<In, Bits<W>>,
    /// The frame's outcome, but for the sum.
    pub report: Signal<In, Outcome>,
    /// The frame's outcome.
    pub done: Signal<Out, Outcome>,
    /// `done` is there.
    pub done_valid: Signal<Out, Bit>,
    level0: Vec<Signal<Local, Bits<24>>>,
    level1: Vec<Signal<Local, Bits<24>>>,
    // eight sums
    z_valid: RegR<Bit>,
    z_tag: RegE<SumTag>,
    z_sum: Vec<RegE<Bits<24>>>,
    z_report: RegE<Outcome>,
    level3: Vec<Signal<Local, Bits<24>>>,
    level4: Vec<Signal<Local, Bits<24>>>,
    level5: Signal<Local, Bits<24>>,
    beat_sum: Signal<Local, Bits<32>>,
    init: Signal<Local, Bits<16>>,
    init_swapped: Signal<Local, Bits<16>>,
    base: Signal<Local, Bits<32>>,
    // accumulated
    accumulator: RegE<Bits<32>>,
    w_valid: RegR<Bit>,
    w_report: RegE<Outcome>,
    lower: Signal<Local, Bits<24>>,
    upper: Signal<Local, Bits<24>>,
    once: Signal<Local, Bits<24>>,
    once_lower: Signal<Local, Bits<24>>,
    once_upper: Signal<Local, Bits<24>>,
    twice: Signal<Local, Bits<24>>,
    word: Vec<Constant<Bits<16>>>,
    zero24: Constant<Bits<24>>,
    good: Constant<Bits<24>>,
}

impl<const W: usize> Default for SumLanes<W> {
    fn default() -> Self {
        assert!(W / 16 <= LANES);
        Self {
            cr: Default::default(),
            valid: Default::default(),
            tag: Default::default(),
            data: Default::default(),
            report: Default::default(),
            done: Default::default(),
            done_valid: Default::default(),
            level0: vec![Default::default(); LANES],
            level1: vec![Default::default(); LANES / 2],
            z_valid: Default::default(),
            z_tag: Default::default(),
            z_sum: vec![Default::default(); LANES / 4],
            z_report: Default::default(),
            level3: vec![Default::default(); 4],
            level4: vec![Default::default(); 2],
            level5: Default::default(),
            beat_sum: Default::default(),
            init: Default::default(),
            init_swapped: Default::default(),
            base: Default::default(),
            accumulator: Default::default(),
            w_valid: Default::default(),
            w_report: Default::default(),
            lower: Default::default(),
            upper: Default::default(),
            once: Default::default(),
            once_lower: Default::default(),
            once_upper: Default::default(),
            twice: Default::default(),
            word: (0..W / 16).map(|i| Constant::new((16 * i).to_bits())).collect(),
            zero24: Constant::new(0usize.to_bits()),
            good: Constant::new(0xffffusize.to_bits()),
        }
    }
}

impl<const W: usize> Logic for SumLanes<W> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: sum_lanes");
        ClkRst::link(&mut self.cr, &mut self.z_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.z_tag.cr);
        ClkRst::link(&mut self.cr, &mut self.z_report.cr);
        ClkRst::link(&mut self.cr, &mut self.accumulator.cr);
        ClkRst::link(&mut self.cr, &mut self.w_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.w_report.cr);
        for i in 0..8 {
            ClkRst::link(&mut self.cr, &mut self.z_sum[i].cr);
        }

        for i in 0..self.word.len() {
            self.level0[i].next =
                self.data.val().get_bits::<16>(self.word[i].val().index()).to_bits();
        }
        for i in self.word.len()..32 {
            self.level0[i].next = self.zero24.val();
        }
        for i in 0..16 {
            self.level1[i].next = self.level0[2 * i].val() + self.level0[2 * i + 1].val();
        }
        for i in 0..8 {
            self.z_sum[i].d.next = self.level1[2 * i].val() + self.level1[2 * i + 1].val();
            self.z_sum[i].en.next = self.valid.val();
        }
        self.z_valid.d.next = self.valid.val();
        self.z_tag.d.next = self.tag.val();
        self.z_tag.en.next = self.valid.val();
        self.z_report.d.next = self.report.val();
        self.z_report.en.next = self.valid.val();

        for i in 0..4 {
            self.level3[i].next = self.z_sum[2 * i].q.val() + self.z_sum[2 * i + 1].q.val();
        }
        for i in 0..2 {
            self.level4[i].next = self.level3[2 * i].val() + self.level3[2 * i + 1].val();
        }
        self.level5.next = self.level4[0].val() + self.level4[1].val();
        self.beat_sum.next = self.level5.val().to_bits();
        self.init.next = self.z_tag.q.val().init;
        self.init_swapped.next = (self.init.val() << 8) | (self.init.val() >> 8);
        self.base.next = self.accumulator.q.val();
        if self.z_tag.q.val().first {
            self.base.next = self.init_swapped.val().to_bits();
        }
        self.accumulator.d.next = self.base.val() + self.beat_sum.val();
        self.accumulator.en.next = self.z_valid.q.val();
        self.w_valid.d.next = self.z_valid.q.val() & self.z_tag.q.val().last;
        self.w_report.d.next = self.z_report.q.val();
        self.w_report.en.next = self.z_valid.q.val();

        self.lower.next = self.accumulator.q.val().get_bits::<16>(0).to_bits();
        self.upper.next = self.accumulator.q.val().get_bits::<16>(16).to_bits();
        self.once.next = self.lower.val() + self.upper.val();
        self.once_lower.next = self.once.val().get_bits::<16>(0).to_bits();
        self.once_upper.next = self.once.val().get_bits::<8>(16).to_bits();
        self.twice.next = self.once_lower.val() + self.once_upper.val();
        self.done.next = self.w_report.q.val();
        self.done.next.sum_good = self.twice.val() == self.good.val();
        self.done_valid.next = self.w_valid.q.val();
    }
}
