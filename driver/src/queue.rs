//! A receive queue: posts free buffers, takes completions, gives deliveries.
//!
//!   home ──► free ring ──► device ──► completion ring ──► ledger ──► Delivery ──► home
//!
//! Follows: spec rows of `nic`; architecture "Rings"; NAPI (poll, then re-arm, then sleep).
//!
//! [`RxQueue`] can be sent to the thread that shall own it; [`Receiver`] cannot leave that thread,
//! so that a buffer dropped there goes home without a locked instruction.
//! Invariants, held by the conformance suite: a queue whose device lied is quarantined: it is
//! switched off, and every poll from there on is the same error
//! (`a_lie_quarantines_the_queue`); every buffer is with the device, out, or spare
//! (`buffers_are_conserved`).

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use groove_spec::nic::{
    self, BUFFER_SIZE, COMPLETION_BASE_HIGH, COMPLETION_BASE_LOW, COMPLETION_BYTES,
    COMPLETION_CONSUMER, DESCRIPTOR_BYTES, FREE_BASE_HIGH, FREE_BASE_LOW, FREE_PRODUCER,
    HEADER_BASE_HIGH, HEADER_BASE_LOW, HOLD, MODERATION, QUEUE_CONTROL, QUEUE_STATUS, RING_SIZES,
};
use groove_spec::{Register, RegisterField};

use crate::completion::{self, Completion};
use crate::delivery::{Delivery, Shared};
use crate::dma::OutOfBounds;
use crate::home::ReturnStats;
use crate::identify::REGISTERS;
use crate::ledger::{Ledger, Lie, Outcome, Violation};
use crate::nic::{Core, Settings};
use crate::{Error, Interrupt};

/// How long a queue may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a queue does not go on.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The device said what cannot be; the queue is off.
    #[error("the device broke the rules, and the queue is switched off: {0}")]
    Violation(#[from] Violation),
    /// A register access failed.
    #[error("failed to reach queue {queue}")]
    Device {
        /// Queue.
        queue: usize,
        /// Why.
        source: Error,
    },
    /// The device did not stop.
    #[error("queue {0} did not stop within {STOP_TIMEOUT:?}")]
    DoesNotStop(usize),
    /// The queue is not running.
    #[error("queue {0} is stopped")]
    Stopped(usize),
    /// The driver's own arithmetic is wrong.
    #[error(transparent)]
    Memory(#[from] OutOfBounds),
}

/// Counters of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Deliveries given out.
    pub deliveries: u64,
    /// Completions taken.
    pub completions: u64,
    /// Deliveries that a DMA error hit: not given out.
    pub errors: u64,
    /// Buffers posted.
    pub posted: u64,
    /// Buffers on their way home.
    pub returns: ReturnStats,
}

/// Where the buffers of a pool are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Posted, and not completed.
    pub with_device: usize,
    /// In deliveries, or on their way home.
    pub out: usize,
    /// Home, and not posted.
    pub spare: usize,
}

/// A queue that no thread owns.
#[derive(Debug)]
pub struct RxQueue {
    core: Arc<Core>,
    shared: Arc<Shared>,
    interrupt: Arc<Interrupt>,
    settings: Settings,
    ledger: Ledger,
    spare: Vec<u16>,
    producer: u16,
    consumer: u16,
    with_device: usize,
    running: bool,
    quarantine: Option<Violation>,
    stats: QueueStats,
}

fn place(field: &RegisterField, value: u32) -> u32 {
    value << field.lsb & field.mask()
}

impl RxQueue {
    /// A queue that does not run yet, all its buffers spare.
    pub(crate) fn new(
        core: Arc<Core>,
        shared: Arc<Shared>,
        interrupt: Arc<Interrupt>,
        settings: &Settings,
    ) -> Self {
        Self {
            core,
            interrupt,
            ledger: Ledger::new(settings.buffers, settings.buffer_bytes, settings.split),
            spare: (0..settings.buffers as u16).collect(),
            settings: settings.clone(),
            shared,
            producer: 0,
            consumer: 0,
            with_device: 0,
            running: false,
            quarantine: None,
            stats: QueueStats::default(),
        }
    }

    /// Its number.
    pub fn number(&self) -> usize {
        self.shared.queue
    }

    /// This thread takes it over, and starts it if it does not run.
    pub fn attach(mut self) -> Result<Receiver, QueueError> {
        self.shared.home.bind();
        if !self.running {
            self.start()?;
        }
        Ok(Receiver { queue: self, _this_thread: PhantomData })
    }

