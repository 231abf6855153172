//! Adds up TCP or UDP over the beats that pass by, and reports each frame at its last beat.
//!
//!   s ──┬───────────────────────────────────────► m                         same cycle
//!   sum ┴─►[ bounds ]─►[ mask ]─►[ lanes ]─►[ total ]─►[ fold ]─► outcome   5 cycles
//!
//! Follows RFC 1071: one's-complement sum of 16-bit words, carries folded back fully. Words are
//! added as they lie on the bus, lowest byte first, which swaps the bytes of the sum and leaves
//! 0xffff as it is. A beat moves only with the control record of its frame, room behind it, and
//! room for the outcome, so the adders (`blocks/sum_lanes.rs`) never stall.
//!
//! Invariants: `sum_good` as defined at [`Outcome`] for any bounds
//! (`checksum_matches_a_byte_model`); one outcome per frame, in order (same test). Not here:
//! whether the sum was wanted.

use crate::blocks::axis::{BeatSink, BeatSource};
use crate::blocks::bits::ZExt;
use crate::blocks::fifo::Fifo;
use crate::blocks::meta::{Outcome, OutcomeSource, SumSink};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::blocks::sum_lanes::{SumLanes, SumTag};
use rust_hdl::prelude::*;

/// The stage.
#[derive(LogicBlock)]
pub struct Checksum<const W: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Beats of frames.
    pub s: BeatSink<W>,
    /// What to add up, one record per frame.
    pub sum: SumSink,
    /// The same beats.
    pub m: BeatSource<W>,
    /// One record per frame.
    pub outcome: OutcomeSource,
    out: Fifo<Outcome, 4>,
    // where in the frame the input is
    in_frame: RegR<Bit>,
    position: RegE<Bits<16>>,
    start_left: RegE<Bits<8>>,
    end_left: RegE<Bits<17>>,
    accept: Signal<Local, Bit>,
    start: Signal<Local, Bits<8>>,
    stop: Signal<Local, Bits<17>>,
    bytes17: Signal<Local, Bits<17>>,
    bytes16: Signal<Local, Bits<16>>,
    passed: Signal<Local, Bits<16>>,
    length: Signal<Local, Bits<16>>,
    tag: Signal<Local, SumTag>,
    report: Signal<Local, Outcome>,
    // bounds
    x_valid: RegR<Bit>,
    x_tag: RegE<SumTag>,
    x_data: RegE<Bits<W>>,
    x_low: RegE<Bits<8>>,
    x_high: RegE<Bits<8>>,
    x_report: RegE<Outcome>,
    low_bits: Signal<Local, Bits<16>>,
    gap: Signal<Local, Bits<8>>,
    gap_bits: Signal<Local, Bits<16>>,
    // masked
    y_valid: RegR<Bit>,
    y_tag: RegE<SumTag>,
    y_data: RegE<Bits<W>>,
    y_report: RegE<Outcome>,
    adder: SumLanes<W>,
    beat8: Constant<Bits<8>>,
    beat17: Constant<Bits<17>>,
    zero8: Constant<Bits<8>>,
    zero16: Constant<Bits<16>>,
    zero17: Constant<Bits<17>>,
    ones: Constant<Bits<W>>,
}

impl<const W: usize> Default for Checksum<W> {
    fn default() -> Self {
        let beat = W / 8;
        Self {
            cr: Default::default(),
            s: Default::default(),
            sum: Default::default(),
            m: Default::default(),
            outcome: Default::default(),
            out: Default::default(),
            in_frame: Default::default(),
            position: Default::default(),
            start_left: Default::default(),
            end_left: Default::default(),
            accept: Default::default(),
            start: Default::default(),
            stop: Default::default(),
            bytes17: Default::default(),
            bytes16: Default::default(),
            passed: Default::default(),
            length: Default::default(),
            tag: Default::default(),
            report: Default::default(),
            x_valid: Default::default(),
            x_tag: Default::default(),
            x_data: Default::default(),
            x_low: Default::default(),
            x_high: Default::default(),
            x_report: Default::default(),
            low_bits: Default::default(),
            gap: Default::default(),
            gap_bits: Default::default(),
            y_valid: Default::default(),
            y_tag: Default::default(),
            y_data: Default::default(),
            y_report: Default::default(),
            adder: Default::default(),
            beat8: Constant::new(beat.to_bits()),
            beat17: Constant::new(beat.to_bits()),
            zero8: Constant::new(0usize.to_bits()),
            zero16: Constant::new(0usize.to_bits()),
            zero17: Constant::new(0usize.to_bits()),
            ones: Constant::new(!Bits::<W>::default()),
        }
    }
}

