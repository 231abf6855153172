//! Goes through the beats of one command after the other.
//!
//!   plan ──►[ FIFO ]──►[ command at work ]──► source, index, shape      2 cycles when empty,
//!   payload's valid, last ───────┘                                      1 beat per cycle
//!
//! A payload frame keeps the shift of its first command: those behind it start at multiples of K.
//! Its last write beat may need no raw beat: the last of them then is `drained`.
//!
//! Invariants: beats as the byte model has them, with chains, keep, replay and discard
//! (`mover_moves_every_byte`); none lost between commands (`mover_fills_the_write_channel`); `last`
//! of a shape ends a burst, where `bursts` ends it too (`mover_moves_every_byte`). The commands of
//! a payload frame come without others between. Not here: data.

use super::plan::{Plan, burst_beats};
use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::source;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// How a write beat is made of raw beats.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Shape {
    /// Lanes by which raw bytes move up; as many come from the raw beat before.
    pub shift: Bits<6>,
    /// First lane written.
    pub start: Bits<6>,
    /// Lanes written, counted from lane 0; 0: all.
    pub end: Bits<6>,
    /// Last beat of a burst.
    pub last: Bit,
}

/// The block.
#[derive(LogicBlock)]
pub struct Sequence<const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Next command.
    pub s_plan: Signal<In, Plan>,
    /// `s_plan` is there.
    pub s_valid: Signal<In, Bit>,
    /// There is room.
    pub s_ready: Signal<Out, Bit>,
    /// A payload beat is there.
    pub raw_valid: Signal<In, Bit>,
    /// It is the last of its frame.
    pub raw_last: Signal<In, Bit>,
    /// The beat of `index` that a replay would read is the last of its frame.
    pub kept_last: Signal<In, Bit>,
    /// Takes a payload beat if there is one.
    pub raw_ready: Signal<Out, Bit>,
    /// Source of the beat.
    pub m_source: Signal<Out, Bits<2>>,
    /// Number of the beat in its command.
    pub m_index: Signal<Out, Bits<5>>,
    /// What to do with it.
    pub m_shape: Signal<Out, Shape>,
    /// A beat is there.
    pub m_valid: Signal<Out, Bit>,
    /// Takes it.
    pub m_ready: Signal<In, Bit>,
    /// The raw beat is to be kept, at `m_index`.
    pub keeps: Signal<Out, Bit>,
    /// The header is used up.
    pub header_done: Signal<Out, Bit>,
    plans: Fifo<Plan, 2>,
    active: RegR<Bit>,
    now: RegE<Plan>,
    left: RegE<Bits<14>>,
    slot: RegE<Bits<8>>,
    start: RegE<Bits<6>>,
    index: RegE<Bits<5>>,
    // of the payload frame
    shift: RegE<Bits<6>>,
    drained: RegR<Bit>,
    is_header: Signal<Local, Bit>,
    is_payload: Signal<Local, Bit>,
    is_replay: Signal<Local, Bit>,
    is_discard: Signal<Local, Bit>,
    available: Signal<Local, Bit>,
    step: Signal<Local, Bit>,
    final_beat: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    drains: Signal<Local, Bit>,
    shape: Signal<Local, Shape>,
    header_code: Constant<Bits<2>>,
    payload_code: Constant<Bits<2>>,
    replay_code: Constant<Bits<2>>,
    discard_code: Constant<Bits<2>>,
    slot_last: Constant<Bits<8>>,
    slot_mask: Constant<Bits<8>>,
    next_slot: Signal<Local, Bits<8>>,
    one14: Constant<Bits<14>>,
    one8: Constant<Bits<8>>,
    one5: Constant<Bits<5>>,
    zero14: Constant<Bits<14>>,
    zero6: Constant<Bits<6>>,
    zero5: Constant<Bits<5>>,
}

impl<const K: usize> Default for Sequence<K> {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            s_plan: Default::default(),
            s_valid: Default::default(),
            s_ready: Default::default(),
            raw_valid: Default::default(),
            raw_last: Default::default(),
            kept_last: Default::default(),
            raw_ready: Default::default(),
            m_source: Default::default(),
            m_index: Default::default(),
            m_shape: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            keeps: Default::default(),
            header_done: Default::default(),
            plans: Default::default(),
            active: Default::default(),
            now: Default::default(),
            left: Default::default(),
            slot: Default::default(),
            start: Default::default(),
            index: Default::default(),
            shift: Default::default(),
            drained: Default::default(),
            is_header: Default::default(),
            is_payload: Default::default(),
            is_replay: Default::default(),
            is_discard: Default::default(),
            available: Default::default(),
            step: Default::default(),
            final_beat: Default::default(),
            ends: Default::default(),
            load: Default::default(),
            drains: Default::default(),
            shape: Default::default(),
            header_code: Constant::new(source::HEADER.to_bits()),
            payload_code: Constant::new(source::PAYLOAD.to_bits()),
            replay_code: Constant::new(source::REPLAY.to_bits()),
            discard_code: Constant::new(source::DISCARD.to_bits()),
            slot_last: Constant::new((burst_beats(K) - 1).to_bits()),
            slot_mask: Constant::new((burst_beats(K) - 1).to_bits()),
            next_slot: Default::default(),
            one14: Constant::new(1usize.to_bits()),
            one8: Constant::new(1usize.to_bits()),
            one5: Constant::new(1usize.to_bits()),
            zero14: Constant::new(0usize.to_bits()),
            zero6: Constant::new(0usize.to_bits()),
            zero5: Constant::new(0usize.to_bits()),
        }
    }
}

