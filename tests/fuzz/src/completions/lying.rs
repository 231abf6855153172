//! Rings behind registers that answer wrongly, or not at all, as often as the input says.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use groove_driver::{Device, DmaMemory, Error, Interrupt, Region};
use groove_spec::nic::{COMPLETION_CONSUMER, FREE_PRODUCER, queue_offset};

use super::ring_device::RingDevice;
use crate::input::Input;

/// Most wrong answers of an input: what the driver tries again ends.
pub const LIES_MAX: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Answer {
    /// Accesses that are answered rightly before.
    after: u8,
    /// Xored with what is read; 0: the access fails.
    xor: u32,
}

/// The device.
#[derive(Debug, Default)]
pub struct Lying {
    /// What stands behind it, which does not lie by itself.
    pub rings: RingDevice,
    answers: Mutex<(VecDeque<Answer>, usize)>,
    mapped: Mutex<Vec<Weak<DmaMemory>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lying {
    /// Wrong answers from the start: in most inputs none, or the queue would seldom come to run.
    pub fn lie_at_first(&self, input: &mut Input) {
        for _ in 0..input.byte().saturating_sub(0xf8) {
            self.lie(input);
        }
    }

    /// One more wrong answer.
    pub fn lie(&self, input: &mut Input) {
        let (after, kind, bit) = (input.byte(), input.byte(), input.byte());
        let xor = [0, 1 << (bit & 31), u32::MAX, input.u32()][usize::from(kind & 3)];
        let mut answers = lock(&self.answers);
        if answers.1 < LIES_MAX {
            answers.1 += 1;
            answers.0.push_back(Answer { after, xor });
        }
    }

    /// No more wrong answers.
    pub fn behave(&self) {
        lock(&self.answers).0.clear();
    }

    /// Whether it lied, or is going to.
    pub fn has_lied(&self) -> bool {
        lock(&self.answers).1 > 0
    }

    /// Nobody holds memory that was mapped.
    pub fn is_let_go(&self) {
        let held = lock(&self.mapped).iter().filter(|memory| memory.strong_count() > 0).count();
        assert_eq!(held, 0, "memory is held behind the last queue");
    }

    /// What the next access is answered with, if not rightly.
    fn wrong(&self) -> Option<u32> {
        let answers = &mut lock(&self.answers).0;
        let next = answers.front_mut()?;
        if next.after > 0 {
            next.after -= 1;
            return None;
        }
        answers.pop_front().map(|answer| answer.xor)
    }
}

fn no_answer() -> Error {
    Error::Io(io::Error::other("no answer"))
}

/// A write that may be lost without an error: the rings behind it take the others at their word.
fn is_doorbell(offset: u64) -> bool {
    let bells = [&FREE_PRODUCER, &COMPLETION_CONSUMER];
    bells.into_iter().any(|bell| queue_offset(0, bell) as u64 == offset)
}

impl Device for Lying {
    fn region_bytes(&self, region: Region) -> u64 {
        self.rings.region_bytes(region)
    }

    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        match self.wrong() {
            Some(0) => Err(no_answer()),
            wrong => Ok(self.rings.read32(region, offset)? ^ wrong.unwrap_or(0)),
        }
    }

    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        match self.wrong() {
            Some(0) => Err(no_answer()),
            Some(_) if is_doorbell(offset) => Ok(()),
            _ => self.rings.write32(region, offset, value),
        }
    }

    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        lock(&self.mapped).push(Arc::downgrade(&memory));
        match self.wrong() {
            Some(_) => Err(no_answer()),
            None => self.rings.dma_map(iova, memory),
        }
    }

    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        self.rings.dma_unmap(iova, bytes)
    }

    fn vectors(&self) -> usize {
        self.rings.vectors()
    }

    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        match self.wrong() {
            Some(_) => Err(no_answer()),
            None => self.rings.set_interrupts(interrupts),
        }
    }

    fn reset(&self) -> Result<(), Error> {
        self.rings.reset()
    }
}
