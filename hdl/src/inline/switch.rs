//! Where frames go: through the pipeline, past it, or nowhere while it empties.
//!
//!   s ── state ───┬─►[ FIFO of 4 ]──────────────┐
//!                 ├─► pipeline ─► .. ─► r ──────┴──► m
//!                 └─► dropped, counted
//!
//! The state changes between two frames. Into the pipeline it goes at once; out of it by way of
//! `Drain`: a flush goes in behind the last frame, and when it is through and everything has left,
//! frames pass again. So no frame overtakes another.
//!
//! `s_tready` is high in `Core` and `Drain`, where every frame is taken, delivered or counted; in
//! `Pass` it follows the FIFO, which never fills while `m_tready` is high. Invariants: in `Pass`
//! every bit comes out as it went in (`frames_pass_through_until_enabled`); frames are lost to
//! `Drain` only, and counted (`a_switch_loses_only_what_it_counts`); no stall
//! (`the_input_never_stalls`). Not here: the pipeline.

use crate::blocks::axis::{AxisRxSink, AxisRxSource, AxisSink};
use crate::blocks::fifo::Fifo;
use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// States; the first one is that of reset.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Way {
    /// Frames pass through.
    Pass,
    /// Frames go through the pipeline.
    Core,
    /// The pipeline empties.
    Drain,
}

/// What travels beside the data of a beat that passes through.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct PassInfo {
    /// As AXI4-Stream has it.
    pub last: Bit,
    /// The MAC's error mark.
    pub error: Bit,
    /// Beside the frame.
    pub user: Bits<128>,
}

/// See the module.
#[derive(LogicBlock)]
pub struct Switch<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Frames in.
    pub s: AxisRxSink<W, K>,
    /// What comes beside them.
    pub s_user: Signal<In, Bits<128>>,
    /// To the pipeline.
    pub core: AxisRxSource<W, K>,
    /// The pipeline takes the first beat of a frame.
    pub begins: Signal<Out, Bit>,
    /// Deliveries of the pipeline.
    pub r: AxisSink<W, K>,
    /// What came beside their first frames.
    pub r_user: Signal<In, Bits<128>>,
    /// Frames out.
    pub m: AxisRxSource<W, K>,
    /// What comes beside them.
    pub m_user: Signal<Out, Bits<128>>,
    /// They are deliveries of the pipeline.
    pub m_core: Signal<Out, Bit>,
    /// Frames are to go through the pipeline.
    pub enable: Signal<In, Bit>,
    /// No flush is under way.
    pub quiet: Signal<In, Bit>,
    /// No delivery is under way.
    pub idle: Signal<In, Bit>,
    /// The pipeline is to empty.
    pub drain: Signal<Out, Bit>,
    /// Frames are in the pipeline, or may be.
    pub active: Signal<Out, Bit>,
    /// 0 to 2: pass, core, drain.
    pub code: Signal<Out, Bits<2>>,
    /// A frame has passed.
    pub passed: Signal<Out, Bit>,
    /// A frame is dropped.
    pub dropped: Signal<Out, Bit>,
    way: RegR<Way>,
    in_frame: RegR<Bit>,
    data: Fifo<Bits<W>, 2>,
    keeps: Fifo<Bits<K>, 2>,
    infos: Fifo<PassInfo, 2>,
    info: Signal<Local, PassInfo>,
    goes: Signal<Local, Bit>,
    still: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    pass_code: Constant<Bits<2>>,
    core_code: Constant<Bits<2>>,
    drain_code: Constant<Bits<2>>,
}

