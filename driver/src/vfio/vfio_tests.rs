//! A kernel that is made up: the device's file is a memory file, the rest is written down.

use std::os::fd::{AsFd, OwnedFd};

use super::*;
use crate::check_alarms;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;

const BAR_AT: u64 = 0x1_0000;
const CONFIG_AT: u64 = 0x2_0000;

#[derive(Default)]
struct Log {
    mapped: BTreeMap<u64, usize>,
    vectors: usize,
    resets: usize,
    refuse_map: Option<Errno>,
    refuse_unmap: Option<Errno>,
    alarms: BTreeMap<u32, OwnedFd>,
}

struct Fake {
    file: OwnedFd,
    bar_bytes: u64,
    can_be_mapped: bool,
    can_reset: bool,
    alarms: u32,
    log: Arc<Mutex<Log>>,
}

impl Fake {
    fn new() -> Self {
        let file = memfd_create("function", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 0x3_0000).unwrap();
        Self {
            file,
            bar_bytes: 0x2000,
            can_be_mapped: true,
            can_reset: true,
            alarms: 2,
            log: Arc::default(),
        }
    }

    fn open(self) -> Result<(KernelVfio, Arc<Mutex<Log>>), OpenError> {
        let log = Arc::clone(&self.log);
        Ok((KernelVfio::new("3b:00.0".parse().unwrap(), Box::new(self))?, log))
    }
}

impl Kernel for Fake {
    fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
    fn window(&self, index: u32) -> Window {
        let can_be_mapped = self.can_be_mapped;
        match index {
            0 => Window { offset: BAR_AT, bytes: self.bar_bytes, can_be_mapped },
            abi::CONFIG_REGION => Window { offset: CONFIG_AT, bytes: 256, can_be_mapped: false },
            _ => Window::default(),
        }
    }
    fn vectors(&self) -> usize {
        2
    }
    fn can_reset(&self) -> bool {
        self.can_reset
    }
    // SAFETY: the trait says what the caller keeps to.
    unsafe fn dma_map(&self, iova: u64, address: usize, bytes: usize) -> io::Result<()> {
        assert!(address.is_multiple_of(4096) && bytes.is_multiple_of(4096));
        let mut log = self.log.lock().unwrap();
        if let Some(errno) = log.refuse_map {
            return Err(errno.into());
        }
        log.mapped.insert(iova, bytes);
        Ok(())
    }
    fn dma_unmap(&self, iova: u64, bytes: usize) -> io::Result<()> {
        let mut log = self.log.lock().unwrap();
        if let Some(errno) = log.refuse_unmap {
            return Err(errno.into());
        }
        assert_eq!(log.mapped.remove(&iova), Some(bytes));
        Ok(())
    }
    fn set_vectors(&self, interrupts: &[Arc<Interrupt>]) -> io::Result<()> {
        let mut log = self.log.lock().unwrap();
        // As the kernel: neither off when off, nor more when on.
        if (log.vectors == 0) == interrupts.is_empty() {
            return Err(Errno::INVAL.into());
        }
        log.vectors = interrupts.len();
        Ok(())
    }
    fn set_alarm(&self, index: u32, interrupt: &Interrupt) -> io::Result<bool> {
        if index >= abi::IRQ_ERROR + self.alarms {
            return Ok(false);
        }
        let copy = interrupt.file().try_clone_to_owned()?;
        self.log.lock().unwrap().alarms.insert(index, copy);
        Ok(true)
    }
    fn reset(&self) -> io::Result<()> {
        self.log.lock().unwrap().resets += 1;
        // As the kernel does to a function: the command register is cleared.
        pwrite(&self.file, &[0; 4], CONFIG_AT + 4)?;
        Ok(())
    }
}

fn command(device: &KernelVfio) -> u32 {
    device.read32(Region::Config, abi::COMMAND_OFFSET).unwrap() & 0xffff
}

#[test]
fn registers_are_reached_mapped_and_unmapped() {
    for can_be_mapped in [true, false] {
        let (device, _) = Fake { can_be_mapped, ..Fake::new() }.open().unwrap();
        assert_eq!(device.bars[0].is_some(), can_be_mapped);
        assert_eq!(device.region_bytes(Region::Bar(0)), 0x2000);
        device.write32(Region::Bar(0), 0x1ffc, 0x1234_5678).unwrap();
        assert_eq!(device.read32(Region::Bar(0), 0x1ffc).unwrap(), 0x1234_5678);
        let mut bytes = [0; 4];
        pread(device.kernel.file(), &mut bytes, BAR_AT + 0x1ffc).unwrap();
        assert_eq!(bytes, [0x78, 0x56, 0x34, 0x12]);
        for (region, offset) in [
            (Region::Bar(0), 0x2000),
            (Region::Bar(0), 2),
            (Region::Bar(1), 0),
            (Region::Bar(6), 0),
            (Region::Bar(255), 0),
            (Region::Config, 256),
            (Region::Config, u64::MAX - 3),
        ] {
            assert!(device.read32(region, offset).is_err(), "{region:?} {offset:#x}");
            assert!(device.write32(region, offset, 0).is_err(), "{region:?} {offset:#x}");
        }
    }
}

#[test]
fn the_function_is_a_bus_master_once_it_is_open() {
    let (device, _) = Fake::new().open().unwrap();
    assert_eq!(command(&device), 6);
}

