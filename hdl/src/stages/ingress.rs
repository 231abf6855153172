//! Frames and tokens in: counts bytes, zeroes what is not kept, marks what must be rolled back.
//!
//!   s_axis ──►[ count keep ]──►[ mask, judge ]──►[ beat FIFO ]──► m      4 cycles when idle
//!   token  ──────────────────────────┘
//!
//! Follows AXI4-Stream (tkeep contiguous, all ones but in the last beat) and IEEE 802.3 (runt:
//! below one header of 14 bytes). A frame longer than `max_frame` ends in the beat that crosses the
//! limit; the rest is swallowed. LOSSLESS = 1: `tready` follows the room. LOSSLESS = 0: `tready`
//! stays high; a frame whose first beat finds no room is dropped whole and logged, one that runs
//! out of room later ends in a beat that was kept free for that, marked as overflow. A token enters
//! between two frames only, before a first beat offered in the same cycle, which waits. With
//! LOSSLESS = 0 no beat waits, but the token, for a cycle without one; when it has waited for 255
//! cycles it takes the place of the next frame, which is dropped whole as an overflow.
//!
//! Invariants: every received frame takes one number, from 0 (`ingress_marks_bad_frames`); bytes
//! beyond the end are zero (same test); a frame leaves whole or with a marked last beat (same test,
//! `ingress_lossy_never_stalls`, `ingress_lossy_takes_tokens_in_gaps`); a token waits for a bounded
//! time without gaps, too (`ingress_lossy_starves_no_token`); tokens stay between frames
//! (`ingress_keeps_tokens_between_frames`), and the log says between which (same test). Not here:
//! any look into the frame.

mod arrival;
mod logs;
mod patience;

use crate::blocks::axis::{AxisRxSink, BeatInfo, BeatSource};
use crate::blocks::beat_fifo::BeatFifo;
use crate::blocks::bits::ZExt;
use crate::blocks::keep::{KeepCount, TailMask};
use crate::blocks::reg::{ClkRst, RegR};
use arrival::Arrival;
use groove_spec::{DropReason, MAX_FRAME_BYTES, MIN_FRAME_BYTES};
use logs::Logs;
use patience::Patience;
use rust_hdl::prelude::*;

/// Flush tokens in.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "TokenSource"]
pub struct TokenSink {
    /// Queue that the token names.
    pub queue: Signal<In, Bits<5>>,
    /// Code of `TokenKind`.
    pub kind: Signal<In, Bits<2>>,
    /// A token is offered.
    pub valid: Signal<In, Bit>,
    /// It is taken.
    pub ready: Signal<Out, Bit>,
}

/// The other end of [`TokenSink`].
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "TokenSink"]
pub struct TokenSource {
    /// Queue that the token names.
    pub queue: Signal<Out, Bits<5>>,
    /// Code of `TokenKind`.
    pub kind: Signal<Out, Bits<2>>,
    /// A token is offered.
    pub valid: Signal<Out, Bit>,
    /// It is taken.
    pub ready: Signal<In, Bit>,
}

/// One line of a drop log.
#[derive(LogicInterface, Default, Clone, Debug)]
pub struct DropLog {
    /// A frame was dropped in this cycle.
    pub valid: Signal<Out, Bit>,
    /// Its number.
    pub frame: Signal<Out, Bits<32>>,
    /// Code of `DropReason`.
    pub reason: Signal<Out, Bits<3>>,
}

/// One line of the log of tokens: between which frames each of them entered.
#[derive(LogicInterface, Default, Clone, Debug)]
pub struct TokenLog {
    /// A token entered in this cycle.
    pub valid: Signal<Out, Bit>,
    /// Its queue.
    pub queue: Signal<Out, Bits<5>>,
    /// Code of `TokenKind`.
    pub kind: Signal<Out, Bits<2>>,
    /// Number of the frame behind it.
    pub frame: Signal<Out, Bits<32>>,
}

/// What the judging half knows of the frame.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum IngressState {
    /// Between frames.
    Idle,
    /// Inside a frame that is passed on.
    Pass,
    /// Inside a frame whose rest is swallowed.
    Swallow,
}

