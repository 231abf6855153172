//! FIFO of frame metadata with its header, in lockstep.
//!
//!   s ──►[ 2^A records ]──► m      2 cycles when empty, 1 record per cycle
//!
//! Invariant: as [`Fifo`]; both halves always agree, since they see the same handshakes. Not here:
//! anything about frames.

use super::fifo::Fifo;
use super::meta::{FrameMeta, MetaSink, MetaSource};
use super::reg::ClkRst;
use crate::comment;
use rust_hdl::prelude::*;

/// FIFO of 2^A records and one more.
#[derive(LogicBlock, Default)]
pub struct MetaFifo<const A: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Records in.
    pub s: MetaSink,
    /// Records out.
    pub m: MetaSource,
    meta: Fifo<FrameMeta, A>,
    header: Fifo<Bits<1024>, A>,
}

impl<const A: usize> Logic for MetaFifo<A> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: meta_fifo");
        ClkRst::link(&mut self.cr, &mut self.meta.cr);
        ClkRst::link(&mut self.cr, &mut self.header.cr);
        self.meta.s_data.next = self.s.meta.val();
        self.header.s_data.next = self.s.header.val();
        self.meta.s_valid.next = self.s.valid.val();
        self.header.s_valid.next = self.s.valid.val();
        self.s.ready.next = self.meta.s_ready.val();
        self.m.meta.next = self.meta.m_data.val();
        self.m.header.next = self.header.m_data.val();
        self.m.valid.next = self.meta.m_valid.val();
        self.meta.m_ready.next = self.m.ready.val();
        self.header.m_ready.next = self.m.ready.val();
    }
}
