//! Tokens of all sources in one stream, and whose marker it is that comes back.
//!
//!   external, stop, expiry, tick ──► one after the other ──►[ register ]──► pipeline
//!                                                       └─►[ FIFO: whose ]◄── flushed
//!
//! The sources take turns; a source without a token passes its turn on. A tick is two tokens in a
//! row: FlushOld, then Tick.
//!
//! Each FlushAll of a queue that was built comes back as one `flushed`, in order; at most 64 are
//! under way, and the next waits.
//!
//! Invariants: every source gets its turn, nothing is lost while the pipeline stalls, FlushOld and
//! Tick stay together (`tokens_take_turns`); a marker reaches who asked for it
//! (`markers_find_their_source`). Not here: when a token is due.

use crate::blocks::bits::ZExt;
use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::{EventSink, EventSource};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::stages::ingress::{TokenSink, TokenSource};
use groove_spec::TokenKind;
use rust_hdl::prelude::*;

/// Who asked for a token.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Asker {
    /// The pins.
    External,
    /// The queue stops.
    Stop,
    /// A moderation time is over.
    Expiry,
    /// A tick is due.
    Tick,
}

/// See the module.
#[derive(LogicBlock)]
pub struct Tokens {
    /// Clock and reset.
    pub cr: ClkRst,
    /// From the pins.
    pub s: TokenSink,
    /// FlushAll of a queue that stops.
    pub stop_queue: Signal<In, Bits<5>>,
    pub stop_valid: Signal<In, Bit>,
    pub stop_ready: Signal<Out, Bit>,
    /// FlushAll of a queue whose moderation time is over.
    pub expire_queue: Signal<In, Bits<5>>,
    pub expire_valid: Signal<In, Bit>,
    pub expire_ready: Signal<Out, Bit>,
    /// FlushOld and Tick.
    pub tick_queue: Signal<In, Bits<5>>,
    pub tick_valid: Signal<In, Bit>,
    pub tick_ready: Signal<Out, Bit>,
    /// To the pipeline.
    pub m: TokenSource,
    /// A FlushAll is through.
    pub flushed: EventSink,
    /// It was the one of the queue that stops.
    pub stop_flushed: Signal<Out, Bit>,
    /// It was one of an expiry.
    pub expire_flushed: EventSource,
    turn: RegR<Asker>,
    half: RegR<Bit>,
    valid: RegR<Bit>,
    queue: RegE<Bits<5>>,
    kind: RegE<Bits<2>>,
    asker: RegR<Asker>,
    under_way: Fifo<Asker, 6>,
    queue6: Signal<Local, Bits<6>>,
    free: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    comes: Signal<Local, Bit>,
    built: Constant<Bits<6>>,
    flush_all: Constant<Bits<2>>,
    flush_old: Constant<Bits<2>>,
    tick: Constant<Bits<2>>,
}

impl Tokens {
    /// For so many queues.
    pub fn new(queues: usize) -> Self {
        let code = |kind: TokenKind| Constant::new(usize::from(kind.code()).to_bits());
        Self {
            cr: Default::default(),
            s: Default::default(),
            stop_queue: Default::default(),
            stop_valid: Default::default(),
            stop_ready: Default::default(),
            expire_queue: Default::default(),
            expire_valid: Default::default(),
            expire_ready: Default::default(),
            tick_queue: Default::default(),
            tick_valid: Default::default(),
            tick_ready: Default::default(),
            m: Default::default(),
            flushed: Default::default(),
            stop_flushed: Default::default(),
            expire_flushed: Default::default(),
            turn: Default::default(),
            half: Default::default(),
            valid: Default::default(),
            queue: Default::default(),
            kind: Default::default(),
            asker: Default::default(),
            under_way: Default::default(),
            queue6: Default::default(),
            free: Default::default(),
            load: Default::default(),
            comes: Default::default(),
            built: Constant::new(queues.to_bits()),
            flush_all: code(TokenKind::FlushAll),
            flush_old: code(TokenKind::FlushOld),
            tick: code(TokenKind::Tick),
        }
    }
}

