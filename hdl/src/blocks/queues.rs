//! Everything of a queue that is neither data nor descriptor: registers, run state, timers, tokens,
//! interrupts.
//!
//!   bus ──► window ──► config, doorbell        s_token ─┐
//!              └──► manager ──► drain                   ├──► tokens ──► m_token
//!                      └─────── flush ──────────────────┤       ◄── flushed
//!           hold ────────────── tick ───────────────────┤
//!           interrupts ──────── expiry ─────────────────┘
//!                └──► MSI-X     ◄── completed, produced
//!
//! Follows: spec rows of `nic`. One access at a time, 3 cycles each; an enable edge starts its
//! queue within 100 cycles, of which 30 are the copy of its registers to the config bus.
//!
//! Asked of others: each FlushAll of a queue that was built comes back as one `flushed`, in order,
//! behind everything visible of before; a completion counts in `produced` at the latest in the
//! cycle after its `completed`; `drain.ready` comes no earlier than the buffer is taken.
//!
//! Invariants: those of the parts (`blocks/queues`, `blocks/interrupts`); any accesses and events
//! end where a model of the queues ends (`random_accesses_equal_the_model`). Not here: the host's
//! bus, descriptors, data.

use super::axi::RegBusSink;
use super::interrupts::Interrupts;
use super::nic_ports::{ConfigSource, DoorbellSource, DrainSource, EventSink, EventSource};
use super::reg::ClkRst;
use crate::stages::ingress::{TokenSink, TokenSource};
use hold::Hold;
use manager::Manager;
use rust_hdl::prelude::*;
use tally::Tally;
use tokens::Tokens;
use window::Window;

pub mod access;
pub mod hold;
pub mod manager;
pub mod rows;
pub mod steps;
pub mod store;
pub mod tally;
pub mod tokens;
pub mod window;

/// See the module.
#[derive(LogicBlock)]
pub struct Queues {
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
    /// The sweep after reset is over.
    pub cleared: Signal<Out, Bit>,
    /// Status of `status_queue`, from `prefetch`: descriptors fetched, nothing reserved or being
    /// fetched, no buffer prefetched.
    pub status_queue: Signal<Out, Bits<5>>,
    pub prefetch_fetched: Signal<In, Bits<16>>,
    pub prefetch_idle: Signal<In, Bit>,
    pub prefetch_empty: Signal<In, Bit>,
    /// Visible completions of `produced_queue`, from `complete`.
    pub produced_queue: Signal<Out, Bits<5>>,
    pub produced: Signal<In, Bits<16>>,
    /// A completion has become visible.
    pub completed: EventSink,
    /// A FlushAll is through.
    pub flushed: EventSink,
    /// Queues that a DMA error stopped.
    pub fault: Signal<In, Bits<32>>,
    /// A write failed.
    pub dma_error: EventSink,
    /// A read failed.
    pub read_error: EventSink,
    /// A frame was dropped for want of buffers.
    pub no_buffer: EventSink,
    /// Tokens from the pins.
    pub s_token: TokenSink,
    /// Tokens to the pipeline.
    pub m_token: TokenSource,
    /// Descriptors were posted.
    pub doorbell: DoorbellSource,
    /// Returns a prefetched buffer.
    pub drain: DrainSource,
    /// Queues that are on, and of these the ones that stop.
    pub running: Signal<Out, Bits<32>>,
    pub closing: Signal<Out, Bits<32>>,
    /// To the host.
    pub msix_vector: Signal<Out, Bits<5>>,
    pub msix_valid: Signal<Out, Bit>,
    pub msix_ready: Signal<In, Bit>,
    window: Window,
    manager: Manager,
    hold: Hold,
    tokens: Tokens,
    interrupts: Interrupts,
    no_buffers: Tally,
    write_errors: Tally,
    read_errors: Tally,
}

impl Queues {
    /// For so many queues.
    ///
    /// # Panics
    /// If it is not 1 to 32.
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
            status_queue: Default::default(),
            prefetch_fetched: Default::default(),
            prefetch_idle: Default::default(),
            prefetch_empty: Default::default(),
            produced_queue: Default::default(),
            produced: Default::default(),
            completed: Default::default(),
            flushed: Default::default(),
            fault: Default::default(),
            dma_error: Default::default(),
            read_error: Default::default(),
            no_buffer: Default::default(),
            s_token: Default::default(),
            m_token: Default::default(),
            doorbell: Default::default(),
            drain: Default::default(),
            running: Default::default(),
            closing: Default::default(),
            msix_vector: Default::default(),
            msix_valid: Default::default(),
            msix_ready: Default::default(),
            manager: Default::default(),
            hold: Default::default(),
            interrupts: Default::default(),
            no_buffers: Default::default(),
            write_errors: Default::default(),
            read_errors: Default::default(),
            window: Window::new(queues),
            tokens: Tokens::new(queues),
        }
    }
}

