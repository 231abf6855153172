//! This machine, as deployments need it: files of the kernel, the programmer, and the driver.
//!
//!   write ──► a thread of its own ──► done, or too long: whoever waits goes on
//!   test  ──► identity ─► every register that can be written ─► reset ─► a queue, its DMA, its end
//!
//! Invariants: a write that the kernel does not come back from is told (`what_hangs_is_told`); a
//! device passes that is as it should be, and each fault is named (`a_device_passes_its_test`,
//! `faults_of_a_device_are_named`).
//! Not here: a test of the wire. A built-in generator would show frames; this shows that the card
//! is driven: that it reads and writes this machine's memory where it is told to.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use groove_driver::identify::REGISTERS;
use groove_driver::vfio::OpenError;
use groove_driver::vfio::sysfs::Bdf;
use groove_driver::{
    Device, Error, IdentityError, KernelVfio, Nic, QueueError, Receiver, Settings, SetupError,
    identify,
};
use groove_spec::nic::{FREE_CONSUMER, queue_offset};
use groove_spec::{Access, STAGES};
use serde::Serialize;

use super::{Hardware, Programmer, ProgrammerError};
use crate::pci::{Files, Kernel};

/// Longest that the kernel may take for one file: it waits for drivers, and a minute for a device
/// that does not come out of its reset.
const WRITE_LIMIT: Duration = Duration::from_secs(75);
/// Longest for the self-test.
const TEST_LIMIT: Duration = Duration::from_secs(90);
/// Longest until a device has fetched its first descriptor.
const FETCH_LIMIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Buffers of the queue.
const BUFFERS: usize = 64;
/// Every bit of a register is given both values.
const PATTERNS: [u32; 2] = [0, u32::MAX];

