//! The NIC: pins, the guard between core and host memory, and its emission.
//!
//!   s_axis ──► frame gate ──►┌──────┐◄──► guard ◄──► axi (AW, W, B, AR, R)
//!   s_token ────────────────►│ core │
//!   axil ◄──► axi_lite ◄────►└──────┘──► msix, drop logs, token log
//!   flr ──► guard ──► reset of the core
//!
//! A function-level reset (PCIe 6.6.2) resets the core at once; the guard ends the bursts that are
//! under way, axi_lite keeps its accesses waiting, the frame gate swallows what is left of a frame.
//! `flr_busy` falls when all of that is over and the tables are cleared; it is high behind the
//! power-on reset, too.
//!
//! Bursts: identifier 0 writes data, 1 completions, 2 reads descriptors; INCR, of whole beats,
//! never across 4,096 bytes or 256 beats. Data is answered before its completion is written, and
//! that before the message.
//!
//! Invariants: ports as in `pins_are_documented`; what reaches the host equals the software
//! device's (`driver_conformance`). Not here: PCIe, MAC, and their clocks.

use crate::blocks::axi::{AxiLiteSink, AxiReadSource, AxiSource, AxiWriteSource, RegBusSource};
use crate::blocks::axi_lite::AxiLite;
use crate::blocks::axis::{AxisRxSink, AxisRxSource};
use crate::blocks::dma_guard::DmaGuard;
use crate::blocks::frame_gate::FrameGate;
use crate::blocks::nic_core::NicCore;
use crate::blocks::reg::ClkRst;
use crate::emit::{self, Design};
use crate::pipeline::{ParameterError, Parameters, generated};
use crate::stages::ingress::{DropLog, TokenLog, TokenSink};
use rust_hdl::prelude::*;

/// Name of the top module.
pub const TOP: &str = "groove_nic";

/// Emits the NIC as module [`TOP`].
///
/// # Errors
/// If the parameters are not possible.
///
/// # Panics
/// If the source is at fault: see [`emit::emit`].
pub fn emit(parameters: &Parameters) -> Result<Design, ParameterError> {
    generated(parameters, |parameters| match parameters.width {
        64 => emit::emit(TOP, GrooveNic::<64, 8>::new(parameters)),
        128 => emit::emit(TOP, GrooveNic::<128, 16>::new(parameters)),
        256 => emit::emit(TOP, GrooveNic::<256, 32>::new(parameters)),
        _ => emit::emit(TOP, GrooveNic::<512, 64>::new(parameters)),
    })
}

/// The NIC for beats of `W` bits, `K` bytes.
#[derive(LogicBlock)]
pub struct GrooveNic<const W: usize, const K: usize> {
    /// Clock and power-on reset.
    pub sys: ClkRst,
    /// Asks for a function-level reset; a pulse is enough.
    pub flr: Signal<In, Bit>,
    /// A reset is at work.
    pub flr_busy: Signal<Out, Bit>,
    /// Frames in.
    pub s_axis: AxisRxSink<W, K>,
    /// Tokens in.
    pub s_token: TokenSink,
    /// Registers.
    pub axil: AxiLiteSink,
    /// Host memory.
    pub axi: AxiSource<W, K>,
    /// Vector of a message to the host.
    pub msix_vector: Signal<Out, Bits<5>>,
    /// A message is there.
    pub msix_valid: Signal<Out, Bit>,
    /// It is taken.
    pub msix_ready: Signal<In, Bit>,
    /// Frames dropped at their first beat.
    pub drop_in: DropLog,
    /// Frames rolled back or not admitted.
    pub drop: DropLog,
    /// Tokens taken, with the frame in front of which each entered.
    pub token_log: TokenLog,
    guard: DmaGuard<W, K>,
    lite: AxiLite,
    gate: FrameGate<W, K>,
    core: NicCore<W, K>,
}

impl<const W: usize, const K: usize> GrooveNic<W, K> {
    /// With checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            sys: Default::default(),
            flr: Default::default(),
            flr_busy: Default::default(),
            s_axis: Default::default(),
            s_token: Default::default(),
            axil: Default::default(),
            axi: Default::default(),
            msix_vector: Default::default(),
            msix_valid: Default::default(),
            msix_ready: Default::default(),
            drop_in: Default::default(),
            drop: Default::default(),
            token_log: Default::default(),
            guard: Default::default(),
            lite: Default::default(),
            gate: FrameGate::new(parameters.lossless),
            core: NicCore::new(parameters),
        }
    }
}

