//! Carries what came beside a frame to the delivery that it begins.
//!
//!   first beat ─►[ 2 cycles ]─►[ in flight ]─ admitted ─►[ FIFO ]─┬─ ALONE ────────►[ FIFO ]─► m
//!                    ▲ refused there               └ dropped: gone ├─ OPEN ─►[ RAM ]─ CLOSE ─┘
//!                                                                  └─ APPEND: gone
//!
//! Frames keep their order up to `place`, so that order is all that ties the two together: each
//! frame that ingress lets in is admitted or dropped once, and each admitted one is taken by one
//! operation. Ingress says two cycles behind a first beat whether it refused it.
//!
//! Room: 128 frames between ingress and admit, where 65 beats wait at most in front of the header
//! path, and that holds 24 frames; 33 between admit and place; a delivery has a buffer of its own
//! until it has left. Invariant: a delivery has what came with its first frame
//! (`the_inline_form_equals_the_model`). Not here: what it means.

use crate::blocks::deep_fifo::DeepFifo;
use crate::blocks::fifo::Fifo;
use crate::blocks::op::Operation;
use crate::blocks::ram::Ram;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use groove_spec::OpKind;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Users {
    /// Clock and reset.
    pub cr: ClkRst,
    /// The first beat of a frame is taken.
    pub begins: Signal<In, Bit>,
    /// What comes beside it.
    pub begin_user: Signal<In, Bits<128>>,
    /// Ingress refused the frame whose first beat it took two cycles ago.
    pub refused: Signal<In, Bit>,
    /// The oldest frame is admitted.
    pub take: Signal<In, Bit>,
    /// The oldest frame is dropped.
    pub dropped: Signal<In, Bit>,
    /// An operation.
    pub op: Signal<In, Operation>,
    /// `place` is done with it.
    pub op_done: Signal<In, Bit>,
    /// Of the oldest delivery.
    pub m_data: Signal<Out, Bits<128>>,
    /// `m_data` is there.
    pub m_valid: Signal<Out, Bit>,
    /// It is taken.
    pub m_ready: Signal<In, Bit>,
    once: RegR<Bit>,
    twice: RegR<Bit>,
    once_user: RegE<Bits<128>>,
    twice_user: RegE<Bits<128>>,
    frames: DeepFifo<Bits<128>, 7>,
    admitted: Fifo<Bits<128>, 5>,
    held: Ram<Bits<128>, 10>,
    closes: RegR<Bit>,
    out: DeepFifo<Bits<128>, 8>,
    alone: Signal<Local, Bit>,
    open: Signal<Local, Bit>,
    append: Signal<Local, Bit>,
    close: Signal<Local, Bit>,
    alone_code: Constant<Bits<3>>,
    open_code: Constant<Bits<3>>,
    append_code: Constant<Bits<3>>,
    close_code: Constant<Bits<3>>,
}

impl Users {
    /// For `sessions` sessions.
    pub fn new(sessions: usize) -> Self {
        let code = |kind: OpKind| Constant::new(usize::from(kind.code()).to_bits());
        Self {
            cr: Default::default(),
            begins: Default::default(),
            begin_user: Default::default(),
            refused: Default::default(),
            take: Default::default(),
            dropped: Default::default(),
            op: Default::default(),
            op_done: Default::default(),
            m_data: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            once: Default::default(),
            twice: Default::default(),
            once_user: Default::default(),
            twice_user: Default::default(),
            frames: Default::default(),
            admitted: Default::default(),
            held: Ram::new(sessions),
            closes: Default::default(),
            out: Default::default(),
            alone: Default::default(),
            open: Default::default(),
            append: Default::default(),
            close: Default::default(),
            alone_code: code(OpKind::Alone),
            open_code: code(OpKind::Open),
            append_code: code(OpKind::Append),
            close_code: code(OpKind::Close),
        }
    }
}

impl Logic for Users {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_users");
        ClkRst::link(&mut self.cr, &mut self.once.cr);
        ClkRst::link(&mut self.cr, &mut self.twice.cr);
        ClkRst::link(&mut self.cr, &mut self.once_user.cr);
        ClkRst::link(&mut self.cr, &mut self.twice_user.cr);
        ClkRst::link(&mut self.cr, &mut self.frames.cr);
        ClkRst::link(&mut self.cr, &mut self.admitted.cr);
        ClkRst::link(&mut self.cr, &mut self.held.cr);
        ClkRst::link(&mut self.cr, &mut self.closes.cr);
        ClkRst::link(&mut self.cr, &mut self.out.cr);
        self.once.d.next = self.begins.val();
        self.twice.d.next = self.once.q.val();
        self.once_user.en.next = self.begins.val();
        self.once_user.d.next = self.begin_user.val();
        self.twice_user.en.next = self.once.q.val();
        self.twice_user.d.next = self.once_user.q.val();
        self.frames.s_data.next = self.twice_user.q.val();
        self.frames.s_valid.next = self.twice.q.val() & !self.refused.val();
        self.frames.m_ready.next = self.take.val() | self.dropped.val();
        self.admitted.s_data.next = self.frames.m_data.val();
        self.admitted.s_valid.next = self.take.val();

        self.alone.next = self.op_done.val() & (self.op.val().kind == self.alone_code.val());
        self.open.next = self.op_done.val() & (self.op.val().kind == self.open_code.val());
        self.append.next = self.op_done.val() & (self.op.val().kind == self.append_code.val());
        self.close.next = self.op_done.val() & (self.op.val().kind == self.close_code.val());
        self.admitted.m_ready.next = self.alone.val() | self.open.val() | self.append.val();
        self.held.waddr.next = self.op.val().session;
        self.held.wdata.next = self.admitted.m_data.val();
        self.held.wen.next = self.open.val();
        self.held.raddr.next = self.op.val().session;
        self.held.ren.next = self.close.val();
        self.closes.d.next = self.close.val();
        self.out.s_data.next = self.admitted.m_data.val();
        if self.closes.q.val() {
            self.out.s_data.next = self.held.rdata.val();
        }
        self.out.s_valid.next = self.alone.val() | self.closes.q.val();
        self.m_data.next = self.out.m_data.val();
        self.m_valid.next = self.out.m_valid.val();
        self.out.m_ready.next = self.m_ready.val();
    }
}
