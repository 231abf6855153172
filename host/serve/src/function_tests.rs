//! The function around a device that writes down what is done to it.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use groove_driver::{DmaMemory, Error};

#[derive(Default)]
struct Seen {
    registers: BTreeMap<u64, u32>,
    mapped: BTreeMap<u64, u64>,
    interrupts: Vec<Arc<Interrupt>>,
    resets: usize,
    fails: bool,
}

#[derive(Default)]
struct Recorder(Mutex<Seen>);

impl Recorder {
    fn fail(&self) -> Result<(), Error> {
        if self.0.lock().unwrap().fails { Err(io::Error::other("broken").into()) } else { Ok(()) }
    }
}

impl Device for Recorder {
    fn region_bytes(&self, region: Region) -> u64 {
        if region == Region::Bar(0) { 0x1800 } else { 0 }
    }
    fn read32(&self, _: Region, offset: u64) -> Result<u32, Error> {
        self.fail()?;
        Ok(self.0.lock().unwrap().registers.get(&offset).copied().unwrap_or(7))
    }
    fn write32(&self, _: Region, offset: u64, value: u32) -> Result<(), Error> {
        self.fail()?;
        self.0.lock().unwrap().registers.insert(offset, value);
        Ok(())
    }
    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        self.fail()?;
        assert!(self.0.lock().unwrap().mapped.insert(iova, memory.bytes() as u64).is_none());
        Ok(())
    }
    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        assert_eq!(self.0.lock().unwrap().mapped.remove(&iova), Some(bytes));
        Ok(())
    }
    fn vectors(&self) -> usize {
        3
    }
    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        self.0.lock().unwrap().interrupts = interrupts.to_vec();
        Ok(())
    }
    fn reset(&self) -> Result<(), Error> {
        let mut seen = self.0.lock().unwrap();
        let resets = seen.resets + 1;
        *seen = Seen { resets, fails: seen.fails, ..Seen::default() };
        Ok(())
    }
}

fn function() -> (Function, Arc<Recorder>) {
    let device = Arc::new(Recorder::default());
    let dyn_device: Arc<dyn Device> = Arc::clone(&device) as Arc<dyn Device>;
    (Function::new(dyn_device).unwrap(), device)
}

fn command(function: &mut Function, value: u8) {
    function.write(abi::CONFIG_REGION, 4, &[value, 0]).unwrap();
}

fn map(function: &mut Function, iova: u64, memory: &DmaMemory) -> Result<(), Errno> {
    let file = memory.file().try_clone_to_owned().unwrap();
    function.map(iova, memory.bytes() as u64, Some((file, 0)), true)
}

fn trigger(data: u32, start: u32, count: u32) -> SetIrqs {
    SetIrqs { argsz: 20, flags: data | abi::SET_TRIGGER, index: abi::MSIX, start, count }
}

fn files(n: usize) -> (Vec<Interrupt>, Vec<OwnedFd>) {
    let kept: Vec<_> = (0..n).map(|_| Interrupt::new().unwrap()).collect();
    let sent = kept.iter().map(|i| i.file().as_fd().try_clone_to_owned().unwrap()).collect();
    (kept, sent)
}

#[test]
fn without_bus_mastering_there_is_no_dma() {
    let (mut function, device) = function();
    let memory = DmaMemory::new(4096).unwrap();
    map(&mut function, 0x1000, &memory).unwrap();
    let (kept, sent) = files(1);
    function.set_irqs(&trigger(abi::SET_DATA_EVENTFD, 1, 1), sent).unwrap();
    let counts = || {
        let seen = device.0.lock().unwrap();
        (seen.mapped.len(), seen.interrupts.len())
    };
    assert_eq!(counts(), (0, 0));
    command(&mut function, 6);
    assert_eq!(counts(), (1, 3));
    device.0.lock().unwrap().interrupts[1].signal().unwrap();
    assert!(kept[0].wait(Duration::ZERO).unwrap());
    map(&mut function, 0x2000, &memory).unwrap();
    assert_eq!(counts(), (2, 3));
    command(&mut function, 2);
    assert_eq!(counts(), (0, 0));
    map(&mut function, 0x3000, &memory).unwrap();
    function.unmap(0x1000, 4096).unwrap();
    assert_eq!(counts(), (0, 0));
    command(&mut function, 6);
    assert_eq!(counts(), (2, 3));
}

#[test]
fn a_reset_keeps_what_the_client_mapped() {
    let (mut function, device) = function();
    let memory = DmaMemory::new(4096).unwrap();
    map(&mut function, 0x1000, &memory).unwrap();
    command(&mut function, 6);
    function.write(0, 0x10, &5u32.to_le_bytes()).unwrap();
    let resets = device.0.lock().unwrap().resets;
    // Over the PCI Express capability.
    function.write(abi::CONFIG_REGION, 0x68, &[0, 0x80]).unwrap();
    assert_eq!(device.0.lock().unwrap().resets, resets + 1);
    assert!(device.0.lock().unwrap().mapped.is_empty());
    let mut word = [0; 4];
    function.read(0, 0x10, &mut word).unwrap();
    assert_eq!(word, [0xff; 4], "memory space is disabled");
    command(&mut function, 6);
    assert_eq!(device.0.lock().unwrap().mapped.len(), 1);
    function.read(0, 0x10, &mut word).unwrap();
    assert_eq!(word, [7, 0, 0, 0], "the register is as after reset");
    drop(function);
    assert_eq!(device.0.lock().unwrap().resets, resets + 2);
}

