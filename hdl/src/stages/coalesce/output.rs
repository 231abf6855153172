//! From an action to operations: describes them, sends them, counts them.
//!
//!   Action, frame, session ──► describe ──► emitter ──► Raw        1 operation per clock
//!                                      └──► counters
//!
//! Follows gro-semantics §1.7, §2. Invariant: an operation counts when it is handed over, and each
//! is handed over once (`operations_equal_the_model`). Not here: decisions.

use super::decide::Action;
use super::describe::Describe;
use super::emitter::Emitter;
use super::key::Key;
use super::session::Session;
use super::ticks::Counters;
use crate::blocks::meta::FrameMeta;
use crate::blocks::op::RawSource;
use crate::blocks::reg::ClkRst;
use crate::comment;
use groove_spec::{EndReason, TokenKind};
use rust_hdl::prelude::*;

/// The output side of the stage.
#[derive(LogicBlock)]
pub struct Output {
    /// Clock and reset.
    pub cr: ClkRst,
    /// The frame's action is carried out.
    pub act: Signal<In, Bit>,
    /// A session is closed.
    pub closes: Signal<In, Bit>,
    /// A flush-all is through.
    pub mark: Signal<In, Bit>,
    /// By a flush.
    pub walking: Signal<In, Bit>,
    /// Code of `TokenKind`.
    pub token_kind: Signal<In, Bits<2>>,
    /// What the frame does.
    pub action: Signal<In, Action>,
    /// The session that is closed.
    pub session: Signal<In, Session>,
    /// Its header.
    pub stored: Signal<In, Bits<1024>>,
    /// The frame or token.
    pub meta: Signal<In, FrameMeta>,
    /// Its class.
    pub key: Signal<In, Key>,
    /// Its header.
    pub header: Signal<In, Bits<1024>>,
    /// Number of the session that is closed.
    pub close_index: Signal<In, Bits<10>>,
    /// Number of the frame's session.
    pub frame_index: Signal<In, Bits<10>>,
    /// Code of `Profile`.
    pub profile: Signal<In, Bits<2>>,
    /// Takes the next action.
    pub free: Signal<Out, Bit>,
    /// Operations.
    pub m: RawSource,
    /// Counter.
    pub gro_packets: Signal<Out, Bits<32>>,
    /// Counter.
    pub gro_wire_packets: Signal<Out, Bits<32>>,
    /// Counter.
    pub evictions: Signal<Out, Bits<32>>,
    describe: Describe,
    emitter: Emitter,
    counters: Counters,
    reason: Signal<Local, Bits<5>>,
    flush_all: Constant<Bits<2>>,
    all_reason: Constant<Bits<5>>,
    old_reason: Constant<Bits<5>>,
}

impl Default for Output {
    fn default() -> Self {
        let reason = |reason: EndReason| Constant::new(u64::from(reason.code()).into());
        Self {
            cr: Default::default(),
            act: Default::default(),
            closes: Default::default(),
            mark: Default::default(),
            walking: Default::default(),
            token_kind: Default::default(),
            action: Default::default(),
            session: Default::default(),
            stored: Default::default(),
            meta: Default::default(),
            key: Default::default(),
            header: Default::default(),
            close_index: Default::default(),
            frame_index: Default::default(),
            profile: Default::default(),
            free: Default::default(),
            m: Default::default(),
            gro_packets: Default::default(),
            gro_wire_packets: Default::default(),
            evictions: Default::default(),
            describe: Default::default(),
            emitter: Default::default(),
            counters: Default::default(),
            reason: Default::default(),
            flush_all: Constant::new(u64::from(TokenKind::FlushAll.code()).into()),
            all_reason: reason(EndReason::FlushAll),
            old_reason: reason(EndReason::FlushOld),
        }
    }
}

impl Logic for Output {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_output");
        ClkRst::link(&mut self.cr, &mut self.emitter.cr);
        ClkRst::link(&mut self.cr, &mut self.counters.cr);
        RawSource::link(&mut self.m, &mut self.emitter.m);
        self.reason.next = self.action.val().reason;
        if self.walking.val() {
            self.reason.next = self.old_reason.val();
            if self.token_kind.val() == self.flush_all.val() {
                self.reason.next = self.all_reason.val();
            }
        }
        self.describe.queue.next = self.meta.val().queue;
        self.describe.reason.next = self.reason.val();
        self.describe.session.next = self.session.val();
        self.describe.close_index.next = self.close_index.val();
        self.describe.meta.next = self.meta.val();
        self.describe.key.next = self.key.val();
        self.describe.frame_index.next = self.frame_index.val();
        self.describe.kind.next = self.action.val().kind;
        self.describe.profile.next = self.profile.val();
        self.describe.mark.next = self.mark.val();
        self.emitter.close.next = self.closes.val() | self.mark.val();
        self.emitter.frame.next = self.act.val();
        self.emitter.frame_first.next = self.action.val().append;
        self.emitter.closing.next = self.describe.closing.val();
        self.emitter.fix.next = self.describe.fix.val();
        self.emitter.stored.next = self.stored.val();
        self.emitter.framed.next = self.describe.framed.val();
        self.emitter.header.next = self.header.val();
        self.free.next = self.emitter.free.val();
        self.counters.close.next = self.closes.val();
        self.counters.segments.next = self.session.val().count;
        self.counters.evict.next = self.act.val() & self.action.val().evict;
        self.gro_packets.next = self.counters.gro_packets.val();
        self.gro_wire_packets.next = self.counters.gro_wire_packets.val();
        self.evictions.next = self.counters.evictions.val();
    }
}
