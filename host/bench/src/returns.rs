//! Nanoseconds per buffer of the way home, against what others do: one pool for all threads, behind
//! a mutex or as a lock-free queue.
//!
//!   allocator: take a batch ──► channel ──► other thread: give it back     (or: the same thread)
//!
//! Two threads on two cores. Both work on the pool at the same time, and each times its own half;
//! the channel, the same for all schemes, is not timed. All schemes run in turn in each round.
//! Invariant: each scheme has all its buffers back at the end
//! (`every_scheme_brings_all_buffers_back`).

use std::collections::VecDeque;
use std::hint::{black_box, spin_loop};
use std::sync::mpsc::{TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_queue::ArrayQueue;
use groove_driver::Interrupt;
use groove_driver::dma::lease::{Lease, Owner};

use crate::{Error, Row};

const POOL: u16 = 1024;
const BATCH: usize = 32;

/// A way to share buffers. The allocator's side stays on one thread.
trait Scheme {
    type Buffer: Send;
    /// Takes up to a batch.
    fn allocate(&mut self, into: &mut Vec<Self::Buffer>);
    /// What gives one back, on any thread.
    fn release(&self) -> impl Fn(Self::Buffer) + Send + 'static;
    /// Buffers that are at home.
    fn count(&mut self) -> usize;
}

/// The driver's.
struct Home {
    owner: Owner<()>,
    spare: VecDeque<Lease<()>>,
}

impl Home {
    fn new() -> Result<Self, Error> {
        let kick = Arc::new(Interrupt::new()?);
        let (mut owner, leases) = Owner::new((), POOL, 8, 128, kick);
        owner.bind();
        Ok(Self { owner, spare: leases.into() })
    }
}

impl Scheme for Home {
    type Buffer = Lease<()>;

    fn allocate(&mut self, into: &mut Vec<Lease<()>>) {
        // As `refill` does at each poll.
        self.owner.collect(&mut self.spare);
        let count = BATCH.min(self.spare.len());
        into.extend(self.spare.drain(..count));
    }

    fn release(&self) -> impl Fn(Lease<()>) + Send + 'static {
        drop
    }

    fn count(&mut self) -> usize {
        self.owner.collect(&mut self.spare);
        self.spare.len()
    }
}

/// One stack behind a lock.
struct Locked(Arc<Mutex<Vec<u16>>>);

impl Scheme for Locked {
    type Buffer = u16;

    fn allocate(&mut self, into: &mut Vec<u16>) {
        for _ in 0..BATCH {
            into.extend(self.0.lock().unwrap_or_else(PoisonError::into_inner).pop());
        }
    }

    fn release(&self) -> impl Fn(u16) + Send + 'static {
        let pool = Arc::clone(&self.0);
        move |id| pool.lock().unwrap_or_else(PoisonError::into_inner).push(id)
    }

    fn count(&mut self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// One lock-free queue.
struct Queue(Arc<ArrayQueue<u16>>);

impl Scheme for Queue {
    type Buffer = u16;

    fn allocate(&mut self, into: &mut Vec<u16>) {
        for _ in 0..BATCH {
            into.extend(self.0.pop());
        }
    }

    fn release(&self) -> impl Fn(u16) + Send + 'static {
        let pool = Arc::clone(&self.0);
        move |id| {
            // It has room for the whole pool.
            let _ = pool.push(id);
        }
    }

    fn count(&mut self) -> usize {
        self.0.len()
    }
}

/// What a buffer costs on each side, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    allocate: f64,
    release: f64,
}

fn per(time: Duration, buffers: usize) -> f64 {
    time.as_nanos() as f64 / buffers as f64
}

fn same_thread(scheme: &mut impl Scheme, buffers: usize) -> Cost {
    let release = scheme.release();
    let (mut done, mut taking, mut giving) = (0, Duration::ZERO, Duration::ZERO);
    let mut batch = Vec::with_capacity(BATCH);
    while done < buffers {
        let start = Instant::now();
        scheme.allocate(&mut batch);
        let between = Instant::now();
        done += batch.len();
        batch.drain(..).for_each(|buffer| release(black_box(buffer)));
        taking += between - start;
        giving += between.elapsed();
    }
    Cost { allocate: per(taking, done), release: per(giving, done) }
}

