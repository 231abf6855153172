//! Interrupt vectors: moderation by count and time, re-arm by the consumer write, MSI-X.
//!
//!   visits, stop, flushed ─┐
//!   completed ──► FIFO ────┼─►[ read ]──►[ decide ]──► fire ──► pending ──► FIFO ──► MSI-X
//!   scan of all queues ────┘      ▲          └──► expire ──► FIFO ──► token
//!                              produced
//!
//! A visit takes 2 cycles and looks at one queue: at what is visible in host memory, at what the
//! host knows of, and at the settings. The host's own writes come first and wait for their visit;
//! completions take turns with the scan. The scan alone suffices: the FIFO of completions, which
//! drops what does not fit, only makes it fast.
//!
//! Time is counted in cycles from the visit that saw the first unsignalled completion, and ends
//! with the first visit at least 64 * `time` cycles later. A queue is visited every 64 cycles, or
//! 128 while completions come, or 256 while the host also writes without pause: that is how late a
//! moderation time may end.
//!
//! Follows: spec rows `MODERATION`, `COMPLETION_CONSUMER`, `QUEUE_CONTROL`; PCI Express base
//! specification, MSI-X: a vector that waits to be sent merges with its next.
//! Decisions: an expiry asks for a FlushAll, and signals when that is through; a queue that stops
//! signals what is unsignalled, and a DMA error even if nothing is, so that whoever waits learns of
//! it; the same vector waits at most once.
//! Invariants: no wake-up is lost (`no_wake_up_is_lost`: every cycle of a consumer write against a
//! completion, with and without the FIFO); count and time are those of the model
//! (`random_events_equal_the_model`); nothing is lost under back-pressure
//! (`back_pressure_loses_no_vector`). Not here: flushing.

use self::decide::{Decide, Vector};
use self::msix::Msix;
use self::pick::Pick;
use super::fifo::Fifo;
use super::nic_ports::EventSink;
use super::queues::rows::index;
use super::ram::LutRam;
use super::reg::{ClkRst, RegE, RegR};
use groove_spec::nic;
use rust_hdl::prelude::*;

pub mod decide;
pub mod msix;
pub mod pick;

pub use self::decide::VisitKind;

