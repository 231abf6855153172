//! complete: writes a delivery's records to the completion ring when its bytes are in host memory.
//!
//!   records ──► Wait ──► Make ──► Send ──► m        3 cycles per record
//!   done ───────┘ tag reached      └─► flight ◄── written ──► completed, flushed
//!
//! Wait holds the record until as many data commands are done as its tag says; Make finds the slot;
//! Send hands the completion over. Records that nobody is to see, and those of a queue that stands
//! still, pass without a trace; markers only wait for their turn.
//!
//! Follows: architecture "Completions"; `write_completion` and `fail` of the software device.
//! Invariants: completions are those of a reference, in order, never before their data
//! (`completions_equal_the_reference`); a delivery that an error hit says so in all its records,
//! and is the last of its queue (`errors_stop_a_queue`); what is told as completed is visible
//! (`completed_follows_the_response`). Not here: interrupts, writing to memory (`mover`).

pub mod faults;
pub mod flat;
pub mod flight;
pub mod index;
pub mod outlet;
pub mod ring;

use crate::blocks::nic_ports::{
    Completion, CompletionRecord, CompletionWriteSource, ConfigSink, ConfigWrite, DoneSink,
    EventSink, EventSource, RecordSink,
};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use crate::stages::place::tables::index;
use faults::Faults;
use flight::{Flight, Item};
use groove_spec::nic::QUEUE_CONTROL;
use index::Index;
use outlet::Outlet;
use ring::Ring;
use rust_hdl::prelude::*;

/// States; the first one is that of reset.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum State {
    /// For the data of the record.
    Wait,
    /// Its slot.
    Make,
    /// It.
    Send,
}

/// The stage.
#[derive(LogicBlock)]
pub struct Complete {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Configuration of the queues.
    pub setup: ConfigSink,
    /// Records.
    pub records: RecordSink,
    /// Data commands that are done.
    pub done: DoneSink,
    /// Completions to write.
    pub m: CompletionWriteSource,
    /// Completions that are written.
    pub written: DoneSink,
    /// Descriptor reads that failed.
    pub read_error: EventSink,
    /// A completion is visible.
    pub completed: EventSource,
    /// A marker is through, and everything before it visible.
    pub flushed: EventSource,
    /// Queues that a DMA error stopped.
    pub fault: Signal<Out, Bits<32>>,
    /// A queue stopped because of a write.
    pub dma_error: EventSource,
    /// Queue to tell about.
    pub produced_queue: Signal<In, Bits<5>>,
    /// Its visible completions since its start.
    pub produced: Signal<Out, Bits<16>>,
    ring: Ring,
    faults: Faults,
    flight: Flight,
    visible: Index,
    outlet: Outlet,
    state: RegR<State>,
    dones: RegR<Bits<32>>,
    error: RegE<Bit>,
    counts: RegR<Bit>,
    counts_of: RegE<Bits<5>>,
    record: Signal<Local, CompletionRecord>,
    body: Signal<Local, Completion>,
    item: Signal<Local, Item>,
    bus: Signal<Local, ConfigWrite>,
    starts: Signal<Local, Bit>,
    ahead: Signal<Local, Bits<32>>,
    reached: Signal<Local, Bit>,
    silent: Signal<Local, Bit>,
    opens: Signal<Local, Bit>,
    make: Signal<Local, Bit>,
    send: Signal<Local, Bit>,
    marks: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    counted: Signal<Local, Bit>,
    control_index: Constant<Bits<5>>,
    one32: Constant<Bits<32>>,
}

impl Default for Complete {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            setup: Default::default(),
            records: Default::default(),
            done: Default::default(),
            m: Default::default(),
            written: Default::default(),
            read_error: Default::default(),
            completed: Default::default(),
            flushed: Default::default(),
            fault: Default::default(),
            dma_error: Default::default(),
            produced_queue: Default::default(),
            produced: Default::default(),
            ring: Default::default(),
            faults: Default::default(),
            flight: Default::default(),
            visible: Default::default(),
            outlet: Default::default(),
            state: Default::default(),
            dones: Default::default(),
            error: Default::default(),
            counts: Default::default(),
            counts_of: Default::default(),
            record: Default::default(),
            body: Default::default(),
            item: Default::default(),
            bus: Default::default(),
            starts: Default::default(),
            ahead: Default::default(),
            reached: Default::default(),
            silent: Default::default(),
            opens: Default::default(),
            make: Default::default(),
            send: Default::default(),
            marks: Default::default(),
            take: Default::default(),
            counted: Default::default(),
            control_index: index(&QUEUE_CONTROL),
            one32: Constant::new(1.into()),
        }
    }
}

