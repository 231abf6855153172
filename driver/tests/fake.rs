//! The trait and the identification over a fake device: a register file, a copy engine, one vector.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use groove_driver::device::check_access;
use groove_driver::identify::REGISTERS;
use groove_driver::{Device, DmaMemory, Error, IdentityError, Interrupt, Region, identify};
use groove_spec::SPEC_ID;
use groove_spec::stages::device;

const BAR_BYTES: u64 = 0x1000;
/// A write copies its value to the start of every mapping, then fires vector 0.
const DOORBELL: u64 = 0xffc;

struct Fake {
    bar_bytes: u64,
    registers: Mutex<BTreeMap<u64, u32>>,
    mappings: Mutex<BTreeMap<u64, Arc<DmaMemory>>>,
    interrupts: Mutex<Vec<Arc<Interrupt>>>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            bar_bytes: BAR_BYTES,
            registers: Mutex::default(),
            mappings: Mutex::default(),
            interrupts: Mutex::default(),
        }
    }
}

impl Fake {
    fn with(spec_id: u32, capabilities: u32) -> Self {
        let fake = Self::default();
        let registers = [
            (device::SPEC_ID.offset as u64, spec_id),
            (device::CAPABILITIES.offset as u64, capabilities),
        ];
        fake.registers.lock().unwrap().extend(registers);
        fake
    }
}

impl Device for Fake {
    fn region_bytes(&self, region: Region) -> u64 {
        if region == REGISTERS { self.bar_bytes } else { 0 }
    }

    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        check_access(region, offset, self.region_bytes(region))?;
        Ok(self.registers.lock().unwrap().get(&offset).copied().unwrap_or(0))
    }

    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        check_access(region, offset, self.region_bytes(region))?;
        self.registers.lock().unwrap().insert(offset, value);
        if offset == DOORBELL {
            for memory in self.mappings.lock().unwrap().values() {
                memory.write(0, &value.to_le_bytes()).map_err(std::io::Error::other)?;
            }
            for interrupt in self.interrupts.lock().unwrap().iter() {
                interrupt.signal()?;
            }
        }
        Ok(())
    }

    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        let mut mappings = self.mappings.lock().unwrap();
        let bytes = memory.bytes() as u64;
        let before = mappings.range(..=iova).next_back();
        let overlaps = before.is_some_and(|(at, m)| at + m.bytes() as u64 > iova)
            || mappings.range(iova..).next().is_some_and(|(at, _)| iova + bytes > *at);
        if overlaps {
            return Err(Error::Mapping { iova, bytes });
        }
        mappings.insert(iova, memory);
        Ok(())
    }

    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        let mut mappings = self.mappings.lock().unwrap();
        match mappings.get(&iova) {
            Some(memory) if memory.bytes() as u64 == bytes => {
                mappings.remove(&iova);
                Ok(())
            }
            _ => Err(Error::Mapping { iova, bytes }),
        }
    }

    fn vectors(&self) -> usize {
        1
    }

    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        if interrupts.len() > self.vectors() {
            return Err(Error::TooManyVectors {
                wanted: interrupts.len(),
                available: self.vectors(),
            });
        }
        *self.interrupts.lock().unwrap() = interrupts.to_vec();
        Ok(())
    }

    fn reset(&self) -> Result<(), Error> {
        self.registers.lock().unwrap().retain(|offset, _| *offset < 8);
        self.mappings.lock().unwrap().clear();
        self.interrupts.lock().unwrap().clear();
        Ok(())
    }
}

/// 32 queues, 64 bytes a beat, 8 buckets of 8, lossless.
const SIZES: u32 = 32 | 64 << 8 | 8 << 16 | 8 << 24 | 1 << 31;

#[test]
fn identifies_hardware_of_the_same_table() {
    let identity = identify(&Fake::with(SPEC_ID, SIZES)).unwrap();
    assert_eq!((identity.queues, identity.width_bytes), (32, 64));
    assert_eq!((identity.buckets, identity.depth, identity.lossless), (8, 8, true));
}

