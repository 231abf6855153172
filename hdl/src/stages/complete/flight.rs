//! What is on its way to host memory, so that a marker comes out behind what was before it.
//!
//!   completion or marker ──►[ 256, in order ]──► completion: one response; marker: flushed
//!   written ──►[ responses ]─┘
//!
//! Invariants: at most 128 completions are on their way (`at_most_128_on_their_way`); a marker
//! comes out after the response of every completion before it, in the order of the markers
//! (`markers_follow_the_responses`). Not here: what a response says.

use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::EventSource;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// A completion or a marker.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Item {
    pub marker: Bit,
    pub queue: Bits<5>,
}

/// The list.
#[derive(LogicBlock)]
pub struct Flight {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Goes on its way.
    pub item: Signal<In, Item>,
    /// Now.
    pub push: Signal<In, Bit>,
    /// Room for a marker.
    pub marker_room: Signal<Out, Bit>,
    /// Room for a completion.
    pub room: Signal<Out, Bit>,
    /// A completion was answered.
    pub written: Signal<In, Bit>,
    /// Markers that come out.
    pub flushed: EventSource,
    items: Fifo<Item, 8>,
    open: RegR<Bits<8>>,
    responses: RegR<Bits<8>>,
    flush: RegR<Bit>,
    of: RegE<Bits<5>>,
    head: Signal<Local, Item>,
    pass: Signal<Local, Bit>,
    drop: Signal<Local, Bit>,
    goes: Signal<Local, Bit>,
    zero: Constant<Bits<8>>,
    one: Constant<Bits<8>>,
    most: Constant<Bits<8>>,
}

impl Default for Flight {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            item: Default::default(),
            push: Default::default(),
            marker_room: Default::default(),
            room: Default::default(),
            written: Default::default(),
            flushed: Default::default(),
            items: Default::default(),
            open: Default::default(),
            responses: Default::default(),
            flush: Default::default(),
            of: Default::default(),
            head: Default::default(),
            pass: Default::default(),
            drop: Default::default(),
            goes: Default::default(),
            zero: Constant::new(0.into()),
            one: Constant::new(1.into()),
            most: Constant::new(128.into()),
        }
    }
}

impl Logic for Flight {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: complete_flight");
        ClkRst::link(&mut self.cr, &mut self.items.cr);
        ClkRst::link(&mut self.cr, &mut self.open.cr);
        ClkRst::link(&mut self.cr, &mut self.responses.cr);
        ClkRst::link(&mut self.cr, &mut self.flush.cr);
        ClkRst::link(&mut self.cr, &mut self.of.cr);
        self.items.s_data.next = self.item.val();
        self.items.s_valid.next = self.push.val();
        self.marker_room.next = self.items.s_ready.val();
        self.room.next = self.items.s_ready.val() & (self.open.q.val() != self.most.val());
        self.head.next = self.items.m_data.val();
        self.pass.next = self.items.m_valid.val() & self.head.val().marker;
        self.drop.next = self.items.m_valid.val()
            & !self.head.val().marker
            & (self.responses.q.val() != self.zero.val());
        self.items.m_ready.next = self.pass.val() | self.drop.val();

        self.goes.next = self.push.val() & !self.item.val().marker;
        self.open.d.next = self.open.q.val();
        if self.goes.val() & !self.written.val() {
            self.open.d.next = self.open.q.val() + self.one.val();
        }
        if self.written.val() & !self.goes.val() {
            self.open.d.next = self.open.q.val() - self.one.val();
        }
        self.responses.d.next = self.responses.q.val();
        if self.written.val() & !self.drop.val() {
            self.responses.d.next = self.responses.q.val() + self.one.val();
        }
        if self.drop.val() & !self.written.val() {
            self.responses.d.next = self.responses.q.val() - self.one.val();
        }
        self.flush.d.next = self.pass.val();
        self.of.d.next = self.head.val().queue;
        self.of.en.next = self.pass.val();
        self.flushed.valid.next = self.flush.q.val();
        self.flushed.queue.next = self.of.q.val();
    }
}