fn two_threads<S: Scheme>(scheme: &mut S, buffers: usize) -> Result<Cost, Error> {
    let release = scheme.release();
    let (sender, receiver) = sync_channel::<Vec<S::Buffer>>(usize::from(POOL) / BATCH / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let (mut done, mut giving) = (0, Duration::ZERO);
            loop {
                match receiver.try_recv() {
                    Ok(batch) => {
                        done += batch.len();
                        let start = Instant::now();
                        batch.into_iter().for_each(|buffer| release(black_box(buffer)));
                        giving += start.elapsed();
                    }
                    Err(TryRecvError::Empty) => spin_loop(),
                    Err(TryRecvError::Disconnected) => return per(giving, done),
                }
            }
        });
        let (mut done, mut taking) = (0, Duration::ZERO);
        while done < buffers {
            let mut batch = Vec::with_capacity(BATCH);
            let start = Instant::now();
            scheme.allocate(&mut batch);
            let time = start.elapsed();
            if batch.is_empty() {
                spin_loop();
                continue;
            }
            taking += time;
            done += batch.len();
            sender.send(batch).map_err(|_| "the other thread is gone")?;
        }
        drop(sender);
        let release = other.join().map_err(|_| "the other thread panicked")?;
        Ok(Cost { allocate: per(taking, done), release })
    })
}

fn check(scheme: &mut impl Scheme) -> Result<(), Error> {
    match scheme.count() {
        count if count == usize::from(POOL) => Ok(()),
        count => Err(format!("{count} of {POOL} buffers are back").into()),
    }
}

fn measure(scheme: &mut impl Scheme, buffers: usize, threads: usize) -> Result<Cost, Error> {
    let cost = match threads {
        1 => same_thread(scheme, buffers),
        _ => two_threads(scheme, buffers)?,
    };
    check(scheme)?;
    Ok(cost)
}

/// Takes and gives `buffers` in each of `runs` rounds, on one and on two threads. Ratios are of
/// both halves together, and above 1 where per-queue return is cheaper.
pub fn returns(runs: usize, buffers: usize) -> Result<Vec<Row>, Error> {
    let all = || (0..POOL).collect::<Vec<u16>>();
    let mut home = Home::new()?;
    let mut locked = Locked(Arc::new(Mutex::new(all())));
    let mut queue = Queue(Arc::new(ArrayQueue::new(POOL.into())));
    all().into_iter().for_each(|id| (queue.release())(id));
    let names = ["per-queue return", "mutex pool", "lock-free queue"];
    let mut rows = Vec::new();
    for (threads, whose) in [(1, "owner's thread"), (2, "other thread")] {
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for round in 0..=runs {
            let cost = [
                measure(&mut home, buffers, threads)?,
                measure(&mut locked, buffers, threads)?,
                measure(&mut queue, buffers, threads)?,
            ];
            // The first round warms up.
            if round > 0 {
                costs.iter_mut().zip(cost).for_each(|(costs, cost)| costs.push(cost));
            }
        }
        let of = |i: usize, f: fn(&Cost) -> f64| costs[i].iter().map(f).collect::<Vec<f64>>();
        for (i, name) in names.iter().enumerate() {
            let (take, give) = (of(i, |c| c.allocate), of(i, |c| c.release));
            rows.push(Row::new(format!("{whose}, {name}: take"), "ns", take));
            rows.push(Row::new(format!("{whose}, {name}: give back"), "ns", give));
        }
        let both = |c: &Cost| c.allocate + c.release;
        for (i, name) in names.iter().enumerate().skip(1) {
            let ratios = of(i, both).iter().zip(of(0, both)).map(|(a, b)| a / b).collect();
            rows.push(Row::new(format!("{whose}: {name} / per-queue return"), "x", ratios));
            let gives = of(i, |c| c.release);
            let ratios = gives.iter().zip(of(0, |c| c.release)).map(|(a, b)| a / b).collect();
            let what = format!("{whose}, give back alone: {name} / per-queue return");
            rows.push(Row::new(what, "x", ratios));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_brings_all_buffers_back() {
        let rows = returns(1, 20_000).unwrap();
        assert!(rows.iter().all(|row| row.figure.min > 0.0), "{rows:?}");
    }
}
