//! The hardware as an engine: the emitted pipeline under Verilator, driven and watched by
//! `groove-verilator`.
//!
//! Invariants: deliveries come from the hardware's output ports alone; the same seed gives the same
//! run, cycle by cycle. A frame without bytes has no beat and is refused.

use std::cell::RefCell;
use std::rc::Rc;

use groove_model::{Config, Event};
use groove_spec::TokenKind;
use groove_verilator::{BuildOptions, Pipeline, RunConfig, Stimulus, Wave};

use super::{Engine, EngineError, registers};

/// How the hardware is run, besides its registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RtlOptions {
    /// Share of cycles in which each port pauses, in percent.
    pub stall_percent: u8,
    /// Seed of the pauses.
    pub seed: u64,
    /// Waves to write; needs hardware built for waves.
    pub wave: Option<Wave>,
}

/// A build that several runs share, one after the other.
pub type SharedPipeline = Rc<RefCell<Pipeline>>;

/// The hardware.
pub struct RtlEngine {
    pipeline: SharedPipeline,
    /// Cycle and first frame of what the last step that gave anything gave.
    recent: Vec<(u64, u32)>,
}

impl RtlEngine {
    /// Builds the hardware for a configuration, or takes it from the cache, and starts a run.
    pub fn open(
        build: &BuildOptions,
        config: &Config,
        options: &RtlOptions,
    ) -> Result<Self, EngineError> {
        let pipeline = Pipeline::open(build)?;
        Self::attach(Rc::new(RefCell::new(pipeline)), config, options)
    }

    /// Starts a run on hardware that was built before; what another run left in it is forgotten.
    pub fn attach(
        pipeline: SharedPipeline,
        config: &Config,
        options: &RtlOptions,
    ) -> Result<Self, EngineError> {
        config.check()?;
        let run = RunConfig {
            seed: options.seed,
            stall_percent: options.stall_percent,
            registers: registers::image(config),
            wave: options.wave.clone(),
            ..RunConfig::default()
        };
        pipeline.borrow_mut().reset(&run)?;
        Ok(Self { pipeline, recent: Vec::new() })
    }

    /// Time in waves of a cycle since reset.
    pub fn wave_time(&self, cycle: u64) -> u64 {
        self.pipeline.borrow().wave_time(cycle)
    }

    fn step(
        &mut self,
        step: impl FnOnce(&mut Pipeline) -> Result<(), groove_verilator::Error>,
        out: &mut Vec<Event>,
    ) -> Result<(), EngineError> {
        let mut pipeline = self.pipeline.borrow_mut();
        let result = step(&mut pipeline);
        let mut fresh = true;
        while let Some((cycle, event)) = pipeline.pull_timed() {
            if std::mem::take(&mut fresh) {
                self.recent.clear();
            }
            let (frame, event) = match event {
                groove_verilator::Event::Delivery(delivery) => {
                    (delivery.frames.first().copied(), Event::Delivery(delivery))
                }
                groove_verilator::Event::Drop { frame, reason } => {
                    (Some(frame), Event::Drop { frame, reason })
                }
            };
            self.recent.extend(frame.map(|frame| (cycle, frame)));
            out.push(event);
        }
        Ok(result?)
    }
}

impl Engine for RtlEngine {
    fn name(&self) -> &'static str {
        "rtl"
    }

    fn frame(&mut self, bytes: &[u8], out: &mut Vec<Event>) -> Result<(), EngineError> {
        self.step(|pipeline| pipeline.push(Stimulus::Frame { bytes, bad_fcs: false }), out)
    }

    fn token(
        &mut self,
        queue: u8,
        kind: TokenKind,
        out: &mut Vec<Event>,
    ) -> Result<(), EngineError> {
        self.step(|pipeline| pipeline.push(Stimulus::Token { queue, kind }), out)
    }

    fn finish(&mut self, out: &mut Vec<Event>) -> Result<(), EngineError> {
        self.step(Pipeline::finish, out)
    }

    fn cycle(&self, frame: Option<u32>) -> Option<u64> {
        let same = |entry: &&(u64, u32)| Some(entry.1) == frame;
        self.recent.iter().find(same).or(self.recent.last()).map(|entry| entry.0)
    }
}
