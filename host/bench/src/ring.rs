//! A device that is nothing but its rings: what the driver costs, without what a device costs.
//!
//!   deliver(frame) ──► free ring ──► header slot, buffers ──► completion ring
//!
//! Follows: spec rows of `nic`; `host/device/src/queue.rs` has the rules of where bytes lie.
//! Nothing merges, nothing is held, no time passes: each frame is a delivery of its own.
//! Not here: the model, drops other than for want of buffers, interrupts beyond one per delivery.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use groove_driver::device::check_access;
use groove_driver::identify::REGISTERS;
use groove_driver::{Device, DmaMemory, Error, Interrupt, Region, ring};
use groove_spec::nic::{
    self, BUFFER_SIZE, COMPLETION, COMPLETION_BASE_HIGH, COMPLETION_BASE_LOW, FREE_BASE_HIGH,
    FREE_BASE_LOW, FREE_PRODUCER, HEADER_BASE_HIGH, HEADER_BASE_LOW, HEADER_SLOT_BYTES,
    QUEUE_CONTROL, QUEUE_STATUS, QUEUE_STRIDE, QUEUES_BASE, RING_SIZES, WINDOW_BYTES,
};
use groove_spec::stages::device::{CAPABILITIES, SPEC_ID};
use groove_spec::{Field, QUEUES_MAX, Register};

/// Header bytes that every frame is said to have.
const HEADER_BYTES: usize = 54;

/// A completion in the making.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record([u64; ring::COMPLETION_WORDS]);

impl Record {
    /// With a field set; fields that cross words are none of those that are set here.
    pub fn with(self, name: &str, value: u64) -> Self {
        self.set(COMPLETION.field(name), value)
    }

    fn set(mut self, field: &Field, value: u64) -> Self {
        let (word, shift) = (field.lsb / 64, field.lsb % 64);
        let mask = u64::MAX >> (64 - field.width) << shift;
        self.0[word] = self.0[word] & !mask | value << shift & mask;
        self
    }

    /// The first record of a delivery of `total` bytes, of which `in_slot` lie in the header slot.
    pub fn first(total: usize, in_slot: usize, split: bool) -> Self {
        Self::default()
            .with("first", 1)
            .with("total_len", total as u64)
            .with("hdr_len", in_slot as u64)
            .with("split", (split && total > HEADER_SLOT_BYTES).into())
            .with("header_bytes", HEADER_BYTES.min(total) as u64)
            .with("alone_reason", 1)
    }
}

/// A running queue.
#[derive(Debug)]
struct Rx {
    memory: Arc<DmaMemory>,
    iova: u64,
    free: usize,
    completions: usize,
    headers: usize,
    entries: usize,
    buffer_bytes: usize,
    split: bool,
    fetched: u16,
    posted: u16,
    produced: u16,
    /// Fields that each completion has filled in.
    id_and_generation: [&'static Field; 2],
}

impl Rx {
    fn descriptor(&mut self) -> Option<(usize, u16)> {
        if self.fetched == self.posted {
            return None;
        }
        let at = self.free + 16 * (usize::from(self.fetched) & (self.entries - 1));
        self.fetched = self.fetched.wrapping_add(1);
        let words = self.memory.words(at, ring::DESCRIPTOR_WORDS).ok()?;
        let (iova, _, id) = ring::descriptor(words.first_chunk()?);
        Some((usize::try_from(iova.wrapping_sub(self.iova)).ok()?, id))
    }

    fn complete(&mut self, record: Record, id: u16) {
        let index = usize::from(self.produced);
        let [id_field, generation_field] = self.id_and_generation;
        let generation = index & self.entries == 0;
        let record = record.set(id_field, id.into()).set(generation_field, generation.into());
        let at = self.completions + 32 * (index & (self.entries - 1));
        if let Ok(words) = self.memory.words(at, ring::COMPLETION_WORDS)
            && let Some(slot) = words.first_chunk()
        {
            ring::publish(slot, record.0);
        }
        self.produced = self.produced.wrapping_add(1);
    }

