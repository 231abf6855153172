//! What became of the descriptors of every queue, as counts.
//!
//!   issued ──► answered ──► filled ──► popped       descriptors asked for, answered, stored, taken
//!                      └──► arrived                 the same as filled, since the start
//!   reserved, unused                                by frames; given back by frames
//!
//! issued, answered and arrived start at 0 with the queue; the others run on over 16 bits. A buffer
//! is free if it is stored and nobody has reserved it: filled - (reserved - unused).
//!
//! Invariants: stored and asked for are never more than 64; free is never negative
//! (`prefetch_keeps_its_counts`). Not here: who counts.

use super::tally::Tally;
use crate::blocks::nic_ports::ConfigWrite;
use crate::blocks::reg::ClkRst;
use crate::comment;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Counts {
    /// Clock; no reset.
    pub cr: ClkRst,
    /// Configuration.
    pub bus: Signal<In, ConfigWrite>,
    /// Descriptors of `look_queue` are asked for. Not while the configuration bus is at work.
    pub issue: Signal<In, Bit>,
    /// How many.
    pub issue_amount: Signal<In, Bits<3>>,
    /// A descriptor of `answer_queue` is answered. Not while the configuration bus is at work.
    pub answer: Signal<In, Bit>,
    /// See `answer`.
    pub answer_queue: Signal<In, Bits<5>>,
    /// And stored.
    pub fill: Signal<In, Bit>,
    /// Where to store it: number modulo 64.
    pub fill_slot: Signal<Out, Bits<6>>,
    /// A buffer of `pop_queue` is taken.
    pub pop: Signal<In, Bit>,
    /// See `pop`.
    pub pop_queue: Signal<In, Bits<5>>,
    /// Where its oldest is stored.
    pub pop_slot: Signal<Out, Bits<6>>,
    /// Buffers of `admit_queue` are reserved.
    pub reserve: Signal<In, Bit>,
    /// How many.
    pub reserve_amount: Signal<In, Bits<3>>,
    /// Reserved buffers of `credit_queue` were not needed.
    pub credit: Signal<In, Bit>,
    /// See `credit`.
    pub credit_queue: Signal<In, Bits<5>>,
    /// How many, in two's complement.
    pub credit_amount: Signal<In, Bits<4>>,
    /// Queue that may fetch.
    pub look_queue: Signal<In, Bits<5>>,
    /// Its descriptors asked for.
    pub issued: Signal<Out, Bits<16>>,
    /// Its buffers stored.
    pub stored: Signal<Out, Bits<7>>,
    /// Its descriptors on the way.
    pub flying: Signal<Out, Bits<7>>,
    /// Queue of a frame.
    pub admit_queue: Signal<In, Bits<5>>,
    /// Its buffers that nobody has reserved.
    pub free: Signal<Out, Bits<7>>,
    /// Queue whose status is asked for.
    pub status_queue: Signal<In, Bits<5>>,
    /// Descriptors fetched since its start.
    pub fetched: Signal<Out, Bits<16>>,
    /// Nothing is on the way, and nothing reserved that is not taken.
    pub idle: Signal<Out, Bit>,
    /// Nothing is stored.
    pub empty: Signal<Out, Bit>,
    count_issued: Tally,
    count_answered: Tally,
    count_arrived: Tally,
    count_filled: Tally,
    count_popped: Tally,
    count_reserved: Tally,
    count_unused: Tally,
    clears: Signal<Local, Bit>,
    starts: Signal<Local, Bit>,
    fills: Signal<Local, Bit>,
    unused: Signal<Local, Bits<16>>,
    owed: Signal<Local, Bits<16>>,
    stored16: Signal<Local, Bits<16>>,
    flying16: Signal<Local, Bits<16>>,
    free16: Signal<Local, Bits<16>>,
    start_index: Constant<Bits<5>>,
    one: Constant<Bits<16>>,
    negative: Constant<Bits<16>>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            bus: Default::default(),
            issue: Default::default(),
            issue_amount: Default::default(),
            answer: Default::default(),
            answer_queue: Default::default(),
            fill: Default::default(),
            fill_slot: Default::default(),
            pop: Default::default(),
            pop_queue: Default::default(),
            pop_slot: Default::default(),
            reserve: Default::default(),
            reserve_amount: Default::default(),
            credit: Default::default(),
            credit_queue: Default::default(),
            credit_amount: Default::default(),
            look_queue: Default::default(),
            issued: Default::default(),
            stored: Default::default(),
            flying: Default::default(),
            admit_queue: Default::default(),
            free: Default::default(),
            status_queue: Default::default(),
            fetched: Default::default(),
            idle: Default::default(),
            empty: Default::default(),
            count_issued: Default::default(),
            count_answered: Default::default(),
            count_arrived: Default::default(),
            count_filled: Default::default(),
            count_popped: Default::default(),
            count_reserved: Default::default(),
            count_unused: Default::default(),
            clears: Default::default(),
            starts: Default::default(),
            fills: Default::default(),
            unused: Default::default(),
            owed: Default::default(),
            stored16: Default::default(),
            flying16: Default::default(),
            free16: Default::default(),
            start_index: Constant::new(0.into()),
            one: Constant::new(1.into()),
            negative: Constant::new(0xfff0.into()),
        }
    }
}

