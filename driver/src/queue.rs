//! A receive queue: posts free buffers, takes completions, gives deliveries.
//!
//!   home ──► free ring ──► device ──► completion ring ──► ledger ──► Delivery ──► home
//!
//! Follows: spec rows of `nic`; architecture "Rings".
//!
//! [`RxQueue`] can be sent to the thread that shall own it; [`Receiver`] cannot leave that thread,
//! so that a buffer dropped there goes home without a locked instruction.
//! Invariants, held by the conformance suite: a queue whose device lied is quarantined: it is
//! switched off, and every poll from there on is the same error
//! (`a_lie_quarantines_the_queue`); every buffer is with the device, out, or spare
//! (`buffers_are_conserved`).

mod receiver;
mod types;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use groove_spec::nic::{
    self, BUFFER_SIZE, COMPLETION_BASE_HIGH, COMPLETION_BASE_LOW, COMPLETION_BYTES,
    DESCRIPTOR_BYTES, FREE_BASE_HIGH, FREE_BASE_LOW, FREE_PRODUCER, HEADER_BASE_HIGH,
    HEADER_BASE_LOW, HOLD, MODERATION, QUEUE_CONTROL, QUEUE_STATUS, RING_SIZES,
};
use groove_spec::{Register, RegisterField};

use crate::DmaMemory;
use crate::Interrupt;
use crate::area::Area;
use crate::completion::Words;
use crate::delivery::{Buffer, Delivery, Shared};
use crate::dma::OutOfBounds;
use crate::dma::lease::Owner;
use crate::identify::REGISTERS;
use crate::ledger::{Assembled, Ledger, Rest, Taken, Violation};
use crate::metadata::Lie;
use crate::nic::{Core, FreeOrder, Settings};
use crate::ring::{self, COMPLETION_WORDS, DESCRIPTOR_WORDS};
use crate::sync::AtomicU64;

pub use receiver::{Napi, POLLS_PER_ALARM_CHECK, Receiver, Turn, wait_any};
pub use types::{Census, QueueError, QueueStats};

/// How long a queue may take to stop.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// A queue that no thread owns.
#[derive(Debug)]
pub struct RxQueue {
    core: Arc<Core>,
    owner: Owner<Shared>,
    /// Those of `owner`, to be had while it brings buffers home.
    memory: Arc<DmaMemory>,
    area: Area,
    interrupt: Arc<Interrupt>,
    settings: Settings,
    ledger: Ledger<Buffer>,
    spare: VecDeque<Buffer>,
    producer: u16,
    consumer: u16,
    running: bool,
    quarantine: Option<Violation>,
    stats: QueueStats,
}

fn place(field: &RegisterField, value: u32) -> u32 {
    value << field.lsb & field.mask()
}

type Records<'a, const WORDS: usize> = Result<&'a [[AtomicU64; WORDS]], OutOfBounds>;

/// The completion ring, record by record.
fn completions<'a>(memory: &'a DmaMemory, area: &Area) -> Records<'a, COMPLETION_WORDS> {
    Ok(memory.words(area.completions, area.entries * COMPLETION_WORDS)?.as_chunks().0)
}

/// The free ring, record by record.
fn descriptors<'a>(memory: &'a DmaMemory, area: &Area) -> Records<'a, DESCRIPTOR_WORDS> {
    Ok(memory.words(area.free, area.entries * DESCRIPTOR_WORDS)?.as_chunks().0)
}

/// Buffers on their way to the device.
struct Posting<'a> {
    slots: &'a [[AtomicU64; DESCRIPTOR_WORDS]],
    ledger: &'a mut Ledger<Buffer>,
    /// IOVA of buffer 0.
    base: u64,
    buffer_bytes: u32,
    producer: u16,
    /// How many more may be posted.
    room: usize,
}

