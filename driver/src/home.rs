//! Per-queue buffer return: every buffer goes home to the queue that owns it, from any thread.
//!
//!   owner's thread ──────────────────────────► staging ──────────┐
//!   others ──► slot of (owner, domain), bounded ──► drained whole ┼─► spare ──► free ring
//!          └─► full, or no slot: overflow ────────► drained whole ┘
//!
//! Follows: kernel `skb_attempt_defer_free`, `skb_defer_free_flush` (7.3), `skb_defer_max` 128:
//! n = ++count; n >= max is refused; n - 1 == max / 2 kicks the owner; a drain zeroes the count and
//! takes the whole list (the kernel in two steps, here in one).
//!
//! Decisions:
//! - The kernel frees a refused buffer where it is. Here a buffer belongs to one queue for life: it
//!   goes to the owner's overflow list, which is as lock-free. The first in that list kicks, so
//!   that an owner that sleeps is woken with a `max` of 0 to 2 too.
//! - Slots and overflow are LIFO: one list each, taken by one swap. The order in which buffers are
//!   posted is decided behind it (`FreeOrder`).
//! - `max` is held to a share of the pool, so that at most half of the pool can wait in slots
//!   without a kick: the device does not run dry behind an owner that sleeps.
//! - The owner's thread uses relaxed loads and stores: plain moves, no locked instruction.
//! - A queue that goes away closes its lists: a buffer that comes later finds nobody (`lease`).
//!
//! Invariants: nothing is lost or doubled, whatever the threads do
//! (`every_buffer_comes_home_from_many_threads`, `push_and_drain_lose_nothing`); at most `max - 1`
//! wait in a slot (`a_slot_is_bounded_until_it_is_drained`); one kick for each crossing of one half
//! (`kicks_once_at_half`); no kick is lost between a drain and a wait (`no_kick_is_lost`).

use std::sync::Arc;

use crate::Interrupt;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::thread::{known, me, slot};

/// `skb_defer_max` of the kernel.
pub const DEFER_MAX: u32 = 128;

/// Owner of a queue that nobody owns: no thread has that number, nor has one without a number.
const NOBODY: u64 = u64::MAX;

/// Head of a list that takes no more.
const CLOSED: u32 = u32::MAX;

/// What became of a buffer that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is in the list; whether the owner is to be kicked.
    Taken(bool),
    /// The list is full.
    Full,
    /// The list is closed for ever.
    Closed,
}

/// How many buffers a list takes, and which of them wakes the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The number that is refused.
    pub max: u32,
    /// A buffer behind so many kicks.
    pub kicks_behind: u32,
}

impl Bounds {
    /// Of the overflow list: the pool alone bounds it, and the first buffer in it kicks. Those
    /// behind need not: whoever found it empty kicks, and the owner then finds them all.
    pub const OVERFLOW: Self = Self { max: u32::MAX, kicks_behind: 0 };

    /// Of a slot, as in the kernel.
    fn slot(max: u32) -> Self {
        Self { max, kicks_behind: max >> 1 }
    }
}

/// A list of buffers, linked by their ids, that is pushed to one by one and taken whole. A cache
/// line of its own: domains do not disturb each other.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct List {
    /// Low half: id plus one of the head, 0 at the end. High half: how many there are. Both in one
    /// word, so that a push is one locked instruction.
    word: AtomicU64,
}