/// What the driver found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SelfTest {
    /// Receive queues.
    pub queues: usize,
    /// Bits of a beat.
    pub width: usize,
    /// Registers that held what was written, and their reset value after a reset.
    pub registers: usize,
    /// Descriptors that the device has read.
    pub descriptors: u32,
    /// Buffers that it has given back.
    pub buffers: usize,
}

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It is none of this table.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// It cannot be reached.
    #[error("the device failed")]
    Device(#[from] Error),
    /// A register does not hold a value.
    #[error("register {name} holds {found:#010x}, not {wanted:#010x}")]
    Register {
        /// Which.
        name: String,
        /// Its value.
        found: u32,
        /// What it should be.
        wanted: u32,
    },
    /// The driver does not take it.
    #[error("the driver does not take the device")]
    Setup(#[from] SetupError),
    /// Its queue failed.
    #[error("the driver gave up the queue")]
    Queue(#[from] QueueError),
    /// Its DMA does not work.
    #[error("the device has fetched no descriptor within {} s", FETCH_LIMIT.as_secs())]
    NoDma,
    /// Buffers stay away.
    #[error("{0} buffers of {BUFFERS} did not come home")]
    Buffers(usize),
    /// It does not end.
    #[error("the self-test took longer than {} s", TEST_LIMIT.as_secs())]
    TooLong,
}

impl TestError {
    /// What to do next.
    pub fn help(&self) -> String {
        let dmesg = "see the kernel's log: dmesg";
        match self {
            Self::Open(error) => error.help(),
            Self::Identity(error) => error.help().into(),
            Self::Device(error) => error.help().unwrap_or(dmesg).into(),
            Self::Setup(error) => error.help().unwrap_or(dmesg).into(),
            Self::Queue(error) => error.help().unwrap_or(dmesg).into(),
            Self::Register { .. } => {
                "the bitstream does not do what its table says: timing that was not met does that; \
                 see the report of its build"
                    .into()
            }
            Self::NoDma | Self::Buffers(_) => {
                "the card does not reach this machine's memory: see the kernel's log for the \
                 IOMMU's refusals, dmesg"
                    .into()
            }
            Self::TooLong => dmesg.into(),
        }
    }
}

/// Drives a device for a moment, and leaves it reset.
///
/// # Errors
/// What is wrong with it.
pub fn self_test(device: &Arc<dyn Device>) -> Result<SelfTest, TestError> {
    let identity = identify(&**device)?;
    device.reset()?;
    let registers = hold(&**device)?;
    device.reset()?;
    reset(&**device)?;
    let settings = Settings { ring: BUFFERS, buffers: BUFFERS, ..Settings::new(1) };
    let nic = Nic::open(Arc::clone(device), &settings)?;
    let mut receivers = nic.queues.into_iter().map(|queue| queue.attach());
    let mut receiver = receivers.next().ok_or(TestError::Buffers(BUFFERS))??;
    let descriptors = fetched(&**device, &mut receiver)?;
    receiver.stop(drop)?;
    let away = BUFFERS - receiver.census().spare;
    if away > 0 {
        return Err(TestError::Buffers(away));
    }
    let (queues, width) = (identity.queues, 8 * identity.width_bytes);
    Ok(SelfTest { queues, width, registers, descriptors, buffers: BUFFERS })
}

/// Every register that can be written, with its name, offset, bits and value after reset.
fn writable() -> impl Iterator<Item = (String, u64, u32, u32)> {
    let all = STAGES.iter().flat_map(|stage| stage.registers);
    all.filter(|register| register.access == Access::ReadWrite).flat_map(|register| {
        (0..register.count).map(|n| {
            let offset = (register.offset + 4 * n) as u64;
            let number = if register.count > 1 { format!("[{n}]") } else { String::new() };
            (format!("{}{number}", register.name), offset, register.mask(), register.reset)
        })
    })
}

fn hold(device: &dyn Device) -> Result<usize, TestError> {
    for pattern in PATTERNS {
        let value = |offset: u64| (offset as u32).wrapping_mul(0x9e37_79b1) ^ pattern;
        // All first: a register that is another one's shadow is found by its value.
        for (_, offset, mask, _) in writable() {
            device.write32(REGISTERS, offset, value(offset) & mask)?;
        }
        for (name, offset, mask, _) in writable() {
            let (found, wanted) = (device.read32(REGISTERS, offset)?, value(offset) & mask);
            if found != wanted {
                return Err(TestError::Register { name, found, wanted });
            }
        }
    }
    Ok(writable().count())
}

/// Registers after a reset. Tables in RAM keep what they had.
fn reset(device: &dyn Device) -> Result<(), TestError> {
    let table = groove_spec::stages::rss::RSS_INDIRECTION.name;
    for (name, offset, _, wanted) in writable().filter(|(name, ..)| !name.starts_with(table)) {
        let found = device.read32(REGISTERS, offset)?;
        if found != wanted {
            return Err(TestError::Register { name, found, wanted });
        }
    }
    Ok(())
}

/// Waits until the device has read descriptors from memory: how many.
fn fetched(device: &dyn Device, receiver: &mut Receiver) -> Result<u32, TestError> {
    let at = queue_offset(0, &FREE_CONSUMER) as u64;
    for _ in 0..FETCH_LIMIT.as_millis() / LOOK_EVERY.as_millis() {
        // What comes meanwhile goes home at once.
        receiver.poll(BUFFERS, drop)?;
        match device.read32(REGISTERS, at)? & FREE_CONSUMER.mask() {
            0 => std::thread::sleep(LOOK_EVERY),
            fetched => return Ok(fetched),
        }
    }
    Err(TestError::NoDma)
}

/// What a function gives within a bound; `None`: it goes on, and is left behind.
fn bounded<T: Send + 'static>(
    limit: Duration,
    what: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, result) = channel();
    std::thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = done.send(what());
    });
    result.recv_timeout(limit).ok()
}

/// This machine.
#[derive(Debug)]
pub struct Machine {
    /// Where the programmer's words go.
    pub log: PathBuf,
}

impl Kernel for Machine {
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let (path, text) = (path.to_owned(), text.to_owned());
        bounded(WRITE_LIMIT, move || Files.write(&path, &text))
            .unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Hardware for Machine {
    fn poke(&mut self, path: &Path, offset: u16, bytes: &[u8]) -> io::Result<()> {
        let (path, bytes) = (path.to_owned(), bytes.to_owned());
        let write = move || {
            let file = std::fs::OpenOptions::new().write(true).open(path)?;
            file.write_all_at(&bytes, offset.into())
        };
        bounded(WRITE_LIMIT, write).unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }

    fn program(
        &mut self,
        programmer: &Programmer,
        file: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), ProgrammerError> {
        programmer.run(file, &self.log, stop)
    }

    fn test(&mut self, bdf: Bdf) -> Result<SelfTest, TestError> {
        let test = move || {
            let device: Arc<dyn Device> = Arc::new(KernelVfio::open(bdf)?);
            self_test(&device)
        };
        bounded(TEST_LIMIT, test).unwrap_or(Err(TestError::TooLong))
    }

    fn sleep(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
