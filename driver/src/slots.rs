//! Numbers 0 to 63 that threads take and give back.
//!
//! Invariant: no number is with two at once, and none is lost (`slots_are_with_one_thread`).

use crate::sync::{AtomicU64, Ordering};

/// How many there are.
pub const SLOTS: usize = 64;

/// A set of numbers, each free or taken.
#[derive(Debug)]
pub struct Slots(
    /// Bit per number: taken.
    pub AtomicU64,
);

impl Slots {
    /// Takes the lowest that is free.
    pub fn claim(&self) -> Option<usize> {
        let mut taken = self.0.load(Ordering::Relaxed);
        loop {
            let slot = (!taken).trailing_zeros() as usize;
            if slot >= SLOTS {
                return None;
            }
            let new = taken | 1 << slot;
            match self.0.compare_exchange_weak(taken, new, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(slot),
                Err(other) => taken = other,
            }
        }
    }

    /// Gives one back that was claimed.
    pub fn give_back(&self, slot: usize) {
        self.0.fetch_and(!(1 << slot), Ordering::Release);
    }
}