impl<const K: usize> Logic for Sequence<K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: mover_sequence");
        ClkRst::link(&mut self.cr, &mut self.plans.cr);
        ClkRst::link(&mut self.cr, &mut self.active.cr);
        ClkRst::link(&mut self.cr, &mut self.now.cr);
        ClkRst::link(&mut self.cr, &mut self.left.cr);
        ClkRst::link(&mut self.cr, &mut self.slot.cr);
        ClkRst::link(&mut self.cr, &mut self.start.cr);
        ClkRst::link(&mut self.cr, &mut self.index.cr);
        ClkRst::link(&mut self.cr, &mut self.shift.cr);
        ClkRst::link(&mut self.cr, &mut self.drained.cr);
        self.plans.s_data.next = self.s_plan.val();
        self.plans.s_valid.next = self.s_valid.val();
        self.s_ready.next = self.plans.s_ready.val();

        self.is_header.next = self.now.q.val().source == self.header_code.val();
        self.is_payload.next = self.now.q.val().source == self.payload_code.val();
        self.is_replay.next = self.now.q.val().source == self.replay_code.val();
        self.is_discard.next = self.now.q.val().source == self.discard_code.val();
        self.final_beat.next = self.left.q.val() == self.zero14.val();
        self.available.next = self.active.q.val()
            & !self.is_discard.val()
            & (!self.is_payload.val() | self.drained.q.val() | self.raw_valid.val());
        self.step.next = self.available.val() & self.m_ready.val();
        self.ends.next = (self.step.val() & self.final_beat.val())
            | (self.active.q.val()
                & self.is_discard.val()
                & self.raw_valid.val()
                & self.raw_last.val());
        self.load.next = self.plans.m_valid.val() & (!self.active.q.val() | self.ends.val());
        self.plans.m_ready.next = !self.active.q.val() | self.ends.val();
        self.active.d.next = self.load.val() | (self.active.q.val() & !self.ends.val());

        self.now.en.next = self.load.val();
        self.now.d.next = self.plans.m_data.val();
        self.shift.en.next = self.load.val() & self.plans.m_data.val().first;
        self.shift.d.next = self.plans.m_data.val().start;
        self.left.en.next = self.load.val() | self.step.val();
        self.slot.en.next = self.load.val() | self.step.val();
        self.start.en.next = self.load.val() | self.step.val();
        self.index.en.next = self.load.val() | self.step.val();
        self.next_slot.next = self.slot.q.val() + self.one8.val();
        self.left.d.next = self.left.q.val() - self.one14.val();
        self.slot.d.next = self.next_slot.val() & self.slot_mask.val();
        self.start.d.next = self.zero6.val();
        self.index.d.next = self.index.q.val() + self.one5.val();
        if self.load.val() {
            self.left.d.next = self.plans.m_data.val().left;
            self.slot.d.next = self.plans.m_data.val().slot;
            self.start.d.next = self.plans.m_data.val().start;
            self.index.d.next = self.zero5.val();
        }
        self.drains.next = (self.is_payload.val() & self.raw_last.val())
            | (self.is_replay.val() & self.kept_last.val());
        self.drained.d.next = self.drained.q.val();
        if self.step.val() {
            if self.final_beat.val() & self.now.q.val().last {
                self.drained.d.next = false;
            } else if self.drains.val() {
                self.drained.d.next = true;
            }
        }

        self.shape.next.shift = self.shift.q.val();
        self.shape.next.start = self.start.q.val();
        self.shape.next.end = self.zero6.val();
        self.shape.next.last = self.slot.q.val() == self.slot_last.val();
        if self.final_beat.val() {
            self.shape.next.end = self.now.q.val().end;
            self.shape.next.last = true;
        }
        self.m_shape.next = self.shape.val();
        self.m_source.next = self.now.q.val().source;
        self.m_index.next = self.index.q.val();
        self.m_valid.next = self.active.q.val()
            & !self.is_discard.val()
            & (!self.is_payload.val() | self.drained.q.val() | self.raw_valid.val());
        self.raw_ready.next = self.active.q.val()
            & (self.is_discard.val()
                | (self.is_payload.val() & !self.drained.q.val() & self.m_ready.val()));
        self.keeps.next =
            self.step.val() & self.is_payload.val() & self.now.q.val().keep & !self.drained.q.val();
        self.header_done.next = self.step.val() & self.final_beat.val() & self.is_header.val();
    }
}
