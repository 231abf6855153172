//! The tag words in RAM, and the slot that the FSM looks at.
//!
//!   read, address ──►[ tag RAM ]──► match ──► slot of a candidate or the oldest   1 cycle
//!   insert, remove ──► update ──►[ tag RAM ]
//!
//! One RAM per slot, read and written together: the words of a bucket. Their outputs hold until the
//! next read, so that the update needs no copy.
//!
//! Follows gro-semantics §1.1, §1.7. Invariants: all candidates of a frame are visited before a
//! session is evicted for it (`digest_collisions_never_merge`); tags are empty before the first
//! frame (`reset_forgets_everything`). Not here: when things happen (`control`).

use super::tags::{Lowest, TagMatch, TagUpdate};
use crate::blocks::ram::Ram;
use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use rust_hdl::prelude::*;

/// Tags of all queues.
#[derive(LogicBlock)]
pub struct Lookup {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Tag word to read.
    pub read_address: Signal<In, Bits<10>>,
    /// Reads it.
    pub read: Signal<In, Bit>,
    /// Tag word that is written.
    pub write_address: Signal<In, Bits<10>>,
    /// Of the frame.
    pub hash: Signal<In, Bits<32>>,
    /// Of the frame.
    pub digest: Signal<In, Bits<16>>,
    /// Candidates matter to the frame.
    pub search: Signal<In, Bit>,
    /// A new tag word is there: choose among all candidates.
    pub matching: Signal<In, Bit>,
    /// Takes the next candidate (with `retry`), the first one (with `matching`), else the oldest.
    pub select: Signal<In, Bit>,
    /// See `select`.
    pub retry: Signal<In, Bit>,
    /// A new session takes a free slot.
    pub fresh: Signal<In, Bit>,
    /// A new session is entered.
    pub insert: Signal<In, Bit>,
    /// The session in `slot` is taken out.
    pub remove: Signal<In, Bit>,
    /// The tag word is emptied.
    pub clear: Signal<In, Bit>,
    /// Slot chosen in this cycle.
    pub next_slot: Signal<Out, Bits<5>>,
    /// Slot chosen last.
    pub slot: Signal<Out, Bits<5>>,
    /// Slot of the frame's session: a free one if `fresh`, else `slot`.
    pub frame_slot: Signal<Out, Bits<5>>,
    /// The chosen slot holds a candidate.
    pub current: Signal<Out, Bit>,
    /// The chosen slot holds the oldest session.
    pub victim: Signal<Out, Bit>,
    /// There are more candidates.
    pub more: Signal<Out, Bit>,
    /// There is no free slot.
    pub full: Signal<Out, Bit>,
    /// There is a session.
    pub occupied: Signal<Out, Bit>,
    ram: Vec<Ram<Bits<54>, 10>>,
    look: TagMatch,
    change: TagUpdate,
    oldest: Lowest,
    free: Lowest,
    next: Lowest,
    chosen: RegE<Bits<5>>,
    rest: RegE<Bits<32>>,
    is_candidate: RegE<Bit>,
    is_oldest: RegE<Bit>,
    hit: Signal<Local, Bit>,
    pick: Signal<Local, Bits<5>>,
    place: Signal<Local, Bits<5>>,
    none: Constant<Bits<32>>,
}

impl Lookup {
    /// For `words` buckets of `depth` sessions.
    pub fn new(words: usize, depth: usize) -> Self {
        Self {
            cr: Default::default(),
            read_address: Default::default(),
            read: Default::default(),
            write_address: Default::default(),
            hash: Default::default(),
            digest: Default::default(),
            search: Default::default(),
            matching: Default::default(),
            select: Default::default(),
            retry: Default::default(),
            fresh: Default::default(),
            insert: Default::default(),
            remove: Default::default(),
            clear: Default::default(),
            next_slot: Default::default(),
            slot: Default::default(),
            frame_slot: Default::default(),
            current: Default::default(),
            victim: Default::default(),
            more: Default::default(),
            full: Default::default(),
            occupied: Default::default(),
            ram: (0..depth).map(|_| Ram::new(words)).collect(),
            look: TagMatch::new(depth),
            change: TagUpdate::new(depth),
            oldest: Default::default(),
            free: Default::default(),
            next: Default::default(),
            chosen: Default::default(),
            rest: Default::default(),
            is_candidate: Default::default(),
            is_oldest: Default::default(),
            hit: Default::default(),
            pick: Default::default(),
            place: Default::default(),
            none: Constant::new(0.into()),
        }
    }
}

impl Logic for Lookup {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_lookup");
        ClkRst::link(&mut self.cr, &mut self.chosen.cr);
        ClkRst::link(&mut self.cr, &mut self.rest.cr);
        ClkRst::link(&mut self.cr, &mut self.is_candidate.cr);
        ClkRst::link(&mut self.cr, &mut self.is_oldest.cr);
        for i in 0..self.ram.len() {
            self.ram[i].cr.clk.next = self.cr.clk.val();
            self.ram[i].cr.rst.next = self.cr.rst.val();
            self.ram[i].raddr.next = self.read_address.val();
            self.ram[i].ren.next = self.read.val();
            self.ram[i].waddr.next = self.write_address.val();
            self.ram[i].wen.next = self.insert.val() | self.remove.val() | self.clear.val();
            self.ram[i].wdata.next = self.change.next_entry[i].val();
            self.look.entry[i].next = self.ram[i].rdata.val();
            self.change.entry[i].next = self.ram[i].rdata.val();
        }
        self.look.hash.next = self.hash.val();
        self.look.digest.next = self.digest.val();
        self.oldest.set.next = self.look.oldest.val();
        self.free.set.next = self.look.free.val();
        self.full.next = !self.look.free.val().any();
        self.occupied.next = self.look.oldest.val().any();
        self.next.set.next = self.rest.q.val();
        if self.matching.val() {
            self.next.set.next = self.none.val();
            if self.search.val() {
                self.next.set.next = self.look.candidates.val();
            }
        }

        self.hit.next = self.retry.val()
            | (self.matching.val() & self.search.val() & self.look.candidates.val().any());
        self.pick.next = self.oldest.index.val();
        if self.hit.val() {
            self.pick.next = self.next.index.val();
        }
        self.next_slot.next = self.pick.val();
        self.chosen.en.next = self.select.val();
        self.chosen.d.next = self.pick.val();
        self.rest.en.next = self.select.val();
        self.rest.d.next = self.next.rest.val();
        self.is_candidate.en.next = self.select.val();
        self.is_candidate.d.next = self.hit.val();
        self.is_oldest.en.next = self.select.val();
        self.is_oldest.d.next = !self.hit.val();
        self.slot.next = self.chosen.q.val();
        self.current.next = self.is_candidate.q.val();
        self.victim.next = self.is_oldest.q.val();
        self.more.next = self.rest.q.val().any();

        self.place.next = self.chosen.q.val();
        if self.fresh.val() {
            self.place.next = self.free.index.val();
        }
        self.frame_slot.next = self.place.val();
        self.change.slot.next = self.place.val();
        self.change.insert.next = self.insert.val();
        self.change.remove.next = self.remove.val();
        self.change.clear.next = self.clear.val();
        self.change.hash.next = self.hash.val();
        self.change.digest.next = self.digest.val();
    }
}
