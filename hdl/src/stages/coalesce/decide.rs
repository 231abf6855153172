//! From facts to actions: what a frame does to its bucket.
//!
//!   Facts, Key, slot state ──► Action        combinational
//!
//! Follows gro-semantics §1.7: a session that ends is completed before the frame that ended it; the
//! oldest is evicted only for a frame that is held.
//! Invariants: at most two operations per frame (`operations_equal_the_model`); no session is
//! evicted while a candidate is still unchecked (`digest_collisions_never_merge`).
//! Not here: time. The FSM asks again when it has read the next session.

use super::rules::Facts;
use crate::comment;
use groove_spec::{EndReason, OpKind};
use rust_hdl::prelude::*;

/// What to do now.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Action {
    /// Read the next candidate.
    pub retry: Bit,
    /// Read the oldest session: it must go.
    pub to_victim: Bit,
    /// The frame joins the session.
    pub append: Bit,
    /// The frame opens a session.
    pub open: Bit,
    /// The session that was read is closed.
    pub close: Bit,
    /// It was the oldest one, evicted.
    pub evict: Bit,
    /// Code of `OpKind` of the frame's operation.
    pub kind: Bits<2>,
    /// Code of `EndReason` with `close`.
    pub reason: Bits<5>,
}

/// Computes the [`Action`].
#[derive(LogicBlock)]
pub struct Decide {
    /// Of the session that was read.
    pub facts: Signal<In, Facts>,
    /// The session that was read is a candidate.
    pub current: Signal<In, Bit>,
    /// The session that was read is the oldest one, to be evicted.
    pub victim: Signal<In, Bit>,
    /// There are more candidates.
    pub more: Signal<In, Bit>,
    /// The bucket has no free slot.
    pub full: Signal<In, Bit>,
    /// The frame reached the merge decision.
    pub candidate: Signal<In, Bit>,
    /// It is held unless it merges.
    pub hold: Signal<In, Bit>,
    /// It carries a flag that ends its session.
    pub ends: Signal<In, Bit>,
    /// Result.
    pub action: Signal<Out, Action>,
    out: Signal<Local, Action>,
    matched: Signal<Local, Bit>,
    merge: Signal<Local, Bit>,
    evict: Signal<Local, Bit>,
    may_join: Constant<Bits<5>>,
    flags: Constant<Bits<5>>,
    short: Constant<Bits<5>>,
    strict: Constant<Bits<5>>,
    evicted: Constant<Bits<5>>,
    alone_kind: Constant<Bits<2>>,
    open_kind: Constant<Bits<2>>,
    append_kind: Constant<Bits<2>>,
}

impl Default for Decide {
    fn default() -> Self {
        let reason = |r: EndReason| Constant::new(u64::from(r.code()).into());
        let kind = |k: OpKind| Constant::new(u64::from(k.code()).into());
        Self {
            facts: Default::default(),
            current: Default::default(),
            victim: Default::default(),
            more: Default::default(),
            full: Default::default(),
            candidate: Default::default(),
            hold: Default::default(),
            ends: Default::default(),
            action: Default::default(),
            out: Default::default(),
            matched: Default::default(),
            merge: Default::default(),
            evict: Default::default(),
            may_join: reason(EndReason::None),
            flags: reason(EndReason::Flags),
            short: reason(EndReason::Short),
            strict: reason(EndReason::StrictOrder),
            evicted: reason(EndReason::Evicted),
            alone_kind: kind(OpKind::Alone),
            open_kind: kind(OpKind::Open),
            append_kind: kind(OpKind::Append),
        }
    }
}

impl Logic for Decide {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_decide");
        self.matched.next = self.current.val() & self.facts.val().same;
        self.merge.next = self.matched.val()
            & self.candidate.val()
            & (self.facts.val().reason == self.may_join.val());
        self.evict.next = !self.matched.val() & self.hold.val() & self.full.val();
        self.out.next.retry = self.current.val() & !self.facts.val().same & self.more.val();
        self.out.next.to_victim = self.evict.val() & !self.victim.val();
        self.out.next.append = self.merge.val();
        self.out.next.open = !self.merge.val() & self.hold.val();
        self.out.next.evict = self.evict.val();
        self.out.next.kind = self.alone_kind.val();
        if self.merge.val() {
            self.out.next.kind = self.append_kind.val();
        } else if self.hold.val() {
            self.out.next.kind = self.open_kind.val();
        }
        self.out.next.close = self.evict.val() | (self.matched.val() & !self.merge.val());
        self.out.next.reason = self.evicted.val();
        if self.merge.val() {
            self.out.next.close = self.ends.val() | self.facts.val().short;
            self.out.next.reason = self.short.val();
            if self.ends.val() {
                self.out.next.reason = self.flags.val();
            }
        } else if self.matched.val() {
            self.out.next.reason = self.facts.val().reason;
            if !self.candidate.val() {
                self.out.next.reason = self.strict.val();
            }
        }
        self.action.next = self.out.val();
    }
}
