//! The two logs of ingress: frames dropped at their first beat, and tokens.
//!
//!   judged beat ──►[ valid, number ]──► drop_in        1 cycle
//!              └──►[ valid, entry ]───► token log
//!
//! Invariants: one line for each frame refused (`ingress_lossy_never_stalls`); one line for each
//! token, with the number of the frame behind it (`ingress_keeps_tokens_between_frames`). Not here:
//! counters.

use super::{DropLog, TokenLog};
use crate::blocks::axis::BeatInfo;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use groove_spec::DropReason;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Logs {
    /// Clock and reset.
    pub cr: ClkRst,
    /// `entry` is judged in this cycle.
    pub fire: Signal<In, Bit>,
    /// The frame that starts with it, or whose place it takes, is dropped.
    pub refuse: Signal<In, Bit>,
    /// A beat or a token.
    pub entry: Signal<In, BeatInfo>,
    /// Frames dropped whole at their first beat.
    pub drop_in: DropLog,
    /// Tokens taken.
    pub token_log: TokenLog,
    drop_valid: RegR<Bit>,
    token_valid: RegR<Bit>,
    held: RegE<BeatInfo>,
    because_overflow: Constant<Bits<3>>,
}

impl Default for Logs {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            fire: Default::default(),
            refuse: Default::default(),
            entry: Default::default(),
            drop_in: Default::default(),
            token_log: Default::default(),
            drop_valid: Default::default(),
            token_valid: Default::default(),
            held: Default::default(),
            because_overflow: Constant::new(u64::from(DropReason::Overflow.code()).into()),
        }
    }
}

impl Logic for Logs {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: ingress_logs");
        ClkRst::link(&mut self.cr, &mut self.drop_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.token_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.held.cr);
        self.drop_valid.d.next = self.fire.val() & self.refuse.val();
        self.token_valid.d.next = self.fire.val() & self.entry.val().is_token;
        self.held.en.next = self.fire.val();
        self.held.d.next = self.entry.val();
        self.drop_in.valid.next = self.drop_valid.q.val();
        self.drop_in.frame.next = self.held.q.val().frame;
        self.drop_in.reason.next = self.because_overflow.val();
        self.token_log.valid.next = self.token_valid.q.val();
        self.token_log.queue.next = self.held.q.val().queue;
        self.token_log.kind.next = self.held.q.val().token_kind;
        self.token_log.frame.next = self.held.q.val().frame;
    }
}
