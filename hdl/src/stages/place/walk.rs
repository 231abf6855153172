//! Sums, buffers and addresses of an operation, and the commands that they make.
//!
//!   operation, session or buffer ──► extent, buffers, cursor ──► command      see `control`
//!
//! A header goes to the slot when the slot is used (`split`, or a compact delivery), else to the
//! start of the first buffer.
//!
//! Follows: the decisions in the header of the software device's `place`. Invariant: addresses and
//! lengths are those of the reference (`commands_and_records_equal_the_reference`). Not here: when.

use super::buffers::Buffers;
use super::cursor::Cursor;
use super::extent::Extent;
use super::sessions::Held;
use crate::blocks::nic_ports::{PlaceCommand, source};
use crate::blocks::op::Operation;
use crate::blocks::reg::ClkRst;
use crate::comment;
use rust_hdl::prelude::*;

/// The data path.
#[derive(LogicBlock)]
pub struct Walk {
    /// Clock and reset.
    pub cr: ClkRst,
    /// See `Control`.
    pub load: Signal<In, Bit>,
    /// See `Control`.
    pub prepare: Signal<In, Bit>,
    /// See `Control`.
    pub next_buffer: Signal<In, Bit>,
    /// See `Control`.
    pub save: Signal<In, Bit>,
    /// See `Control`.
    pub push_payload: Signal<In, Bit>,
    /// See `Control`.
    pub push_replay: Signal<In, Bit>,
    /// See `Control`.
    pub push_record: Signal<In, Bit>,
    /// The operation goes on with a session.
    pub is_held: Signal<In, Bit>,
    /// The operation is ALONE.
    pub alone: Signal<In, Bit>,
    /// The operation.
    pub meta: Signal<In, Operation>,
    /// Its session.
    pub held: Signal<In, Held>,
    /// Oldest buffer.
    pub pop_id: Signal<In, Bits<16>>,
    /// Where it starts.
    pub pop_iova: Signal<In, Bits<64>>,
    /// Of the queue.
    pub slots_low: Signal<In, Bits<24>>,
    /// Of the queue.
    pub slots_high: Signal<In, Bits<32>>,
    /// Of the queue.
    pub size: Signal<In, Bits<17>>,
    /// Of the queue.
    pub split: Signal<In, Bit>,
    /// Header and payload bytes.
    pub total: Signal<Out, Bits<17>>,
    /// They fit into a header slot.
    pub compact: Signal<Out, Bit>,
    /// The header slot has room for the payload.
    pub keep: Signal<Out, Bit>,
    /// Payload is left.
    pub more: Signal<Out, Bit>,
    /// All of it fits.
    pub fits: Signal<Out, Bit>,
    /// The buffer has no room.
    pub full: Signal<Out, Bit>,
    /// The delivery has one buffer.
    pub single: Signal<Out, Bit>,
    /// First buffer.
    pub id: Signal<Out, Bits<16>>,
    /// Buffers so far.
    pub count: Signal<Out, Bits<6>>,
    /// Buffer that returns now.
    pub index: Signal<Out, Bits<6>>,
    /// It is the first one.
    pub first: Signal<Out, Bit>,
    /// It is the last one.
    pub last: Signal<Out, Bit>,
    /// Buffers that the operation took.
    pub took: Signal<Out, Bits<4>>,
    /// Bytes of the last buffer in use.
    pub position: Signal<Out, Bits<17>>,
    /// In `save`: the session with the frame.
    pub new_held: Signal<Out, Held>,
    /// The command that goes, if one does.
    pub command: Signal<Out, PlaceCommand>,
    extent: Extent,
    buffers: Buffers,
    cursor: Cursor,
    session: Signal<Local, Held>,
    order: Signal<Local, PlaceCommand>,
    hdr_len: Signal<Local, Bits<8>>,
    header_at: Signal<Local, Bits<64>>,
    replay_at: Signal<Local, Bits<64>>,
    no_command: Constant<PlaceCommand>,
    header_source: Constant<Bits<2>>,
    payload_source: Constant<Bits<2>>,
    replay_source: Constant<Bits<2>>,
}

impl Default for Walk {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            load: Default::default(),
            prepare: Default::default(),
            next_buffer: Default::default(),
            save: Default::default(),
            push_payload: Default::default(),
            push_replay: Default::default(),
            push_record: Default::default(),
            is_held: Default::default(),
            alone: Default::default(),
            meta: Default::default(),
            held: Default::default(),
            pop_id: Default::default(),
            pop_iova: Default::default(),
            slots_low: Default::default(),
            slots_high: Default::default(),
            size: Default::default(),
            split: Default::default(),
            total: Default::default(),
            compact: Default::default(),
            keep: Default::default(),
            more: Default::default(),
            fits: Default::default(),
            full: Default::default(),
            single: Default::default(),
            id: Default::default(),
            count: Default::default(),
            index: Default::default(),
            first: Default::default(),
            last: Default::default(),
            took: Default::default(),
            position: Default::default(),
            new_held: Default::default(),
            command: Default::default(),
            extent: Default::default(),
            buffers: Default::default(),
            cursor: Default::default(),
            session: Default::default(),
            order: Default::default(),
            hdr_len: Default::default(),
            header_at: Default::default(),
            replay_at: Default::default(),
            no_command: Constant::new(PlaceCommand::default()),
            header_source: Constant::new(source::HEADER.into()),
            payload_source: Constant::new(source::PAYLOAD.into()),
            replay_source: Constant::new(source::REPLAY.into()),
        }
    }
}

