//! The receive pipeline: wires the stages, and emits it for a set of parameters.
//!
//!   s_axis ─► ingress ─► collect ─head─► head path ─► FIFO ─► admit ─► session path ─► m_op
//!   s_token ─┘              │               └sum┐       ┌─outcome┘└strip┐
//!                           └─beats─► FIFO ─► checksum ─┘               ▼
//!                                                └─► frame FIFO ─────► strip ─► m_axis
//!
//! The head path is parse, classify and rss; the session path is coalesce and fixup.
//! Beats wait in the beat FIFO until `parse` has said what to add up; whole frames wait in the
//! frame FIFO until `admit` has said what to strip. FIFOs on every path from output to input: no
//! `ready` of an output reaches the `ready` of an input within a cycle.
//!
//! Nothing deadlocks: the head of a frame reaches `parse` before its beats are needed, `checksum`
//! waits for `parse` and room only, `admit` for `checksum`, operations and payload for their
//! consumers.
//!
//! Invariants: one module name per distinct block (`emit.rs`); ports as in `ports_are_documented`;
//! every frame is delivered or logged as dropped (differential runs). Not here: behaviour.

use crate::blocks::axis::{AxisRxSink, AxisSource, BeatSource};
use crate::blocks::beat_fifo::BeatFifo;
use crate::blocks::collect::Collect;
use crate::blocks::fifo::Fifo;
use crate::blocks::frame_fifo::FrameFifo;
use crate::blocks::head_path::HeadPath;
use crate::blocks::meta::{HeadSource, MetaSource, OutcomeSource, StripControl, SumControl};
use crate::blocks::meta_fifo::MetaFifo;
use crate::blocks::op::OpSource;
use crate::blocks::reg::ClkRst;
use crate::blocks::regfile::{Capabilities, RegFile};
use crate::blocks::session_path::SessionPath;
use crate::blocks::strip::Strip;
use crate::emit::{self, Design};
use crate::stages::admit::Admit;
use crate::stages::checksum::Checksum;
use crate::stages::ingress::{DropLog, Ingress, TokenLog, TokenSink};
use groove_spec::{QUEUES_MAX, WIDTHS};
use rust_hdl::prelude::*;

/// Name of the top module.
pub const TOP: &str = "groove_rx";

/// Most buckets, and most sessions of a bucket: `OPERATION.session` has ten bits for both.
pub const SHAPE_MAX: usize = 32;

/// What is fixed when the hardware is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Bits of a beat: 64, 128, 256 or 512.
    pub width: usize,
    /// Receive queues, 1 to 32.
    pub queues: usize,
    /// Buckets of held sessions per queue: a power of two up to 32.
    pub buckets: usize,
    /// Held sessions per bucket: a power of two up to 32.
    pub depth: usize,
    /// Back-pressure to the MAC instead of drops.
    pub lossless: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        let (buckets, depth) = (groove_spec::BUCKETS, groove_spec::BUCKET_DEPTH);
        Self { width: 512, queues: QUEUES_MAX, buckets, depth, lossless: true }
    }
}

/// Parameters that no hardware can be built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError(String);

impl std::fmt::Display for ParameterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParameterError {}

impl Parameters {
    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// Names the parameter, its value and what is allowed.
    pub fn check(&self) -> Result<(), ParameterError> {
        let fail = |name, value, allowed: &str| {
            Err(ParameterError(format!("{name}: {value} is not possible, only {allowed}")))
        };
        if !WIDTHS.contains(&self.width) {
            return fail("width", self.width, "64, 128, 256 and 512");
        }
        if !(1..=QUEUES_MAX).contains(&self.queues) {
            return fail("queues", self.queues, "1 to 32");
        }
        for (name, value) in [("buckets", self.buckets), ("depth", self.depth)] {
            if !value.is_power_of_two() || value > SHAPE_MAX {
                return fail(name, value, "1, 2, 4, 8, 16 and 32");
            }
        }
        Ok(())
    }
}

/// Bytes of stack for the generator: a 1,024-bit signal of RustHDL takes 3 KiB of it.
const STACK_BYTES: usize = 64 << 20;

