//! How long a delivery is, and whether it lies in a header slot.
//!
//!   hdr_len, payload_len, bytes so far ─Load─► total, used ─Head─► keep, used with the frame
//!
//! A delivery of 256 bytes or less lies wholly in its header slot. What a session becomes is not
//! known before it is closed, so its payload goes to the slot as well while it fits.
//!
//! Follows: the decisions in the header of the software device's `place`. Invariant: 256 bytes are
//! compact, 257 are not (`the_slot_holds_256_bytes`). Not here: addresses.

use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use groove_spec::nic::HEADER_SLOT_BYTES;
use rust_hdl::prelude::*;

/// The sums.
#[derive(LogicBlock)]
pub struct Extent {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Takes the lengths.
    pub load: Signal<In, Bit>,
    /// Adds the frame to what is in the slot.
    pub prepare: Signal<In, Bit>,
    /// The operation goes on with a session.
    pub is_held: Signal<In, Bit>,
    /// What is in the session's slot.
    pub held_used: Signal<In, Bits<9>>,
    /// Of the operation.
    pub hdr_len: Signal<In, Bits<8>>,
    /// Of the operation.
    pub payload_len: Signal<In, Bits<17>>,
    /// Header and payload bytes of the operation.
    pub total: Signal<Out, Bits<17>>,
    /// They fit into a header slot.
    pub compact: Signal<Out, Bit>,
    /// Where the payload starts in the slot, with `keep`.
    pub used: Signal<Out, Bits<9>>,
    /// The slot has room for the payload.
    pub keep: Signal<Out, Bit>,
    /// What is in the slot with the payload; 511: it had no room.
    pub new_used: Signal<Out, Bits<9>>,
    sum: RegE<Bits<17>>,
    used_now: RegE<Bits<9>>,
    keeps: RegE<Bit>,
    new_now: RegE<Bits<9>>,
    hdr17: Signal<Local, Bits<17>>,
    used17: Signal<Local, Bits<17>>,
    filled: Signal<Local, Bits<17>>,
    enough: Signal<Local, Bit>,
    slot_bytes: Constant<Bits<17>>,
    beyond: Constant<Bits<9>>,
}

impl Default for Extent {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            load: Default::default(),
            prepare: Default::default(),
            is_held: Default::default(),
            held_used: Default::default(),
            hdr_len: Default::default(),
            payload_len: Default::default(),
            total: Default::default(),
            compact: Default::default(),
            used: Default::default(),
            keep: Default::default(),
            new_used: Default::default(),
            sum: Default::default(),
            used_now: Default::default(),
            keeps: Default::default(),
            new_now: Default::default(),
            hdr17: Default::default(),
            used17: Default::default(),
            filled: Default::default(),
            enough: Default::default(),
            slot_bytes: Constant::new((HEADER_SLOT_BYTES as u64).into()),
            beyond: Constant::new(511.into()),
        }
    }
}

impl Logic for Extent {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_extent");
        ClkRst::link(&mut self.cr, &mut self.sum.cr);
        ClkRst::link(&mut self.cr, &mut self.used_now.cr);
        ClkRst::link(&mut self.cr, &mut self.keeps.cr);
        ClkRst::link(&mut self.cr, &mut self.new_now.cr);
        self.hdr17.next = bit_cast::<17, 8>(self.hdr_len.val());
        self.sum.d.next = self.hdr17.val() + self.payload_len.val();
        self.sum.en.next = self.load.val();
        self.used_now.d.next = bit_cast::<9, 8>(self.hdr_len.val());
        if self.is_held.val() {
            self.used_now.d.next = self.held_used.val();
        }
        self.used_now.en.next = self.load.val();

        self.used17.next = bit_cast::<17, 9>(self.used_now.q.val());
        self.filled.next = self.used17.val() + self.payload_len.val();
        self.enough.next = self.filled.val() <= self.slot_bytes.val();
        self.keeps.d.next = self.enough.val();
        self.keeps.en.next = self.prepare.val();
        self.new_now.d.next = self.beyond.val();
        if self.enough.val() {
            self.new_now.d.next = self.filled.val().get_bits::<9>(0);
        }
        self.new_now.en.next = self.prepare.val();

        self.total.next = self.sum.q.val();
        self.compact.next = self.sum.q.val() <= self.slot_bytes.val();
        self.used.next = self.used_now.q.val();
        self.keep.next = self.keeps.q.val();
        self.new_used.next = self.new_now.q.val();
    }
}
