//! Registers of the inline form, in front of those of the pipeline.
//!
//!   axi_lite ──► decode ─┬─ 0xf00 to 0xfff: here
//!                        └─ the rest: the pipeline's register file          4 cycles an access
//!
//! Follows: rows of `groove_spec::inline`. Invariants: every row behaves as it says
//! (`registers_behave_as_the_table_says`). Not here: the bus of the shell.

use crate::blocks::axi::RegBusSink;
use crate::blocks::reg::{ClkRst, RegE, RegInit, RegR};
use crate::comment;
use groove_spec::inline;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Registers {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Accesses.
    pub s: RegBusSink,
    /// Of the pipeline.
    pub reg_addr: Signal<Out, Bits<16>>,
    pub reg_wdata: Signal<Out, Bits<32>>,
    pub reg_write: Signal<Out, Bit>,
    pub reg_rdata: Signal<In, Bits<32>>,
    /// `INLINE_CONTROL`.
    pub enable: Signal<Out, Bit>,
    pub header: Signal<Out, Bit>,
    /// `INLINE_HOLD`.
    pub period: Signal<Out, Bits<16>>,
    /// `INLINE_STATUS`.
    pub state: Signal<In, Bits<2>>,
    pub free: Signal<In, Bits<8>>,
    /// Events, one cycle each.
    pub passed: Signal<In, Bit>,
    pub switch_drop: Signal<In, Bit>,
    pub delivered: Signal<In, Bit>,
    phase: RegR<Bits<2>>,
    control: RegR<Bits<2>>,
    hold: RegInit<Bits<16>>,
    passes: RegR<Bits<32>>,
    drops: RegR<Bits<32>>,
    deliveries: RegR<Bits<32>>,
    read: RegE<Bits<32>>,
    own: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    word: Signal<Local, Bits<32>>,
    state32: Signal<Local, Bits<32>>,
    free32: Signal<Local, Bits<32>>,
    one: Constant<Bits<32>>,
    zero: Constant<Bits<32>>,
    one2: Constant<Bits<2>>,
    zero2: Constant<Bits<2>>,
    last: Constant<Bits<2>>,
    page: Constant<Bits<8>>,
    free_lsb: Constant<Bits<32>>,
    at_control: Constant<Bits<8>>,
    at_status: Constant<Bits<8>>,
    at_hold: Constant<Bits<8>>,
    at_passed: Constant<Bits<8>>,
    at_drops: Constant<Bits<8>>,
    at_delivered: Constant<Bits<8>>,
}

impl Default for Registers {
    fn default() -> Self {
        let at = |row: &groove_spec::Register| Constant::new((row.offset & 0xff).to_bits());
        Self {
            cr: Default::default(),
            s: Default::default(),
            reg_addr: Default::default(),
            reg_wdata: Default::default(),
            reg_write: Default::default(),
            reg_rdata: Default::default(),
            enable: Default::default(),
            header: Default::default(),
            period: Default::default(),
            state: Default::default(),
            free: Default::default(),
            passed: Default::default(),
            switch_drop: Default::default(),
            delivered: Default::default(),
            phase: Default::default(),
            control: Default::default(),
            hold: RegInit::new((inline::INLINE_HOLD.reset as usize).to_bits()),
            passes: Default::default(),
            drops: Default::default(),
            deliveries: Default::default(),
            read: Default::default(),
            own: Default::default(),
            writes: Default::default(),
            word: Default::default(),
            state32: Default::default(),
            free32: Default::default(),
            one: Constant::new(1usize.to_bits()),
            zero: Constant::new(0usize.to_bits()),
            one2: Constant::new(1usize.to_bits()),
            zero2: Constant::new(0usize.to_bits()),
            last: Constant::new(3usize.to_bits()),
            page: Constant::new((inline::BASE >> 8).to_bits()),
            free_lsb: Constant::new(inline::INLINE_STATUS.field("free").lsb.to_bits()),
            at_control: at(&inline::INLINE_CONTROL),
            at_status: at(&inline::INLINE_STATUS),
            at_hold: at(&inline::INLINE_HOLD),
            at_passed: at(&inline::INLINE_PASSED),
            at_drops: at(&inline::INLINE_DROP_SWITCH),
            at_delivered: at(&inline::INLINE_DELIVERED),
        }
    }
}

