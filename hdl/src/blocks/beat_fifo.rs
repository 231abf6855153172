//! FIFO of beats: data and what travels beside it, in lockstep.
//!
//!   s ──►[ 2^A beats ]──► m      2 cycles when empty, 1 beat per cycle
//!
//! Invariant: as [`Fifo`]; both halves always agree, since they see the same handshakes. Not here:
//! frames.

use super::axis::{BeatInfo, BeatSink, BeatSource};
use super::fifo::Fifo;
use super::reg::ClkRst;
use crate::comment;
use rust_hdl::prelude::*;

/// FIFO of 2^A beats and one more.
#[derive(LogicBlock, Default)]
pub struct BeatFifo<const W: usize, const A: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Beats in.
    pub s: BeatSink<W>,
    /// Beats out.
    pub m: BeatSource<W>,
    /// At most one beat of room left.
    pub almost: Signal<Out, Bit>,
    data: Fifo<Bits<W>, A>,
    info: Fifo<BeatInfo, A>,
}

impl<const W: usize, const A: usize> Logic for BeatFifo<W, A> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: beat_fifo");
        ClkRst::link(&mut self.cr, &mut self.data.cr);
        ClkRst::link(&mut self.cr, &mut self.info.cr);
        self.data.s_data.next = self.s.data.val();
        self.info.s_data.next = self.s.info.val();
        self.data.s_valid.next = self.s.valid.val();
        self.info.s_valid.next = self.s.valid.val();
        self.s.ready.next = self.info.s_ready.val();
        self.m.data.next = self.data.m_data.val();
        self.m.info.next = self.info.m_data.val();
        self.m.valid.next = self.info.m_valid.val();
        self.data.m_ready.next = self.m.ready.val();
        self.info.m_ready.next = self.m.ready.val();
        self.almost.next = self.info.almost.val();
    }
}
