//! The inline form: the pipeline between two streams, frames in, coalesced frames out.
//!
//!   s_axis ─► switch ─► pipeline ─ operations ─► place ─ commands ─► mover ─► packet memory
//!               │ │        ▲ ▲   └─ payload ───────┼──────────────────┘            │
//!               │ │ tokens ┘ └ admit? ─ pool ◄─pop─┤                               ▼
//!               │ └─ users ◄─── operations         └─ records ─► records ─► reader ─┐
//!               └─ passes through ──────────────────────────────────────────────────┴─► m_axis
//!
//! One queue. The NIC's blocks write each delivery into buffers of the packet memory; where the NIC
//! has a host that posts and returns buffers, here the pool does. A delivery leaves as one frame
//! when it is whole: store and forward. Frames pass through, bit by bit, until `INLINE_CONTROL`
//! says otherwise.
//!
//! The pipeline never stalls the input: ingress is built without back-pressure, and a frame whose
//! worst case the pool does not cover is a counted drop. Nothing behind admission waits for
//! anything but the output: a frame has its buffers, the memory takes a beat per cycle, records and
//! what is beside frames have room for as many as there are buffers.
//!
//! Invariants: what leaves is what the model delivers (`the_inline_form_equals_the_model`); in =
//! out + counted drops (`the_input_never_stalls`, `a_switch_loses_only_what_it_counts`); ports as
//! in `ports_of_the_inline_form`. Not here: shells.

pub mod boot;
pub mod flusher;
pub mod frames;
pub mod memory;
pub mod pool;
pub mod reader;
pub mod records;
pub mod registers;
pub mod stamp;
pub mod switch;
pub mod users;
pub mod where_at;

use crate::blocks::axi::{AxiLiteSink, AxiWriteSource, RegBusSource};
use crate::blocks::axi_lite::AxiLite;
use crate::blocks::axis::{AxisRxSink, AxisRxSource, AxisSource};
use crate::blocks::mover::Mover;
use crate::blocks::nic_ports::RecordSource;
use crate::blocks::nic_ports::{CommandSource, ConfigSource, CreditSource, DoneSource, PopSource};
use crate::blocks::op::OpSource;
use crate::blocks::op_fifo::OpFifo;
use crate::blocks::reg::ClkRst;
use crate::emit::{self, Design};
use crate::pipeline::{GrooveRx, ParameterError, Parameters, generated};
use crate::stages::ingress::{DropLog, TokenLog, TokenSink, TokenSource};
use crate::stages::place::Place;
use boot::Boot;
use flusher::Flusher;
use groove_spec::inline::BUFFERS_MAX;
use groove_spec::nic::{BUFFER_BYTES_MIN, HEADER_SLOT_BYTES};
use memory::Memory;
use pool::Pool;
use reader::Reader;
use records::Records;
use registers::Registers;
use rust_hdl::prelude::*;
use switch::Switch;
use users::Users;

/// Name of the top module.
pub const TOP: &str = "groove_inline";

/// Buffers of [`emit_small`].
pub const BUFFERS_SMALL: usize = 16;

/// Emits the inline form as module [`TOP`], with a full packet memory. It has one queue and no
/// back-pressure, whatever the parameters say.
///
/// # Errors
/// If the parameters are not possible.
///
/// # Panics
/// If the source is at fault: see [`emit::emit`].
pub fn emit(parameters: &Parameters) -> Result<Design, ParameterError> {
    generated(parameters, |parameters| of_width(parameters, BUFFERS_MAX))
}

/// As [`emit`], with a packet memory of 16 buffers: one that traffic can exhaust.
///
/// # Errors
/// As [`emit`].
///
/// # Panics
/// As [`emit`].
pub fn emit_small(parameters: &Parameters) -> Result<Design, ParameterError> {
    generated(parameters, |parameters| of_width(parameters, BUFFERS_SMALL))
}

