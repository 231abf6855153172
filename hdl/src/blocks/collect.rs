//! Gathers the first 128 bytes of each frame into one register; passes the beats on.
//!
//!   s ──┬──► m  (frames only, same cycle)
//!       └──[ header register, 1024 bits ]──► head      1 cycle after the beat that completes it
//!
//! The header goes out as soon as 128 bytes or the last beat are in it; later beats of the frame
//! pass by meanwhile. Bytes beyond the frame are zero. A token goes to `head` only. A frame of n
//! beats takes max(n, header beats + 1) cycles.
//!
//! Invariants: one head per frame and token, in order (`collect_gathers_the_first_bytes`); every
//! frame beat passes once (same test). Not here: parsing.

use super::axis::{BeatSink, BeatSource};
use super::bits::{Join, ZExt};
use super::meta::{HEADER_BITS, HeadSource};
use super::reg::{ClkRst, RegE, RegR};
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct Collect<const W: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Beats and tokens in.
    pub s: BeatSink<W>,
    /// The beats of frames.
    pub m: BeatSource<W>,
    /// Headers and tokens.
    pub head: HeadSource,
    slot: Vec<RegE<Bits<W>>>,
    merged: Join<W, 1024>,
    /// Beats of this frame so far, up to the number of slots.
    index: RegR<Bits<5>>,
    h_valid: RegR<Bit>,
    h_bytes: RegE<Bits<8>>,
    h_token: RegE<Bit>,
    h_kind: RegE<Bits<2>>,
    h_queue: RegE<Bits<5>>,
    first: Signal<Local, Bit>,
    gathers: Signal<Local, Bit>,
    fire: Signal<Local, Bit>,
    bytes: Signal<Local, Bits<8>>,
    number: Vec<Constant<Bits<5>>>,
    slots: Constant<Bits<5>>,
    top: Constant<Bits<5>>,
    zero5: Constant<Bits<5>>,
    one5: Constant<Bits<5>>,
    zero: Constant<Bits<W>>,
}

impl<const W: usize> Default for Collect<W> {
    fn default() -> Self {
        let slots = HEADER_BITS / W;
        Self {
            cr: Default::default(),
            s: Default::default(),
            m: Default::default(),
            head: Default::default(),
            slot: vec![Default::default(); slots],
            merged: Default::default(),
            index: Default::default(),
            h_valid: Default::default(),
            h_bytes: Default::default(),
            h_token: Default::default(),
            h_kind: Default::default(),
            h_queue: Default::default(),
            first: Default::default(),
            gathers: Default::default(),
            fire: Default::default(),
            bytes: Default::default(),
            number: (0..slots).map(|i| Constant::new(i.to_bits())).collect(),
            slots: Constant::new(slots.to_bits()),
            top: Constant::new((slots - 1).to_bits()),
            zero5: Constant::new(0usize.to_bits()),
            one5: Constant::new(1usize.to_bits()),
            zero: Constant::new(Default::default()),
        }
    }
}

impl<const W: usize> Logic for Collect<W> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.index.cr);
        ClkRst::link(&mut self.cr, &mut self.h_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.h_bytes.cr);
        ClkRst::link(&mut self.cr, &mut self.h_token.cr);
        ClkRst::link(&mut self.cr, &mut self.h_kind.cr);
        ClkRst::link(&mut self.cr, &mut self.h_queue.cr);
        for i in 0..self.slot.len() {
            ClkRst::link(&mut self.cr, &mut self.slot[i].cr);
        }

        self.first.next = self.index.q.val() == self.zero5.val();
        self.gathers.next = self.index.q.val() != self.slots.val();
        // A first beat waits until the register is free; the others never meet a full one that they
        // need.
        self.s.ready.next = (!self.h_valid.q.val() | (self.index.q.val() != self.zero5.val()))
            & (self.s.info.val().is_token | self.m.ready.val());
        self.m.valid.next = self.s.valid.val()
            & !self.s.info.val().is_token
            & (!self.h_valid.q.val() | (self.index.q.val() != self.zero5.val()));
        self.m.data.next = self.s.data.val();
        self.m.info.next = self.s.info.val();
        self.fire.next = self.s.valid.val()
            & (!self.h_valid.q.val() | !self.first.val())
            & (self.s.info.val().is_token | self.m.ready.val());

        for i in 0..1 {
            self.slot[i].en.next = self.fire.val() & self.first.val();
            self.slot[i].d.next = self.s.data.val();
        }
        for i in 1..self.slot.len() {
            self.slot[i].en.next =
                self.fire.val() & (self.first.val() | (self.index.q.val() == self.number[i].val()));
            self.slot[i].d.next = self.s.data.val();
            if self.first.val() {
                self.slot[i].d.next = self.zero.val();
            }
        }
        for i in 0..self.slot.len() {
            self.merged.i[i].next = self.slot[i].q.val();
        }

        self.bytes.next = self.s.info.val().bytes.to_bits();
        self.h_bytes.en.next = self.fire.val() & self.gathers.val();
        self.h_bytes.d.next = self.h_bytes.q.val() + self.bytes.val();
        if self.first.val() {
            self.h_bytes.d.next = self.bytes.val();
        }
        self.h_token.en.next = self.fire.val() & self.first.val();
        self.h_kind.en.next = self.fire.val() & self.first.val();
        self.h_queue.en.next = self.fire.val() & self.first.val();
        self.h_token.d.next = self.s.info.val().is_token;
        self.h_kind.d.next = self.s.info.val().token_kind;
        self.h_queue.d.next = self.s.info.val().queue;

        self.index.d.next = self.index.q.val();
        self.h_valid.d.next = self.h_valid.q.val() & !self.head.ready.val();
        if self.fire.val() {
            if self.s.info.val().last {
                self.index.d.next = self.zero5.val();
            } else if self.gathers.val() {
                self.index.d.next = self.index.q.val() + self.one5.val();
            }
            if self.gathers.val()
                & (self.s.info.val().last | (self.index.q.val() == self.top.val()))
            {
                self.h_valid.d.next = true;
            }
        }

        self.head.header.next = self.merged.o.val();
        self.head.bytes.next = self.h_bytes.q.val();
        self.head.is_token.next = self.h_token.q.val();
        self.head.token_kind.next = self.h_kind.q.val();
        self.head.queue.next = self.h_queue.q.val();
        self.head.valid.next = self.h_valid.q.val();
    }
}
