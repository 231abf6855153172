//! Runs the NIC `groove_nic`: frames and tokens in, host memory and registers around it, all on its
//! pins.
//!
//!   push ──► s_axis, s_token ──►┌──────────┐──► AW, W, B / AR, R ──► memory model ──► HostMemory
//!   read32, write32 ─► AXI-Lite │ hardware │──► MSI-X ──► vectors
//!                        flr ──►└──────────┘──► token_log, drops ──► entries
//!
//! Invariants: one seed and the same calls repeat a run cycle by cycle
//! (`same_seed_and_calls_repeat_the_run`); every wait is bounded, and its error says what was
//! waited for (`waits_are_bounded`); nothing but pins is touched; between the end of a reset and
//! the first register write the hardware does nothing (`access_behind_a_reset_is_caught`).
//! Not here: rings and registers, and what bytes mean.

mod burst;
mod config;
mod lite;
mod logs;
mod memory;
mod msix;
mod reads;
mod reset;
mod wait;
mod writes;

pub use config::NicConfig;
pub use logs::Entry;
pub use memory::{HostMemory, Ranges, Refused};

use crate::dut::{Dut, Port};
use crate::inputs::Inputs;
use crate::{BuildOptions, Error, Source, Stimulus, Toolbox};

use lite::{Access, Lite};
use logs::Logs;
use msix::Msix;
use reads::Reads;
use writes::Writes;

/// Name of the top module.
const TOP: &str = "groove_nic";
/// Stimulus that may wait inside before `push` lets the clock run.
const WAITING_ITEMS_MAX: usize = 32;
const WAITING_BYTES_MAX: usize = 1 << 15;

struct Ports {
    reset: Port,
    flr: Port,
    flr_busy: Port,
    write_response_ready: Port,
    read_data_ready: Port,
}

impl Ports {
    fn new(dut: &Dut) -> Result<Self, Error> {
        Ok(Self {
            reset: dut.port("sys_rst")?,
            flr: dut.port("flr")?,
            flr_busy: dut.port("flr_busy")?,
            write_response_ready: dut.port("axi_bready")?,
            read_data_ready: dut.port("axi_rready")?,
        })
    }
}

/// Counts since power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicStats {
    /// Clock cycles.
    pub cycles: u64,
    /// Cycle of the last transfer on any pin, or of the last call.
    pub last_move_cycle: u64,
    /// Frames taken.
    pub frames: u64,
    /// Beats of frames taken.
    pub beats_in: u64,
    /// Cycle in which the last of them was.
    pub last_beat_cycle: u64,
    /// Write bursts, and their beats.
    pub writes: u64,
    /// Beats written.
    pub write_beats: u64,
    /// Read bursts.
    pub reads: u64,
    /// Bursts that the memory refused.
    pub refused: u64,
    /// MSI-X messages.
    pub messages: u64,
}

/// What a function-level reset has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Behind a reset, before the first register write.
    Fresh,
    Running,
    /// In a function-level reset.
    Flr,
}

/// The NIC under simulation, with its memory.
pub struct NicHarness<M> {
    dut: Dut,
    memory: M,
    ports: Ports,
    inputs: Inputs,
    writes: Writes,
    reads: Reads,
    lite: Lite,
    msix: Msix,
    logs: Logs,
    config: NicConfig,
    phase: Phase,
    /// Frames pushed since the last reset: the hardware numbers them so.
    pushed_frames: u32,
    frames: u64,
    beats_in: u64,
    last_beat: u64,
    /// Cycle of the clock at which this run began.
    start: u64,
    /// Cycle of the last transfer on any pin, or of the last call.
    last_move: u64,
    wave_on: bool,
}

impl<M: HostMemory> NicHarness<M> {
    /// Emits the hardware, builds it or takes it from the cache.
    ///
    /// # Errors
    /// If a tool is missing or fails, or the parameters cannot be built.
    pub fn open(options: &BuildOptions, config: &NicConfig, memory: M) -> Result<Self, Error> {
        Self::from_verilog(&options.nic_verilog()?, options, config, memory)
    }