impl Posting<'_> {
    /// Gives the buffer back if there is no room.
    // No panic while there is a buffer in hand: it would have to lie in memory for that.
    #[inline(always)]
    fn post(&mut self, buffer: Buffer) -> Option<Buffer> {
        let id = buffer.id();
        let index = usize::from(self.producer) & (self.slots.len() - 1);
        let Some(slot) = self.slots.get(index).filter(|_| self.room > 0) else {
            return Some(buffer);
        };
        let back = self.ledger.give(id, buffer);
        if back.is_none() {
            let iova = self.base + u64::from(id) * u64::from(self.buffer_bytes);
            ring::post(slot, iova, self.buffer_bytes, id);
            self.producer = self.producer.wrapping_add(1);
            self.room -= 1;
        }
        back
    }

    /// As many as there are and as there is room for.
    fn post_all(&mut self, mut next: impl FnMut() -> Option<Buffer>) {
        while self.room > 0
            && let Some(buffer) = next()
        {
            // There is room.
            drop(self.post(buffer));
        }
    }
}

const _: () = assert!(8 * COMPLETION_WORDS == COMPLETION_BYTES);
const _: () = assert!(8 * DESCRIPTOR_WORDS == DESCRIPTOR_BYTES);

impl RxQueue {
    /// A queue that does not run yet, all its buffers spare.
    pub(crate) fn new(
        core: Arc<Core>,
        owner: Owner<Shared>,
        buffers: Vec<Buffer>,
        interrupt: Arc<Interrupt>,
        settings: &Settings,
    ) -> Self {
        Self {
            core,
            memory: Arc::clone(&owner.memory),
            area: owner.area,
            owner,
            interrupt,
            ledger: Ledger::new(settings.buffers, settings.buffer_bytes, settings.split),
            spare: buffers.into(),
            settings: settings.clone(),
            producer: 0,
            consumer: 0,
            running: false,
            quarantine: None,
            stats: QueueStats::default(),
        }
    }

    /// Its number.
    pub fn number(&self) -> usize {
        self.owner.queue
    }

    /// Bytes of the pages that its memory lies on: huge ones if the machine had some.
    pub fn page_bytes(&self) -> usize {
        self.memory.page_bytes()
    }

    /// Bytes of its memory, which is mapped for the device as one range.
    pub fn memory_bytes(&self) -> usize {
        self.owner.memory.bytes()
    }

    /// This thread takes it over, and starts it if it does not run.
    pub fn attach(self) -> Result<Receiver, QueueError> {
        Receiver::new(self)
    }

    fn write(&self, register: &Register, value: u32) -> Result<(), QueueError> {
        let queue = self.number();
        let offset = nic::queue_offset(queue, register) as u64;
        let written = self.core.device.write32(REGISTERS, offset, value);
        written.map_err(|source| QueueError::Device { queue, source })
    }

    fn read(&self, register: &Register) -> Result<u32, QueueError> {
        let queue = self.number();
        let offset = nic::queue_offset(queue, register) as u64;
        let value = self.core.device.read32(REGISTERS, offset);
        value.map_err(|source| QueueError::Device { queue, source })
    }

    fn start(&mut self) -> Result<(), QueueError> {
        let area = self.area;
        // A zeroed record is of generation 0, and the first pass has generation 1.
        completions(&self.memory, &area)?
            .iter()
            .for_each(|slot| ring::publish(slot, [0; COMPLETION_WORDS]));
        (self.producer, self.consumer, self.quarantine) = (0, 0, None);
        let base = self.core.iova(self.number());
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
        ring::before_doorbell();
        self.write(&QUEUE_CONTROL, control)?;
        self.running = true;
        self.refill()
    }

    /// Brings home what was dropped, and posts what is spare, in the order of the settings.
    fn refill(&mut self) -> Result<(), QueueError> {
        let room = match self.running {
            true => self.settings.posted_max.saturating_sub(self.with_device()),
            false => 0,
        };
        let mut posting = Posting {
            slots: descriptors(&self.memory, &self.area)?,
            base: self.core.iova(self.owner.queue) + self.area.buffers as u64,
            ledger: &mut self.ledger,
            buffer_bytes: self.area.buffer_bytes as u32,
            producer: self.producer,
            room,
        };
        let spare = &mut self.spare;
        if self.settings.order == FreeOrder::Fifo {
            posting.post_all(|| spare.pop_front());
            // Straight on, if there is room: then nothing is spare that came before.
            self.owner.collect_home(|buffer| {
                if let Some(buffer) = posting.post(buffer) {
                    spare.push_back(buffer);
                }
            });
            self.owner.collect_away(spare);
            posting.post_all(|| spare.pop_front());
        } else {
            self.owner.collect(spare);
            posting.post_all(|| spare.pop_back());
        }
        let count = room - posting.room;
        if count == 0 {
            return Ok(());
        }
        self.producer = posting.producer;
        self.stats.posted += count as u64;
        ring::before_doorbell();
        self.write(&FREE_PRODUCER, self.producer.into())
    }

