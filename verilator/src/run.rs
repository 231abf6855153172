//! What goes into a run of the receive pipeline, and what comes out.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use groove_hdl::emit::Design;
use groove_hdl::pipeline::{ParameterError, Parameters};
use groove_spec::{BUCKET_DEPTH, BUCKETS, Delivery, DropReason, QUEUES_MAX, TokenKind};

use crate::Error;

/// Cycles of the surroundings of a failure, before it and after.
const BEFORE_CYCLES: u64 = 300;
const AFTER_CYCLES: u64 = 50;

/// Which hardware to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// Bits of a beat: 64, 128, 256 or 512.
    pub width: usize,
    /// Receive queues, 1 to 32.
    pub queues: usize,
    /// Buckets per queue.
    pub buckets: usize,
    /// Sessions per bucket.
    pub depth: usize,
    /// Back-pressure to the MAC instead of dropping frames.
    pub lossless: bool,
    /// Built for waves: about three times slower to build, and slower to run.
    pub trace: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            width: 512,
            queues: QUEUES_MAX,
            buckets: BUCKETS,
            depth: BUCKET_DEPTH,
            lossless: true,
            trace: false,
        }
    }
}

impl BuildOptions {
    fn parameters(&self) -> Parameters {
        let Self { width, queues, buckets, depth, lossless, .. } = *self;
        Parameters { width, queues, buckets, depth, lossless }
    }

    /// The receive pipeline as Verilog.
    pub(crate) fn verilog(&self) -> Result<Arc<str>, Error> {
        static TEXTS: Texts = Mutex::new(Vec::new());
        emitted(&TEXTS, &self.parameters(), groove_hdl::pipeline::emit)
    }

    /// The NIC around it as Verilog.
    pub(crate) fn nic_verilog(&self) -> Result<Arc<str>, Error> {
        static TEXTS: Texts = Mutex::new(Vec::new());
        emitted(&TEXTS, &self.parameters(), groove_hdl::nic::emit)
    }
}

/// What was emitted in this process: emission takes seconds, and a run may open many instances.
type Texts = Mutex<Vec<(Parameters, Arc<str>)>>;

/// The text of a design. RustHDL panics where other libraries return errors.
fn emitted(
    texts: &Texts,
    parameters: &Parameters,
    emit: fn(&Parameters) -> Result<Design, ParameterError>,
) -> Result<Arc<str>, Error> {
    let mut texts = texts.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, text)) = texts.iter().find(|(known, _)| known == parameters) {
        return Ok(Arc::clone(text));
    }
    match std::panic::catch_unwind(|| emit(parameters)) {
        Ok(Ok(design)) => {
            let text: Arc<str> = design.verilog.into();
            texts.push((*parameters, Arc::clone(&text)));
            Ok(text)
        }
        Ok(Err(error)) => Err(Error::Emission(error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied());
            Err(Error::Emission(text.unwrap_or("a panic without words").to_owned()))
        }
    }
}

/// Cycles whose waves are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    /// FST file.
    pub path: PathBuf,
    /// First cycle, counted from reset.
    pub from_cycle: u64,
    /// How many cycles.
    pub cycles: u64,
}

impl Wave {
    /// The whole run.
    pub fn all(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), from_cycle: 0, cycles: u64::MAX }
    }

    /// The surroundings of a cycle in which something went wrong.
    pub fn around(path: impl Into<PathBuf>, cycle: u64) -> Self {
        let from_cycle = cycle.saturating_sub(BEFORE_CYCLES);
        Self { path: path.into(), from_cycle, cycles: cycle - from_cycle + AFTER_CYCLES }
    }
}

/// How to run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunConfig {
    /// Seed of idle, back-pressure and refusals; the same seed repeats the run cycle by cycle.
    pub seed: u64,
    /// Share of cycles in which each port pauses, in percent (at most 95).
    pub stall_percent: u8,
    /// The same for the output ports alone: overload, where the input is faster. `None`: as above.
    pub output_stall_percent: Option<u8>,
    /// Share of cycles in which `admit` is low, so that frames are refused, in percent.
    pub refuse_percent: u8,
    /// Registers to write before traffic: byte offset and value.
    pub registers: Vec<(u32, u32)>,
    /// Waves to write; needs [`BuildOptions::trace`].
    pub wave: Option<Wave>,
    /// Cycles without progress on any port after which the run fails.
    pub watchdog_cycles: u64,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            stall_percent: 0,
            output_stall_percent: None,
            refuse_percent: 0,
            registers: Vec::new(),
            wave: None,
            watchdog_cycles: 50_000,
        }
    }
}

/// One input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stimulus<'a> {
    /// A frame without FCS, at least one byte.
    Frame {
        /// All bytes.
        bytes: &'a [u8],
        /// The MAC found the FCS wrong.
        bad_fcs: bool,
    },
    /// A token, between two frames.
    Token {
        /// Queue.
        queue: u8,
        /// Kind.
        kind: TokenKind,
    },
}

/// One output. Deliveries are in the order of their operations, drops in the order of the logs; the
/// two are not ordered against each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A delivery.
    Delivery(Delivery),
    /// A frame that was dropped.
    Drop {
        /// Its number, from 0 since reset.
        frame: u32,
        /// Why.
        reason: DropReason,
    },
}

/// Counts since reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Clock cycles, reset and register writes included.
    pub cycles: u64,
    /// First cycle in which a beat was accepted; 0 if none was.
    pub first_beat_cycle: u64,
    /// Last cycle in which a beat was accepted.
    pub last_beat_cycle: u64,
    /// Beats in.
    pub beats_in: u64,
    /// Frames in, dropped ones included.
    pub frames: u64,
    /// Bytes in.
    pub bytes: u64,
    /// Tokens in.
    pub tokens: u64,
    /// Operations out.
    pub operations: u64,
    /// Payload beats out.
    pub beats_out: u64,
    /// Frames dropped.
    pub drops: u64,
    /// Deliveries out.
    pub deliveries: u64,
}
