//! Fetches descriptors ahead of the frames, and keeps account of who may have which buffer.
//!
//!   doorbell ──► fetch ──AR──► memory ──R──► gather ──►[ 64 buffers per queue ]──► pop
//!                  └────── flight ─────────────┘              │
//!   question ──► admission ──► answer        counts ◄─────────┴── credit, take
//!
//! A frame that is taken reserves its worst case, so that `place` always finds a buffer; what it
//! did not need comes back as credit. Follows: architecture "Rings", "Admission"; `Queue` of the
//! software device.
//!
//! Invariants, in `rtl_prefetch`: order is kept per queue, no read leaves the posted window, never
//! more than 64 buffers of a queue or 32 reads are under way (`prefetch_equals_the_reference`); a
//! failed read stores nothing (`a_failed_read_stores_nothing`); a closed queue comes to rest
//! (`a_closed_queue_comes_to_rest`). Not here: what is done with buffers.

pub mod admission;
pub mod counts;
pub mod fetch;
pub mod gather;
pub mod rings;
pub mod tally;
pub mod turns;

use crate::blocks::axi::AxiReadSource;
use crate::blocks::nic_ports::{ConfigSink, CreditSink, DoorbellSink, EventSource, PopSink};
use crate::blocks::ram::Ram;
use crate::blocks::reg::ClkRst;
use admission::Admission;
use counts::Counts;
use fetch::{DEPTH, Fetch};
use gather::{Gather, Stored};
use groove_spec::QUEUES_MAX;
use rust_hdl::prelude::*;

/// Bytes of a group of four descriptors.
const GROUP_BYTES: usize = 64;
/// Id of its reads.
const READ_ID: u64 = 2;

/// See the module.
#[derive(LogicBlock)]
pub struct Prefetch<const W: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Configuration.
    pub setup: ConfigSink,
    /// Queues that were started and have not stopped.
    pub running: Signal<In, Bits<32>>,
    /// Those of them that come to an end.
    pub closing: Signal<In, Bits<32>>,
    /// New descriptors.
    pub doorbell: DoorbellSink,
    /// A frame asks for buffers.
    pub ask: Signal<In, Bit>,
    /// Its queue.
    pub ask_queue: Signal<In, Bits<5>>,
    /// Its bytes.
    pub ask_bytes: Signal<In, Bits<17>>,
    /// `covered` is the answer.
    pub answer: Signal<Out, Bit>,
    /// There are buffers for its worst case.
    pub covered: Signal<Out, Bit>,
    /// It takes them: ends the question.
    pub take: Signal<In, Bit>,
    /// It is dropped: ends the question.
    pub refuse: Signal<In, Bit>,
    /// Buffers that are taken.
    pub pop: PopSink,
    /// Buffers that were not needed.
    pub credit: CreditSink,
    /// Queue whose status is asked for.
    pub status_queue: Signal<In, Bits<5>>,
    /// Its descriptors fetched since its start.
    pub status_fetched: Signal<Out, Bits<16>>,
    /// Nothing of it is under way.
    pub status_idle: Signal<Out, Bit>,
    /// No buffer of it is stored.
    pub status_empty: Signal<Out, Bit>,
    /// The first read of a queue failed.
    pub read_error: EventSource,
    /// Reads.
    pub m: AxiReadSource<W>,
    fetch: Fetch,
    gather: Gather<W>,
    counts: Counts,
    admission: Admission,
    buffers: Ram<Stored, 11>,
    open: Signal<Local, Bits<32>>,
    answered: Signal<Local, Bits<5>>,
    answered11: Signal<Local, Bits<11>>,
    fill_slot: Signal<Local, Bits<6>>,
    popped: Signal<Local, Bits<5>>,
    popped11: Signal<Local, Bits<11>>,
    pop_slot: Signal<Local, Bits<6>>,
    line: Signal<Local, Bits<58>>,
    line64: Signal<Local, Bits<64>>,
    fills: Signal<Local, Bit>,
    read_id: Constant<Bits<2>>,
    burst: Constant<Bits<2>>,
    beats: Constant<Bits<8>>,
    size: Constant<Bits<3>>,
}

impl<const W: usize> Default for Prefetch<W> {
    fn default() -> Self {
        let width_bytes = W / 8;
        Self {
            cr: Default::default(),
            setup: Default::default(),
            running: Default::default(),
            closing: Default::default(),
            doorbell: Default::default(),
            ask: Default::default(),
            ask_queue: Default::default(),
            ask_bytes: Default::default(),
            answer: Default::default(),
            covered: Default::default(),
            take: Default::default(),
            refuse: Default::default(),
            pop: Default::default(),
            credit: Default::default(),
            status_queue: Default::default(),
            status_fetched: Default::default(),
            status_idle: Default::default(),
            status_empty: Default::default(),
            read_error: Default::default(),
            m: Default::default(),
            fetch: Default::default(),
            gather: Default::default(),
            counts: Default::default(),
            admission: Default::default(),
            buffers: Ram::new(QUEUES_MAX * DEPTH),
            open: Default::default(),
            answered: Default::default(),
            answered11: Default::default(),
            fill_slot: Default::default(),
            popped: Default::default(),
            popped11: Default::default(),
            pop_slot: Default::default(),
            line: Default::default(),
            line64: Default::default(),
            fills: Default::default(),
            read_id: Constant::new(READ_ID.into()),
            burst: Constant::new(1.into()),
            beats: Constant::new(((GROUP_BYTES / width_bytes) as u64 - 1).into()),
            size: Constant::new(u64::from(width_bytes.ilog2()).into()),
        }
    }
}

