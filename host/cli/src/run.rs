//! A whole run: a capture through a device, rings and driver, on threads, checked as it goes.
//!
//!   capture ─► room ─► device ═► rings ═► receiving threads ─► released here or on other threads
//!     schedule ─┘        └─ journal ─► model ─► check ◄─ copies ─┘
//!
//! Invariants: the driver's deliveries are those that `groove sim` gives for the same capture
//! (`a_run_equals_a_simulation`), but for frames that found no buffer; at the end every pool is
//! whole and the device has counted every frame (`buffers_come_home_on_every_way`); a run that is
//! interrupted is drained and checked like any other (`an_interrupted_run_is_drained`).
//! Not here: printing, signals.

mod bed;
mod check;
mod feed;
mod receive;
mod remote;
mod report;
pub mod room;
mod table;

pub use bed::{Bed, BedError, ModelBed, RtlBed};
pub use check::{Check, Checked, Fault};
pub use receive::{Release, Waits};
pub use remote::RemoteBed;
pub use report::{QueueReport, Report, Times};
pub use room::{Shortage, worst_case};
pub use table::table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

use groove_driver::identify::REGISTERS;
use groove_driver::{Census, Device, Nic, QueueError, Rss, RxQueue, Settings, SetupError};
use groove_model::{Config, ConfigError};
use groove_spec::Register;
use groove_spec::nic::{QUEUE_DMA_ERRORS, QUEUE_NO_BUFFER, queue_offset};
use groove_spec::stages::ingress::FRAMES;

use crate::capture::{self, Reader};
use crate::sim::{self, Conservation, MismatchReport};
use feed::Feeder;
use receive::{Finished, Shared};

/// What a run is to do.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Configuration, flush points, records.
    pub input: sim::Setup,
    /// Receiving threads.
    pub threads: usize,
    /// Where deliveries are released.
    pub release: Release,
    /// Buffers of each queue.
    pub pool: usize,
    /// Bytes of a buffer.
    pub buffer_bytes: usize,
    /// Headers apart from payload.
    pub split: bool,
    /// What frames without buffers do.
    pub shortage: Shortage,
}

impl Setup {
    fn settings(&self) -> Settings {
        let settings = settings(&self.input.config);
        Settings {
            ring: self.pool.next_power_of_two(),
            buffers: self.pool,
            buffer_bytes: self.buffer_bytes,
            split: self.split,
            ..settings
        }
    }
}

/// Settings of the driver that mean the same as a configuration of the model. Timers are off: the
/// input says where sessions are flushed.
pub fn settings(config: &Config) -> Settings {
    Settings {
        control: config.control_word(),
        station: config.station,
        max_frame_bytes: config.max_frame_bytes,
        moderation_time: 0,
        hold_time: 0,
        rss: Rss {
            key: config.rss.key,
            hash_types: config.rss.hash_types,
            symmetric: config.rss.symmetric,
            indirection: config.rss.indirection,
            default_queue: config.rss.default_queue,
        },
        ..Settings::new(config.queues.into())
    }
}

/// Why a run gives no report.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A configuration that no device could have.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The driver does not take the device.
    #[error("the driver does not take the device")]
    Setup(#[from] SetupError),
    /// The device did not take a frame.
    #[error("the device failed at frame {frame}")]
    Bed {
        /// Number of the frame that it was given last.
        frame: u64,
        /// Why.
        source: BedError,
    },
    /// A queue failed.
    #[error("the driver gave up a queue")]
    Queue(#[from] QueueError),
    /// A frame was lost, invented or delivered twice.
    #[error("frames are not conserved: {0}")]
    Conservation(#[from] Conservation),
    /// The device says that it took frames that nobody gave it.
    #[error("the device's journal has more frames than came from the wire")]
    Journal,
    /// Buffers are not all home.
    #[error(
        "buffers are not conserved: of the {pool} of queue {queue}, {} are with the device, {} \
         out, {} home",
        census.with_device, census.out, census.spare
    )]
    Buffers {
        /// Queue.
        queue: usize,
        /// Buffers that it has.
        pool: usize,
        /// Where they are.
        census: Census,
    },
    /// A counter of device or driver is wrong.
    #[error("the counter of {what} is {found}, but there were {expected}")]
    Counter {
        /// Of what.
        what: &'static str,
        /// Its number.
        found: u64,
        /// The right one.
        expected: u64,
    },
}

