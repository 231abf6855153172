//! Tokens of the one queue: ticks, a flush when buffers run out, a flush when the pipeline empties.
//!
//!   timer ─► FlushOld, Tick ─┐
//!   refused ─► FlushAll ─────┼──► pipeline          flushed: what each FlushAll comes back as
//!   drain ─► FlushAll ───────┤
//!   pins ────────────────────┘ when nothing of the above waits
//!
//! A refused frame asks for a flush only while none is under way: held sessions are what buffers
//! wait for. Invariants: `quiet` means that everything in front of the last FlushAll has been
//! delivered (`a_switch_loses_only_what_it_counts`); ticks come `time` * 64 cycles apart
//! (`the_timer_flushes`). Not here: what a token does.

use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use crate::stages::ingress::{TokenSink, TokenSource};
use groove_spec::TokenKind;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Flusher {
    /// Clock and reset.
    pub cr: ClkRst,
    /// From the pins.
    pub s: TokenSink,
    /// To the pipeline.
    pub m: TokenSource,
    /// Units of 64 cycles per tick; 0: none.
    pub period: Signal<In, Bits<16>>,
    /// Frames go through the pipeline.
    pub active: Signal<In, Bit>,
    /// A frame was refused.
    pub refused: Signal<In, Bit>,
    /// The pipeline is to empty.
    pub drain: Signal<In, Bit>,
    /// A FlushAll is through.
    pub flushed: Signal<In, Bit>,
    /// No FlushAll waits or is under way.
    pub quiet: Signal<Out, Bit>,
    cycles: RegR<Bits<22>>,
    want_all: RegR<Bit>,
    want_old: RegR<Bit>,
    want_tick: RegR<Bit>,
    open: RegR<Bits<8>>,
    others: Signal<Local, Bit>,
    own: Signal<Local, Bit>,
    units: Signal<Local, Bits<16>>,
    due: Signal<Local, Bit>,
    sends_all: Signal<Local, Bit>,
    one22: Constant<Bits<22>>,
    zero22: Constant<Bits<22>>,
    one: Constant<Bits<8>>,
    queue: Constant<Bits<5>>,
    all_code: Constant<Bits<2>>,
    old_code: Constant<Bits<2>>,
    tick_code: Constant<Bits<2>>,
}

impl Default for Flusher {
    fn default() -> Self {
        let code = |kind: TokenKind| Constant::new(usize::from(kind.code()).to_bits());
        Self {
            cr: Default::default(),
            s: Default::default(),
            m: Default::default(),
            period: Default::default(),
            active: Default::default(),
            refused: Default::default(),
            drain: Default::default(),
            flushed: Default::default(),
            quiet: Default::default(),
            cycles: Default::default(),
            want_all: Default::default(),
            want_old: Default::default(),
            want_tick: Default::default(),
            open: Default::default(),
            others: Default::default(),
            own: Default::default(),
            units: Default::default(),
            due: Default::default(),
            sends_all: Default::default(),
            one22: Constant::new(1usize.to_bits()),
            zero22: Constant::new(0usize.to_bits()),
            one: Constant::new(1usize.to_bits()),
            queue: Constant::new(0usize.to_bits()),
            all_code: code(TokenKind::FlushAll),
            old_code: code(TokenKind::FlushOld),
            tick_code: code(TokenKind::Tick),
        }
    }
}

impl Logic for Flusher {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_flusher");
        ClkRst::link(&mut self.cr, &mut self.cycles.cr);
        ClkRst::link(&mut self.cr, &mut self.want_all.cr);
        ClkRst::link(&mut self.cr, &mut self.want_old.cr);
        ClkRst::link(&mut self.cr, &mut self.want_tick.cr);
        ClkRst::link(&mut self.cr, &mut self.open.cr);

        // One token at a time; FlushOld goes in front of its Tick.
        self.own.next = self.want_all.q.val() | self.want_old.q.val() | self.want_tick.q.val();
        self.m.queue.next = self.queue.val();
        self.m.kind.next = self.tick_code.val();
        if self.want_all.q.val() {
            self.m.kind.next = self.all_code.val();
        } else if self.want_old.q.val() {
            self.m.kind.next = self.old_code.val();
        } else if !self.want_tick.q.val() {
            self.m.kind.next = self.s.kind.val();
        }
        // Not through `own`: a Local shared with `s.ready` would tie `valid` to `ready`.
        self.m.valid.next = self.want_all.q.val()
            | self.want_old.q.val()
            | self.want_tick.q.val()
            | self.s.valid.val();
        self.s.ready.next = self.m.ready.val() & !self.own.val();

        // What is asked for.
        self.units.next = self.cycles.q.val().get_bits::<16>(6);
        self.due.next =
            self.active.val() & self.period.val().any() & (self.units.val() >= self.period.val());
        self.cycles.d.next = self.cycles.q.val() + self.one22.val();
        if self.due.val() | !self.active.val() {
            self.cycles.d.next = self.zero22.val();
        }
        self.want_all.d.next = (self.want_all.q.val() & !self.m.ready.val())
            | self.drain.val()
            | (self.refused.val() & !self.want_all.q.val() & !self.open.q.val().any());
        self.want_old.d.next = (self.want_old.q.val()
            & !(self.m.ready.val() & !self.want_all.q.val()))
            | self.due.val();
        self.want_tick.d.next = (self.want_tick.q.val()
            & !(self.m.ready.val() & !self.want_all.q.val() & !self.want_old.q.val()))
            | self.due.val();

        // What is under way.
        self.others.next =
            !self.own.val() & self.s.valid.val() & (self.s.kind.val() == self.all_code.val());
        self.sends_all.next = self.m.ready.val() & (self.want_all.q.val() | self.others.val());
        self.open.d.next = self.open.q.val();
        if self.sends_all.val() & !self.flushed.val() {
            self.open.d.next = self.open.q.val() + self.one.val();
        } else if !self.sends_all.val() & self.flushed.val() {
            self.open.d.next = self.open.q.val() - self.one.val();
        }
        self.quiet.next = !self.want_all.q.val() & !self.open.q.val().any();
    }
}
