//! All of the NIC that a function-level reset resets.
//!
//!   s_axis ─► receive pipeline ─┬─ operations ─► FIFO ─► place ─┬─ records ─► complete ─┐
//!             ▲       ▲ answer  └─ payload ────────────────┐    └─ commands ─┐          ▼
//!   s_token ──┤       ▼                                    └────────────────►mover ◄ completions
//!           queues ─► prefetch ─► read          buffers, credit ◄─► place      └─► write
//!             ▲ bus        config, run state: queues ─► everybody
//!
//! Nothing deadlocks: a frame is admitted with its buffers, so place always goes on; the mover
//! waits for memory only, and memory for nobody.
//!
//! Invariant: what reaches the host equals the software device's, for any traffic
//! (`driver_conformance`). Not here: pins, and what outlives the reset (`nic`).

use super::axi::{AxiReadSource, AxiWriteSource, RegBusSink};
use super::axis::{AxisRxSink, AxisSource};
use super::mover::Mover;
use super::nic_ports::{
    CommandSource, CompletionWriteSource, CreditSource, DoneSource, DoorbellSource, DrainSource,
    EventSource, PopSource, RecordSource,
};
use super::op::OpSource;
use super::op_fifo::OpFifo;
use super::prefetch::Prefetch;
use super::queues::Queues;
use super::reg::ClkRst;
use crate::pipeline::{GrooveRx, Parameters};
use crate::stages::complete::Complete;
use crate::stages::ingress::{DropLog, TokenLog, TokenSink, TokenSource};
use crate::stages::place::Place;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct NicCore<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Frames in.
    pub s_axis: AxisRxSink<W, K>,
    /// Tokens in.
    pub s_token: TokenSink,
    /// Registers.
    pub bus: RegBusSink,
    /// Writes to host memory.
    pub write: AxiWriteSource<W, K>,
    /// Reads of host memory.
    pub read: AxiReadSource<W>,
    /// Vector of a message to the host.
    pub msix_vector: Signal<Out, Bits<5>>,
    /// A message is there.
    pub msix_valid: Signal<Out, Bit>,
    /// It is taken.
    pub msix_ready: Signal<In, Bit>,
    /// Frames dropped at their first beat.
    pub drop_in: DropLog,
    /// Frames rolled back or not admitted.
    pub drop: DropLog,
    /// Tokens taken.
    pub token_log: TokenLog,
    /// All tables are cleared.
    pub cleared: Signal<Out, Bit>,
    receive: GrooveRx<W, K>,
    operations: OpFifo<2>,
    place: Place,
    complete: Complete,
    mover: Mover<W, K>,
    prefetch: Prefetch<W>,
    queues: Queues,
}

impl<const W: usize, const K: usize> NicCore<W, K> {
    /// With checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let Parameters { queues, buckets, depth, .. } = *parameters;
        Self {
            cr: Default::default(),
            s_axis: Default::default(),
            s_token: Default::default(),
            bus: Default::default(),
            write: Default::default(),
            read: Default::default(),
            msix_vector: Default::default(),
            msix_valid: Default::default(),
            msix_ready: Default::default(),
            drop_in: Default::default(),
            drop: Default::default(),
            token_log: Default::default(),
            cleared: Default::default(),
            receive: GrooveRx::new(parameters),
            operations: Default::default(),
            place: Place::new(queues, buckets * depth),
            complete: Default::default(),
            mover: Default::default(),
            prefetch: Default::default(),
            queues: Queues::new(queues),
        }
    }
}

