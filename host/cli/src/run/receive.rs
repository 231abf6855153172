//! The receiving side: threads that own queues, and threads that release deliveries for them.
//!
//!   queue ──► poll ──► copy to the check ──► released here ────────────► home
//!     ▲                              └─────► another thread ──► slot ──┘ (kick)
//!     └── wait for an interrupt, once every queue of the thread was empty
//!
//! A thread that is told to end takes all that there is, waits for its buffers, and stops its
//! queues. Invariant: then each pool is whole (`buffers_come_home_on_every_way`).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use groove_driver::{Census, Delivery, QueueError, QueueStats, Receiver, RxQueue, wait_any};

/// Deliveries of a poll.
const BUDGET: usize = 64;
/// Deliveries on their way to a releasing thread.
const HANDED_OVER: usize = 256;
/// Longest sleep: then buffers that came home below the threshold of a kick are posted too.
const SLEEP: Duration = Duration::from_millis(1);
/// Longest wait for buffers at the end.
const HOME_TIMEOUT: Duration = Duration::from_secs(10);

/// Where deliveries are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Release {
    /// On the thread that owns the queue
    Home,
    /// On another thread
    Away,
    /// In turn: one here, one there
    Mixed,
}

impl Release {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Away => "away",
            Self::Mixed => "mixed",
        }
    }
}

/// What a receiving thread tells while it runs.
#[derive(Debug)]
pub struct Seen {
    /// Completions taken.
    pub completions: AtomicU64,
    /// Buffers that are not posted; [`NOT_STARTED`] before the first poll.
    pub not_posted: AtomicU32,
}

/// No pool has so many buffers.
const NOT_STARTED: u32 = u32::MAX;

/// What all threads of a run share.
#[derive(Debug)]
pub struct Shared {
    /// By queue.
    pub seen: Vec<Seen>,
    /// Nothing comes any more: drain and stop.
    pub end: AtomicBool,
    /// A thread has failed.
    pub failed: AtomicBool,
}

impl Shared {
    /// At the start.
    pub fn new(queues: usize) -> Self {
        let seen =
            |_| Seen { completions: AtomicU64::new(0), not_posted: AtomicU32::new(NOT_STARTED) };
        Self {
            seen: (0..queues).map(seen).collect(),
            end: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// Waits until every queue has posted its buffers, or a thread has failed.
    pub fn wait_for_start(&self) {
        let waits = |seen: &Seen| seen.not_posted.load(Ordering::Acquire) == NOT_STARTED;
        while self.seen.iter().any(waits) && !self.failed.load(Ordering::Acquire) {
            thread::yield_now();
        }
    }
}

/// What the waiting was like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Polls.
    pub polls: u64,
    /// Polls that gave nothing.
    pub empty: u64,
    /// Sleeps.
    pub sleeps: u64,
    /// Sleeps that an interrupt or a kick ended.
    pub woken: u64,
}

/// A queue when its thread has ended.
#[derive(Debug)]
pub struct Ended {
    /// The queue, stopped.
    pub queue: RxQueue,
    /// Its counters.
    pub stats: QueueStats,
    /// Where its buffers are.
    pub census: Census,
    /// Buffers of the deliveries that were released.
    pub delivered: u64,
}

/// What a receiving thread leaves.
#[derive(Debug)]
pub struct Finished {
    /// Its queues.
    pub queues: Vec<Ended>,
    /// Its waiting.
    pub waits: Waits,
}

/// Runs a receiving thread to its end. `found` gets a copy of every delivery.
pub fn run(
    queues: Vec<RxQueue>,
    release: Release,
    found: Sender<groove_spec::Delivery>,
    shared: &Shared,
) -> Result<Finished, QueueError> {
    thread::scope(|scope| {
        let (hand_over, handed) = sync_channel::<Delivery>(HANDED_OVER);
        if release != Release::Home {
            // A stand-in for an application that is done with its data.
            scope.spawn(move || handed.into_iter().for_each(drop));
        }
        let receivers = queues.into_iter().map(RxQueue::attach).collect::<Result<Vec<_>, _>>();
        let thread = receivers.map(|receivers| Thread {
            receivers,
            out: Out {
                release,
                hand_over,
                found,
                turn: false,
                buffers: vec![0; shared.seen.len()],
            },
            shared,
            waits: Waits::default(),
        });
        let result = thread.and_then(Thread::run);
        if result.is_err() {
            shared.failed.store(true, Ordering::Release);
        }
        result
    })
}

/// Where deliveries go.
struct Out {
    release: Release,
    hand_over: SyncSender<Delivery>,
    found: Sender<groove_spec::Delivery>,
    turn: bool,
    /// Buffers so far, by queue.
    buffers: Vec<u64>,
}

impl Out {
    fn give(&mut self, delivery: Delivery) {
        self.buffers[delivery.queue()] += delivery.buffers() as u64;
        // The check outlives the threads; it has ended only when the run has failed.
        let _ = self.found.send(delivery.to_spec());
        self.turn = !self.turn;
        let away = match self.release {
            Release::Home => false,
            Release::Away => true,
            Release::Mixed => self.turn,
        };
        if away {
            // If the other thread is gone, the delivery comes back, and is released here.
            drop(self.hand_over.send(delivery));
        }
    }
}

struct Thread<'a> {
    receivers: Vec<Receiver>,
    out: Out,
    shared: &'a Shared,
    waits: Waits,
}

impl Thread<'_> {
    fn run(mut self) -> Result<Finished, QueueError> {
        while !self.shared.end.load(Ordering::Acquire) {
            if self.poll_all()? == 0 {
                self.waits.sleeps += 1;
                self.waits.woken += u64::from(wait_any(&mut self.receivers, SLEEP)?);
            }
        }
        self.drain()?;
        // Nothing is left that another thread would bring home later.
        self.out.release = Release::Home;
        for receiver in &mut self.receivers {
            receiver.stop(|delivery| self.out.give(delivery))?;
        }
        let ended = |receiver: Receiver| Ended {
            delivered: self.out.buffers[receiver.number()],
            stats: receiver.stats(),
            census: receiver.census(),
            queue: receiver.detach(),
        };
        Ok(Finished { queues: self.receivers.into_iter().map(ended).collect(), waits: self.waits })
    }

    fn poll_all(&mut self) -> Result<usize, QueueError> {
        let mut given = 0;
        for receiver in &mut self.receivers {
            let count = receiver.poll(BUDGET, |delivery| self.out.give(delivery))?;
            self.waits.polls += 1;
            self.waits.empty += u64::from(count == 0);
            given += count;
            let (census, stats) = (receiver.census(), receiver.stats());
            let seen = &self.shared.seen[receiver.number()];
            let not_posted = (census.out + census.spare) as u32;
            seen.completions.store(stats.completions, Ordering::Relaxed);
            seen.not_posted.store(not_posted, Ordering::Release);
        }
        Ok(given)
    }

    /// Takes all that there is, until every buffer is with the device again.
    fn drain(&mut self) -> Result<(), QueueError> {
        let start = Instant::now();
        let at_home = |r: &Receiver| r.census().out == 0;
        while self.poll_all()? > 0
            || !self.receivers.iter().all(at_home) && start.elapsed() < HOME_TIMEOUT
        {
            thread::yield_now();
        }
        Ok(())
    }
}