impl<const W: usize, const K: usize> Default for Switch<W, K> {
    fn default() -> Self {
        let code = |value: usize| Constant::new(value.to_bits());
        Self {
            cr: Default::default(),
            s: Default::default(),
            s_user: Default::default(),
            core: Default::default(),
            begins: Default::default(),
            r: Default::default(),
            r_user: Default::default(),
            m: Default::default(),
            m_user: Default::default(),
            m_core: Default::default(),
            enable: Default::default(),
            quiet: Default::default(),
            idle: Default::default(),
            drain: Default::default(),
            active: Default::default(),
            code: Default::default(),
            passed: Default::default(),
            dropped: Default::default(),
            way: Default::default(),
            in_frame: Default::default(),
            data: Default::default(),
            keeps: Default::default(),
            infos: Default::default(),
            info: Default::default(),
            goes: Default::default(),
            still: Default::default(),
            ends: Default::default(),
            pass_code: code(0),
            core_code: code(1),
            drain_code: code(2),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Switch<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_switch");
        ClkRst::link(&mut self.cr, &mut self.way.cr);
        ClkRst::link(&mut self.cr, &mut self.in_frame.cr);
        ClkRst::link(&mut self.cr, &mut self.data.cr);
        ClkRst::link(&mut self.cr, &mut self.keeps.cr);
        ClkRst::link(&mut self.cr, &mut self.infos.cr);

        // In. Without back-pressure the pipeline takes every beat once it is open.
        self.s.tready.next = self.infos.s_ready.val() | (self.way.q.val() != Way::Pass);
        self.goes.next =
            self.s.tvalid.val() & (self.infos.s_ready.val() | (self.way.q.val() != Way::Pass));
        self.still.next = self.in_frame.q.val();
        if self.goes.val() {
            self.still.next = !self.s.tlast.val();
        }
        self.in_frame.d.next = self.still.val();
        self.ends.next = self.goes.val() & self.s.tlast.val();
        self.core.tdata.next = self.s.tdata.val();
        self.core.tkeep.next = self.s.tkeep.val();
        self.core.tlast.next = self.s.tlast.val();
        self.core.tuser.next = self.s.tuser.val();
        self.core.tvalid.next = self.s.tvalid.val() & (self.way.q.val() == Way::Core);
        self.begins.next =
            self.s.tvalid.val() & (self.way.q.val() == Way::Core) & !self.in_frame.q.val();
        self.data.s_data.next = self.s.tdata.val();
        self.keeps.s_data.next = self.s.tkeep.val();
        self.info.next.last = self.s.tlast.val();
        self.info.next.error = self.s.tuser.val();
        self.info.next.user = self.s_user.val();
        self.infos.s_data.next = self.info.val();
        self.data.s_valid.next = self.s.tvalid.val() & (self.way.q.val() == Way::Pass);
        self.keeps.s_valid.next = self.s.tvalid.val() & (self.way.q.val() == Way::Pass);
        self.infos.s_valid.next = self.s.tvalid.val() & (self.way.q.val() == Way::Pass);

        // The way changes between two frames.
        self.way.d.next = self.way.q.val();
        self.drain.next = false;
        self.passed.next = false;
        self.dropped.next = false;
        self.code.next = self.pass_code.val();
        self.active.next = true;
        match self.way.q.val() {
            Way::Pass => {
                self.active.next = false;
                self.passed.next = self.ends.val();
                if self.enable.val() & self.core.tready.val() & !self.still.val() {
                    self.way.d.next = Way::Core;
                }
            }
            Way::Core => {
                self.code.next = self.core_code.val();
                if !self.enable.val() & !self.still.val() {
                    self.drain.next = true;
                    self.way.d.next = Way::Drain;
                }
            }
            Way::Drain => {
                self.code.next = self.drain_code.val();
                self.dropped.next = self.ends.val();
                if self.quiet.val() & self.idle.val() & !self.still.val() {
                    self.way.d.next = Way::Pass;
                }
            }
            _ => {}
        }

        // Out: what passes through goes first; behind the switch it is whole frames.
        self.m.tdata.next = self.r.tdata.val();
        self.m.tkeep.next = self.r.tkeep.val();
        self.m.tlast.next = self.r.tlast.val();
        self.m.tuser.next = false;
        self.m.tvalid.next = self.r.tvalid.val();
        self.m_user.next = self.r_user.val();
        self.m_core.next = true;
        self.r.tready.next = self.m.tready.val() & !self.infos.m_valid.val();
        if self.infos.m_valid.val() | (self.way.q.val() == Way::Pass) {
            self.m.tdata.next = self.data.m_data.val();
            self.m.tkeep.next = self.keeps.m_data.val();
            self.m.tlast.next = self.infos.m_data.val().last;
            self.m.tuser.next = self.infos.m_data.val().error;
            self.m.tvalid.next = self.infos.m_valid.val();
            self.m_user.next = self.infos.m_data.val().user;
            self.m_core.next = false;
        }
        self.data.m_ready.next = self.m.tready.val();
        self.keeps.m_ready.next = self.m.tready.val();
        self.infos.m_ready.next = self.m.tready.val();
    }
}
