//! First-word-fall-through FIFO on distributed RAM, with a registered output.
//!
//!   s ──►[ LutRam, 2^A words ]──►[ register ]──► m      2 cycles when empty, 1 word per cycle
//!
//! `s_ready` comes from registers alone, so no path runs from `m_ready` to `s_ready`. There is room
//! for one word more than the RAM holds. Invariants: order kept, nothing lost or repeated under any
//! stalls (`fifo_matches_a_queue`); `almost` and `half` tell the truth about the RAM
//! (`fifo_levels`). Not here: clock crossing.

use super::ram::LutRam;
use super::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// FIFO of 2^A words and one more in the output register.
#[derive(LogicBlock)]
pub struct Fifo<T: Synth, const A: usize> {
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
    /// At most one word of room left.
    pub almost: Signal<Out, Bit>,
    /// At least half of the RAM is used.
    pub half: Signal<Out, Bit>,
    mem: LutRam<T, A>,
    wptr: RegR<Bits<A>>,
    rptr: RegR<Bits<A>>,
    full: RegR<Bit>,
    o_data: RegE<T>,
    o_valid: RegR<Bit>,
    put: Signal<Local, Bit>,
    get: Signal<Local, Bit>,
    wnext: Signal<Local, Bits<A>>,
    used: Signal<Local, Bits<A>>,
    one: Constant<Bits<A>>,
    middle: Constant<Bits<A>>,
    most: Constant<Bits<A>>,
}

impl<T: Synth, const A: usize> Default for Fifo<T, A> {
    fn default() -> Self {
        assert!(A > 0 && A < 16, "depth");
        Self {
            cr: Default::default(),
            s_data: Default::default(),
            s_valid: Default::default(),
            s_ready: Default::default(),
            m_data: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            almost: Default::default(),
            half: Default::default(),
            mem: Default::default(),
            wptr: Default::default(),
            rptr: Default::default(),
            full: Default::default(),
            o_data: Default::default(),
            o_valid: Default::default(),
            put: Default::default(),
            get: Default::default(),
            wnext: Default::default(),
            used: Default::default(),
            one: Constant::new(1usize.to_bits()),
            middle: Constant::new((1usize << (A - 1)).to_bits()),
            most: Constant::new(((1usize << A) - 1).to_bits()),
        }
    }
}

impl<T: Synth, const A: usize> Logic for Fifo<T, A> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: fifo");
        ClkRst::link(&mut self.cr, &mut self.mem.cr);
        ClkRst::link(&mut self.cr, &mut self.wptr.cr);
        ClkRst::link(&mut self.cr, &mut self.rptr.cr);
        ClkRst::link(&mut self.cr, &mut self.full.cr);
        ClkRst::link(&mut self.cr, &mut self.o_data.cr);
        ClkRst::link(&mut self.cr, &mut self.o_valid.cr);

        self.wnext.next = self.wptr.q.val() + self.one.val();
        self.used.next = self.wptr.q.val() - self.rptr.q.val();
        self.put.next = self.s_valid.val() & !self.full.q.val();
        self.get.next = (!self.o_valid.q.val() | self.m_ready.val())
            & (self.full.q.val() | (self.wptr.q.val() != self.rptr.q.val()));

        self.mem.raddr.next = self.rptr.q.val();
        self.mem.waddr.next = self.wptr.q.val();
        self.mem.wdata.next = self.s_data.val();
        self.mem.wen.next = self.put.val();

        self.wptr.d.next = self.wptr.q.val();
        self.rptr.d.next = self.rptr.q.val();
        self.full.d.next = self.full.q.val();
        self.o_valid.d.next = self.o_valid.q.val() & !self.m_ready.val();
        if self.put.val() {
            self.wptr.d.next = self.wnext.val();
        }
        if self.get.val() {
            self.rptr.d.next = self.rptr.q.val() + self.one.val();
            self.o_valid.d.next = true;
            self.full.d.next = false;
        } else if self.put.val() & (self.wnext.val() == self.rptr.q.val()) {
            self.full.d.next = true;
        }
        self.o_data.en.next = self.get.val();
        self.o_data.d.next = self.mem.rdata.val();

        // Not through `wnext`: a Local shared with the write path would tie `almost` to `s_valid`.
        self.almost.next = self.full.q.val() | (self.used.val() == self.most.val());
        self.half.next = self.full.q.val() | (self.used.val() >= self.middle.val());
        self.s_ready.next = !self.full.q.val();
        self.m_data.next = self.o_data.q.val();
        self.m_valid.next = self.o_valid.q.val();
    }
}
