//! Makes a device reach for memory that it was not given: what an IOMMU is there to refuse.
//!
//!   driver ──► Stray: maps nothing · the front only · takes it away again ──► device
//!                 the rings' addresses stay as they are, so the device goes there
//!
//! Runs in the guest, as a driver that is wrong about its mappings. A refused access is an error
//! that the device counts for the queue, and that stops it.
//! Invariant: the three ways are refused on every device (`strays_are_refused`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use groove_driver::identify::REGISTERS;
use groove_driver::{
    Device, DmaMemory, Error, Interrupt, Nic, QueueError, Region, Settings, SetupError,
};
use groove_spec::nic::{QUEUE_DMA_ERRORS, QUEUE_STATUS, queue_offset};
use serde::Serialize;

/// Longest wait for the device to go astray.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Buffers of the queue; small, so that it lies on normal pages.
const BUFFERS: usize = 64;
/// Bytes that the device may reach in the second way: the ring of free buffers, and its guard page.
const FRONT: usize = 4096;
/// Where header slots and buffers begin: behind two rings of a page, each with its guard page.
const BEHIND_RINGS: usize = 4 * 4096;

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum StrayError {
    /// The driver does not take the device.
    #[error("the driver does not take the device")]
    Setup(#[from] SetupError),
    /// A queue failed.
    #[error("the driver gave up the queue")]
    Queue(#[from] QueueError),
    /// The device failed.
    #[error("the device failed")]
    Device(#[from] Error),
    /// Memory cannot be looked at.
    #[error("failed to look at the queue's memory")]
    Memory(#[source] std::io::Error),
}

/// What came of one way.
#[derive(Clone, Debug, Serialize)]
pub struct Way {
    /// Its name.
    pub name: &'static str,
    /// Errors that the device had before it went astray.
    pub errors_before: u32,
    /// Errors that it had after.
    pub errors: u32,
    /// Its queue was stopped.
    pub stopped: bool,
    /// What it had to leave alone is as it was.
    pub untouched: bool,
}

impl Way {
    /// Refused, told, and without a trace.
    pub fn is_refused(&self) -> bool {
        self.errors_before == 0 && self.errors > 0 && self.stopped && self.untouched
    }
}

/// Everything that was tried. Serialised as it stands by `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The ways.
    pub ways: Vec<Way>,
}

/// Tries all ways. Traffic has to come for the second one.
pub fn run(device: &Arc<dyn Device>) -> Result<Report, StrayError> {
    Ok(Report { ways: vec![never(device)?, behind_the_front(device)?, taken_away(device)?] })
}

/// The report as a table.
pub fn table(report: &Report) -> String {
    let line = |way: &Way| {
        let verdict = if way.is_refused() { "refused" } else { "NOT refused" };
        format!("{:18} {verdict}: {} DMA errors\n", way.name, way.errors)
    };
    report.ways.iter().map(line).collect()
}

fn settings() -> Settings {
    Settings {
        ring: BUFFERS,
        buffers: BUFFERS,
        buffer_bytes: 2048,
        moderation_time: 0,
        hold_time: 0,
        ..Settings::new(1)
    }
}

/// Nothing is mapped at all: the device cannot read its first descriptor.
fn never(device: &Arc<dyn Device>) -> Result<Way, StrayError> {
    let stray = Stray::new(device, Some(0));
    let nic = Nic::open(Arc::clone(&stray) as Arc<dyn Device>, &settings())?;
    let memory = stray.memory();
    let before = copy(&memory, FRONT)?;
    let errors_before = errors(device)?;
    let receivers = attach(nic)?;
    let (errors, stopped) = wait(device)?;
    let untouched = before == copy(&memory, FRONT)?;
    drop(receivers);
    Ok(Way { name: "never mapped", errors_before, errors, stopped, untouched })
}

/// The ring of free buffers is mapped, the buffers are not: a frame has nowhere to go.
fn behind_the_front(device: &Arc<dyn Device>) -> Result<Way, StrayError> {
    let stray = Stray::new(device, Some(FRONT));
    let nic = Nic::open(Arc::clone(&stray) as Arc<dyn Device>, &settings())?;
    let memory = stray.memory();
    let before = copy(&memory, FRONT)?;
    let errors_before = errors(device)?;
    let receivers = attach(nic)?;
    let (errors, stopped) = wait(device)?;
    let untouched = before == copy(&memory, FRONT)?;
    drop(receivers);
    Ok(Way { name: "partly mapped", errors_before, errors, stopped, untouched })
}

/// All was mapped and reached, and is taken away before the queue is started again.
fn taken_away(device: &Arc<dyn Device>) -> Result<Way, StrayError> {
    let stray = Stray::new(device, None);
    let nic = Nic::open(Arc::clone(&stray) as Arc<dyn Device>, &settings())?;
    let mut receivers = attach(nic)?;
    for receiver in &mut receivers {
        receiver.stop(drop)?;
    }
    let errors_before = errors(device)?;
    stray.take_away()?;
    let memory = stray.memory();
    // The driver clears the rings when it starts.
    let before = copy(&memory, BEHIND_RINGS)?;
    for receiver in &mut receivers {
        receiver.start()?;
    }
    let (errors, stopped) = wait(device)?;
    let untouched = before == copy(&memory, BEHIND_RINGS)?;
    Ok(Way { name: "mapped no more", errors_before, errors, stopped, untouched })
}

fn attach(nic: Nic) -> Result<Vec<groove_driver::Receiver>, QueueError> {
    nic.queues.into_iter().map(|queue| queue.attach()).collect()
}

fn copy(memory: &DmaMemory, from: usize) -> Result<Vec<u8>, StrayError> {
    let mut bytes = vec![0; memory.bytes() - from];
    let outside = |_| StrayError::Memory(std::io::ErrorKind::InvalidInput.into());
    memory.read(from, &mut bytes).map_err(outside)?;
    Ok(bytes)
}

fn errors(device: &Arc<dyn Device>) -> Result<u32, Error> {
    device.read32(REGISTERS, queue_offset(0, &QUEUE_DMA_ERRORS) as u64)
}

/// Waits until the device was refused: its errors, and whether its queue was stopped.
fn wait(device: &Arc<dyn Device>) -> Result<(u32, bool), Error> {
    let start = Instant::now();
    loop {
        let status = device.read32(REGISTERS, queue_offset(0, &QUEUE_STATUS) as u64)?;
        let stopped = status & QUEUE_STATUS.field("fault").mask() != 0;
        if stopped || start.elapsed() > PATIENCE {
            return Ok((errors(device)?, stopped));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A device whose driver is wrong about what it maps.
struct Stray {
    device: Arc<dyn Device>,
    /// Bytes that are mapped of what should be; all if there is no bound.
    reach: Option<usize>,
    /// What should be mapped, and whether any of it is.
    mapped: Mutex<Vec<(u64, Arc<DmaMemory>, bool)>>,
}

impl Stray {
    fn new(device: &Arc<dyn Device>, reach: Option<usize>) -> Arc<Self> {
        Arc::new(Self { device: Arc::clone(device), reach, mapped: Mutex::default() })
    }

    /// The queue's memory. There is one queue.
    fn memory(&self) -> Arc<DmaMemory> {
        let mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, memory, _) = mapped.last().expect("a queue was set up, and its memory mapped");
        Arc::clone(memory)
    }

    /// Bytes that are mapped of some memory.
    fn part(&self, bytes: usize) -> usize {
        self.reach.unwrap_or(bytes).min(bytes)
    }

    fn take_away(&self) -> Result<(), Error> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        for (iova, memory, is_mapped) in mapped.iter_mut().filter(|(.., is_mapped)| *is_mapped) {
            self.device.dma_unmap(*iova, self.part(memory.bytes()) as u64)?;
            *is_mapped = false;
        }
        Ok(())
    }
}

impl Device for Stray {
    fn region_bytes(&self, region: Region) -> u64 {
        self.device.region_bytes(region)
    }
    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        self.device.read32(region, offset)
    }
    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        self.device.write32(region, offset, value)
    }
    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        let part = self.part(memory.bytes());
        if part > 0 {
            let file = memory.file().try_clone_to_owned()?;
            let file = Arc::new(std::fs::File::from(file));
            let front = DmaMemory::of_file(file, memory.file_offset(), part)?;
            self.device.dma_map(iova, Arc::new(front))?;
        }
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        mapped.push((iova, memory, part > 0));
        Ok(())
    }
    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let at = mapped.iter().position(|(at, ..)| *at == iova);
        let Some(at) = at else { return Err(Error::Mapping { iova, bytes }) };
        let (_, memory, is_mapped) = mapped.remove(at);
        match is_mapped {
            true => self.device.dma_unmap(iova, self.part(memory.bytes()) as u64),
            false => Ok(()),
        }
    }
    fn vectors(&self) -> usize {
        self.device.vectors()
    }
    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        self.device.set_interrupts(interrupts)
    }
    fn reset(&self) -> Result<(), Error> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.device.reset()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_device::{ModelDevice, Parameters};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A device with traffic, as `groove serve` has it.
    fn with_traffic<T>(test: impl FnOnce(&Arc<dyn Device>) -> T) -> T {
        let model = Arc::new(ModelDevice::new(Parameters::default()));
        let device = Arc::clone(&model) as Arc<dyn Device>;
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !end.load(Ordering::Relaxed) {
                    model.inject(&[0; 60], false).unwrap();
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let result = test(&device);
            end.store(true, Ordering::Relaxed);
            result
        })
    }

    #[test]
    fn strays_are_refused() {
        let report = with_traffic(|device| run(device).unwrap());
        assert!(report.ways.iter().all(Way::is_refused), "{report:?}");
        assert_eq!(report.ways.len(), 3);
        assert!(table(&report).starts_with("never mapped       refused: "), "{}", table(&report));
    }

    /// What is mapped is reached: a device that does not go astray is not called refused.
    #[test]
    fn a_mapped_queue_is_no_stray() {
        with_traffic(|device| {
            let stray = Stray::new(device, None);
            let nic = Nic::open(Arc::clone(&stray) as Arc<dyn Device>, &settings()).unwrap();
            let before = copy(&stray.memory(), FRONT).unwrap();
            let mut receivers = attach(nic).unwrap();
            let start = Instant::now();
            while before == copy(&stray.memory(), FRONT).unwrap() {
                assert!(start.elapsed() < PATIENCE, "no frame came");
            }
            assert_eq!(errors(device).unwrap(), 0);
            receivers.iter_mut().for_each(|receiver| receiver.stop(drop).unwrap());
        });
    }
}
