//! Tick of every queue: when its sessions have been held for long enough.
//!
//!   scan ──►[ read ]──►[ decide ]──►[ FIFO ]──► request          a queue per 2 cycles
//!
//! A queue's ticks are 1,024 * `time` cycles apart, counted from the visit that found it running
//! with a `time`; their distance does not drift. A queue is visited every 64 cycles: that is how
//! late a tick may be asked for. A queue that asks does not ask again before it was served; a tick
//! that is late by more than a period starts the count anew.
//!
//! Follows: spec row `HOLD`.
//! Invariants: ticks come when they are due, within that bound (`ticks_come_in_time`); one request
//! for a queue at a time, none lost (`a_blocked_tick_waits`). Not here: tokens.

use super::rows::index;
use crate::blocks::fifo::Fifo;
use crate::blocks::ram::LutRam;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use groove_spec::nic;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Hold {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Register `set_number` of `set_queue` becomes `set_word`.
    pub set_valid: Signal<In, Bit>,
    pub set_queue: Signal<In, Bits<5>>,
    pub set_number: Signal<In, Bits<5>>,
    pub set_word: Signal<In, Bits<32>>,
    /// Queues that run, and those that stop.
    pub running: Signal<In, Bits<32>>,
    pub closing: Signal<In, Bits<32>>,
    /// The queue's tick is due. Taken when it has been served.
    pub request_queue: Signal<Out, Bits<5>>,
    pub request_valid: Signal<Out, Bit>,
    pub request_ready: Signal<In, Bit>,
    periods: LutRam<Bits<16>, 5>,
    bases: LutRam<Bits<28>, 5>,
    requests: Fifo<Bits<5>, 5>,
    asked: RegR<Bits<32>>,
    now: RegR<Bits<28>>,
    decide: RegR<Bit>,
    queue: RegR<Bits<5>>,
    period: RegE<Bits<16>>,
    base: RegE<Bits<28>>,
    read_at: RegE<Bits<28>>,
    elapsed: RegE<Bits<28>>,
    counts: RegE<Bit>,
    free: RegE<Bit>,
    only: Signal<Local, Bits<32>>,
    at_open: Signal<Local, Bits<32>>,
    at_asked: Signal<Local, Bits<32>>,
    served: Signal<Local, Bits<32>>,
    units: Signal<Local, Bits<18>>,
    period18: Signal<Local, Bits<18>>,
    period28: Signal<Local, Bits<28>>,
    twice: Signal<Local, Bits<18>>,
    due: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    one: Constant<Bits<32>>,
    one28: Constant<Bits<28>>,
    one5: Constant<Bits<5>>,
    row: Constant<Bits<5>>,
}

impl Default for Hold {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            set_valid: Default::default(),
            set_queue: Default::default(),
            set_number: Default::default(),
            set_word: Default::default(),
            running: Default::default(),
            closing: Default::default(),
            request_queue: Default::default(),
            request_valid: Default::default(),
            request_ready: Default::default(),
            periods: Default::default(),
            bases: Default::default(),
            requests: Default::default(),
            asked: Default::default(),
            now: Default::default(),
            decide: Default::default(),
            queue: Default::default(),
            period: Default::default(),
            base: Default::default(),
            read_at: Default::default(),
            elapsed: Default::default(),
            counts: Default::default(),
            free: Default::default(),
            only: Default::default(),
            at_open: Default::default(),
            at_asked: Default::default(),
            served: Default::default(),
            units: Default::default(),
            period18: Default::default(),
            period28: Default::default(),
            twice: Default::default(),
            due: Default::default(),
            put: Default::default(),
            one: Constant::new(1usize.to_bits()),
            one28: Constant::new(1usize.to_bits()),
            one5: Constant::new(1usize.to_bits()),
            row: index(&nic::HOLD),
        }
    }
}

