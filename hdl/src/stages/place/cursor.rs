//! Where payload goes: at most to the end of the buffer, then on in the next one.
//!
//!   session or buffer ─Load─►[ at, position, left ]─Head─►[ at, room ]─Pay─► at, bytes
//!                                                          ▲────── Next: a further buffer
//!
//! Every number is a register that one state of the FSM fills for the next one, so that no path
//! holds two additions of addresses.
//!
//! Follows: the decisions in the header of the software device's `place`. Invariants: no byte goes
//! beyond a buffer, and no buffer is begun without a byte for it
//! (`commands_and_records_equal_the_reference`). Not here: when, and how many buffers.

use super::sessions::Held;
use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use rust_hdl::prelude::*;

/// The registers.
#[derive(LogicBlock)]
pub struct Cursor {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Takes session or buffer.
    pub load: Signal<In, Bit>,
    /// Computes address and room.
    pub prepare: Signal<In, Bit>,
    /// `bytes` of payload are placed.
    pub placed: Signal<In, Bit>,
    /// Goes on in the buffer at `pop_iova`.
    pub next_buffer: Signal<In, Bit>,
    /// Adds what was placed to the position.
    pub save: Signal<In, Bit>,
    /// The operation goes on with a session.
    pub is_held: Signal<In, Bit>,
    /// The payload goes to the header slot, behind the header.
    pub in_slot: Signal<In, Bit>,
    /// In `prepare`: the header slot.
    pub slot: Signal<In, Bits<64>>,
    /// The session.
    pub held: Signal<In, Held>,
    /// Where the oldest buffer starts.
    pub pop_iova: Signal<In, Bits<64>>,
    /// Of the operation.
    pub hdr_len: Signal<In, Bits<8>>,
    /// Of the operation.
    pub payload_len: Signal<In, Bits<17>>,
    /// Of the queue.
    pub size: Signal<In, Bits<17>>,
    /// Of the queue.
    pub split: Signal<In, Bit>,
    /// Where payload goes.
    pub at: Signal<Out, Bits<64>>,
    /// How much of it.
    pub bytes: Signal<Out, Bits<17>>,
    /// Nothing of the frame went before.
    pub first: Signal<Out, Bit>,
    /// Payload is left.
    pub more: Signal<Out, Bit>,
    /// All of it fits.
    pub fits: Signal<Out, Bit>,
    /// The buffer has no room.
    pub full: Signal<Out, Bit>,
    /// Bytes of the frame that went last.
    pub sent: Signal<Out, Bits<17>>,
    /// Bytes of the current buffer in use: after `save`.
    pub position: Signal<Out, Bits<17>>,
    /// In `save`: the new position.
    pub new_position: Signal<Out, Bits<17>>,
    /// In `save`: where the next byte goes.
    pub new_at: Signal<Out, Bits<64>>,
    at_now: RegE<Bits<64>>,
    position_now: RegE<Bits<17>>,
    room: RegE<Bits<17>>,
    left: RegE<Bits<17>>,
    sent_now: RegE<Bits<17>>,
    begun: RegE<Bit>,
    offset: Signal<Local, Bits<17>>,
    offset64: Signal<Local, Bits<64>>,
    sent64: Signal<Local, Bits<64>>,
    all_fits: Signal<Local, Bit>,
    chunk: Signal<Local, Bits<17>>,
    moved: Signal<Local, Bits<17>>,
    zero: Constant<Bits<17>>,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            load: Default::default(),
            prepare: Default::default(),
            placed: Default::default(),
            next_buffer: Default::default(),
            save: Default::default(),
            is_held: Default::default(),
            in_slot: Default::default(),
            slot: Default::default(),
            held: Default::default(),
            pop_iova: Default::default(),
            hdr_len: Default::default(),
            payload_len: Default::default(),
            size: Default::default(),
            split: Default::default(),
            at: Default::default(),
            bytes: Default::default(),
            first: Default::default(),
            more: Default::default(),
            fits: Default::default(),
            full: Default::default(),
            sent: Default::default(),
            position: Default::default(),
            new_position: Default::default(),
            new_at: Default::default(),
            at_now: Default::default(),
            position_now: Default::default(),
            room: Default::default(),
            left: Default::default(),
            sent_now: Default::default(),
            begun: Default::default(),
            offset: Default::default(),
            offset64: Default::default(),
            sent64: Default::default(),
            all_fits: Default::default(),
            chunk: Default::default(),
            moved: Default::default(),
            zero: Constant::new(0.into()),
        }
    }
}

