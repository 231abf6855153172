//! The frame register, its key, and the addresses that follow from it.
//!
//!   Meta ──► key ──►[ frame ]──► Front              1 cycle
//!   queue, bucket, slots ──► Addresses              combinational
//!
//! Invariant: session number = bucket * depth + slot (`operations_equal_the_model`). Not here:
//! choices.

use super::key::{FrameKey, Key};
use crate::blocks::meta::FrameMeta;
use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use rust_hdl::prelude::*;

/// Holds the frame or token that the FSM works on.
#[derive(LogicBlock, Default)]
pub struct Front {
    /// Clock; no reset.
    pub cr: ClkRst,
    /// Offered.
    pub new_meta: Signal<In, FrameMeta>,
    /// Offered.
    pub new_header: Signal<In, Bits<1024>>,
    /// Something is offered.
    pub offered: Signal<In, Bit>,
    /// Takes what is offered.
    pub take: Signal<In, Bit>,
    /// Option.
    pub rxcsum: Signal<In, Bit>,
    /// Option.
    pub vlan_gro: Signal<In, Bit>,
    /// Option.
    pub strict_order: Signal<In, Bit>,
    /// Metadata.
    pub meta: Signal<Out, FrameMeta>,
    /// Header.
    pub header: Signal<Out, Bits<1024>>,
    /// Class.
    pub key: Signal<Out, Key>,
    classify: FrameKey,
    meta_reg: RegE<FrameMeta>,
    header_reg: RegE<Bits<1024>>,
    key_reg: RegE<Key>,
    loads: Signal<Local, Bit>,
}

impl Logic for Front {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_front");
        ClkRst::link(&mut self.cr, &mut self.meta_reg.cr);
        ClkRst::link(&mut self.cr, &mut self.header_reg.cr);
        ClkRst::link(&mut self.cr, &mut self.key_reg.cr);
        self.classify.meta.next = self.new_meta.val();
        self.classify.header.next = self.new_header.val();
        self.classify.en.next = self.offered.val();
        self.classify.rxcsum.next = self.rxcsum.val();
        self.classify.vlan_gro.next = self.vlan_gro.val();
        self.classify.strict_order.next = self.strict_order.val();
        self.loads.next = self.take.val() & self.offered.val();
        self.meta_reg.en.next = self.loads.val();
        self.meta_reg.d.next = self.new_meta.val();
        self.header_reg.en.next = self.loads.val();
        self.header_reg.d.next = self.new_header.val();
        self.key_reg.en.next = self.loads.val();
        self.key_reg.d.next = self.classify.key.val();
        self.meta.next = self.meta_reg.q.val();
        self.header.next = self.header_reg.q.val();
        self.key.next = self.key_reg.q.val();
    }
}

/// Addresses of tag words and sessions.
#[derive(LogicBlock)]
pub struct Addresses {
    /// Queue of the frame or token.
    pub queue: Signal<In, Bits<5>>,
    /// Of the frame.
    pub hash: Signal<In, Bits<32>>,
    /// A flush is at work: its bucket counts.
    pub walking: Signal<In, Bit>,
    /// Its bucket.
    pub bucket: Signal<In, Bits<5>>,
    /// The bucket that it reads now.
    pub bucket_ahead: Signal<In, Bits<5>>,
    /// Tags are emptied.
    pub clear: Signal<In, Bit>,
    /// The word that is emptied.
    pub clear_address: Signal<In, Bits<10>>,
    /// Slot that is read.
    pub next_slot: Signal<In, Bits<5>>,
    /// Slot that was read.
    pub slot: Signal<In, Bits<5>>,
    /// Slot of the frame's session.
    pub frame_slot: Signal<In, Bits<5>>,
    /// Tag word to read.
    pub tag_read: Signal<Out, Bits<10>>,
    /// Tag word to write.
    pub tag_write: Signal<Out, Bits<10>>,
    /// Session to read.
    pub session_read: Signal<Out, Bits<15>>,
    /// Session to write.
    pub session_write: Signal<Out, Bits<15>>,
    /// Number of the session in `slot`.
    pub close_index: Signal<Out, Bits<10>>,
    /// Number of the session in `frame_slot`.
    pub frame_index: Signal<Out, Bits<10>>,
    home: Signal<Local, Bits<5>>,
    now: Signal<Local, Bits<5>>,
    ahead: Signal<Local, Bits<5>>,
    queue10: Signal<Local, Bits<10>>,
    base10: Signal<Local, Bits<10>>,
    now10: Signal<Local, Bits<10>>,
    word: Signal<Local, Bits<10>>,
    word15: Signal<Local, Bits<15>>,
    slot10: Signal<Local, Bits<10>>,
    frame10: Signal<Local, Bits<10>>,
    frame15: Signal<Local, Bits<15>>,
    next15: Signal<Local, Bits<15>>,
    mask: Constant<Bits<5>>,
    bucket_bits: Constant<Bits<10>>,
    slot_bits10: Constant<Bits<10>>,
    slot_bits15: Constant<Bits<15>>,
}

