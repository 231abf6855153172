//! Nanoseconds per delivery: poll, drop, post again, on a ring whose device costs nothing.
//!
//! The device writes a batch, which is not timed; then the driver polls it, which is. So the
//! completions are warm, as they are behind a NIC that writes into the last-level cache.
//! Invariant: what was produced is what was delivered (`the_ring_delivers_what_it_was_given`).

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use groove_driver::{Delivery, FreeOrder, Nic, QueueError, Receiver, Settings};

use crate::ring::RingDevice;
use crate::{Error, Figure, Row};

/// Deliveries of a poll: the kernel's budget.
const BATCH: usize = 64;

/// A driver on a software ring.
fn open(change: impl FnOnce(&mut Settings)) -> Result<(Arc<RingDevice>, Receiver), Error> {
    let device = Arc::new(RingDevice::default());
    let mut settings = Settings::new(1);
    settings.interrupts = false;
    change(&mut settings);
    let nic = Nic::open(Arc::clone(&device) as Arc<_>, &settings)?;
    let queue = nic.queues.into_iter().next().ok_or("no queue")?;
    Ok((device, queue.attach()?))
}

/// What is timed, as a function of its own, so that a profiler can count its instructions.
#[inline(never)]
fn timed_poll(receiver: &mut Receiver, take: impl FnMut(Delivery)) -> Result<usize, QueueError> {
    receiver.poll(BATCH, take)
}

/// Nanoseconds per delivery: that of the median poll of so many that they give `deliveries`. Of a
/// poll that another program interrupted nothing is seen then.
// Not a reference to `take`: `poll` is given a closure, as by an application, and inlines it.
#[allow(clippy::redundant_closure)]
fn run(
    device: &RingDevice,
    receiver: &mut Receiver,
    deliveries: usize,
    mut take: impl FnMut(Delivery),
) -> Result<f64, Error> {
    let mut polls = Vec::with_capacity(deliveries.div_ceil(BATCH));
    while polls.len() < polls.capacity() {
        let produced = device.produce(0, 1514, BATCH);
        let start = Instant::now();
        let polled = timed_poll(receiver, |delivery| take(delivery))?;
        let time = start.elapsed();
        if polled != produced || polled == 0 {
            return Err(format!("{produced} produced, {polled} delivered").into());
        }
        polls.push(time.as_nanos() as f64 / polled as f64);
    }
    Ok(Figure::of(polls).median)
}

#[allow(clippy::redundant_closure)] // as above
fn rounds(
    name: &str,
    runs: usize,
    deliveries: usize,
    mut take: impl FnMut(Delivery),
) -> Result<Row, Error> {
    let (device, mut receiver) = open(|_| {})?;
    let mut values = Vec::new();
    for round in 0..=runs {
        let value = run(&device, &mut receiver, deliveries, |delivery| take(delivery))?;
        // The first round warms up.
        if round > 0 {
            values.push(value);
        }
    }
    Ok(Row::new(name, "ns", values))
}

/// Nanoseconds per delivery of one buffer that is only dropped, `runs` times `deliveries` of them.
pub fn dropped(runs: usize, deliveries: usize) -> Result<Row, Error> {
    rounds("delivery of one buffer, dropped", runs, deliveries, |delivery| {
        black_box(&delivery);
    })
}

/// The same, with the header copied out.
pub fn header_copied(runs: usize, deliveries: usize) -> Result<Row, Error> {
    let mut header = [0; 128];
    rounds("the same, header of 54 B copied out", runs, deliveries, |delivery| {
        black_box(delivery.header().copy_at(0, &mut header));
        black_box(&header);
    })
}

/// A queue of one order of the free list, with its device.
struct Ordered {
    device: Arc<RingDevice>,
    receiver: Receiver,
    copy: Vec<u8>,
}

impl Ordered {
    fn open(order: FreeOrder, pool: usize, posted_max: usize) -> Result<Self, Error> {
        let (device, receiver) = open(|settings| {
            (settings.ring, settings.buffers, settings.buffer_bytes) = (pool, pool, 2048);
            (settings.order, settings.posted_max) = (order, posted_max);
        })?;
        Ok(Self { device, receiver, copy: Vec::with_capacity(2048) })
    }

    /// Nanoseconds per delivery that the device writes and the host copies.
    fn run(&mut self, frame: &[u8], deliveries: usize) -> Result<f64, Error> {
        let (mut done, start) = (0, Instant::now());
        while done < deliveries {
            let fits = (0..BATCH).take_while(|_| self.device.deliver(0, frame)).count();
            done += self.receiver.poll(fits, |delivery| {
                self.copy.clear();
                delivery.copy_to_frame(&mut self.copy);
                black_box(&self.copy);
            })?;
        }
        Ok(start.elapsed().as_nanos() as f64 / done as f64)
    }
}

/// What an order of the free list is worth, for pools of several sizes: nanoseconds per delivery of
/// 1,514 B with FIFO, and how many times that LIFO takes, which keeps 256 buffers with the device.
/// Both run in turn, `pairs` times `deliveries` each; each pair gives a ratio.
pub fn free_order(pairs: usize, deliveries: usize) -> Result<Vec<Row>, Error> {
    let frame: Vec<u8> = (0..1514u32).map(|i| i as u8).collect();
    let mut rows = Vec::new();
    for pool in [512, 2048, 8192, 32768] {
        let mut fifo = Ordered::open(FreeOrder::Fifo, pool, pool)?;
        let mut lifo = Ordered::open(FreeOrder::Lifo, pool, 256)?;
        // Once through the whole pool, so that its pages are there.
        fifo.run(&frame, pool)?;
        lifo.run(&frame, pool)?;
        let (mut times, mut ratios) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            // Who is first has the cache of the other: in turn, too.
            let (a, b) = if pair % 2 == 0 {
                let a = fifo.run(&frame, deliveries)?;
                (a, lifo.run(&frame, deliveries)?)
            } else {
                let b = lifo.run(&frame, deliveries)?;
                (fifo.run(&frame, deliveries)?, b)
            };
            times.push(a);
            ratios.push(b / a);
        }
        rows.push(Row::new(format!("FIFO, pool of {pool}"), "ns", times));
        rows.push(Row::new(format!("LIFO / FIFO, pool of {pool}"), "x", ratios));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_delivers_what_it_was_given() {
        let mut rows = free_order(2, 100).unwrap();
        rows.extend([dropped(1, 5000).unwrap(), header_copied(1, 5000).unwrap()]);
        assert!(rows.iter().all(|row| row.figure.min > 0.0), "{rows:?}");
        let (device, mut receiver) = open(|settings| settings.buffer_bytes = 2048).unwrap();
        for bytes in [14, 60, 256, 257, 1514, 2102, 2103, 9000] {
            let frame: Vec<u8> = (0..bytes).map(|i| (i * 7) as u8).collect();
            assert!(device.deliver(0, &frame));
            let mut got = Vec::new();
            assert_eq!(receiver.poll(9, |d| d.copy_to_frame(&mut got)).unwrap(), 1);
            assert_eq!(got, frame);
        }
        receiver.stop(|_| {}).unwrap();
        assert_eq!(receiver.census().spare, 1024);
    }
}
