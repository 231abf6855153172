//! Buffers of the packet memory: who may have one, which one, and where they come home.
//!
//!   question ──►[ worst case ]──► answer        take: reserved     credit: not needed after all
//!   pop ◄── fresh ones first, then [ FIFO of ids ] ◄── give
//!
//! A frame is admitted if its worst case is free; then it finds its buffers, and nothing behind
//! waits for room. Follows: `Queue::covers` of the software device. Invariants: no buffer is given
//! out twice or lost (`the_pool_conserves_buffers`); a frame that is not covered is a counted drop,
//! and changes nothing (`an_exhausted_pool_drops_and_counts`). Not here: bytes.

use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::{CreditSink, PopSink};
use crate::blocks::reg::{ClkRst, RegE, RegInit, RegR};
use crate::blocks::worst_case::WorstCase;
use crate::comment;
use groove_spec::inline::BUFFERS_MAX;
use groove_spec::nic::BUFFER_BYTES_MIN;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Pool {
    /// Clock and reset.
    pub cr: ClkRst,
    /// A frame asks.
    pub ask: Signal<In, Bit>,
    /// Its bytes.
    pub ask_bytes: Signal<In, Bits<17>>,
    /// It is taken.
    pub take: Signal<In, Bit>,
    /// It is dropped.
    pub refuse: Signal<In, Bit>,
    /// `covered` answers the question.
    pub answer: Signal<Out, Bit>,
    /// There are buffers for the frame.
    pub covered: Signal<Out, Bit>,
    /// The oldest free buffer.
    pub pop: PopSink,
    /// Reserved and not taken.
    pub credit: CreditSink,
    /// A buffer comes home.
    pub give: Signal<In, Bit>,
    /// Its number.
    pub give_id: Signal<In, Bits<8>>,
    /// Buffers that nobody has reserved.
    pub free: Signal<Out, Bits<8>>,
    worst: WorstCase,
    first: RegR<Bit>,
    second: RegR<Bit>,
    bytes: RegE<Bits<17>>,
    need: RegE<Bits<3>>,
    count: RegInit<Bits<8>>,
    fresh: RegR<Bits<8>>,
    ids: Fifo<Bits<8>, 8>,
    over: Signal<Local, Bit>,
    is_fresh: Signal<Local, Bit>,
    needed: Signal<Local, Bits<8>>,
    came: Signal<Local, Bits<8>>,
    unused: Signal<Local, Bits<8>>,
    taken: Signal<Local, Bits<8>>,
    id: Signal<Local, Bits<8>>,
    id64: Signal<Local, Bits<64>>,
    size: Constant<Bits<17>>,
    total: Constant<Bits<8>>,
    one: Constant<Bits<8>>,
    zero: Constant<Bits<8>>,
    negative: Constant<Bits<8>>,
    log2: Constant<Bits<8>>,
}

impl Pool {
    /// `buffers` buffers.
    ///
    /// # Panics
    /// If there are fewer than a frame may need, or more than [`BUFFERS_MAX`].
    pub fn new(buffers: usize) -> Self {
        assert!((6..=BUFFERS_MAX).contains(&buffers), "{buffers} buffers");
        Self {
            cr: Default::default(),
            ask: Default::default(),
            ask_bytes: Default::default(),
            take: Default::default(),
            refuse: Default::default(),
            answer: Default::default(),
            covered: Default::default(),
            pop: Default::default(),
            credit: Default::default(),
            give: Default::default(),
            give_id: Default::default(),
            free: Default::default(),
            worst: Default::default(),
            first: Default::default(),
            second: Default::default(),
            bytes: Default::default(),
            need: Default::default(),
            count: RegInit::new(buffers.to_bits()),
            fresh: Default::default(),
            ids: Default::default(),
            over: Default::default(),
            is_fresh: Default::default(),
            needed: Default::default(),
            came: Default::default(),
            unused: Default::default(),
            taken: Default::default(),
            id: Default::default(),
            id64: Default::default(),
            size: Constant::new(BUFFER_BYTES_MIN.to_bits()),
            total: Constant::new(buffers.to_bits()),
            one: Constant::new(1usize.to_bits()),
            zero: Constant::new(0usize.to_bits()),
            negative: Constant::new(0xf0usize.to_bits()),
            log2: Constant::new((BUFFER_BYTES_MIN.ilog2() as usize).to_bits()),
        }
    }
}

impl Logic for Pool {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_pool");
        ClkRst::link(&mut self.cr, &mut self.first.cr);
        ClkRst::link(&mut self.cr, &mut self.second.cr);
        ClkRst::link(&mut self.cr, &mut self.bytes.cr);
        ClkRst::link(&mut self.cr, &mut self.need.cr);
        ClkRst::link(&mut self.cr, &mut self.count.cr);
        ClkRst::link(&mut self.cr, &mut self.fresh.cr);
        ClkRst::link(&mut self.cr, &mut self.ids.cr);

        // The question stands until it is over; its answer is there in the third cycle.
        self.over.next = self.take.val() | self.refuse.val();
        self.first.d.next = self.ask.val() & !self.over.val();
        self.second.d.next = self.first.q.val() & !self.over.val();
        self.bytes.en.next = true;
        self.bytes.d.next = self.ask_bytes.val();
        self.worst.bytes.next = self.bytes.q.val();
        self.worst.size.next = self.size.val();
        self.need.en.next = true;
        self.need.d.next = self.worst.need.val();
        self.needed.next = bit_cast::<8, 3>(self.need.q.val());
        self.answer.next = self.second.q.val();
        // Not through `needed`: a Local shared with `take` would tie the answer to it.
        self.covered.next = self.count.q.val() >= bit_cast::<8, 3>(self.need.q.val());

        // The account.
        self.came.next = self.count.q.val();
        if self.give.val() {
            self.came.next = self.count.q.val() + self.one.val();
        }
        self.unused.next = self.zero.val();
        if self.credit.valid.val() {
            self.unused.next = bit_cast::<8, 4>(self.credit.unused.val());
            if self.credit.unused.val().get_bit(3) {
                self.unused.next = bit_cast::<8, 4>(self.credit.unused.val()) | self.negative.val();
            }
        }
        self.taken.next = self.zero.val();
        if self.take.val() {
            self.taken.next = self.needed.val();
        }
        self.count.d.next = self.came.val() + self.unused.val() - self.taken.val();
        self.free.next = self.count.q.val();

        // The numbers.
        self.is_fresh.next = self.fresh.q.val() < self.total.val();
        self.id.next = self.ids.m_data.val();
        if self.is_fresh.val() {
            self.id.next = self.fresh.q.val();
        }
        self.pop.id.next = bit_cast::<16, 8>(self.id.val());
        self.id64.next = bit_cast::<64, 8>(self.id.val());
        self.pop.iova.next = self.id64.val() << self.log2.val();
        self.fresh.d.next = self.fresh.q.val();
        if self.pop.take.val() & self.is_fresh.val() {
            self.fresh.d.next = self.fresh.q.val() + self.one.val();
        }
        self.ids.m_ready.next = self.pop.take.val() & !self.is_fresh.val();
        self.ids.s_data.next = self.give_id.val();
        self.ids.s_valid.next = self.give.val();
    }
}