impl Logic for Complete {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: complete");
        ClkRst::link(&mut self.cr, &mut self.ring.cr);
        ClkRst::link(&mut self.cr, &mut self.faults.cr);
        ClkRst::link(&mut self.cr, &mut self.flight.cr);
        ClkRst::link(&mut self.cr, &mut self.visible.cr);
        ClkRst::link(&mut self.cr, &mut self.state.cr);
        ClkRst::link(&mut self.cr, &mut self.dones.cr);
        ClkRst::link(&mut self.cr, &mut self.error.cr);
        ClkRst::link(&mut self.cr, &mut self.outlet.cr);
        ClkRst::link(&mut self.cr, &mut self.counts.cr);
        ClkRst::link(&mut self.cr, &mut self.counts_of.cr);
        ConfigSink::link(&mut self.setup, &mut self.ring.setup);
        DoneSink::link(&mut self.done, &mut self.faults.done);
        DoneSink::link(&mut self.written, &mut self.faults.written);
        CompletionWriteSource::link(&mut self.m, &mut self.outlet.m);
        EventSink::link(&mut self.read_error, &mut self.faults.read_error);
        EventSource::link(&mut self.flushed, &mut self.flight.flushed);
        EventSource::link(&mut self.dma_error, &mut self.faults.dma_error);
        self.record.next = self.records.record.val();
        self.bus.next = self.setup.bus.val();
        self.starts.next =
            self.bus.val().write & (self.bus.val().index == self.control_index.val());
        self.dones.d.next = self.dones.q.val();
        if self.done.valid.val() {
            self.dones.d.next = self.dones.q.val() + self.one32.val();
        }
        self.ahead.next = self.dones.q.val() - self.record.val().tag;
        self.reached.next = self.records.valid.val() & !self.ahead.val().get_bit(31);
        self.silent.next = self.record.val().quiet | self.faults.stopped.val();

        self.opens.next = false;
        self.make.next = false;
        self.send.next = false;
        self.marks.next = false;
        self.take.next = false;
        self.state.d.next = self.state.q.val();
        match self.state.q.val() {
            State::Wait => {
                if self.reached.val() {
                    if self.record.val().marker {
                        self.marks.next = self.flight.marker_room.val();
                        self.take.next = self.flight.marker_room.val();
                    } else if self.silent.val() {
                        self.take.next = true;
                    } else if self.flight.room.val() {
                        self.opens.next = true;
                        self.state.d.next = State::Make;
                    }
                }
            }
            State::Make => {
                self.make.next = true;
                self.state.d.next = State::Send;
            }
            State::Send => {
                if self.faults.stopped.val() {
                    self.take.next = true;
                    self.state.d.next = State::Wait;
                } else if self.outlet.free.val() {
                    self.send.next = true;
                    self.take.next = true;
                    self.state.d.next = State::Wait;
                }
            }
            _ => {}
        }
        self.records.ready.next = self.take.val();

        self.ring.start.valid.next = self.starts.val();
        self.ring.start.queue.next = self.bus.val().queue;
        self.ring.queue.next = self.record.val().queue;
        self.ring.read.next = self.opens.val();
        self.ring.make.next = self.make.val();
        self.ring.step.next = self.send.val();
        // Errors that come later belong to deliveries that come later.
        self.error.d.next = self.faults.hit.val();
        self.error.en.next = self.opens.val() & self.records.body.val().first;
        // Not through `record`, which what `stopped` says shares: a loop to Verilator.
        self.faults.queue.next = self.records.record.val().queue;
        self.faults.start.valid.next = self.starts.val();
        self.faults.start.queue.next = self.bus.val().queue;
        self.faults.told.valid.next =
            self.send.val() & self.error.q.val() & self.records.body.val().last;
        self.faults.told.queue.next = self.record.val().queue;
        self.fault.next = self.faults.fault.val();

        self.body.next = self.records.body.val();
        self.body.next.error = self.error.q.val();
        self.body.next.generation = self.ring.generation.val();
        self.outlet.send.next = self.send.val();
        self.outlet.body.next = self.body.val();
        self.outlet.address.next = self.ring.address.val();
        self.outlet.queue.next = self.record.val().queue;

        self.item.next.marker = self.record.val().marker;
        self.item.next.queue = self.record.val().queue;
        self.flight.item.next = self.item.val();
        self.flight.push.next = self.send.val() | self.marks.val();
        self.flight.written.next = self.written.valid.val();
        self.counted.next =
            self.written.valid.val() & !self.written.error.val() & !self.faults.failed.val();
        self.visible.start.valid.next = self.starts.val();
        self.visible.start.queue.next = self.bus.val().queue;
        self.visible.queue.next = self.written.queue.val();
        self.visible.step.next = self.counted.val();
        self.visible.ask.next = self.produced_queue.val();
        self.produced.next = self.visible.answer.val();
        self.counts.d.next = self.counted.val();
        self.counts_of.d.next = self.written.queue.val();
        self.counts_of.en.next = self.counted.val();
        self.completed.valid.next = self.counts.q.val();
        self.completed.queue.next = self.counts_of.q.val();
    }
}
