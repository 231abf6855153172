//! What becomes of a vector at a visit.
//!
//!   kind, vector, settings, completions ──► vector, fire, expire        combinational
//!
//! Follows: spec rows `MODERATION`, `COMPLETION_CONSUMER`, `QUEUE_CONTROL`, `QUEUE_STATUS`.
//! Invariants: as the model of a vector, visit by visit (`random_events_equal_the_model`); a vector
//! fires once until it is armed again (`fires_once_until_re_armed`); a fault is told when the queue
//! has stopped, and at each re-arm behind it (`a_fault_is_told`). Not here: who is visited.

use crate::blocks::bits::ZExt;
use rust_hdl::prelude::*;

/// Why a vector is looked at.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum VisitKind {
    /// Something may have changed: count and time decide.
    Touch,
    /// The host wrote `COMPLETION_CONSUMER`.
    Consumer,
    /// The queue starts.
    Start,
    /// The queue has stopped.
    Stop,
    /// The flush that an expiry asked for is through.
    Flushed,
    /// The host wrote `QUEUE_CONTROL`; as `Touch`, also for a queue that does not run.
    Control,
}

/// What is known of a vector.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Vector {
    /// Fires when something is to be signalled.
    pub armed: Bit,
    /// Unsignalled completions wait since `since`.
    pub waiting: Bit,
    /// They have waited longer than any time that can be set.
    pub old: Bit,
    /// A flush is under way.
    pub expiring: Bit,
    /// Completions that the host knows of.
    pub known: Bits<16>,
    /// Cycle of the first that it does not know of.
    pub since: Bits<24>,
}

/// See the module.
#[derive(LogicBlock, Default)]
pub struct Decide {
    pub kind: Signal<In, VisitKind>,
    /// As it was.
    pub was: Signal<In, Vector>,
    /// With a consumer write: what was written.
    pub value: Signal<In, Bits<16>>,
    /// Image of `MODERATION`.
    pub limit: Signal<In, Bits<32>>,
    /// Visible completions, and how many of them the host does not know of.
    pub visible: Signal<In, Bits<16>>,
    pub fresh: Signal<In, Bits<16>>,
    /// Cycles since `since`.
    pub waited: Signal<In, Bits<24>>,
    pub now: Signal<In, Bits<24>>,
    /// The queue runs; it runs and does not stop; its interrupt is on.
    pub lives: Signal<In, Bit>,
    pub open: Signal<In, Bit>,
    pub on: Signal<In, Bit>,
    /// A DMA error stopped it.
    pub fault: Signal<In, Bit>,
    /// As it becomes, and whether it is to be remembered.
    pub write: Signal<Out, Bit>,
    pub vector: Signal<Out, Vector>,
    /// Signal the host.
    pub fire: Signal<Out, Bit>,
    /// Ask for a flush.
    pub expire: Signal<Out, Bit>,
    becomes: Signal<Local, Vector>,
    fires: Signal<Local, Bit>,
    expires: Signal<Local, Bit>,
    some: Signal<Local, Bit>,
    tells: Signal<Local, Bit>,
    able: Signal<Local, Bit>,
    enough: Signal<Local, Bit>,
    count: Signal<Local, Bits<16>>,
    aged: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    touches: Signal<Local, Bit>,
}

impl Logic for Decide {
    #[hdl_gen]
    fn update(&mut self) {
        self.some.next = self.fresh.val().any();
        // A fault is something to tell, until the queue starts again.
        self.tells.next = self.fresh.val().any() | self.fault.val();
        self.able.next = self.on.val() & self.was.val().armed;
        self.count.next = self.limit.val().get_bits::<8>(0).to_bits();
        self.enough.next = self.fresh.val() >= self.count.val();
        self.aged.next = self.waited.val().get_bits::<2>(22).any();
        self.over.next = self.limit.val().get_bits::<16>(16).any()
            & (self.was.val().old
                | self.aged.val()
                | (self.waited.val().get_bits::<16>(6) >= self.limit.val().get_bits::<16>(16)));

        self.becomes.next = self.was.val();
        self.fires.next = false;
        self.expires.next = false;
        self.touches.next = false;
        match self.kind.val() {
            VisitKind::Touch => {
                self.touches.next = self.lives.val();
            }
            VisitKind::Control => {
                self.touches.next = true;
                self.fires.next = self.able.val() & self.fault.val();
            }
            VisitKind::Consumer => {
                self.becomes.next.armed = true;
                self.becomes.next.waiting = false;
                self.becomes.next.old = false;
                self.becomes.next.known = self.value.val();
                self.fires.next = self.on.val() & self.tells.val();
            }
            VisitKind::Start => {
                self.becomes.next.armed = true;
                self.becomes.next.waiting = false;
                self.becomes.next.old = false;
                self.becomes.next.known = 0.into();
            }
            VisitKind::Stop => {
                self.fires.next = self.able.val() & self.tells.val();
            }
            VisitKind::Flushed => {
                self.becomes.next.expiring = false;
                self.fires.next = self.able.val() & self.some.val();
            }
            _ => {}
        }
        if self.touches.val() & self.some.val() {
            if !self.was.val().waiting {
                self.becomes.next.waiting = true;
                self.becomes.next.since = self.now.val();
            } else if self.aged.val() {
                self.becomes.next.old = true;
            }
            if self.able.val() & self.enough.val() {
                self.fires.next = true;
            } else if self.able.val()
                & self.was.val().waiting
                & self.over.val()
                & !self.was.val().expiring
                & self.open.val()
            {
                self.expires.next = true;
                self.becomes.next.expiring = true;
            }
        }
        if self.fires.val() {
            self.becomes.next.armed = false;
            self.becomes.next.waiting = false;
            self.becomes.next.old = false;
            self.becomes.next.known = self.visible.val();
        }
        self.write.next = (self.kind.val() != VisitKind::Touch) | self.lives.val();
        self.vector.next = self.becomes.val();
        self.fire.next = self.fires.val();
        self.expire.next = self.expires.val();
    }
}
