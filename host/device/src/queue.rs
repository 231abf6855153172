//! One queue: its rings, its prefetched buffers, the buffers of its held sessions.
//!
//!   free ring ──► prefetched ──► chain of a session ──► completions
//!
//! Follows: architecture "Rings", "Admission", "Completions"; spec rows of `nic`. Where the bytes
//! of a delivery lie is `place`'s to say, what a completion tells is `complete`'s.
//!
//! Invariants: a frame's worst case is covered before it is taken (`covers_the_worst_case`); a DMA
//! error stops the queue (`a_dma_error_stops_the_queue`).
//! Not here: interrupts.

use std::collections::{BTreeMap, VecDeque};

use groove_spec::nic::{
    BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, BUFFER_SIZE, COMPLETION_BASE_HIGH, COMPLETION_BASE_LOW,
    DESCRIPTOR_BYTES, FREE_BASE_HIGH, FREE_BASE_LOW, HEADER_BASE_HIGH, HEADER_BASE_LOW,
    HEADER_SLOT_BYTES, QUEUE_CONTROL, RING_LOG2_MAX, RING_LOG2_MIN, RING_SIZES,
};
use groove_spec::{Delivery, nic};

use crate::complete::{self, Piece};
use crate::memory::{Refused, Translation};
use crate::place::{self, Parts};
use crate::registers::{Registers, field};

/// A free buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its number in the driver's pool.
    pub id: u16,
    /// Where it starts.
    pub iova: u64,
}

/// A ring in host memory.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    base: u64,
    log2: u32,
}

impl Ring {
    fn slot(&self, index: u16, bytes: usize) -> u64 {
        let slot = u64::from(index) & ((1 << self.log2) - 1);
        self.base.wrapping_add(slot * bytes as u64)
    }
}

/// State of a queue; addresses and sizes are those of the last enable.
#[derive(Debug, Default)]
pub struct Queue {
    /// Enabled and not yet stopped.
    pub running: bool,
    /// Stopped by a DMA error.
    pub fault: bool,
    /// Descriptors fetched since enable.
    pub fetched: u16,
    /// Completions written since enable.
    pub completed: u16,
    /// Frames dropped for want of buffers.
    pub no_buffer: u32,
    /// DMA errors.
    pub dma_errors: u32,
    /// Failed, with sessions in the model that nothing waits for any more.
    pub abandoned: bool,
    split: bool,
    posted: u16,
    free: Ring,
    completion: Ring,
    headers: u64,
    buffer_bytes: usize,
    prefetched: VecDeque<Buffer>,
    /// Buffers of the held sessions, by the first frame of each.
    chains: BTreeMap<u32, Vec<Buffer>>,
}

