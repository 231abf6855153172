//! Which queues were hit by an error of memory, and which of them stand still.
//!
//!   data error ──► hit ── last record of the next delivery ─┐
//!   error of a completion ──────────────────────────────────┼─► stopped ─► fault, dma_error
//!   error of a descriptor (counted by its reader) ──────────┘
//!
//! A queue stops at once; a scan over the queues reports it within 32 cycles, one per cycle.
//!
//! Follows: `Queue::fail` of the software device. Invariants: a queue that stops is counted once,
//! and runs again from its start on (`errors_stop_a_queue`); nothing that follows a completion
//! that failed counts as produced (`a_failed_completion_is_the_last`). Not here: records.

use crate::blocks::nic_ports::{DoneSink, EventSink, EventSource};
use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// One bit per queue of everything.
#[derive(LogicBlock)]
pub struct Faults {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Data writes.
    pub done: DoneSink,
    /// Completion writes.
    pub written: DoneSink,
    /// Descriptor reads that failed.
    pub read_error: EventSink,
    /// Queue that starts.
    pub start: EventSink,
    /// Queue whose hit delivery has been told.
    pub told: EventSink,
    /// Stopped, and reported.
    pub fault: Signal<Out, Bits<32>>,
    /// A queue stopped because of a write.
    pub dma_error: EventSource,
    /// Queue to ask about.
    pub queue: Signal<In, Bits<5>>,
    /// Its data was hit.
    pub hit: Signal<Out, Bit>,
    /// It stands still.
    pub stopped: Signal<Out, Bit>,
    /// A completion of `written.queue` failed before.
    pub failed: Signal<Out, Bit>,
    hits: RegR<Bits<32>>,
    stops: RegR<Bits<32>>,
    fails: RegR<Bits<32>>,
    reports: RegR<Bits<32>>,
    reported: RegR<Bits<32>>,
    scan: RegR<Bits<5>>,
    asked: Signal<Local, Bits<32>>,
    of_written: Signal<Local, Bits<32>>,
    of_scan: Signal<Local, Bits<32>>,
    hit_now: Signal<Local, Bits<32>>,
    failed_now: Signal<Local, Bits<32>>,
    read_now: Signal<Local, Bits<32>>,
    told_now: Signal<Local, Bits<32>>,
    runs: Signal<Local, Bits<32>>,
    due: Signal<Local, Bits<32>>,
    one: Constant<Bits<32>>,
    none: Constant<Bits<32>>,
    one5: Constant<Bits<5>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            done: Default::default(),
            written: Default::default(),
            read_error: Default::default(),
            start: Default::default(),
            told: Default::default(),
            fault: Default::default(),
            dma_error: Default::default(),
            queue: Default::default(),
            hit: Default::default(),
            stopped: Default::default(),
            failed: Default::default(),
            hits: Default::default(),
            stops: Default::default(),
            fails: Default::default(),
            reports: Default::default(),
            reported: Default::default(),
            scan: Default::default(),
            asked: Default::default(),
            of_written: Default::default(),
            of_scan: Default::default(),
            hit_now: Default::default(),
            failed_now: Default::default(),
            read_now: Default::default(),
            told_now: Default::default(),
            runs: Default::default(),
            due: Default::default(),
            one: Constant::new(1.into()),
            none: Constant::new(0.into()),
            one5: Constant::new(1.into()),
        }
    }
}

impl Logic for Faults {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: complete_faults");
        ClkRst::link(&mut self.cr, &mut self.hits.cr);
        ClkRst::link(&mut self.cr, &mut self.stops.cr);
        ClkRst::link(&mut self.cr, &mut self.fails.cr);
        ClkRst::link(&mut self.cr, &mut self.reports.cr);
        ClkRst::link(&mut self.cr, &mut self.reported.cr);
        ClkRst::link(&mut self.cr, &mut self.scan.cr);
        self.asked.next = self.one.val() << self.queue.val();
        self.of_written.next = self.one.val() << self.written.queue.val();
        self.of_scan.next = self.one.val() << self.scan.q.val();
        self.hit_now.next = self.none.val();
        if self.done.valid.val() & self.done.error.val() {
            self.hit_now.next = self.one.val() << self.done.queue.val();
        }
        self.failed_now.next = self.none.val();
        if self.written.valid.val() & self.written.error.val() {
            self.failed_now.next = self.one.val() << self.written.queue.val();
        }
        self.read_now.next = self.none.val();
        if self.read_error.valid.val() {
            self.read_now.next = self.one.val() << self.read_error.queue.val();
        }
        self.told_now.next = self.none.val();
        if self.told.valid.val() {
            self.told_now.next = self.one.val() << self.told.queue.val();
        }
        self.runs.next = self.none.val();
        if self.start.valid.val() {
            self.runs.next = self.one.val() << self.start.queue.val();
        }

        self.due.next = self.reports.q.val() & self.of_scan.val();
        self.hits.d.next = (self.hits.q.val() | self.hit_now.val()) & !self.runs.val();
        self.stops.d.next = (self.stops.q.val()
            | self.failed_now.val()
            | self.told_now.val()
            | self.read_now.val())
            & !self.runs.val();
        self.fails.d.next = (self.fails.q.val() | self.failed_now.val()) & !self.runs.val();
        self.reports.d.next = (self.reports.q.val() & !self.of_scan.val())
            | ((self.failed_now.val() | self.told_now.val()) & !self.stops.q.val());
        self.reported.d.next =
            (self.reported.q.val() | self.due.val() | self.read_now.val()) & !self.runs.val();
        self.scan.d.next = self.scan.q.val() + self.one5.val();

        self.fault.next = self.reported.q.val();
        self.dma_error.valid.next = self.due.val() != self.none.val();
        self.dma_error.queue.next = self.scan.q.val();
        self.hit.next = (self.hits.q.val() & self.asked.val()) != self.none.val();
        self.stopped.next = (self.stops.q.val() & self.asked.val()) != self.none.val();
        self.failed.next = (self.fails.q.val() & self.of_written.val()) != self.none.val();
    }
}
