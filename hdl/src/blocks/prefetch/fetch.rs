//! Decides what to fetch next and asks for it: one aligned group of four descriptors at a time.
//!
//!   wants ──► Pick ──► Encode ──► Look ──► Decide ──► Send ──► AR, flight      5 cycles per read
//!   doorbell ──► FIFO ──► Pick ──► Door ──► Post ──► posted                    3 cycles
//!
//! A queue wants a turn after a doorbell, after a buffer was taken, and after a read, as there may
//! be more. One that has nothing to do loses the wish until then. The wish falls in Encode, before
//! anything is looked at, so that none is lost. Of a group only the descriptors from the next one
//! up to the last one posted count. While the configuration bus is at work everything stands still.
//!
//! Invariants, in `rtl_prefetch`: no read outside the groups of the posted window, and a doorbell
//! beyond the ring is ignored (`prefetch_equals_the_reference`); turns go round
//! (`everyone_has_a_turn`). Not here: what comes back.

use super::gather::Flight;
use super::rings::Rings;
use super::turns::Turns;
use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::{ConfigWrite, DoorbellSink};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// Buffers of a queue, on the way or stored.
pub const DEPTH: usize = 64;
/// Reads on the way.
pub const READS_MAX: usize = 32;

/// States; the first one is that of reset.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FetchState {
    /// Takes a doorbell, or chooses a queue.
    Pick,
    /// Its number becomes known.
    Encode,
    /// Its counts are there.
    Look,
    /// Reads or not.
    Decide,
    /// The address is whole.
    Send,
    /// The doorbell's queue is looked up.
    Door,
    /// The doorbell is taken or ignored.
    Post,
}

/// A doorbell that waits.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Posted {
    pub queue: Bits<5>,
    pub index: Bits<16>,
}

/// What was looked up of the queue that has its turn.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Facts {
    /// Slot of its next descriptor.
    pub slot: Bits<16>,
    /// Its buffers, stored and on the way.
    pub used: Bits<7>,
    /// It may fetch.
    pub allowed: Bit,
}

/// See the module.
#[derive(LogicBlock)]
pub struct Fetch {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Configuration.
    pub bus: Signal<In, ConfigWrite>,
    /// New descriptors.
    pub doorbell: DoorbellSink,
    /// Queues that may fetch.
    pub open: Signal<In, Bits<32>>,
    /// A buffer of `popped_queue` was taken.
    pub popped: Signal<In, Bit>,
    /// See `popped`.
    pub popped_queue: Signal<In, Bits<5>>,
    /// Queue that may fetch.
    pub queue: Signal<Out, Bits<5>>,
    /// Its descriptors asked for.
    pub issued: Signal<In, Bits<16>>,
    /// Its buffers stored.
    pub stored: Signal<In, Bits<7>>,
    /// Its descriptors on the way.
    pub flying: Signal<In, Bits<7>>,
    /// Descriptors are asked for.
    pub issue: Signal<Out, Bit>,
    /// Which.
    pub flight: Signal<Out, Flight>,
    /// A read has been answered.
    pub landed: Signal<In, Bit>,
    /// Address of a read.
    pub address: Signal<Out, Bits<64>>,
    /// A read is asked for.
    pub address_valid: Signal<Out, Bit>,
    /// It is taken.
    pub address_ready: Signal<In, Bit>,
    doors: Fifo<Posted, 3>,
    turns: Turns,
    rings: Rings,
    state: RegR<FetchState>,
    current: RegE<Bits<5>>,
    pending: RegE<Bits<16>>,
    facts: RegE<Facts>,
    reads: RegR<Bits<6>>,
    waits: RegR<Bit>,
    hold: Signal<Local, Bit>,
    entry: Signal<Local, Posted>,
    top: Signal<Local, Bits<16>>,
    asked: Signal<Local, Bits<16>>,
    lane: Signal<Local, Bits<2>>,
    left: Signal<Local, Bits<16>>,
    number: Signal<Local, Bits<16>>,
    slot: Signal<Local, Bits<16>>,
    useful: Signal<Local, Bit>,
    possible: Signal<Local, Bit>,
    sends: Signal<Local, Bit>,
    again: Signal<Local, Bit>,
    posts: Signal<Local, Bit>,
    one16: Constant<Bits<16>>,
    one6: Constant<Bits<6>>,
    group: Constant<Bits<16>>,
    used_max: Constant<Bits<7>>,
    reads_max: Constant<Bits<6>>,
}

impl Default for Fetch {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            bus: Default::default(),
            doorbell: Default::default(),
            open: Default::default(),
            popped: Default::default(),
            popped_queue: Default::default(),
            queue: Default::default(),
            issued: Default::default(),
            stored: Default::default(),
            flying: Default::default(),
            issue: Default::default(),
            flight: Default::default(),
            landed: Default::default(),
            address: Default::default(),
            address_valid: Default::default(),
            address_ready: Default::default(),
            doors: Default::default(),
            turns: Default::default(),
            rings: Default::default(),
            state: Default::default(),
            current: Default::default(),
            pending: Default::default(),
            facts: Default::default(),
            reads: Default::default(),
            waits: Default::default(),
            hold: Default::default(),
            entry: Default::default(),
            top: Default::default(),
            asked: Default::default(),
            lane: Default::default(),
            left: Default::default(),
            number: Default::default(),
            slot: Default::default(),
            useful: Default::default(),
            possible: Default::default(),
            sends: Default::default(),
            again: Default::default(),
            posts: Default::default(),
            one16: Constant::new(1.into()),
            one6: Constant::new(1.into()),
            group: Constant::new(4.into()),
            used_max: Constant::new((DEPTH as u64 - 4).into()),
            reads_max: Constant::new((READS_MAX as u64).into()),
        }
    }
}