/// See the module.
#[derive(LogicBlock)]
pub struct Interrupts {
    /// Clock and reset.
    pub cr: ClkRst,
    /// The sweep clears `set_queue`.
    pub clear: Signal<In, Bit>,
    /// Register `set_number` of `set_queue` becomes `set_word`.
    pub set_valid: Signal<In, Bit>,
    pub set_queue: Signal<In, Bits<5>>,
    pub set_number: Signal<In, Bits<5>>,
    pub set_word: Signal<In, Bits<32>>,
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
    /// Queues that run, and those that stop.
    pub running: Signal<In, Bits<32>>,
    pub closing: Signal<In, Bits<32>>,
    /// Queues that a DMA error stopped.
    pub fault: Signal<In, Bits<32>>,
    /// `produced` belongs to somebody else in this cycle.
    pub hold: Signal<In, Bit>,
    /// Completions of `produced_queue` that are visible.
    pub produced_queue: Signal<Out, Bits<5>>,
    pub produced: Signal<In, Bits<16>>,
    /// Asks for a FlushAll.
    pub expire_queue: Signal<Out, Bits<5>>,
    pub expire_valid: Signal<Out, Bit>,
    pub expire_ready: Signal<In, Bit>,
    /// To the host.
    pub msix_vector: Signal<Out, Bits<5>>,
    pub msix_valid: Signal<Out, Bit>,
    pub msix_ready: Signal<In, Bit>,
    vectors: LutRam<Vector, 5>,
    limits: LutRam<Bits<32>, 5>,
    enabled: RegR<Bits<32>>,
    pick: Pick,
    expiries: Fifo<Bits<5>, 5>,
    msix: Msix,
    now: RegR<Bits<24>>,
    // what is known of it
    was: RegE<Vector>,
    limit: RegE<Bits<32>>,
    visible: RegE<Bits<16>>,
    fresh: RegE<Bits<16>>,
    waited: RegE<Bits<24>>,
    lives: RegE<Bit>,
    open: RegE<Bit>,
    on: RegE<Bit>,
    failed: RegE<Bit>,
    base: Signal<Local, Bits<16>>,
    only: Signal<Local, Bits<32>>,
    at_running: Signal<Local, Bits<32>>,
    at_closing: Signal<Local, Bits<32>>,
    at_enabled: Signal<Local, Bits<32>>,
    at_fault: Signal<Local, Bits<32>>,
    // what becomes of it
    verdict: Decide,
    set_only: Signal<Local, Bits<32>>,
    initial_vector: Constant<Vector>,
    one: Constant<Bits<32>>,
    one24: Constant<Bits<24>>,
    control: Constant<Bits<5>>,
    moderation: Constant<Bits<5>>,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            clear: Default::default(),
            set_valid: Default::default(),
            set_queue: Default::default(),
            set_number: Default::default(),
            set_word: Default::default(),
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
            running: Default::default(),
            closing: Default::default(),
            fault: Default::default(),
            hold: Default::default(),
            produced_queue: Default::default(),
            produced: Default::default(),
            expire_queue: Default::default(),
            expire_valid: Default::default(),
            expire_ready: Default::default(),
            msix_vector: Default::default(),
            msix_valid: Default::default(),
            msix_ready: Default::default(),
            vectors: Default::default(),
            limits: Default::default(),
            enabled: Default::default(),
            pick: Default::default(),
            expiries: Default::default(),
            msix: Default::default(),
            now: Default::default(),
            was: Default::default(),
            limit: Default::default(),
            visible: Default::default(),
            fresh: Default::default(),
            waited: Default::default(),
            lives: Default::default(),
            open: Default::default(),
            on: Default::default(),
            failed: Default::default(),
            base: Default::default(),
            only: Default::default(),
            at_running: Default::default(),
            at_closing: Default::default(),
            at_enabled: Default::default(),
            at_fault: Default::default(),
            verdict: Default::default(),
            set_only: Default::default(),
            initial_vector: Constant::new(Vector { armed: true, ..Default::default() }),
            one: Constant::new(1usize.to_bits()),
            one24: Constant::new(1usize.to_bits()),
            control: index(&nic::QUEUE_CONTROL),
            moderation: index(&nic::MODERATION),
        }
    }
}

