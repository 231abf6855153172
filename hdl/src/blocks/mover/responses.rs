//! Tells which command a write response belongs to, and whether all of it went well.
//!
//!   issue ──►[ FIFO of 2^A bursts ]──┐
//!   response ────────────────────────┴──►[ OR of the errors ]──► done      1 cycle
//!
//! Responses of one identifier come in the order of their bursts (AXI A5.3). Invariants: one `done`
//! per command, in order, with an error if one of its bursts had one (`mover_moves_every_byte`); no
//! more than 2^A bursts are open (`mover_moves_every_byte`). Not here: identifiers.

use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::DoneSource;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// An open burst.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Open {
    /// Queue.
    pub queue: Bits<5>,
    /// The last burst of its command.
    pub last: Bit,
}

/// The block.
#[derive(LogicBlock)]
pub struct Responses<const A: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// The burst that is issued.
    pub issued: Signal<In, Open>,
    /// A burst is issued.
    pub issue: Signal<In, Bit>,
    /// One more may be.
    pub room: Signal<Out, Bit>,
    /// A response has come.
    pub response: Signal<In, Bit>,
    /// It is SLVERR or DECERR.
    pub response_error: Signal<In, Bit>,
    /// A command is done.
    pub done: DoneSource,
    open: Fifo<Open, A>,
    count: RegR<Bits<8>>,
    failed: RegR<Bit>,
    o_valid: RegR<Bit>,
    o_queue: RegE<Bits<5>>,
    o_error: RegE<Bit>,
    take: Signal<Local, Bit>,
    bad: Signal<Local, Bit>,
    most: Constant<Bits<8>>,
    one: Constant<Bits<8>>,
}

impl<const A: usize> Default for Responses<A> {
    fn default() -> Self {
        assert!(A < 8, "bits of the counter");
        Self {
            cr: Default::default(),
            issued: Default::default(),
            issue: Default::default(),
            room: Default::default(),
            response: Default::default(),
            response_error: Default::default(),
            done: Default::default(),
            open: Default::default(),
            count: Default::default(),
            failed: Default::default(),
            o_valid: Default::default(),
            o_queue: Default::default(),
            o_error: Default::default(),
            take: Default::default(),
            bad: Default::default(),
            most: Constant::new((1usize << A).to_bits()),
            one: Constant::new(1usize.to_bits()),
        }
    }
}

impl<const A: usize> Logic for Responses<A> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: mover_responses");
        ClkRst::link(&mut self.cr, &mut self.open.cr);
        ClkRst::link(&mut self.cr, &mut self.count.cr);
        ClkRst::link(&mut self.cr, &mut self.failed.cr);
        ClkRst::link(&mut self.cr, &mut self.o_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.o_queue.cr);
        ClkRst::link(&mut self.cr, &mut self.o_error.cr);

        self.take.next = self.response.val() & self.open.m_valid.val();
        self.bad.next = self.failed.q.val() | self.response_error.val();
        self.open.s_data.next = self.issued.val();
        self.open.s_valid.next = self.issue.val();
        self.open.m_ready.next = self.response.val();
        self.room.next = self.count.q.val() != self.most.val();
        self.count.d.next = self.count.q.val();
        if self.issue.val() & !self.take.val() {
            self.count.d.next = self.count.q.val() + self.one.val();
        } else if !self.issue.val() & self.take.val() {
            self.count.d.next = self.count.q.val() - self.one.val();
        }
        self.failed.d.next = self.failed.q.val();
        if self.take.val() {
            self.failed.d.next = self.bad.val() & !self.open.m_data.val().last;
        }
        self.o_valid.d.next = self.take.val() & self.open.m_data.val().last;
        self.o_queue.en.next = self.take.val();
        self.o_error.en.next = self.take.val();
        self.o_queue.d.next = self.open.m_data.val().queue;
        self.o_error.d.next = self.bad.val();
        self.done.valid.next = self.o_valid.q.val();
        self.done.queue.next = self.o_queue.q.val();
        self.done.error.next = self.o_error.q.val();
    }
}
