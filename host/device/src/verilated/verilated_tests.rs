//! The Verilated device on the harness's toy: what a driver may count on, whatever the hardware is.

use std::time::{Duration, Instant};

use groove_spec::DropReason;

use super::*;

const TOY: &str = include_str!("../../../../verilator/testdata/nic_toy.v");
const IOVA: u64 = 0x5_0000_0000;
const BYTES: usize = 0x4000;
/// Kinds of the toy's commands.
const DATA: u32 = 1;
const COMPLETION: u32 = 2;

fn options(clock: Clock) -> Options {
    let run = NicConfig {
        seed: 3,
        stall_percent: 30,
        latency_cycles: 100..=300,
        watchdog_cycles: 2000,
        ..NicConfig::default()
    };
    Options { build: BuildOptions { width: 64, queues: 4, ..BuildOptions::default() }, run, clock }
}

fn toy(clock: Clock) -> VerilatedDevice {
    VerilatedDevice::from_verilog(TOY, &options(clock)).unwrap()
}

fn map(device: &VerilatedDevice) -> Arc<DmaMemory> {
    let memory = Arc::new(DmaMemory::new(BYTES).unwrap());
    device.dma_map(IOVA, Arc::clone(&memory)).unwrap();
    memory
}

fn command(device: &VerilatedDevice, kind: u32, offset: u64, beats: u32) -> Result<(), Error> {
    let address = IOVA + offset;
    let words = [(4, address as u32), (8, (address >> 32) as u32), (12, (beats - 1) << 8 | kind)];
    words.into_iter().try_for_each(|(at, word)| device.write32(REGISTERS, at, word))
}

fn content(memory: &DmaMemory) -> Vec<u8> {
    let mut all = vec![0; memory.bytes()];
    memory.read(0, &mut all).unwrap();
    all
}

/// Waits for what another thread brings about.
#[track_caller]
fn eventually(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(20), "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_same_calls_give_the_same_memory() {
    let run = || {
        let device = toy(Clock::Stepped);
        let memory = map(&device);
        for i in 0..20 {
            command(&device, 1 + (i & 1) as u32, 0x100 * i, 4).unwrap();
            device.inject(&[1; 90], i % 3 == 0).unwrap();
            device.tick(17 * i).unwrap();
        }
        (device.cycles(), device.stats(), content(&memory), device.take_journal().unwrap())
    };
    let (cycles, stats, memory, journal) = run();
    assert!(memory.iter().any(|byte| *byte != 0), "something was written");
    assert_eq!(journal.len(), 20);
    assert_eq!(journal[..2], [Step::Skip(DropReason::NoBuffer), Step::Frame]);
    assert_eq!(run(), (cycles, stats, memory, journal));
}

#[test]
fn nothing_is_written_behind_an_unmap() {
    for clock in [Clock::Stepped, Clock::Thread] {
        let device = toy(clock);
        let memory = map(&device);
        for i in 0..6 {
            command(&device, DATA, 0x200 * i, 30).unwrap();
        }
        device.dma_unmap(IOVA, BYTES as u64).unwrap();
        let before = content(&memory);
        assert!(before.iter().any(|byte| *byte != 0), "what was accepted before was committed");
        command(&device, DATA, 0x3000, 4).unwrap();
        device.settle().unwrap();
        assert!(content(&memory) == before);
        assert!(device.stats().refused > 0);
        assert!(device.dma_unmap(IOVA, BYTES as u64).is_err());
    }
}

#[test]
fn an_interrupt_wakes_whoever_waits() {
    let device = toy(Clock::Thread);
    let memory = map(&device);
    let vectors: Vec<_> = (0..4).map(|_| Arc::new(Interrupt::new().unwrap())).collect();
    device.set_interrupts(&vectors).unwrap();
    for vector in &vectors {
        assert!(!vector.wait(Duration::ZERO).unwrap());
        command(&device, COMPLETION, 0x40, 4).unwrap();
        assert!(vector.wait(Duration::from_secs(20)).unwrap());
        assert_eq!(content(&memory)[0x40], 8, "the completion is visible by then");
    }
    let many: Vec<_> = (0..5).map(|_| Arc::clone(&vectors[0])).collect();
    assert!(matches!(
        device.set_interrupts(&many),
        Err(Error::TooManyVectors { wanted: 5, available: 4 })
    ));
}

#[test]
fn a_reset_unmaps_and_forgets() {
    for clock in [Clock::Stepped, Clock::Thread] {
        let device = toy(clock);
        let memory = map(&device);
        (0..8).for_each(|i| command(&device, DATA, 0x400 * i, 100).unwrap());
        device.inject(&[7; 700], false).unwrap();
        device.reset().unwrap();
        let before = content(&memory);
        device.settle().unwrap();
        assert_eq!(device.take_journal().unwrap(), []);
        map(&device);
        assert!(content(&memory) == before);
    }
}

#[test]
fn a_broken_device_stays_broken() {
    let device = toy(Clock::Thread);
    device.write32(REGISTERS, 0, 17).unwrap();
    let first = device.write32(REGISTERS, 4, 1).unwrap_err().to_string();
    assert!(first.starts_with("no progress for "), "{first}");
    assert_eq!(device.read32(REGISTERS, 0).unwrap_err().to_string(), first);
    assert_eq!(device.settle().unwrap_err().to_string(), first);
    assert_eq!(device.reset().unwrap_err().to_string(), first);
    assert!(device.settle().unwrap_err().error().cycle().is_some());
}

#[test]
fn an_empty_frame_breaks_nothing() {
    let device = toy(Clock::Stepped);
    assert_eq!(device.inject(&[], false).unwrap_err().to_string(), "frame 0 has no bytes");
    device.inject(&[1], false).unwrap();
    assert_eq!(device.take_journal().unwrap(), [Step::Frame]);
}

#[test]
fn the_clock_stops_without_work() {
    let device = toy(Clock::Thread);
    device.inject(&[1; 60], false).unwrap();
    eventually(|| device.stats().frames == 1);
    eventually(|| {
        let before = device.cycles();
        std::thread::sleep(Duration::from_millis(30));
        device.cycles() == before
    });
    assert!(device.cycles() >= 20_000, "timers had their time");
}

#[test]
fn calls_go_first() {
    let device = toy(Clock::Thread);
    device
        .write32(
            REGISTERS,
            groove_spec::nic::queue_offset(0, &groove_spec::nic::HOLD) as u64,
            u32::MAX,
        )
        .unwrap();
    let start = device.cycles();
    (0..200).for_each(|_| assert_eq!(device.read32(REGISTERS, 0).unwrap(), 0));
    let cycles = device.cycles() - start;
    assert!(cycles < 200 * 600, "{cycles} cycles in 200 reads");
}

#[test]
fn accesses_out_of_range_are_errors() {
    let device = toy(Clock::Stepped);
    assert!(matches!(device.read32(REGISTERS, 2), Err(Error::OutOfRange { .. })));
    let end = WINDOW_BYTES as u64;
    assert!(matches!(device.write32(REGISTERS, end, 0), Err(Error::OutOfRange { .. })));
    assert!(matches!(device.read32(Region::Config, 0), Err(Error::NoRegion(_))));
}
