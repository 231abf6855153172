//! Takes what reads bring back and hands out the descriptors in it, one by one.
//!
//!   flight ──► FIFO ──────────────────┐
//!   R beats ──►[ group of 64 bytes ]──┴─► descriptor 0 .. 3      1 cycle each, and 1 per group
//!
//! Reads of one id come back in order, so the oldest flight says whose descriptors these are, and
//! which of the four count. A read that failed gives its descriptors up: they are answered and not
//! stored, and so is everything of that queue until it starts anew; the first failure is told.
//!
//! Invariants, in `rtl_prefetch`: order is kept per queue; an error is told once
//! (`prefetch_equals_the_reference`, `a_failed_read_stores_nothing`). Not here: lengths in the
//! descriptors, which nobody needs.

use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::ConfigWrite;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use groove_spec::nic::{DESCRIPTOR, QUEUE_CONTROL};
use rust_hdl::prelude::*;

/// Bits of a group of descriptors.
const GROUP_BITS: usize = 512;

/// A read under way.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Flight {
    /// Whose descriptors.
    pub queue: Bits<5>,
    /// The first of the four that counts.
    pub lane: Bits<2>,
    /// How many count.
    pub count: Bits<3>,
}

/// A buffer, as it is stored.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Stored {
    /// IOVA in units of 64 bytes.
    pub line: Bits<58>,
    /// Number in the driver's pool.
    pub id: Bits<16>,
}

/// See the module.
#[derive(LogicBlock)]
pub struct Gather<const W: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Configuration.
    pub bus: Signal<In, ConfigWrite>,
    /// A read is asked for.
    pub issue: Signal<In, Bit>,
    /// Which.
    pub flight: Signal<In, Flight>,
    /// A read is through.
    pub landed: Signal<Out, Bit>,
    /// A beat.
    pub data: Signal<In, Bits<W>>,
    /// It failed.
    pub bad: Signal<In, Bit>,
    /// The last one of its read.
    pub last: Signal<In, Bit>,
    /// It is there.
    pub valid: Signal<In, Bit>,
    /// It is taken.
    pub ready: Signal<Out, Bit>,
    /// A descriptor of `queue` is answered.
    pub answer: Signal<Out, Bit>,
    /// See `answer`.
    pub queue: Signal<Out, Bits<5>>,
    /// And is to be stored.
    pub fill: Signal<Out, Bit>,
    /// Its buffer.
    pub buffer: Signal<Out, Stored>,
    /// The first read of `queue` failed.
    pub error: Signal<Out, Bit>,
    flights: Fifo<Flight, 5>,
    group: RegE<Bits<512>>,
    full: RegR<Bit>,
    failing: RegR<Bit>,
    failed: RegR<Bits<32>>,
    done: RegR<Bits<3>>,
    hold: Signal<Local, Bit>,
    beat: Signal<Local, Bits<512>>,
    takes: Signal<Local, Bit>,
    known: Signal<Local, Bit>,
    head: Signal<Local, Flight>,
    owner: Signal<Local, Bits<5>>,
    broken: Signal<Local, Bit>,
    lane: Signal<Local, Bits<2>>,
    start_lane: Signal<Local, Bits<2>>,
    word: Signal<Local, Bits<128>>,
    ends: Signal<Local, Bit>,
    next_done: Signal<Local, Bits<3>>,
    marks: Signal<Local, Bits<32>>,
    clears: Signal<Local, Bits<32>>,
    shift_in: Constant<Bits<32>>,
    shift_out: Constant<Bits<32>>,
    id_lsb: Constant<Bits<32>>,
    one3: Constant<Bits<3>>,
    none3: Constant<Bits<3>>,
    one32: Constant<Bits<32>>,
    none32: Constant<Bits<32>>,
    at_start: Constant<Bits<5>>,
}

