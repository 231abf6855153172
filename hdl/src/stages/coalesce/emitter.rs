//! Hands up to two operations per frame to the output while the FSM works on the next frame.
//!
//!   closing, stored header ──►[ close ]──┐
//!                                        ├──► Raw       1 operation per clock
//!   framed, frame header   ──►[ frame ]──┘
//!
//! Follows gro-semantics §1.7: a session that ends is completed before the frame that ended it.
//! Invariants: `free` depends on registers alone, so that the way from `m.ready` ends here; an
//! operation stays until it is taken (`stalls_change_nothing`). Not here: header fix-up.

use crate::blocks::op::{Fix, Operation, RawSource};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// The emitter.
#[derive(LogicBlock)]
pub struct Emitter {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Takes a session's operation; only while `free`.
    pub close: Signal<In, Bit>,
    /// Takes a frame's operation; only while `free`.
    pub frame: Signal<In, Bit>,
    /// Of two, the frame's comes first.
    pub frame_first: Signal<In, Bit>,
    /// The session's operation.
    pub closing: Signal<In, Operation>,
    /// What its header needs.
    pub fix: Signal<In, Fix>,
    /// Its header as stored.
    pub stored: Signal<In, Bits<1024>>,
    /// The frame's operation.
    pub framed: Signal<In, Operation>,
    /// Its header.
    pub header: Signal<In, Bits<1024>>,
    /// Nothing waits.
    pub free: Signal<Out, Bit>,
    /// Operations.
    pub m: RawSource,
    close_waits: RegR<Bit>,
    frame_waits: RegR<Bit>,
    close_op: RegE<Operation>,
    close_fix: RegE<Fix>,
    close_header: RegE<Bits<1024>>,
    frame_op: RegE<Operation>,
    frame_header: RegE<Bits<1024>>,
    frame_leads: RegE<Bit>,
    close_turn: Signal<Local, Bit>,
    no_fix: Constant<Fix>,
}

impl Default for Emitter {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            close: Default::default(),
            frame: Default::default(),
            frame_first: Default::default(),
            closing: Default::default(),
            fix: Default::default(),
            stored: Default::default(),
            framed: Default::default(),
            header: Default::default(),
            free: Default::default(),
            m: Default::default(),
            close_waits: Default::default(),
            frame_waits: Default::default(),
            close_op: Default::default(),
            close_fix: Default::default(),
            close_header: Default::default(),
            frame_op: Default::default(),
            frame_header: Default::default(),
            frame_leads: Default::default(),
            close_turn: Default::default(),
            no_fix: Constant::new(Fix::default()),
        }
    }
}

impl Logic for Emitter {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_emitter");
        ClkRst::link(&mut self.cr, &mut self.close_waits.cr);
        ClkRst::link(&mut self.cr, &mut self.frame_waits.cr);
        ClkRst::link(&mut self.cr, &mut self.close_op.cr);
        ClkRst::link(&mut self.cr, &mut self.close_fix.cr);
        ClkRst::link(&mut self.cr, &mut self.close_header.cr);
        ClkRst::link(&mut self.cr, &mut self.frame_op.cr);
        ClkRst::link(&mut self.cr, &mut self.frame_header.cr);
        ClkRst::link(&mut self.cr, &mut self.frame_leads.cr);
        self.close_op.en.next = self.close.val();
        self.close_op.d.next = self.closing.val();
        self.close_fix.en.next = self.close.val();
        self.close_fix.d.next = self.fix.val();
        self.close_header.en.next = self.close.val();
        self.close_header.d.next = self.stored.val();
        self.frame_op.en.next = self.frame.val();
        self.frame_op.d.next = self.framed.val();
        self.frame_header.en.next = self.frame.val();
        self.frame_header.d.next = self.header.val();
        self.frame_leads.en.next = self.frame.val();
        self.frame_leads.d.next = self.frame_first.val();
        self.free.next = !self.close_waits.q.val() & !self.frame_waits.q.val();

        self.close_turn.next =
            self.close_waits.q.val() & !(self.frame_waits.q.val() & self.frame_leads.q.val());
        self.m.valid.next = self.close_waits.q.val() | self.frame_waits.q.val();
        if self.close_turn.val() {
            self.m.meta.next = self.close_op.q.val();
            self.m.fix.next = self.close_fix.q.val();
            self.m.header.next = self.close_header.q.val();
        } else {
            self.m.meta.next = self.frame_op.q.val();
            self.m.fix.next = self.no_fix.val();
            self.m.header.next = self.frame_header.q.val();
        }
        self.close_waits.d.next = self.close.val()
            | (self.close_waits.q.val() & !(self.close_turn.val() & self.m.ready.val()));
        self.frame_waits.d.next = self.frame.val()
            | (self.frame_waits.q.val() & (self.close_turn.val() | !self.m.ready.val()));
    }
}
