//! What came in a cycle: a beat, a token, or a token in the place of the frame whose beat it meets.
//!
//!   s_axis, token ──►[ data, info, tail ]──► judgement        1 cycle
//!
//! A token is a last beat without bytes; `drop` in it says that a frame makes way for it, of which
//! `tail` tells whether its first beat was its last.
//!
//! Invariant: as `ingress_lossy_starves_no_token`. Not here: whether it is taken.

use crate::blocks::axis::BeatInfo;
use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock, Default)]
pub struct Arrival<const W: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// The beat on `s_axis`, and how many bytes it has.
    pub data: Signal<In, Bits<W>>,
    pub bytes: Signal<In, Bits<7>>,
    pub last: Signal<In, Bit>,
    pub user: Signal<In, Bit>,
    /// The token beside it.
    pub kind: Signal<In, Bits<2>>,
    pub queue: Signal<In, Bits<5>>,
    /// The beat is taken; the token is.
    pub take: Signal<In, Bit>,
    pub take_token: Signal<In, Bit>,
    /// What was taken.
    pub beat: Signal<Out, Bits<W>>,
    pub info: Signal<Out, BeatInfo>,
    /// The beat on `s_axis` was its frame's last.
    pub tail: Signal<Out, Bit>,
    beats: RegE<Bits<W>>,
    infos: RegE<BeatInfo>,
    tails: RegE<Bit>,
    now: Signal<Local, BeatInfo>,
}

impl<const W: usize> Logic for Arrival<W> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: ingress_arrival");
        ClkRst::link(&mut self.cr, &mut self.beats.cr);
        ClkRst::link(&mut self.cr, &mut self.infos.cr);
        ClkRst::link(&mut self.cr, &mut self.tails.cr);
        self.now.next = self.infos.q.val();
        self.now.next.bytes = self.bytes.val();
        self.now.next.last = self.last.val() | self.take_token.val();
        self.now.next.is_token = self.take_token.val();
        self.now.next.token_kind = self.kind.val();
        self.now.next.queue = self.queue.val();
        self.now.next.drop = self.user.val();
        if self.take_token.val() {
            self.now.next.drop = self.take.val();
        }
        self.beats.en.next = self.take.val();
        self.beats.d.next = self.data.val();
        self.infos.en.next = self.take.val() | self.take_token.val();
        self.infos.d.next = self.now.val();
        self.tails.en.next = self.take.val() | self.take_token.val();
        self.tails.d.next = self.last.val();
        self.beat.next = self.beats.q.val();
        self.info.next = self.infos.q.val();
        self.tail.next = self.tails.q.val();
    }
}