impl Logic for Walk {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_walk");
        ClkRst::link(&mut self.cr, &mut self.extent.cr);
        ClkRst::link(&mut self.cr, &mut self.buffers.cr);
        ClkRst::link(&mut self.cr, &mut self.cursor.cr);
        self.hdr_len.next = self.meta.val().hdr_len;
        self.extent.load.next = self.load.val();
        self.extent.prepare.next = self.prepare.val();
        self.extent.is_held.next = self.is_held.val();
        self.extent.held_used.next = self.held.val().used;
        self.extent.hdr_len.next = self.meta.val().hdr_len;
        self.extent.payload_len.next = self.meta.val().payload_len;

        self.buffers.load.next = self.load.val();
        self.buffers.prepare.next = self.prepare.val();
        self.buffers.next_buffer.next = self.next_buffer.val();
        self.buffers.returned.next = self.push_record.val();
        self.buffers.is_held.next = self.is_held.val();
        self.buffers.held.next = self.held.val();
        self.buffers.pop_id.next = self.pop_id.val();
        self.buffers.pop_iova.next = self.pop_iova.val();
        self.buffers.slots_low.next = self.slots_low.val();
        self.buffers.slots_high.next = self.slots_high.val();

        self.cursor.load.next = self.load.val();
        self.cursor.prepare.next = self.prepare.val();
        self.cursor.placed.next = self.push_payload.val();
        self.cursor.next_buffer.next = self.next_buffer.val();
        self.cursor.save.next = self.save.val();
        self.cursor.is_held.next = self.is_held.val();
        self.cursor.in_slot.next = self.alone.val() & self.extent.compact.val();
        self.cursor.slot.next = self.buffers.slot.val();
        self.cursor.held.next = self.held.val();
        self.cursor.pop_iova.next = self.pop_iova.val();
        self.cursor.hdr_len.next = self.meta.val().hdr_len;
        self.cursor.payload_len.next = self.meta.val().payload_len;
        self.cursor.size.next = self.size.val();
        self.cursor.split.next = self.split.val();

        self.session.next.id = self.buffers.id.val();
        self.session.next.iova = self.buffers.iova.val();
        self.session.next.at = self.cursor.new_at.val();
        self.session.next.position = self.cursor.new_position.val();
        self.session.next.count = self.buffers.count.val();
        self.session.next.used = self.extent.new_used.val();
        self.new_held.next = self.session.val();

        // The slot is aligned to its size and never full where something is to be added.
        self.replay_at.next =
            self.buffers.slot_kept.val() | bit_cast::<64, 9>(self.extent.used.val());
        self.header_at.next = self.buffers.iova.val();
        if self.split.val() | self.extent.compact.val() {
            self.header_at.next = self.buffers.slot.val();
        }
        self.order.next = self.no_command.val();
        self.order.next.queue = self.meta.val().queue;
        if self.push_payload.val() {
            self.order.next.source = self.payload_source.val();
            self.order.next.address = self.cursor.at.val();
            self.order.next.bytes = self.cursor.bytes.val();
            self.order.next.first = self.cursor.first.val();
            self.order.next.last = self.cursor.fits.val();
            self.order.next.keep = self.extent.keep.val() & !self.alone.val();
        } else if self.push_replay.val() {
            self.order.next.source = self.replay_source.val();
            self.order.next.address = self.replay_at.val();
            self.order.next.bytes = self.cursor.sent.val();
        } else {
            self.order.next.source = self.header_source.val();
            self.order.next.address = self.header_at.val();
            self.order.next.bytes = bit_cast::<17, 8>(self.hdr_len.val());
        }
        self.command.next = self.order.val();

        self.total.next = self.extent.total.val();
        self.compact.next = self.extent.compact.val();
        self.keep.next = self.extent.keep.val();
        self.more.next = self.cursor.more.val();
        self.fits.next = self.cursor.fits.val();
        self.full.next = self.cursor.full.val();
        self.single.next = self.buffers.single.val();
        self.id.next = self.buffers.id.val();
        self.count.next = self.buffers.count.val();
        self.index.next = self.buffers.index.val();
        self.first.next = self.buffers.first.val();
        self.last.next = self.buffers.last.val();
        self.took.next = self.buffers.took.val();
        self.position.next = self.cursor.position.val();
    }
}