impl Logic for Registers {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_registers");
        ClkRst::link(&mut self.cr, &mut self.phase.cr);
        ClkRst::link(&mut self.cr, &mut self.control.cr);
        ClkRst::link(&mut self.cr, &mut self.hold.cr);
        ClkRst::link(&mut self.cr, &mut self.passes.cr);
        ClkRst::link(&mut self.cr, &mut self.drops.cr);
        ClkRst::link(&mut self.cr, &mut self.deliveries.cr);
        ClkRst::link(&mut self.cr, &mut self.read.cr);

        // An access: a write in its first cycle, an answer in its fourth.
        self.own.next = self.s.addr.val().get_bits::<8>(8) == self.page.val();
        self.phase.d.next = self.zero2.val();
        if self.s.valid.val() & (self.phase.q.val() != self.last.val()) {
            self.phase.d.next = self.phase.q.val() + self.one2.val();
        }
        self.s.ready.next = self.phase.q.val() == self.last.val();
        self.writes.next =
            self.s.valid.val() & self.s.write.val() & (self.phase.q.val() == self.zero2.val());
        self.reg_addr.next = self.s.addr.val();
        self.reg_wdata.next = self.s.wdata.val();
        self.reg_write.next = self.writes.val() & !self.own.val();

        self.control.d.next = self.control.q.val();
        self.hold.d.next = self.hold.q.val();
        if self.writes.val() & self.own.val() {
            if self.s.addr.val().get_bits::<8>(0) == self.at_control.val() {
                self.control.d.next = self.s.wdata.val().get_bits::<2>(0);
            }
            if self.s.addr.val().get_bits::<8>(0) == self.at_hold.val() {
                self.hold.d.next = self.s.wdata.val().get_bits::<16>(0);
            }
        }
        self.enable.next = self.control.q.val().get_bit(0);
        self.header.next = self.control.q.val().get_bit(1);
        self.period.next = self.hold.q.val();

        self.passes.d.next = self.passes.q.val();
        if self.passed.val() {
            self.passes.d.next = self.passes.q.val() + self.one.val();
        }
        self.drops.d.next = self.drops.q.val();
        if self.switch_drop.val() {
            self.drops.d.next = self.drops.q.val() + self.one.val();
        }
        self.deliveries.d.next = self.deliveries.q.val();
        if self.delivered.val() {
            self.deliveries.d.next = self.deliveries.q.val() + self.one.val();
        }

        self.state32.next = bit_cast::<32, 2>(self.state.val());
        self.free32.next = bit_cast::<32, 8>(self.free.val());
        self.word.next = self.zero.val();
        if self.s.addr.val().get_bits::<8>(0) == self.at_control.val() {
            self.word.next = bit_cast::<32, 2>(self.control.q.val());
        }
        if self.s.addr.val().get_bits::<8>(0) == self.at_status.val() {
            self.word.next = self.state32.val() | (self.free32.val() << self.free_lsb.val());
        }
        if self.s.addr.val().get_bits::<8>(0) == self.at_hold.val() {
            self.word.next = bit_cast::<32, 16>(self.hold.q.val());
        }
        if self.s.addr.val().get_bits::<8>(0) == self.at_passed.val() {
            self.word.next = self.passes.q.val();
        }
        if self.s.addr.val().get_bits::<8>(0) == self.at_drops.val() {
            self.word.next = self.drops.q.val();
        }
        if self.s.addr.val().get_bits::<8>(0) == self.at_delivered.val() {
            self.word.next = self.deliveries.q.val();
        }
        // The pipeline's register file answers in the third cycle, this register in the fourth.
        self.read.en.next = true;
        self.read.d.next = self.reg_rdata.val();
        if self.own.val() {
            self.read.d.next = self.word.val();
        }
        self.s.rdata.next = self.read.q.val();
    }
}
