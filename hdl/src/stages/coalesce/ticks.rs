//! One tick per queue, and the counters of the stage.
//!
//!   read ──►[ tick RAM ]──► tick        1 cycle; written back advanced by one
//!
//! Follows gro-semantics §1.9 (age is counted in ticks). Invariants: ticks are 0 after reset, as
//! the tag walk clears them too; counters wrap. Not here: what a tick decides.

use crate::blocks::ram::Ram;
use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// Ticks of all queues.
#[derive(LogicBlock)]
pub struct Ticks {
    /// Clock; no reset.
    pub cr: ClkRst,
    /// Queue.
    pub queue: Signal<In, Bits<5>>,
    /// Reads its tick.
    pub read: Signal<In, Bit>,
    /// Advances the tick that was read.
    pub advance: Signal<In, Bit>,
    /// Zeroes a tick.
    pub clear: Signal<In, Bit>,
    /// Which (lowest bits).
    pub clear_address: Signal<In, Bits<10>>,
    /// The tick read last.
    pub tick: Signal<Out, Bits<16>>,
    ram: Ram<Bits<16>, 5>,
    one: Constant<Bits<16>>,
    zero: Constant<Bits<16>>,
}

impl Ticks {
    /// For that many queues.
    pub fn new(queues: usize) -> Self {
        Self {
            cr: Default::default(),
            queue: Default::default(),
            read: Default::default(),
            advance: Default::default(),
            clear: Default::default(),
            clear_address: Default::default(),
            tick: Default::default(),
            ram: Ram::new(queues),
            one: Constant::new(1.into()),
            zero: Constant::new(0.into()),
        }
    }
}

impl Logic for Ticks {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_ticks");
        ClkRst::link(&mut self.cr, &mut self.ram.cr);
        self.ram.raddr.next = self.queue.val();
        self.ram.ren.next = self.read.val();
        self.tick.next = self.ram.rdata.val();
        self.ram.wen.next = self.clear.val() | self.advance.val();
        if self.clear.val() {
            self.ram.waddr.next = self.clear_address.val().get_bits::<5>(0);
            self.ram.wdata.next = self.zero.val();
        } else {
            self.ram.waddr.next = self.queue.val();
            self.ram.wdata.next = self.ram.rdata.val() + self.one.val();
        }
    }
}

/// Counters of closed sessions.
#[derive(LogicBlock)]
pub struct Counters {
    /// Clock and reset.
    pub cr: ClkRst,
    /// A session is closed.
    pub close: Signal<In, Bit>,
    /// Its segments.
    pub segments: Signal<In, Bits<16>>,
    /// A session is evicted.
    pub evict: Signal<In, Bit>,
    /// Sessions closed with more than one segment.
    pub gro_packets: Signal<Out, Bits<32>>,
    /// Their segments.
    pub gro_wire_packets: Signal<Out, Bits<32>>,
    /// Sessions evicted.
    pub evictions: Signal<Out, Bits<32>>,
    packets: RegR<Bits<32>>,
    segs: RegR<Bits<32>>,
    evicted: RegR<Bits<32>>,
    added: Signal<Local, Bits<32>>,
    one: Constant<Bits<32>>,
    single: Constant<Bits<16>>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            close: Default::default(),
            segments: Default::default(),
            evict: Default::default(),
            gro_packets: Default::default(),
            gro_wire_packets: Default::default(),
            evictions: Default::default(),
            packets: Default::default(),
            segs: Default::default(),
            evicted: Default::default(),
            added: Default::default(),
            one: Constant::new(1.into()),
            single: Constant::new(1.into()),
        }
    }
}

impl Logic for Counters {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_counters");
        ClkRst::link(&mut self.cr, &mut self.packets.cr);
        ClkRst::link(&mut self.cr, &mut self.segs.cr);
        ClkRst::link(&mut self.cr, &mut self.evicted.cr);
        self.added.next = bit_cast::<32, 16>(self.segments.val());
        self.packets.d.next = self.packets.q.val();
        self.segs.d.next = self.segs.q.val();
        self.evicted.d.next = self.evicted.q.val();
        if self.close.val() & (self.segments.val() != self.single.val()) {
            self.packets.d.next = self.packets.q.val() + self.one.val();
            self.segs.d.next = self.segs.q.val() + self.added.val();
        }
        if self.evict.val() {
            self.evicted.d.next = self.evicted.q.val() + self.one.val();
        }
        self.gro_packets.next = self.packets.q.val();
        self.gro_wire_packets.next = self.segs.q.val();
        self.evictions.next = self.evicted.q.val();
    }
}