impl Logic for Hold {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.periods.cr);
        ClkRst::link(&mut self.cr, &mut self.bases.cr);
        ClkRst::link(&mut self.cr, &mut self.requests.cr);
        ClkRst::link(&mut self.cr, &mut self.asked.cr);
        ClkRst::link(&mut self.cr, &mut self.now.cr);
        ClkRst::link(&mut self.cr, &mut self.decide.cr);
        ClkRst::link(&mut self.cr, &mut self.queue.cr);
        ClkRst::link(&mut self.cr, &mut self.period.cr);
        ClkRst::link(&mut self.cr, &mut self.base.cr);
        ClkRst::link(&mut self.cr, &mut self.read_at.cr);
        ClkRst::link(&mut self.cr, &mut self.elapsed.cr);
        ClkRst::link(&mut self.cr, &mut self.counts.cr);
        ClkRst::link(&mut self.cr, &mut self.free.cr);

        self.periods.waddr.next = self.set_queue.val();
        self.periods.wdata.next = self.set_word.val().get_bits::<16>(0);
        self.periods.wen.next = self.set_valid.val() & (self.set_number.val() == self.row.val());
        self.now.d.next = self.now.q.val() + self.one28.val();

        // First cycle: read.
        self.decide.d.next = !self.decide.q.val();
        self.queue.d.next = self.queue.q.val();
        self.periods.raddr.next = self.queue.q.val();
        self.bases.raddr.next = self.queue.q.val();
        self.only.next = self.one.val() << self.queue.q.val();
        self.at_open.next = self.running.val() & !self.closing.val() & self.only.val();
        self.at_asked.next = self.asked.q.val() & self.only.val();
        self.period.en.next = !self.decide.q.val();
        self.period.d.next = self.periods.rdata.val();
        self.base.en.next = !self.decide.q.val();
        self.base.d.next = self.bases.rdata.val();
        self.read_at.en.next = !self.decide.q.val();
        self.read_at.d.next = self.now.q.val();
        self.elapsed.en.next = !self.decide.q.val();
        self.elapsed.d.next = self.now.q.val() - self.bases.rdata.val();
        self.counts.en.next = !self.decide.q.val();
        self.counts.d.next = self.at_open.val().any() & self.periods.rdata.val().any();
        self.free.en.next = !self.decide.q.val();
        self.free.d.next = !self.at_asked.val().any();

        // Second cycle: decide.
        self.units.next = self.elapsed.q.val().get_bits::<18>(10);
        self.period18.next = bit_cast::<18, 16>(self.period.q.val());
        self.period28.next = bit_cast::<28, 16>(self.period.q.val());
        self.twice.next = self.period18.val() << 1;
        self.due.next = self.counts.q.val() & (self.units.val() >= self.period18.val());
        self.put.next = self.decide.q.val() & self.due.val() & self.free.q.val();
        self.bases.waddr.next = self.queue.q.val();
        self.bases.wdata.next = self.read_at.q.val();
        if self.due.val() & (self.units.val() < self.twice.val()) {
            self.bases.wdata.next = self.base.q.val() + (self.period28.val() << 10);
        }
        self.bases.wen.next = self.decide.q.val() & (!self.counts.q.val() | self.put.val());
        if self.decide.q.val() {
            self.queue.d.next = self.queue.q.val() + self.one5.val();
        }

        self.requests.s_data.next = self.queue.q.val();
        self.requests.s_valid.next = self.put.val();
        self.requests.m_ready.next = self.request_ready.val();
        self.request_queue.next = self.requests.m_data.val();
        self.request_valid.next = self.requests.m_valid.val();
        self.served.next = 0.into();
        if self.requests.m_valid.val() & self.request_ready.val() {
            self.served.next = self.one.val() << self.requests.m_data.val();
        }
        self.asked.d.next = self.asked.q.val() & !self.served.val();
        if self.put.val() {
            self.asked.d.next = (self.asked.q.val() & !self.served.val()) | self.only.val();
        }
    }
}