impl<const W: usize, const K: usize> Logic for NicCore<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.receive.sys);
        ClkRst::link(&mut self.cr, &mut self.operations.cr);
        ClkRst::link(&mut self.cr, &mut self.place.cr);
        ClkRst::link(&mut self.cr, &mut self.complete.cr);
        ClkRst::link(&mut self.cr, &mut self.mover.cr);
        ClkRst::link(&mut self.cr, &mut self.prefetch.cr);
        ClkRst::link(&mut self.cr, &mut self.queues.cr);

        // Frames.
        AxisRxSink::<W, K>::link(&mut self.s_axis, &mut self.receive.s_axis);
        OpSource::join(&mut self.receive.m_op, &mut self.operations.s);
        OpSource::join(&mut self.operations.m, &mut self.place.s);
        CommandSource::join(&mut self.place.m, &mut self.mover.command);
        AxisSource::<W, K>::join(&mut self.receive.m_axis, &mut self.mover.payload);
        RecordSource::join(&mut self.place.records, &mut self.complete.records);
        CompletionWriteSource::join(&mut self.complete.m, &mut self.mover.completion);
        DoneSource::join(&mut self.mover.done, &mut self.complete.done);
        DoneSource::join(&mut self.mover.written, &mut self.complete.written);
        AxiWriteSource::<W, K>::link(&mut self.write, &mut self.mover.m);
        DropLog::link(&mut self.drop_in, &mut self.receive.drop_in);
        DropLog::link(&mut self.drop, &mut self.receive.drop);
        TokenLog::link(&mut self.token_log, &mut self.receive.token_log);

        // Buffers.
        self.prefetch.ask.next = self.receive.admit_valid.val();
        self.prefetch.ask_queue.next = self.receive.admit_queue.val();
        self.prefetch.ask_bytes.next = self.receive.admit_bytes.val();
        self.prefetch.take.next = self.receive.admit_take.val();
        self.prefetch.refuse.next = self.receive.admit_refuse.val();
        self.receive.admit.next = self.prefetch.covered.val();
        self.receive.admit_answer.next = self.prefetch.answer.val();
        PopSource::join(&mut self.place.pop, &mut self.prefetch.pop);
        CreditSource::join(&mut self.place.credit, &mut self.prefetch.credit);
        DrainSource::join(&mut self.queues.drain, &mut self.place.drain);
        DoorbellSource::join(&mut self.queues.doorbell, &mut self.prefetch.doorbell);
        AxiReadSource::<W>::link(&mut self.read, &mut self.prefetch.m);

        // Registers and run state.
        RegBusSink::link(&mut self.bus, &mut self.queues.bus);
        self.receive.reg_addr.next = self.queues.reg_addr.val();
        self.receive.reg_wdata.next = self.queues.reg_wdata.val();
        self.receive.reg_write.next = self.queues.reg_write.val();
        self.queues.reg_rdata.next = self.receive.reg_rdata.val();
        self.place.setup.bus.next = self.queues.m_config.bus.val();
        self.complete.setup.bus.next = self.queues.m_config.bus.val();
        self.prefetch.setup.bus.next = self.queues.m_config.bus.val();
        self.cleared.next = self.queues.cleared.val();
        self.prefetch.running.next = self.queues.running.val();
        self.prefetch.closing.next = self.queues.closing.val();
        self.prefetch.status_queue.next = self.queues.status_queue.val();
        self.queues.prefetch_fetched.next = self.prefetch.status_fetched.val();
        self.queues.prefetch_idle.next = self.prefetch.status_idle.val();
        self.queues.prefetch_empty.next = self.prefetch.status_empty.val();
        self.complete.produced_queue.next = self.queues.produced_queue.val();
        self.queues.produced.next = self.complete.produced.val();
        self.queues.fault.next = self.complete.fault.val();
        EventSource::join(&mut self.complete.completed, &mut self.queues.completed);
        EventSource::join(&mut self.complete.flushed, &mut self.queues.flushed);
        EventSource::join(&mut self.complete.dma_error, &mut self.queues.dma_error);
        self.complete.read_error.valid.next = self.prefetch.read_error.valid.val();
        self.complete.read_error.queue.next = self.prefetch.read_error.queue.val();
        self.queues.read_error.valid.next = self.prefetch.read_error.valid.val();
        self.queues.read_error.queue.next = self.prefetch.read_error.queue.val();
        self.queues.no_buffer.valid.next = self.receive.admit_refuse.val();
        self.queues.no_buffer.queue.next = self.receive.admit_queue.val();
        self.msix_vector.next = self.queues.msix_vector.val();
        self.msix_valid.next = self.queues.msix_valid.val();
        self.queues.msix_ready.next = self.msix_ready.val();

        // Tokens, from outside and from timers.
        TokenSink::link(&mut self.s_token, &mut self.queues.s_token);
        TokenSource::join(&mut self.queues.m_token, &mut self.receive.s_token);
    }
}
