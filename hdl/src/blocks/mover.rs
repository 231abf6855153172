//! Writes headers, payload and completions to host memory.
//!
//!   command ─► plan ─┬─► bursts ─────────────────────────────┐
//!   payload ─────────┴─► gather ─► align ─────────┬─► issue ─┴─► AW, W      about 10 cycles,
//!   completion ─► completions ────────────────────┘                         1 W beat per cycle
//!                  done, written ◄── responses ◄──[ register ]◄── B
//!
//! Identifier 0 is data, 1 completions. All bursts are INCR of full beats; strobes mask the rest.
//!
//! Invariants: memory ends up as the byte model's, responses become `done` and `written` in order,
//! AXI's rules hold (`mover_moves_every_byte`); W never pauses, neither in bulk nor with small
//! frames (`mover_fills_the_write_channel`). Not here: the function-level reset, reads.

pub mod align;
pub mod bursts;
pub mod completions;
pub mod gather;
pub mod issue;
pub mod plan;
pub mod responses;
pub mod sequence;

use super::axi::AxiWriteSource;
use super::axis::AxisSink;
use super::nic_ports::{CommandSink, CompletionWriteSink, DoneSource, source};
use super::reg::{ClkRst, RegE, RegR};
use crate::comment;
use align::Align;
use bursts::Bursts;
use completions::Completions;
use gather::Gather;
use issue::Issue;
use plan::PlanOf;
use responses::Responses;
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct Mover<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// What to write.
    pub command: CommandSink,
    /// Payload frames, in the order of their commands.
    pub payload: AxisSink<W, K>,
    /// Completions.
    pub completion: CompletionWriteSink,
    /// A command but DISCARD is in memory, in order.
    pub done: DoneSource,
    /// A completion is in memory, in order.
    pub written: DoneSource,
    /// Write channels.
    pub m: AxiWriteSource<W, K>,
    lengths: PlanOf<K>,
    gather: Gather<W, K>,
    align: Align<W, K>,
    bursts: Bursts<K>,
    completions: Completions<W, K>,
    issue: Issue<W, K>,
    data_responses: Responses<7>,
    completion_responses: Responses<7>,
    b_valid: RegR<Bit>,
    b_id: RegE<Bits<2>>,
    b_error: RegE<Bit>,
    discards: Signal<Local, Bit>,
    discard_code: Constant<Bits<2>>,
    size: Constant<Bits<3>>,
    incr: Constant<Bits<2>>,
    data_id: Constant<Bits<2>>,
    completion_id: Constant<Bits<2>>,
}