    fn free_buffers(&self) -> usize {
        self.posted.wrapping_sub(self.fetched).into()
    }

    /// Writes a frame and its completions. `false`: not enough buffers.
    fn deliver(&mut self, frame: &[u8]) -> bool {
        let in_slot = match frame.len() {
            0..=HEADER_SLOT_BYTES => frame.len(),
            _ if self.split => HEADER_BYTES,
            _ => 0,
        };
        let (header, rest) = frame.split_at(in_slot);
        let buffers = rest.len().div_ceil(self.buffer_bytes).max(1);
        if self.free_buffers() < buffers {
            return false;
        }
        let mut chunks = rest.chunks(self.buffer_bytes);
        for i in 0..buffers {
            let Some((at, id)) = self.descriptor() else { return false };
            let chunk = chunks.next().unwrap_or_default();
            let written = self.memory.write(at, chunk);
            let mut record = Record::default();
            if i == 0 {
                let slot = self.headers + HEADER_SLOT_BYTES * usize::from(id);
                let header = self.memory.write(slot, header);
                record = Record::first(frame.len(), in_slot, self.split)
                    .with("error", (header.is_err() || written.is_err()).into());
            }
            let record =
                record.with("length", chunk.len() as u64).with("last", (i + 1 == buffers).into());
            self.complete(record, id);
        }
        true
    }
}

/// The device.
#[derive(Debug, Default)]
pub struct RingDevice {
    registers: Mutex<BTreeMap<u64, u32>>,
    mappings: Mutex<BTreeMap<u64, Arc<DmaMemory>>>,
    interrupts: Mutex<Vec<Arc<Interrupt>>>,
    queues: Mutex<BTreeMap<usize, Rx>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RingDevice {
    fn register(&self, queue: usize, register: &Register) -> u32 {
        let offset = nic::queue_offset(queue, register) as u64;
        lock(&self.registers).get(&offset).copied().unwrap_or(0)
    }

    fn start(&self, queue: usize) -> Option<Rx> {
        let address = |low, high| {
            u64::from(self.register(queue, high)) << 32 | u64::from(self.register(queue, low))
        };
        let free = address(&FREE_BASE_LOW, &FREE_BASE_HIGH);
        let mappings = lock(&self.mappings);
        let (iova, memory) = mappings.range(..=free).next_back()?;
        let offset = |low, high| (address(low, high) - iova) as usize;
        let log2 = self.register(queue, &RING_SIZES) >> RING_SIZES.field("free_log2").lsb & 0xf;
        let split = QUEUE_CONTROL.field("split").mask();
        Some(Rx {
            memory: Arc::clone(memory),
            iova: *iova,
            free: offset(&FREE_BASE_LOW, &FREE_BASE_HIGH),
            completions: offset(&COMPLETION_BASE_LOW, &COMPLETION_BASE_HIGH),
            headers: offset(&HEADER_BASE_LOW, &HEADER_BASE_HIGH),
            entries: 1 << log2,
            buffer_bytes: self.register(queue, &BUFFER_SIZE) as usize,
            split: self.register(queue, &QUEUE_CONTROL) & split != 0,
            fetched: 0,
            posted: 0,
            produced: 0,
            id_and_generation: ["buf_id", "generation"].map(|name| COMPLETION.field(name)),
        })
    }

    /// A frame comes on a queue. `false`: the queue does not run, or has not enough buffers.
    pub fn deliver(&self, queue: usize, frame: &[u8]) -> bool {
        let delivered = lock(&self.queues).get_mut(&queue).is_some_and(|rx| rx.deliver(frame));
        if delivered && let Some(interrupt) = lock(&self.interrupts).get(queue) {
            // Who waits finds the completion at its timeout, if it cannot be woken.
            let _ = interrupt.signal();
        }
        delivered
    }

    /// At most `count` deliveries of `total` bytes, of which no byte is written. Returns how many.
    pub fn produce(&self, queue: usize, total: usize, count: usize) -> usize {
        let mut queues = lock(&self.queues);
        let Some(rx) = queues.get_mut(&queue) else { return 0 };
        let in_slot = if total <= HEADER_SLOT_BYTES { total } else { HEADER_BYTES };
        let record = Record::first(total, in_slot, true)
            .with("last", 1)
            .with("length", (total - in_slot) as u64);
        (0..count).map_while(|_| rx.descriptor().map(|(_, id)| rx.complete(record, id))).count()
    }

    /// Any record, for the next buffer, whose number is returned if there is one.
    pub fn complete(&self, queue: usize, record: Record) -> Option<u16> {
        let mut queues = lock(&self.queues);
        let rx = queues.get_mut(&queue)?;
        let (_, id) = rx.descriptor()?;
        rx.complete(record, id);
        Some(id)
    }

    /// Completions written since the queue was enabled, modulo 65,536.
    pub fn produced(&self, queue: usize) -> u16 {
        lock(&self.queues).get(&queue).map_or(0, |rx| rx.produced)
    }

    /// Changes a completion behind its back.
    pub fn tamper(
        &self,
        queue: usize,
        index: u16,
        change: impl FnOnce(&mut [u64; ring::COMPLETION_WORDS]),
    ) {
        let queues = lock(&self.queues);
        let Some(rx) = queues.get(&queue) else { return };
        let at = rx.completions + 32 * (usize::from(index) & (rx.entries - 1));
        if let Ok(words) = rx.memory.words(at, ring::COMPLETION_WORDS)
            && let Some(slot) = words.first_chunk()
        {
            let mut record = slot.each_ref().map(|word| u64::from_le(word.load(Ordering::Relaxed)));
            change(&mut record);
            ring::publish(slot, record);
        }
    }
}

impl Device for RingDevice {
    fn region_bytes(&self, region: Region) -> u64 {
        if region == REGISTERS { WINDOW_BYTES as u64 } else { 0 }
    }

    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        check_access(region, offset, self.region_bytes(region))?;
        if offset == SPEC_ID.offset as u64 {
            return Ok(groove_spec::SPEC_ID);
        }
        if offset == CAPABILITIES.offset as u64 {
            let place = |name, value: u32| value << CAPABILITIES.field(name).lsb;
            let sizes = place("buckets", 8) | place("depth", 8) | place("width_bytes", 64);
            return Ok(sizes | place("queues", QUEUES_MAX as u32));
        }
        let queues = lock(&self.queues);
        let running = queues.keys().any(|q| nic::queue_offset(*q, &QUEUE_STATUS) as u64 == offset);
        if running {
            return Ok(QUEUE_STATUS.field("running").mask());
        }
        Ok(lock(&self.registers).get(&offset).copied().unwrap_or(0))
    }

    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        check_access(region, offset, self.region_bytes(region))?;
        lock(&self.registers).insert(offset, value);
        let Some(at) = (offset as usize).checked_sub(QUEUES_BASE) else { return Ok(()) };
        let (queue, at) = (at / QUEUE_STRIDE, at % QUEUE_STRIDE);
        if at == FREE_PRODUCER.offset {
            if let Some(rx) = lock(&self.queues).get_mut(&queue) {
                rx.posted = value as u16;
            }
        } else if at == QUEUE_CONTROL.offset {
            let enable = value & QUEUE_CONTROL.field("enable").mask() != 0;
            let rx = self.start(queue).filter(|_| enable);
            let mut queues = lock(&self.queues);
            match rx {
                Some(rx) => queues.insert(queue, rx),
                None => queues.remove(&queue),
            };
        }
        Ok(())
    }

    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        lock(&self.mappings).insert(iova, memory);
        Ok(())
    }

    fn dma_unmap(&self, iova: u64, _bytes: u64) -> Result<(), Error> {
        lock(&self.mappings).remove(&iova);
        Ok(())
    }

    fn vectors(&self) -> usize {
        QUEUES_MAX
    }

    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        *lock(&self.interrupts) = interrupts.to_vec();
        Ok(())
    }

    fn reset(&self) -> Result<(), Error> {
        lock(&self.queues).clear();
        lock(&self.mappings).clear();
        lock(&self.registers).clear();
        lock(&self.interrupts).clear();
        Ok(())
    }
}