impl Logic for Queues {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.window.cr);
        ClkRst::link(&mut self.cr, &mut self.manager.cr);
        ClkRst::link(&mut self.cr, &mut self.hold.cr);
        ClkRst::link(&mut self.cr, &mut self.tokens.cr);
        ClkRst::link(&mut self.cr, &mut self.interrupts.cr);
        ClkRst::link(&mut self.cr, &mut self.no_buffers.cr);
        ClkRst::link(&mut self.cr, &mut self.write_errors.cr);
        ClkRst::link(&mut self.cr, &mut self.read_errors.cr);

        // Registers.
        RegBusSink::link(&mut self.bus, &mut self.window.bus);
        ConfigSource::link(&mut self.m_config, &mut self.window.m_config);
        DoorbellSource::link(&mut self.doorbell, &mut self.window.doorbell);
        self.reg_addr.next = self.window.reg_addr.val();
        self.reg_wdata.next = self.window.reg_wdata.val();
        self.reg_write.next = self.window.reg_write.val();
        self.window.reg_rdata.next = self.reg_rdata.val();
        self.cleared.next = self.window.cleared.val();
        self.window.fetched.next = self.prefetch_fetched.val();
        self.window.produced.next = self.produced.val();
        self.window.no_buffer.next = self.no_buffers.count.val();
        self.window.dma_errors.next = self.write_errors.count.val() + self.read_errors.count.val();
        self.window.running.next = self.manager.running.val();
        self.window.starting.next = self.manager.starting.val();
        self.window.fault.next = self.fault.val();

        // Counters.
        EventSink::link(&mut self.no_buffer, &mut self.no_buffers.s);
        EventSink::link(&mut self.dma_error, &mut self.write_errors.s);
        EventSink::link(&mut self.read_error, &mut self.read_errors.s);
        self.no_buffers.clear.next = self.window.clear.val();
        self.no_buffers.set_queue.next = self.window.set_queue.val();
        self.no_buffers.look.next = self.window.look.val();
        self.no_buffers.look_queue.next = self.window.look_queue.val();
        self.write_errors.clear.next = self.window.clear.val();
        self.write_errors.set_queue.next = self.window.set_queue.val();
        self.write_errors.look.next = self.window.look.val();
        self.write_errors.look_queue.next = self.window.look_queue.val();
        self.read_errors.clear.next = self.window.clear.val();
        self.read_errors.set_queue.next = self.window.set_queue.val();
        self.read_errors.look.next = self.window.look.val();
        self.read_errors.look_queue.next = self.window.look_queue.val();

        // Run state. The window may look at the status of any queue in between.
        DrainSource::link(&mut self.drain, &mut self.manager.drain);
        self.manager.rise.next = self.window.rise.val();
        self.manager.fall.next = self.window.fall.val();
        self.manager.edge_queue.next = self.window.look_queue.val();
        self.manager.fault.next = self.fault.val();
        self.manager.held.next = self.window.look.val();
        self.manager.idle.next = self.prefetch_idle.val();
        self.manager.empty.next = self.prefetch_empty.val();
        self.manager.start_done.next = self.window.start_done.val();
        self.window.start_valid.next = self.manager.start_valid.val();
        self.window.start_queue.next = self.manager.queue.val();
        self.running.next = self.manager.running.val();
        self.closing.next = self.manager.closing.val();
        self.status_queue.next = self.manager.queue.val();
        self.produced_queue.next = self.interrupts.produced_queue.val();
        if self.window.look.val() {
            self.status_queue.next = self.window.look_queue.val();
            self.produced_queue.next = self.window.look_queue.val();
        }

        // Timers and vectors.
        self.hold.set_valid.next = self.window.set_valid.val();
        self.hold.set_queue.next = self.window.set_queue.val();
        self.hold.set_number.next = self.window.set_number.val();
        self.hold.set_word.next = self.window.set_word.val();
        self.hold.running.next = self.manager.running.val();
        self.hold.closing.next = self.manager.closing.val();
        EventSink::link(&mut self.completed, &mut self.interrupts.completed);
        self.interrupts.clear.next = self.window.clear.val();
        self.interrupts.set_valid.next = self.window.set_valid.val();
        self.interrupts.set_queue.next = self.window.set_queue.val();
        self.interrupts.set_number.next = self.window.set_number.val();
        self.interrupts.set_word.next = self.window.set_word.val();
        self.interrupts.visit_kind.next = self.window.visit_kind.val();
        self.interrupts.visit_queue.next = self.window.visit_queue.val();
        self.interrupts.visit_value.next = self.window.visit_value.val();
        self.interrupts.visit_valid.next = self.window.visit_valid.val();
        self.window.visit_ready.next = self.interrupts.visit_ready.val();
        self.interrupts.stop_queue.next = self.manager.queue.val();
        self.interrupts.stop_valid.next = self.manager.signal_valid.val();
        self.manager.signal_ready.next = self.interrupts.stop_ready.val();
        self.interrupts.running.next = self.manager.running.val();
        self.interrupts.closing.next = self.manager.closing.val();
        self.interrupts.fault.next = self.fault.val();
        self.interrupts.hold.next = self.window.look.val();
        self.interrupts.produced.next = self.produced.val();
        self.msix_vector.next = self.interrupts.msix_vector.val();
        self.msix_valid.next = self.interrupts.msix_valid.val();
        self.interrupts.msix_ready.next = self.msix_ready.val();

        // Tokens.
        TokenSink::link(&mut self.s_token, &mut self.tokens.s);
        TokenSource::link(&mut self.m_token, &mut self.tokens.m);
        EventSink::link(&mut self.flushed, &mut self.tokens.flushed);
        EventSource::join(&mut self.tokens.expire_flushed, &mut self.interrupts.flushed);
        self.tokens.stop_queue.next = self.manager.queue.val();
        self.tokens.stop_valid.next = self.manager.flush_valid.val();
        self.manager.flush_ready.next = self.tokens.stop_ready.val();
        self.manager.flushed.next = self.tokens.stop_flushed.val();
        self.tokens.expire_queue.next = self.interrupts.expire_queue.val();
        self.tokens.expire_valid.next = self.interrupts.expire_valid.val();
        self.interrupts.expire_ready.next = self.tokens.expire_ready.val();
        self.tokens.tick_queue.next = self.hold.request_queue.val();
        self.tokens.tick_valid.next = self.hold.request_valid.val();
        self.hold.request_ready.next = self.tokens.tick_ready.val();
    }
}