impl List {
    /// Adds a buffer, unless there are as many as it may hold. The store that adds it is the last
    /// access, so that from there on the taker may do with the memory what it likes; `before_kick`
    /// runs before a store that perhaps leads to a kick.
    ///
    /// Only words are compared, and a buffer's link is right whatever came and went behind it: so a
    /// word that left and came back does no harm.
    pub fn push(
        &self,
        next: &[AtomicU32],
        id: u16,
        bounds: Bounds,
        mut before_kick: impl FnMut(),
    ) -> Pushed {
        let link = &next[usize::from(id)];
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let (head, n) = (word as u32, (word >> 32) as u32 + 1);
            if head == CLOSED {
                return Pushed::Closed;
            }
            if n >= bounds.max {
                return Pushed::Full;
            }
            let kicks = n - 1 == bounds.kicks_behind;
            if kicks {
                before_kick();
            }
            link.store(head, Ordering::Relaxed);
            // Releases the link, and all that this thread did with the buffer.
            let new = u64::from(n) << 32 | (u64::from(id) + 1);
            match self.word.compare_exchange_weak(word, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Pushed::Taken(kicks),
                Err(other) => word = other,
            }
        }
    }

    fn take(&self, next: &[AtomicU32], leave: u32, mut each: impl FnMut(u16)) -> u64 {
        if leave != CLOSED && self.word.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let mut at = self.word.swap(leave.into(), Ordering::Acquire) as u32;
        let mut taken = 0;
        while let Some(id) = at.checked_sub(1)
            && at != CLOSED
        {
            at = next[id as usize].load(Ordering::Relaxed);
            each(id as u16);
            taken += 1;
        }
        taken
    }
}

/// Counters of the way home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReturnStats {
    /// Buffers that came home on the owner's thread.
    pub home: u64,
    /// Buffers that came from slots.
    pub away: u64,
    /// Buffers that came over the overflow list.
    pub overflow: u64,
    /// Kicks of the owner.
    pub kicks: u64,
}

/// What a thread that is not the owner needs to release a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Away<'a> {
    /// Slot of this thread's domain, if it has one.
    pub slot: Option<&'a List>,
    /// Behind it, and bounded by the pool alone.
    pub overflow: &'a List,
    /// Links of all lists.
    pub next: &'a [AtomicU32],
    /// Of the slot.
    pub bounds: Bounds,
}

/// What the owner's thread writes all the time, on a cache line of its own: the others read what
/// is beside it.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Owned {
    staged: AtomicU32,
    home: AtomicU64,
    away: AtomicU64,
    overflow: AtomicU64,
}

/// Kicks, which all write, but rarely.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Kicks {
    pending: AtomicBool,
    count: AtomicU64,
}

/// Where the buffers of a queue go.
#[derive(Debug)]
pub struct Home {
    bounds: Bounds,
    owner: AtomicU64,
    staging: Box<[AtomicU32]>,
    next: Box<[AtomicU32]>,
    slots: Box<[List]>,
    kick: Arc<Interrupt>,
    overflow: List,
    owned: Owned,
    kicks: Kicks,
}

fn zeroes(n: usize) -> Box<[AtomicU32]> {
    (0..n).map(|_| AtomicU32::new(0)).collect()
}