/// What a run gives.
#[derive(Debug)]
pub struct Outcome {
    /// Counts.
    pub report: Report,
    /// Why the capture was not read to its end.
    pub damage: Option<capture::Error>,
    /// Why the run stopped before the end.
    pub mismatch: Option<MismatchReport>,
}

/// Runs a capture. `stop` ends it early, drained. `progress` is told the position in the file.
pub fn run(
    reader: &mut Reader,
    bed: Arc<dyn Bed>,
    setup: &Setup,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome, RunError> {
    let nic = Nic::open(bed.device(), &setup.settings())?;
    // What was before this run is not replayed.
    bed.journal().map_err(|source| RunError::Bed { frame: 0, source })?;
    let shared = Shared::new(nic.queues.len());
    let (found_in, found) = channel();
    let check = Check::new(&setup.input.config, found)?;
    let mut report = Report::new(reader.path(), bed.name(), setup);
    report.memory = nic.queues.iter().map(Into::into).collect();
    let mut feeder = Feeder::new(Arc::clone(&bed), setup, &shared, check, report)?;
    let start = Instant::now();
    let (fed, threads) = std::thread::scope(|scope| {
        let spawn = |queues| {
            let (found, shared) = (found_in.clone(), &shared);
            scope.spawn(move || receive::run(queues, setup.release, found, shared))
        };
        let threads: Vec<_> = deal(nic.queues, setup.threads).into_iter().map(spawn).collect();
        drop(found_in);
        let fed = feeder.feed(reader, stop, progress);
        shared.end.store(true, Ordering::Release);
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (fed, threads.into_iter().map(join).collect::<Result<Vec<Finished>, _>>())
    });
    // A queue that was given up is why feeding stopped, if both failed.
    let finished = threads?;
    let fed = fed.and_then(|damage| feeder.finish().map(|()| damage));
    feeder.report.times = Times::new(start.elapsed(), &feeder.report, bed.cycles());
    let (damage, mismatch) = match fed {
        Ok(damage) => (damage, None),
        Err(feed::Stop::Failed(error)) => return Err(error),
        Err(feed::Stop::Mismatch(mismatch)) => {
            (None, Some(MismatchReport::new(*mismatch, None, feeder.ledger())))
        }
    };
    let mut report = feeder.report;
    if mismatch.is_none() {
        count(&*bed.device(), &report, &finished, setup)?;
    }
    report.close(&finished, damage.as_ref(), mismatch.as_ref());
    Ok(Outcome { report, damage, mismatch })
}

/// Deals the queues out to threads, one after the other. No thread is without a queue.
fn deal(queues: Vec<RxQueue>, threads: usize) -> Vec<Vec<RxQueue>> {
    let threads = threads.clamp(1, queues.len().max(1));
    let mut dealt: Vec<Vec<RxQueue>> = (0..threads).map(|_| Vec::new()).collect();
    for (i, queue) in queues.into_iter().enumerate() {
        dealt[i % threads].push(queue);
    }
    dealt
}

/// Holds the pools and the device's counters to what was counted here.
fn count(
    device: &dyn Device,
    report: &Report,
    finished: &[Finished],
    setup: &Setup,
) -> Result<(), RunError> {
    let failed = |source: groove_driver::Error| RunError::Bed {
        frame: report.frames,
        source: source.into(),
    };
    let same = |what, found: u64, expected: u64| match found == expected {
        true => Ok(()),
        false => Err(RunError::Counter { what, found, expected }),
    };
    let mut no_buffer = 0;
    for ended in finished.iter().flat_map(|finished| &finished.queues) {
        let (queue, pool) = (ended.queue.number(), setup.pool);
        let census = ended.census;
        if (census.with_device, census.out, census.spare) != (0, 0, pool) {
            return Err(RunError::Buffers { queue, pool, census });
        }
        let read = |register: &Register| {
            device.read32(REGISTERS, queue_offset(queue, register) as u64).map(u64::from)
        };
        let returns = ended.stats.returns;
        let released = returns.home + returns.away + returns.overflow;
        same("buffers released", released, ended.delivered)?;
        no_buffer += read(&QUEUE_NO_BUFFER).map_err(failed)?;
        same("DMA errors", read(&QUEUE_DMA_ERRORS).map_err(failed)?, 0)?;
    }
    let reason = usize::from(groove_spec::DropReason::NoBuffer.code());
    same("frames without a buffer", no_buffer, report.drops[reason])?;
    let frames = device.read32(REGISTERS, FRAMES.offset as u64).map_err(failed)?;
    same("frames", frames.into(), report.frames & u64::from(u32::MAX))
}
