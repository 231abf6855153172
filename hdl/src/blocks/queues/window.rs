//! Registers of the queues: one access at a time, and the copy of a queue's registers at its start.
//!
//!   bus ──►[ idle ]──►[ fetch ]──►[ answer ]──► bus.ready      2 cycles after valid, 3 per access
//!   start ─►[ idle ]──►[ read, send ] x 9 ──► gap ──► start_done ──► doorbell, consumer again
//!
//! Follows: spec rows of `nic`. Accesses below `QUEUES_BASE` go through to the register file of the
//! pipeline. At an enable edge both indices become 0. The start may come later, as the queue may
//! still be closing: a doorbell or consumer write until then is kept, and repeated after the start.
//!
//! Invariants: every row behaves as the table says, after reset and after writes
//! (`rows_behave_as_the_table_says`); sizes on the config bus are within their bounds, index 0
//! comes last (`a_start_copies_the_registers`). Not here: when a queue starts or stops.

use super::access::Access;
use super::rows::{Bounds, StatusWord};
use super::steps::Steps;
use super::store::Store;
use crate::blocks::axi::RegBusSink;
use crate::blocks::interrupts::VisitKind;
use crate::blocks::nic_ports::{ConfigSource, ConfigWrite, DoorbellSource};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Window {
    /// Clock and reset.
    pub cr: ClkRst,
    /// The host.
    pub bus: RegBusSink,
    /// To the register file of the pipeline.
    pub reg_addr: Signal<Out, Bits<16>>,
    pub reg_wdata: Signal<Out, Bits<32>>,
    pub reg_write: Signal<Out, Bit>,
    /// What it answers, two clocks later.
    pub reg_rdata: Signal<In, Bits<32>>,
    /// To everybody.
    pub m_config: ConfigSource,
    /// The sweep is over.
    pub cleared: Signal<Out, Bit>,
    /// Tables clear their entry of `set_queue`.
    pub clear: Signal<Out, Bit>,
    /// Register `set_number` of `set_queue` becomes `set_word`, by the host or by the sweep.
    pub set_valid: Signal<Out, Bit>,
    pub set_queue: Signal<Out, Bits<5>>,
    pub set_number: Signal<Out, Bits<5>>,
    pub set_word: Signal<Out, Bits<32>>,
    /// `enable` of `look_queue` rises, or falls.
    pub rise: Signal<Out, Bit>,
    pub fall: Signal<Out, Bit>,
    /// `start_queue` is to start.
    pub start_valid: Signal<In, Bit>,
    pub start_queue: Signal<In, Bits<5>>,
    /// Its registers are everywhere.
    pub start_done: Signal<Out, Bit>,
    /// In this cycle the status inputs must be those of `look_queue`.
    pub look: Signal<Out, Bit>,
    pub look_queue: Signal<Out, Bits<5>>,
    pub fetched: Signal<In, Bits<16>>,
    pub produced: Signal<In, Bits<16>>,
    pub no_buffer: Signal<In, Bits<32>>,
    pub dma_errors: Signal<In, Bits<32>>,
    /// Queues that run, that wait for their start, that a DMA error stopped.
    pub running: Signal<In, Bits<32>>,
    pub starting: Signal<In, Bits<32>>,
    pub fault: Signal<In, Bits<32>>,
    /// Descriptors were posted.
    pub doorbell: DoorbellSource,
    /// To the vectors.
    pub visit_kind: Signal<Out, VisitKind>,
    pub visit_queue: Signal<Out, Bits<5>>,
    pub visit_value: Signal<Out, Bits<16>>,
    pub visit_valid: Signal<Out, Bit>,
    pub visit_ready: Signal<In, Bit>,
    access: Access,
    steps: Steps,
    bounds: Bounds,
    status: StatusWord,
    store: Store,
    word: RegE<Bits<32>>,
    out: RegR<ConfigWrite>,
    begun: RegE<Bits<5>>,
    send: Signal<Local, ConfigWrite>,
    at_start: Signal<Local, Bits<32>>,
    runs: Signal<Local, Bits<32>>,
    one: Constant<Bits<32>>,
}

impl Window {
    /// Of so many queues.
    pub fn new(queues: usize) -> Self {
        Self {
            cr: Default::default(),
            bus: Default::default(),
            reg_addr: Default::default(),
            reg_wdata: Default::default(),
            reg_write: Default::default(),
            reg_rdata: Default::default(),
            m_config: Default::default(),
            cleared: Default::default(),
            clear: Default::default(),
            set_valid: Default::default(),
            set_queue: Default::default(),
            set_number: Default::default(),
            set_word: Default::default(),
            rise: Default::default(),
            fall: Default::default(),
            start_valid: Default::default(),
            start_queue: Default::default(),
            start_done: Default::default(),
            look: Default::default(),
            look_queue: Default::default(),
            fetched: Default::default(),
            produced: Default::default(),
            no_buffer: Default::default(),
            dma_errors: Default::default(),
            running: Default::default(),
            starting: Default::default(),
            fault: Default::default(),
            doorbell: Default::default(),
            visit_kind: Default::default(),
            visit_queue: Default::default(),
            visit_value: Default::default(),
            visit_valid: Default::default(),
            visit_ready: Default::default(),
            steps: Default::default(),
            bounds: Default::default(),
            status: Default::default(),
            store: Default::default(),
            word: Default::default(),
            out: Default::default(),
            begun: Default::default(),
            send: Default::default(),
            at_start: Default::default(),
            runs: Default::default(),
            access: Access::new(queues),
            one: Constant::new(1usize.to_bits()),
        }
    }
}

