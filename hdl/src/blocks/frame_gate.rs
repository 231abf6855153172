//! Lets frames in only while the pipeline takes them, and only whole ones.
//!
//!   s ──► open? ──► m      combinational
//!           └─► rest of a frame that a reset cut: swallowed
//!
//! The MAC knows nothing of a reset of the function, so a reset may come in the middle of a frame.
//! What is left of it would look like a frame behind the reset. The gate is behind the power-on
//! reset only, and remembers. Without back-pressure frames go by while the gate is shut.
//!
//! Invariants: nothing passes a shut gate, and no part of a frame passes without its beginning
//! (`gate_passes_whole_frames`). Not here: a frame whose beginning has passed and whose end has
//! not; the reset that shuts the gate takes it back.

use super::axis::{AxisRxSink, AxisRxSource};
use super::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct FrameGate<const W: usize, const K: usize> {
    /// Clock and power-on reset.
    pub cr: ClkRst,
    /// The pipeline takes frames.
    pub open: Signal<In, Bit>,
    /// Frames in.
    pub s: AxisRxSink<W, K>,
    /// Whole frames out.
    pub m: AxisRxSource<W, K>,
    in_frame: RegR<Bit>,
    swallow: RegR<Bit>,
    ready: Signal<Local, Bit>,
    goes: Signal<Local, Bit>,
    still: Signal<Local, Bit>,
    lossy: Constant<Bit>,
}

impl<const W: usize, const K: usize> FrameGate<W, K> {
    /// With or without back-pressure to the MAC.
    pub fn new(lossless: bool) -> Self {
        Self {
            cr: Default::default(),
            open: Default::default(),
            s: Default::default(),
            m: Default::default(),
            in_frame: Default::default(),
            swallow: Default::default(),
            ready: Default::default(),
            goes: Default::default(),
            still: Default::default(),
            lossy: Constant::new(!lossless),
        }
    }
}

impl<const W: usize, const K: usize> Logic for FrameGate<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: frame_gate");
        ClkRst::link(&mut self.cr, &mut self.in_frame.cr);
        ClkRst::link(&mut self.cr, &mut self.swallow.cr);
        self.ready.next = self.open.val() & (self.m.tready.val() | self.swallow.q.val());
        self.goes.next = self.s.tvalid.val() & (self.ready.val() | self.lossy.val());
        self.still.next = self.in_frame.q.val();
        if self.goes.val() {
            self.still.next = !self.s.tlast.val();
        }
        self.in_frame.d.next = self.still.val();
        // Shut: what is inside a frame now is inside it when the gate opens.
        self.swallow.d.next = self.still.val() & (self.swallow.q.val() | !self.open.val());
        self.s.tready.next = self.open.val() & (self.m.tready.val() | self.swallow.q.val());
        self.m.tdata.next = self.s.tdata.val();
        self.m.tkeep.next = self.s.tkeep.val();
        self.m.tlast.next = self.s.tlast.val();
        self.m.tuser.next = self.s.tuser.val();
        self.m.tvalid.next = self.s.tvalid.val() & self.open.val() & !self.swallow.q.val();
    }
}
