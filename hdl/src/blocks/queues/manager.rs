//! Starts and stops queues, one at a time.
//!
//!   enable ──► start ──► running
//!   disable, fault ──► closing ──► FlushAll ──► its marker ──► drain until empty
//!                               ──► FlushAll ──► its marker ──► interrupt ──► stopped
//!
//! From `closing` on the queue is admitted nothing and fetches nothing. The first FlushAll enters
//! behind every frame that was admitted; when its marker has come, nothing of the queue is held or
//! reserved. Then the prefetched buffers are returned one by one: as completions, or without one
//! after a fault. The second FlushAll's marker comes behind all of these completions, so that
//! everything is visible when `running` falls.
//!
//! A queue that is enabled again while it closes starts when it has stopped. A queue that is
//! disabled before it has started never starts.
//!
//! Follows: spec rows `QUEUE_CONTROL`, `QUEUE_STATUS`; PCI: a stopped queue makes no access.
//! Invariants: a queue stops from every state, with every buffer returned once
//! (`a_queue_stops_from_every_state`); quick changes of `enable` end as the last of them says
//! (`random_accesses_equal_the_model`). Not here: registers, tokens.

use crate::blocks::nic_ports::DrainSource;
use crate::blocks::reg::{ClkRst, RegR};
use rust_hdl::prelude::*;

/// What the manager does.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ManagerState {
    /// Looks for a queue that starts or closes.
    Seek,
    /// Its registers go out.
    Start,
    /// Asks for the first FlushAll.
    Flush,
    /// Its marker is awaited.
    Await,
    /// `empty` becomes true.
    Settle,
    /// Is there a buffer to return?
    Look,
    /// One is returned.
    Drain,
    /// Asks for the second FlushAll.
    FlushLast,
    /// Its marker is awaited.
    AwaitLast,
    /// The vector signals what is unsignalled.
    Signal,
}

/// See the module.
#[derive(LogicBlock)]
pub struct Manager {
    /// Clock and reset.
    pub cr: ClkRst,
    /// `enable` of `edge_queue` rises, or falls.
    pub rise: Signal<In, Bit>,
    pub fall: Signal<In, Bit>,
    pub edge_queue: Signal<In, Bits<5>>,
    /// Queues that a DMA error stopped.
    pub fault: Signal<In, Bits<32>>,
    /// Queues that are on.
    pub running: Signal<Out, Bits<32>>,
    /// Of these, the ones that stop.
    pub closing: Signal<Out, Bits<32>>,
    /// Enabled, and not yet started.
    pub starting: Signal<Out, Bits<32>>,
    /// `queue` is to start.
    pub start_valid: Signal<Out, Bit>,
    pub start_done: Signal<In, Bit>,
    /// The queue that starts or stops.
    pub queue: Signal<Out, Bits<5>>,
    /// In this cycle the status below is that of another queue.
    pub held: Signal<In, Bit>,
    /// Nothing is reserved or being fetched; no buffer is prefetched.
    pub idle: Signal<In, Bit>,
    pub empty: Signal<In, Bit>,
    /// Asks for a FlushAll.
    pub flush_valid: Signal<Out, Bit>,
    pub flush_ready: Signal<In, Bit>,
    /// It is through.
    pub flushed: Signal<In, Bit>,
    /// Returns a buffer.
    pub drain: DrainSource,
    /// The vector signals what is unsignalled.
    pub signal_valid: Signal<Out, Bit>,
    pub signal_ready: Signal<In, Bit>,
    state: RegR<ManagerState>,
    at: RegR<Bits<5>>,
    pause: RegR<Bits<3>>,
    on: RegR<Bits<32>>,
    ends: RegR<Bits<32>>,
    waits: RegR<Bits<32>>,
    only: Signal<Local, Bits<32>>,
    edge_only: Signal<Local, Bits<32>>,
    rises: Signal<Local, Bits<32>>,
    falls: Signal<Local, Bits<32>>,
    starts: Signal<Local, Bits<32>>,
    stops: Signal<Local, Bits<32>>,
    at_ends: Signal<Local, Bits<32>>,
    at_waits: Signal<Local, Bits<32>>,
    at_fault: Signal<Local, Bits<32>>,
    one: Constant<Bits<32>>,
    one5: Constant<Bits<5>>,
    one3: Constant<Bits<3>>,
    pause_last: Constant<Bits<3>>,
}