impl<const W: usize> Logic for Checksum<W> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.out.cr);
        ClkRst::link(&mut self.cr, &mut self.in_frame.cr);
        ClkRst::link(&mut self.cr, &mut self.position.cr);
        ClkRst::link(&mut self.cr, &mut self.start_left.cr);
        ClkRst::link(&mut self.cr, &mut self.end_left.cr);
        ClkRst::link(&mut self.cr, &mut self.x_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.x_tag.cr);
        ClkRst::link(&mut self.cr, &mut self.x_data.cr);
        ClkRst::link(&mut self.cr, &mut self.x_low.cr);
        ClkRst::link(&mut self.cr, &mut self.x_high.cr);
        ClkRst::link(&mut self.cr, &mut self.x_report.cr);
        ClkRst::link(&mut self.cr, &mut self.y_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.y_tag.cr);
        ClkRst::link(&mut self.cr, &mut self.y_data.cr);
        ClkRst::link(&mut self.cr, &mut self.y_report.cr);
        ClkRst::link(&mut self.cr, &mut self.adder.cr);

        // Bounds of the sum within the beat.
        self.accept.next =
            self.s.valid.val() & self.sum.valid.val() & self.m.ready.val() & !self.out.half.val();
        self.start.next = self.sum.control.val().start;
        self.stop.next = self.sum.control.val().end;
        self.passed.next = self.zero16.val();
        if self.in_frame.q.val() {
            self.start.next = self.start_left.q.val();
            self.stop.next = self.end_left.q.val();
            self.passed.next = self.position.q.val();
        }
        self.bytes16.next = self.s.info.val().bytes.to_bits();
        self.bytes17.next = self.s.info.val().bytes.to_bits();
        self.length.next = self.passed.val() + self.bytes16.val();
        self.position.en.next = self.accept.val();
        self.position.d.next = self.length.val();
        self.in_frame.d.next = self.in_frame.q.val();
        if self.accept.val() {
            self.in_frame.d.next = !self.s.info.val().last;
        }
        self.start_left.en.next = self.accept.val();
        self.end_left.en.next = self.accept.val();
        self.start_left.d.next = self.zero8.val();
        self.x_low.d.next = self.start.val();
        if self.start.val() >= self.beat8.val() {
            self.start_left.d.next = self.start.val() - self.beat8.val();
            self.x_low.d.next = self.beat8.val();
        }
        self.end_left.d.next = self.zero17.val();
        if self.stop.val() > self.beat17.val() {
            self.end_left.d.next = self.stop.val() - self.beat17.val();
        }
        self.x_high.d.next = self.stop.val().get_bits::<8>(0);
        if self.stop.val() >= self.bytes17.val() {
            self.x_high.d.next = self.s.info.val().bytes.to_bits();
        }
        self.tag.next.first = !self.in_frame.q.val();
        self.tag.next.last = self.s.info.val().last;
        self.tag.next.init = self.sum.control.val().init;
        self.report.next.frame = self.s.info.val().frame;
        self.report.next.bytes = self.length.val();
        self.report.next.sum_good = false;
        self.report.next.drop = self.s.info.val().drop;
        self.report.next.reason = self.s.info.val().reason;
        self.x_valid.d.next = self.accept.val();
        self.x_tag.d.next = self.tag.val();
        self.x_data.d.next = self.s.data.val();
        self.x_report.d.next = self.report.val();
        self.x_tag.en.next = self.accept.val();
        self.x_data.en.next = self.accept.val();
        self.x_low.en.next = self.accept.val();
        self.x_high.en.next = self.accept.val();
        self.x_report.en.next = self.accept.val();

        // Mask: a beat in the middle is taken as it is.
        self.low_bits.next = bit_cast::<16, 8>(self.x_low.q.val()) << 3;
        self.gap.next = self.beat8.val() - self.x_high.q.val();
        self.gap_bits.next = bit_cast::<16, 8>(self.gap.val()) << 3;
        self.y_data.d.next = self.x_data.q.val();
        if (self.x_low.q.val() != self.zero8.val()) | (self.x_high.q.val() != self.beat8.val()) {
            self.y_data.d.next = self.x_data.q.val()
                & (self.ones.val() << self.low_bits.val())
                & (self.ones.val() >> self.gap_bits.val());
        }
        self.y_valid.d.next = self.x_valid.q.val();
        self.y_tag.d.next = self.x_tag.q.val();
        self.y_report.d.next = self.x_report.q.val();
        self.y_tag.en.next = self.x_valid.q.val();
        self.y_data.en.next = self.x_valid.q.val();
        self.y_report.en.next = self.x_valid.q.val();

        self.adder.valid.next = self.y_valid.q.val();
        self.adder.tag.next = self.y_tag.q.val();
        self.adder.data.next = self.y_data.q.val();
        self.adder.report.next = self.y_report.q.val();
        // There is room: no beat is taken with half of it used, and fewer than that are under way.
        self.out.s_data.next = self.adder.done.val();
        self.out.s_valid.next = self.adder.done_valid.val();
        self.outcome.outcome.next = self.out.m_data.val();
        self.outcome.valid.next = self.out.m_valid.val();
        self.out.m_ready.next = self.outcome.ready.val();

        self.s.ready.next = self.sum.valid.val() & self.m.ready.val() & !self.out.half.val();
        self.sum.ready.next =
            self.s.valid.val() & self.s.info.val().last & self.m.ready.val() & !self.out.half.val();
        self.m.valid.next = self.s.valid.val() & self.sum.valid.val() & !self.out.half.val();
        self.m.data.next = self.s.data.val();
        self.m.info.next = self.s.info.val();
    }
}