impl Logic for Window {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.access.cr);
        ClkRst::link(&mut self.cr, &mut self.store.cr);
        ClkRst::link(&mut self.cr, &mut self.steps.cr);
        ClkRst::link(&mut self.cr, &mut self.word.cr);
        ClkRst::link(&mut self.cr, &mut self.out.cr);
        ClkRst::link(&mut self.cr, &mut self.begun.cr);

        self.access.addr.next = self.bus.addr.val();
        self.access.wdata.next = self.bus.wdata.val();
        self.access.write.next = self.bus.write.val();
        self.access.fetch.next = self.steps.fetch.val();
        self.access.running.next = self.running.val();
        self.access.starting.next = self.starting.val();
        self.access.fault.next = self.fault.val();
        self.reg_addr.next = self.bus.addr.val();
        self.reg_wdata.next = self.bus.wdata.val();
        self.reg_write.next = self.access.pipe_writes.val();
        self.rise.next = self.access.rise.val();
        self.fall.next = self.access.fall.val();
        self.look.next = self.steps.fetch.val();
        self.look_queue.next = self.access.queue.val();
        self.cleared.next = self.store.cleared.val();
        self.clear.next = self.store.clear.val();
        self.set_valid.next = self.store.set_valid.val();
        self.set_queue.next = self.store.set_queue.val();
        self.set_number.next = self.store.set_number.val();
        self.set_word.next = self.store.set_word.val();

        // The word that a read gives.
        self.status.index.next = self.access.number.val();
        self.status.running.next = self.access.is_running.val();
        self.status.fault.next = self.access.is_fault.val();
        self.status.fetched.next = self.fetched.val();
        self.status.produced.next = self.produced.val();
        self.status.no_buffer.next = self.no_buffer.val();
        self.status.dma_errors.next = self.dma_errors.val();
        self.word.en.next = self.steps.fetch.val();
        self.word.d.next = self.store.word.val();
        if !self.access.ours.val() {
            self.word.d.next = 0.into();
        } else if self.status.hit.val() {
            self.word.d.next = self.status.word.val();
        }
        self.bus.ready.next = self.steps.answer.val();
        self.bus.rdata.next = self.word.q.val();
        if self.access.piped.val() {
            self.bus.rdata.next = self.reg_rdata.val();
        }

        // What goes into the store, and out.
        self.begun.en.next = !self.steps.copies.val();
        self.begun.d.next = self.start_queue.val();
        self.steps.open.next = self.store.cleared.val();
        self.steps.access.next = self.bus.valid.val();
        self.steps.start.next = self.start_valid.val();
        self.steps.rise.next = self.access.rise.val();
        self.steps.acknowledges.next = self.access.acknowledges.val();
        self.steps.switches.next = self.access.switches.val();
        self.steps.visit_ready.next = self.visit_ready.val();
        self.store.put.next = self.access.writes.val() | self.steps.zero.val();
        self.store.put_queue.next = self.access.queue.val();
        self.store.put_number.next = self.access.number.val();
        self.store.put_word.next = self.access.masked.val();
        if self.steps.zero.val() {
            self.store.put_number.next = self.steps.number.val();
            self.store.put_word.next = 0.into();
        }
        self.store.get.next = self.steps.get.val();
        self.store.get_queue.next = self.access.queue.val();
        self.store.get_number.next = self.access.number.val();
        self.visit_queue.next = self.access.queue.val();
        self.visit_value.next = self.access.masked.val().get_bits::<16>(0);
        self.doorbell.queue.next = self.access.queue.val();
        self.doorbell.index.next = self.access.masked.val().get_bits::<16>(0);
        if self.steps.copies.val() {
            self.store.get_queue.next = self.begun.q.val();
            self.store.get_number.next = self.steps.number.val();
            self.visit_queue.next = self.begun.q.val();
            self.visit_value.next = self.store.word.val().get_bits::<16>(0);
            self.doorbell.queue.next = self.begun.q.val();
            self.doorbell.index.next = self.store.word.val().get_bits::<16>(0);
        }
        self.visit_valid.next = self.steps.visit.val();
        self.visit_kind.next = self.steps.visit_kind.val();
        // A queue that was disabled meanwhile does not run.
        self.at_start.next = self.one.val() << self.begun.q.val();
        self.runs.next = self.running.val() & self.at_start.val();
        self.doorbell.valid.next =
            self.access.rings.val() | (self.steps.ring.val() & self.runs.val().any());
        self.start_done.next = self.steps.done.val();

        self.bounds.index.next = self.steps.number.val();
        self.bounds.word.next = self.store.word.val();
        self.send.next.clear = self.store.clear.val();
        self.send.next.write = self.steps.send.val();
        self.send.next.queue = self.begun.q.val();
        if self.store.clear.val() {
            self.send.next.queue = self.store.set_queue.val();
        }
        self.send.next.index = self.steps.number.val();
        self.send.next.data = self.bounds.bounded.val();
        self.out.d.next = self.send.val();
        self.m_config.bus.next = self.out.q.val();
    }
}