impl Default for Manager {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            rise: Default::default(),
            fall: Default::default(),
            edge_queue: Default::default(),
            fault: Default::default(),
            running: Default::default(),
            closing: Default::default(),
            starting: Default::default(),
            start_valid: Default::default(),
            start_done: Default::default(),
            queue: Default::default(),
            held: Default::default(),
            idle: Default::default(),
            empty: Default::default(),
            flush_valid: Default::default(),
            flush_ready: Default::default(),
            flushed: Default::default(),
            drain: Default::default(),
            signal_valid: Default::default(),
            signal_ready: Default::default(),
            state: Default::default(),
            at: Default::default(),
            pause: Default::default(),
            on: Default::default(),
            ends: Default::default(),
            waits: Default::default(),
            only: Default::default(),
            edge_only: Default::default(),
            rises: Default::default(),
            falls: Default::default(),
            starts: Default::default(),
            stops: Default::default(),
            at_ends: Default::default(),
            at_waits: Default::default(),
            at_fault: Default::default(),
            one: Constant::new(1usize.to_bits()),
            one5: Constant::new(1usize.to_bits()),
            one3: Constant::new(1usize.to_bits()),
            pause_last: Constant::new(7usize.to_bits()),
        }
    }
}

impl Logic for Manager {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.state.cr);
        ClkRst::link(&mut self.cr, &mut self.at.cr);
        ClkRst::link(&mut self.cr, &mut self.pause.cr);
        ClkRst::link(&mut self.cr, &mut self.on.cr);
        ClkRst::link(&mut self.cr, &mut self.ends.cr);
        ClkRst::link(&mut self.cr, &mut self.waits.cr);

        self.only.next = self.one.val() << self.at.q.val();
        self.at_ends.next = self.ends.q.val() & self.only.val();
        self.at_waits.next = self.waits.q.val() & self.only.val();
        self.at_fault.next = self.fault.val() & self.only.val();
        self.starts.next = 0.into();
        self.stops.next = 0.into();
        self.state.d.next = self.state.q.val();
        self.at.d.next = self.at.q.val();
        self.pause.d.next = self.pause.q.val() + self.one3.val();
        self.start_valid.next = false;
        self.flush_valid.next = false;
        self.signal_valid.next = false;
        self.drain.valid.next = false;
        match self.state.q.val() {
            ManagerState::Seek => {
                if self.at_ends.val().any() {
                    self.state.d.next = ManagerState::Flush;
                } else if self.at_waits.val().any() {
                    self.state.d.next = ManagerState::Start;
                } else {
                    self.at.d.next = self.at.q.val() + self.one5.val();
                }
            }
            ManagerState::Start => {
                self.start_valid.next = true;
                if self.start_done.val() {
                    self.starts.next = self.only.val();
                    self.state.d.next = ManagerState::Seek;
                }
            }
            ManagerState::Flush => {
                self.flush_valid.next = true;
                if self.flush_ready.val() {
                    self.state.d.next = ManagerState::Await;
                }
            }
            ManagerState::Await => {
                self.pause.d.next = 0.into();
                if self.flushed.val() {
                    self.state.d.next = ManagerState::Settle;
                }
            }
            ManagerState::Settle => {
                if self.pause.q.val() == self.pause_last.val() {
                    self.state.d.next = ManagerState::Look;
                }
            }
            ManagerState::Look => {
                if self.idle.val() & !self.held.val() {
                    self.state.d.next = ManagerState::Drain;
                    if self.empty.val() {
                        self.state.d.next = ManagerState::FlushLast;
                    }
                }
            }
            ManagerState::Drain => {
                self.pause.d.next = 0.into();
                self.drain.valid.next = true;
                if self.drain.ready.val() {
                    self.state.d.next = ManagerState::Settle;
                }
            }
            ManagerState::FlushLast => {
                self.flush_valid.next = true;
                if self.flush_ready.val() {
                    self.state.d.next = ManagerState::AwaitLast;
                }
            }
            ManagerState::AwaitLast => {
                if self.flushed.val() {
                    self.state.d.next = ManagerState::Signal;
                }
            }
            ManagerState::Signal => {
                self.signal_valid.next = true;
                if self.signal_ready.val() {
                    self.stops.next = self.only.val();
                    self.state.d.next = ManagerState::Seek;
                }
            }
            _ => {}
        }

        self.edge_only.next = self.one.val() << self.edge_queue.val();
        self.rises.next = 0.into();
        self.falls.next = 0.into();
        if self.rise.val() {
            self.rises.next = self.edge_only.val();
        }
        if self.fall.val() {
            self.falls.next = self.edge_only.val();
        }
        self.waits.d.next =
            (self.waits.q.val() | self.rises.val()) & !self.falls.val() & !self.starts.val();
        self.on.d.next =
            (self.on.q.val() | (self.starts.val() & self.waits.q.val())) & !self.stops.val();
        self.ends.d.next = (self.ends.q.val()
            | (self.on.q.val() & (self.fault.val() | self.falls.val())))
            & !self.stops.val();
        self.queue.next = self.at.q.val();
        self.drain.queue.next = self.at.q.val();
        self.drain.quiet.next = self.at_fault.val().any();
        self.running.next = self.on.q.val();
        self.closing.next = self.ends.q.val();
        self.starting.next = self.waits.q.val();
    }
}