impl<const W: usize> Default for Gather<W> {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            bus: Default::default(),
            issue: Default::default(),
            flight: Default::default(),
            landed: Default::default(),
            data: Default::default(),
            bad: Default::default(),
            last: Default::default(),
            valid: Default::default(),
            ready: Default::default(),
            answer: Default::default(),
            queue: Default::default(),
            fill: Default::default(),
            buffer: Default::default(),
            error: Default::default(),
            flights: Default::default(),
            group: Default::default(),
            full: Default::default(),
            failing: Default::default(),
            failed: Default::default(),
            done: Default::default(),
            hold: Default::default(),
            beat: Default::default(),
            takes: Default::default(),
            known: Default::default(),
            head: Default::default(),
            owner: Default::default(),
            broken: Default::default(),
            lane: Default::default(),
            start_lane: Default::default(),
            word: Default::default(),
            ends: Default::default(),
            next_done: Default::default(),
            marks: Default::default(),
            clears: Default::default(),
            shift_in: Constant::new(((GROUP_BITS - W) as u64).into()),
            shift_out: Constant::new((W as u64).into()),
            id_lsb: Constant::new((DESCRIPTOR.field("buf_id").lsb as u64).into()),
            one3: Constant::new(1.into()),
            none3: Constant::new(0.into()),
            one32: Constant::new(1.into()),
            none32: Constant::new(0.into()),
            at_start: Constant::new((QUEUE_CONTROL.offset as u64 / 4).into()),
        }
    }
}

impl<const W: usize> Logic for Gather<W> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.flights.cr);
        ClkRst::link(&mut self.cr, &mut self.group.cr);
        ClkRst::link(&mut self.cr, &mut self.full.cr);
        ClkRst::link(&mut self.cr, &mut self.failing.cr);
        ClkRst::link(&mut self.cr, &mut self.failed.cr);
        ClkRst::link(&mut self.cr, &mut self.done.cr);
        // There are no more flights than the FIFO holds.
        self.flights.s_data.next = self.flight.val();
        self.flights.s_valid.next = self.issue.val();

        // Beats: the newest on top.
        self.takes.next = self.valid.val() & !self.full.q.val();
        self.ready.next = !self.full.q.val();
        self.beat.next = bit_cast::<512, W>(self.data.val());
        self.group.en.next = self.takes.val();
        self.group.d.next =
            (self.group.q.val() >> self.shift_out.val()) | (self.beat.val() << self.shift_in.val());
        self.failing.d.next = self.failing.q.val();
        if self.takes.val() {
            self.failing.d.next = self.failing.q.val() | self.bad.val();
        }

        // Descriptors.
        self.hold.next = self.bus.val().clear | self.bus.val().write;
        self.head.next = self.flights.m_data.val();
        self.known.next = self.full.q.val() & self.flights.m_valid.val() & !self.hold.val();
        self.start_lane.next = self.head.val().lane;
        self.lane.next = self.start_lane.val() + self.done.q.val().get_bits::<2>(0);
        self.word.next = self.group.q.val().get_bits::<128>(0);
        for i in 1..4 {
            if self.lane.val().index() == i {
                self.word.next = self.group.q.val().get_bits::<128>(128 * i);
            }
        }
        self.next_done.next = self.done.q.val() + self.one3.val();
        self.ends.next = self.known.val() & (self.next_done.val() == self.head.val().count);
        self.done.d.next = self.done.q.val();
        if self.known.val() {
            self.done.d.next = self.next_done.val();
        }
        if self.ends.val() {
            self.done.d.next = self.none3.val();
            self.failing.d.next = false;
        }
        self.full.d.next =
            (self.full.q.val() & !self.ends.val()) | (self.takes.val() & self.last.val());
        self.flights.m_ready.next = self.ends.val();
        self.landed.next = self.ends.val();
        self.answer.next = self.known.val();
        self.owner.next = self.head.val().queue;
        self.broken.next = self.failed.q.val().get_bit(self.owner.val().index());
        self.queue.next = self.owner.val();
        self.fill.next = !self.failing.q.val() & !self.broken.val();
        self.buffer.next.line = self.word.val().get_bits::<58>(6);
        self.buffer.next.id = self.word.val().get_bits::<16>(self.id_lsb.val().index());

        // Failures.
        self.error.next = self.known.val() & self.failing.q.val() & !self.broken.val();
        self.marks.next = self.none32.val();
        if self.known.val() & self.failing.q.val() {
            self.marks.next = self.one32.val() << self.owner.val();
        }
        self.clears.next = self.none32.val();
        if self.bus.val().write & (self.bus.val().index == self.at_start.val()) {
            self.clears.next = self.one32.val() << self.bus.val().queue;
        }
        self.failed.d.next = (self.failed.q.val() & !self.clears.val()) | self.marks.val();
    }
}
