//! The order of events: clears the tags after reset, takes frames and tokens, times the RAM
//! accesses.
//!
//!   frame:  Tag ─► Match ─► Read ─► Decide ─┬─► Tag of the next frame    4 cycles
//!                             ▲─────────────┘    +2 per false candidate, +2 to evict then
//!   tick:   Tag ─► Match                                                 2 cycles
//!   flush:  Tag ─► WalkTag ─► WalkPick ─► WalkClose ─► WalkTag ..        3 per session
//!                              ▲──┘ empty bucket: 1
//!           flush-all then: ─► Mark                          1
//!
//! Tag presents the tag address; Match sees the tag word and presents the session's address; Read
//! compares; Decide acts. WalkPick goes on to the next bucket while buckets are empty. Mark says
//! that a flush-all is through.
//!
//! Follows gro-semantics §1.9 (flush and ageing). Invariants: 4 cycles per frame whatever it does,
//! unless digests collide (`four_cycles_per_frame`); a flush is bounded (`walks_are_bounded`);
//! `ready` depends on registers alone, apart from `emit_free`, which is one. Not here: data.

use super::decide::Action;
use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use groove_spec::TokenKind;
use rust_hdl::prelude::*;

/// States; the first one is that of reset.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum State {
    /// Empties all tag words and ticks.
    Clear,
    /// Waits for a frame or a token, or has one.
    Tag,
    /// The tag word is there.
    Match,
    /// A session is there.
    Read,
    /// The session was compared.
    Decide,
    /// Next bucket of a flush, or the same again.
    WalkTag,
    /// Its tag word is there.
    WalkPick,
    /// Its oldest session is there.
    WalkClose,
    /// All sessions of a flush-all are closed.
    Mark,
}

/// The FSM.
#[derive(LogicBlock)]
pub struct Control {
    /// Clock and reset.
    pub cr: ClkRst,
    /// A frame or token is offered.
    pub offered: Signal<In, Bit>,
    /// The frame register holds a token.
    pub is_token: Signal<In, Bit>,
    /// Code of `TokenKind`.
    pub token_kind: Signal<In, Bits<2>>,
    /// The token's queue exists.
    pub queue_exists: Signal<In, Bit>,
    /// What the frame does.
    pub action: Signal<In, Action>,
    /// The bucket holds a session.
    pub occupied: Signal<In, Bit>,
    /// The session was opened in the current tick.
    pub young: Signal<In, Bit>,
    /// The emitter has room.
    pub emit_free: Signal<In, Bit>,
    /// The frame register takes what is offered.
    pub take: Signal<Out, Bit>,
    /// All tags are cleared.
    pub cleared: Signal<Out, Bit>,
    /// Writes empty tags at `clear_address`.
    pub clear: Signal<Out, Bit>,
    /// Tag word to empty.
    pub clear_address: Signal<Out, Bits<10>>,
    /// Reads a tag word and the tick.
    pub read_tag: Signal<Out, Bit>,
    /// A flush is at work.
    pub walking: Signal<Out, Bit>,
    /// Bucket of a flush.
    pub bucket: Signal<Out, Bits<5>>,
    /// Bucket that a flush reads now.
    pub bucket_ahead: Signal<Out, Bits<5>>,
    /// In `Match`.
    pub matching: Signal<Out, Bit>,
    /// In `Read`.
    pub comparing: Signal<Out, Bit>,
    /// Chooses the next candidate, not the oldest session.
    pub retry: Signal<Out, Bit>,
    /// Reads a session.
    pub read_session: Signal<Out, Bit>,
    /// In `Decide`, for good: the action is carried out.
    pub act: Signal<Out, Bit>,
    /// Closes the oldest session of a flush.
    pub walk_close: Signal<Out, Bit>,
    /// Says that a flush-all is through.
    pub mark: Signal<Out, Bit>,
    /// Stores the advanced tick.
    pub advance_tick: Signal<Out, Bit>,
    state: RegR<State>,
    full: RegR<Bit>,
    walk: RegR<Bits<5>>,
    address: RegR<Bits<10>>,
    leaves: Signal<Local, Bit>,
    ahead: Signal<Local, Bits<5>>,
    last_bucket: Constant<Bits<5>>,
    last_word: Constant<Bits<10>>,
    first_bucket: Constant<Bits<5>>,
    one5: Constant<Bits<5>>,
    one10: Constant<Bits<10>>,
    tick: Constant<Bits<2>>,
    flush_old: Constant<Bits<2>>,
    flush_all: Constant<Bits<2>>,
}