/// Emits the pipeline as module [`TOP`].
///
/// # Errors
/// If the parameters are not possible.
///
/// # Panics
/// If the source is at fault: see [`emit::emit`].
pub fn emit(parameters: &Parameters) -> Result<Design, ParameterError> {
    generated(parameters, generate)
}

/// Checks the parameters, then emits with them on a stack that is large enough.
pub(crate) fn generated(
    parameters: &Parameters,
    generate: fn(&Parameters) -> Design,
) -> Result<Design, ParameterError> {
    parameters.check()?;
    // A test's thread has 2 MiB, which an unoptimised build exceeds.
    let generator = std::thread::Builder::new().stack_size(STACK_BYTES);
    let design = std::thread::scope(|scope| {
        let thread = generator.spawn_scoped(scope, || generate(parameters));
        thread.expect("a thread starts").join()
    });
    Ok(design.unwrap_or_else(|fault| std::panic::resume_unwind(fault)))
}

fn generate(parameters: &Parameters) -> Design {
    match parameters.width {
        64 => emit::emit(TOP, GrooveRx::<64, 8>::new(parameters)),
        128 => emit::emit(TOP, GrooveRx::<128, 16>::new(parameters)),
        256 => emit::emit(TOP, GrooveRx::<256, 32>::new(parameters)),
        _ => emit::emit(TOP, GrooveRx::<512, 64>::new(parameters)),
    }
}

/// The pipeline for beats of `W` bits, `K` bytes.
#[derive(LogicBlock)]
pub struct GrooveRx<const W: usize, const K: usize> {
    /// Clock and reset.
    pub sys: ClkRst,
    /// Frames in.
    pub s_axis: AxisRxSink<W, K>,
    /// Tokens in.
    pub s_token: TokenSink,
    /// Register bus: byte address.
    pub reg_addr: Signal<In, Bits<16>>,
    /// Register bus: data to write.
    pub reg_wdata: Signal<In, Bits<32>>,
    /// Register bus: writes at the edge.
    pub reg_write: Signal<In, Bit>,
    /// Register bus: data two cycles after the address.
    pub reg_rdata: Signal<Out, Bits<32>>,
    /// Operations out.
    pub m_op: OpSource,
    /// Payload out.
    pub m_axis: AxisSource<W, K>,
    /// With `admit_answer`: the worst case of buffers of the frame asked for is covered.
    pub admit: Signal<In, Bit>,
    /// `admit` answers what is asked now; tie it high if `admit` needs no question.
    pub admit_answer: Signal<In, Bit>,
    /// Asks for the buffers of a frame, until it is taken or refused.
    pub admit_valid: Signal<Out, Bit>,
    /// Its queue.
    pub admit_queue: Signal<Out, Bits<5>>,
    /// Its bytes as delivered.
    pub admit_bytes: Signal<Out, Bits<17>>,
    /// The frame is taken.
    pub admit_take: Signal<Out, Bit>,
    /// The frame is dropped for want of buffers.
    pub admit_refuse: Signal<Out, Bit>,
    /// Frames dropped at their first beat.
    pub drop_in: DropLog,
    /// Frames rolled back or not admitted.
    pub drop: DropLog,
    /// Tokens taken, with the frame in front of which each entered.
    pub token_log: TokenLog,
    ingress: Ingress<W, K>,
    collect: Collect<W>,
    beats: BeatFifo<W, 6>,
    sums: Fifo<SumControl, 3>,
    checksum: Checksum<W>,
    frames: FrameFifo<W>,
    strips: Fifo<StripControl, 6>,
    strip: Strip<W, K>,
    heads: HeadPath,
    metas: MetaFifo<4>,
    admission: Admit,
    sessions: SessionPath,
    registers: RegFile,
}

