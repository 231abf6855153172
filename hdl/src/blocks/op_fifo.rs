//! FIFO of operations: record and header side by side.
//!
//!   Op ──►[ record FIFO, header FIFO ]──► Op      2 cycles when empty, 1 per cycle
//!
//! Lets coalesce go on while place gives out buffers. Invariant: both halves move together, as
//! every step of one is a step of the other (`fifo_matches_a_queue` for each of them). Not here:
//! behaviour.

use super::fifo::Fifo;
use super::op::{OpSink, OpSource, Operation};
use super::reg::ClkRst;
use rust_hdl::prelude::*;

/// 2^A + 1 operations.
#[derive(LogicBlock, Default)]
pub struct OpFifo<const A: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// In.
    pub s: OpSink,
    /// Out.
    pub m: OpSource,
    records: Fifo<Operation, A>,
    headers: Fifo<Bits<1024>, A>,
}

impl<const A: usize> Logic for OpFifo<A> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.records.cr);
        ClkRst::link(&mut self.cr, &mut self.headers.cr);
        self.records.s_data.next = self.s.meta.val();
        self.records.s_valid.next = self.s.valid.val();
        self.headers.s_data.next = self.s.header.val();
        self.headers.s_valid.next = self.s.valid.val();
        self.s.ready.next = self.records.s_ready.val();
        self.m.meta.next = self.records.m_data.val();
        self.m.header.next = self.headers.m_data.val();
        self.m.valid.next = self.records.m_valid.val();
        self.records.m_ready.next = self.m.ready.val();
        self.headers.m_ready.next = self.m.ready.val();
    }
}
