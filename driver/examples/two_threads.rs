//! Deliveries that are used on another thread, and how their buffers come home.
//!
//!     cargo run -p groove-device --example two_threads
//!
//! The receiving thread owns the queue. A worker takes half of the deliveries, and drops them when
//! it is done: each buffer goes into the worker's return slot, which the owner takes whole at its
//! next poll. A slot that is half full wakes an owner that sleeps.

mod wire;

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use groove_device::{ModelDevice, Parameters};
use groove_driver::{Delivery, Nic, Settings};

/// Runs both threads, and shows where the buffers went.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Arc::new(ModelDevice::new(Parameters::default()));
    let mut settings = Settings::new(1);
    (settings.ring, settings.buffers) = (256, 256);
    let nic = Nic::open(device.clone(), &settings)?;
    let queue = nic.queues.into_iter().next().ok_or("no queue")?;

    let (to_worker, from_receiver) = sync_channel::<Delivery>(64);
    let worker = std::thread::spawn(move || {
        let mut bytes = 0;
        for delivery in from_receiver {
            bytes += delivery.payload().map(|part| part.len()).sum::<usize>();
        } // Dropped here: the buffers go home from this thread.
        bytes
    });

    let mut receiver = queue.attach()?;
    let mut turn = 0;
    for _ in 0..100 {
        wire::send(&device, 20)?;
        while receiver.poll(64, |delivery| {
            turn += 1;
            if turn % 2 == 0 {
                // A closed channel gives the delivery back, and it is released here.
                drop(to_worker.send(delivery));
            }
        })? > 0
        {}
    }
    drop(to_worker);
    let bytes = worker.join().map_err(|_| "the worker panicked")?;
    receiver.wait(Duration::ZERO)?; // Brings home what the worker has left.
    let (returns, census) = (receiver.stats().returns, receiver.census());
    println!("{bytes} bytes read by the worker");
    println!("buffers: {} released here, {} there", returns.home, returns.away + returns.overflow);
    println!("the owner was woken {} times; {} buffers are out", returns.kicks, census.out);
    assert_eq!(census.out, 0, "every buffer is home");
    Ok(())
}