impl Control {
    /// For `words` tag words, `buckets` of them per queue.
    pub fn new(words: usize, buckets: usize) -> Self {
        let kind = |kind: TokenKind| Constant::new(u64::from(kind.code()).into());
        Self {
            cr: Default::default(),
            offered: Default::default(),
            is_token: Default::default(),
            token_kind: Default::default(),
            queue_exists: Default::default(),
            action: Default::default(),
            occupied: Default::default(),
            young: Default::default(),
            emit_free: Default::default(),
            take: Default::default(),
            cleared: Default::default(),
            clear: Default::default(),
            clear_address: Default::default(),
            read_tag: Default::default(),
            walking: Default::default(),
            bucket: Default::default(),
            bucket_ahead: Default::default(),
            matching: Default::default(),
            comparing: Default::default(),
            retry: Default::default(),
            read_session: Default::default(),
            act: Default::default(),
            walk_close: Default::default(),
            mark: Default::default(),
            advance_tick: Default::default(),
            state: Default::default(),
            full: Default::default(),
            walk: Default::default(),
            address: Default::default(),
            leaves: Default::default(),
            ahead: Default::default(),
            last_bucket: Constant::new((buckets as u64 - 1).into()),
            last_word: Constant::new((words as u64 - 1).into()),
            first_bucket: Constant::new(0.into()),
            one5: Constant::new(1.into()),
            one10: Constant::new(1.into()),
            tick: kind(TokenKind::Tick),
            flush_old: kind(TokenKind::FlushOld),
            flush_all: kind(TokenKind::FlushAll),
        }
    }
}

impl Logic for Control {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_control");
        ClkRst::link(&mut self.cr, &mut self.state.cr);
        ClkRst::link(&mut self.cr, &mut self.full.cr);
        ClkRst::link(&mut self.cr, &mut self.walk.cr);
        ClkRst::link(&mut self.cr, &mut self.address.cr);
        self.state.d.next = self.state.q.val();
        self.full.d.next = self.full.q.val();
        self.ahead.next = self.walk.q.val();
        self.retry.next = false;
        self.address.d.next = self.address.q.val();
        self.take.next = false;
        self.cleared.next = self.state.q.val() != State::Clear;
        self.clear.next = self.state.q.val() == State::Clear;
        self.read_tag.next = false;
        self.walking.next = false;
        self.matching.next = self.state.q.val() == State::Match;
        self.comparing.next = self.state.q.val() == State::Read;
        self.read_session.next = false;
        self.act.next = false;
        self.walk_close.next = false;
        self.mark.next = false;
        self.advance_tick.next = false;
        self.leaves.next = false;
        match self.state.q.val() {
            State::Clear => {
                self.address.d.next = self.address.q.val() + self.one10.val();
                if self.address.q.val() == self.last_word.val() {
                    self.state.d.next = State::Tag;
                }
            }
            State::Tag => {
                if !self.full.q.val() {
                    self.take.next = true;
                    self.full.d.next = self.offered.val();
                } else if !self.is_token.val() {
                    self.read_tag.next = true;
                    self.state.d.next = State::Match;
                } else if !self.queue_exists.val() {
                    self.full.d.next = false;
                } else {
                    self.read_tag.next = true;
                    self.ahead.next = self.first_bucket.val();
                    self.state.d.next = State::WalkTag;
                    if self.token_kind.val() == self.tick.val() {
                        self.state.d.next = State::Match;
                    }
                }
            }
            State::Match => {
                self.read_session.next = true;
                self.state.d.next = State::Read;
                if self.is_token.val() {
                    self.advance_tick.next = true;
                    self.full.d.next = false;
                    self.state.d.next = State::Tag;
                }
            }
            State::Read => {
                self.state.d.next = State::Decide;
            }
            State::Decide => {
                if self.action.val().retry | self.action.val().to_victim {
                    self.retry.next = self.action.val().retry;
                    self.read_session.next = true;
                    self.state.d.next = State::Read;
                } else if self.emit_free.val() {
                    self.act.next = true;
                    self.take.next = true;
                    self.full.d.next = self.offered.val();
                    self.state.d.next = State::Tag;
                }
            }
            State::WalkTag => {
                self.walking.next = true;
                self.read_tag.next = true;
                self.state.d.next = State::WalkPick;
            }
            State::WalkPick => {
                self.walking.next = true;
                self.read_session.next = true;
                self.state.d.next = State::WalkClose;
                self.read_tag.next = !self.occupied.val();
                self.leaves.next = !self.occupied.val();
            }
            State::WalkClose => {
                self.walking.next = true;
                if (self.token_kind.val() == self.flush_old.val()) & self.young.val() {
                    self.read_tag.next = true;
                    self.leaves.next = true;
                } else if self.emit_free.val() {
                    self.walk_close.next = true;
                    self.state.d.next = State::WalkTag;
                }
            }
            State::Mark => {
                if self.emit_free.val() {
                    self.mark.next = true;
                    self.full.d.next = false;
                    self.state.d.next = State::Tag;
                }
            }
            _ => {}
        }
        if self.leaves.val() {
            self.ahead.next = self.walk.q.val() + self.one5.val();
            self.state.d.next = State::WalkPick;
            if self.walk.q.val() == self.last_bucket.val() {
                self.state.d.next = State::Mark;
                if self.token_kind.val() != self.flush_all.val() {
                    self.full.d.next = false;
                    self.state.d.next = State::Tag;
                }
            }
        }
        self.walk.d.next = self.ahead.val();
        self.bucket.next = self.walk.q.val();
        self.bucket_ahead.next = self.ahead.val();
        self.clear_address.next = self.address.q.val();
    }
}
