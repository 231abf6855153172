//! Answers whether the buffers of a queue cover the worst case of a frame.
//!
//!   question ──►[ bytes, size ]──► worst case ──►[ need, free ]──► answer      2 cycles
//!
//! The answer renews itself for as long as the question stands. Follows: `Queue::covers` of the
//! software device. Invariants: a frame is covered if the worst case is free and its queue open
//! (`prefetch_equals_the_reference`). Not here: the counts.

use crate::blocks::nic_ports::ConfigWrite;
use crate::blocks::ram::LutRam;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::blocks::worst_case::WorstCase;
use crate::comment;
use groove_spec::nic;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Admission {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Configuration.
    pub bus: Signal<In, ConfigWrite>,
    /// Queues that take frames.
    pub open: Signal<In, Bits<32>>,
    /// A frame asks.
    pub ask: Signal<In, Bit>,
    /// Its queue.
    pub queue: Signal<In, Bits<5>>,
    /// Its bytes.
    pub bytes: Signal<In, Bits<17>>,
    /// The question is over.
    pub over: Signal<In, Bit>,
    /// Buffers of its queue that nobody has reserved.
    pub free: Signal<In, Bits<7>>,
    /// `covered` is the answer to the question.
    pub answer: Signal<Out, Bit>,
    /// There are buffers for the frame.
    pub covered: Signal<Out, Bit>,
    /// How many it needs.
    pub need: Signal<Out, Bits<3>>,
    sizes: LutRam<Bits<17>, 5>,
    worst: WorstCase,
    first: RegR<Bit>,
    second: RegR<Bit>,
    bytes_held: RegE<Bits<17>>,
    size_held: RegE<Bits<17>>,
    need_held: RegE<Bits<3>>,
    free_held: RegE<Bits<7>>,
    open_held: RegE<Bit>,
    data: Signal<Local, Bits<32>>,
    needed: Signal<Local, Bits<3>>,
    at_size: Constant<Bits<5>>,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            bus: Default::default(),
            open: Default::default(),
            ask: Default::default(),
            queue: Default::default(),
            bytes: Default::default(),
            over: Default::default(),
            free: Default::default(),
            answer: Default::default(),
            covered: Default::default(),
            need: Default::default(),
            sizes: Default::default(),
            worst: Default::default(),
            first: Default::default(),
            second: Default::default(),
            bytes_held: Default::default(),
            size_held: Default::default(),
            need_held: Default::default(),
            free_held: Default::default(),
            open_held: Default::default(),
            data: Default::default(),
            needed: Default::default(),
            at_size: Constant::new((nic::BUFFER_SIZE.offset as u64 / 4).into()),
        }
    }
}

impl Logic for Admission {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: prefetch_admission");
        ClkRst::link(&mut self.cr, &mut self.sizes.cr);
        ClkRst::link(&mut self.cr, &mut self.first.cr);
        ClkRst::link(&mut self.cr, &mut self.second.cr);
        ClkRst::link(&mut self.cr, &mut self.bytes_held.cr);
        ClkRst::link(&mut self.cr, &mut self.size_held.cr);
        ClkRst::link(&mut self.cr, &mut self.need_held.cr);
        ClkRst::link(&mut self.cr, &mut self.free_held.cr);
        ClkRst::link(&mut self.cr, &mut self.open_held.cr);
        self.data.next = self.bus.val().data;
        self.sizes.waddr.next = self.bus.val().queue;
        self.sizes.wdata.next = self.data.val().get_bits::<17>(0);
        self.sizes.wen.next = self.bus.val().write & (self.bus.val().index == self.at_size.val());
        self.sizes.raddr.next = self.queue.val();

        self.first.d.next = self.ask.val() & !self.over.val();
        self.second.d.next = self.first.q.val() & !self.over.val();
        self.bytes_held.en.next = true;
        self.bytes_held.d.next = self.bytes.val();
        self.size_held.en.next = true;
        self.size_held.d.next = self.sizes.rdata.val();
        self.worst.bytes.next = self.bytes_held.q.val();
        self.worst.size.next = self.size_held.q.val();
        self.need_held.en.next = true;
        self.need_held.d.next = self.worst.need.val();
        self.free_held.en.next = true;
        self.free_held.d.next = self.free.val();
        self.open_held.en.next = true;
        self.open_held.d.next = self.open.val().get_bit(self.queue.val().index());
        self.needed.next = self.need_held.q.val();
        self.answer.next = self.second.q.val();
        self.covered.next = self.open_held.q.val()
            & (self.free_held.q.val() >= bit_cast::<7, 3>(self.needed.val()));
        self.need.next = self.need_held.q.val();
    }
}
