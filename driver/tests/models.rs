//! The driver's lock-free parts under a model checker: every interleaving, and every value that the
//! memory model lets a load see.
//!
//!   driver/src/{home,slots,ring}.rs, dma/lease.rs ── same text, atomics of `loom` ──► models
//!
//! The files are compiled a second time here, with `sync` and `thread` of this file in place of the
//! driver's: so no flag has to rebuild the world, and the models run with all other tests.
//! Not here: `eventfd`, which stands as a counter with acquire and release.
#![allow(dead_code, unsafe_code)] // a part of each file is used; `lease` is a home of unsafe code

mod sync {
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}

mod thread {
    use std::cell::Cell;

    loom::thread_local! {
        static NUMBER: Cell<u64> = Cell::new(0);
        static SLOT: Cell<usize> = Cell::new(usize::MAX);
    }

    pub fn me() -> u64 {
        NUMBER.with(Cell::get)
    }

    pub fn known() -> u64 {
        me()
    }

    pub fn slot() -> usize {
        SLOT.with(Cell::get)
    }

    /// Who this thread is; each says it first.
    pub fn set(number: u64, slot: usize) {
        NUMBER.with(|cell| cell.set(number));
        SLOT.with(|cell| cell.set(slot));
    }
}

/// Signals that nobody has taken.
#[derive(Debug)]
pub struct Interrupt(sync::AtomicU32);

impl Interrupt {
    fn new() -> Self {
        Self(sync::AtomicU32::new(0))
    }

    fn signal(&self) -> std::io::Result<()> {
        self.0.fetch_add(1, sync::Ordering::AcqRel);
        Ok(())
    }

    fn taken(&self) -> bool {
        self.0.swap(0, sync::Ordering::AcqRel) > 0
    }
}

#[path = "../src/home.rs"]
mod home;
#[path = "../src/dma/lease.rs"]
mod lease;
#[path = "../src/ring.rs"]
mod ring;
#[path = "../src/slots.rs"]
mod slots;

use std::collections::VecDeque;
use std::sync::Arc;

use lease::{Lease, Owner};
use sync::{AtomicU32, AtomicU64, Ordering};

/// What leases share: the checker finds it if it is not freed.
type Value = loom::sync::Arc<()>;

const OWNER: u64 = 1;

fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

fn pool(
    buffers: u16,
    domains: usize,
    max: u32,
) -> (Owner<Value>, Vec<Lease<Value>>, Value, Arc<Interrupt>) {
    thread::set(OWNER, usize::MAX);
    let kick = Arc::new(Interrupt::new());
    let value = Value::new(());
    let (mut owner, leases) =
        Owner::new(Value::clone(&value), buffers, domains, max, Arc::clone(&kick));
    owner.bind();
    (owner, leases, value, kick)
}

/// Drops a lease on a thread of its own.
fn away(number: u64, slot: usize, lease: Lease<Value>) -> loom::thread::JoinHandle<()> {
    loom::thread::spawn(move || {
        thread::set(number, slot);
        drop(lease);
    })
}

fn ids(leases: &VecDeque<Lease<Value>>) -> Vec<u16> {
    let mut ids: Vec<u16> = leases.iter().map(Lease::id).collect();
    ids.sort_unstable();
    ids
}

/// Two threads push, by all ways, while the owner drains and releases.
fn push_and_drain(domains: usize, max: u32, slots: [usize; 2]) {
    model(3, move || {
        let (mut owner, mut leases, _value, _kick) = pool(3, domains, max);
        let threads =
            [away(2, slots[0], leases.pop().unwrap()), away(3, slots[1], leases.pop().unwrap())];
        let mut there = VecDeque::new();
        drop(leases.pop());
        owner.collect(&mut there);
        for thread in threads {
            thread.join().unwrap();
        }
        owner.collect(&mut there);
        assert_eq!(ids(&there), [0, 1, 2]);
    });
}

#[test]
fn push_and_drain_lose_nothing() {
    // One slot for both, a slot each, a full slot (max - 1 = 0 fit), and no slot at all.
    push_and_drain(1, 128, [0, 0]);
    push_and_drain(2, 128, [0, 1]);
    push_and_drain(1, 0, [0, 0]);
    push_and_drain(1, 128, [0, 1]);
}

/// A buffer goes round: released, drained, released again, by two threads at once (ABA).
#[test]
fn a_head_that_comes_back_does_no_harm() {
    model(3, || {
        let (mut owner, mut leases, _value, _kick) = pool(2, 1, 128);
        let other = away(2, 0, leases.pop().unwrap());
        let mut there = VecDeque::new();
        thread::set(4, 0); // not the owner's thread
        drop(leases.pop());
        thread::set(OWNER, usize::MAX);
        owner.collect(&mut there);
        if let Some(again) = there.pop_front() {
            thread::set(4, 0);
            drop(again);
            thread::set(OWNER, usize::MAX);
        }
        other.join().unwrap();
        owner.collect(&mut there);
        assert_eq!(ids(&there), [0, 1]);
    });
}

/// The owner takes its signal, drains, and sleeps: what it has not seen has signalled again.
fn no_kick_lost(domains: usize, max: u32, slots: [usize; 2]) {
    model(3, move || {
        let (mut owner, mut leases, _value, kick) = pool(2, domains, max);
        let threads =
            [away(2, slots[0], leases.pop().unwrap()), away(3, slots[1], leases.pop().unwrap())];
        let mut there = VecDeque::new();
        // A poll for another reason, between a push and its kick.
        owner.collect(&mut there);
        for _ in 0..2 {
            if kick.taken() {
                owner.collect(&mut there);
            }
        }
        for thread in threads {
            thread.join().unwrap();
        }
        if there.len() < 2 {
            assert!(kick.taken(), "asleep with {} of 2", there.len());
            owner.collect(&mut there);
        }
        assert_eq!(ids(&there), [0, 1]);
    });
}

