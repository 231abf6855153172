//! The order of events: one operation, or one buffer to drain, at a time.
//!
//!   ALONE:   Idle ─► Load ─► Head ─► Pay                               4 cycles
//!   OPEN:    Idle ─► Load ─► Head ─► Pay ─► [Replay] ─► Save           5 or 6
//!   APPEND:  as OPEN
//!   CLOSE:   Idle ─► Load ─► Head ─► Records ..                        3, and 1 per buffer
//!   marker:  Idle ─► Load ─► Marker;    drain:  Idle ─► Load ─► Records          3
//!   further buffer:  Pay ─► Next ─► Pay                                +2
//!
//! Idle reads session and oldest buffer; Load keeps them; Head adds up addresses and sends the
//! header; Pay sends payload up to the end of the buffer; Next takes a buffer; Replay sends the
//! payload to the header slot as well; Save writes the session back; Records returns buffers.
//! An ALONE of several buffers goes on from its last Pay through Save to Records.
//!
//! Invariants: operations and drained buffers take turns (`drains_between_operations`); ready
//! outputs depend on FIFO levels alone, not on the ready inputs
//! (`commands_and_records_equal_the_reference`). Not here: data.

use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use groove_spec::OpKind;
use rust_hdl::prelude::*;

/// States; the first one is that of reset.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum State {
    /// Waits for something to do.
    Idle,
    /// Session and buffer are there.
    Load,
    /// Adds up addresses; the header goes.
    Head,
    /// Payload goes.
    Pay,
    /// A further buffer is there.
    Next,
    /// Payload goes to the header slot as well.
    Replay,
    /// The session is written back.
    Save,
    /// Buffers return.
    Records,
    /// A marker goes.
    Marker,
}

/// The FSM.
#[derive(LogicBlock)]
pub struct Control {
    /// Clock and reset.
    pub cr: ClkRst,
    /// An operation is offered, and stays until `take`.
    pub offered: Signal<In, Bit>,
    /// Code of its `OpKind`.
    pub kind: Signal<In, Bits<3>>,
    /// A buffer is to be drained.
    pub drain_offered: Signal<In, Bit>,
    /// Payload is left to be placed.
    pub more: Signal<In, Bit>,
    /// What is left fits into the buffer.
    pub fits: Signal<In, Bit>,
    /// The buffer has no room.
    pub full: Signal<In, Bit>,
    /// The payload goes to the header slot as well.
    pub keep: Signal<In, Bit>,
    /// The delivery has one buffer.
    pub single: Signal<In, Bit>,
    /// The record is the delivery's last.
    pub last: Signal<In, Bit>,
    /// Room for a command.
    pub command_room: Signal<In, Bit>,
    /// Room for a header.
    pub header_room: Signal<In, Bit>,
    /// Room for a record.
    pub record_room: Signal<In, Bit>,
    /// The operation is ALONE.
    pub alone: Signal<Out, Bit>,
    /// The operation goes on with a held session.
    pub held: Signal<Out, Bit>,
    /// The operation takes a frame.
    pub frame: Signal<Out, Bit>,
    /// In `Idle`, with something to do: read.
    pub start: Signal<Out, Bit>,
    /// It is a buffer to drain, from `start` to the end.
    pub drains: Signal<Out, Bit>,
    /// In `Load`.
    pub load: Signal<Out, Bit>,
    /// At the end of `Head`.
    pub prepare: Signal<Out, Bit>,
    /// In `Next`.
    pub next_buffer: Signal<Out, Bit>,
    /// In `Save`.
    pub save: Signal<Out, Bit>,
    /// Shows the oldest buffer.
    pub pop_read: Signal<Out, Bit>,
    /// Takes it.
    pub pop_take: Signal<Out, Bit>,
    /// A header command goes.
    pub push_header: Signal<Out, Bit>,
    /// A payload command goes.
    pub push_payload: Signal<Out, Bit>,
    /// A replay command goes.
    pub push_replay: Signal<Out, Bit>,
    /// A record goes.
    pub push_record: Signal<Out, Bit>,
    /// A marker goes.
    pub push_marker: Signal<Out, Bit>,
    /// The operation is done.
    pub take: Signal<Out, Bit>,
    /// The buffer is drained.
    pub drain_take: Signal<Out, Bit>,
    state: RegR<State>,
    draining: RegR<Bit>,
    drain_turn: Signal<Local, Bit>,
    opens: Signal<Local, Bit>,
    appends: Signal<Local, Bit>,
    closes: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
    alone_kind: Constant<Bits<3>>,
    open_kind: Constant<Bits<3>>,
    append_kind: Constant<Bits<3>>,
    close_kind: Constant<Bits<3>>,
}