/// Adds without a locked instruction: one thread alone writes the counter.
fn add(counter: &AtomicU64, n: u64) {
    if n == 0 {
        return;
    }
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

impl Home {
    /// The way home for a pool, with slots for `domains` of at most `max` - 1 buffers each. `kick`
    /// wakes the owner.
    pub fn new(pool: usize, domains: usize, max: u32, kick: Arc<Interrupt>) -> Self {
        let domains = domains.max(1);
        let share = pool / domains.max(2);
        Self {
            bounds: Bounds::slot(max.min(share as u32)),
            owner: AtomicU64::new(NOBODY),
            staging: zeroes(pool),
            next: zeroes(pool),
            slots: (0..domains).map(|_| List::default()).collect(),
            kick,
            overflow: List::default(),
            owned: Owned::default(),
            kicks: Kicks::default(),
        }
    }

    /// Whether this thread may touch what is the owner's: it is the owner, or nobody is.
    /// Only for who holds the queue.
    pub fn is_mine(&self) -> bool {
        let owner = self.owner.load(Ordering::Relaxed);
        owner == NOBODY || owner == me()
    }

    /// This thread becomes the owner, if nobody else is. Only for who holds the queue.
    pub fn bind(&self) {
        if self.is_mine() {
            self.owner.store(me(), Ordering::Relaxed);
        }
    }

    /// Nobody is the owner, if this thread was. Only for who holds the queue.
    pub fn unbind(&self) {
        if self.is_mine() {
            self.owner.store(NOBODY, Ordering::Relaxed);
        }
    }

    /// Whether this thread is the owner, and [`Home::stage`] is the way.
    #[inline]
    pub fn is_owner(&self) -> bool {
        // Only the owner's own thread can find itself here: it alone stores its number. A thread
        // that has none owns nothing.
        self.owner.load(Ordering::Relaxed) == known()
    }

    /// A buffer that the owner's thread releases. `false`: it did not take it, since more are
    /// released than there are.
    #[inline]
    #[must_use]
    pub fn stage(&self, id: u16) -> bool {
        let staged = self.owned.staged.load(Ordering::Relaxed);
        // No panic where a buffer is dropped: it may be dropped because of one.
        let Some(place) = self.staging.get(staged as usize) else { return false };
        place.store(id.into(), Ordering::Relaxed);
        self.owned.staged.store(staged + 1, Ordering::Relaxed);
        true
    }

    /// The way of a buffer that another thread releases.
    #[inline]
    pub fn away(&self) -> Away<'_> {
        let (slot, overflow) = (self.slots.get(slot()), &self.overflow);
        Away { slot, overflow, next: &self.next, bounds: self.bounds }
    }

    /// Wakes the owner, unless a kick is pending. Behind the push.
    pub fn kick(&self) {
        if !self.kicks.pending.swap(true, Ordering::AcqRel) {
            self.kicks.count.fetch_add(1, Ordering::Relaxed);
            // The owner finds the buffers at its next poll, if it cannot be woken.
            let _ = self.kick.signal();
        }
    }

    /// Takes what the owner's thread released, in order. `each` releases no buffer. Only for who
    /// holds the queue.
    #[inline]
    pub fn collect_home(&self, mut each: impl FnMut(u16)) {
        let owned = &self.owned;
        if self.is_mine() {
            let staged = owned.staged.load(Ordering::Relaxed);
            let ids = self.staging[..staged as usize].iter();
            ids.for_each(|id| each(id.load(Ordering::Relaxed) as u16));
            owned.staged.store(0, Ordering::Relaxed);
            add(&owned.home, staged.into());
        }
    }

    /// Takes what other threads released. `each` releases no buffer. Only for who holds the queue.
    pub fn collect_away(&self, mut each: impl FnMut(u16)) {
        // A swap: it acquires the pushes of all that found a kick pending, so that the lists below
        // have them. With a store they could be missed, and nobody would kick again.
        if self.kicks.pending.load(Ordering::Relaxed) {
            self.kicks.pending.swap(false, Ordering::AcqRel);
        }
        for slot in &self.slots {
            add(&self.owned.away, slot.take(&self.next, 0, &mut each));
        }
        add(&self.owned.overflow, self.overflow.take(&self.next, 0, &mut each));
    }

    /// Closes all lists, for ever. Returns how many buffers were at home by then. Only for who
    /// holds the queue.
    pub fn close(&self) -> usize {
        let mut there = 0;
        if self.is_mine() {
            self.owner.store(NOBODY, Ordering::Relaxed);
            there += self.owned.staged.load(Ordering::Relaxed) as usize;
            self.owned.staged.store(0, Ordering::Relaxed);
        }
        for list in self.slots.iter().chain(std::iter::once(&self.overflow)) {
            there += list.take(&self.next, CLOSED, |_| {}) as usize;
        }
        there
    }

    /// Counters so far.
    pub fn stats(&self) -> ReturnStats {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReturnStats {
            home: value(&self.owned.home),
            away: value(&self.owned.away),
            overflow: value(&self.owned.overflow),
            kicks: value(&self.kicks.count),
        }
    }
}