    /// As [`NicHarness::open`], from a Verilog text of the caller's, with top module `groove_nic`.
    ///
    /// # Errors
    /// If a tool is missing or fails, or ports are missing or have another width.
    pub fn from_verilog(
        verilog: &str,
        options: &BuildOptions,
        config: &NicConfig,
        memory: M,
    ) -> Result<Self, Error> {
        let source = Source { top: TOP, verilog, trace: options.trace };
        let dut = Dut::build_with(&source, &Toolbox::from_env())?;
        check_widths(&dut, options.width)?;
        let width_bytes = options.width / 8;
        let mut harness = Self {
            ports: Ports::new(&dut)?,
            inputs: Inputs::unordered(&dut, options)?,
            writes: Writes::new(&dut, width_bytes)?,
            reads: Reads::new(&dut, width_bytes)?,
            lite: Lite::new(&dut)?,
            msix: Msix::new(&dut)?,
            logs: Logs::new(&dut)?,
            dut,
            memory,
            config: config.clone(),
            phase: Phase::Fresh,
            pushed_frames: 0,
            frames: 0,
            beats_in: 0,
            last_beat: 0,
            start: 0,
            last_move: 0,
            wave_on: false,
        };
        harness.power_on(config)?;
        Ok(harness)
    }

    /// The memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The memory, to be changed between two cycles.
    pub fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }

    /// Adds stimulus; lets the clock run if much of it waits already.
    ///
    /// # Errors
    /// If the frame is empty, the hardware breaks a protocol, or nothing moves any more.
    pub fn push(&mut self, stimulus: Stimulus) -> Result<(), Error> {
        self.called();
        match stimulus {
            Stimulus::Frame { bytes: [], .. } => {
                return Err(Error::EmptyFrame { frame: self.pushed_frames.into() });
            }
            Stimulus::Frame { .. } => self.pushed_frames += 1,
            Stimulus::Token { .. } => {}
        }
        self.inputs.push(stimulus);
        loop {
            let (items, bytes) = self.inputs.waiting();
            if items < WAITING_ITEMS_MAX && bytes < WAITING_BYTES_MAX {
                return Ok(());
            }
            self.step()?;
        }
    }

    /// Reads a register.
    ///
    /// # Errors
    /// If the hardware breaks a protocol or refuses, or does not answer.
    pub fn read32(&mut self, address: u16) -> Result<u32, Error> {
        match self.access(Access::Read { address })? {
            (0, data) => Ok(data),
            (code, _) => Err(self.refusal("axil_r", address, code)),
        }
    }

    /// Writes a register.
    ///
    /// # Errors
    /// If the hardware breaks a protocol or refuses, or does not answer.
    pub fn write32(&mut self, address: u16, data: u32) -> Result<(), Error> {
        match self.write_strobed(address, data, lite::ALL)? {
            0 => Ok(()),
            code => Err(self.refusal("axil_b", address, code)),
        }
    }

    /// Writes some bytes of a register, or at any address; the response code.
    ///
    /// # Errors
    /// If the hardware breaks a protocol, or does not answer.
    pub fn write_strobed(&mut self, address: u16, data: u32, strobes: u8) -> Result<u8, Error> {
        Ok(self.access(Access::Write { address, data, strobes })?.0)
    }

    fn access(&mut self, access: Access) -> Result<(u8, u32), Error> {
        self.called();
        if self.phase == Phase::Fresh && matches!(access, Access::Write { .. }) {
            self.phase = Phase::Running;
        }
        self.lite.begin(&mut self.dut, access);
        while self.lite.busy().is_some() {
            self.step()?;
        }
        Ok(self.lite.answer)
    }

    fn refusal(&self, port: &str, address: u16, code: u8) -> Error {
        let what = format!("register {address:#x} answers with the code {code}");
        Error::Protocol { port: port.to_owned(), cycle: self.dut.cycle() - self.start, what }
    }

    /// The next MSI-X message: its vector.
    pub fn take_message(&mut self) -> Option<u8> {
        self.msix.messages.pop_front()
    }

    /// What went into the pipeline since the last call, in order: all that was pushed. Call it when
    /// the hardware has settled: a frame on its way counts as not dropped.
    pub fn entries(&mut self) -> Vec<Entry> {
        self.logs.entries(self.pushed_frames)
    }

    /// Cycles since power-on.
    pub fn cycle(&self) -> u64 {
        self.dut.cycle() - self.start
    }

    /// Counts since power-on.
    pub fn stats(&self) -> NicStats {
        NicStats {
            cycles: self.cycle(),
            last_move_cycle: self.last_move.saturating_sub(self.start),
            frames: self.frames,
            beats_in: self.beats_in,
            last_beat_cycle: self.last_beat,
            writes: self.writes.begun,
            write_beats: self.writes.beats,
            reads: self.reads.begun,
            refused: self.writes.refused + self.reads.refused,
            messages: self.msix.count,
        }
    }

    /// One clock cycle.
    ///
    /// # Errors
    /// If the hardware breaks a protocol, or nothing moves though something has to.
    pub fn step(&mut self) -> Result<(), Error> {
        if self.config.wave.is_some() {
            self.wave()?;
        }
        let dut = &mut self.dut;
        self.inputs.present(dut);
        self.writes.present(dut, &mut self.memory);
        self.reads.present(dut, &mut self.memory);
        self.lite.present(dut);
        self.msix.present(dut, self.phase != Phase::Flr);
        self.cycle_once().map_err(|e| e.since(self.start))?;
        let idle = self.dut.cycle() - self.last_move;
        if idle > self.config.watchdog_cycles && self.waits() {
            return Err(self.stuck(idle));
        }
        Ok(())
    }

    fn cycle_once(&mut self) -> Result<(), Error> {
        let dut = &mut self.dut;
        dut.settle()?;
        let now = dut.cycle();
        let flr = self.phase == Phase::Flr;
        if self.phase == Phase::Fresh {
            const WHY: &str = "valid behind a reset, before anything was asked for";
            self.writes.check_silent(dut, WHY)?;
            self.reads.check_silent(dut, WHY)?;
            self.msix.check_silent(dut, WHY)?;
        }
        let mut moved = self.writes.observe(dut, flr)?;
        moved |= self.reads.observe(dut)?;
        moved |= self.lite.observe(dut)?;
        if !flr {
            moved |= self.msix.observe(dut)?;
            moved |= self.logs.observe(dut, self.pushed_frames)?;
        }
        let taken = self.inputs.accept(dut)?;
        moved |= taken.beat || taken.token;
        if taken.beat {
            self.beats_in += 1;
            self.last_beat = now - self.start;
        }
        self.frames += u64::from(taken.frame);
        let write_ready = dut.read(self.ports.write_response_ready) != 0;
        let read_ready = dut.read(self.ports.read_data_ready) != 0;
        dut.edge()?;
        self.inputs.withdraw(dut, taken);
        self.lite.withdraw(dut);
        moved |= self.writes.withdraw(dut, write_ready);
        moved |= self.reads.withdraw(dut, read_ready);
        if moved {
            self.last_move = now;
        }
        Ok(())
    }
}

/// Refuses ports that the harness could not drive.
fn check_widths(dut: &Dut, width: usize) -> Result<(), Error> {
    let widths = [
        ("s_axis_tdata", width),
        ("s_axis_tkeep", width / 8),
        ("axi_wdata", width),
        ("axi_wstrb", width / 8),
        ("axi_rdata", width),
        ("axi_awaddr", 64),
        ("axi_araddr", 64),
        ("axil_awaddr", 16),
        ("axil_araddr", 16),
        ("axil_rdata", 32),
    ];
    for (name, needed) in widths {
        let found = dut.width(dut.port(name)?);
        if found != needed {
            return Err(Error::PortWidth { port: name.to_owned(), found, needed });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "nic_tests.rs"]
mod tests;
