//! Records wait until their bytes are in the packet memory.
//!
//!   record ─►[ FIFO ]─── as many commands done as its tag says ───► m
//!   done ─► count ────────┘                      a marker: flushed, in order
//!
//! A record has a buffer of its own, so that the FIFO never fills and `place` never waits. Follows:
//! `complete`. Invariant: nothing is read before it was written
//! (`the_inline_form_equals_the_model`). Not here: reading.

use crate::blocks::deep_fifo::DeepFifo;
use crate::blocks::nic_ports::{Completion, CompletionRecord, DoneSink, RecordSink};
use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Records {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Records.
    pub s: RecordSink,
    /// A command is done.
    pub done: DoneSink,
    /// The oldest record.
    pub m_body: Signal<Out, Completion>,
    /// `m_body` is there, with its bytes.
    pub m_valid: Signal<Out, Bit>,
    /// It is taken.
    pub m_ready: Signal<In, Bit>,
    /// Everything in front of a FlushAll was taken.
    pub flushed: Signal<Out, Bit>,
    waiting: DeepFifo<CompletionRecord, 8>,
    bodies: DeepFifo<Completion, 8>,
    count: RegR<Bits<32>>,
    behind: Signal<Local, Bits<32>>,
    ahead: Signal<Local, Bits<32>>,
    due: Signal<Local, Bit>,
    marker: Signal<Local, Bit>,
    one: Constant<Bits<32>>,
}

impl Default for Records {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            s: Default::default(),
            done: Default::default(),
            m_body: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            flushed: Default::default(),
            waiting: Default::default(),
            bodies: Default::default(),
            count: Default::default(),
            behind: Default::default(),
            ahead: Default::default(),
            due: Default::default(),
            marker: Default::default(),
            one: Constant::new(1.into()),
        }
    }
}

impl Logic for Records {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_records");
        ClkRst::link(&mut self.cr, &mut self.waiting.cr);
        ClkRst::link(&mut self.cr, &mut self.bodies.cr);
        ClkRst::link(&mut self.cr, &mut self.count.cr);
        self.waiting.s_data.next = self.s.record.val();
        self.waiting.s_valid.next = self.s.valid.val();
        self.bodies.s_data.next = self.s.body.val();
        self.bodies.s_valid.next = self.s.valid.val();
        self.s.ready.next = self.waiting.s_ready.val();
        self.count.d.next = self.count.q.val();
        if self.done.valid.val() {
            self.count.d.next = self.count.q.val() + self.one.val();
        }
        self.behind.next = self.count.q.val() - self.waiting.m_data.val().tag;
        self.due.next = self.waiting.m_valid.val() & !self.behind.val().get_bit(31);
        self.marker.next = self.waiting.m_data.val().marker;
        self.m_body.next = self.bodies.m_data.val();
        // Not through `due`: a Local shared with `m_ready` would tie `m_valid` to it.
        self.ahead.next = self.count.q.val() - self.waiting.m_data.val().tag;
        self.m_valid.next = self.waiting.m_valid.val()
            & !self.ahead.val().get_bit(31)
            & !self.waiting.m_data.val().marker;
        self.flushed.next = self.due.val() & self.marker.val();
        self.waiting.m_ready.next = self.due.val() & (self.marker.val() | self.m_ready.val());
        self.bodies.m_ready.next = self.due.val() & (self.marker.val() | self.m_ready.val());
    }
}
