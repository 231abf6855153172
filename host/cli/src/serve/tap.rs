//! A wire from the kernel: what programs send into a TAP interface goes to whoever drives the
//! device.
//!
//!   TAP ──► a driver? ── no ──► lost, counted
//!             └─ yes ──► queue, room? ──► device ──► next      nothing more ──► flush what is open
//!
//! A batch ends after so many frames of a queue, as NAPI's poll does, and when nothing more waits
//! in the interface. A frame waits a little for buffers: then the interface's own queue fills, and
//! the kernel drops and counts, as it does when a card is slow. Frames that are too long for the
//! device go there all the same, since it is the device that counts them (`DROP_OVERSIZE`).
//!
//! Invariants: every frame is given to the device or counted as lost
//! (`frames_go_to_a_driver_or_are_counted`); a queue without buffers holds the others up once, not
//! for each frame (`a_starving_queue_is_waited_for_once`).
//! Not here: the interface (`groove_serve::Tap`).

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{LOOK_EVERY, Line, Steering, WireError};
use crate::run::Bed;
use crate::sim::{Pace, Schedule};

/// Longest wait for the buffers of a queue, once.
const PATIENCE: Duration = Duration::from_secs(1);
/// Frames between two looks whether the driver is still there.
const LOOK_FRAMES: u64 = 64;

/// Where frames come from: a TAP interface, or a test's list.
pub trait Source: Send {
    /// The next frame; `None` if there is none for the moment.
    fn next(&mut self) -> io::Result<Option<&[u8]>>;
    /// Waits for one, no longer than `timeout`.
    fn wait(&self, timeout: Duration) -> io::Result<()>;
}

impl Source for groove_serve::Tap {
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.receive()
    }

    fn wait(&self, timeout: Duration) -> io::Result<()> {
        Self::wait(self, timeout)
    }
}

/// What came while a driver was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Frames that the device was given.
    pub frames: u64,
    /// Frames that came before, while nobody drove it, or when it was left.
    pub lost: u64,
}

/// Lets frames through until `stop`. A queue is flushed behind `batch` of its frames, and when no
/// more wait. `drivers` counts those that came; `tell` hears of each that has gone.
pub fn listen(
    bed: &dyn Bed,
    source: &mut dyn Source,
    batch: u32,
    drivers: &AtomicU64,
    stop: &AtomicBool,
    mut tell: impl FnMut(Heard),
) -> Result<(), WireError> {
    let mut line = Line::new(bed, drivers, stop)?;
    let mut lost = 0;
    while !line.is_stopped() {
        line.driver = drivers.load(Ordering::Acquire);
        if line.running()? == 0 {
            lost += skip(source)?;
            bed.journal()?;
            source.wait(LOOK_EVERY)?;
            continue;
        }
        let mut heard = line.while_driven(source, batch)?;
        heard.lost += std::mem::take(&mut lost);
        tell(heard);
    }
    Ok(())
}

/// Takes what waits. Gives how many frames that were.
fn skip(source: &mut dyn Source) -> io::Result<u64> {
    let mut frames = 0;
    // A look at the driver in between, however fast they come.
    while frames < LOOK_FRAMES && source.next()?.is_some() {
        frames += 1;
    }
    Ok(frames)
}

impl Line<'_> {
    fn while_driven(&self, source: &mut dyn Source, batch: u32) -> Result<Heard, WireError> {
        let mut steering = self.steering()?;
        let mut schedule = Schedule::new(Pace::Batch(batch), self.queues as u8);
        let mut starving = vec![false; self.queues];
        let mut heard = Heard::default();
        let mut tokens = Vec::new();
        let mut until_look = 0;
        loop {
            if until_look == 0 {
                if self.is_stopped() || self.is_left()? {
                    return Ok(heard);
                }
                // Nobody replays what is served: the journal would only grow.
                self.bed.journal()?;
                until_look = LOOK_FRAMES;
            }
            let Some(frame) = source.next()? else {
                schedule.rest(&mut tokens);
                self.send(&mut tokens)?;
                until_look = 0;
                source.wait(LOOK_EVERY)?;
                continue;
            };
            until_look -= 1;
            let queue = steering.queue(frame);
            if let Some(queue) = queue
                && !self.has_room(&mut steering, &mut starving, queue, frame.len())?
            {
                heard.lost += 1;
                continue;
            }
            self.bed.inject(frame)?;
            heard.frames += 1;
            if let Some(queue) = queue {
                schedule.after(queue, &mut tokens);
                self.send(&mut tokens)?;
            }
        }
    }

    /// Waits a little for a queue's buffers. `false`: the driver has gone, or told to stop.
    fn has_room(
        &self,
        steering: &mut Steering,
        starving: &mut [bool],
        queue: u8,
        bytes: usize,
    ) -> Result<bool, WireError> {
        let starves = &mut starving[usize::from(queue)];
        let start = Instant::now();
        while !(self.runs(queue.into())? && steering.room.covers(&*self.device, queue, bytes)?) {
            if self.is_stopped() || self.is_left()? {
                return Ok(false);
            }
            self.bed.settle()?;
            // The device drops the frame then, and counts it.
            *starves |= start.elapsed() >= PATIENCE;
            if *starves {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        *starves = false;
        Ok(true)
    }
}

#[cfg(test)]
#[path = "tap_tests.rs"]
mod tests;
