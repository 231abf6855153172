//! AXI4-Lite subordinate: one register access at a time.
//!
//!   AW, W, AR ──►[ one of each ]──► choose ──►[ access ]──► bus      3 cycles to the response and
//!   B, R ◄──────[ one of each ]◄────────────────── ready ◄──┘        those that the bus takes
//!
//! AMBA AXI (IHI 0022) B1: AW and W come in any order; WSTRB other than all ones and addresses that
//! are no multiple of 4 get SLVERR, and no access. Reads and writes that wait together take turns.
//!
//! Invariants: every request gets one response, in order, that holds still; writes take effect in
//! order and before their response (`axi_lite_answers_everything`); while `hold` is high no access
//! begins or ends (`axi_lite_answers_everything`): one that it interrupts is made again. Not here:
//! the map of addresses.

use super::axi::{AxiLiteSink, RegBusSource};
use super::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct AxiLite {
    /// Clock and the power-on reset.
    pub cr: ClkRst,
    /// No access: what is behind the bus is in reset.
    pub hold: Signal<In, Bit>,
    /// From the host.
    pub s: AxiLiteSink,
    /// To the registers.
    pub m: RegBusSource,
    aw_have: RegR<Bit>,
    aw_addr: RegE<Bits<16>>,
    w_have: RegR<Bit>,
    w_data: RegE<Bits<32>>,
    w_strb: RegE<Bits<4>>,
    ar_have: RegR<Bit>,
    ar_addr: RegE<Bits<16>>,
    access: RegR<Bit>,
    is_write: RegR<Bit>,
    b_valid: RegR<Bit>,
    b_bad: RegE<Bit>,
    r_valid: RegR<Bit>,
    r_bad: RegE<Bit>,
    r_data: RegE<Bits<32>>,
    can_write: Signal<Local, Bit>,
    can_read: Signal<Local, Bit>,
    low: Signal<Local, Bits<2>>,
    bad: Signal<Local, Bit>,
    finish: Signal<Local, Bit>,
    finish_write: Signal<Local, Bit>,
    finish_read: Signal<Local, Bit>,
    all_strobes: Constant<Bits<4>>,
    zero2: Constant<Bits<2>>,
    zero32: Constant<Bits<32>>,
    okay: Constant<Bits<2>>,
    slave_error: Constant<Bits<2>>,
}

impl Default for AxiLite {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            hold: Default::default(),
            s: Default::default(),
            m: Default::default(),
            aw_have: Default::default(),
            aw_addr: Default::default(),
            w_have: Default::default(),
            w_data: Default::default(),
            w_strb: Default::default(),
            ar_have: Default::default(),
            ar_addr: Default::default(),
            access: Default::default(),
            is_write: Default::default(),
            b_valid: Default::default(),
            b_bad: Default::default(),
            r_valid: Default::default(),
            r_bad: Default::default(),
            r_data: Default::default(),
            can_write: Default::default(),
            can_read: Default::default(),
            low: Default::default(),
            bad: Default::default(),
            finish: Default::default(),
            finish_write: Default::default(),
            finish_read: Default::default(),
            all_strobes: Constant::new(15usize.to_bits()),
            zero2: Constant::new(0usize.to_bits()),
            zero32: Constant::new(0usize.to_bits()),
            okay: Constant::new(0usize.to_bits()),
            slave_error: Constant::new(2usize.to_bits()),
        }
    }
}

impl Logic for AxiLite {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: axi_lite");
        ClkRst::link(&mut self.cr, &mut self.aw_have.cr);
        ClkRst::link(&mut self.cr, &mut self.aw_addr.cr);
        ClkRst::link(&mut self.cr, &mut self.w_have.cr);
        ClkRst::link(&mut self.cr, &mut self.w_data.cr);
        ClkRst::link(&mut self.cr, &mut self.w_strb.cr);
        ClkRst::link(&mut self.cr, &mut self.ar_have.cr);
        ClkRst::link(&mut self.cr, &mut self.ar_addr.cr);
        ClkRst::link(&mut self.cr, &mut self.access.cr);
        ClkRst::link(&mut self.cr, &mut self.is_write.cr);
        ClkRst::link(&mut self.cr, &mut self.b_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.b_bad.cr);
        ClkRst::link(&mut self.cr, &mut self.r_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.r_bad.cr);
        ClkRst::link(&mut self.cr, &mut self.r_data.cr);

