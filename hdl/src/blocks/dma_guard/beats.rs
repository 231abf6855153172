//! Write beats, counted against their addresses; those that the function owes are made up.
//!
//!   len of a taken address ──►[ FIFO of 16 ]──►[ beats left ]
//!                                                   │
//!   s ─────────────────────────────────────► beat or filler ──►[ register ]──► m      1 cycle
//!
//! A beat passes only behind its address, at the earliest three cycles later. Invariants: those of
//! the guard. Not here: addresses.

use crate::blocks::fifo::Fifo;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct Beats<const W: usize, const K: usize> {
    /// Clock and the power-on reset.
    pub cr: ClkRst,
    /// Fills up with beats without strobes; takes none.
    pub fill: Signal<In, Bit>,
    /// AWLEN of the address that is taken.
    pub len: Signal<In, Bits<8>>,
    /// An address is taken.
    pub take: Signal<In, Bit>,
    /// One may be.
    pub room: Signal<Out, Bit>,
    /// WDATA of the function.
    pub s_data: Signal<In, Bits<W>>,
    /// WSTRB.
    pub s_strobe: Signal<In, Bits<K>>,
    /// WVALID.
    pub s_valid: Signal<In, Bit>,
    /// WREADY.
    pub s_ready: Signal<Out, Bit>,
    /// WDATA of the pins.
    pub m_data: Signal<Out, Bits<W>>,
    /// WSTRB.
    pub m_strobe: Signal<Out, Bits<K>>,
    /// WLAST.
    pub m_last: Signal<Out, Bit>,
    /// WVALID.
    pub m_valid: Signal<Out, Bit>,
    /// WREADY.
    pub m_ready: Signal<In, Bit>,
    lens: Fifo<Bits<8>, 4>,
    open: RegR<Bit>,
    left: RegE<Bits<8>>,
    valid: RegR<Bit>,
    data: RegE<Bits<W>>,
    strobe: RegE<Bits<K>>,
    last: RegE<Bit>,
    free: Signal<Local, Bit>,
    pass: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    next_burst: Signal<Local, Bit>,
    one: Constant<Bits<8>>,
    zero: Constant<Bits<8>>,
    no_strobes: Constant<Bits<K>>,
}

impl<const W: usize, const K: usize> Default for Beats<W, K> {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            fill: Default::default(),
            len: Default::default(),
            take: Default::default(),
            room: Default::default(),
            s_data: Default::default(),
            s_strobe: Default::default(),
            s_valid: Default::default(),
            s_ready: Default::default(),
            m_data: Default::default(),
            m_strobe: Default::default(),
            m_last: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            lens: Default::default(),
            open: Default::default(),
            left: Default::default(),
            valid: Default::default(),
            data: Default::default(),
            strobe: Default::default(),
            last: Default::default(),
            free: Default::default(),
            pass: Default::default(),
            ends: Default::default(),
            next_burst: Default::default(),
            one: Constant::new(1usize.to_bits()),
            zero: Constant::new(0usize.to_bits()),
            no_strobes: Constant::new(Bits::<K>::default()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Beats<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: dma_guard_beats");
        ClkRst::link(&mut self.cr, &mut self.lens.cr);
        ClkRst::link(&mut self.cr, &mut self.open.cr);
        ClkRst::link(&mut self.cr, &mut self.left.cr);
        ClkRst::link(&mut self.cr, &mut self.valid.cr);
        ClkRst::link(&mut self.cr, &mut self.data.cr);
        ClkRst::link(&mut self.cr, &mut self.strobe.cr);
        ClkRst::link(&mut self.cr, &mut self.last.cr);

        self.lens.s_data.next = self.len.val();
        self.lens.s_valid.next = self.take.val();
        self.room.next = self.lens.s_ready.val();
        self.free.next = !self.valid.q.val() | self.m_ready.val();
        self.pass.next =
            self.open.q.val() & self.free.val() & (self.fill.val() | self.s_valid.val());
        self.ends.next = self.left.q.val() == self.zero.val();
        self.next_burst.next = !self.open.q.val() | (self.pass.val() & self.ends.val());
        self.lens.m_ready.next = self.next_burst.val();
        self.open.d.next = self.lens.m_valid.val() | !self.next_burst.val();
        self.left.en.next = self.next_burst.val() | self.pass.val();
        self.left.d.next = self.left.q.val() - self.one.val();
        if self.next_burst.val() {
            self.left.d.next = self.lens.m_data.val();
        }
        self.valid.d.next = self.pass.val() | (self.valid.q.val() & !self.m_ready.val());
        self.data.en.next = self.pass.val();
        self.strobe.en.next = self.pass.val();
        self.last.en.next = self.pass.val();
        self.data.d.next = self.s_data.val();
        self.strobe.d.next = self.s_strobe.val();
        if self.fill.val() {
            self.strobe.d.next = self.no_strobes.val();
        }
        self.last.d.next = self.ends.val();
        self.s_ready.next =
            !self.fill.val() & self.open.q.val() & (!self.valid.q.val() | self.m_ready.val());
        self.m_data.next = self.data.q.val();
        self.m_strobe.next = self.strobe.q.val();
        self.m_last.next = self.last.q.val();
        self.m_valid.next = self.valid.q.val();
    }
}
