//! The smallest receiver: one queue, one thread, sleeping when there is nothing to do.
//!
//!     cargo run -p groove-device --example receive

mod wire;

use std::sync::Arc;
use std::time::Duration;

use groove_device::{ModelDevice, Parameters};
use groove_driver::{Delivery, Napi, Nic, Settings};

/// Receives until the wire is silent.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any `Device` will do; this one is software, and its wire is the function below.
    let device = Arc::new(ModelDevice::new(Parameters::default()));
    let nic = Nic::open(device.clone(), &Settings::new(1))?;
    let queue = nic.queues.into_iter().next().ok_or("no queue")?;
    let mut receiver = queue.attach()?; // From here on the queue is this thread's.

    wire::send(&device, 100)?;

    // Polls while there is work, sleeps when there is none: here, until the wire is silent.
    let napi = Napi { timeout: Duration::from_millis(50), ..Napi::default() };
    let mut frame = Vec::new();
    let mut each = |delivery: Delivery| {
        let payload: usize = delivery.payload().map(|part| part.len()).sum();
        frame.clear();
        delivery.copy_to_frame(&mut frame); // Or read `payload()` where it lies.
        println!("{payload} bytes, {} segments", delivery.metadata().gso_segs.max(1));
        // Dropping a delivery gives its buffers back; the next poll posts them.
    };
    while receiver.turn(&napi, &mut each)?.given > 0 {}
    println!("{:?}", receiver.stats());
    Ok(())
}