        // The access at work; the register tells whose turn it was, too.
        self.low.next = self.ar_addr.q.val().get_bits::<2>(0);
        self.bad.next = false;
        if self.is_write.q.val() {
            self.low.next = self.aw_addr.q.val().get_bits::<2>(0);
            self.bad.next = self.w_strb.q.val() != self.all_strobes.val();
        }
        self.finish.next = self.access.q.val()
            & !self.hold.val()
            & (self.bad.val() | (self.low.val() != self.zero2.val()) | self.m.ready.val());
        self.finish_write.next = self.finish.val() & self.is_write.q.val();
        self.finish_read.next = self.finish.val() & !self.is_write.q.val();
        self.m.valid.next = self.access.q.val()
            & !self.hold.val()
            & !self.bad.val()
            & (self.low.val() == self.zero2.val());
        self.m.write.next = self.is_write.q.val();
        self.m.wdata.next = self.w_data.q.val();
        self.m.addr.next = self.ar_addr.q.val();
        if self.is_write.q.val() {
            self.m.addr.next = self.aw_addr.q.val();
        }

        // The next one.
        self.can_write.next = self.aw_have.q.val() & self.w_have.q.val() & !self.b_valid.q.val();
        self.can_read.next = self.ar_have.q.val() & !self.r_valid.q.val();
        self.access.d.next = self.access.q.val() & !self.finish.val();
        self.is_write.d.next = self.is_write.q.val();
        if !self.access.q.val() & (self.can_write.val() | self.can_read.val()) {
            self.access.d.next = true;
            self.is_write.d.next =
                self.can_write.val() & !(self.can_read.val() & self.is_write.q.val());
        }

        // Requests.
        self.aw_addr.en.next = !self.aw_have.q.val();
        self.w_data.en.next = !self.w_have.q.val();
        self.w_strb.en.next = !self.w_have.q.val();
        self.ar_addr.en.next = !self.ar_have.q.val();
        self.aw_addr.d.next = self.s.awaddr.val();
        self.w_data.d.next = self.s.wdata.val();
        self.w_strb.d.next = self.s.wstrb.val();
        self.ar_addr.d.next = self.s.araddr.val();
        self.aw_have.d.next = (self.aw_have.q.val() & !self.finish_write.val())
            | (!self.aw_have.q.val() & self.s.awvalid.val());
        self.w_have.d.next = (self.w_have.q.val() & !self.finish_write.val())
            | (!self.w_have.q.val() & self.s.wvalid.val());
        self.ar_have.d.next = (self.ar_have.q.val() & !self.finish_read.val())
            | (!self.ar_have.q.val() & self.s.arvalid.val());
        self.s.awready.next = !self.aw_have.q.val();
        self.s.wready.next = !self.w_have.q.val();
        self.s.arready.next = !self.ar_have.q.val();

        // Responses.
        self.b_valid.d.next =
            self.finish_write.val() | (self.b_valid.q.val() & !self.s.bready.val());
        self.r_valid.d.next =
            self.finish_read.val() | (self.r_valid.q.val() & !self.s.rready.val());
        self.b_bad.en.next = self.finish_write.val();
        self.r_bad.en.next = self.finish_read.val();
        self.r_data.en.next = self.finish_read.val();
        self.b_bad.d.next = self.bad.val() | (self.low.val() != self.zero2.val());
        self.r_bad.d.next = self.low.val() != self.zero2.val();
        self.r_data.d.next = self.m.rdata.val();
        if self.low.val() != self.zero2.val() {
            self.r_data.d.next = self.zero32.val();
        }
        self.s.bvalid.next = self.b_valid.q.val();
        self.s.rvalid.next = self.r_valid.q.val();
        self.s.rdata.next = self.r_data.q.val();
        self.s.bresp.next = self.okay.val();
        self.s.rresp.next = self.okay.val();
        if self.b_bad.q.val() {
            self.s.bresp.next = self.slave_error.val();
        }
        if self.r_bad.q.val() {
            self.s.rresp.next = self.slave_error.val();
        }
    }
}
