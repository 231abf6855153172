//! Rates of the hardware through to memory, with a host that never is in its way.
//!
//!   frames ──► hardware ──► memory;  all queues run, with thousands of buffers posted beforehand
//!
//! The buffers of all queues lie in the same memory, and completions are not read: what is measured
//! is the hardware and its memory alone.
//! Invariants: no frame of a measured run is dropped, or it is an error
//! (`bulk_goes_through_at_line_rate`).

use groove_spec::nic::{self, COMPLETION_PRODUCER, DESCRIPTOR_BYTES, QUEUE_NO_BUFFER};
use groove_spec::{Register, TokenKind};
use groove_verilator::nic::{Entry, HostMemory, NicConfig, NicHarness, Ranges};
use groove_verilator::{BuildOptions, Error, Stimulus};

const RING_LOG2: u32 = 12;
const BUFFERS: usize = 256;
const BUFFER_BYTES: usize = 4096;
/// Where the parts of the memory lie.
const FREE: u64 = 1 << 32;
const COMPLETIONS: u64 = 2 << 32;
const HEADERS: u64 = 3 << 32;
const DATA: u64 = 4 << 32;

/// What a run took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Frames taken.
    pub frames: u64,
    /// Beats that they had.
    pub beats: u64,
    /// Completions written.
    pub completions: u64,
    /// Cycles from the first beat to the last one.
    pub input_cycles: u64,
    /// Cycles from the first beat to the last response of memory, a flush of all queues included.
    pub cycles: u64,
}

/// The hardware with all its queues running.
pub struct Rig {
    nic: NicHarness<Ranges>,
    queues: usize,
}

fn memory() -> Ranges {
    let mut memory = Ranges::default();
    let entries = 1 << RING_LOG2;
    memory.add(FREE, entries * DESCRIPTOR_BYTES);
    memory.add(COMPLETIONS, entries * nic::COMPLETION_BYTES);
    memory.add(HEADERS, BUFFERS * nic::HEADER_SLOT_BYTES);
    memory.add(DATA, BUFFERS * BUFFER_BYTES);
    for i in 0..entries {
        let id = i % BUFFERS;
        let mut descriptor = [0; DESCRIPTOR_BYTES];
        let address = DATA + (id * BUFFER_BYTES) as u64;
        descriptor[..8].copy_from_slice(&address.to_le_bytes());
        descriptor[8..12].copy_from_slice(&(BUFFER_BYTES as u32).to_le_bytes());
        descriptor[12..14].copy_from_slice(&(id as u16).to_le_bytes());
        // It lies inside: `entries` of them were added.
        let _ = memory.write(FREE + (i * DESCRIPTOR_BYTES) as u64, &descriptor);
    }
    memory
}

impl Rig {
    /// Builds the hardware and starts its queues; `registers` are written before.
    ///
    /// # Errors
    /// If a tool is missing or fails, or the hardware breaks a protocol.
    pub fn open(
        build: &BuildOptions,
        run: &NicConfig,
        registers: &[(u32, u32)],
        split: bool,
    ) -> Result<Self, Error> {
        let nic = NicHarness::open(build, run, memory())?;
        let mut rig = Self { nic, queues: build.queues };
        for (offset, value) in registers {
            rig.nic.write32(*offset as u16, *value)?;
        }
        for queue in 0..rig.queues {
            rig.start(queue, split)?;
        }
        rig.nic.settle()?;
        Ok(rig)
    }

    fn start(&mut self, queue: usize, split: bool) -> Result<(), Error> {
        let bases = [
            (&nic::FREE_BASE_LOW, &nic::FREE_BASE_HIGH, FREE),
            (&nic::COMPLETION_BASE_LOW, &nic::COMPLETION_BASE_HIGH, COMPLETIONS),
            (&nic::HEADER_BASE_LOW, &nic::HEADER_BASE_HIGH, HEADERS),
        ];
        for (low, high, address) in bases {
            self.write(queue, low, address as u32)?;
            self.write(queue, high, (address >> 32) as u32)?;
        }
        self.write(queue, &nic::RING_SIZES, RING_LOG2 << 8 | RING_LOG2)?;
        self.write(queue, &nic::BUFFER_SIZE, BUFFER_BYTES as u32)?;
        // Timers off: nothing is flushed.
        self.write(queue, &nic::HOLD, 0)?;
        self.write(queue, &nic::MODERATION, 1)?;
        let on = nic::QUEUE_CONTROL.field("enable").mask();
        let split = if split { nic::QUEUE_CONTROL.field("split").mask() } else { 0 };
        self.write(queue, &nic::QUEUE_CONTROL, on | split)?;
        self.write(queue, &nic::FREE_PRODUCER, 1 << RING_LOG2)
    }

    fn write(&mut self, queue: usize, register: &Register, value: u32) -> Result<(), Error> {
        self.nic.write32(nic::queue_offset(queue, register) as u16, value)
    }

    fn sum(&mut self, register: &Register) -> Result<u64, Error> {
        (0..self.queues).try_fold(0, |sum, queue| {
            let value = self.nic.read32(nic::queue_offset(queue, register) as u16)?;
            Ok(sum + u64::from(value))
        })
    }

    /// Sends frames back to back and flushes all queues behind them. Together the runs of a rig
    /// may fill 4,096 buffers of each queue.
    ///
    /// # Errors
    /// If the hardware breaks a protocol, or drops a frame.
    pub fn run<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> Result<Window, Error> {
        let before = (self.nic.stats(), self.sum(&COMPLETION_PRODUCER)?);
        self.nic.settle()?;
        let start = self.nic.cycle();
        for bytes in frames {
            self.nic.push(Stimulus::Frame { bytes, bad_fcs: false })?;
        }
        for queue in 0..self.queues as u8 {
            self.nic.push(Stimulus::Token { queue, kind: TokenKind::FlushAll })?;
        }
        self.nic.settle()?;
        let stats = self.nic.stats();
        let dropped = |entry: &Entry| matches!(entry, Entry::Frame { dropped: Some(_) });
        let drops = self.nic.entries().iter().filter(|entry| dropped(entry)).count();
        if drops > 0 {
            let no_buffer = self.sum(&QUEUE_NO_BUFFER)?;
            let what = format!("{drops} frames were dropped, {no_buffer} for want of buffers");
            return Err(Error::Protocol { port: "drop".to_owned(), cycle: stats.cycles, what });
        }
        Ok(Window {
            frames: stats.frames - before.0.frames,
            beats: stats.beats_in - before.0.beats_in,
            completions: self.sum(&COMPLETION_PRODUCER)? - before.1,
            input_cycles: (stats.last_beat_cycle + 1).saturating_sub(start).max(1),
            cycles: stats.last_move_cycle.saturating_sub(start).max(1),
        })
    }
}