impl<const W: usize, const K: usize> GrooveRx<W, K> {
    /// With checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let Parameters { queues, buckets, depth, lossless, .. } = *parameters;
        Self {
            sys: Default::default(),
            s_axis: Default::default(),
            s_token: Default::default(),
            reg_addr: Default::default(),
            reg_wdata: Default::default(),
            reg_write: Default::default(),
            reg_rdata: Default::default(),
            m_op: Default::default(),
            m_axis: Default::default(),
            admit: Default::default(),
            admit_answer: Default::default(),
            admit_valid: Default::default(),
            admit_queue: Default::default(),
            admit_bytes: Default::default(),
            admit_take: Default::default(),
            admit_refuse: Default::default(),
            drop_in: Default::default(),
            drop: Default::default(),
            token_log: Default::default(),
            ingress: Ingress::new(lossless),
            collect: Default::default(),
            beats: Default::default(),
            sums: Default::default(),
            checksum: Default::default(),
            frames: Default::default(),
            strips: Default::default(),
            strip: Default::default(),
            heads: HeadPath::new(queues),
            metas: Default::default(),
            admission: Default::default(),
            sessions: SessionPath::new(queues, buckets, depth),
            registers: RegFile::new(&Capabilities {
                queues,
                width_bytes: K,
                buckets,
                depth,
                lossless,
            }),
        }
    }
}