    fn write(&self, register: &Register, value: u32) -> Result<(), QueueError> {
        let offset = nic::queue_offset(self.shared.queue, register) as u64;
        let source = match self.core.device.write32(REGISTERS, offset, value) {
            Ok(()) => return Ok(()),
            Err(source) => source,
        };
        Err(QueueError::Device { queue: self.shared.queue, source })
    }

    fn read(&self, register: &Register) -> Result<u32, QueueError> {
        let offset = nic::queue_offset(self.shared.queue, register) as u64;
        let value = self.core.device.read32(REGISTERS, offset);
        value.map_err(|source| QueueError::Device { queue: self.shared.queue, source })
    }

    fn start(&mut self) -> Result<(), QueueError> {
        let area = self.shared.area;
        let zero = [0; COMPLETION_BYTES];
        for index in 0..area.entries as u16 {
            self.shared.memory.write(area.completion(index), &zero)?;
        }
        (self.producer, self.consumer, self.quarantine) = (0, 0, None);
        let base = self.core.iova(self.shared.queue);
        for (low, high, offset) in [
            (&FREE_BASE_LOW, &FREE_BASE_HIGH, area.free),
            (&COMPLETION_BASE_LOW, &COMPLETION_BASE_HIGH, area.completions),
            (&HEADER_BASE_LOW, &HEADER_BASE_HIGH, area.headers),
        ] {
            let iova = base + offset as u64;
            self.write(low, iova as u32)?;
            self.write(high, (iova >> 32) as u32)?;
        }
        let log2 = area.entries.trailing_zeros();
        let sizes = place(RING_SIZES.field("free_log2"), log2)
            | place(RING_SIZES.field("completion_log2"), log2);
        self.write(&RING_SIZES, sizes)?;
        self.write(&BUFFER_SIZE, area.buffer_bytes as u32)?;
        let moderation = place(MODERATION.field("count"), self.settings.moderation_count.into())
            | place(MODERATION.field("time"), self.settings.moderation_time.into());
        self.write(&MODERATION, moderation)?;
        self.write(&HOLD, self.settings.hold_time.into())?;
        let control = place(QUEUE_CONTROL.field("enable"), 1)
            | place(QUEUE_CONTROL.field("split"), self.settings.split.into())
            | place(QUEUE_CONTROL.field("interrupt"), self.settings.interrupts.into());
        fence(Ordering::Release);
        self.write(&QUEUE_CONTROL, control)?;
        self.running = true;
        self.refill()
    }

    /// Brings home what was dropped, and posts all that is spare.
    fn refill(&mut self) -> Result<(), QueueError> {
        self.shared.home.collect(&mut self.spare);
        if self.spare.is_empty() || !self.running {
            return Ok(());
        }
        let area = self.shared.area;
        let base = self.core.iova(self.shared.queue);
        for id in &self.spare {
            let mut descriptor = [0; DESCRIPTOR_BYTES];
            let iova = base + area.buffer(*id) as u64;
            descriptor[..8].copy_from_slice(&iova.to_le_bytes());
            descriptor[8..12].copy_from_slice(&(area.buffer_bytes as u32).to_le_bytes());
            descriptor[12..14].copy_from_slice(&id.to_le_bytes());
            self.shared.memory.write(area.descriptor(self.producer), &descriptor)?;
            self.ledger.give(*id);
            self.producer = self.producer.wrapping_add(1);
        }
        self.with_device += self.spare.len();
        self.stats.posted += self.spare.len() as u64;
        self.spare.clear();
        fence(Ordering::Release);
        self.write(&FREE_PRODUCER, self.producer.into())
    }