impl Logic for Tokens {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.turn.cr);
        ClkRst::link(&mut self.cr, &mut self.half.cr);
        ClkRst::link(&mut self.cr, &mut self.valid.cr);
        ClkRst::link(&mut self.cr, &mut self.queue.cr);
        ClkRst::link(&mut self.cr, &mut self.kind.cr);
        ClkRst::link(&mut self.cr, &mut self.asker.cr);
        ClkRst::link(&mut self.cr, &mut self.under_way.cr);

        // A token is taken only if its marker will find room.
        self.free.next = !self.valid.q.val() & !self.under_way.almost.val();
        self.load.next = false;
        self.s.ready.next = !self.valid.q.val()
            & !self.under_way.almost.val()
            & (self.turn.q.val() == Asker::External);
        self.stop_ready.next = self.free.val() & (self.turn.q.val() == Asker::Stop);
        self.expire_ready.next = self.free.val() & (self.turn.q.val() == Asker::Expiry);
        self.tick_ready.next =
            self.free.val() & (self.turn.q.val() == Asker::Tick) & self.half.q.val();
        self.turn.d.next = self.turn.q.val();
        self.half.d.next = self.half.q.val();
        self.asker.d.next = self.asker.q.val();
        self.queue.en.next = self.free.val();
        self.kind.en.next = self.free.val();
        self.queue.d.next = self.s.queue.val();
        self.kind.d.next = self.flush_all.val();
        if self.free.val() {
            self.asker.d.next = self.turn.q.val();
            match self.turn.q.val() {
                Asker::External => {
                    self.kind.d.next = self.s.kind.val();
                    self.load.next = self.s.valid.val();
                    self.turn.d.next = Asker::Stop;
                }
                Asker::Stop => {
                    self.queue.d.next = self.stop_queue.val();
                    self.load.next = self.stop_valid.val();
                    self.turn.d.next = Asker::Expiry;
                }
                Asker::Expiry => {
                    self.queue.d.next = self.expire_queue.val();
                    self.load.next = self.expire_valid.val();
                    self.turn.d.next = Asker::Tick;
                }
                Asker::Tick => {
                    self.queue.d.next = self.tick_queue.val();
                    self.load.next = self.tick_valid.val();
                    self.turn.d.next = Asker::External;
                    if self.half.q.val() {
                        self.kind.d.next = self.tick.val();
                        self.half.d.next = false;
                    } else {
                        self.kind.d.next = self.flush_old.val();
                        if self.tick_valid.val() {
                            self.half.d.next = true;
                            self.turn.d.next = Asker::Tick;
                        }
                    }
                }
                _ => {}
            }
        }
        self.valid.d.next = self.load.val() | (self.valid.q.val() & !self.m.ready.val());
        self.m.queue.next = self.queue.q.val();
        self.m.kind.next = self.kind.q.val();
        self.m.valid.next = self.valid.q.val();

        // Whose marker comes next.
        self.queue6.next = self.queue.q.val().to_bits();
        self.under_way.s_data.next = self.asker.q.val();
        self.under_way.s_valid.next = self.valid.q.val()
            & self.m.ready.val()
            & (self.kind.q.val() == self.flush_all.val())
            & (self.queue6.val() < self.built.val());
        self.comes.next = self.flushed.valid.val() & self.under_way.m_valid.val();
        self.under_way.m_ready.next = self.flushed.valid.val();
        self.stop_flushed.next = self.comes.val() & (self.under_way.m_data.val() == Asker::Stop);
        self.expire_flushed.valid.next =
            self.comes.val() & (self.under_way.m_data.val() == Asker::Expiry);
        self.expire_flushed.queue.next = self.flushed.queue.val();
    }
}