    /// Buffers posted and not completed: at most the ring's entries, fewer than an index counts to.
    fn with_device(&self) -> usize {
        self.producer.wrapping_sub(self.consumer).into()
    }

    /// Whether the device has written the next completion.
    fn has_completion(&self) -> Result<bool, QueueError> {
        let slots = completions(&self.memory, &self.area)?;
        let slot = &slots[usize::from(self.consumer) & (slots.len() - 1)];
        Ok(ring::take(slot, self.area.generation(self.consumer)).is_some())
    }

    /// The device's word on the queue; all ones are none, and nobody is there to give it.
    fn status(&self) -> Result<u32, QueueError> {
        match self.read(&QUEUE_STATUS)? {
            u32::MAX => {
                Err(QueueError::Device { queue: self.number(), source: crate::Error::Gone })
            }
            status => Ok(status),
        }
    }

    /// Whether a DMA error stopped it.
    fn check_fault(&self) -> Result<(), QueueError> {
        let status = self.status()?;
        if status & QUEUE_STATUS.field("fault").mask() != 0 {
            return Err(QueueError::Fault(self.number()));
        }
        Ok(())
    }

    fn quarantine(&mut self, what: Lie) -> QueueError {
        let violation = Violation { queue: self.number(), index: self.consumer, what };
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
        let Self { memory, area, ledger, spare, .. } = self;
        let slots = completions(memory, area)?;
        let start = self.consumer;
        let generation = area.generation(start);
        let (behind, ahead) = slots.split_at(usize::from(start) & (slots.len() - 1));
        let (mut given, mut errors, mut lied) = (0, 0, None);
        // Once round the ring, for it has no more.
        'ring: for (slots, generation) in [(ahead, generation), (behind, !generation)] {
            for slot in slots {
                if given >= budget {
                    break 'ring;
                }
                let Some(words) = ring::take(slot, generation) else { break 'ring };
                let head = Words(words);
                let taken = match ledger.take(head) {
                    Ok(taken) => taken,
                    Err(what) => {
                        lied = Some(what);
                        break 'ring;
                    }
                };
                // In front of the application, which may panic.
                self.consumer = self.consumer.wrapping_add(1);
                match taken {
                    // Each is built where the application gets it: a copy would cost a tenth.
                    Taken::Whole(first) if head.error() == 0 => {
                        given += 1;
                        give(Delivery::new(Assembled { head, first, rest: Rest::NONE }));
                    }
                    Taken::Last(parts) if parts.head.error() == 0 => {
                        given += 1;
                        give(Delivery::new(*parts));
                    }
                    Taken::Whole(_) | Taken::Last(_) => errors += 1,
                    Taken::Part => {}
                    Taken::Returned(buffer) => spare.push_back(buffer),
                }
            }
        }
        self.stats.completions += u64::from(self.consumer.wrapping_sub(start));
        self.stats.errors += errors;
        self.stats.deliveries += given as u64;
        match lied {
            Some(what) => Err(self.quarantine(*what)),
            None => Ok(given),
        }
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
            let status = self.status()?;
            let running = status & QUEUE_STATUS.field("running").mask() != 0;
            if self.quarantine.is_none() && result.is_ok() {
                result = self.take(usize::MAX, give).map(|_| ());
            }
            if !running {
                break;
            }
            if Instant::now() > deadline {
                return Err(QueueError::DoesNotStop(self.number()));
            }
            std::thread::yield_now();
        }
        self.running = false;
        self.ledger.reclaim(|buffer| self.spare.push_back(buffer));
        self.consumer = self.producer;
        self.owner.collect(&mut self.spare);
        result
    }
}

impl Drop for RxQueue {
    fn drop(&mut self) {
        if self.running {
            // Nobody is left to be told.
            let _ = self.stop(&mut |_| {});
        }
        self.owner.unbind();
    }
}