impl Addresses {
    /// For queues of `buckets` buckets of `depth` sessions, both powers of two.
    pub fn new(buckets: usize, depth: usize) -> Self {
        Self {
            queue: Default::default(),
            hash: Default::default(),
            walking: Default::default(),
            bucket: Default::default(),
            bucket_ahead: Default::default(),
            clear: Default::default(),
            clear_address: Default::default(),
            next_slot: Default::default(),
            slot: Default::default(),
            frame_slot: Default::default(),
            tag_read: Default::default(),
            tag_write: Default::default(),
            session_read: Default::default(),
            session_write: Default::default(),
            close_index: Default::default(),
            frame_index: Default::default(),
            home: Default::default(),
            now: Default::default(),
            ahead: Default::default(),
            queue10: Default::default(),
            base10: Default::default(),
            now10: Default::default(),
            word: Default::default(),
            word15: Default::default(),
            slot10: Default::default(),
            frame10: Default::default(),
            frame15: Default::default(),
            next15: Default::default(),
            mask: Constant::new((buckets as u64 - 1).into()),
            bucket_bits: Constant::new(u64::from(buckets.ilog2()).into()),
            slot_bits10: Constant::new(u64::from(depth.ilog2()).into()),
            slot_bits15: Constant::new(u64::from(depth.ilog2()).into()),
        }
    }
}

impl Logic for Addresses {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_addresses");
        self.home.next = self.hash.val().get_bits::<5>(0) & self.mask.val();
        self.now.next = self.home.val();
        self.ahead.next = self.home.val();
        if self.walking.val() {
            self.now.next = self.bucket.val();
            self.ahead.next = self.bucket_ahead.val();
        }
        self.queue10.next = bit_cast::<10, 5>(self.queue.val());
        self.base10.next = self.queue10.val() << self.bucket_bits.val();
        self.now10.next = bit_cast::<10, 5>(self.now.val());
        self.word.next = self.base10.val() | self.now10.val();
        self.tag_read.next = self.base10.val() | bit_cast::<10, 5>(self.ahead.val());
        self.tag_write.next = self.word.val();
        if self.clear.val() {
            self.tag_write.next = self.clear_address.val();
        }
        self.word15.next = bit_cast::<15, 10>(self.word.val());
        self.next15.next = bit_cast::<15, 5>(self.next_slot.val());
        self.frame15.next = bit_cast::<15, 5>(self.frame_slot.val());
        self.session_read.next = (self.word15.val() << self.slot_bits15.val()) | self.next15.val();
        self.session_write.next =
            (self.word15.val() << self.slot_bits15.val()) | self.frame15.val();
        self.slot10.next = bit_cast::<10, 5>(self.slot.val());
        self.frame10.next = bit_cast::<10, 5>(self.frame_slot.val());
        self.close_index.next = (self.now10.val() << self.slot_bits10.val()) | self.slot10.val();
        self.frame_index.next = (self.now10.val() << self.slot_bits10.val()) | self.frame10.val();
    }
}