impl<const W: usize, const K: usize> Logic for GrooveNic<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.sys, &mut self.guard.cr);
        ClkRst::link(&mut self.sys, &mut self.lite.cr);
        ClkRst::link(&mut self.sys, &mut self.gate.cr);
        self.core.cr.clk.next = self.sys.clk.val();
        self.core.cr.rst.next = self.guard.core_rst.val();
        self.guard.flr.next = self.flr.val();
        self.flr_busy.next =
            self.guard.busy.val() | self.guard.core_rst.val() | !self.core.cleared.val();

        AxisRxSink::<W, K>::link(&mut self.s_axis, &mut self.gate.s);
        AxisRxSource::<W, K>::join(&mut self.gate.m, &mut self.core.s_axis);
        self.gate.open.next = !self.guard.core_rst.val() & self.core.cleared.val();
        self.core.s_token.queue.next = self.s_token.queue.val();
        self.core.s_token.kind.next = self.s_token.kind.val();
        self.core.s_token.valid.next = self.s_token.valid.val() & !self.guard.core_rst.val();
        self.s_token.ready.next = self.core.s_token.ready.val() & !self.guard.core_rst.val();

        AxiWriteSource::<W, K>::join(&mut self.core.write, &mut self.guard.write);
        AxiReadSource::<W>::join(&mut self.core.read, &mut self.guard.read);
        AxiSource::<W, K>::link(&mut self.axi, &mut self.guard.axi);

        AxiLiteSink::link(&mut self.axil, &mut self.lite.s);
        RegBusSource::join(&mut self.lite.m, &mut self.core.bus);
        self.lite.hold.next = self.guard.core_rst.val();

        self.msix_vector.next = self.core.msix_vector.val();
        self.msix_valid.next = self.core.msix_valid.val();
        self.core.msix_ready.next = self.msix_ready.val();
        DropLog::link(&mut self.drop_in, &mut self.core.drop_in);
        DropLog::link(&mut self.drop, &mut self.core.drop);
        TokenLog::link(&mut self.token_log, &mut self.core.token_log);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_documented() {
        let names: Vec<String> = emit::ports(&GrooveNic::<512, 64>::new(&Parameters::default()))
            .into_iter()
            .map(|p| format!("{}:{}", p.name, p.width))
            .collect();
        assert_eq!(
            names.join(" "),
            "sys_clk:1 sys_rst:1 flr:1 flr_busy:1 s_axis_tdata:512 s_axis_tkeep:64 s_axis_tlast:1 \
             s_axis_tuser:1 s_axis_tvalid:1 s_axis_tready:1 s_token_queue:5 s_token_kind:2 \
             s_token_valid:1 s_token_ready:1 axil_awaddr:16 axil_awvalid:1 axil_wdata:32 \
             axil_wstrb:4 axil_wvalid:1 axil_bready:1 axil_araddr:16 axil_arvalid:1 axil_rready:1 \
             axil_awready:1 axil_wready:1 axil_bresp:2 axil_bvalid:1 axil_arready:1 axil_rdata:32 \
             axil_rresp:2 axil_rvalid:1 axi_awid:2 axi_awaddr:64 axi_awlen:8 axi_awsize:3 \
             axi_awburst:2 axi_awvalid:1 axi_wdata:512 axi_wstrb:64 axi_wlast:1 axi_wvalid:1 \
             axi_bready:1 axi_arid:2 axi_araddr:64 axi_arlen:8 axi_arsize:3 axi_arburst:2 \
             axi_arvalid:1 axi_rready:1 axi_awready:1 axi_wready:1 axi_bid:2 axi_bresp:2 \
             axi_bvalid:1 axi_arready:1 axi_rid:2 axi_rdata:512 axi_rresp:2 axi_rlast:1 \
             axi_rvalid:1 msix_vector:5 msix_valid:1 msix_ready:1 drop_in_valid:1 \
             drop_in_frame:32 drop_in_reason:3 drop_valid:1 drop_frame:32 drop_reason:3 \
             token_log_valid:1 token_log_queue:5 token_log_kind:2 token_log_frame:32"
        );
    }
}