impl Logic for Cursor {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_cursor");
        ClkRst::link(&mut self.cr, &mut self.at_now.cr);
        ClkRst::link(&mut self.cr, &mut self.position_now.cr);
        ClkRst::link(&mut self.cr, &mut self.room.cr);
        ClkRst::link(&mut self.cr, &mut self.left.cr);
        ClkRst::link(&mut self.cr, &mut self.sent_now.cr);
        ClkRst::link(&mut self.cr, &mut self.begun.cr);
        // What lies in front of the payload in its buffer. A session's address is beyond it
        // already.
        self.offset.next = self.zero.val();
        if !self.split.val() {
            self.offset.next = bit_cast::<17, 8>(self.hdr_len.val());
        }
        self.offset64.next = bit_cast::<64, 17>(self.position_now.q.val());
        self.sent64.next = bit_cast::<64, 17>(self.sent_now.q.val());
        self.all_fits.next = self.left.q.val() <= self.room.q.val();
        self.chunk.next = self.room.q.val();
        if self.all_fits.val() {
            self.chunk.next = self.left.q.val();
        }
        self.moved.next = self.position_now.q.val() + self.sent_now.q.val();

        self.at_now.d.next = self.pop_iova.val();
        self.position_now.d.next = self.zero.val();
        self.sent_now.d.next = self.zero.val();
        self.left.d.next = self.left.q.val() - self.room.q.val();
        self.room.d.next = self.size.val();
        self.begun.d.next = self.placed.val();
        if self.load.val() {
            self.position_now.d.next = self.offset.val();
            self.left.d.next = self.payload_len.val();
            if self.is_held.val() {
                self.at_now.d.next = self.held.val().at;
                self.position_now.d.next = self.held.val().position;
            }
        } else if self.prepare.val() {
            self.at_now.d.next = self.at_now.q.val();
            if !self.is_held.val() {
                self.at_now.d.next = self.at_now.q.val() + self.offset64.val();
            }
            if self.in_slot.val() {
                self.at_now.d.next = self.slot.val() | bit_cast::<64, 8>(self.hdr_len.val());
            }
            self.room.d.next = self.size.val() - self.position_now.q.val();
        } else if self.placed.val() {
            self.sent_now.d.next = self.chunk.val();
        } else if self.save.val() {
            self.position_now.d.next = self.moved.val();
        }
        self.at_now.en.next = self.load.val() | self.prepare.val() | self.next_buffer.val();
        self.position_now.en.next = self.load.val() | self.save.val() | self.next_buffer.val();
        self.room.en.next = self.prepare.val() | self.next_buffer.val();
        self.left.en.next = self.load.val() | self.placed.val();
        self.sent_now.en.next = self.load.val() | self.placed.val() | self.next_buffer.val();
        self.begun.en.next = self.load.val() | self.placed.val();

        self.at.next = self.at_now.q.val();
        self.bytes.next = self.chunk.val();
        self.first.next = !self.begun.q.val();
        self.more.next = self.left.q.val() != self.zero.val();
        // Not through `all_fits`: a Local shared with what `placed` moves would be a loop to
        // Verilator.
        self.fits.next = self.left.q.val() <= self.room.q.val();
        self.full.next = self.room.q.val() == self.zero.val();
        self.sent.next = self.sent_now.q.val();
        self.position.next = self.position_now.q.val();
        self.new_position.next = self.moved.val();
        self.new_at.next = self.at_now.q.val() + self.sent64.val();
    }
}
