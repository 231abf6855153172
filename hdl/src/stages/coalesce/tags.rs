//! The tag word of a bucket: who is held in it, in which order.
//!
//!   entries, hash, digest ──► TagMatch  ──► candidates, oldest, free    combinational
//!   entries, slot, action ──► TagUpdate ──► entries                     combinational
//!   set of slots ──► Lowest ──► first of them                           combinational
//!
//! An entry: rank (5 bits, lowest), valid, digest (16), hash (32). The rank is the position in the
//! kernel's list: 0 is the newest. Valid entries have the ranks 0 .. n - 1, each once.
//!
//! Follows gro-semantics §1.1 (list, newest first), §1.7 (evict the oldest).
//! Invariants: removing or inserting keeps ranks dense (`operations_equal_the_model`). A candidate
//! is found by hash and digest alone; the header decides. Not here: RAM.

use crate::blocks::bits::ZExt;
use crate::comment;
use rust_hdl::prelude::*;

/// Bits of an entry.
pub const TAG_BITS: usize = 54;

/// Finds candidates, the oldest session and free slots in a bucket.
#[derive(LogicBlock)]
pub struct TagMatch {
    /// The bucket.
    pub entry: Vec<Signal<In, Bits<54>>>,
    /// Of the frame.
    pub hash: Signal<In, Bits<32>>,
    /// Of the frame.
    pub digest: Signal<In, Bits<16>>,
    /// Slots with that hash and digest.
    pub candidates: Signal<Out, Bits<32>>,
    /// The slot of the oldest session.
    pub oldest: Signal<Out, Bits<32>>,
    /// Slots without a session.
    pub free: Signal<Out, Bits<32>>,
    looked: Signal<Local, Bits<48>>,
    hit: Signal<Local, Bits<32>>,
    last: Signal<Local, Bits<32>>,
    empty: Signal<Local, Bits<32>>,
    ranks: Signal<Local, Bits<32>>,
    top: Signal<Local, Bits<32>>,
    hash48: Signal<Local, Bits<48>>,
    digest48: Signal<Local, Bits<48>>,
    decoded: Vec<Signal<Local, Bits<32>>>,
    rank32: Vec<Signal<Local, Bits<32>>>,
    zero: Constant<Bits<32>>,
    one: Constant<Bits<32>>,
}

impl TagMatch {
    /// For buckets of `depth` sessions.
    pub fn new(depth: usize) -> Self {
        Self {
            entry: vec![Default::default(); depth],
            hash: Default::default(),
            digest: Default::default(),
            candidates: Default::default(),
            oldest: Default::default(),
            free: Default::default(),
            looked: Default::default(),
            hit: Default::default(),
            last: Default::default(),
            empty: Default::default(),
            ranks: Default::default(),
            top: Default::default(),
            hash48: Default::default(),
            digest48: Default::default(),
            decoded: vec![Default::default(); depth],
            rank32: vec![Default::default(); depth],
            zero: Constant::new(0.into()),
            one: Constant::new(1.into()),
        }
    }
}

impl Logic for TagMatch {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_tag_match");
        self.hash48.next = bit_cast::<48, 32>(self.hash.val());
        self.digest48.next = bit_cast::<48, 16>(self.digest.val());
        self.looked.next = (self.hash48.val() << 16) | self.digest48.val();
        self.hit.next = self.zero.val();
        self.empty.next = self.zero.val();
        self.ranks.next = self.zero.val();
        for i in 0..self.entry.len() {
            self.rank32[i].next = self.entry[i].val().get_bits::<5>(0).to_bits();
            self.decoded[i].next = self.zero.val();
            if self.entry[i].val().get_bit(5) {
                self.decoded[i].next = self.one.val() << self.rank32[i].val();
                if self.entry[i].val().get_bits::<48>(6) == self.looked.val() {
                    self.hit.next = self.hit.val().replace_bit(i, true);
                }
            } else {
                self.empty.next = self.empty.val().replace_bit(i, true);
            }
            self.ranks.next = self.ranks.val() | self.decoded[i].val();
        }
        // Ranks are dense, so the highest one is the only one without a successor.
        self.top.next = self.ranks.val() & !(self.ranks.val() >> 1);
        self.last.next = self.zero.val();
        for i in 0..self.entry.len() {
            if (self.decoded[i].val() & self.top.val()).any() {
                self.last.next = self.last.val().replace_bit(i, true);
            }
        }
        self.candidates.next = self.hit.val();
        self.oldest.next = self.last.val();
        self.free.next = self.empty.val();
    }
}

