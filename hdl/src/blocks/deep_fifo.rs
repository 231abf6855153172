//! FIFO on block RAM, for hundreds of words.
//!
//!   s ──►[ Ram, 2^A words ]──►[ FIFO of 4 ]──► m      5 cycles when empty, 1 word per cycle
//!
//! A word is read ahead whenever the small FIFO surely has room for it and for the one before it,
//! which may be on its way. `s_ready` comes from registers alone. Invariants: order kept, nothing
//! lost or repeated under any stalls (`deep_fifo_matches_a_queue`). Not here: clock crossing.

use super::fifo::Fifo;
use super::ram::Ram;
use super::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// FIFO of 2^A words and a few more.
#[derive(LogicBlock)]
pub struct DeepFifo<T: Synth, const A: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Word to store.
    pub s_data: Signal<In, T>,
    /// `s_data` is there.
    pub s_valid: Signal<In, Bit>,
    /// There is room.
    pub s_ready: Signal<Out, Bit>,
    /// Oldest word.
    pub m_data: Signal<Out, T>,
    /// `m_data` is there.
    pub m_valid: Signal<Out, Bit>,
    /// Takes `m_data`.
    pub m_ready: Signal<In, Bit>,
    mem: Ram<T, A>,
    ahead: Fifo<T, 2>,
    wptr: RegR<Bits<A>>,
    rptr: RegR<Bits<A>>,
    full: RegR<Bit>,
    reading: RegR<Bit>,
    put: Signal<Local, Bit>,
    get: Signal<Local, Bit>,
    wnext: Signal<Local, Bits<A>>,
    one: Constant<Bits<A>>,
}

impl<T: Synth, const A: usize> Default for DeepFifo<T, A> {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            s_data: Default::default(),
            s_valid: Default::default(),
            s_ready: Default::default(),
            m_data: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            mem: Ram::new(1 << A),
            ahead: Default::default(),
            wptr: Default::default(),
            rptr: Default::default(),
            full: Default::default(),
            reading: Default::default(),
            put: Default::default(),
            get: Default::default(),
            wnext: Default::default(),
            one: Constant::new(1usize.to_bits()),
        }
    }
}

impl<T: Synth, const A: usize> Logic for DeepFifo<T, A> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: deep_fifo");
        ClkRst::link(&mut self.cr, &mut self.mem.cr);
        ClkRst::link(&mut self.cr, &mut self.ahead.cr);
        ClkRst::link(&mut self.cr, &mut self.wptr.cr);
        ClkRst::link(&mut self.cr, &mut self.rptr.cr);
        ClkRst::link(&mut self.cr, &mut self.full.cr);
        ClkRst::link(&mut self.cr, &mut self.reading.cr);

        self.wnext.next = self.wptr.q.val() + self.one.val();
        self.put.next = self.s_valid.val() & !self.full.q.val();
        self.get.next = (self.full.q.val() | (self.wptr.q.val() != self.rptr.q.val()))
            & !self.ahead.almost.val();
        self.mem.waddr.next = self.wptr.q.val();
        self.mem.wdata.next = self.s_data.val();
        self.mem.wen.next = self.put.val();
        self.mem.raddr.next = self.rptr.q.val();
        self.mem.ren.next = self.get.val();

        self.wptr.d.next = self.wptr.q.val();
        self.rptr.d.next = self.rptr.q.val();
        self.full.d.next = self.full.q.val();
        if self.put.val() {
            self.wptr.d.next = self.wnext.val();
        }
        if self.get.val() {
            self.rptr.d.next = self.rptr.q.val() + self.one.val();
            self.full.d.next = false;
        } else if self.put.val() & (self.wnext.val() == self.rptr.q.val()) {
            self.full.d.next = true;
        }

        self.reading.d.next = self.get.val();
        self.ahead.s_data.next = self.mem.rdata.val();
        self.ahead.s_valid.next = self.reading.q.val();
        self.ahead.m_ready.next = self.m_ready.val();
        self.s_ready.next = !self.full.q.val();
        self.m_data.next = self.ahead.m_data.val();
        self.m_valid.next = self.ahead.m_valid.val();
    }
}