impl Default for Control {
    fn default() -> Self {
        let code = |kind: OpKind| Constant::new(u64::from(kind.code()).into());
        Self {
            cr: Default::default(),
            offered: Default::default(),
            kind: Default::default(),
            drain_offered: Default::default(),
            more: Default::default(),
            fits: Default::default(),
            full: Default::default(),
            keep: Default::default(),
            single: Default::default(),
            last: Default::default(),
            command_room: Default::default(),
            header_room: Default::default(),
            record_room: Default::default(),
            alone: Default::default(),
            held: Default::default(),
            frame: Default::default(),
            start: Default::default(),
            drains: Default::default(),
            load: Default::default(),
            prepare: Default::default(),
            next_buffer: Default::default(),
            save: Default::default(),
            pop_read: Default::default(),
            pop_take: Default::default(),
            push_header: Default::default(),
            push_payload: Default::default(),
            push_replay: Default::default(),
            push_record: Default::default(),
            push_marker: Default::default(),
            take: Default::default(),
            drain_take: Default::default(),
            state: Default::default(),
            draining: Default::default(),
            drain_turn: Default::default(),
            opens: Default::default(),
            appends: Default::default(),
            closes: Default::default(),
            done: Default::default(),
            alone_kind: code(OpKind::Alone),
            open_kind: code(OpKind::Open),
            append_kind: code(OpKind::Append),
            close_kind: code(OpKind::Close),
        }
    }
}

impl Logic for Control {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_control");
        ClkRst::link(&mut self.cr, &mut self.state.cr);
        ClkRst::link(&mut self.cr, &mut self.draining.cr);
        self.alone.next = self.kind.val() == self.alone_kind.val();
        self.closes.next = self.kind.val() == self.close_kind.val();
        self.appends.next = self.kind.val() == self.append_kind.val();
        self.held.next = !self.draining.q.val() & (self.appends.val() | self.closes.val());
        self.opens.next =
            (self.kind.val() == self.open_kind.val()) | (self.kind.val() == self.alone_kind.val());
        self.frame.next = self.opens.val() | self.appends.val();
        self.state.d.next = self.state.q.val();
        // Whoever did not have the last turn.
        self.drain_turn.next =
            self.drain_offered.val() & (!self.offered.val() | !self.draining.q.val());
        self.draining.d.next = self.draining.q.val();
        self.drains.next = self.draining.q.val();
        self.start.next = false;
        self.load.next = false;
        self.prepare.next = false;
        self.next_buffer.next = false;
        self.save.next = false;
        self.pop_read.next = false;
        self.pop_take.next = false;
        self.push_header.next = false;
        self.push_payload.next = false;
        self.push_replay.next = false;
        self.push_record.next = false;
        self.push_marker.next = false;
        self.done.next = false;
        match self.state.q.val() {
            State::Idle => {
                self.drains.next = self.drain_turn.val();
                if self.offered.val() | self.drain_offered.val() {
                    self.start.next = true;
                    self.pop_read.next = true;
                    self.draining.d.next = self.drain_turn.val();
                    self.state.d.next = State::Load;
                }
            }
            State::Load => {
                self.load.next = true;
                self.state.d.next = State::Marker;
                if self.draining.q.val() {
                    self.pop_take.next = true;
                    self.state.d.next = State::Records;
                } else if self.frame.val() | self.closes.val() {
                    self.pop_take.next = self.opens.val();
                    self.state.d.next = State::Head;
                }
            }
            State::Head => {
                if self.alone.val() | self.closes.val() {
                    if self.command_room.val() & self.header_room.val() {
                        self.prepare.next = true;
                        self.push_header.next = true;
                        self.state.d.next = State::Records;
                        if self.alone.val() & self.more.val() {
                            self.state.d.next = State::Pay;
                        }
                    }
                } else {
                    self.prepare.next = true;
                    self.state.d.next = State::Save;
                    if self.more.val() {
                        self.state.d.next = State::Pay;
                    }
                }
            }
            State::Pay => {
                if self.full.val() {
                    self.pop_read.next = true;
                    self.state.d.next = State::Next;
                } else if self.command_room.val() & (self.record_room.val() | !self.alone.val()) {
                    self.push_payload.next = true;
                    if !self.fits.val() {
                        self.pop_read.next = true;
                        self.state.d.next = State::Next;
                    } else if self.alone.val() & self.single.val() {
                        self.push_record.next = true;
                        self.done.next = true;
                    } else if self.keep.val() & !self.alone.val() {
                        self.state.d.next = State::Replay;
                    } else {
                        self.state.d.next = State::Save;
                    }
                }
            }
            State::Next => {
                self.next_buffer.next = true;
                self.pop_take.next = true;
                self.state.d.next = State::Pay;
            }
            State::Replay => {
                self.push_replay.next = self.command_room.val();
                if self.command_room.val() {
                    self.state.d.next = State::Save;
                }
            }
            State::Save => {
                self.save.next = true;
                self.state.d.next = State::Records;
                self.done.next = !self.alone.val();
            }
            State::Records => {
                self.push_record.next = self.record_room.val();
                self.done.next = self.record_room.val() & self.last.val();
            }
            State::Marker => {
                self.push_marker.next = self.record_room.val();
                self.done.next = self.record_room.val();
            }
            _ => {}
        }
        if self.done.val() {
            self.state.d.next = State::Idle;
        }
        self.take.next = self.done.val() & !self.draining.q.val();
        self.drain_take.next = self.done.val() & self.draining.q.val();
    }
}
