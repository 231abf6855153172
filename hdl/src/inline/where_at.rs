//! Where the bytes of a record lie in the packet memory.
//!
//!   buffer id, bytes, in its header slot? ──► first line, lines, bytes of the last     same cycle
//!
//! Buffers of 2,048 bytes come first, then a slot of 256 bytes for each. Invariant: lines and bytes
//! are those of the record (`the_inline_form_equals_the_model`). Not here: reading.

use crate::blocks::bits::ZExt;
use crate::blocks::nic_ports::Completion;
use crate::comment;
use groove_spec::nic::{BUFFER_BYTES_MIN, HEADER_SLOT_BYTES};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct WhereAt<const K: usize, const A: usize> {
    /// The record.
    pub body: Signal<In, Completion>,
    /// Its buffer.
    pub id: Signal<Out, Bits<8>>,
    /// First line.
    pub line: Signal<Out, Bits<A>>,
    /// Lines.
    pub lines: Signal<Out, Bits<12>>,
    /// Bytes of the last line.
    pub tail: Signal<Out, Bits<7>>,
    buffer: Signal<Local, Bits<16>>,
    at: Signal<Local, Bits<A>>,
    slot: Signal<Local, Bits<A>>,
    in_slot: Signal<Local, Bits<9>>,
    length: Signal<Local, Bits<17>>,
    bytes: Signal<Local, Bits<12>>,
    up: Signal<Local, Bits<12>>,
    rest: Signal<Local, Bits<12>>,
    buffer_log2: Constant<Bits<8>>,
    slot_log2: Constant<Bits<8>>,
    slots: Constant<Bits<A>>,
    round: Constant<Bits<12>>,
    log2: Constant<Bits<8>>,
    zero: Constant<Bits<12>>,
    whole: Constant<Bits<7>>,
}

impl<const K: usize, const A: usize> WhereAt<K, A> {
    /// Header slots start at line `slots`.
    pub fn new(slots: usize) -> Self {
        let log2 = |value: usize| Constant::new((value.ilog2() as usize).to_bits());
        Self {
            body: Default::default(),
            id: Default::default(),
            line: Default::default(),
            lines: Default::default(),
            tail: Default::default(),
            buffer: Default::default(),
            at: Default::default(),
            slot: Default::default(),
            in_slot: Default::default(),
            length: Default::default(),
            bytes: Default::default(),
            up: Default::default(),
            rest: Default::default(),
            buffer_log2: log2(BUFFER_BYTES_MIN / K),
            slot_log2: log2(HEADER_SLOT_BYTES / K),
            slots: Constant::new(slots.to_bits()),
            round: Constant::new((K - 1).to_bits()),
            log2: log2(K),
            zero: Constant::new(0usize.to_bits()),
            whole: Constant::new(K.to_bits()),
        }
    }
}

impl<const K: usize, const A: usize> Logic for WhereAt<K, A> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_where_at");
        self.buffer.next = self.body.val().buf_id;
        self.id.next = self.buffer.val().get_bits::<8>(0);
        self.at.next = self.buffer.val().to_bits();
        self.slot.next = self.at.val() << self.slot_log2.val();
        self.in_slot.next = self.body.val().hdr_len;
        self.length.next = self.body.val().length;
        self.line.next = self.at.val() << self.buffer_log2.val();
        self.bytes.next = self.length.val().get_bits::<12>(0);
        if self.in_slot.val().any() {
            self.line.next = self.slots.val() + self.slot.val();
            self.bytes.next = bit_cast::<12, 9>(self.in_slot.val());
        }
        self.up.next = self.bytes.val() + self.round.val();
        self.lines.next = self.up.val() >> self.log2.val();
        self.rest.next = self.bytes.val() & self.round.val();
        self.tail.next = self.whole.val();
        if self.rest.val() != self.zero.val() {
            self.tail.next = self.rest.val().get_bits::<7>(0);
        }
    }
}
