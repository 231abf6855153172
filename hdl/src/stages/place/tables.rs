//! What the driver says about a queue: header slots, size of the buffers, split.
//!
//!   config ─write─► [ LutRam per register ] ──queue──►[ registers ]      1 cycle after `read`
//!
//! Follows: `HEADER_BASE_LOW`, `HEADER_BASE_HIGH`, `BUFFER_SIZE`, `QUEUE_CONTROL` of the table.
//! Invariant: a queue is used only after its registers have been written (the queue starts last),
//! so that nothing is cleared. Not here: the completion ring.

use crate::blocks::nic_ports::{ConfigSink, ConfigWrite};
use crate::blocks::ram::LutRam;
use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use groove_spec::Register;
use groove_spec::nic::{BUFFER_SIZE, HEADER_BASE_HIGH, HEADER_BASE_LOW, QUEUE_CONTROL};
use rust_hdl::prelude::*;

/// The tables.
#[derive(LogicBlock)]
pub struct Tables {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Writes.
    pub setup: ConfigSink,
    /// Queue to read.
    pub queue: Signal<In, Bits<5>>,
    /// Reads at this edge.
    pub read: Signal<In, Bit>,
    /// Where its header slots are, without the 8 bits that are 0.
    pub slots_low: Signal<Out, Bits<24>>,
    /// See `slots_low`.
    pub slots_high: Signal<Out, Bits<32>>,
    /// Bytes of its buffers.
    pub size: Signal<Out, Bits<17>>,
    /// Headers go to header slots.
    pub split: Signal<Out, Bit>,
    low: LutRam<Bits<24>, 5>,
    high: LutRam<Bits<32>, 5>,
    sizes: LutRam<Bits<17>, 5>,
    splits: LutRam<Bit, 5>,
    low_now: RegE<Bits<24>>,
    high_now: RegE<Bits<32>>,
    size_now: RegE<Bits<17>>,
    split_now: RegE<Bit>,
    bus: Signal<Local, ConfigWrite>,
    data: Signal<Local, Bits<32>>,
    low_index: Constant<Bits<5>>,
    high_index: Constant<Bits<5>>,
    size_index: Constant<Bits<5>>,
    control_index: Constant<Bits<5>>,
}

/// Index of a register on the configuration bus.
pub(crate) fn index(register: &Register) -> Constant<Bits<5>> {
    Constant::new((register.offset as u64 / 4).into())
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            setup: Default::default(),
            queue: Default::default(),
            read: Default::default(),
            slots_low: Default::default(),
            slots_high: Default::default(),
            size: Default::default(),
            split: Default::default(),
            low: Default::default(),
            high: Default::default(),
            sizes: Default::default(),
            splits: Default::default(),
            low_now: Default::default(),
            high_now: Default::default(),
            size_now: Default::default(),
            split_now: Default::default(),
            bus: Default::default(),
            data: Default::default(),
            low_index: index(&HEADER_BASE_LOW),
            high_index: index(&HEADER_BASE_HIGH),
            size_index: index(&BUFFER_SIZE),
            control_index: index(&QUEUE_CONTROL),
        }
    }
}

impl Logic for Tables {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_tables");
        ClkRst::link(&mut self.cr, &mut self.low.cr);
        ClkRst::link(&mut self.cr, &mut self.high.cr);
        ClkRst::link(&mut self.cr, &mut self.sizes.cr);
        ClkRst::link(&mut self.cr, &mut self.splits.cr);
        ClkRst::link(&mut self.cr, &mut self.low_now.cr);
        ClkRst::link(&mut self.cr, &mut self.high_now.cr);
        ClkRst::link(&mut self.cr, &mut self.size_now.cr);
        ClkRst::link(&mut self.cr, &mut self.split_now.cr);
        self.bus.next = self.setup.bus.val();
        self.data.next = self.bus.val().data;
        self.low.waddr.next = self.bus.val().queue;
        self.high.waddr.next = self.bus.val().queue;
        self.sizes.waddr.next = self.bus.val().queue;
        self.splits.waddr.next = self.bus.val().queue;
        self.low.wdata.next = self.data.val().get_bits::<24>(8);
        self.high.wdata.next = self.data.val();
        self.sizes.wdata.next = self.data.val().get_bits::<17>(0);
        self.splits.wdata.next = self.data.val().get_bit(1);
        self.low.wen.next = self.bus.val().write & (self.bus.val().index == self.low_index.val());
        self.high.wen.next = self.bus.val().write & (self.bus.val().index == self.high_index.val());
        self.sizes.wen.next =
            self.bus.val().write & (self.bus.val().index == self.size_index.val());
        self.splits.wen.next =
            self.bus.val().write & (self.bus.val().index == self.control_index.val());

        self.low.raddr.next = self.queue.val();
        self.high.raddr.next = self.queue.val();
        self.sizes.raddr.next = self.queue.val();
        self.splits.raddr.next = self.queue.val();
        self.low_now.d.next = self.low.rdata.val();
        self.high_now.d.next = self.high.rdata.val();
        self.size_now.d.next = self.sizes.rdata.val();
        self.split_now.d.next = self.splits.rdata.val();
        self.low_now.en.next = self.read.val();
        self.high_now.en.next = self.read.val();
        self.size_now.en.next = self.read.val();
        self.split_now.en.next = self.read.val();
        self.slots_low.next = self.low_now.q.val();
        self.slots_high.next = self.high_now.q.val();
        self.size.next = self.size_now.q.val();
        self.split.next = self.split_now.q.val();
    }
}