fn of_width(parameters: &Parameters, buffers: usize) -> Design {
    match parameters.width {
        64 => emit::emit(TOP, GrooveInline::<64, 8, 16>::new(parameters, buffers)),
        128 => emit::emit(TOP, GrooveInline::<128, 16, 15>::new(parameters, buffers)),
        256 => emit::emit(TOP, GrooveInline::<256, 32, 14>::new(parameters, buffers)),
        _ => emit::emit(TOP, GrooveInline::<512, 64, 13>::new(parameters, buffers)),
    }
}

/// The inline form for beats of `W` bits, `K` bytes, and a packet memory of up to 2^A beats.
#[derive(LogicBlock)]
pub struct GrooveInline<const W: usize, const K: usize, const A: usize> {
    /// Clock and reset.
    pub sys: ClkRst,
    /// Frames in.
    pub s_axis: AxisRxSink<W, K>,
    /// What comes beside them: counts in the first beat; in every beat when it passes through.
    pub s_user: Signal<In, Bits<128>>,
    /// Tokens in, beside those of the timer.
    pub s_token: TokenSink,
    /// Registers.
    pub axil: AxiLiteSink,
    /// Frames out; `tuser` is the error mark of a frame that passes through.
    pub m_axis: AxisRxSource<W, K>,
    /// What came beside the frame, or beside the first one of a delivery.
    pub m_user: Signal<Out, Bits<128>>,
    /// The frame is a delivery: `m_meta` and `m_size` hold.
    pub m_core: Signal<Out, Bit>,
    /// `INLINE_META`, from the first beat to the last.
    pub m_meta: Signal<Out, Bits<256>>,
    /// Bytes of the frame with its header, from the first beat to the last.
    pub m_size: Signal<Out, Bits<17>>,
    /// As `INLINE_STATUS.state`.
    pub state: Signal<Out, Bits<2>>,
    /// Frames dropped at their first beat.
    pub drop_in: DropLog,
    /// Frames rolled back or not admitted.
    pub drop: DropLog,
    /// Tokens taken, with the frame in front of which each entered.
    pub token_log: TokenLog,
    lite: AxiLite,
    registers: Registers,
    switch: Switch<W, K>,
    flusher: Flusher,
    receive: GrooveRx<W, K>,
    operations: OpFifo<2>,
    boot: Boot,
    place: Place,
    mover: Mover<W, K>,
    memory: Memory<W, K, A>,
    pool: Pool,
    records: Records,
    users: Users,
    reader: Reader<W, K, A>,
    no_address: Constant<Bits<64>>,
    no_data: Constant<Bits<256>>,
    queue: Constant<Bits<5>>,
}

impl<const W: usize, const K: usize, const A: usize> GrooveInline<W, K, A> {
    /// With checked parameters and that many buffers.
    pub fn new(parameters: &Parameters, buffers: usize) -> Self {
        let rx = Parameters { queues: 1, lossless: false, ..*parameters };
        let slots = buffers * BUFFER_BYTES_MIN;
        Self {
            sys: Default::default(),
            s_axis: Default::default(),
            s_user: Default::default(),
            s_token: Default::default(),
            axil: Default::default(),
            m_axis: Default::default(),
            m_user: Default::default(),
            m_core: Default::default(),
            m_meta: Default::default(),
            m_size: Default::default(),
            state: Default::default(),
            drop_in: Default::default(),
            drop: Default::default(),
            token_log: Default::default(),
            lite: Default::default(),
            registers: Default::default(),
            switch: Default::default(),
            flusher: Default::default(),
            receive: GrooveRx::new(&rx),
            operations: Default::default(),
            boot: Boot::new(slots),
            place: Place::new(1, rx.buckets * rx.depth),
            mover: Default::default(),
            memory: Memory::new((slots + buffers * HEADER_SLOT_BYTES) / K),
            pool: Pool::new(buffers),
            records: Default::default(),
            users: Users::new(rx.buckets * rx.depth),
            reader: Reader::new(slots / K),
            no_address: Constant::new(0usize.to_bits()),
            no_data: Constant::new(0usize.to_bits()),
            queue: Constant::new(0usize.to_bits()),
        }
    }
}