/// The stage.
#[derive(LogicBlock)]
pub struct Ingress<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Frames in.
    pub s: AxisRxSink<W, K>,
    /// Tokens in.
    pub token: TokenSink,
    /// Beats and tokens out.
    pub m: BeatSource<W>,
    /// Nothing is taken before this is high.
    pub open: Signal<In, Bit>,
    /// Longest frame that is not dropped.
    pub max_frame: Signal<In, Bits<14>>,
    /// Frames received.
    pub frames: Signal<Out, Bits<32>>,
    /// Frames dropped for want of room.
    pub drop_overflow: Signal<Out, Bits<32>>,
    /// Frames dropped whole at their first beat.
    pub drop_in: DropLog,
    /// Tokens taken.
    pub token_log: TokenLog,
    count: KeepCount<K>,
    mask: TailMask<W>,
    fifo: BeatFifo<W, 6>,
    // first half: the beat as it came, and its length
    in_frame: RegR<Bit>,
    a_valid: RegR<Bit>,
    arrival: Arrival<W>,
    a_free: Signal<Local, Bit>,
    token_ok: Signal<Local, Bit>,
    beat_ok: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    take_token: Signal<Local, Bit>,
    patience: Patience,
    // second half: judgement
    state: RegR<IngressState>,
    total: RegR<Bits<14>>,
    number: RegR<Bits<32>>,
    overflows: RegR<Bits<32>>,
    limit: RegR<Bits<14>>,
    logs: Logs,
    sum: Signal<Local, Bits<14>>,
    bytes14: Signal<Local, Bits<14>>,
    over: Signal<Local, Bit>,
    runt: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    entry: Signal<Local, BeatInfo>,
    fire: Signal<Local, Bit>,
    displaced: Signal<Local, Bit>,
    refuse: Signal<Local, Bit>,
    cut: Signal<Local, Bit>,
    lossless: Constant<Bit>,
    one: Constant<Bits<32>>,
    zero14: Constant<Bits<14>>,
    bytes_max: Constant<Bits<14>>,
    bytes_min: Constant<Bits<14>>,
    because_runt: Constant<Bits<3>>,
    because_oversize: Constant<Bits<3>>,
    because_fcs: Constant<Bits<3>>,
    because_overflow: Constant<Bits<3>>,
}

fn reason(of: DropReason) -> Constant<Bits<3>> {
    Constant::new(usize::from(of.code()).to_bits())
}

