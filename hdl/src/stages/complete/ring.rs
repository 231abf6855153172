//! Where the next completion of a queue goes, and its generation.
//!
//!   setup ─write─► [ LutRam per register ] ─queue─►[ base, size ]─►[ slot, generation ]─► address
//!                                             read          make
//!
//! Follows: `COMPLETION_BASE_LOW`, `COMPLETION_BASE_HIGH`, `RING_SIZES` of the table; `Ring::slot`
//! and `write_completion` of the software device. Invariant: the generation is 1 in the first pass
//! and toggles with each (`completions_equal_the_reference`). Not here: whether it goes.

use super::index::Index;
use crate::blocks::nic_ports::{ConfigSink, ConfigWrite, EventSink};
use crate::blocks::ram::LutRam;
use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use crate::stages::place::tables::index;
use groove_spec::nic::{COMPLETION_BASE_HIGH, COMPLETION_BASE_LOW, RING_SIZES};
use rust_hdl::prelude::*;

/// The rings.
#[derive(LogicBlock)]
pub struct Ring {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Writes.
    pub setup: ConfigSink,
    /// Queue that starts.
    pub start: EventSink,
    /// Queue of the record.
    pub queue: Signal<In, Bits<5>>,
    /// First step: reads index, base and size.
    pub read: Signal<In, Bit>,
    /// Second step: cuts the index to the ring.
    pub make: Signal<In, Bit>,
    /// The slot is used.
    pub step: Signal<In, Bit>,
    /// After both: where the completion goes.
    pub address: Signal<Out, Bits<64>>,
    /// Its generation.
    pub generation: Signal<Out, Bit>,
    low: LutRam<Bits<32>, 5>,
    high: LutRam<Bits<32>, 5>,
    sizes: LutRam<Bits<4>, 5>,
    indices: Index,
    low_now: RegE<Bits<32>>,
    high_now: RegE<Bits<32>>,
    size_now: RegE<Bits<4>>,
    index_now: RegE<Bits<16>>,
    slot: RegE<Bits<16>>,
    fresh: RegE<Bit>,
    bus: Signal<Local, ConfigWrite>,
    data: Signal<Local, Bits<32>>,
    entries: Signal<Local, Bits<16>>,
    mask: Signal<Local, Bits<16>>,
    base: Signal<Local, Bits<64>>,
    slot64: Signal<Local, Bits<64>>,
    no_queue: Constant<Bits<5>>,
    low_index: Constant<Bits<5>>,
    high_index: Constant<Bits<5>>,
    sizes_index: Constant<Bits<5>>,
    one: Constant<Bits<16>>,
    none: Constant<Bits<16>>,
    word: Constant<Bits<6>>,
    slot_shift: Constant<Bits<6>>,
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            setup: Default::default(),
            start: Default::default(),
            queue: Default::default(),
            read: Default::default(),
            make: Default::default(),
            step: Default::default(),
            address: Default::default(),
            generation: Default::default(),
            low: Default::default(),
            high: Default::default(),
            sizes: Default::default(),
            indices: Default::default(),
            low_now: Default::default(),
            high_now: Default::default(),
            size_now: Default::default(),
            index_now: Default::default(),
            slot: Default::default(),
            fresh: Default::default(),
            bus: Default::default(),
            data: Default::default(),
            entries: Default::default(),
            mask: Default::default(),
            base: Default::default(),
            slot64: Default::default(),
            no_queue: Constant::new(0.into()),
            low_index: index(&COMPLETION_BASE_LOW),
            high_index: index(&COMPLETION_BASE_HIGH),
            sizes_index: index(&RING_SIZES),
            one: Constant::new(1.into()),
            none: Constant::new(0.into()),
            word: Constant::new(32.into()),
            slot_shift: Constant::new(5.into()),
        }
    }
}

impl Logic for Ring {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: complete_ring");
        ClkRst::link(&mut self.cr, &mut self.low.cr);
        ClkRst::link(&mut self.cr, &mut self.high.cr);
        ClkRst::link(&mut self.cr, &mut self.sizes.cr);
        ClkRst::link(&mut self.cr, &mut self.indices.cr);
        ClkRst::link(&mut self.cr, &mut self.low_now.cr);
        ClkRst::link(&mut self.cr, &mut self.high_now.cr);
        ClkRst::link(&mut self.cr, &mut self.size_now.cr);
        ClkRst::link(&mut self.cr, &mut self.index_now.cr);
        ClkRst::link(&mut self.cr, &mut self.slot.cr);
        ClkRst::link(&mut self.cr, &mut self.fresh.cr);
        EventSink::link(&mut self.start, &mut self.indices.start);
        self.bus.next = self.setup.bus.val();
        self.data.next = self.bus.val().data;
        self.low.waddr.next = self.bus.val().queue;
        self.high.waddr.next = self.bus.val().queue;
        self.sizes.waddr.next = self.bus.val().queue;
        self.low.wdata.next = self.data.val();
        self.high.wdata.next = self.data.val();
        self.sizes.wdata.next = self.data.val().get_bits::<4>(8);
        self.low.wen.next = self.bus.val().write & (self.bus.val().index == self.low_index.val());
        self.high.wen.next = self.bus.val().write & (self.bus.val().index == self.high_index.val());
        self.sizes.wen.next =
            self.bus.val().write & (self.bus.val().index == self.sizes_index.val());

        self.low.raddr.next = self.queue.val();
        self.high.raddr.next = self.queue.val();
        self.sizes.raddr.next = self.queue.val();
        self.indices.queue.next = self.queue.val();
        self.indices.step.next = self.step.val();
        self.indices.ask.next = self.no_queue.val();
        self.low_now.d.next = self.low.rdata.val();
        self.high_now.d.next = self.high.rdata.val();
        self.size_now.d.next = self.sizes.rdata.val();
        self.index_now.d.next = self.indices.value.val();
        self.low_now.en.next = self.read.val();
        self.high_now.en.next = self.read.val();
        self.size_now.en.next = self.read.val();
        self.index_now.en.next = self.read.val();

        self.entries.next = self.one.val() << self.size_now.q.val();
        self.mask.next = self.entries.val() - self.one.val();
        self.slot.d.next = self.index_now.q.val() & self.mask.val();
        self.slot.en.next = self.make.val();
        self.fresh.d.next = (self.index_now.q.val() & self.entries.val()) == self.none.val();
        self.fresh.en.next = self.make.val();

        self.base.next = (bit_cast::<64, 32>(self.high_now.q.val()) << self.word.val())
            | bit_cast::<64, 32>(self.low_now.q.val());
        self.slot64.next = bit_cast::<64, 16>(self.slot.q.val());
        self.address.next = self.base.val() + (self.slot64.val() << self.slot_shift.val());
        self.generation.next = self.fresh.q.val();
    }
}
