//! The buffers of an operation: its first one, the header slot that belongs to it, how many.
//!
//!   session or oldest buffer ─Load─►[ id, iova, count ]──► slot = slots + 256 * id
//!                                        Next: count + 1;  Records: index + 1
//!
//! Invariant: as many records go as buffers came (`commands_and_records_equal_the_reference`). Not
//! here: bytes.

use super::sessions::Held;
use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use rust_hdl::prelude::*;

/// The registers.
#[derive(LogicBlock)]
pub struct Buffers {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Takes session or buffer.
    pub load: Signal<In, Bit>,
    /// Keeps the address of the slot.
    pub prepare: Signal<In, Bit>,
    /// Takes a further buffer.
    pub next_buffer: Signal<In, Bit>,
    /// A record is sent.
    pub returned: Signal<In, Bit>,
    /// The operation goes on with a session.
    pub is_held: Signal<In, Bit>,
    /// The session.
    pub held: Signal<In, Held>,
    /// Oldest buffer.
    pub pop_id: Signal<In, Bits<16>>,
    /// Where it starts.
    pub pop_iova: Signal<In, Bits<64>>,
    /// Of the queue.
    pub slots_low: Signal<In, Bits<24>>,
    /// Of the queue.
    pub slots_high: Signal<In, Bits<32>>,
    /// First buffer.
    pub id: Signal<Out, Bits<16>>,
    /// Where it starts.
    pub iova: Signal<Out, Bits<64>>,
    /// In `prepare`: its header slot.
    pub slot: Signal<Out, Bits<64>>,
    /// After `prepare`: its header slot.
    pub slot_kept: Signal<Out, Bits<64>>,
    /// Buffers so far.
    pub count: Signal<Out, Bits<6>>,
    /// There is one.
    pub single: Signal<Out, Bit>,
    /// Buffer that returns now.
    pub index: Signal<Out, Bits<6>>,
    /// It is the first one.
    pub first: Signal<Out, Bit>,
    /// It is the last one.
    pub last: Signal<Out, Bit>,
    /// Buffers that the operation took.
    pub took: Signal<Out, Bits<4>>,
    id_now: RegE<Bits<16>>,
    iova_now: RegE<Bits<64>>,
    slot_now: RegE<Bits<64>>,
    count_now: RegE<Bits<6>>,
    index_now: RegE<Bits<6>>,
    took_now: RegE<Bits<4>>,
    base: Signal<Local, Bits<56>>,
    line: Signal<Local, Bits<56>>,
    line64: Signal<Local, Bits<64>>,
    following: Signal<Local, Bits<6>>,
    high_shift: Constant<Bits<6>>,
    slot_shift: Constant<Bits<6>>,
    one6: Constant<Bits<6>>,
    zero6: Constant<Bits<6>>,
    one4: Constant<Bits<4>>,
    zero4: Constant<Bits<4>>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            load: Default::default(),
            prepare: Default::default(),
            next_buffer: Default::default(),
            returned: Default::default(),
            is_held: Default::default(),
            held: Default::default(),
            pop_id: Default::default(),
            pop_iova: Default::default(),
            slots_low: Default::default(),
            slots_high: Default::default(),
            id: Default::default(),
            iova: Default::default(),
            slot: Default::default(),
            slot_kept: Default::default(),
            count: Default::default(),
            single: Default::default(),
            index: Default::default(),
            first: Default::default(),
            last: Default::default(),
            took: Default::default(),
            id_now: Default::default(),
            iova_now: Default::default(),
            slot_now: Default::default(),
            count_now: Default::default(),
            index_now: Default::default(),
            took_now: Default::default(),
            base: Default::default(),
            line: Default::default(),
            line64: Default::default(),
            following: Default::default(),
            high_shift: Constant::new(24.into()),
            slot_shift: Constant::new(8.into()),
            one6: Constant::new(1.into()),
            zero6: Constant::new(0.into()),
            one4: Constant::new(1.into()),
            zero4: Constant::new(0.into()),
        }
    }
}

impl Logic for Buffers {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_buffers");
        ClkRst::link(&mut self.cr, &mut self.id_now.cr);
        ClkRst::link(&mut self.cr, &mut self.iova_now.cr);
        ClkRst::link(&mut self.cr, &mut self.slot_now.cr);
        ClkRst::link(&mut self.cr, &mut self.count_now.cr);
        ClkRst::link(&mut self.cr, &mut self.index_now.cr);
        ClkRst::link(&mut self.cr, &mut self.took_now.cr);
        self.id_now.d.next = self.pop_id.val();
        self.iova_now.d.next = self.pop_iova.val();
        self.count_now.d.next = self.one6.val();
        self.took_now.d.next = self.one4.val();
        self.index_now.d.next = self.zero6.val();
        if self.is_held.val() {
            self.id_now.d.next = self.held.val().id;
            self.iova_now.d.next = self.held.val().iova;
            self.count_now.d.next = self.held.val().count;
            self.took_now.d.next = self.zero4.val();
        }
        self.following.next = self.index_now.q.val() + self.one6.val();
        if !self.load.val() {
            self.count_now.d.next = self.count_now.q.val() + self.one6.val();
            self.took_now.d.next = self.took_now.q.val() + self.one4.val();
            self.index_now.d.next = self.following.val();
        }
        self.id_now.en.next = self.load.val();
        self.iova_now.en.next = self.load.val();
        self.count_now.en.next = self.load.val() | self.next_buffer.val();
        self.took_now.en.next = self.load.val() | self.next_buffer.val();
        self.index_now.en.next = self.load.val() | self.returned.val();

        self.base.next = (bit_cast::<56, 32>(self.slots_high.val()) << self.high_shift.val())
            | bit_cast::<56, 24>(self.slots_low.val());
        self.line.next = self.base.val() + bit_cast::<56, 16>(self.id_now.q.val());
        self.line64.next = bit_cast::<64, 56>(self.line.val());
        self.slot_now.d.next = self.line64.val() << self.slot_shift.val();
        self.slot_now.en.next = self.prepare.val();
        self.slot.next = self.line64.val() << self.slot_shift.val();
        self.slot_kept.next = self.slot_now.q.val();

        self.id.next = self.id_now.q.val();
        self.iova.next = self.iova_now.q.val();
        self.count.next = self.count_now.q.val();
        self.single.next = self.count_now.q.val() == self.one6.val();
        self.index.next = self.index_now.q.val();
        self.first.next = self.index_now.q.val() == self.zero6.val();
        self.last.next = self.following.val() == self.count_now.q.val();
        self.took.next = self.took_now.q.val();
    }
}
