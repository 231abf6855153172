//! Splits commands into AXI bursts.
//!
//!   plan, address ──►[ FIFO ]──►[ command at work ]──► address, beats      2 cycles when empty,
//!                                                                          1 burst per cycle
//!
//! Invariants: no burst crosses a multiple of 4,096 bytes or of 256 beats, and together they are
//! the command (`mover_moves_every_byte`). Not here: the channel.

use super::plan::{Plan, burst_beats};
use crate::blocks::fifo::Fifo;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// A command on its way to the write address channel.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Extent {
    /// IOVA of the first byte.
    pub address: Bits<64>,
    /// Beats behind the first.
    pub left: Bits<14>,
    /// Place of the first beat among those of the longest burst.
    pub slot: Bits<8>,
    /// Queue.
    pub queue: Bits<5>,
}

/// A burst.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Burst {
    /// AWADDR.
    pub address: Bits<64>,
    /// AWLEN.
    pub len: Bits<8>,
    /// Queue.
    pub queue: Bits<5>,
    /// The last burst of its command.
    pub last: Bit,
}

/// The block.
#[derive(LogicBlock)]
pub struct Bursts<const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Next command's plan.
    pub s_plan: Signal<In, Plan>,
    /// Its address.
    pub s_address: Signal<In, Bits<64>>,
    /// Its queue.
    pub s_queue: Signal<In, Bits<5>>,
    /// The command is there.
    pub s_valid: Signal<In, Bit>,
    /// There is room.
    pub s_ready: Signal<Out, Bit>,
    /// Next burst.
    pub m_burst: Signal<Out, Burst>,
    /// `m_burst` is there.
    pub m_valid: Signal<Out, Bit>,
    /// Takes it.
    pub m_ready: Signal<In, Bit>,
    extents: Fifo<Extent, 2>,
    active: RegR<Bit>,
    now: RegE<Extent>,
    extent: Signal<Local, Extent>,
    next: Signal<Local, Extent>,
    burst: Signal<Local, Burst>,
    left: Signal<Local, Bits<14>>,
    room: Signal<Local, Bits<8>>,
    room14: Signal<Local, Bits<14>>,
    fits: Signal<Local, Bit>,
    // as `left`, `room`, `room14`: an output shares no Local with what `m_ready` decides
    m_left: Signal<Local, Bits<14>>,
    m_room: Signal<Local, Bits<8>>,
    m_room14: Signal<Local, Bits<14>>,
    ends: Signal<Local, Bit>,
    behind: Signal<Local, Bits<14>>,
    page: Signal<Local, Bits<64>>,
    next_page: Signal<Local, Bits<64>>,
    page_log2: Constant<Bits<8>>,
    slot_last: Constant<Bits<8>>,
    one64: Constant<Bits<64>>,
    one14: Constant<Bits<14>>,
    zero8: Constant<Bits<8>>,
}

impl<const K: usize> Default for Bursts<K> {
    fn default() -> Self {
        let page_log2 = (burst_beats(K) * K).ilog2() as usize;
        Self {
            cr: Default::default(),
            s_plan: Default::default(),
            s_address: Default::default(),
            s_queue: Default::default(),
            s_valid: Default::default(),
            s_ready: Default::default(),
            m_burst: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            extents: Default::default(),
            active: Default::default(),
            now: Default::default(),
            extent: Default::default(),
            next: Default::default(),
            burst: Default::default(),
            left: Default::default(),
            room: Default::default(),
            room14: Default::default(),
            fits: Default::default(),
            m_left: Default::default(),
            m_room: Default::default(),
            m_room14: Default::default(),
            ends: Default::default(),
            behind: Default::default(),
            page: Default::default(),
            next_page: Default::default(),
            page_log2: Constant::new(page_log2.to_bits()),
            slot_last: Constant::new((burst_beats(K) - 1).to_bits()),
            one64: Constant::new(1usize.to_bits()),
            one14: Constant::new(1usize.to_bits()),
            zero8: Constant::new(0usize.to_bits()),
        }
    }
}

impl<const K: usize> Logic for Bursts<K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: mover_bursts");
        ClkRst::link(&mut self.cr, &mut self.extents.cr);
        ClkRst::link(&mut self.cr, &mut self.active.cr);
        ClkRst::link(&mut self.cr, &mut self.now.cr);

        self.extent.next.address = self.s_address.val();
        self.extent.next.left = self.s_plan.val().left;
        self.extent.next.slot = self.s_plan.val().slot;
        self.extent.next.queue = self.s_queue.val();
        self.extents.s_data.next = self.extent.val();
        self.extents.s_valid.next = self.s_valid.val();
        self.s_ready.next = self.extents.s_ready.val();

        self.left.next = self.now.q.val().left;
        self.room.next = self.slot_last.val() - self.now.q.val().slot;
        self.room14.next = bit_cast::<14, 8>(self.room.val());
        self.fits.next = self.left.val() <= self.room14.val();
        self.ends.next = self.active.q.val() & self.m_ready.val() & self.fits.val();
        self.behind.next = self.left.val() - self.room14.val();
        self.page.next = self.now.q.val().address >> self.page_log2.val();
        self.next_page.next = self.page.val() + self.one64.val();

        self.extents.m_ready.next = !self.active.q.val() | self.ends.val();
        self.active.d.next = self.extents.m_valid.val() | (self.active.q.val() & !self.ends.val());
        self.now.en.next = !self.active.q.val() | self.m_ready.val();
        self.next.next = self.extents.m_data.val();
        if self.active.q.val() & !self.fits.val() {
            self.next.next.address = self.next_page.val() << self.page_log2.val();
            self.next.next.left = self.behind.val() - self.one14.val();
            self.next.next.slot = self.zero8.val();
            self.next.next.queue = self.now.q.val().queue;
        }
        self.now.d.next = self.next.val();

        self.m_left.next = self.now.q.val().left;
        self.m_room.next = self.slot_last.val() - self.now.q.val().slot;
        self.m_room14.next = bit_cast::<14, 8>(self.m_room.val());
        self.burst.next.address = self.now.q.val().address;
        self.burst.next.queue = self.now.q.val().queue;
        self.burst.next.len = self.m_room.val();
        self.burst.next.last = false;
        if self.m_left.val() <= self.m_room14.val() {
            self.burst.next.len = self.m_left.val().get_bits::<8>(0);
            self.burst.next.last = true;
        }
        self.m_burst.next = self.burst.val();
        self.m_valid.next = self.active.q.val();
    }
}
