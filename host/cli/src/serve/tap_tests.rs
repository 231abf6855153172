//! A wire from a list of frames, with the driver on the software device behind it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::*;
use crate::run::ModelBed;
use groove_driver::{Delivery, Nic, Settings};

/// Longest wait of a test.
const BOUND: Duration = Duration::from_secs(20);

/// Frames that a test puts there.
#[derive(Clone, Default)]
struct List {
    waiting: Arc<Mutex<VecDeque<Vec<u8>>>>,
    waits: Arc<AtomicU64>,
    taken: Vec<u8>,
}

impl List {
    fn put(&self, frames: impl IntoIterator<Item = Vec<u8>>) {
        self.waiting.lock().unwrap().extend(frames);
    }

    /// Waits until whoever listens has looked at the device anew: before, it may still take the
    /// next frame for one that nobody drives. The first wait may belong to an earlier look.
    fn noticed(&self) {
        let (from, end) = (self.waits.load(Ordering::Acquire), Instant::now() + BOUND);
        while self.waits.load(Ordering::Acquire) < from + 2 {
            assert!(Instant::now() < end, "nobody listens");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until all are taken.
    fn drain(&self) {
        let end = Instant::now() + BOUND;
        while !self.waiting.lock().unwrap().is_empty() {
            assert!(Instant::now() < end, "frames are not taken");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Source for List {
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(frame) = self.waiting.lock().unwrap().pop_front() else { return Ok(None) };
        self.taken = frame;
        Ok(Some(&self.taken))
    }

    fn wait(&self, _timeout: Duration) -> io::Result<()> {
        std::thread::sleep(Duration::from_millis(1));
        self.waits.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

/// Ends the listener, also when a test fails: the scope would wait for it for ever.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A frame that is delivered alone.
fn frame(number: u8) -> Vec<u8> {
    let mut frame = vec![0xff; 64];
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame[20] = number;
    frame
}

/// Lets `drive` act while frames of a list come, and gives what was heard.
fn heard(queues: u8, drive: impl FnOnce(&List, &ModelBed, &AtomicU64)) -> Vec<Heard> {
    let (bed, list) = (ModelBed::new(queues), List::default());
    let (drivers, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let mut source = list.clone();
        let (bed, drivers, stop, all) = (&bed, &drivers, &stop, &mut all);
        let listener = scope
            .spawn(move || listen(bed, &mut source, 64, drivers, stop, |heard| all.push(heard)));
        {
            let _stop = Stop(stop);
            drive(&list, bed, drivers);
        }
        listener.join().unwrap().unwrap();
    });
    all
}

fn settings(queues: usize) -> Settings {
    Settings { ring: 16, buffers: 16, ..Settings::new(queues) }
}

fn poll_all(receivers: &mut [groove_driver::Receiver], count: usize) -> Vec<Delivery> {
    let end = Instant::now() + BOUND;
    let mut got = Vec::new();
    while got.len() < count {
        assert!(Instant::now() < end, "{} of {count} deliveries", got.len());
        for receiver in &mut *receivers {
            receiver.poll(64, |delivery| got.push(delivery)).unwrap();
        }
    }
    got
}

#[test]
fn frames_go_to_a_driver_or_are_counted() {
    let all = heard(2, |list, bed, drivers| {
        list.put((0..100).map(frame));
        list.drain();
        for _ in 0..2 {
            drivers.fetch_add(1, Ordering::Release);
            let nic = Nic::open(bed.device(), &settings(2)).unwrap();
            let attach = |queue: groove_driver::RxQueue| queue.attach().unwrap();
            let mut receivers: Vec<_> = nic.queues.into_iter().map(attach).collect();
            list.noticed();
            list.put((0..10).map(frame));
            let got = poll_all(&mut receivers, 10);
            assert!(got.iter().zip(0..).all(|(d, number)| d.to_spec().bytes[20] == number));
            list.put([vec![0; 9300], vec![0; 70_000], vec![0; 3]]);
            list.drain();
        }
    });
    let (frames, lost): (Vec<_>, Vec<_>) = all.iter().map(|h| (h.frames, h.lost)).unzip();
    assert_eq!(frames, [13, 13], "what is too long or too short is the device's to drop");
    assert_eq!(lost.iter().sum::<u64>(), 100, "{lost:?}");
}

#[test]
fn a_starving_queue_is_waited_for_once() {
    let start = Instant::now();
    let all = heard(1, |list, bed, drivers| {
        drivers.fetch_add(1, Ordering::Release);
        let nic = Nic::open(bed.device(), &settings(1)).unwrap();
        let mut receivers = vec![nic.queues.into_iter().next().unwrap().attach().unwrap()];
        list.noticed();
        // Nobody polls: 14 frames fit at most, the others find nothing.
        list.put((0..100).map(frame));
        list.drain();
        poll_all(&mut receivers, 14);
    });
    assert_eq!(all, [Heard { frames: 100, lost: 0 }]);
    assert!(start.elapsed() < 20 * PATIENCE, "once, not for each frame");
}
