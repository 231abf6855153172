//! One run: a capture through one engine or two, with flush points, counted and checked.
//!
//!   capture ──► schedule ──► engines ──► comparison ──► ledger ──► report, output capture
//!               (tokens)
//!
//! Rules for records that are no whole frame: one that the snap length cut is skipped and counted
//! (what was captured is not what was on the wire), unless the caller wants the bytes that are
//! there; one without any byte is skipped and counted.
//! Invariants: memory does not grow with the capture (`memory_is_flat`); frames in = frames
//! delivered + frames dropped, each exactly once (`conservation_is_checked`); a damaged capture
//! still gives the report of what came before the damage (`damage_is_reported_after_the_report`).
//! Not here: printing.

mod engines;
mod ledger;
mod report;
mod schedule;
mod table;
mod waves;

pub use engines::{Engines, Stop};
pub use ledger::{Conservation, Ledger, Source};
pub use report::{Counters, MismatchReport, Place, Report, Skipped, by_drop};
pub use schedule::{Pace, Schedule, Token};
pub use table::table;
pub use waves::{WaveError, record_waves};

use crate::capture::{self, Reader, Writer};
use crate::engine::{Config, EngineError, Event};
use groove_model::{ConfigError, Model};

/// What is done with a frame that the snap length cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CutRule {
    /// Skip and count it.
    #[default]
    Skip,
    /// Run the bytes that are there, and count it.
    Run,
}

/// What a run is to do.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Configuration, the same for every engine.
    pub config: Config,
    /// Where flush points are.
    pub pace: Pace,
    /// Rule for frames that the snap length cut.
    pub cut: CutRule,
    /// Most records to read.
    pub limit: Option<u64>,
}

/// Why a run gives no report.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A configuration that no hardware could have.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// An engine failed.
    #[error("{engine} engine failed at frame {frame}")]
    Engine {
        /// Which.
        engine: &'static str,
        /// Number of the frame that it was given last.
        frame: u64,
        /// Why.
        source: EngineError,
    },
    /// The output capture cannot be written.
    #[error(transparent)]
    Output(capture::Error),
    /// A frame was lost, invented or delivered twice.
    #[error("frames are not conserved: {fault}")]
    Conservation {
        /// Which, and how.
        fault: Conservation,
        /// Clock cycle in which it showed, if it was the hardware alone.
        cycle: Option<u64>,
    },
}

impl SimError {
    /// Clock cycle in which the hardware failed.
    pub fn cycle(&self) -> Option<u64> {
        match self {
            Self::Engine { source: EngineError::Rtl(error), .. } => error.cycle(),
            Self::Conservation { cycle, .. } => *cycle,
            _ => None,
        }
    }
}

/// What a run gives.
#[derive(Debug)]
pub struct Outcome {
    /// Counts.
    pub report: Report,
    /// Why the capture was not read to its end.
    pub damage: Option<capture::Error>,
    /// Why the engines stopped before the end.
    pub mismatch: Option<MismatchReport>,
}

/// Runs a capture. `progress` is told the position in the file now and then.
pub fn run(
    reader: &mut Reader,
    engines: Engines,
    setup: &Setup,
    out: Option<&mut Writer>,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome, SimError> {
    let ledger = Ledger::new(engines.is_pair());
    let mut run = Run {
        steering: Model::new(setup.config.clone())?,
        schedule: Schedule::new(setup.pace, setup.config.queues),
        report: Report::new(reader.path(), engines.name(), setup),
        max_frame_bytes: setup.config.max_frame_bytes,
        engines,
        ledger,
        out,
        events: Vec::new(),
        tokens: Vec::new(),
    };
    let mut damage = None;
    let mut stop = None;
    while setup.limit.is_none_or(|limit| run.report.records < limit) {
        match reader.next_frame() {
            Ok(Some(frame)) => {
                progress(frame.offset);
                if let Err(reason) = run.record(&frame, setup.cut) {
                    stop = Some(reason);
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => {
                damage = Some(error);
                break;
            }
        }
    }
    if stop.is_none() {
        stop = run.end().err();
    }
    run.outcome(damage, stop)
}

struct Run<'a> {
    engines: Engines,
    steering: Model,
    schedule: Schedule,
    ledger: Ledger,
    report: Report,
    out: Option<&'a mut Writer>,
    max_frame_bytes: usize,
    events: Vec<Event>,
    tokens: Vec<schedule::Token>,
}

impl Run<'_> {
    fn record(&mut self, frame: &capture::Frame, cut: CutRule) -> Result<(), Stop> {
        self.report.records += 1;
        if frame.bytes.is_empty() {
            self.report.skipped.empty += 1;
            return Ok(());
        }
        if frame.is_cut() {
            self.report.skipped.cut += 1;
            if cut == CutRule::Skip {
                return Ok(());
            }
        }
        self.schedule.before(frame.time, &mut self.tokens);
        self.send_tokens()?;
        self.report.frames += 1;
        // A frame that never reaches a queue takes no place in its poll.
        let queue = (groove_spec::MIN_FRAME_BYTES..=self.max_frame_bytes)
            .contains(&frame.bytes.len())
            .then(|| self.steering.steer(frame.bytes));
        self.ledger.enter(frame, queue);
        self.engines.frame(frame.bytes, &mut self.events)?;
        self.settle()?;
        if let Some(queue) = queue {
            self.schedule.after(queue, &mut self.tokens);
        }
        self.send_tokens()
    }

    fn end(&mut self) -> Result<(), Stop> {
        self.schedule.end(&mut self.tokens);
        self.send_tokens()?;
        self.engines.finish(&mut self.events)?;
        self.settle()?;
        self.ledger.check_empty().map_err(Stop::Conservation)
    }

    fn send_tokens(&mut self) -> Result<(), Stop> {
        for i in 0..self.tokens.len() {
            let token = self.tokens[i];
            self.report.tokens += 1;
            self.engines.token(token.queue, token.kind, &mut self.events)?;
            self.settle()?;
        }
        self.tokens.clear();
        Ok(())
    }

    /// Takes the events that are final off the list: ledger, counters, output.
    fn settle(&mut self) -> Result<(), Stop> {
        for event in self.events.drain(..) {
            match event {
                Event::Drop { frame, reason } => {
                    self.ledger.take(&[frame]).map_err(Stop::Conservation)?;
                    self.report.drop(reason);
                }
                Event::Delivery(delivery) => {
                    let taken = self.ledger.take(&delivery.frames).map_err(Stop::Conservation)?;
                    self.report.delivery(&delivery, taken.wire_bytes);
                    if let Some(out) = &mut self.out {
                        out.delivery(taken.first_time, &delivery).map_err(Stop::Output)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn outcome(
        mut self,
        damage: Option<capture::Error>,
        stop: Option<Stop>,
    ) -> Result<Outcome, SimError> {
        let mismatch = match stop {
            None => None,
            Some(Stop::Mismatch(mismatch)) => {
                let cycle = self.engines.cycle(&mismatch);
                Some(MismatchReport::new(*mismatch, cycle, &mut self.ledger))
            }
            Some(Stop::Engine(engine, source)) => {
                let frame = self.report.frames.saturating_sub(1);
                return Err(SimError::Engine { engine, frame, source });
            }
            Some(Stop::Conservation(fault)) => {
                let cycle = self.engines.conservation_cycle(&fault);
                return Err(SimError::Conservation { fault, cycle });
            }
            Some(Stop::Output(error)) => return Err(SimError::Output(error)),
        };
        self.report.close(damage.as_ref(), mismatch.as_ref());
        Ok(Outcome { report: self.report, damage, mismatch })
    }
}
