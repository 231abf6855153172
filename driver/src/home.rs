//! Per-queue buffer return: every buffer goes home to the queue that owns it, from any thread.
//!
//!   owner's thread ──────────────────────────► staging ──────────┐
//!   others ──► slot of (owner, domain), bounded ──► drained whole ┼─► spare ──► free ring
//!          └─► full, or no slot: overflow ────────► drained whole ┘
//!
//! Follows: kernel `skb_attempt_defer_free`, `skb_defer_free_flush` (7.3), `skb_defer_max` 128:
//! n = ++count; n >= max is refused and not taken back; n - 1 == max / 2 kicks the owner; a drain
//! zeroes the count, then takes the whole list.
//!
//! Decisions:
//! - The kernel frees a refused buffer where it is. Here a buffer belongs to one queue for life: it
//!   goes to the owner's overflow list, which is as lock-free. It kicks if no kick is pending, so
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
use crate::thread::{me, slot};

/// `skb_defer_max` of the kernel.
pub const DEFER_MAX: u32 = 128;

/// Head of a list that takes no more.
const CLOSED: u32 = u32::MAX;

/// A list of buffers, linked by their ids, that is pushed to one by one and taken whole.
#[derive(Debug, Default)]
pub struct List {
    /// Id plus one; 0 is the end.
    head: AtomicU32,
}

impl List {
    /// Adds a buffer; `false` if the list is closed. The store that adds it is the last access, so
    /// that from there on the taker may do with the memory what it likes.
    ///
    /// Only heads are compared, and a buffer's link is right whatever came and went behind it: so a
    /// head that left and came back does no harm.
    pub fn push(&self, next: &[AtomicU32], id: u16) -> bool {
        let link = &next[usize::from(id)];
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head == CLOSED {
                return false;
            }
            link.store(head, Ordering::Relaxed);
            // Releases the link, and all that this thread did with the buffer.
            let new = u32::from(id) + 1;
            match self.head.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => head = other,
            }
        }
    }

    fn take(&self, next: &[AtomicU32], leave: u32, mut each: impl FnMut(u16)) -> u64 {
        if leave != CLOSED && self.head.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let mut at = self.head.swap(leave, Ordering::Acquire);
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

/// Buffers that came from one domain. A cache line of its own: domains do not disturb each other.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Slot {
    count: AtomicU32,
    list: List,
}

/// What every releasing thread may touch, apart from what the owner writes all the time.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Common {
    overflow: List,
    kicked: AtomicBool,
    kicks: AtomicU64,
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

/// The way of one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// This thread is the owner.
    Owner,
    /// Slot of this thread's domain; whether the owner is kicked behind it.
    Slot(usize, bool),
    /// Overflow list; kicks if no kick is pending.
    Overflow,
}

/// Where the buffers of a queue go.
#[derive(Debug)]
pub struct Home {
    max: u32,
    staging: Box<[AtomicU32]>,
    next: Box<[AtomicU32]>,
    slots: Box<[Slot]>,
    kick: Arc<Interrupt>,
    owner: AtomicU64,
    staged: AtomicU32,
    home: AtomicU64,
    away: AtomicU64,
    overflowed: AtomicU64,
    common: Common,
}

fn zeroes(n: usize) -> Box<[AtomicU32]> {
    (0..n).map(|_| AtomicU32::new(0)).collect()
}

/// Adds without a locked instruction: one thread alone writes the counter.
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

impl Home {
    /// The way home for a pool, with slots for `domains` of at most `max` - 1 buffers each. `kick`
    /// wakes the owner.
    pub fn new(pool: usize, domains: usize, max: u32, kick: Arc<Interrupt>) -> Self {
        let domains = domains.max(1);
        let share = pool / domains.max(2);
        Self {
            max: max.min(share as u32),
            staging: zeroes(pool),
            next: zeroes(pool),
            slots: (0..domains).map(|_| Slot::default()).collect(),
            kick,
            owner: AtomicU64::new(0),
            staged: AtomicU32::new(0),
            home: AtomicU64::new(0),
            away: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            common: Common::default(),
        }
    }