impl<const W: usize, const K: usize, const A: usize> Logic for GrooveInline<W, K, A> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.sys, &mut self.lite.cr);
        ClkRst::link(&mut self.sys, &mut self.registers.cr);
        ClkRst::link(&mut self.sys, &mut self.switch.cr);
        ClkRst::link(&mut self.sys, &mut self.flusher.cr);
        ClkRst::link(&mut self.sys, &mut self.receive.sys);
        ClkRst::link(&mut self.sys, &mut self.operations.cr);
        ClkRst::link(&mut self.sys, &mut self.boot.cr);
        ClkRst::link(&mut self.sys, &mut self.place.cr);
        ClkRst::link(&mut self.sys, &mut self.mover.cr);
        ClkRst::link(&mut self.sys, &mut self.memory.cr);
        ClkRst::link(&mut self.sys, &mut self.pool.cr);
        ClkRst::link(&mut self.sys, &mut self.records.cr);
        ClkRst::link(&mut self.sys, &mut self.users.cr);
        ClkRst::link(&mut self.sys, &mut self.reader.cr);

        // Frames in.
        AxisRxSink::<W, K>::link(&mut self.s_axis, &mut self.switch.s);
        AxisRxSource::<W, K>::join(&mut self.switch.core, &mut self.receive.s_axis);
        self.switch.s_user.next = self.s_user.val();
        self.drop_in.valid.next = self.receive.drop_in.valid.val();
        self.drop_in.frame.next = self.receive.drop_in.frame.val();
        self.drop_in.reason.next = self.receive.drop_in.reason.val();
        self.drop.valid.next = self.receive.drop.valid.val();
        self.drop.frame.next = self.receive.drop.frame.val();
        self.drop.reason.next = self.receive.drop.reason.val();
        TokenLog::link(&mut self.token_log, &mut self.receive.token_log);
        TokenSink::link(&mut self.s_token, &mut self.flusher.s);
        TokenSource::join(&mut self.flusher.m, &mut self.receive.s_token);

        // Into the packet memory.
        OpSource::join(&mut self.receive.m_op, &mut self.operations.s);
        OpSource::join(&mut self.operations.m, &mut self.place.s);
        ConfigSource::join(&mut self.boot.m, &mut self.place.setup);
        CommandSource::join(&mut self.place.m, &mut self.mover.command);
        AxisSource::<W, K>::join(&mut self.receive.m_axis, &mut self.mover.payload);
        AxiWriteSource::<W, K>::join(&mut self.mover.m, &mut self.memory.s);
        DoneSource::join(&mut self.mover.done, &mut self.records.done);
        RecordSource::join(&mut self.place.records, &mut self.records.s);
        self.mover.completion.address.next = self.no_address.val();
        self.mover.completion.data.next = self.no_data.val();
        self.mover.completion.queue.next = self.queue.val();
        self.mover.completion.valid.next = false;
        self.place.drain.queue.next = self.queue.val();
        self.place.drain.quiet.next = false;
        self.place.drain.valid.next = false;

        // Buffers.
        self.pool.ask.next = self.receive.admit_valid.val();
        self.pool.ask_bytes.next = self.receive.admit_bytes.val();
        self.pool.take.next = self.receive.admit_take.val();
        self.pool.refuse.next = self.receive.admit_refuse.val();
        self.receive.admit.next = self.pool.covered.val();
        self.receive.admit_answer.next = self.pool.answer.val();
        PopSource::join(&mut self.place.pop, &mut self.pool.pop);
        CreditSource::join(&mut self.place.credit, &mut self.pool.credit);
        self.pool.give.next = self.reader.give.val();
        self.pool.give_id.next = self.reader.give_id.val();

        // Beside the frames.
        self.users.begins.next = self.switch.begins.val();
        self.users.begin_user.next = self.s_user.val();
        self.users.refused.next = self.receive.drop_in.valid.val();
        self.users.take.next = self.receive.admit_take.val();
        self.users.dropped.next = self.receive.drop.valid.val();
        self.users.op.next = self.operations.m.meta.val();
        self.users.op_done.next = self.operations.m.valid.val() & self.place.s.ready.val();

        // Out of the packet memory.
        self.reader.body.next = self.records.m_body.val();
        self.reader.valid.next = self.records.m_valid.val();
        self.records.m_ready.next = self.reader.ready.val();
        self.reader.user.next = self.users.m_data.val();
        self.reader.user_valid.next = self.users.m_valid.val();
        self.users.m_ready.next = self.reader.user_ready.val();
        self.memory.raddr.next = self.reader.raddr.val();
        self.memory.ren.next = self.reader.ren.val();
        self.reader.rdata.next = self.memory.rdata.val();
        self.reader.header.next = self.registers.header.val();
        AxisSource::<W, K>::join(&mut self.reader.m, &mut self.switch.r);
        self.switch.r_user.next = self.reader.m_user.val();
        AxisRxSource::<W, K>::link(&mut self.m_axis, &mut self.switch.m);
        self.m_user.next = self.switch.m_user.val();
        self.m_core.next = self.switch.m_core.val();
        self.m_meta.next = self.reader.m_meta.val();
        self.m_size.next = self.reader.m_size.val();

        // Registers and the way that frames go.
        AxiLiteSink::link(&mut self.axil, &mut self.lite.s);
        RegBusSource::join(&mut self.lite.m, &mut self.registers.s);
        self.lite.hold.next = false;
        self.receive.reg_addr.next = self.registers.reg_addr.val();
        self.receive.reg_wdata.next = self.registers.reg_wdata.val();
        self.receive.reg_write.next = self.registers.reg_write.val();
        self.registers.reg_rdata.next = self.receive.reg_rdata.val();
        self.registers.state.next = self.switch.code.val();
        self.registers.free.next = self.pool.free.val();
        self.registers.passed.next = self.switch.passed.val();
        self.registers.switch_drop.next = self.switch.dropped.val();
        self.registers.delivered.next = self.reader.delivers.val();
        self.state.next = self.switch.code.val();
        self.switch.enable.next = self.registers.enable.val();
        self.switch.quiet.next = self.flusher.quiet.val();
        self.switch.idle.next = self.reader.idle.val();
        self.flusher.period.next = self.registers.period.val();
        self.flusher.active.next = self.switch.active.val();
        self.flusher.drain.next = self.switch.drain.val();
        self.flusher.refused.next = self.receive.admit_refuse.val();
        self.flusher.flushed.next = self.records.flushed.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_the_inline_form() {
        let names: Vec<String> =
            emit::ports(&GrooveInline::<512, 64, 13>::new(&Parameters::default(), 8))
                .into_iter()
                .map(|p| format!("{}:{}", p.name, p.width))
                .collect();
        assert_eq!(
            names.join(" "),
            "sys_clk:1 sys_rst:1 s_axis_tdata:512 s_axis_tkeep:64 s_axis_tlast:1 s_axis_tuser:1 \
             s_axis_tvalid:1 s_axis_tready:1 s_user:128 s_token_queue:5 s_token_kind:2 \
             s_token_valid:1 s_token_ready:1 axil_awaddr:16 axil_awvalid:1 axil_wdata:32 \
             axil_wstrb:4 axil_wvalid:1 axil_bready:1 axil_araddr:16 axil_arvalid:1 axil_rready:1 \
             axil_awready:1 axil_wready:1 axil_bresp:2 axil_bvalid:1 axil_arready:1 axil_rdata:32 \
             axil_rresp:2 axil_rvalid:1 m_axis_tdata:512 m_axis_tkeep:64 m_axis_tlast:1 \
             m_axis_tuser:1 m_axis_tvalid:1 m_axis_tready:1 m_user:128 m_core:1 m_meta:256 \
             m_size:17 state:2 drop_in_valid:1 drop_in_frame:32 drop_in_reason:3 drop_valid:1 \
             drop_frame:32 drop_reason:3 token_log_valid:1 token_log_queue:5 token_log_kind:2 \
             token_log_frame:32"
        );
    }
}
