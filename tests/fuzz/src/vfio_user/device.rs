//! Watches what the server asks of its device: nothing that the trait rules out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use groove_driver::device::check_access;
use groove_driver::{Device, DmaMemory, Error, Interrupt, Region};

/// The device.
pub struct Watched {
    inner: Arc<dyn Device>,
    mapped: Mutex<BTreeMap<u64, u64>>,
    memories: Mutex<Vec<Weak<DmaMemory>>>,
    vectors: Mutex<Vec<Weak<Interrupt>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    /// In front of a device.
    pub fn new(inner: Arc<dyn Device>) -> Self {
        let (mapped, memories, vectors) = <(Mutex<_>, Mutex<_>, Mutex<_>)>::default();
        Self { inner, mapped, memories, vectors }
    }

    /// Nothing is mapped, and nobody holds what was.
    pub fn is_let_go(&self) {
        assert!(lock(&self.mapped).is_empty(), "something is mapped still");
        let held = lock(&self.memories).iter().filter(|m| m.strong_count() > 0).count();
        assert_eq!(held, 0, "memory is held");
        let held = lock(&self.vectors).iter().filter(|v| v.strong_count() > 0).count();
        assert_eq!(held, 0, "vectors are held");
    }
}

impl Device for Watched {
    fn region_bytes(&self, region: Region) -> u64 {
        self.inner.region_bytes(region)
    }

    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        check_access(region, offset, self.region_bytes(region)).expect("a read of a register");
        self.inner.read32(region, offset)
    }

    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        check_access(region, offset, self.region_bytes(region)).expect("a write of a register");
        self.inner.write32(region, offset, value)
    }

    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        let mut mapped = lock(&self.mapped);
        let end = iova.checked_add(memory.bytes() as u64).expect("a mapping does not wrap");
        let before = mapped.range(..end).next_back();
        assert!(before.is_none_or(|(at, bytes)| at + bytes <= iova), "mappings overlap");
        lock(&self.memories).push(Arc::downgrade(&memory));
        mapped.insert(iova, memory.bytes() as u64);
        self.inner.dma_map(iova, memory)
    }

    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        assert_eq!(lock(&self.mapped).remove(&iova), Some(bytes), "no such mapping");
        self.inner.dma_unmap(iova, bytes)
    }

    fn vectors(&self) -> usize {
        self.inner.vectors()
    }

    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        assert!(interrupts.len() <= self.vectors(), "more vectors than there are");
        lock(&self.vectors).extend(interrupts.iter().map(Arc::downgrade));
        self.inner.set_interrupts(interrupts)
    }

    fn reset(&self) -> Result<(), Error> {
        lock(&self.mapped).clear();
        self.inner.reset()
    }
}