impl<const W: usize> Logic for Prefetch<W> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.fetch.cr);
        ClkRst::link(&mut self.cr, &mut self.gather.cr);
        ClkRst::link(&mut self.cr, &mut self.counts.cr);
        ClkRst::link(&mut self.cr, &mut self.admission.cr);
        ClkRst::link(&mut self.cr, &mut self.buffers.cr);
        DoorbellSink::link(&mut self.doorbell, &mut self.fetch.doorbell);
        self.open.next = self.running.val() & !self.closing.val();

        // What to read.
        self.fetch.bus.next = self.setup.bus.val();
        self.fetch.open.next = self.open.val();
        self.fetch.popped.next = self.pop.take.val();
        self.fetch.popped_queue.next = self.pop.queue.val();
        self.fetch.issued.next = self.counts.issued.val();
        self.fetch.stored.next = self.counts.stored.val();
        self.fetch.flying.next = self.counts.flying.val();
        self.fetch.landed.next = self.gather.landed.val();
        self.m.arid.next = self.read_id.val();
        self.m.araddr.next = self.fetch.address.val();
        self.m.arlen.next = self.beats.val();
        self.m.arsize.next = self.size.val();
        self.m.arburst.next = self.burst.val();
        self.m.arvalid.next = self.fetch.address_valid.val();
        self.fetch.address_ready.next = self.m.arready.val();

        // What comes back.
        self.gather.bus.next = self.setup.bus.val();
        self.gather.issue.next = self.fetch.issue.val();
        self.gather.flight.next = self.fetch.flight.val();
        self.gather.data.next = self.m.rdata.val();
        self.gather.bad.next = self.m.rresp.val().get_bit(1);
        self.gather.last.next = self.m.rlast.val();
        self.gather.valid.next = self.m.rvalid.val();
        self.m.rready.next = self.gather.ready.val();
        self.read_error.valid.next = self.gather.error.val();
        self.read_error.queue.next = self.gather.queue.val();

        // Buffers: 64 words for each queue.
        self.answered.next = self.gather.queue.val();
        self.answered11.next = bit_cast::<11, 5>(self.answered.val());
        self.fill_slot.next = self.counts.fill_slot.val();
        self.fills.next = self.gather.answer.val() & self.gather.fill.val();
        self.buffers.waddr.next =
            (self.answered11.val() << 6) | bit_cast::<11, 6>(self.fill_slot.val());
        self.buffers.wdata.next = self.gather.buffer.val();
        self.buffers.wen.next = self.fills.val();
        self.popped.next = self.pop.queue.val();
        self.popped11.next = bit_cast::<11, 5>(self.popped.val());
        self.pop_slot.next = self.counts.pop_slot.val();
        self.buffers.raddr.next =
            (self.popped11.val() << 6) | bit_cast::<11, 6>(self.pop_slot.val());
        self.buffers.ren.next = self.pop.read.val();
        self.pop.id.next = self.buffers.rdata.val().id;
        self.line.next = self.buffers.rdata.val().line;
        self.line64.next = bit_cast::<64, 58>(self.line.val());
        self.pop.iova.next = self.line64.val() << 6;

        // Who asks.
        self.admission.bus.next = self.setup.bus.val();
        self.admission.open.next = self.open.val();
        self.admission.ask.next = self.ask.val();
        self.admission.queue.next = self.ask_queue.val();
        self.admission.bytes.next = self.ask_bytes.val();
        self.admission.over.next = self.take.val() | self.refuse.val();
        self.admission.free.next = self.counts.free.val();
        self.answer.next = self.admission.answer.val();
        self.covered.next = self.admission.covered.val();

        // The account.
        self.counts.bus.next = self.setup.bus.val();
        self.counts.issue.next = self.fetch.issue.val();
        self.counts.issue_amount.next = self.fetch.flight.val().count;
        self.counts.answer.next = self.gather.answer.val();
        self.counts.answer_queue.next = self.gather.queue.val();
        self.counts.fill.next = self.gather.fill.val();
        self.counts.pop.next = self.pop.take.val();
        self.counts.pop_queue.next = self.pop.queue.val();
        self.counts.reserve.next = self.take.val();
        self.counts.reserve_amount.next = self.admission.need.val();
        self.counts.credit.next = self.credit.valid.val();
        self.counts.credit_queue.next = self.credit.queue.val();
        self.counts.credit_amount.next = self.credit.unused.val();
        self.counts.look_queue.next = self.fetch.queue.val();
        self.counts.admit_queue.next = self.ask_queue.val();
        self.counts.status_queue.next = self.status_queue.val();
        self.status_fetched.next = self.counts.fetched.val();
        self.status_idle.next = self.counts.idle.val();
        self.status_empty.next = self.counts.empty.val();
    }
}