#[test]
fn registers_are_words() {
    let (mut function, device) = function();
    command(&mut function, 2);
    assert_eq!(function.region_bytes(0), 0x2000, "a power of two");
    function.write(0, 8, &[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    assert_eq!(device.0.lock().unwrap().registers, BTreeMap::from([(8, 1), (12, 2)]));
    let mut two = [0; 8];
    function.read(0, 8, &mut two).unwrap();
    assert_eq!(two, [1, 0, 0, 0, 2, 0, 0, 0]);
    for (offset, bytes) in [(1, 4), (2, 4), (8, 3), (8, 1), (4, 6)] {
        let mut buffer = vec![0; bytes];
        assert_eq!(function.read(0, offset, &mut buffer), Err(Errno::INVAL));
        assert_eq!(function.write(0, offset, &buffer), Err(Errno::INVAL));
    }
    function.write(0, 0x1ffc, &[1; 4]).unwrap();
    function.read(0, 0x1ffc, &mut two[..4]).unwrap();
    assert_eq!(two[..4], [0; 4], "behind the device's window, inside the BAR");
    device.0.lock().unwrap().fails = true;
    assert_eq!(function.read(0, 8, &mut two), Err(Errno::IO));
    assert_eq!(function.write(0, 8, &two), Err(Errno::IO));
}

#[test]
fn the_msix_table_keeps_what_is_written() {
    let (mut function, _) = function();
    command(&mut function, 2);
    function.write(MSIX_BAR, 0xff8, &[9; 8]).unwrap();
    let mut back = [0; 8];
    function.read(MSIX_BAR, 0xff8, &mut back).unwrap();
    assert_eq!(back, [9; 8]);
}

#[test]
fn a_mapping_that_the_device_refuses_is_none() {
    let (mut function, device) = function();
    let memory = DmaMemory::new(4096).unwrap();
    command(&mut function, 6);
    device.0.lock().unwrap().fails = true;
    assert_eq!(map(&mut function, 0x1000, &memory), Err(Errno::IO));
    device.0.lock().unwrap().fails = false;
    map(&mut function, 0x1000, &memory).unwrap();
    function.unmap_all().unwrap();
    assert!(device.0.lock().unwrap().mapped.is_empty());
}

#[test]
fn vectors_are_set_one_by_one_and_in_bulk() {
    let (mut function, device) = function();
    command(&mut function, 6);
    let (kept, sent) = files(3);
    function.set_irqs(&trigger(abi::SET_DATA_EVENTFD, 0, 3), sent).unwrap();
    function.set_irqs(&trigger(abi::SET_DATA_EVENTFD, 1, 1), vec![]).unwrap();
    for interrupt in &device.0.lock().unwrap().interrupts {
        interrupt.signal().unwrap();
    }
    let raised = |i: &Interrupt| i.wait(Duration::ZERO).unwrap();
    assert_eq!(kept.iter().map(raised).collect::<Vec<_>>(), [true, false, true]);
    function.set_irqs(&trigger(abi::SET_DATA_NONE, 0, 3), vec![]).unwrap();
    assert_eq!(kept.iter().map(raised).collect::<Vec<_>>(), [true, false, true]);
    function.set_irqs(&trigger(abi::SET_DATA_NONE, 0, 0), vec![]).unwrap();
    assert!(device.0.lock().unwrap().interrupts.is_empty());
}

#[test]
fn impossible_vectors_are_refused() {
    let (mut function, _) = function();
    let mut set = |asked: SetIrqs, n| function.set_irqs(&asked, files(n).1);
    let eventfd = abi::SET_DATA_EVENTFD;
    for (asked, n) in [
        (trigger(eventfd, 0, 4), 4),
        (trigger(eventfd, 3, 1), 1),
        (trigger(eventfd, u32::MAX, 2), 2),
        (trigger(eventfd, 0, 2), 1),
        (trigger(eventfd, 0, 2), 3),
        (trigger(eventfd, 0, 0), 1),
        (trigger(abi::SET_DATA_BOOL, 0, 1), 0),
        (trigger(abi::SET_DATA_BOOL | eventfd, 0, 1), 1),
        (SetIrqs { flags: abi::SET_DATA_NONE | abi::SET_MASK, ..trigger(0, 0, 1) }, 0),
        (SetIrqs { index: 5, ..trigger(eventfd, 0, 1) }, 1),
    ] {
        assert_eq!(set(asked, n), Err(Errno::INVAL), "{asked:?}");
    }
    let error_vector = SetIrqs { index: 3, ..trigger(eventfd, 0, 1) };
    assert_eq!(set(error_vector, 1), Ok(()), "QEMU sets it");
}
