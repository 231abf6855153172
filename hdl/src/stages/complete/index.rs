//! A 16-bit index per queue, 0 from the queue's start on.
//!
//!   queue ──►[ LutRam ]──► index          same cycle; `step` adds one
//!   ask   ──►[ copy ]────► answer         same cycle
//!
//! A bit per queue says that nothing was counted since the start, so that neither reset nor start
//! writes the RAM.
//!
//! Invariant: it starts at 0 whatever was counted before (`a_restart_counts_anew`). Not here: what
//! is counted.

use crate::blocks::nic_ports::EventSink;
use crate::blocks::ram::LutRam;
use crate::blocks::reg::{ClkRst, RegInit};
use crate::comment;
use rust_hdl::prelude::*;

/// The counters.
#[derive(LogicBlock)]
pub struct Index {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Queue that starts.
    pub start: EventSink,
    /// Queue that counts.
    pub queue: Signal<In, Bits<5>>,
    /// Adds one to its index.
    pub step: Signal<In, Bit>,
    /// Its index.
    pub value: Signal<Out, Bits<16>>,
    /// Queue to tell about.
    pub ask: Signal<In, Bits<5>>,
    /// Its index.
    pub answer: Signal<Out, Bits<16>>,
    counts: LutRam<Bits<16>, 5>,
    copies: LutRam<Bits<16>, 5>,
    fresh: RegInit<Bits<32>>,
    of_queue: Signal<Local, Bits<32>>,
    of_ask: Signal<Local, Bits<32>>,
    starts: Signal<Local, Bits<32>>,
    steps: Signal<Local, Bits<32>>,
    current: Signal<Local, Bits<16>>,
    following: Signal<Local, Bits<16>>,
    one: Constant<Bits<32>>,
    none: Constant<Bits<32>>,
    one16: Constant<Bits<16>>,
    zero16: Constant<Bits<16>>,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            start: Default::default(),
            queue: Default::default(),
            step: Default::default(),
            value: Default::default(),
            ask: Default::default(),
            answer: Default::default(),
            counts: Default::default(),
            copies: Default::default(),
            fresh: RegInit::new(0xffff_ffff_u64.into()),
            of_queue: Default::default(),
            of_ask: Default::default(),
            starts: Default::default(),
            steps: Default::default(),
            current: Default::default(),
            following: Default::default(),
            one: Constant::new(1.into()),
            none: Constant::new(0.into()),
            one16: Constant::new(1.into()),
            zero16: Constant::new(0.into()),
        }
    }
}

impl Logic for Index {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: complete_index");
        ClkRst::link(&mut self.cr, &mut self.counts.cr);
        ClkRst::link(&mut self.cr, &mut self.copies.cr);
        ClkRst::link(&mut self.cr, &mut self.fresh.cr);
        self.of_queue.next = self.one.val() << self.queue.val();
        self.of_ask.next = self.one.val() << self.ask.val();
        self.starts.next = self.none.val();
        if self.start.valid.val() {
            self.starts.next = self.one.val() << self.start.queue.val();
        }
        self.steps.next = self.none.val();
        if self.step.val() {
            self.steps.next = self.one.val() << self.queue.val();
        }
        self.fresh.d.next = (self.fresh.q.val() & !self.steps.val()) | self.starts.val();
        self.counts.raddr.next = self.queue.val();
        self.copies.raddr.next = self.ask.val();
        self.current.next = self.counts.rdata.val();
        if (self.fresh.q.val() & self.of_queue.val()) != self.none.val() {
            self.current.next = self.zero16.val();
        }
        self.answer.next = self.copies.rdata.val();
        if (self.fresh.q.val() & self.of_ask.val()) != self.none.val() {
            self.answer.next = self.zero16.val();
        }
        self.following.next = self.current.val() + self.one16.val();
        self.counts.waddr.next = self.queue.val();
        self.counts.wdata.next = self.following.val();
        self.counts.wen.next = self.step.val();
        self.copies.waddr.next = self.queue.val();
        self.copies.wdata.next = self.following.val();
        self.copies.wen.next = self.step.val();
        self.value.next = self.current.val();
    }
}