    /// Whether this thread may touch what is the owner's: it is the owner, or nobody is.
    /// Only for who holds the queue.
    pub fn is_mine(&self) -> bool {
        let owner = self.owner.load(Ordering::Relaxed);
        owner == 0 || owner == me()
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
            self.owner.store(0, Ordering::Relaxed);
        }
    }

    /// The way that a buffer takes from this thread, counted.
    #[inline]
    pub fn route(&self) -> Route {
        // Only the owner's own thread can find itself here: it alone stores its number.
        if self.owner.load(Ordering::Relaxed) == me() {
            return Route::Owner;
        }
        self.route_away()
    }

    fn route_away(&self) -> Route {
        let index = slot();
        let Some(slot) = self.slots.get(index) else { return Route::Overflow };
        let n = slot.count.fetch_add(1, Ordering::Relaxed) + 1;
        if n >= self.max {
            return Route::Overflow;
        }
        Route::Slot(index, n - 1 == self.max >> 1)
    }

    /// A buffer whose way is [`Route::Owner`].
    #[inline]
    pub fn stage(&self, id: u16) {
        let staged = self.staged.load(Ordering::Relaxed);
        self.staging[staged as usize].store(id.into(), Ordering::Relaxed);
        self.staged.store(staged + 1, Ordering::Relaxed);
    }

    /// The list of a way that is not the owner's, and the links to push with.
    pub fn list(&self, route: Route) -> (&List, &[AtomicU32]) {
        let list = match route {
            Route::Slot(slot, _) => &self.slots[slot].list,
            Route::Owner | Route::Overflow => &self.common.overflow,
        };
        (list, &self.next)
    }

    /// Wakes the owner, unless a kick is pending. Behind the push.
    pub fn kick(&self) {
        if !self.common.kicked.swap(true, Ordering::AcqRel) {
            self.common.kicks.fetch_add(1, Ordering::Relaxed);
            // The owner finds the buffers at its next poll, if it cannot be woken.
            let _ = self.kick.signal();
        }
    }

    /// Takes everything that came home. `each` drops no buffer. Only for who holds the queue.
    pub fn collect(&self, mut each: impl FnMut(u16)) {
        if self.is_mine() {
            let staged = self.staged.load(Ordering::Relaxed);
            let ids = self.staging[..staged as usize].iter();
            ids.for_each(|id| each(id.load(Ordering::Relaxed) as u16));
            self.staged.store(0, Ordering::Relaxed);
            add(&self.home, staged.into());
        }
        // A swap: it acquires the pushes of all that found a kick pending, so that the lists below
        // have them. With a store they could be missed, and nobody would kick again.
        if self.common.kicked.load(Ordering::Relaxed) {
            self.common.kicked.swap(false, Ordering::AcqRel);
        }
        for slot in &self.slots {
            if slot.list.head.load(Ordering::Relaxed) == 0
                && slot.count.load(Ordering::Relaxed) == 0
            {
                continue;
            }
            // In this order: a push in between is counted again, at worst.
            slot.count.store(0, Ordering::Relaxed);
            add(&self.away, slot.list.take(&self.next, 0, &mut each));
        }
        add(&self.overflowed, self.common.overflow.take(&self.next, 0, &mut each));
    }

    /// Closes all lists, for ever. Returns how many buffers were at home by then. Only for who holds
    /// the queue.
    pub fn close(&self) -> usize {
        let mut there = 0;
        if self.is_mine() {
            self.owner.store(0, Ordering::Relaxed);
            there += self.staged.load(Ordering::Relaxed) as usize;
            self.staged.store(0, Ordering::Relaxed);
        }
        let lists = self.slots.iter().map(|slot| &slot.list);
        for list in lists.chain(std::iter::once(&self.common.overflow)) {
            there += list.take(&self.next, CLOSED, |_| {}) as usize;
        }
        there
    }

    /// Counters so far.
    pub fn stats(&self) -> ReturnStats {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReturnStats {
            home: value(&self.home),
            away: value(&self.away),
            overflow: value(&self.overflowed),
            kicks: value(&self.common.kicks),
        }
    }
}
