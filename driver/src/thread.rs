//! Who this thread is to the queues: its number, and its releasing domain.
//!
//!   first release of a thread ──► slot claimed ──► … ──► thread ends ──► slot given back
//!
//! A domain is a slot number of the process, 0 to 63, the lowest that is free. Each queue has a
//! return slot for the first few domains; a thread beyond them uses the queue's overflow list, and
//! loses nothing but speed.
//! Invariants: two threads that live have different slots (`threads_have_slots_of_their_own`); a
//! slot comes back at the end of its thread (`a_slot_is_given_back_at_the_end_of_a_thread`); a
//! thread that is ending may still release (`an_ending_thread_has_no_slot`).

use std::cell::Cell;

use crate::slots::{SLOTS, Slots};
use crate::sync::{AtomicU64, Ordering};

/// No slot: the overflow list.
pub const NO_SLOT: usize = usize::MAX;
/// Not asked yet.
const UNKNOWN: usize = usize::MAX - 1;

static NUMBERS: AtomicU64 = AtomicU64::new(1);
static TAKEN: Slots = Slots(AtomicU64::new(0));

/// A claimed slot; dropped when its thread ends.
struct Claim(Cell<Option<usize>>);

impl Drop for Claim {
    fn drop(&mut self) {
        // Locals of the thread that end later may hold deliveries.
        SLOT.set(NO_SLOT);
        if let Some(slot) = self.0.take() {
            TAKEN.give_back(slot);
        }
    }
}

thread_local! {
    // Without a destructor: to be had until the thread is gone, and without a check.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    static SLOT: Cell<usize> = const { Cell::new(UNKNOWN) };
    static CLAIM: Claim = const { Claim(Cell::new(None)) };
}

/// Number of this thread: never 0, never that of another one, dead or alive.
#[inline]
pub fn me() -> u64 {
    match NUMBER.get() {
        0 => number(),
        number => number,
    }
}

/// The same; 0 as long as nobody has asked for [`me`] on this thread.
#[inline]
pub fn known() -> u64 {
    NUMBER.get()
}

#[cold]
fn number() -> u64 {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    NUMBER.set(number);
    number
}

/// Releasing domain of this thread; [`NO_SLOT`] if it has none.
#[inline]
pub fn slot() -> usize {
    match SLOT.get() {
        UNKNOWN => claim(),
        slot => slot,
    }
}

#[cold]
fn claim() -> usize {
    let claimed = CLAIM.try_with(|claim| {
        let slot = TAKEN.claim();
        claim.0.set(slot);
        slot
    });
    let slot = claimed.ok().flatten().unwrap_or(NO_SLOT);
    SLOT.set(slot);
    slot
}

/// Puts this thread into a releasing domain by hand, instead of the one that it would get at its
/// first release: threads of one domain share a slot for each owner, as the CPUs of a memory node
/// do in the kernel. A domain beyond those that a queue has uses its overflow list.
pub fn set_domain(domain: usize) {
    let claimed = CLAIM.try_with(|claim| claim.0.take());
    if let Ok(Some(slot)) = claimed {
        TAKEN.give_back(slot);
    }
    SLOT.set(domain.min(SLOTS));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn threads_have_slots_of_their_own() {
        let together = Barrier::new(5);
        let mut seen: Vec<(u64, usize)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..5)
                .map(|_| {
                    scope.spawn(|| {
                        let seen = (me(), slot());
                        assert_eq!(seen, (me(), slot()));
                        together.wait();
                        seen
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        seen.sort_unstable_by_key(|(_, slot)| *slot);
        assert!(seen.iter().all(|(_, slot)| *slot < SLOTS));
        seen.dedup_by_key(|(_, slot)| *slot);
        assert_eq!(seen.len(), 5);
        seen.sort_unstable();
        seen.dedup_by_key(|(number, _)| *number);
        assert_eq!(seen.len(), 5);
    }

    #[test]
    fn a_slot_is_given_back_at_the_end_of_a_thread() {
        // Far more threads than slots, one after the other: each has one.
        for _ in 0..200 {
            std::thread::spawn(|| assert!(slot() < SLOTS)).join().unwrap();
        }
    }

    #[test]
    fn an_ending_thread_has_no_slot() {
        thread_local! {
            static LAST: Last = const { Last(std::cell::RefCell::new(None)) };
        }
        struct Last(std::cell::RefCell<Option<std::sync::mpsc::Sender<usize>>>);
        impl Drop for Last {
            fn drop(&mut self) {
                self.0.take().unwrap().send(slot()).unwrap();
            }
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(|| {
            // Made first, so dropped last or first: either way it must not fail.
            LAST.with(|last| last.0.replace(Some(sender)));
            slot();
        })
        .join()
        .unwrap();
        let slot = receiver.recv().unwrap();
        assert!(slot == NO_SLOT || slot < SLOTS);
    }

    #[test]
    fn the_lowest_slot_is_taken_until_there_is_none() {
        let slots = Slots(AtomicU64::new(0));
        assert!((0..SLOTS).all(|slot| slots.claim() == Some(slot)));
        assert_eq!(slots.claim(), None);
        slots.give_back(5);
        slots.give_back(63);
        assert_eq!([slots.claim(), slots.claim(), slots.claim()], [Some(5), Some(63), None]);
    }

    #[test]
    fn a_domain_can_be_chosen() {
        std::thread::spawn(|| {
            slot();
            set_domain(3);
            assert_eq!(slot(), 3);
            set_domain(usize::MAX);
            assert_eq!(slot(), SLOTS);
        })
        .join()
        .unwrap();
    }
}