    /// The next completion, if the device has written it.
    fn completion(&self) -> Result<Option<Completion>, QueueError> {
        let at = self.shared.area.completion(self.consumer);
        let last = self.shared.memory.word(at + COMPLETION_BYTES - 4)?;
        // Acquires the rest of the record, and the data.
        let last = u32::from_le(last.load(Ordering::Acquire));
        if completion::generation(last) != self.shared.area.generation(self.consumer) {
            return Ok(None);
        }
        let mut bytes = [0; COMPLETION_BYTES];
        self.shared.memory.read(at, &mut bytes[..COMPLETION_BYTES - 4])?;
        bytes[COMPLETION_BYTES - 4..].copy_from_slice(&last.to_le_bytes());
        let mut words = [0; COMPLETION_BYTES / 8];
        for (word, eight) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*eight);
        }
        Ok(Some(Completion::decode(words)))
    }

    fn quarantine(&mut self, what: Lie) -> QueueError {
        let violation = Violation { queue: self.shared.queue, index: self.consumer, what };
        self.quarantine = Some(violation);
        // What the device did is the error to tell of, not that it cannot be told to stop.
        let _ = self.write(&QUEUE_CONTROL, 0);
        violation.into()
    }

    /// Takes completions up to `budget` deliveries.
    fn take(
        &mut self,
        budget: usize,
        give: &mut impl FnMut(Delivery),
    ) -> Result<usize, QueueError> {
        let mut given = 0;
        while given < budget {
            let Some(completion) = self.completion()? else { break };
            let outcome = match self.ledger.take(&completion) {
                Ok(outcome) => outcome,
                Err(what) => return Err(self.quarantine(what)),
            };
            self.consumer = self.consumer.wrapping_add(1);
            self.stats.completions += 1;
            self.with_device -= 1;
            match outcome {
                Outcome::More => {}
                Outcome::Returned(id) => self.spare.push(id),
                Outcome::Delivery(parts) => {
                    let error = parts.error;
                    let delivery = Delivery::new(Arc::clone(&self.shared), parts);
                    if error {
                        self.stats.errors += 1;
                        continue;
                    }
                    self.stats.deliveries += 1;
                    given += 1;
                    give(delivery);
                }
            }
        }
        Ok(given)
    }

    /// Switches it off, takes what still comes, and reclaims what the device had.
    fn stop(&mut self, give: &mut impl FnMut(Delivery)) -> Result<(), QueueError> {
        if !self.running {
            return Ok(());
        }
        self.write(&QUEUE_CONTROL, 0)?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        let mut result = Ok(());
        loop {
            let running = self.read(&QUEUE_STATUS)? & QUEUE_STATUS.field("running").mask() != 0;
            if self.quarantine.is_none() && result.is_ok() {
                result = self.take(usize::MAX, give).map(|_| ());
            }
            if !running {
                break;
            }
            if Instant::now() > deadline {
                return Err(QueueError::DoesNotStop(self.shared.queue));
            }
            std::thread::yield_now();
        }
        self.running = false;
        self.spare.append(&mut self.ledger.reclaim());
        self.with_device = 0;
        self.shared.home.collect(&mut self.spare);
        result
    }
}

/// A queue that this thread owns.
#[derive(Debug)]
pub struct Receiver {
    queue: RxQueue,
    /// Neither `Send` nor `Sync`: the way home depends on it.
    _this_thread: PhantomData<*const ()>,
}

impl Receiver {
    /// Number of the queue.
    pub fn number(&self) -> usize {
        self.queue.number()
    }

    /// Brings buffers home, posts them, and gives at most `budget` deliveries. Returns how many.
    pub fn poll(
        &mut self,
        budget: usize,
        mut give: impl FnMut(Delivery),
    ) -> Result<usize, QueueError> {
        if let Some(violation) = self.queue.quarantine {
            return Err(violation.into());
        }
        if !self.queue.running {
            return Err(QueueError::Stopped(self.number()));
        }
        self.queue.refill()?;
        self.queue.take(budget, &mut give)
    }

    /// Sleeps until there is something to poll: a completion, or buffers that come home. `false`:
    /// not within `timeout`.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, QueueError> {
        self.queue.refill()?;
        if self.queue.completion()?.is_some() {
            return Ok(true);
        }
        // Fires at once if there is a completion by now: no wake-up is lost.
        self.queue.write(&COMPLETION_CONSUMER, self.queue.consumer.into())?;
        let queue = self.number();
        let device = |source| QueueError::Device { queue, source: Error::Io(source) };
        self.queue.interrupt.wait(timeout).map_err(device)
    }

    /// Stops the queue: it flushes what it holds, which is given, and all buffers that the device
    /// had are home. A device that lied stops without more deliveries.
    pub fn stop(&mut self, mut give: impl FnMut(Delivery)) -> Result<(), QueueError> {
        self.queue.stop(&mut give)
    }

    /// Starts a stopped queue again; a quarantine ends.
    pub fn start(&mut self) -> Result<(), QueueError> {
        if self.queue.running {
            return Ok(());
        }
        self.queue.start()
    }

    /// Gives the queue to no thread; it keeps running.
    pub fn detach(self) -> RxQueue {
        self.queue.shared.home.unbind();
        self.queue
    }

    /// Counters.
    pub fn stats(&self) -> QueueStats {
        QueueStats { returns: self.queue.shared.home.stats(), ..self.queue.stats }
    }

    /// Where the buffers are.
    pub fn census(&self) -> Census {
        let (with_device, spare) = (self.queue.with_device, self.queue.spare.len());
        let out = self.queue.settings.buffers - with_device - spare;
        Census { with_device, out, spare }
    }
}

impl Drop for RxQueue {
    fn drop(&mut self) {
        if self.running {
            // Nobody is left to be told.
            let _ = self.stop(&mut |_| {});
        }
        self.shared.home.unbind();
    }
}