impl Queue {
    /// Takes addresses and sizes, and runs. Sizes outside their bounds act as the nearest bound.
    pub fn start(&mut self, registers: &Registers, queue: usize) {
        let sizes = registers.of_queue(queue, &RING_SIZES);
        let log2 = |name| {
            field(&RING_SIZES, name, sizes).clamp(RING_LOG2_MIN as u32, RING_LOG2_MAX as u32)
        };
        let bytes = registers.of_queue(queue, &BUFFER_SIZE) as usize;
        let control = registers.of_queue(queue, &QUEUE_CONTROL);
        let address = |low, high| registers.address(queue, low, high);
        *self = Self {
            running: true,
            no_buffer: self.no_buffer,
            dma_errors: self.dma_errors,
            split: field(&QUEUE_CONTROL, "split", control) == 1,
            free: Ring { base: address(&FREE_BASE_LOW, &FREE_BASE_HIGH), log2: log2("free_log2") },
            completion: Ring {
                base: address(&COMPLETION_BASE_LOW, &COMPLETION_BASE_HIGH),
                log2: log2("completion_log2"),
            },
            headers: address(&HEADER_BASE_LOW, &HEADER_BASE_HIGH),
            buffer_bytes: bytes.clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX)
                & !(nic::BUFFER_ALIGN_BYTES - 1),
            ..Self::default()
        };
    }

    /// Stops without another access.
    pub fn fail(&mut self) {
        self.dma_errors = self.dma_errors.wrapping_add(1);
        self.running = false;
        self.fault = true;
        self.abandoned = true;
        self.prefetched.clear();
        self.chains.clear();
    }

    /// Stops: returns the prefetched buffers. Sessions were flushed before.
    pub fn stop(&mut self, memory: &Translation) {
        while self.running
            && let Some(buffer) = self.prefetched.pop_front()
        {
            if self.write_completion(memory, &complete::returned(buffer.id)).is_err() {
                self.fail();
            }
        }
        self.running = false;
    }

    /// Takes the doorbell. An index that the ring cannot hold is not one.
    pub fn post(&mut self, producer: u16) {
        if u32::from(producer.wrapping_sub(self.fetched)) <= 1 << self.free.log2 {
            self.posted = producer;
        }
    }

    /// Prefetches up to `depth` buffers.
    pub fn prefetch(&mut self, memory: &Translation, depth: usize) {
        while self.running && self.fetched != self.posted && self.prefetched.len() < depth {
            let mut bytes = [0; DESCRIPTOR_BYTES];
            if memory.read(self.free.slot(self.fetched, DESCRIPTOR_BYTES), &mut bytes).is_err() {
                return self.fail();
            }
            let [a, b, c, d, e, f, g, h, _, _, _, _, low, high, ..] = bytes;
            self.prefetched.push_back(Buffer {
                id: u16::from_le_bytes([low, high]),
                iova: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            });
            self.fetched = self.fetched.wrapping_add(1);
        }
    }

    /// Whether there are buffers for the worst case of a frame of `bytes`.
    pub fn covers(&self, bytes: usize) -> bool {
        self.running && self.prefetched.len() > bytes.div_ceil(self.buffer_bytes)
    }

    /// Gives the session that `frame` opened as many buffers as it fills by now.
    pub fn place(&mut self, frame: u32, total: usize, hdr_len: usize) {
        let wanted = place::buffers(self.split, total, hdr_len, self.buffer_bytes);
        let chain = self.chains.entry(frame).or_default();
        while chain.len() < wanted
            && let Some(buffer) = self.prefetched.pop_front()
        {
            chain.push(buffer);
        }
    }

    /// Writes a delivery and its completions.
    pub fn deliver(&mut self, memory: &Translation, delivery: &Delivery) {
        let first = delivery.frames.first().copied().unwrap_or_default();
        let Some(chain) = self.chains.remove(&first).filter(|_| self.running) else { return };
        let slot = self.headers.wrapping_add(u64::from(chain[0].id) * HEADER_SLOT_BYTES as u64);
        let total = delivery.bytes.len();
        let Parts { in_slot, split } = place::parts(self.split, total, delivery.hdr_len.into());
        let (header, rest) = delivery.bytes.split_at(in_slot);
        let mut refused = !header.is_empty() && memory.write(slot, header).is_err();
        let mut chunks = rest.chunks(self.buffer_bytes);
        let mut pieces = Vec::with_capacity(chain.len());
        for buffer in &chain {
            let bytes = chunks.next().unwrap_or_default();
            refused |= !bytes.is_empty() && memory.write(buffer.iova, bytes).is_err();
            pieces.push(Piece { id: buffer.id, length: bytes.len() });
        }
        for record in complete::records(delivery, &pieces, in_slot, split, refused) {
            refused |= self.write_completion(memory, &record).is_err();
        }
        if refused {
            self.fail();
        }
    }

    fn write_completion(
        &mut self,
        memory: &Translation,
        record: &complete::Record,
    ) -> Result<(), Refused> {
        let generation = self.completed >> self.completion.log2 & 1 == 0;
        let at = self.completion.slot(self.completed, nic::COMPLETION_BYTES);
        memory.publish(at, &record.bytes(generation))?;
        self.completed = self.completed.wrapping_add(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_driver::DmaMemory;
    use std::sync::Arc;

    /// Free ring at 0x1000, completions at 0x2000, headers at 0x3000, buffers from 0x10000.
    fn bench(buffers: u16) -> (Queue, Translation, Arc<DmaMemory>) {
        let memory = Arc::new(DmaMemory::new(0x4_0000).unwrap());
        let mut translation = Translation::default();
        translation.map(0, Arc::clone(&memory)).unwrap();
        let mut registers = Registers::new(1);
        let values = [
            (&QUEUE_CONTROL, 3),
            (&FREE_BASE_LOW, 0x1000),
            (&COMPLETION_BASE_LOW, 0x2000),
            (&HEADER_BASE_LOW, 0x3000),
            (&RING_SIZES, 0x404),
        ];
        for (register, value) in values {
            assert!(registers.write(nic::queue_offset(0, register), value));
        }
        for id in 0..buffers {
            let at = 0x1000 + usize::from(id) * DESCRIPTOR_BYTES;
            let iova = 0x1_0000 + u64::from(id) * 2048;
            memory.write(at, &iova.to_le_bytes()).unwrap();
            memory.write(at + 12, &id.to_le_bytes()).unwrap();
        }
        let mut queue = Queue::default();
        queue.start(&registers, 0);
        queue.post(buffers);
        (queue, translation, memory)
    }

    #[test]
    fn covers_the_worst_case() {
        let (mut queue, memory, _) = bench(3);
        assert!(!queue.covers(14), "nothing is prefetched");
        queue.prefetch(&memory, 2);
        assert!(queue.covers(2048));
        assert!(!queue.covers(2049));
        queue.prefetch(&memory, 8);
        assert!(queue.covers(4096));
        assert!(!queue.covers(4097));
    }

    #[test]
    fn a_doorbell_beyond_the_ring_is_none() {
        let (mut queue, memory, _) = bench(3);
        queue.post(17);
        queue.prefetch(&memory, 64);
        assert_eq!(queue.fetched, 3);
    }

    #[test]
    fn a_buffer_is_taken_when_there_is_a_byte_for_it() {
        let (mut queue, memory, _) = bench(8);
        queue.prefetch(&memory, 8);
        let mut taken = |total| {
            queue.place(0, total, 54);
            queue.chains[&0].len()
        };
        assert_eq!([taken(54), taken(54 + 2048), taken(54 + 2049), taken(54 + 4096)], [1, 1, 2, 2]);
        assert_eq!(queue.prefetched.len(), 6);
    }

    #[test]
    fn a_dma_error_stops_the_queue() {
        let (mut queue, mut memory, _) = bench(3);
        memory.unmap(0, 0x4_0000).unwrap();
        queue.prefetch(&memory, 8);
        assert_eq!((queue.running, queue.fault, queue.dma_errors), (false, true, 1));
        assert!(!queue.covers(14));
    }

    #[test]
    fn stopping_returns_what_was_prefetched() {
        let (mut queue, memory, host) = bench(3);
        queue.prefetch(&memory, 2);
        queue.stop(&memory);
        assert_eq!((queue.running, queue.fetched, queue.completed), (false, 2, 2));
        let mut records = [0; 96];
        host.read(0x2000, &mut records).unwrap();
        let flags: Vec<u8> = records.chunks(32).map(|r| r[31] >> 7).collect();
        assert_eq!((flags, &records[32..34]), (vec![1, 1, 0], &[1, 0][..]));
    }
}
