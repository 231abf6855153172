//! The wire of a served device: plays a capture to whoever drives it, cut as `groove run` cuts it;
//! or lets through what comes from the kernel (`tap`).
//!
//!   queues run? ──► configuration from the registers ──► frame, room? ──► device ──► next
//!        ▲                                                                             │
//!        └────────────────────── driver gone ◄── end: flush every queue ◄──────────────┘
//!
//! Each driver gets a whole capture, once: captures come in turn. A frame waits for its queue to
//! run and to have buffers, since a wire here has no other hurry; it does not wait longer than
//! [`room::WAIT_MAX`].
//! Invariant: what a driver gets is what `groove sim` gives for the same capture
//! (`a_capture_comes_through_the_socket`).
//! Not here: the socket (`groove_serve`), printing, signals.

mod report;
mod tap;

pub use report::{DriverReport, MappedReport, PlayedReport, Report};
pub use tap::{Heard, Source, listen};

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use groove_device::configuration;
use groove_driver::identify::REGISTERS;
use groove_driver::{Device, IdentityError, identify};
use groove_model::{ConfigError, Model};
use groove_spec::nic::{BUFFER_SIZE, QUEUE_STATUS, queue_offset};

use crate::capture::{self, Reader};
use crate::run::room::{self, Room};
use crate::run::{Bed, BedError};
use crate::sim::{CutRule, Pace, Schedule, Token};

/// Between two looks for a driver.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What is played.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Captures, in turn; at least one.
    pub captures: Vec<PathBuf>,
    /// Where flush points are.
    pub pace: Pace,
    /// Rule for frames that the snap length cut.
    pub cut: CutRule,
    /// Most records to read.
    pub limit: Option<u64>,
}

