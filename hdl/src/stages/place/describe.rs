//! The body of a record: which buffer returns, with what; metadata with the first one.
//!
//!   operation, sums, buffer ──► COMPLETION without generation and error         combinational
//!
//! Follows: row `COMPLETION` of the table; `records` and `returned` of the software device's
//! `complete`. Invariant: as there, field by field (`commands_and_records_equal_the_reference`).
//! Not here: order.

use crate::blocks::nic_ports::Completion;
use crate::blocks::op::Operation;
use crate::comment;
use rust_hdl::prelude::*;

/// Composes the body.
#[derive(LogicBlock)]
pub struct Describe {
    /// The operation.
    pub meta: Signal<In, Operation>,
    /// It is a buffer to drain: nothing of `meta` holds.
    pub drains: Signal<In, Bit>,
    /// Header and payload bytes.
    pub total: Signal<In, Bits<17>>,
    /// They lie in the header slot.
    pub compact: Signal<In, Bit>,
    /// Of the queue.
    pub split: Signal<In, Bit>,
    /// Of the queue.
    pub size: Signal<In, Bits<17>>,
    /// Bytes in the last buffer of several, or of a session.
    pub position: Signal<In, Bits<17>>,
    /// Goes with the only payload command of an ALONE: `position` is not there yet.
    pub at_once: Signal<In, Bit>,
    /// First buffer.
    pub id: Signal<In, Bits<16>>,
    /// Buffer that returns, unless it is the first one.
    pub chained: Signal<In, Bits<16>>,
    /// It is the first one.
    pub first: Signal<In, Bit>,
    /// It is the last one.
    pub last: Signal<In, Bit>,
    /// The body.
    pub body: Signal<Out, Completion>,
    length: Signal<Local, Bits<17>>,
    in_slot: Signal<Local, Bits<9>>,
    plain: Signal<Local, Completion>,
    full: Signal<Local, Completion>,
    hdr_len: Signal<Local, Bits<8>>,
    empty: Constant<Completion>,
    zero17: Constant<Bits<17>>,
    zero9: Constant<Bits<9>>,
}

impl Default for Describe {
    fn default() -> Self {
        Self {
            meta: Default::default(),
            drains: Default::default(),
            total: Default::default(),
            compact: Default::default(),
            split: Default::default(),
            size: Default::default(),
            position: Default::default(),
            at_once: Default::default(),
            id: Default::default(),
            chained: Default::default(),
            first: Default::default(),
            last: Default::default(),
            body: Default::default(),
            length: Default::default(),
            in_slot: Default::default(),
            plain: Default::default(),
            full: Default::default(),
            hdr_len: Default::default(),
            empty: Constant::new(Completion::default()),
            zero17: Constant::new(0.into()),
            zero9: Constant::new(0.into()),
        }
    }
}

impl Logic for Describe {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_describe");
        self.hdr_len.next = self.meta.val().hdr_len;
        self.length.next = self.size.val();
        if self.at_once.val() {
            self.length.next = self.total.val();
            if self.split.val() {
                self.length.next = self.meta.val().payload_len;
            }
        } else if self.last.val() {
            self.length.next = self.position.val();
        }
        if self.compact.val() | self.drains.val() {
            self.length.next = self.zero17.val();
        }
        self.in_slot.next = self.zero9.val();
        if self.compact.val() {
            self.in_slot.next = self.total.val().get_bits::<9>(0);
        } else if self.split.val() {
            self.in_slot.next = bit_cast::<9, 8>(self.hdr_len.val());
        }

        self.plain.next = self.empty.val();
        self.plain.next.buf_id = self.id.val();
        if !self.first.val() {
            self.plain.next.buf_id = self.chained.val();
        }
        self.plain.next.length = self.length.val();
        self.plain.next.first = self.first.val();
        self.plain.next.last = self.last.val();

        self.full.next = self.plain.val();
        self.full.next.hdr_len = self.in_slot.val();
        self.full.next.split = self.split.val() & !self.compact.val();
        self.full.next.vlan_valid = self.meta.val().vlan_valid;
        self.full.next.vlan_tpid = self.meta.val().vlan_tpid;
        self.full.next.vlan_tci = self.meta.val().vlan_tci;
        self.full.next.hash = self.meta.val().hash;
        self.full.next.hash_type = self.meta.val().hash_type;
        self.full.next.packet_type = self.meta.val().packet_type;
        self.full.next.protocol = self.meta.val().protocol;
        self.full.next.csum = self.meta.val().csum;
        self.full.next.csum_level = self.meta.val().csum_level;
        self.full.next.csum_start = self.meta.val().csum_start;
        self.full.next.l3_verdict = self.meta.val().l3_verdict;
        self.full.next.l4_verdict = self.meta.val().l4_verdict;
        self.full.next.header_bytes = self.meta.val().hdr_len;
        self.full.next.total_len = self.total.val();
        self.full.next.gso_size = self.meta.val().gso_size;
        self.full.next.gso_segs = self.meta.val().gso_segs;
        self.full.next.gso_type = self.meta.val().gso_type;
        self.full.next.encapsulation = self.meta.val().encapsulation;
        self.full.next.end_reason = self.meta.val().end_reason;
        self.full.next.alone_reason = self.meta.val().alone_reason;
        self.body.next = self.plain.val();
        if self.first.val() & !self.drains.val() {
            self.body.next = self.full.val();
        }
    }
}
