//! Nanoseconds per delivery: poll, drop, post again, on a ring whose device costs nothing.
//!
//! The device writes a batch, which is not timed; then the driver polls it, which is. So the
//! completions are warm, as they are behind a NIC that writes into the last-level cache.
//! Invariant: what was produced is what was delivered (`the_ring_delivers_what_it_was_given`).

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use groove_driver::{Delivery, FreeOrder, Nic, Receiver, Settings};

use crate::ring::RingDevice;
use crate::{Error, Row};

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

/// Time of `deliveries` polls' worth, in nanoseconds per delivery.
fn run(
    device: &RingDevice,
    receiver: &mut Receiver,
    deliveries: usize,
    mut produce: impl FnMut(&RingDevice) -> usize,
    mut take: impl FnMut(Delivery),
) -> Result<f64, Error> {
    let (mut done, mut time) = (0, Duration::ZERO);
    while done < deliveries {
        let produced = produce(device);
        let start = Instant::now();
        let polled = receiver.poll(BATCH, &mut take)?;
        time += start.elapsed();
        if polled != produced || polled == 0 {
            return Err(format!("{produced} produced, {polled} delivered").into());
        }
        done += polled;
    }
    Ok(time.as_nanos() as f64 / done as f64)
}

/// Nanoseconds per delivery of one buffer, `runs` times `deliveries` of them: only dropped, and
/// with its header copied out.
pub fn per_delivery(runs: usize, deliveries: usize) -> Result<Vec<Row>, Error> {
    let (device, mut receiver) = open(|_| {})?;
    let (mut dropped, mut headers) = (Vec::new(), Vec::new());
    for round in 0..=runs {
        let produce = |device: &RingDevice| device.produce(0, 1514, BATCH);
        let drop_all = run(&device, &mut receiver, deliveries, produce, |d| {
            black_box(&d);
        })?;
        let mut header = [0; 128];
        let copied = run(&device, &mut receiver, deliveries, produce, |d| {
            black_box(d.header().copy_at(0, &mut header));
            black_box(&header);
        })?;
        // The first round warms up.
        if round > 0 {
            dropped.push(drop_all);
            headers.push(copied);
        }
    }
    Ok(vec![
        Row::new("delivery of one buffer, dropped", "ns", dropped),
        Row::new("the same, header of 54 B copied out", "ns", headers),
    ])
}

/// Nanoseconds per delivery of 1,514 B that the device writes and the host copies, for pools of
/// several sizes, by order of the free list. LIFO keeps 256 buffers with the device.
pub fn free_order(runs: usize, deliveries: usize) -> Result<Vec<Row>, Error> {
    let frame: Vec<u8> = (0..1514u32).map(|i| i as u8).collect();
    let mut rows = Vec::new();
    for pool in [512, 2048, 8192, 32768] {
        for (order, posted_max) in [(FreeOrder::Fifo, pool), (FreeOrder::Lifo, 256)] {
            let (device, mut receiver) = open(|settings| {
                (settings.ring, settings.buffers, settings.buffer_bytes) = (pool, pool, 2048);
                (settings.order, settings.posted_max) = (order, posted_max);
            })?;
            let mut values = Vec::new();
            let mut copy = Vec::with_capacity(2048);
            for round in 0..=runs {
                let (mut done, start) = (0, Instant::now());
                while done < deliveries {
                    let fits = (0..BATCH).take_while(|_| device.deliver(0, &frame)).count();
                    done += receiver.poll(fits, |delivery| {
                        copy.clear();
                        delivery.copy_to_frame(&mut copy);
                        black_box(&copy);
                    })?;
                }
                if round > 0 {
                    values.push(start.elapsed().as_nanos() as f64 / done as f64);
                }
            }
            rows.push(Row::new(format!("{order:?}, pool of {pool}"), "ns", values));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_delivers_what_it_was_given() {
        for row in per_delivery(1, 5000).unwrap() {
            assert!(row.figure.min > 0.0, "{row:?}");
        }
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