impl Logic for Fetch {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: prefetch_fetch");
        ClkRst::link(&mut self.cr, &mut self.doors.cr);
        ClkRst::link(&mut self.cr, &mut self.turns.cr);
        ClkRst::link(&mut self.cr, &mut self.rings.cr);
        ClkRst::link(&mut self.cr, &mut self.state.cr);
        ClkRst::link(&mut self.cr, &mut self.current.cr);
        ClkRst::link(&mut self.cr, &mut self.pending.cr);
        ClkRst::link(&mut self.cr, &mut self.facts.cr);
        ClkRst::link(&mut self.cr, &mut self.reads.cr);
        ClkRst::link(&mut self.cr, &mut self.waits.cr);
        // Doorbells come every third cycle at most, and none while the configuration bus is at
        // work: the FIFO never fills.
        self.entry.next.queue = self.doorbell.queue.val();
        self.entry.next.index = self.doorbell.index.val();
        self.doors.s_data.next = self.entry.val();
        self.doors.s_valid.next = self.doorbell.valid.val();

        self.hold.next = self.bus.val().clear | self.bus.val().write;
        self.turns.choose.next = (self.state.q.val() == FetchState::Pick) & !self.hold.val();
        self.turns.drop.next = self.state.q.val() == FetchState::Encode;
        self.current.en.next =
            (self.state.q.val() == FetchState::Pick) | (self.state.q.val() == FetchState::Encode);
        self.current.d.next = self.turns.index.val();
        if self.state.q.val() == FetchState::Pick {
            self.current.d.next = self.doors.m_data.val().queue;
        }
        self.queue.next = self.current.q.val();
        self.rings.queue.next = self.current.q.val();
        self.rings.bus.next = self.bus.val();

        // Look, Door: what is to do.
        self.top.next = self.rings.posted.val();
        if self.state.q.val() == FetchState::Door {
            self.top.next = self.doors.m_data.val().index;
        }
        self.asked.next = self.rings.limit.val() - self.one16.val();
        self.pending.en.next =
            (self.state.q.val() == FetchState::Look) | (self.state.q.val() == FetchState::Door);
        self.pending.d.next = self.top.val() - self.issued.val();
        self.facts.en.next = self.state.q.val() == FetchState::Look;
        self.facts.d.next.slot = self.issued.val() & self.asked.val();
        self.facts.d.next.used = self.stored.val() + self.flying.val();
        self.facts.d.next.allowed = self.open.val().get_bit(self.current.q.val().index());

        // Decide: descriptors up to the end of the group or the last one posted.
        self.slot.next = self.facts.q.val().slot;
        self.lane.next = self.slot.val().get_bits::<2>(0);
        self.left.next = self.group.val() - bit_cast::<16, 2>(self.lane.val());
        self.number.next = self.left.val();
        if self.pending.q.val() < self.left.val() {
            self.number.next = self.pending.q.val();
        }
        self.useful.next = (self.state.q.val() == FetchState::Decide)
            & self.facts.q.val().allowed
            & self.pending.q.val().any()
            & (self.facts.q.val().used <= self.used_max.val());
        self.possible.next = self.useful.val()
            & !self.hold.val()
            & !self.waits.q.val()
            & (self.reads.q.val() < self.reads_max.val());
        self.issue.next = self.possible.val();
        self.flight.next.queue = self.current.q.val();
        self.flight.next.lane = self.lane.val();
        self.flight.next.count = self.number.val().get_bits::<3>(0);
        self.rings.slot.next = self.slot.val();
        self.rings.add.next = self.possible.val();
        self.sends.next = (self.state.q.val() == FetchState::Send) & !self.hold.val();
        self.rings.carry.next = self.sends.val();
        self.address.next = self.rings.address.val();
        self.address_valid.next = self.waits.q.val();
        self.waits.d.next = (self.waits.q.val() & !self.address_ready.val()) | self.sends.val();

        // Post: an index that the ring cannot hold is none.
        self.posts.next = (self.state.q.val() == FetchState::Post) & !self.hold.val();
        self.doors.m_ready.next = self.posts.val();
        self.again.next = self.posts.val() & (self.pending.q.val() <= self.rings.limit.val());
        self.rings.post.next = self.again.val();
        self.rings.post_index.next = self.doors.m_data.val().index;

        self.reads.d.next = self.reads.q.val();
        if self.possible.val() & !self.landed.val() {
            self.reads.d.next = self.reads.q.val() + self.one6.val();
        } else if self.landed.val() & !self.possible.val() {
            self.reads.d.next = self.reads.q.val() - self.one6.val();
        }

        self.turns.add.next = self.useful.val() | self.again.val();
        self.turns.queue.next = self.current.q.val();
        self.turns.popped.next = self.popped.val();
        self.turns.popped_queue.next = self.popped_queue.val();
        self.state.d.next = self.state.q.val();
        if !self.hold.val() {
            self.state.d.next = FetchState::Pick;
            match self.state.q.val() {
                FetchState::Pick => {
                    if self.doors.m_valid.val() {
                        self.state.d.next = FetchState::Door;
                    } else if self.turns.wanted.val() {
                        self.state.d.next = FetchState::Encode;
                    }
                }
                FetchState::Encode => {
                    self.state.d.next = FetchState::Look;
                }
                FetchState::Look => {
                    self.state.d.next = FetchState::Decide;
                }
                FetchState::Decide => {
                    if self.possible.val() {
                        self.state.d.next = FetchState::Send;
                    }
                }
                FetchState::Door => {
                    self.state.d.next = FetchState::Post;
                }
                _ => {}
            }
        }
    }
}