impl<const W: usize, const K: usize> Default for Mover<W, K> {
    fn default() -> Self {
        assert_eq!(W, K * 8);
        Self {
            cr: Default::default(),
            command: Default::default(),
            payload: Default::default(),
            completion: Default::default(),
            done: Default::default(),
            written: Default::default(),
            m: Default::default(),
            lengths: Default::default(),
            gather: Default::default(),
            align: Default::default(),
            bursts: Default::default(),
            completions: Default::default(),
            issue: Default::default(),
            data_responses: Default::default(),
            completion_responses: Default::default(),
            b_valid: Default::default(),
            b_id: Default::default(),
            b_error: Default::default(),
            discards: Default::default(),
            discard_code: Constant::new(source::DISCARD.to_bits()),
            size: Constant::new((K.ilog2() as usize).to_bits()),
            incr: Constant::new(1usize.to_bits()),
            data_id: Constant::new(0usize.to_bits()),
            completion_id: Constant::new(1usize.to_bits()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Mover<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: mover");
        ClkRst::link(&mut self.cr, &mut self.gather.cr);
        ClkRst::link(&mut self.cr, &mut self.align.cr);
        ClkRst::link(&mut self.cr, &mut self.bursts.cr);
        ClkRst::link(&mut self.cr, &mut self.completions.cr);
        ClkRst::link(&mut self.cr, &mut self.issue.cr);
        ClkRst::link(&mut self.cr, &mut self.data_responses.cr);
        ClkRst::link(&mut self.cr, &mut self.completion_responses.cr);
        ClkRst::link(&mut self.cr, &mut self.b_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.b_id.cr);
        ClkRst::link(&mut self.cr, &mut self.b_error.cr);
        AxisSink::<W, K>::link(&mut self.payload, &mut self.gather.payload);
        CompletionWriteSink::link(&mut self.completion, &mut self.completions.s);
        DoneSource::link(&mut self.done, &mut self.data_responses.done);
        DoneSource::link(&mut self.written, &mut self.completion_responses.done);

        // A command goes to beats and to bursts at once; DISCARD has none of the latter.
        self.lengths.command.next = self.command.command.val();
        self.discards.next = self.command.command.val().source == self.discard_code.val();
        self.gather.s_plan.next = self.lengths.plan.val();
        self.gather.s_header.next = self.command.header.val();
        self.gather.s_valid.next = self.command.valid.val() & self.bursts.s_ready.val();
        self.bursts.s_plan.next = self.lengths.plan.val();
        self.bursts.s_address.next = self.command.command.val().address;
        self.bursts.s_queue.next = self.command.command.val().queue;
        self.bursts.s_valid.next =
            self.command.valid.val() & !self.discards.val() & self.gather.s_ready.val();
        self.command.ready.next = self.gather.s_ready.val() & self.bursts.s_ready.val();

        self.align.s_raw.next = self.gather.m_raw.val();
        self.align.s_shape.next = self.gather.m_shape.val();
        self.align.s_valid.next = self.gather.m_valid.val();
        self.gather.m_ready.next = self.align.s_ready.val();

        self.issue.data_burst.next = self.bursts.m_burst.val();
        self.issue.data_valid.next = self.bursts.m_valid.val();
        self.issue.data_room.next = self.data_responses.room.val();
        self.bursts.m_ready.next = self.issue.data_ready.val();
        self.issue.completion.next = self.completions.m_target.val();
        self.issue.completion_len.next = self.completions.m_len.val();
        self.issue.completion_valid.next = self.completions.m_valid.val();
        self.issue.completion_room.next = self.completion_responses.room.val();
        self.completions.m_ready.next = self.issue.completion_ready.val();
        self.issue.d_data.next = self.align.m_data.val();
        self.issue.d_strobe.next = self.align.m_strobe.val();
        self.issue.d_last.next = self.align.m_last.val();
        self.issue.d_valid.next = self.align.m_valid.val();
        self.align.m_ready.next = self.issue.d_ready.val();
        self.issue.c_data.next = self.completions.w_data.val();
        self.issue.c_strobe.next = self.completions.w_strobe.val();
        self.issue.c_last.next = self.completions.w_last.val();
        self.issue.c_valid.next = self.completions.w_valid.val();
        self.completions.w_ready.next = self.issue.c_ready.val();

        self.m.awid.next = self.data_id.val();
        if self.issue.aw_is_completion.val() {
            self.m.awid.next = self.completion_id.val();
        }
        self.m.awaddr.next = self.issue.aw_address.val();
        self.m.awlen.next = self.issue.aw_len.val();
        self.m.awsize.next = self.size.val();
        self.m.awburst.next = self.incr.val();
        self.m.awvalid.next = self.issue.aw_valid.val();
        self.issue.aw_ready.next = self.m.awready.val();
        self.m.wdata.next = self.issue.w_data.val();
        self.m.wstrb.next = self.issue.w_strobe.val();
        self.m.wlast.next = self.issue.w_last.val();
        self.m.wvalid.next = self.issue.w_valid.val();
        self.issue.w_ready.next = self.m.wready.val();

        // Every response is taken at once and looked at in the next cycle.
        self.m.bready.next = true;
        self.b_valid.d.next = self.m.bvalid.val();
        self.b_id.en.next = self.m.bvalid.val();
        self.b_error.en.next = self.m.bvalid.val();
        self.b_id.d.next = self.m.bid.val();
        self.b_error.d.next = self.m.bresp.val().get_bit(1);
        self.data_responses.issued.next = self.issue.data_open.val();
        self.data_responses.issue.next = self.issue.data_ready.val();
        self.data_responses.response.next =
            self.b_valid.q.val() & (self.b_id.q.val() == self.data_id.val());
        self.data_responses.response_error.next = self.b_error.q.val();
        self.completion_responses.issued.next = self.issue.completion_open.val();
        self.completion_responses.issue.next = self.issue.completion_ready.val();
        self.completion_responses.response.next =
            self.b_valid.q.val() & (self.b_id.q.val() == self.completion_id.val());
        self.completion_responses.response_error.next = self.b_error.q.val();
    }
}