impl<const W: usize, const K: usize> Ingress<W, K> {
    /// With or without back-pressure to the MAC.
    pub fn new(lossless: bool) -> Self {
        assert_eq!(W, K * 8);
        Self {
            cr: Default::default(),
            s: Default::default(),
            token: Default::default(),
            m: Default::default(),
            open: Default::default(),
            max_frame: Default::default(),
            frames: Default::default(),
            drop_overflow: Default::default(),
            drop_in: Default::default(),
            token_log: Default::default(),
            count: Default::default(),
            mask: Default::default(),
            fifo: Default::default(),
            in_frame: Default::default(),
            a_valid: Default::default(),
            arrival: Default::default(),
            a_free: Default::default(),
            token_ok: Default::default(),
            beat_ok: Default::default(),
            take: Default::default(),
            take_token: Default::default(),
            patience: Default::default(),
            state: Default::default(),
            total: Default::default(),
            number: Default::default(),
            overflows: Default::default(),
            limit: Default::default(),
            logs: Default::default(),
            sum: Default::default(),
            bytes14: Default::default(),
            over: Default::default(),
            runt: Default::default(),
            ends: Default::default(),
            entry: Default::default(),
            fire: Default::default(),
            displaced: Default::default(),
            refuse: Default::default(),
            cut: Default::default(),
            lossless: Constant::new(lossless),
            one: Constant::new(1usize.to_bits()),
            zero14: Constant::new(0usize.to_bits()),
            bytes_max: Constant::new(MAX_FRAME_BYTES.to_bits()),
            bytes_min: Constant::new(MIN_FRAME_BYTES.to_bits()),
            because_runt: reason(DropReason::Runt),
            because_oversize: reason(DropReason::Oversize),
            because_fcs: reason(DropReason::BadFcs),
            because_overflow: reason(DropReason::Overflow),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Ingress<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.fifo.cr);
        ClkRst::link(&mut self.cr, &mut self.in_frame.cr);
        ClkRst::link(&mut self.cr, &mut self.a_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.arrival.cr);
        ClkRst::link(&mut self.cr, &mut self.state.cr);
        ClkRst::link(&mut self.cr, &mut self.total.cr);
        ClkRst::link(&mut self.cr, &mut self.number.cr);
        ClkRst::link(&mut self.cr, &mut self.overflows.cr);
        ClkRst::link(&mut self.cr, &mut self.limit.cr);
        ClkRst::link(&mut self.cr, &mut self.patience.cr);
        ClkRst::link(&mut self.cr, &mut self.logs.cr);
        DropLog::link(&mut self.drop_in, &mut self.logs.drop_in);
        TokenLog::link(&mut self.token_log, &mut self.logs.token_log);
        BeatSource::<W>::link(&mut self.m, &mut self.fifo.m);

        // First half: one beat or one token.
        self.count.keep.next = self.s.tkeep.val();
        self.a_free.next = !self.lossless.val() | !self.a_valid.q.val() | self.fifo.s.ready.val();
        self.token_ok.next = self.open.val()
            & !self.in_frame.q.val()
            & !self.fifo.almost.val()
            & (self.lossless.val() | !self.s.tvalid.val() | self.patience.over.val());
        self.beat_ok.next = self.open.val()
            & self.a_free.val()
            & (self.in_frame.q.val() | !self.token.valid.val() | !self.lossless.val());
        self.take_token.next = self.token.valid.val() & self.token_ok.val();
        self.take.next = self.s.tvalid.val() & self.beat_ok.val();
        self.patience.waits.next = self.token.valid.val() & !self.token_ok.val();
        self.token.ready.next = self.token_ok.val();
        self.s.tready.next = self.beat_ok.val();
        self.arrival.data.next = self.s.tdata.val();
        self.arrival.bytes.next = self.count.bytes.val();
        self.arrival.last.next = self.s.tlast.val();
        self.arrival.user.next = self.s.tuser.val();
        self.arrival.kind.next = self.token.kind.val();
        self.arrival.queue.next = self.token.queue.val();
        self.arrival.take.next = self.take.val();
        self.arrival.take_token.next = self.take_token.val();
        self.in_frame.d.next =
            (self.in_frame.q.val() & !self.take.val()) | (self.take.val() & !self.s.tlast.val());

        // Second half: judge the beat and write it.
        self.limit.d.next = self.max_frame.val();
        if self.max_frame.val() > self.bytes_max.val() {
            self.limit.d.next = self.bytes_max.val();
        }
        self.bytes14.next = self.arrival.info.val().bytes.to_bits();
        self.sum.next = self.total.q.val() + self.bytes14.val();
        self.runt.next = self.sum.val() < self.bytes_min.val();
        self.over.next = !self.runt.val() & (self.sum.val() > self.limit.q.val());
        self.ends.next = self.arrival.info.val().last | self.over.val();
        self.displaced.next = self.arrival.info.val().is_token & self.arrival.info.val().drop;
        self.refuse.next = self.displaced.val()
            | (!self.lossless.val()
                & (self.state.q.val() == IngressState::Idle)
                & !self.arrival.info.val().is_token
                & ((self.ends.val() & !self.fifo.s.ready.val())
                    | (!self.ends.val() & self.fifo.almost.val())));
        self.cut.next = !self.lossless.val()
            & (self.state.q.val() == IngressState::Pass)
            & !self.ends.val()
            & self.fifo.almost.val();
        self.entry.next = self.arrival.info.val();
        self.entry.next.last = self.ends.val() | self.cut.val();
        self.entry.next.frame = self.number.q.val();
        self.entry.next.drop =
            self.runt.val() | self.over.val() | self.cut.val() | self.arrival.info.val().drop;
        self.entry.next.reason = self.because_fcs.val();
        if self.cut.val() {
            self.entry.next.reason = self.because_overflow.val();
        } else if self.runt.val() {
            self.entry.next.reason = self.because_runt.val();
        } else if self.over.val() {
            self.entry.next.reason = self.because_oversize.val();
        }
        self.mask.data.next = self.arrival.beat.val();
        self.mask.bytes.next = self.arrival.info.val().bytes;
        self.fifo.s.data.next = self.mask.masked.val();
        self.fifo.s.info.next = self.entry.val();
        // As `refuse`, but for a full FIFO, which takes nothing anyhow: `valid` must not follow
        // `ready`.
        self.fifo.s.valid.next = self.a_valid.q.val()
            & (self.state.q.val() != IngressState::Swallow)
            & (self.lossless.val()
                | self.ends.val()
                | self.arrival.info.val().is_token
                | (self.state.q.val() == IngressState::Pass)
                | !self.fifo.almost.val());
        self.fire.next = self.a_valid.q.val()
            & (self.fifo.s.ready.val()
                | (self.state.q.val() == IngressState::Swallow)
                | !self.lossless.val());
        self.a_valid.d.next =
            (self.a_valid.q.val() & !self.fire.val()) | self.take.val() | self.take_token.val();
        self.state.d.next = self.state.q.val();
        self.total.d.next = self.total.q.val();
        self.number.d.next = self.number.q.val();
        self.overflows.d.next = self.overflows.q.val();
        self.logs.fire.next = self.fire.val();
        self.logs.refuse.next = self.refuse.val();
        self.logs.entry.next = self.entry.val();
        if self.fire.val() & (self.displaced.val() | !self.arrival.info.val().is_token) {
            if self.refuse.val() | self.cut.val() {
                self.overflows.d.next = self.overflows.q.val() + self.one.val();
            }
            self.total.d.next = self.zero14.val();
            if self.arrival.tail.val() {
                self.state.d.next = IngressState::Idle;
                self.number.d.next = self.number.q.val() + self.one.val();
            } else if self.refuse.val() | self.cut.val() | self.over.val() {
                self.state.d.next = IngressState::Swallow;
            } else if self.state.q.val() != IngressState::Swallow {
                self.state.d.next = IngressState::Pass;
                self.total.d.next = self.sum.val();
            }
        }
        self.frames.next = self.number.q.val();
        self.drop_overflow.next = self.overflows.q.val();
    }
}
