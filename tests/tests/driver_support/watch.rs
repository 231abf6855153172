//! Devices around a device: one that watches the memory, one that lies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use groove_driver::{Device, DmaMemory, Error, Interrupt, Region};
use groove_spec::nic::{
    self, BUFFER_SIZE, COMPLETION, COMPLETION_BASE_HIGH, COMPLETION_BASE_LOW, COMPLETION_BYTES,
    DESCRIPTOR_BYTES, FREE_BASE_HIGH, FREE_BASE_LOW, HEADER_BASE_HIGH, HEADER_BASE_LOW,
    HEADER_SLOT_BYTES, RING_SIZES,
};
use groove_spec::{Field, Register};
use groove_tests::generate::random::Rng;

/// What memory is filled with before the driver gets at it.
pub const GUARD: u8 = 0xa5;

/// Passes everything on, and keeps what was mapped and written.
pub struct Watched {
    inner: Arc<dyn Device>,
    written: Mutex<BTreeMap<u64, u32>>,
    mapped: Mutex<BTreeMap<u64, Arc<DmaMemory>>>,
}

impl Watched {
    /// Around a device.
    pub fn new(inner: Arc<dyn Device>) -> Arc<Self> {
        Arc::new(Self { inner, written: Mutex::default(), mapped: Mutex::default() })
    }

    fn register(&self, queue: usize, register: &Register) -> u64 {
        let offset = nic::queue_offset(queue, register) as u64;
        self.written.lock().unwrap().get(&offset).copied().unwrap_or(0).into()
    }

    fn address(&self, queue: usize, low: &Register, high: &Register) -> u64 {
        self.register(queue, high) << 32 | self.register(queue, low)
    }

    /// The memory that holds an address, and where in it.
    pub fn at(&self, iova: u64) -> (Arc<DmaMemory>, usize) {
        let mapped = self.mapped.lock().unwrap();
        let (start, memory) = mapped.range(..=iova).next_back().expect("a mapping");
        (Arc::clone(memory), (iova - start) as usize)
    }

    fn entries(&self, queue: usize, name: &str) -> usize {
        let field = RING_SIZES.field(name);
        1 << (self.register(queue, &RING_SIZES) >> field.lsb & 0xf)
    }

    /// Where a completion lies.
    pub fn completion(&self, queue: usize, index: u16) -> u64 {
        let slot = usize::from(index) % self.entries(queue, "completion_log2");
        let base = self.address(queue, &COMPLETION_BASE_LOW, &COMPLETION_BASE_HIGH);
        base + (slot * COMPLETION_BYTES) as u64
    }

    /// Every byte of a queue's memory that is in no ring, no header slot and no buffer that was
    /// ever posted is as it was.
    #[track_caller]
    pub fn check_guards(&self, queue: usize, pool: usize) {
        let free = self.address(queue, &FREE_BASE_LOW, &FREE_BASE_HIGH);
        let (memory, free) = self.at(free);
        let mut all = vec![0; memory.bytes()];
        memory.read(0, &mut all).unwrap();
        let mut allowed = vec![(free, self.entries(queue, "free_log2") * DESCRIPTOR_BYTES)];
        let mut add = |iova: u64, bytes: usize| allowed.push((self.at(iova).1, bytes));
        let headers = self.address(queue, &HEADER_BASE_LOW, &HEADER_BASE_HIGH);
        add(headers, pool * HEADER_SLOT_BYTES);
        let completions = self.entries(queue, "completion_log2") * COMPLETION_BYTES;
        add(self.completion(queue, 0), completions);
        for i in 0..self.entries(queue, "free_log2") {
            let descriptor = &all[free + i * DESCRIPTOR_BYTES..][..DESCRIPTOR_BYTES];
            if descriptor.iter().any(|byte| *byte != GUARD) {
                let iova = u64::from_le_bytes(descriptor[..8].try_into().unwrap());
                add(iova, self.register(queue, &BUFFER_SIZE) as usize);
            }
        }
        for (start, bytes) in allowed {
            all[start..start + bytes].fill(GUARD);
        }
        let touched = all.iter().position(|byte| *byte != GUARD);
        assert_eq!(touched, None, "queue {queue}: a byte that nobody may write was written");
    }

    /// Overwrites one field of a completion with a random value; returns its name.
    pub fn lie(&self, rng: &mut Rng, queue: usize, index: u16) -> &'static str {
        let field = &COMPLETION.fields[rng.below(COMPLETION.fields.len())];
        let (memory, offset) = self.at(self.completion(queue, index));
        let mut record = [0; COMPLETION_BYTES];
        memory.read(offset, &mut record).unwrap();
        // Near values are the ones that checks are wrong about.
        let old = read(&record, field);
        let value = match rng.below(4) {
            0 => old ^ 1 << rng.below(field.width),
            1 => old.wrapping_add(1),
            2 => old.wrapping_sub(1),
            _ => u64::from_le_bytes(rng.bytes()),
        };
        write(&mut record, field, value);
        memory.write(offset, &record).unwrap();
        field.name
    }
}

fn read(record: &[u8; COMPLETION_BYTES], field: &Field) -> u64 {
    (0..field.width).fold(0, |value, i| {
        let bit = field.lsb + i;
        value | u64::from(record[bit / 8] >> (bit % 8) & 1) << i
    })
}

fn write(record: &mut [u8; COMPLETION_BYTES], field: &Field, value: u64) {
    for i in 0..field.width {
        let bit = field.lsb + i;
        record[bit / 8] &= !(1 << (bit % 8));
        record[bit / 8] |= ((value >> i & 1) as u8) << (bit % 8);
    }
}

impl Device for Watched {
    fn region_bytes(&self, region: Region) -> u64 {
        self.inner.region_bytes(region)
    }

    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        self.inner.read32(region, offset)
    }

    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        self.written.lock().unwrap().insert(offset, value);
        self.inner.write32(region, offset, value)
    }

    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        memory.write(0, &vec![GUARD; memory.bytes()]).unwrap();
        self.mapped.lock().unwrap().insert(iova, Arc::clone(&memory));
        self.inner.dma_map(iova, memory)
    }

    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        self.inner.dma_unmap(iova, bytes)
    }

    fn vectors(&self) -> usize {
        self.inner.vectors()
    }

    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        self.inner.set_interrupts(interrupts)
    }

    fn reset(&self) -> Result<(), Error> {
        self.inner.reset()
    }
}
