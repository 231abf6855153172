//! Turns commands into beats: raw bytes of their source, and the shape of the write beat.
//!
//!   plan ─────────────►[ sequence ]──► shape ─┐
//!   header ──►[ FIFO ]──► slice ──┐           ├──► m      1 beat per cycle
//!   payload ──────────────────────┼──► raw ───┘
//!             [ kept, 256 bytes ]─┘
//!
//! Invariants: those of `sequence`; bytes as the byte model has them (`mover_moves_every_byte`).
//! Not here: the shift.

use super::plan::Plan;
use super::sequence::{Sequence, Shape};
use crate::blocks::axis::AxisSink;
use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::source;
use crate::blocks::ram::LutRam;
use crate::blocks::reg::ClkRst;
use crate::comment;
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct Gather<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Next command.
    pub s_plan: Signal<In, Plan>,
    /// Its header.
    pub s_header: Signal<In, Bits<1024>>,
    /// `s_plan` is there.
    pub s_valid: Signal<In, Bit>,
    /// There is room.
    pub s_ready: Signal<Out, Bit>,
    /// Payload frames.
    pub payload: AxisSink<W, K>,
    /// Raw bytes, not shifted.
    pub m_raw: Signal<Out, Bits<W>>,
    /// What to do with them.
    pub m_shape: Signal<Out, Shape>,
    /// `m_raw` and `m_shape` are there.
    pub m_valid: Signal<Out, Bit>,
    /// Takes them.
    pub m_ready: Signal<In, Bit>,
    steps: Sequence<K>,
    headers: Fifo<Bits<1024>, 2>,
    kept: LutRam<Bits<W>, 5>,
    kept_last: LutRam<Bit, 5>,
    is_header: Signal<Local, Bit>,
    slice_at: Vec<Constant<Bits<16>>>,
    slice_index: Vec<Constant<Bits<5>>>,
    header_code: Constant<Bits<2>>,
    replay_code: Constant<Bits<2>>,
}

impl<const W: usize, const K: usize> Default for Gather<W, K> {
    fn default() -> Self {
        assert_eq!(W, K * 8);
        let slices = 1024 / W;
        Self {
            cr: Default::default(),
            s_plan: Default::default(),
            s_header: Default::default(),
            s_valid: Default::default(),
            s_ready: Default::default(),
            payload: Default::default(),
            m_raw: Default::default(),
            m_shape: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            steps: Default::default(),
            headers: Default::default(),
            kept: Default::default(),
            kept_last: Default::default(),
            is_header: Default::default(),
            slice_at: (0..slices).map(|i| Constant::new((i * W).to_bits())).collect(),
            slice_index: (0..slices).map(|i| Constant::new(i.to_bits())).collect(),
            header_code: Constant::new(source::HEADER.to_bits()),
            replay_code: Constant::new(source::REPLAY.to_bits()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Gather<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: mover_gather");
        ClkRst::link(&mut self.cr, &mut self.steps.cr);
        ClkRst::link(&mut self.cr, &mut self.headers.cr);
        ClkRst::link(&mut self.cr, &mut self.kept.cr);
        ClkRst::link(&mut self.cr, &mut self.kept_last.cr);

        // Both FIFOs take a command, or neither does.
        self.is_header.next = self.s_plan.val().source == self.header_code.val();
        self.steps.s_plan.next = self.s_plan.val();
        self.steps.s_valid.next = self.s_valid.val() & self.headers.s_ready.val();
        self.headers.s_data.next = self.s_header.val();
        self.headers.s_valid.next =
            self.s_valid.val() & self.is_header.val() & self.steps.s_ready.val();
        self.s_ready.next = self.steps.s_ready.val() & self.headers.s_ready.val();
        self.headers.m_ready.next = self.steps.header_done.val();

        // How many bytes of a beat count is the command's to say, not that of `tkeep`.
        self.steps.raw_valid.next = self.payload.tvalid.val();
        self.steps.raw_last.next = self.payload.tlast.val();
        self.payload.tready.next = self.steps.raw_ready.val();

        self.kept.waddr.next = self.steps.m_index.val();
        self.kept.raddr.next = self.steps.m_index.val();
        self.kept.wdata.next = self.payload.tdata.val();
        self.kept.wen.next = self.steps.keeps.val();
        self.kept_last.waddr.next = self.steps.m_index.val();
        self.kept_last.raddr.next = self.steps.m_index.val();
        self.kept_last.wdata.next = self.payload.tlast.val();
        self.kept_last.wen.next = self.steps.keeps.val();
        self.steps.kept_last.next = self.kept_last.rdata.val();

        self.m_raw.next = self.payload.tdata.val();
        if self.steps.m_source.val() == self.replay_code.val() {
            self.m_raw.next = self.kept.rdata.val();
        } else if self.steps.m_source.val() == self.header_code.val() {
            for i in 0..self.slice_at.len() {
                if self.steps.m_index.val() == self.slice_index[i].val() {
                    self.m_raw.next =
                        self.headers.m_data.val().get_bits::<W>(self.slice_at[i].val().index());
                }
            }
        }
        self.m_shape.next = self.steps.m_shape.val();
        self.m_valid.next = self.steps.m_valid.val();
        self.steps.m_ready.next = self.m_ready.val();
    }
}
