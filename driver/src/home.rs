//! Per-queue buffer return: every buffer goes home to the queue that owns it, from any thread.
//!
//!   owner's thread ──────────────────────────► staging ──────────┐
//!   others ──► slot of (owner, domain), bounded ──► drained whole ┼─► free ring
//!          └─► full: overflow ────────────────────► drained whole ┘
//!
//! Follows: kernel `skb_attempt_defer_free`, `skb_defer_free_flush` (7.3), `skb_defer_max` 128:
//! n = ++count; n >= max is refused and not taken back; n - 1 == max / 2 kicks the owner; a drain
//! zeroes the count, then takes the whole list.
//!
//! Decisions:
//! - The kernel frees a refused buffer where it is. Here a buffer belongs to one queue for life: it
//!   goes to the owner's overflow list, which is as lock-free. It kicks if no kick is pending, so
//!   that an owner that sleeps is woken with a `max` of 0 to 2 too.
//! - Slots and overflow are LIFO: one list each, taken by one swap. Order is of no consequence
//!   to a free ring.
//! - A small pool has smaller slots (half of the pool), so that the kick comes before the device
//!   runs dry.
//! - The owner's thread uses relaxed loads and stores: plain moves, no locked instruction.
//!
//! Invariants: nothing is lost or doubled, whatever the threads do
//! (`every_buffer_comes_home_from_many_threads`); at most `max - 1` wait in a slot
//! (`a_slot_is_bounded_until_it_is_drained`); one kick for each crossing of one half
//! (`kicks_once_at_half`).

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::Interrupt;

/// `skb_defer_max` of the kernel.
pub const DEFER_MAX: u32 = 128;

static THREADS: AtomicU64 = AtomicU64::new(1);
thread_local! {
    static ME: u64 = THREADS.fetch_add(1, Ordering::Relaxed);
    static DOMAIN: Cell<usize> = const { Cell::new(0) };
}

/// Number of this thread; never 0.
fn me() -> u64 {
    // Behind the end of a thread's locals it is nobody's owner.
    ME.try_with(|me| *me).unwrap_or(u64::MAX)
}

/// Puts this thread into a releasing domain: threads of one domain share a slot for each owner.
/// A domain beyond those that the queue has acts modulo their number. 0 at first.
pub fn set_domain(domain: usize) {
    DOMAIN.set(domain);
}

/// A list of buffers, linked by their ids, that is pushed to one by one and taken whole.
#[derive(Debug, Default)]
struct List {
    /// Id plus one; 0 is the end.
    head: AtomicU32,
}

impl List {
    fn push(&self, next: &[AtomicU32], id: u16) {
        let link = &next[usize::from(id)];
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            link.store(head, Ordering::Relaxed);
            // Releases the link, and all that this thread did with the buffer.
            let new = u32::from(id) + 1;
            match self.head.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => head = other,
            }
        }
    }

    fn take(&self, next: &[AtomicU32], into: &mut Vec<u16>) -> u64 {
        if self.head.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let mut at = self.head.swap(0, Ordering::Acquire);
        let mut taken = 0;
        while let Some(id) = at.checked_sub(1) {
            into.push(id as u16);
            at = next[id as usize].load(Ordering::Relaxed);
            taken += 1;
        }
        taken
    }
}

/// Buffers that came from one domain.
#[derive(Debug, Default)]
struct Slot {
    count: AtomicU32,
    list: List,
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

/// Where the buffers of a queue go.
#[derive(Debug)]
pub struct Home {
    owner: AtomicU64,
    max: u32,
    staging: Box<[AtomicU32]>,
    staged: AtomicU32,
    next: Box<[AtomicU32]>,
    slots: Box<[Slot]>,
    overflow: List,
    kick: Arc<Interrupt>,
    kicked: AtomicBool,
    home: AtomicU64,
    away: AtomicU64,
    overflowed: AtomicU64,
    kicks: AtomicU64,
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
        Self {
            owner: AtomicU64::new(0),
            max: max.min(pool as u32 / 2),
            staging: zeroes(pool),
            staged: AtomicU32::new(0),
            next: zeroes(pool),
            slots: (0..domains.max(1)).map(|_| Slot::default()).collect(),
            overflow: List::default(),
            kick,
            kicked: AtomicBool::new(false),
            home: AtomicU64::new(0),
            away: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            kicks: AtomicU64::new(0),
        }
    }

    /// This thread becomes the owner. The caller has the queue, so that no other one is.
    pub fn bind(&self) {
        self.owner.store(me(), Ordering::Relaxed);
    }

    /// Nobody is the owner. Only the owner calls it.
    pub fn unbind(&self) {
        self.owner.store(0, Ordering::Relaxed);
    }

    /// A buffer is done with; on any thread.
    pub fn release(&self, id: u16) {
        // Only the owner's own thread can find itself here: it alone stores its number.
        if self.owner.load(Ordering::Relaxed) == me() {
            let staged = self.staged.load(Ordering::Relaxed);
            self.staging[staged as usize].store(id.into(), Ordering::Relaxed);
            self.staged.store(staged + 1, Ordering::Relaxed);
            return;
        }
        let domain = DOMAIN.try_with(Cell::get).unwrap_or(0);
        let slot = &self.slots[domain % self.slots.len()];
        let n = slot.count.fetch_add(1, Ordering::Relaxed) + 1;
        let refused = n >= self.max;
        let list = if refused { &self.overflow } else { &slot.list };
        list.push(&self.next, id);
        let kicks = refused || n - 1 == self.max >> 1;
        if kicks && !self.kicked.swap(true, Ordering::AcqRel) {
            self.kicks.fetch_add(1, Ordering::Relaxed);
            // The owner finds the buffers at its next poll, if it cannot be woken.
            let _ = self.kick.signal();
        }
    }

    /// Takes everything that came home. Only the owner calls it.
    pub fn collect(&self, into: &mut Vec<u16>) {
        let staged = self.staged.load(Ordering::Relaxed);
        let ids = self.staging[..staged as usize].iter();
        into.extend(ids.map(|id| id.load(Ordering::Relaxed) as u16));
        self.staged.store(0, Ordering::Relaxed);
        add(&self.home, staged.into());
        if self.kicked.load(Ordering::Relaxed) {
            self.kicked.store(false, Ordering::Release);
        }
        for slot in &self.slots {
            if slot.list.head.load(Ordering::Relaxed) == 0
                && slot.count.load(Ordering::Relaxed) == 0
            {
                continue;
            }
            // In this order: a push in between is counted again, at worst.
            slot.count.store(0, Ordering::Relaxed);
            add(&self.away, slot.list.take(&self.next, into));
        }
        add(&self.overflowed, self.overflow.take(&self.next, into));
    }

    /// Counters so far.
    pub fn stats(&self) -> ReturnStats {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReturnStats {
            home: value(&self.home),
            away: value(&self.away),
            overflow: value(&self.overflowed),
            kicks: value(&self.kicks),
        }
    }
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
