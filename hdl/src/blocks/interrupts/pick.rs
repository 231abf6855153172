//! Which queue is looked at next, and why.
//!
//!   visit, stop, flushed, completed, scan ─►[ read | decide ]─► kind, queue, value   2 cycles each
//!
//! In this order, but completions and scan take turns. Completions and flushes wait in FIFOs: a
//! queue has one flush under way at most, so that they all fit; a completion that does not fit is
//! left to the scan.
//!
//! Invariants: every queue is visited within the bounds of `interrupts` (`the_scan_is_bounded`).
//! Not here: what a visit does.

use super::decide::VisitKind;
use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::EventSink;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Pick {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Visits of the window.
    pub visit_kind: Signal<In, VisitKind>,
    pub visit_queue: Signal<In, Bits<5>>,
    pub visit_value: Signal<In, Bits<16>>,
    pub visit_valid: Signal<In, Bit>,
    pub visit_ready: Signal<Out, Bit>,
    /// A queue has stopped.
    pub stop_queue: Signal<In, Bits<5>>,
    pub stop_valid: Signal<In, Bit>,
    pub stop_ready: Signal<Out, Bit>,
    /// A completion has become visible.
    pub completed: EventSink,
    /// The flush that an expiry asked for is through.
    pub flushed: EventSink,
    /// Nothing can be read in this cycle.
    pub hold: Signal<In, Bit>,
    /// Second cycle of a visit.
    pub decide: Signal<Out, Bit>,
    pub kind: Signal<Out, VisitKind>,
    pub queue: Signal<Out, Bits<5>>,
    /// With a consumer write: what was written.
    pub value: Signal<Out, Bits<16>>,
    events: Fifo<Bits<5>, 4>,
    flushes: Fifo<Bits<5>, 5>,
    second: RegR<Bit>,
    reason: RegR<VisitKind>,
    chosen: RegR<Bits<5>>,
    written: RegE<Bits<16>>,
    scan: RegR<Bits<5>>,
    turn: RegR<Bit>,
    one: Constant<Bits<5>>,
}

impl Default for Pick {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            visit_kind: Default::default(),
            visit_queue: Default::default(),
            visit_value: Default::default(),
            visit_valid: Default::default(),
            visit_ready: Default::default(),
            stop_queue: Default::default(),
            stop_valid: Default::default(),
            stop_ready: Default::default(),
            completed: Default::default(),
            flushed: Default::default(),
            hold: Default::default(),
            decide: Default::default(),
            kind: Default::default(),
            queue: Default::default(),
            value: Default::default(),
            events: Default::default(),
            flushes: Default::default(),
            second: Default::default(),
            reason: Default::default(),
            chosen: Default::default(),
            written: Default::default(),
            scan: Default::default(),
            turn: Default::default(),
            one: Constant::new(1usize.to_bits()),
        }
    }
}

impl Logic for Pick {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.events.cr);
        ClkRst::link(&mut self.cr, &mut self.flushes.cr);
        ClkRst::link(&mut self.cr, &mut self.second.cr);
        ClkRst::link(&mut self.cr, &mut self.reason.cr);
        ClkRst::link(&mut self.cr, &mut self.chosen.cr);
        ClkRst::link(&mut self.cr, &mut self.written.cr);
        ClkRst::link(&mut self.cr, &mut self.scan.cr);
        ClkRst::link(&mut self.cr, &mut self.turn.cr);

        self.events.s_data.next = self.completed.queue.val();
        self.events.s_valid.next = self.completed.valid.val();
        self.flushes.s_data.next = self.flushed.queue.val();
        self.flushes.s_valid.next = self.flushed.valid.val();
        self.visit_ready.next = self.second.q.val();
        self.stop_ready.next = self.second.q.val() & !self.visit_valid.val();
        self.flushes.m_ready.next = false;
        self.events.m_ready.next = false;
        // The next visit is chosen while the last one is decided.
        self.second.d.next = !self.second.q.val() & !self.hold.val();
        self.reason.d.next = self.reason.q.val();
        self.chosen.d.next = self.chosen.q.val();
        self.scan.d.next = self.scan.q.val();
        self.turn.d.next = self.turn.q.val();
        self.written.en.next = self.second.q.val();
        self.written.d.next = self.visit_value.val();
        if self.second.q.val() {
            self.reason.d.next = VisitKind::Touch;
            if self.visit_valid.val() {
                self.reason.d.next = self.visit_kind.val();
                self.chosen.d.next = self.visit_queue.val();
            } else if self.stop_valid.val() {
                self.reason.d.next = VisitKind::Stop;
                self.chosen.d.next = self.stop_queue.val();
            } else if self.flushes.m_valid.val() {
                self.flushes.m_ready.next = true;
                self.reason.d.next = VisitKind::Flushed;
                self.chosen.d.next = self.flushes.m_data.val();
            } else if self.events.m_valid.val() & self.turn.q.val() {
                self.events.m_ready.next = true;
                self.chosen.d.next = self.events.m_data.val();
                self.turn.d.next = false;
            } else {
                self.chosen.d.next = self.scan.q.val();
                self.scan.d.next = self.scan.q.val() + self.one.val();
                self.turn.d.next = true;
            }
        }
        self.decide.next = self.second.q.val();
        self.kind.next = self.reason.q.val();
        self.queue.next = self.chosen.q.val();
        self.value.next = self.written.q.val();
    }
}