impl<const W: usize, const K: usize> Logic for GrooveRx<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.sys, &mut self.ingress.cr);
        ClkRst::link(&mut self.sys, &mut self.collect.cr);
        ClkRst::link(&mut self.sys, &mut self.beats.cr);
        ClkRst::link(&mut self.sys, &mut self.sums.cr);
        ClkRst::link(&mut self.sys, &mut self.checksum.cr);
        ClkRst::link(&mut self.sys, &mut self.frames.cr);
        ClkRst::link(&mut self.sys, &mut self.strips.cr);
        ClkRst::link(&mut self.sys, &mut self.strip.cr);
        ClkRst::link(&mut self.sys, &mut self.heads.cr);
        ClkRst::link(&mut self.sys, &mut self.metas.cr);
        ClkRst::link(&mut self.sys, &mut self.admission.cr);
        ClkRst::link(&mut self.sys, &mut self.sessions.cr);
        ClkRst::link(&mut self.sys, &mut self.registers.cr);

        // Beats.
        AxisRxSink::<W, K>::link(&mut self.s_axis, &mut self.ingress.s);
        TokenSink::link(&mut self.s_token, &mut self.ingress.token);
        DropLog::link(&mut self.drop_in, &mut self.ingress.drop_in);
        TokenLog::link(&mut self.token_log, &mut self.ingress.token_log);
        BeatSource::<W>::join(&mut self.ingress.m, &mut self.collect.s);
        BeatSource::<W>::join(&mut self.collect.m, &mut self.beats.s);
        BeatSource::<W>::join(&mut self.beats.m, &mut self.checksum.s);
        BeatSource::<W>::join(&mut self.checksum.m, &mut self.frames.s);
        BeatSource::<W>::join(&mut self.frames.m, &mut self.strip.s);
        AxisSource::<W, K>::link(&mut self.m_axis, &mut self.strip.m);
        self.ingress.open.next = self.sessions.cleared.val();
        self.ingress.max_frame.next = self.registers.max_frame.val().get_bits::<14>(0);

        // Headers.
        HeadSource::join(&mut self.collect.head, &mut self.heads.s);
        MetaSource::join(&mut self.heads.m, &mut self.metas.s);
        MetaSource::join(&mut self.metas.m, &mut self.admission.s);
        MetaSource::join(&mut self.admission.m, &mut self.sessions.s);
        OpSource::link(&mut self.m_op, &mut self.sessions.m);
        OutcomeSource::join(&mut self.checksum.outcome, &mut self.admission.outcome);
        self.admission.buffers.next = self.admit.val();
        self.admission.answer.next = self.admit_answer.val();
        self.admit_valid.next = self.admission.ask.val();
        self.admit_queue.next = self.admission.ask_queue.val();
        self.admit_bytes.next = self.admission.ask_bytes.val();
        self.admit_take.next = self.admission.take.val();
        self.admit_refuse.next = self.admission.refuse.val();
        self.admission.trim_pad.next = self.registers.control.val().get_bit(13);
        self.drop.valid.next = self.admission.drop_valid.val();
        self.drop.frame.next = self.admission.drop_frame.val();
        self.drop.reason.next = self.admission.drop_reason.val();

        // Records between the two.
        self.sums.s_data.next = self.heads.sum.control.val();
        self.sums.s_valid.next = self.heads.sum.valid.val();
        self.heads.sum.ready.next = self.sums.s_ready.val();
        self.checksum.sum.control.next = self.sums.m_data.val();
        self.checksum.sum.valid.next = self.sums.m_valid.val();
        self.sums.m_ready.next = self.checksum.sum.ready.val();
        self.strips.s_data.next = self.admission.strip.control.val();
        self.strips.s_valid.next = self.admission.strip.valid.val();
        self.admission.strip.ready.next = self.strips.s_ready.val();
        self.strip.control.control.next = self.strips.m_data.val();
        self.strip.control.valid.next = self.strips.m_valid.val();
        self.strips.m_ready.next = self.strip.control.ready.val();

        // Registers.
        self.registers.addr.next = self.reg_addr.val();
        self.registers.wdata.next = self.reg_wdata.val();
        self.registers.write.next = self.reg_write.val();
        self.reg_rdata.next = self.registers.rdata.val();
        self.heads.control.next = self.registers.control.val();
        self.heads.mac_low.next = self.registers.mac_low.val();
        self.heads.mac_high.next = self.registers.mac_high.val();
        self.heads.rss_control.next = self.registers.rss_control.val();
        for i in 0..10 {
            self.heads.key[i].next = self.registers.rss_key[i].val();
        }
        self.heads.table_write.next = self.registers.table_write.val();
        self.heads.table_index.next = self.registers.table_index.val();
        self.heads.table_wdata.next = self.registers.table_wdata.val();
        self.registers.table_rdata.next = self.heads.table_rdata.val();
        self.sessions.control.next = self.registers.control.val();
        self.registers.frames.next = self.ingress.frames.val();
        self.registers.drop_overflow.next = self.ingress.drop_overflow.val();
        self.registers.drop_runt.next = self.admission.runt.val();
        self.registers.drop_oversize.next = self.admission.oversize.val();
        self.registers.drop_bad_fcs.next = self.admission.bad_fcs.val();
        self.registers.drop_no_buffer.next = self.admission.no_buffer.val();
        self.registers.gro_packets.next = self.sessions.gro_packets.val();
        self.registers.gro_wire_packets.next = self.sessions.gro_wire_packets.val();
        self.registers.evictions.next = self.sessions.evictions.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::stages::{coalesce::OPERATION, device};

    #[test]
    fn ports_are_documented() {
        let names: Vec<String> = emit::ports(&GrooveRx::<512, 64>::new(&Parameters::default()))
            .into_iter()
            .map(|p| format!("{}:{}", p.name, p.width))
            .collect();
        let operation = format!("m_op_meta:{}", OPERATION.bits());
        assert_eq!(
            names.join(" "),
            format!(
                "sys_clk:1 sys_rst:1 s_axis_tdata:512 s_axis_tkeep:64 s_axis_tlast:1 \
                 s_axis_tuser:1 s_axis_tvalid:1 s_axis_tready:1 s_token_queue:5 s_token_kind:2 \
                 s_token_valid:1 s_token_ready:1 reg_addr:16 reg_wdata:32 reg_write:1 \
                 reg_rdata:32 {operation} \
                 m_op_header:1024 m_op_valid:1 m_op_ready:1 m_axis_tdata:512 m_axis_tkeep:64 \
                 m_axis_tlast:1 m_axis_tvalid:1 m_axis_tready:1 admit:1 admit_answer:1 \
                 admit_valid:1 admit_queue:5 admit_bytes:17 admit_take:1 admit_refuse:1 \
                 drop_in_valid:1 drop_in_frame:32 drop_in_reason:3 drop_valid:1 drop_frame:32 \
                 drop_reason:3 token_log_valid:1 token_log_queue:5 token_log_kind:2 \
                 token_log_frame:32"
            )
        );
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let good = Parameters::default();
        assert_eq!(good.check(), Ok(()));
        for (bad, text) in [
            (Parameters { width: 100, ..good }, "width: 100 "),
            (Parameters { queues: 0, ..good }, "queues: 0 "),
            (Parameters { queues: 33, ..good }, "queues: 33 "),
            (Parameters { buckets: 3, ..good }, "buckets: 3 "),
            (Parameters { depth: 64, ..good }, "depth: 64 "),
        ] {
            let error = emit(&bad).expect_err("refused").to_string();
            assert!(error.starts_with(text), "{error}");
        }
    }

    #[test]
    fn trim_pad_is_where_the_table_has_it() {
        assert_eq!(device::CONTROL.field("trim_pad").lsb, 13);
    }
}