impl Logic for Counts {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: prefetch_counts");
        ClkRst::link(&mut self.cr, &mut self.count_issued.cr);
        ClkRst::link(&mut self.cr, &mut self.count_answered.cr);
        ClkRst::link(&mut self.cr, &mut self.count_arrived.cr);
        ClkRst::link(&mut self.cr, &mut self.count_filled.cr);
        ClkRst::link(&mut self.cr, &mut self.count_popped.cr);
        ClkRst::link(&mut self.cr, &mut self.count_reserved.cr);
        ClkRst::link(&mut self.cr, &mut self.count_unused.cr);
        self.clears.next = self.bus.val().clear;
        self.starts.next = self.bus.val().clear
            | (self.bus.val().write & (self.bus.val().index == self.start_index.val()));
        self.count_issued.zero.next = self.starts.val();
        self.count_issued.zero_queue.next = self.bus.val().queue;
        self.count_answered.zero.next = self.starts.val();
        self.count_answered.zero_queue.next = self.bus.val().queue;
        self.count_arrived.zero.next = self.starts.val();
        self.count_arrived.zero_queue.next = self.bus.val().queue;
        self.count_filled.zero.next = self.clears.val();
        self.count_filled.zero_queue.next = self.bus.val().queue;
        self.count_popped.zero.next = self.clears.val();
        self.count_popped.zero_queue.next = self.bus.val().queue;
        self.count_reserved.zero.next = self.clears.val();
        self.count_reserved.zero_queue.next = self.bus.val().queue;
        self.count_unused.zero.next = self.clears.val();
        self.count_unused.zero_queue.next = self.bus.val().queue;

        self.fills.next = self.answer.val() & self.fill.val();
        self.count_issued.add.next = self.issue.val();
        self.count_issued.queue.next = self.look_queue.val();
        self.count_issued.amount.next = bit_cast::<16, 3>(self.issue_amount.val());
        self.count_answered.add.next = self.answer.val();
        self.count_answered.queue.next = self.answer_queue.val();
        self.count_answered.amount.next = self.one.val();
        self.count_arrived.add.next = self.fills.val();
        self.count_arrived.queue.next = self.answer_queue.val();
        self.count_arrived.amount.next = self.one.val();
        self.count_filled.add.next = self.fills.val();
        self.count_filled.queue.next = self.answer_queue.val();
        self.count_filled.amount.next = self.one.val();
        self.count_popped.add.next = self.pop.val();
        self.count_popped.queue.next = self.pop_queue.val();
        self.count_popped.amount.next = self.one.val();
        self.count_reserved.add.next = self.reserve.val();
        self.count_reserved.queue.next = self.admit_queue.val();
        self.count_reserved.amount.next = bit_cast::<16, 3>(self.reserve_amount.val());
        self.unused.next = bit_cast::<16, 4>(self.credit_amount.val());
        self.count_unused.amount.next = self.unused.val();
        if self.credit_amount.val().get_bit(3) {
            self.count_unused.amount.next = self.unused.val() | self.negative.val();
        }
        self.count_unused.add.next = self.credit.val();
        self.count_unused.queue.next = self.credit_queue.val();

        // Readers: 0 the status, 1 who fetches, 2 who admits.
        for i in 0..3 {
            self.count_issued.reader[i].next = self.status_queue.val();
            self.count_answered.reader[i].next = self.status_queue.val();
            self.count_arrived.reader[i].next = self.status_queue.val();
            self.count_filled.reader[i].next = self.status_queue.val();
            self.count_popped.reader[i].next = self.status_queue.val();
            self.count_reserved.reader[i].next = self.status_queue.val();
            self.count_unused.reader[i].next = self.status_queue.val();
        }
        self.count_answered.reader[1].next = self.look_queue.val();
        self.count_filled.reader[1].next = self.look_queue.val();
        self.count_popped.reader[1].next = self.look_queue.val();
        self.count_filled.reader[2].next = self.admit_queue.val();
        self.count_unused.reader[2].next = self.admit_queue.val();

        self.fill_slot.next = self.count_filled.value.val().get_bits::<6>(0);
        self.pop_slot.next = self.count_popped.value.val().get_bits::<6>(0);
        self.issued.next = self.count_issued.value.val();
        self.stored16.next = self.count_filled.seen[1].val() - self.count_popped.seen[1].val();
        self.stored.next = self.stored16.val().get_bits::<7>(0);
        self.flying16.next = self.count_issued.value.val() - self.count_answered.seen[1].val();
        self.flying.next = self.flying16.val().get_bits::<7>(0);
        self.free16.next = (self.count_filled.seen[2].val() - self.count_reserved.value.val())
            + self.count_unused.seen[2].val();
        self.free.next = self.free16.val().get_bits::<7>(0);
        self.fetched.next = self.count_arrived.seen[0].val();
        self.owed.next = self.count_unused.seen[0].val() + self.count_popped.seen[0].val();
        self.idle.next = (self.count_issued.seen[0].val() == self.count_answered.seen[0].val())
            & (self.count_reserved.seen[0].val() == self.owed.val());
        self.empty.next = self.count_filled.seen[0].val() == self.count_popped.seen[0].val();
    }
}
