//! The smallest receiver: one queue, one thread, sleeping when there is nothing to do.
//!
//!     cargo run -p groove-device --example receive

mod wire;

use std::sync::Arc;
use std::time::Duration;

use groove_device::{ModelDevice, Parameters};
use groove_driver::{Nic, Settings};

/// Gives the deliveries that it saw.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any `Device` will do; this one is software, and its wire is the function below.
    let device = Arc::new(ModelDevice::new(Parameters::default()));
    let nic = Nic::open(device.clone(), &Settings::new(1))?;
    let queue = nic.queues.into_iter().next().ok_or("no queue")?;
    let mut receiver = queue.attach()?; // From here on the queue is this thread's.

    wire::send(&device, 100)?;

    let mut frame = Vec::new();
    while receiver.wait(Duration::from_millis(50))? {
        while receiver.poll(64, |delivery| {
            let metadata = delivery.metadata();
            let payload: usize = delivery.payload().map(|part| part.len()).sum();
            frame.clear();
            delivery.copy_to_frame(&mut frame); // Or read `payload()` where it lies.
            println!("{payload} bytes of payload, {} segments", metadata.gso_segs.max(1));
        })? > 0
        {} // Dropping a delivery gives its buffers back; the next poll posts them.
    }
    println!("{:?}", receiver.stats());
    Ok(())
}