/// Computes the bucket after a session was put into a slot or taken out of it.
#[derive(LogicBlock)]
pub struct TagUpdate {
    /// The bucket.
    pub entry: Vec<Signal<In, Bits<54>>>,
    /// Slot that changes.
    pub slot: Signal<In, Bits<5>>,
    /// A new session takes the slot, as the newest; what was there is gone.
    pub insert: Signal<In, Bit>,
    /// The slot becomes free.
    pub remove: Signal<In, Bit>,
    /// All slots become free.
    pub clear: Signal<In, Bit>,
    /// Of the new session.
    pub hash: Signal<In, Bits<32>>,
    /// Of the new session.
    pub digest: Signal<In, Bits<16>>,
    /// The bucket afterwards.
    pub next_entry: Vec<Signal<Out, Bits<54>>>,
    rank: Vec<Signal<Local, Bits<5>>>,
    moved: Vec<Signal<Local, Bits<5>>>,
    moved54: Vec<Signal<Local, Bits<54>>>,
    old_rank: Signal<Local, Bits<5>>,
    old_valid: Signal<Local, Bit>,
    hash54: Signal<Local, Bits<54>>,
    digest54: Signal<Local, Bits<54>>,
    fresh: Signal<Local, Bits<54>>,
    index: Vec<Constant<Bits<5>>>,
    zero: Constant<Bits<5>>,
    one: Constant<Bits<5>>,
    nothing: Constant<Bits<54>>,
    valid: Constant<Bits<54>>,
    not_rank: Constant<Bits<54>>,
}

impl TagUpdate {
    /// For buckets of `depth` sessions.
    pub fn new(depth: usize) -> Self {
        Self {
            entry: vec![Default::default(); depth],
            slot: Default::default(),
            insert: Default::default(),
            remove: Default::default(),
            clear: Default::default(),
            hash: Default::default(),
            digest: Default::default(),
            next_entry: vec![Default::default(); depth],
            rank: vec![Default::default(); depth],
            moved: vec![Default::default(); depth],
            moved54: vec![Default::default(); depth],
            old_rank: Default::default(),
            old_valid: Default::default(),
            hash54: Default::default(),
            digest54: Default::default(),
            fresh: Default::default(),
            index: (0..depth as u64).map(|i| Constant::new(i.into())).collect(),
            zero: Constant::new(0.into()),
            one: Constant::new(1.into()),
            nothing: Constant::new(0.into()),
            valid: Constant::new(0x20.into()),
            not_rank: Constant::new(((1u64 << TAG_BITS) - 0x20).into()),
        }
    }
}

impl Logic for TagUpdate {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_tag_update");
        self.hash54.next = bit_cast::<54, 32>(self.hash.val());
        self.digest54.next = bit_cast::<54, 16>(self.digest.val());
        self.fresh.next = (self.hash54.val() << 22) | (self.digest54.val() << 6) | self.valid.val();
        self.old_rank.next = self.zero.val();
        self.old_valid.next = false;
        for i in 0..self.entry.len() {
            self.rank[i].next = self.entry[i].val().get_bits::<5>(0);
            if self.slot.val() == self.index[i].val() {
                self.old_rank.next = self.rank[i].val();
                self.old_valid.next = self.entry[i].val().get_bit(5);
            }
        }
        for i in 0..self.entry.len() {
            self.moved[i].next = self.rank[i].val();
            if self.insert.val() {
                // Those in front of the one that goes, or all, move back by one.
                if !self.old_valid.val() | (self.rank[i].val() < self.old_rank.val()) {
                    self.moved[i].next = self.rank[i].val() + self.one.val();
                }
            } else if self.rank[i].val() > self.old_rank.val() {
                self.moved[i].next = self.rank[i].val() - self.one.val();
            }
            self.moved54[i].next = self.moved[i].val().to_bits();
            self.next_entry[i].next =
                (self.entry[i].val() & self.not_rank.val()) | self.moved54[i].val();
            if self.slot.val() == self.index[i].val() {
                if self.insert.val() {
                    self.next_entry[i].next = self.fresh.val();
                } else if self.remove.val() {
                    self.next_entry[i].next = self.nothing.val();
                }
            }
            if self.clear.val() {
                self.next_entry[i].next = self.nothing.val();
            }
        }
    }
}

/// The lowest member of a set of slots.
#[derive(LogicBlock)]
pub struct Lowest {
    /// The set.
    pub set: Signal<In, Bits<32>>,
    /// Its lowest member; 0 if it is empty.
    pub index: Signal<Out, Bits<5>>,
    /// The set without it.
    pub rest: Signal<Out, Bits<32>>,
    minus: Signal<Local, Bits<32>>,
    only: Signal<Local, Bits<32>>,
    number: Signal<Local, Bits<5>>,
    zero: Constant<Bits<32>>,
    bit: [Constant<Bits<32>>; 5],
    zero5: Constant<Bits<5>>,
}

impl Default for Lowest {
    fn default() -> Self {
        Self {
            set: Default::default(),
            index: Default::default(),
            rest: Default::default(),
            minus: Default::default(),
            only: Default::default(),
            number: Default::default(),
            zero: Constant::new(0.into()),
            bit: [0xaaaa_aaaa_u64, 0xcccc_cccc, 0xf0f0_f0f0, 0xff00_ff00, 0xffff_0000]
                .map(|mask| Constant::new(mask.into())),
            zero5: Constant::new(0.into()),
        }
    }
}

impl Logic for Lowest {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_lowest_slot");
        // Isolated by a carry chain: a search from bit to bit would be 32 levels deep.
        self.minus.next = self.zero.val() - self.set.val();
        self.only.next = self.set.val() & self.minus.val();
        self.number.next = self.zero5.val();
        for i in 0..5 {
            if (self.only.val() & self.bit[i].val()).any() {
                self.number.next = self.number.val().replace_bit(i, true);
            }
        }
        self.index.next = self.number.val();
        self.rest.next = self.set.val() ^ self.only.val();
    }
}
