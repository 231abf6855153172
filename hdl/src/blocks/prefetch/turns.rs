//! Which queues want a turn at fetching, and which has the next.
//!
//!   add, popped ──►[ wishes ]──► round robin ──► index      1 cycle; `drop` ends the chosen wish
//!
//! Invariant: a wish that comes while another of the queue ends stays
//! (`prefetch_equals_the_reference`: no descriptor is left lying). Not here: what a turn is.

use crate::blocks::reg::{ClkRst, RegR};
use crate::blocks::round_robin::RoundRobin;
use crate::comment;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Turns {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Chooses at this edge.
    pub choose: Signal<In, Bit>,
    /// The wish of the chosen one ends.
    pub drop: Signal<In, Bit>,
    /// Somebody wants a turn.
    pub wanted: Signal<Out, Bit>,
    /// The chosen one.
    pub index: Signal<Out, Bits<5>>,
    /// `queue` wants a turn.
    pub add: Signal<In, Bit>,
    /// See `add`.
    pub queue: Signal<In, Bits<5>>,
    /// `popped_queue` wants a turn.
    pub popped: Signal<In, Bit>,
    /// See `popped`.
    pub popped_queue: Signal<In, Bits<5>>,
    arbiter: RoundRobin,
    wishes: RegR<Bits<32>>,
    drops: Signal<Local, Bits<32>>,
    adds: Signal<Local, Bits<32>>,
    pops: Signal<Local, Bits<32>>,
    one: Constant<Bits<32>>,
    none: Constant<Bits<32>>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            choose: Default::default(),
            drop: Default::default(),
            wanted: Default::default(),
            index: Default::default(),
            add: Default::default(),
            queue: Default::default(),
            popped: Default::default(),
            popped_queue: Default::default(),
            arbiter: Default::default(),
            wishes: Default::default(),
            drops: Default::default(),
            adds: Default::default(),
            pops: Default::default(),
            one: Constant::new(1.into()),
            none: Constant::new(0.into()),
        }
    }
}

impl Logic for Turns {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: prefetch_turns");
        ClkRst::link(&mut self.cr, &mut self.arbiter.cr);
        ClkRst::link(&mut self.cr, &mut self.wishes.cr);
        self.arbiter.wants.next = self.wishes.q.val();
        self.arbiter.step.next = self.choose.val();
        self.index.next = self.arbiter.index.val();
        self.wanted.next = self.wishes.q.val().any();
        self.drops.next = self.none.val();
        if self.drop.val() {
            self.drops.next = self.arbiter.chosen.val();
        }
        self.adds.next = self.none.val();
        if self.add.val() {
            self.adds.next = self.one.val() << self.queue.val();
        }
        self.pops.next = self.none.val();
        if self.popped.val() {
            self.pops.next = self.one.val() << self.popped_queue.val();
        }
        self.wishes.d.next =
            (self.wishes.q.val() & !self.drops.val()) | self.adds.val() | self.pops.val();
    }
}
