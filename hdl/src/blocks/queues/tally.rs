//! Events counted by queue.
//!
//!   event ──►[ FIFO of 32 ]──►[ count of each queue ]──► count
//!
//! While the host looks, events wait. The host looks every third cycle at most, so that events may
//! come in two of three cycles for ever, and in every cycle for a while.
//!
//! Invariants: every event is counted once, whenever the host looks (`counters_count_every_event`).
//! Not here: what is counted.

use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::EventSink;
use crate::blocks::ram::LutRam;
use crate::blocks::reg::ClkRst;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Tally {
    /// Clock and reset.
    pub cr: ClkRst,
    /// The count of `set_queue` becomes 0.
    pub clear: Signal<In, Bit>,
    pub set_queue: Signal<In, Bits<5>>,
    pub s: EventSink,
    /// `count` is that of `look_queue`.
    pub look: Signal<In, Bit>,
    pub look_queue: Signal<In, Bits<5>>,
    pub count: Signal<Out, Bits<32>>,
    waiting: Fifo<Bits<5>, 5>,
    counts: LutRam<Bits<32>, 5>,
    one: Constant<Bits<32>>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            clear: Default::default(),
            set_queue: Default::default(),
            s: Default::default(),
            look: Default::default(),
            look_queue: Default::default(),
            count: Default::default(),
            waiting: Default::default(),
            counts: Default::default(),
            one: Constant::new(1usize.to_bits()),
        }
    }
}

impl Logic for Tally {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.waiting.cr);
        ClkRst::link(&mut self.cr, &mut self.counts.cr);

        self.waiting.s_data.next = self.s.queue.val();
        self.waiting.s_valid.next = self.s.valid.val();
        self.waiting.m_ready.next = !self.look.val() & !self.clear.val();
        self.counts.raddr.next = self.waiting.m_data.val();
        if self.look.val() {
            self.counts.raddr.next = self.look_queue.val();
        }
        self.counts.waddr.next = self.waiting.m_data.val();
        self.counts.wdata.next = self.counts.rdata.val() + self.one.val();
        self.counts.wen.next = self.waiting.m_valid.val() & !self.look.val();
        if self.clear.val() {
            self.counts.waddr.next = self.set_queue.val();
            self.counts.wdata.next = 0.into();
            self.counts.wen.next = true;
        }
        self.count.next = self.counts.rdata.val();
    }
}
