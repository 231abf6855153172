//! A device elsewhere, whose wire is elsewhere too: `groove serve` plays the capture there, and the
//! same capture is read here, to know what must come.
//!
//!   serve: capture ─► schedule ─► device ═► rings ═► driver ─► check ◄─ model ◄─ capture here
//!
//! Both ends cut the capture by the same rules, so the journal is known without the device. A frame
//! that is dropped there for want of buffers differs here, and is told.
//! Invariants: what comes is what the model gives (`a_capture_comes_through_the_socket`); a wait
//! for frames that do not come ends (`frames_that_do_not_come_are_named`), at once if the device
//! went or was reset (`a_device_that_is_lost_is_named`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use groove_device::Step;
use groove_driver::identify::REGISTERS;
use groove_driver::{Device, Error};
use groove_spec::TokenKind;
use groove_spec::nic::{QUEUE_STATUS, queue_offset};
use groove_spec::stages::device::SPEC_ID;
use groove_spec::stages::ingress::FRAMES;

use super::{Bed, BedError};

/// A device behind a transport.
pub struct RemoteBed {
    name: &'static str,
    device: Arc<dyn Device>,
    journal: Mutex<Vec<Step>>,
    frames: AtomicU32,
    /// Queue 0 ran before the first frame was waited for.
    ran: AtomicBool,
    patience: Duration,
}

impl RemoteBed {
    /// A device that is waited for no longer than `patience` without a frame.
    pub fn new(name: &'static str, device: Arc<dyn Device>, patience: Duration) -> Self {
        let (journal, frames) = (Mutex::default(), AtomicU32::new(0));
        Self { name, device, journal, frames, ran: AtomicBool::new(false), patience }
    }

    fn runs(&self) -> Result<bool, Error> {
        let offset = queue_offset(0, &QUEUE_STATUS) as u64;
        let status = self.device.read32(REGISTERS, offset)?;
        Ok(status & QUEUE_STATUS.field("running").mask() != 0)
    }

    /// Refuses to wait for a device that is not in service any more; it counts so many frames.
    fn check(&self, now: u32) -> Result<(), BedError> {
        let id = SPEC_ID.offset as u64;
        // As no frames are: it is asked for what it never has.
        if now == u32::MAX && self.device.read32(REGISTERS, id)? == u32::MAX {
            return Err(Error::Gone.into());
        }
        if self.ran.load(Ordering::Relaxed) && !self.runs()? {
            let help = "it was reset under the driver, or a DMA error stopped it: look at `dmesg`";
            return Err(lost("queue 0 of the device does not run any more", help));
        }
        Ok(())
    }

    fn note(&self, step: Step) {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }
}

/// What cannot be waited for any more.
fn lost(what: &str, help: &'static str) -> BedError {
    let source = std::io::Error::from(std::io::ErrorKind::NotConnected);
    BedError::Device(Error::Transport { what: what.into(), help: Some(help), source })
}

impl Bed for RemoteBed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn device(&self) -> Arc<dyn Device> {
        Arc::clone(&self.device)
    }

    fn inject(&self, _bytes: &[u8]) -> Result<(), BedError> {
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.note(Step::Frame);
        Ok(())
    }

    fn token(&self, queue: u8, kind: TokenKind) -> Result<(), BedError> {
        self.note(Step::Token { queue, kind });
        Ok(())
    }

    /// Waits until every frame has come in there. What it holds then is flushed when its queues
    /// stop, as the end of a capture flushes it.
    fn settle(&self) -> Result<(), BedError> {
        let wanted = self.frames.load(Ordering::Relaxed);
        if wanted == 0 {
            self.ran.store(self.runs()?, Ordering::Relaxed);
        }
        let (mut last, mut since) = (0, Instant::now());
        loop {
            let came = self.device.read32(REGISTERS, FRAMES.offset as u64)?;
            // More than wanted is counted at the end.
            if came.wrapping_sub(wanted) < u32::MAX / 2 {
                return Ok(());
            }
            self.check(came)?;
            if came != last {
                (last, since) = (came, Instant::now());
            }
            if since.elapsed() > self.patience {
                let seconds = self.patience.as_secs_f32();
                let source = std::io::Error::from(std::io::ErrorKind::TimedOut);
                return Err(BedError::Device(Error::Transport {
                    what: format!(
                        "{came} of {wanted} frames came to the device, and none for {seconds} s"
                    ),
                    help: Some("play the same capture there: groove serve --capture FILE"),
                    source,
                }));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn journal(&self) -> Result<Vec<Step>, BedError> {
        Ok(std::mem::take(&mut *self.journal.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_device::{ModelDevice, Parameters};
    use groove_driver::{DmaMemory, Interrupt, Nic, Region, Settings};

    #[test]
    fn a_device_that_is_lost_is_named() {
        let device: Arc<dyn Device> = Arc::new(ModelDevice::new(Parameters::default()));
        let nic = Nic::open(Arc::clone(&device), &Settings::new(1)).unwrap();
        let queues = nic.queues.into_iter().map(|queue| queue.attach().unwrap());
        let _receivers: Vec<_> = queues.collect();
        let bed = RemoteBed::new("vfio", Arc::clone(&device), Duration::from_secs(60));
        bed.settle().unwrap();
        bed.check(0).unwrap();
        bed.check(u32::MAX).unwrap();
        device.reset().unwrap();
        bed.inject(&[0; 60]).unwrap();
        let error = bed.settle().unwrap_err();
        assert_eq!(error.to_string(), "queue 0 of the device does not run any more");
        let bed = RemoteBed::new("vfio", Arc::new(Gone), Duration::from_millis(30));
        bed.inject(&[0; 60]).unwrap();
        let error = bed.settle().unwrap_err();
        assert!(matches!(error, BedError::Device(Error::Gone)), "{error}");
    }

    /// A function behind a link that is down.
    struct Gone;

    impl Device for Gone {
        fn region_bytes(&self, _region: Region) -> u64 {
            0x1000
        }
        fn read32(&self, _region: Region, _offset: u64) -> Result<u32, Error> {
            Ok(u32::MAX)
        }
        fn write32(&self, _region: Region, _offset: u64, _value: u32) -> Result<(), Error> {
            Ok(())
        }
        fn dma_map(&self, _iova: u64, _memory: Arc<DmaMemory>) -> Result<(), Error> {
            Ok(())
        }
        fn dma_unmap(&self, _iova: u64, _bytes: u64) -> Result<(), Error> {
            Ok(())
        }
        fn vectors(&self) -> usize {
            1
        }
        fn set_interrupts(&self, _interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
            Ok(())
        }
        fn reset(&self) -> Result<(), Error> {
            Ok(())
        }
    }

    #[test]
    fn frames_that_do_not_come_are_named() {
        let device = Arc::new(ModelDevice::new(Parameters::default()));
        let front: Arc<dyn Device> = Arc::clone(&device) as Arc<dyn Device>;
        let bed = RemoteBed::new("vfio-user", front, Duration::from_millis(30));
        bed.settle().unwrap();
        bed.inject(&[0; 60]).unwrap();
        bed.inject(&[0; 60]).unwrap();
        device.inject(&[0; 60], false).unwrap();
        let error = bed.settle().unwrap_err();
        let text = "1 of 2 frames came to the device, and none for 0.03 s";
        assert_eq!(error.to_string(), text);
        device.inject(&[0; 60], false).unwrap();
        bed.settle().unwrap();
        assert_eq!(bed.journal().unwrap(), [Step::Frame, Step::Frame]);
    }
}
