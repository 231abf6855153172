//! Where the free rings lie, how large they are, and how far they are filled.
//!
//!   queue ──► posted, limit                     same cycle
//!   queue, slot ──►[ low half ]──►[ address ]   2 cycles: `add`, then `carry`
//!
//! The address is that of the aligned group of four descriptors that holds the slot. Invariant: no
//! group lies outside the ring (`prefetch_equals_the_reference`). Not here: bounds of the sizes,
//! which the configuration bus keeps.

use crate::blocks::nic_ports::ConfigWrite;
use crate::blocks::ram::LutRam;
use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use groove_spec::{Register, nic};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Rings {
    /// Clock; no reset.
    pub cr: ClkRst,
    /// Configuration.
    pub bus: Signal<In, ConfigWrite>,
    /// Queue that is looked up.
    pub queue: Signal<In, Bits<5>>,
    /// Its descriptors posted become `post_index`. Not while the configuration bus is at work.
    pub post: Signal<In, Bit>,
    /// See `post`.
    pub post_index: Signal<In, Bits<16>>,
    /// Its descriptors posted.
    pub posted: Signal<Out, Bits<16>>,
    /// Entries of its ring.
    pub limit: Signal<Out, Bits<16>>,
    /// A slot of its ring.
    pub slot: Signal<In, Bits<16>>,
    /// Adds the low half.
    pub add: Signal<In, Bit>,
    /// Adds the carry.
    pub carry: Signal<In, Bit>,
    /// Address of the slot's group.
    pub address: Signal<Out, Bits<64>>,
    base_low: LutRam<Bits<32>, 5>,
    base_high: LutRam<Bits<32>, 5>,
    sizes: LutRam<Bits<4>, 5>,
    index: LutRam<Bits<16>, 5>,
    low: RegE<Bits<33>>,
    whole: RegE<Bits<64>>,
    log2: Signal<Local, Bits<4>>,
    starts: Signal<Local, Bit>,
    group: Signal<Local, Bits<16>>,
    offset: Signal<Local, Bits<33>>,
    base: Signal<Local, Bits<32>>,
    sum: Signal<Local, Bits<32>>,
    carried: Signal<Local, Bits<1>>,
    upper: Signal<Local, Bits<32>>,
    upper64: Signal<Local, Bits<64>>,
    lower: Signal<Local, Bits<32>>,
    one: Constant<Bits<16>>,
    lanes: Constant<Bits<16>>,
    align: Constant<Bits<32>>,
    at_start: Constant<Bits<5>>,
    at_low: Constant<Bits<5>>,
    at_high: Constant<Bits<5>>,
    at_sizes: Constant<Bits<5>>,
}

impl Default for Rings {
    fn default() -> Self {
        let at = |register: &Register| Constant::new((register.offset as u64 / 4).into());
        Self {
            cr: Default::default(),
            bus: Default::default(),
            queue: Default::default(),
            post: Default::default(),
            post_index: Default::default(),
            posted: Default::default(),
            limit: Default::default(),
            slot: Default::default(),
            add: Default::default(),
            carry: Default::default(),
            address: Default::default(),
            base_low: Default::default(),
            base_high: Default::default(),
            sizes: Default::default(),
            index: Default::default(),
            low: Default::default(),
            whole: Default::default(),
            log2: Default::default(),
            starts: Default::default(),
            group: Default::default(),
            offset: Default::default(),
            base: Default::default(),
            sum: Default::default(),
            carried: Default::default(),
            upper: Default::default(),
            upper64: Default::default(),
            lower: Default::default(),
            one: Constant::new(1.into()),
            lanes: Constant::new(0xfffc.into()),
            align: Constant::new(0xffff_ffc0.into()),
            at_start: at(&nic::QUEUE_CONTROL),
            at_low: at(&nic::FREE_BASE_LOW),
            at_high: at(&nic::FREE_BASE_HIGH),
            at_sizes: at(&nic::RING_SIZES),
        }
    }
}

impl Logic for Rings {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: prefetch_rings");
        ClkRst::link(&mut self.cr, &mut self.base_low.cr);
        ClkRst::link(&mut self.cr, &mut self.base_high.cr);
        ClkRst::link(&mut self.cr, &mut self.sizes.cr);
        ClkRst::link(&mut self.cr, &mut self.index.cr);
        ClkRst::link(&mut self.cr, &mut self.low.cr);
        ClkRst::link(&mut self.cr, &mut self.whole.cr);
        self.base_low.waddr.next = self.bus.val().queue;
        self.base_low.wdata.next = self.bus.val().data;
        self.base_low.wen.next = self.bus.val().write & (self.bus.val().index == self.at_low.val());
        self.base_high.waddr.next = self.bus.val().queue;
        self.base_high.wdata.next = self.bus.val().data;
        self.base_high.wen.next =
            self.bus.val().write & (self.bus.val().index == self.at_high.val());
        self.sizes.waddr.next = self.bus.val().queue;
        self.base.next = self.bus.val().data;
        self.sizes.wdata.next = self.base.val().get_bits::<4>(0);
        self.sizes.wen.next = self.bus.val().write & (self.bus.val().index == self.at_sizes.val());
        self.starts.next = self.bus.val().clear
            | (self.bus.val().write & (self.bus.val().index == self.at_start.val()));
        self.index.waddr.next = self.queue.val();
        self.index.wdata.next = self.post_index.val();
        if self.starts.val() {
            self.index.waddr.next = self.bus.val().queue;
            self.index.wdata.next = 0.into();
        }
        self.index.wen.next = self.starts.val() | self.post.val();

        self.base_low.raddr.next = self.queue.val();
        self.base_high.raddr.next = self.queue.val();
        self.sizes.raddr.next = self.queue.val();
        self.index.raddr.next = self.queue.val();
        self.posted.next = self.index.rdata.val();
        self.log2.next = self.sizes.rdata.val();
        self.limit.next = self.one.val() << self.log2.val();

        // 16 bytes for each slot, 64 for a group.
        self.group.next = self.slot.val() & self.lanes.val();
        self.offset.next = bit_cast::<33, 16>(self.group.val()) << 4;
        self.lower.next = self.base_low.rdata.val() & self.align.val();
        self.low.en.next = self.add.val();
        self.low.d.next = bit_cast::<33, 32>(self.lower.val()) + self.offset.val();
        self.sum.next = self.low.q.val().get_bits::<32>(0);
        self.carried.next = self.low.q.val().get_bits::<1>(32);
        self.upper.next = self.base_high.rdata.val() + bit_cast::<32, 1>(self.carried.val());
        self.upper64.next = bit_cast::<64, 32>(self.upper.val());
        self.whole.en.next = self.carry.val();
        self.whole.d.next = (self.upper64.val() << 32) | bit_cast::<64, 32>(self.sum.val());
        self.address.next = self.whole.q.val();
    }
}
