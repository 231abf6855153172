//! The indirection table: 128 queues, one write port, one read port for frames and one for the
//! host.
//!
//!   waddr, wdata, write ──►[ 2 x LutRam, valid bits ]──► queue, host_queue      0 cycles to read
//!
//! Invariant: an entry reads as 0 until it is written after a reset
//! (`entries_are_zero_after_reset`): memory has no reset, so that each entry has a valid bit, and
//! no clearing needs waiting for. Not here: queues that do not exist.

use crate::blocks::ram::LutRam;
use crate::blocks::reg::{ClkRst, RegR};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Indirection {
    pub cr: ClkRst,
    pub write: Signal<In, Bit>,
    pub waddr: Signal<In, Bits<7>>,
    pub wdata: Signal<In, Bits<5>>,
    pub index: Signal<In, Bits<7>>,
    pub queue: Signal<Out, Bits<5>>,
    pub host_index: Signal<In, Bits<7>>,
    pub host_queue: Signal<Out, Bits<5>>,
    frames: LutRam<Bits<5>, 7>,
    host: LutRam<Bits<5>, 7>,
    known: RegR<Bits<128>>,
    one: Constant<Bits<128>>,
    at_index: Signal<Local, Bits<128>>,
    at_host: Signal<Local, Bits<128>>,
}

impl Default for Indirection {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            write: Default::default(),
            waddr: Default::default(),
            wdata: Default::default(),
            index: Default::default(),
            queue: Default::default(),
            host_index: Default::default(),
            host_queue: Default::default(),
            frames: Default::default(),
            host: Default::default(),
            known: Default::default(),
            one: Constant::new(1usize.to_bits()),
            at_index: Default::default(),
            at_host: Default::default(),
        }
    }
}

impl Logic for Indirection {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.frames.cr);
        ClkRst::link(&mut self.cr, &mut self.host.cr);
        ClkRst::link(&mut self.cr, &mut self.known.cr);
        self.frames.wen.next = self.write.val();
        self.frames.waddr.next = self.waddr.val();
        self.frames.wdata.next = self.wdata.val();
        self.host.wen.next = self.write.val();
        self.host.waddr.next = self.waddr.val();
        self.host.wdata.next = self.wdata.val();
        self.known.d.next = self.known.q.val();
        if self.write.val() {
            self.known.d.next = self.known.q.val() | (self.one.val() << self.waddr.val());
        }
        self.frames.raddr.next = self.index.val();
        self.at_index.next = self.known.q.val() >> self.index.val();
        self.queue.next = 0.into();
        if self.at_index.val().get_bit(0) {
            self.queue.next = self.frames.rdata.val();
        }
        self.host.raddr.next = self.host_index.val();
        self.at_host.next = self.known.q.val() >> self.host_index.val();
        self.host_queue.next = 0.into();
        if self.at_host.val().get_bit(0) {
            self.host_queue.next = self.host.rdata.val();
        }
    }
}