impl Logic for Interrupts {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.vectors.cr);
        ClkRst::link(&mut self.cr, &mut self.limits.cr);
        ClkRst::link(&mut self.cr, &mut self.enabled.cr);
        ClkRst::link(&mut self.cr, &mut self.expiries.cr);
        ClkRst::link(&mut self.cr, &mut self.pick.cr);
        ClkRst::link(&mut self.cr, &mut self.msix.cr);
        ClkRst::link(&mut self.cr, &mut self.now.cr);
        ClkRst::link(&mut self.cr, &mut self.was.cr);
        ClkRst::link(&mut self.cr, &mut self.limit.cr);
        ClkRst::link(&mut self.cr, &mut self.visible.cr);
        ClkRst::link(&mut self.cr, &mut self.fresh.cr);
        ClkRst::link(&mut self.cr, &mut self.waited.cr);
        ClkRst::link(&mut self.cr, &mut self.lives.cr);
        ClkRst::link(&mut self.cr, &mut self.open.cr);
        ClkRst::link(&mut self.cr, &mut self.on.cr);
        ClkRst::link(&mut self.cr, &mut self.failed.cr);

        // Settings.
        self.limits.waddr.next = self.set_queue.val();
        self.limits.wdata.next = self.set_word.val();
        self.limits.wen.next =
            self.set_valid.val() & (self.set_number.val() == self.moderation.val());
        self.set_only.next = self.one.val() << self.set_queue.val();
        self.enabled.d.next = self.enabled.q.val();
        if self.set_valid.val() & (self.set_number.val() == self.control.val()) {
            if self.set_word.val().get_bit(2) {
                self.enabled.d.next = self.enabled.q.val() | self.set_only.val();
            } else {
                self.enabled.d.next = self.enabled.q.val() & !self.set_only.val();
            }
        }

        self.now.d.next = self.now.q.val() + self.one24.val();
        EventSink::link(&mut self.completed, &mut self.pick.completed);
        EventSink::link(&mut self.flushed, &mut self.pick.flushed);
        self.pick.visit_kind.next = self.visit_kind.val();
        self.pick.visit_queue.next = self.visit_queue.val();
        self.pick.visit_value.next = self.visit_value.val();
        self.pick.visit_valid.next = self.visit_valid.val();
        self.visit_ready.next = self.pick.visit_ready.val();
        self.pick.stop_queue.next = self.stop_queue.val();
        self.pick.stop_valid.next = self.stop_valid.val();
        self.stop_ready.next = self.pick.stop_ready.val();
        self.pick.hold.next = self.hold.val();

        // What is known of the queue; no look at `produced` while somebody else has it.
        self.produced_queue.next = self.pick.queue.val();
        self.vectors.raddr.next = self.pick.queue.val();
        self.limits.raddr.next = self.pick.queue.val();
        self.base.next = self.vectors.rdata.val().known;
        if self.pick.kind.val() == VisitKind::Consumer {
            self.base.next = self.pick.value.val();
        }
        self.only.next = self.one.val() << self.pick.queue.val();
        self.at_running.next = self.running.val() & self.only.val();
        self.at_closing.next = self.closing.val() & self.only.val();
        self.at_enabled.next = self.enabled.q.val() & self.only.val();
        self.at_fault.next = self.fault.val() & self.only.val();
        self.was.en.next = true;
        self.was.d.next = self.vectors.rdata.val();
        self.limit.en.next = true;
        self.limit.d.next = self.limits.rdata.val();
        self.visible.en.next = true;
        self.visible.d.next = self.produced.val();
        self.fresh.en.next = true;
        self.fresh.d.next = self.produced.val() - self.base.val();
        self.waited.en.next = true;
        self.waited.d.next = self.now.q.val() - self.vectors.rdata.val().since;
        self.lives.en.next = true;
        self.lives.d.next = self.at_running.val().any();
        self.open.en.next = true;
        self.open.d.next = self.at_running.val().any() & !self.at_closing.val().any();
        self.on.en.next = true;
        self.on.d.next = self.at_enabled.val().any();
        self.failed.en.next = true;
        self.failed.d.next = self.at_fault.val().any();

        // What becomes of it.
        self.verdict.kind.next = self.pick.kind.val();
        self.verdict.was.next = self.was.q.val();
        self.verdict.value.next = self.pick.value.val();
        self.verdict.limit.next = self.limit.q.val();
        self.verdict.visible.next = self.visible.q.val();
        self.verdict.fresh.next = self.fresh.q.val();
        self.verdict.waited.next = self.waited.q.val();
        self.verdict.now.next = self.now.q.val();
        self.verdict.lives.next = self.lives.q.val();
        self.verdict.open.next = self.open.q.val();
        self.verdict.on.next = self.on.q.val();
        self.verdict.fault.next = self.failed.q.val();
        self.vectors.waddr.next = self.pick.queue.val();
        self.vectors.wdata.next = self.verdict.vector.val();
        self.vectors.wen.next = self.pick.decide.val() & self.verdict.write.val();
        if self.clear.val() {
            self.vectors.waddr.next = self.set_queue.val();
            self.vectors.wdata.next = self.initial_vector.val();
            self.vectors.wen.next = true;
        }
        self.expiries.s_data.next = self.pick.queue.val();
        self.expiries.s_valid.next = self.pick.decide.val() & self.verdict.expire.val();
        self.expire_queue.next = self.expiries.m_data.val();
        self.expire_valid.next = self.expiries.m_valid.val();
        self.expiries.m_ready.next = self.expire_ready.val();
        self.msix.fire.next = self.pick.decide.val() & self.verdict.fire.val();
        self.msix.queue.next = self.pick.queue.val();
        self.msix_vector.next = self.msix.msix_vector.val();
        self.msix_valid.next = self.msix.msix_valid.val();
        self.msix.msix_ready.next = self.msix_ready.val();
    }
}