#[test]
fn reset_takes_everything_away() {
    let (device, log) = Fake::new().open().unwrap();
    let memory = Arc::new(DmaMemory::new(8192).unwrap());
    device.dma_map(0x1000, Arc::clone(&memory)).unwrap();
    device.dma_map(0x10_0000, Arc::clone(&memory)).unwrap();
    let vectors = [Arc::new(Interrupt::new().unwrap()), Arc::new(Interrupt::new().unwrap())];
    device.set_interrupts(&vectors).unwrap();
    assert_eq!(log.lock().unwrap().vectors, 2);
    device.reset().unwrap();
    {
        let log = log.lock().unwrap();
        assert_eq!((log.mapped.len(), log.vectors, log.resets), (0, 0, 1));
    }
    assert_eq!(Arc::strong_count(&memory), 1);
    assert_eq!(command(&device), 6, "a bus master again");
}

#[test]
fn memory_lives_as_long_as_the_kernel_maps_it() {
    let (device, log) = Fake::new().open().unwrap();
    let memory = Arc::new(DmaMemory::new(100).unwrap());
    device.dma_map(0x1000, Arc::clone(&memory)).unwrap();
    assert_eq!(log.lock().unwrap().mapped[&0x1000], 4096, "whole pages");
    assert!(device.dma_map(0x1000, Arc::clone(&memory)).is_err());
    assert!(device.dma_unmap(0x1000, 99).is_err());
    log.lock().unwrap().refuse_unmap = Some(Errno::IO);
    assert!(device.dma_unmap(0x1000, 100).is_err());
    assert_eq!(Arc::strong_count(&memory), 2);
    log.lock().unwrap().refuse_unmap = None;
    device.dma_unmap(0x1000, 100).unwrap();
    assert_eq!(Arc::strong_count(&memory), 1);

    device.dma_map(0x1000, Arc::clone(&memory)).unwrap();
    log.lock().unwrap().refuse_unmap = Some(Errno::IO);
    drop(device);
    assert_eq!(Arc::strong_count(&memory), 2, "the function may still write to it");
}

#[test]
fn a_refused_mapping_says_what_to_do() {
    let (device, log) = Fake::new().open().unwrap();
    log.lock().unwrap().refuse_map = Some(Errno::NOMEM);
    let memory = Arc::new(DmaMemory::new(4096).unwrap());
    let error = device.dma_map(0x1000, Arc::clone(&memory)).unwrap_err();
    assert_eq!(error.to_string(), "failed to map 4096 bytes at IOVA 0x1000");
    assert!(error.help().unwrap().contains("ulimit -l"));
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "Cannot allocate memory (os error 12)");
    assert_eq!(Arc::strong_count(&memory), 1, "nothing is kept");
}

#[test]
fn functions_that_are_not_ours_are_refused() {
    let text = |fake: Fake| fake.open().err().unwrap().to_string();
    assert!(text(Fake { can_reset: false, ..Fake::new() }).contains("cannot be reset"));
    assert!(text(Fake { bar_bytes: 0, ..Fake::new() }).contains("no BAR 0"));
}

#[test]
fn vectors_are_switched_off_once() {
    let (device, log) = Fake::new().open().unwrap();
    let one = [Arc::new(Interrupt::new().unwrap())];
    let two = [Arc::clone(&one[0]), Arc::new(Interrupt::new().unwrap())];
    let none = &[][..];
    let steps = [none, &one, &two, &one, none, none];
    for (interrupts, on) in steps.into_iter().zip([0, 1, 2, 1, 0, 0]) {
        device.set_interrupts(interrupts).unwrap();
        assert_eq!(log.lock().unwrap().vectors, on);
    }
    device.reset().unwrap();
    device.reset().unwrap();
}

#[test]
fn an_alarm_is_an_error() {
    for (index, alarm) in [(abi::IRQ_ERROR, Alarm::Fault), (abi::IRQ_REQUEST, Alarm::Release)] {
        let (device, log) = Fake::new().open().unwrap();
        device.reset().unwrap();
        check_alarms(&device).unwrap();
        rustix::io::write(&log.lock().unwrap().alarms[&index], &1u64.to_ne_bytes()).unwrap();
        for _ in 0..2 {
            let error = check_alarms(&device).unwrap_err();
            assert!(matches!(error, Error::Alarm(found) if found == alarm), "{error}");
            assert!(error.help().unwrap().contains("start"), "{:?}", error.help());
        }
    }
    // A function on a bus that is not PCI Express has no such signals.
    let (device, log) = Fake { alarms: 0, ..Fake::new() }.open().unwrap();
    assert!(device.alarms().is_empty() && log.lock().unwrap().alarms.is_empty());
    check_alarms(&device).unwrap();
}

#[test]
fn vectors_are_bounded() {
    let (device, _) = Fake::new().open().unwrap();
    let vector = Arc::new(Interrupt::new().unwrap());
    let three = [Arc::clone(&vector), Arc::clone(&vector), vector];
    assert!(matches!(
        device.set_interrupts(&three),
        Err(Error::TooManyVectors { wanted: 3, available: 2 })
    ));
}

#[test]
fn this_machine_says_why_it_cannot() {
    // Without VFIO, as in most build machines, an error with a cure; with it, no such function.
    let error = KernelVfio::open("ffff:ff:1f.7".parse().unwrap()).unwrap_err();
    assert!(matches!(error, OpenError::Absent(_)) && !error.help().is_empty());
}
