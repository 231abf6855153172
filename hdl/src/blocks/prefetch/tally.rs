//! One counter per queue, with one place that adds and four that look.
//!
//!   queue, amount ──►[ 32 words ]──► value      same cycle; added at the edge
//!
//! A word that is zeroed takes no addition in that cycle: whoever adds holds back meanwhile.
//!
//! Invariant: every place sees the same sum (`prefetch_keeps_its_counts`). Not here: reset; the
//! sweep zeroes.

use crate::blocks::ram::LutRam;
use crate::blocks::reg::ClkRst;
use crate::comment;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock, Default)]
pub struct Tally {
    /// Clock; no reset.
    pub cr: ClkRst,
    /// Zeroes the counter of `zero_queue`.
    pub zero: Signal<In, Bit>,
    /// See `zero`.
    pub zero_queue: Signal<In, Bits<5>>,
    /// Adds `amount` to the counter of `queue`.
    pub add: Signal<In, Bit>,
    /// See `add`.
    pub amount: Signal<In, Bits<16>>,
    /// See `add`.
    pub queue: Signal<In, Bits<5>>,
    /// The counter of `queue`.
    pub value: Signal<Out, Bits<16>>,
    /// Queues of others who look.
    pub reader: [Signal<In, Bits<5>>; 3],
    /// What each of them sees.
    pub seen: [Signal<Out, Bits<16>>; 3],
    own: LutRam<Bits<16>, 5>,
    copies: [LutRam<Bits<16>, 5>; 3],
    address: Signal<Local, Bits<5>>,
    word: Signal<Local, Bits<16>>,
    writes: Signal<Local, Bit>,
}

impl Logic for Tally {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: tally");
        ClkRst::link(&mut self.cr, &mut self.own.cr);
        self.own.raddr.next = self.queue.val();
        self.value.next = self.own.rdata.val();
        self.address.next = self.queue.val();
        self.word.next = self.own.rdata.val() + self.amount.val();
        if self.zero.val() {
            self.address.next = self.zero_queue.val();
            self.word.next = 0.into();
        }
        self.writes.next = self.zero.val() | self.add.val();
        self.own.waddr.next = self.address.val();
        self.own.wdata.next = self.word.val();
        self.own.wen.next = self.writes.val();
        for i in 0..3 {
            ClkRst::link(&mut self.cr, &mut self.copies[i].cr);
            self.copies[i].raddr.next = self.reader[i].val();
            self.copies[i].waddr.next = self.address.val();
            self.copies[i].wdata.next = self.word.val();
            self.copies[i].wen.next = self.writes.val();
            self.seen[i].next = self.copies[i].rdata.val();
        }
    }
}
