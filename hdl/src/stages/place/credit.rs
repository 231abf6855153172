//! Tells how many buffers were reserved for a frame and not taken.
//!
//!   total, size ──► worst case ──► less those taken ──►[ pulse ]      1 cycle
//!
//! Follows: architecture "Admission". Invariant: one pulse per frame and per drained buffer, after
//! its buffers were taken (`commands_and_records_equal_the_reference`). Not here: the account.

use crate::blocks::nic_ports::CreditSource;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::blocks::worst_case::WorstCase;
use crate::comment;
use rust_hdl::prelude::*;

/// The difference.
#[derive(LogicBlock)]
pub struct Credit {
    /// Clock and reset.
    pub cr: ClkRst,
    /// A frame is placed, or a buffer drained.
    pub done: Signal<In, Bit>,
    /// It is a buffer to drain.
    pub drains: Signal<In, Bit>,
    /// Whose.
    pub queue: Signal<In, Bits<5>>,
    /// Bytes of the frame.
    pub total: Signal<In, Bits<17>>,
    /// Of the queue.
    pub size: Signal<In, Bits<17>>,
    /// Buffers taken.
    pub took: Signal<In, Bits<4>>,
    /// Pulses.
    pub credit: CreditSource,
    worst: WorstCase,
    valid: RegR<Bit>,
    of: RegE<Bits<5>>,
    unused: RegE<Bits<4>>,
    need: Signal<Local, Bits<4>>,
    less_one: Constant<Bits<4>>,
}

impl Default for Credit {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            done: Default::default(),
            drains: Default::default(),
            queue: Default::default(),
            total: Default::default(),
            size: Default::default(),
            took: Default::default(),
            credit: Default::default(),
            worst: Default::default(),
            valid: Default::default(),
            of: Default::default(),
            unused: Default::default(),
            need: Default::default(),
            less_one: Constant::new(15.into()),
        }
    }
}

impl Logic for Credit {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_credit");
        ClkRst::link(&mut self.cr, &mut self.valid.cr);
        ClkRst::link(&mut self.cr, &mut self.of.cr);
        ClkRst::link(&mut self.cr, &mut self.unused.cr);
        self.worst.bytes.next = self.total.val();
        self.worst.size.next = self.size.val();
        self.need.next = bit_cast::<4, 3>(self.worst.need.val());
        self.valid.d.next = self.done.val();
        self.of.d.next = self.queue.val();
        self.of.en.next = self.done.val();
        self.unused.d.next = self.need.val() - self.took.val();
        if self.drains.val() {
            self.unused.d.next = self.less_one.val();
        }
        self.unused.en.next = self.done.val();
        self.credit.valid.next = self.valid.q.val();
        self.credit.queue.next = self.of.q.val();
        self.credit.unused.next = self.unused.q.val();
    }
}