#[test]
fn refuses_another_table() {
    let stranger = Fake::with(SPEC_ID ^ 1, SIZES);
    let error = identify(&stranger).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&format!("{:#010x}", SPEC_ID ^ 1)), "{text}");
    assert!(text.contains(&format!("{SPEC_ID:#010x}")), "{text}");
    assert!(matches!(error, IdentityError::OtherTable { .. }));
}

#[test]
fn names_a_device_that_is_gone() {
    let gone = Fake::with(u32::MAX, u32::MAX);
    assert!(matches!(identify(&gone), Err(IdentityError::Gone)));
}

#[test]
fn refuses_impossible_sizes() {
    let with = |queues: u32, width: u32, buckets: u32, depth: u32| {
        identify(&Fake::with(SPEC_ID, queues | width << 8 | buckets << 16 | depth << 24))
    };
    assert!(with(1, 8, 8, 8).is_ok());
    for (queues, width, buckets, depth) in [
        (0, 64, 8, 8),
        (33, 64, 8, 8),
        (32, 65, 8, 8),
        (32, 0, 8, 8),
        (32, 64, 7, 8),
        (32, 64, 8, 0),
    ] {
        let answer = with(queues, width, buckets, depth);
        assert!(matches!(answer, Err(IdentityError::Sizes(_))), "{answer:?}");
    }
}

#[test]
fn a_failed_read_is_passed_on_with_its_cause() {
    let blind = Fake { bar_bytes: 0, ..Fake::default() };
    let error = identify(&blind).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "Bar(0): no such region");
}

#[test]
fn out_of_range_is_an_error() {
    let fake = Fake::default();
    assert!(matches!(fake.read32(REGISTERS, BAR_BYTES), Err(Error::OutOfRange { .. })));
    assert!(matches!(fake.write32(REGISTERS, 2, 0), Err(Error::OutOfRange { .. })));
    assert!(matches!(fake.read32(Region::Config, 0), Err(Error::NoRegion(Region::Config))));
}

#[test]
fn memory_outlives_the_drivers_own_handle() {
    let fake = Fake::default();
    let memory = Arc::new(DmaMemory::new(4096).unwrap());
    let weak = Arc::downgrade(&memory);
    fake.dma_map(0x1000, memory).unwrap();
    fake.write32(REGISTERS, DOORBELL, 7).unwrap();
    assert!(weak.upgrade().is_some(), "the device still holds it");
    fake.dma_unmap(0x1000, 4096).unwrap();
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_doorbell_moves_bytes_and_fires_the_vector() {
    let fake = Fake::default();
    let memory = Arc::new(DmaMemory::new(4096).unwrap());
    let interrupt = Arc::new(Interrupt::new().unwrap());
    fake.dma_map(0, Arc::clone(&memory)).unwrap();
    fake.set_interrupts(&[Arc::clone(&interrupt)]).unwrap();
    fake.write32(REGISTERS, DOORBELL, 0x0403_0201).unwrap();
    assert!(interrupt.wait(Duration::from_secs(10)).unwrap());
    let mut bytes = [0; 4];
    memory.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 2, 3, 4]);

    fake.reset().unwrap();
    fake.write32(REGISTERS, DOORBELL, 0).unwrap();
    assert!(!interrupt.wait(Duration::ZERO).unwrap(), "reset took the vector away");
    memory.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 2, 3, 4], "reset took the mapping away");
}

#[test]
fn mappings_do_not_overlap_and_unmap_as_they_were_made() {
    let fake = Fake::default();
    let page = || Arc::new(DmaMemory::new(4096).unwrap());
    fake.dma_map(0x2000, page()).unwrap();
    for iova in [0x1001, 0x2000, 0x2fff] {
        assert!(matches!(fake.dma_map(iova, page()), Err(Error::Mapping { .. })), "{iova:#x}");
    }
    fake.dma_map(0x1000, page()).unwrap();
    fake.dma_map(0x3000, page()).unwrap();
    assert!(fake.dma_unmap(0x2000, 2048).is_err());
    assert!(fake.dma_unmap(0x2800, 2048).is_err());
    fake.dma_unmap(0x2000, 4096).unwrap();
    fake.dma_map(0x2000, page()).unwrap();
}
