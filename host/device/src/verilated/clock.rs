//! The clock's own thread, and who has the hardware when.
//!
//!   calls ──► wait in line ──► lock ◄── batch of cycles, then all who wait go first
//!
//! Invariants: a call waits for one batch at most (`calls_go_first`); without work the thread
//! sleeps (`the_clock_stops_without_work`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::Failure;
use super::state::State;

/// Cycles for which the thread keeps the lock: a millisecond or two.
const BATCH_CYCLES: u64 = 128;

/// The device between callers and the thread.
pub struct Shared {
    state: Mutex<State>,
    /// Callers that wait for the lock.
    waiting: AtomicUsize,
    work: Condvar,
}

impl Shared {
    /// Nobody waits.
    pub fn new(state: State) -> Self {
        Self { state: Mutex::new(state), waiting: AtomicUsize::new(0), work: Condvar::new() }
    }

    /// For callers: before the thread's next batch.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        state
    }

    /// There may be work.
    pub fn wake(&self) {
        self.work.notify_one();
    }

    fn run(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.stops {
            if !state.has_work() {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            // A failure is kept, and told to the next caller; there is no work from then on.
            let _ = state.run(|nic| nic.run(BATCH_CYCLES));
            drop(state);
            while self.waiting.load(Ordering::Relaxed) > 0 {
                std::thread::yield_now();
            }
            state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Starts the thread.
pub fn start(shared: &Arc<Shared>) -> Result<JoinHandle<()>, Failure> {
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("groove-clock".to_owned());
    let started = thread.spawn(move || shared.run());
    started.map_err(|source| groove_verilator::Error::Spawn { program: "clock", source }.into())
}
