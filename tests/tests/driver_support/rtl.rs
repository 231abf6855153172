//! The Verilated hardware as a device of the suite, with latencies and stalls of memory.
//!
//! A simulation does a share of each test's rounds: `GROOVE_NIC_PERCENT` is how much (5 unless
//! set; 100 is a long run). A failing test prints a seed and a cycle; with
//! `GROOVE_NIC_WAVE=SEED:CYCLE` it writes the waves around it to `nic.fst`.

use std::cell::Cell;
use std::sync::Arc;

use groove_device::verilated::{Clock, Options, VerilatedDevice};
use groove_device::{Parameters, Step};
use groove_driver::Device;
use groove_driver::identify::REGISTERS;
use groove_spec::{TokenKind, nic};
use groove_verilator::nic::NicConfig;
use groove_verilator::{BuildOptions, Wave};

use super::Testbed;

/// Share of the rounds, unless `GROOVE_NIC_PERCENT` says otherwise.
const PERCENT: usize = 5;
/// Cycles without progress after which a run fails.
const WATCHDOG_CYCLES: u64 = 50_000;

/// The Verilated device.
pub struct Rtl {
    device: Arc<VerilatedDevice>,
    seed: u64,
}

/// 64 bits and 8 queues.
const NARROW: BuildOptions = BuildOptions {
    width: 64,
    queues: 8,
    buckets: groove_spec::BUCKETS,
    depth: groove_spec::BUCKET_DEPTH,
    lossless: true,
    trace: false,
};

thread_local! {
    /// Devices opened by this test: each has a seed of its own.
    static OPENED: Cell<u64> = const { Cell::new(0) };
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Rtl {
    fn with(build: BuildOptions, clock: Clock, run: NicConfig) -> Box<dyn Testbed> {
        let seed = run.seed;
        let wave = variable("GROOVE_NIC_WAVE").and_then(|text| {
            let (wanted, cycle) = text.split_once(':')?;
            let wanted: u64 = wanted.parse().ok()?;
            (wanted == seed).then_some(Wave::around("nic.fst", cycle.parse().ok()?))
        });
        let build = BuildOptions { trace: wave.is_some(), ..build };
        let options = Options { build, run: NicConfig { wave, ..run }, clock };
        let device = VerilatedDevice::open(&options).unwrap();
        Box::new(Self { device: Arc::new(device), seed })
    }

    /// The next surroundings of this test: from none to slow and stalling memory.
    fn surroundings() -> NicConfig {
        let seed = OPENED.replace(OPENED.get() + 1);
        let (latency_cycles, stall_percent, bursts_max) = match seed % 4 {
            0 => (20..=60, 10, 256),
            1 => (200..=400, 30, 16),
            2 => (0..=0, 0, 256),
            _ => (1..=120, 60, 5),
        };
        NicConfig {
            seed,
            stall_percent,
            latency_cycles,
            bursts_max,
            watchdog_cycles: WATCHDOG_CYCLES,
            wave: None,
        }
    }

    /// 512 bits and all 32 queues, the clock in the test's hands.
    pub fn wide(_: Parameters) -> Box<dyn Testbed> {
        Self::with(BuildOptions::default(), Clock::Stepped, Self::surroundings())
    }

    /// 64 bits and 8 queues.
    pub fn narrow(_: Parameters) -> Box<dyn Testbed> {
        Self::with(NARROW, Clock::Stepped, Self::surroundings())
    }

    /// 64 bits and 8 queues, without back-pressure to the wire: what finds no room is dropped.
    pub fn lossy(_: Parameters) -> Box<dyn Testbed> {
        let build = BuildOptions { lossless: false, ..NARROW };
        Self::with(build, Clock::Stepped, Self::surroundings())
    }

    /// 512 bits, with a clock that runs by itself.
    pub fn running(_: Parameters) -> Box<dyn Testbed> {
        Self::with(BuildOptions::default(), Clock::Thread, Self::surroundings())
    }
}

impl Drop for Rtl {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let cycle = self.device.cycles();
            let seed = self.seed;
            eprintln!("hardware: seed {seed}, cycle {cycle}: GROOVE_NIC_WAVE={seed}:{cycle}");
            for queue in 0..self.device.vectors() {
                let state = nic::REGISTERS.iter().map(|register| {
                    let offset = nic::queue_offset(queue, register) as u64;
                    let value = self.device.read32(REGISTERS, offset).unwrap_or(0xdead);
                    format!("{}={value:x}", register.name)
                });
                eprintln!("queue {queue}: {}", state.collect::<Vec<_>>().join(" "));
            }
        }
    }
}

impl Testbed for Rtl {
    fn device(&self) -> Arc<dyn Device> {
        Arc::clone(&self.device) as Arc<dyn Device>
    }

    fn inject(&self, bytes: &[u8], bad_fcs: bool) {
        self.device.inject(bytes, bad_fcs).unwrap();
    }

    fn token(&self, queue: u8, kind: TokenKind) {
        self.device.token(queue, kind).unwrap();
    }

    fn tick(&self, cycles: u64) {
        self.device.tick(cycles).unwrap();
    }

    fn settle(&self) {
        self.device.settle().unwrap();
    }

    fn journal(&self) -> Vec<Step> {
        self.device.take_journal().unwrap()
    }

    fn share(&self, full: usize, least: usize) -> usize {
        let percent = variable("GROOVE_NIC_PERCENT").and_then(|n| n.parse().ok());
        (full * percent.unwrap_or(PERCENT) / 100).max(least)
    }
}