#[test]
fn no_kick_is_lost() {
    no_kick_lost(1, 0, [0, 0]);
    no_kick_lost(1, 128, [1, 2]);
}

/// Two of three fill a slot beyond its half: the owner is woken.
#[test]
fn crossing_the_half_kicks() {
    model(3, || {
        let (owner, mut leases, _value, kick) = pool(6, 1, 3);
        let threads = [away(2, 0, leases.pop().unwrap()), away(3, 0, leases.pop().unwrap())];
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(kick.taken());
        assert_eq!((owner.stats().kicks, kick.taken()), (1, false));
    });
}

/// The queue goes away while buffers come home: all is freed, once, with the last of them.
fn close_and_drop(max: u32) {
    model(2, move || {
        let (mut owner, mut leases, value, _kick) = pool(3, 1, max);
        let threads = [away(2, 0, leases.pop().unwrap()), away(3, 0, leases.pop().unwrap())];
        drop(leases.pop());
        let mut there = VecDeque::new();
        owner.collect(&mut there);
        drop(owner);
        drop(there);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(Value::strong_count(&value), 1);
    });
}

#[test]
fn close_and_drop_free_once() {
    close_and_drop(128);
    close_and_drop(0); // over the overflow list, with kicks
}

/// A thread ends, the next one gets its slot: what it had pushed is there.
#[test]
fn a_slot_that_changes_hands_loses_nothing() {
    model(3, || {
        let (mut owner, mut leases, _value, _kick) = pool(2, 2, 128);
        let numbers = Arc::new(slots::Slots(AtomicU64::new(0)));
        let threads = [2, 3].map(|number| {
            let (lease, numbers) = (leases.pop().unwrap(), Arc::clone(&numbers));
            loom::thread::spawn(move || {
                let slot = numbers.claim().unwrap();
                thread::set(number, slot);
                drop(lease);
                numbers.give_back(slot);
            })
        });
        let mut there = VecDeque::new();
        owner.collect(&mut there);
        for thread in threads {
            thread.join().unwrap();
        }
        owner.collect(&mut there);
        assert_eq!(ids(&there), [0, 1]);
        assert_eq!(numbers.claim(), Some(0), "all given back");
    });
}

#[test]
fn slots_are_with_one_thread() {
    model(4, || {
        let numbers = Arc::new(slots::Slots(AtomicU64::new(0)));
        let holders = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let threads = [(); 2].map(|()| {
            let (numbers, holders) = (Arc::clone(&numbers), Arc::clone(&holders));
            loom::thread::spawn(move || {
                let slot = numbers.claim().unwrap();
                assert_eq!(holders[slot].fetch_add(1, Ordering::Relaxed), 0);
                holders[slot].fetch_sub(1, Ordering::Relaxed);
                numbers.give_back(slot);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

fn words<const N: usize>() -> Arc<[AtomicU64; N]> {
    Arc::new(std::array::from_fn(|_| AtomicU64::new(0)))
}

/// One slot, two passes: the host sees each record with its data, or nothing.
#[test]
fn a_completion_is_seen_whole() {
    const LAST: u64 = 1 << 63;
    model(3, || {
        let (slot, data, consumer) = (words::<4>(), words::<1>(), words::<1>());
        let device = loom::thread::spawn({
            let (slot, data, consumer) = (slot.clone(), data.clone(), consumer.clone());
            move || {
                data[0].store(1, Ordering::Relaxed);
                ring::publish(&slot, [1, 1, 1, LAST | 1]);
                // The host has taken it, or the second pass does not begin.
                if consumer[0].load(Ordering::Acquire) == 1 {
                    data[0].store(2, Ordering::Relaxed);
                    ring::publish(&slot, [2, 2, 2, 2]);
                }
            }
        });
        let mut seen = 0;
        for generation in [true, false] {
            let Some(record) = ring::take(&slot, generation) else { break };
            seen += 1;
            let last = if generation { LAST | seen } else { seen };
            assert_eq!(record, [seen, seen, seen, last]);
            assert_eq!(data[0].load(Ordering::Relaxed), seen);
            consumer[0].store(1, Ordering::Release);
        }
        device.join().unwrap();
    });
}

/// The device reads a descriptor that the doorbell covers, while the host writes the next one.
#[test]
fn a_doorbell_covers_its_descriptors() {
    model(3, || {
        let (slots, doorbell) = (Arc::new([*words_of(), *words_of()]), words::<1>());
        let device = loom::thread::spawn({
            let (slots, doorbell) = (slots.clone(), doorbell.clone());
            move || {
                for index in 0..doorbell[0].load(Ordering::Acquire) {
                    let (iova, bytes, id) = ring::descriptor(&slots[index as usize]);
                    assert_eq!((iova, bytes, id), (100 + index, 2048, index as u16 + 1));
                }
            }
        });
        for index in 0..2u64 {
            ring::post(&slots[index as usize], 100 + index, 2048, index as u16 + 1);
            ring::before_doorbell();
            doorbell[0].store(index + 1, Ordering::Relaxed);
        }
        device.join().unwrap();
    });
}

fn words_of() -> Box<[AtomicU64; 2]> {
    Box::new(std::array::from_fn(|_| AtomicU64::new(0)))
}