/// Why playing ends.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] capture::Error),
    /// Frames no longer come from the kernel.
    #[error("failed to read from the TAP interface")]
    Tap(#[from] io::Error),
    /// The device failed.
    #[error("the device failed")]
    Bed(#[from] BedError),
    /// It says that it is something else.
    #[error("the device failed")]
    Identity(#[from] IdentityError),
    /// Its registers hold what no device can do.
    #[error("the driver asked for what no device can do")]
    Config(#[from] ConfigError),
}

impl From<groove_driver::Error> for WireError {
    fn from(error: groove_driver::Error) -> Self {
        Self::Bed(error.into())
    }
}

/// What became of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    /// Which of the captures.
    pub capture: usize,
    /// Frames that went in.
    pub frames: u64,
    /// The driver went before the end.
    pub cut_short: bool,
}

/// Plays until `stop`. `drivers` counts those that came; `tell` hears of every capture that has
/// ended.
pub fn play(
    bed: &dyn Bed,
    wire: &Wire,
    drivers: &AtomicU64,
    stop: &AtomicBool,
    mut tell: impl FnMut(Played),
) -> Result<(), WireError> {
    let mut line = Line::new(bed, drivers, stop)?;
    for capture in (0..wire.captures.len()).cycle() {
        if !line.wait_until(|line| Ok(line.running()? > 0))? {
            break;
        }
        line.driver = drivers.load(Ordering::Acquire);
        let (frames, cut_short) = line.once(wire, &wire.captures[capture])?;
        tell(Played { capture, frames, cut_short });
        if !line.wait_until(Line::is_left)? {
            break;
        }
    }
    Ok(())
}

/// The wire of a device, and what it has to know of the driver behind it.
struct Line<'a> {
    bed: &'a dyn Bed,
    device: Arc<dyn Device>,
    drivers: &'a AtomicU64,
    stop: &'a AtomicBool,
    queues: usize,
    /// The driver that frames are for.
    driver: u64,
}

impl<'a> Line<'a> {
    fn new(
        bed: &'a dyn Bed,
        drivers: &'a AtomicU64,
        stop: &'a AtomicBool,
    ) -> Result<Self, WireError> {
        let device = bed.device();
        let queues = identify(&*device)?.queues;
        Ok(Self { bed, device, drivers, stop, queues, driver: 0 })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn runs(&self, queue: usize) -> Result<bool, WireError> {
        let offset = queue_offset(queue, &QUEUE_STATUS) as u64;
        let status = self.device.read32(REGISTERS, offset)?;
        Ok(status & QUEUE_STATUS.field("running").mask() != 0)
    }

    fn running(&self) -> Result<usize, WireError> {
        let mut running = 0;
        for queue in 0..self.queues {
            running += usize::from(self.runs(queue)?);
        }
        Ok(running)
    }

    /// The driver has gone, whoever may be there now.
    fn is_left(&self) -> Result<bool, WireError> {
        Ok(self.drivers.load(Ordering::Acquire) != self.driver || self.running()? == 0)
    }

    /// Waits. `false`: told to stop.
    fn wait_until(
        &self,
        done: impl Fn(&Self) -> Result<bool, WireError>,
    ) -> Result<bool, WireError> {
        while !self.is_stopped() {
            if done(self)? {
                return Ok(true);
            }
            // Nobody replays what is served: the journal would only grow.
            self.bed.journal()?;
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(false)
    }

    /// What the driver set the device up for.
    fn steering(&self) -> Result<Steering, WireError> {
        let config = configuration(&*self.device, self.queues as u8)?;
        let longest = config.max_frame_bytes;
        let buffer_bytes = self.device.read32(REGISTERS, queue_offset(0, &BUFFER_SIZE) as u64)?;
        let room = Room::new(self.queues, (buffer_bytes as usize).max(1));
        Ok(Steering { model: Model::new(config)?, longest, room })
    }

    /// Plays a capture once: frames that went in, and whether the driver went before its end.
    fn once(&self, wire: &Wire, capture: &Path) -> Result<(u64, bool), WireError> {
        let mut steering = self.steering()?;
        let mut schedule = Schedule::new(wire.pace, self.queues as u8);
        let mut reader = Reader::open(capture)?;
        let mut frames = 0;
        let mut records = 0;
        let mut tokens = Vec::new();
        while wire.limit.is_none_or(|limit| records < limit) {
            let Some(frame) = reader.next_frame()? else { break };
            records += 1;
            if frame.bytes.is_empty() || frame.is_cut() && wire.cut == CutRule::Skip {
                continue;
            }
            schedule.before(frame.time, &mut tokens);
            self.send(&mut tokens)?;
            let queue = steering.queue(frame.bytes);
            if let Some(queue) = queue
                && !self.wait_for_room(&mut steering.room, queue, frame.bytes.len())?
            {
                return Ok((frames, true));
            }
            self.bed.inject(frame.bytes)?;
            frames += 1;
            if let Some(queue) = queue {
                schedule.after(queue, &mut tokens);
                self.send(&mut tokens)?;
            }
            if frames.is_multiple_of(64) {
                self.bed.journal()?;
            }
        }
        schedule.end(&mut tokens);
        self.send(&mut tokens)?;
        Ok((frames, false))
    }

    fn send(&self, tokens: &mut Vec<Token>) -> Result<(), WireError> {
        for token in tokens.drain(..) {
            self.bed.token(token.queue, token.kind)?;
        }
        Ok(())
    }

    /// Waits until a queue runs and has buffers for a frame. `false`: no queue runs any more, or
    /// told to stop.
    fn wait_for_room(&self, room: &mut Room, queue: u8, bytes: usize) -> Result<bool, WireError> {
        let start = Instant::now();
        while !(self.runs(queue.into())? && room.covers(&*self.device, queue, bytes)?) {
            if self.is_stopped() || self.is_left()? {
                return Ok(false);
            }
            self.bed.settle()?;
            if !room::pause(start) {
                break;
            }
        }
        Ok(true)
    }
}

/// Where frames go, and whether there is room for them.
struct Steering {
    model: Model,
    longest: usize,
    room: Room,
}

impl Steering {
    /// The queue of a frame; `None` if the device drops it for its length.
    fn queue(&self, frame: &[u8]) -> Option<u8> {
        let fits = (groove_spec::MIN_FRAME_BYTES..=self.longest).contains(&frame.len());
        fits.then(|| self.model.steer(frame))
    }
}
