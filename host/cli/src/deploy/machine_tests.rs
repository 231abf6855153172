//! The self-test on devices that are well, and that are not.

use std::sync::atomic::{AtomicU64, Ordering};

use groove_device::{ModelDevice, Parameters};
use groove_driver::{DmaMemory, Interrupt, Region};

use super::*;

/// A software device with a fault in its registers.
struct Faulty {
    device: ModelDevice,
    /// Offset of a register that is stuck at zero.
    stuck: AtomicU64,
}

impl Faulty {
    fn at(offset: u64) -> Arc<dyn Device> {
        let device = ModelDevice::new(Parameters::default());
        Arc::new(Self { device, stuck: AtomicU64::new(offset) })
    }
}

impl Device for Faulty {
    fn region_bytes(&self, region: Region) -> u64 {
        self.device.region_bytes(region)
    }
    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        match self.stuck.load(Ordering::Relaxed) == offset {
            true => Ok(0),
            false => self.device.read32(region, offset),
        }
    }
    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        self.device.write32(region, offset, value)
    }
    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        self.device.dma_map(iova, memory)
    }
    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        self.device.dma_unmap(iova, bytes)
    }
    fn vectors(&self) -> usize {
        self.device.vectors()
    }
    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        self.device.set_interrupts(interrupts)
    }
    fn reset(&self) -> Result<(), Error> {
        self.device.reset()
    }
}

#[test]
fn a_device_passes_its_test() {
    let device: Arc<dyn Device> = Arc::new(ModelDevice::new(Parameters::default()));
    let test = self_test(&device).unwrap();
    assert_eq!(test.queues, usize::from(Parameters::default().queues));
    assert!(test.registers > 140 && test.descriptors > 0, "{test:?}");
    // Twice: it was left clean.
    self_test(&device).unwrap();
}

#[test]
fn faults_of_a_device_are_named() {
    let spec_id = groove_spec::stages::device::SPEC_ID.offset as u64;
    let error = self_test(&Faulty::at(spec_id)).unwrap_err();
    assert!(error.to_string().contains("built from table 0x00000000"), "{error}");
    let stuck = groove_spec::register("MAX_FRAME").unwrap().offset as u64;
    let error = self_test(&Faulty::at(stuck)).unwrap_err();
    assert!(error.to_string().starts_with("register MAX_FRAME holds 0x00000000"), "{error}");
    let fetched = queue_offset(0, &FREE_CONSUMER) as u64;
    let error = self_test(&Faulty::at(fetched)).unwrap_err();
    assert!(matches!(error, TestError::NoDma) && error.help().contains("IOMMU"), "{error}");
}

#[test]
fn what_hangs_is_told() {
    assert_eq!(bounded(Duration::from_secs(60), || 7), Some(7));
    let (_held, end) = channel::<()>();
    let hang = move || end.recv().is_ok();
    assert_eq!(bounded(Duration::from_millis(20), hang), None);
}
