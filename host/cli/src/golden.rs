//! Recorded kernel results: any engine against what real Linux kernels delivered.
//!
//!   directory ─► cases ─► plan ─► engine ─► deliveries ─► as recorded ─► differences
//!                           └─► left out, with the reason
//!
//! An engine is plugged in as a [`Runner`]: [`KernelModel`] takes the recorded metadata as given;
//! [`EngineRunner`] takes any [`Engine`], the hardware included, and lets it compute everything;
//! [`DeviceRunner`] takes a whole device, and what its driver delivers.

pub mod case;
mod device;
mod kernel;
pub mod plan;
mod read;
mod view;
mod write;

pub use case::{Case, ReadError, Recorded};
pub use device::DeviceRunner;
pub use kernel::{UnknownKernel, configuration};
pub use plan::{LeftOut, Plan, Step};
pub use read::cases;
pub use view::{differences, record_hash, recorded};
pub use write::{Packed, WriteError, write_pair};

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use groove_model::{Config, Frame, Model};
use groove_spec::TokenKind;

use crate::compare::Difference;
use crate::engine::{Engine, EngineError, Event};

/// Runs one plan from a fresh state.
pub trait Runner {
    /// How cases are planned for this engine; `kernel` is the recorded kernel's configuration.
    fn plan<'a>(&self, case: &'a Case, kernel: Config) -> Result<Plan<'a>, LeftOut>;

    /// All events of the plan, in order.
    fn run(&mut self, plan: &Plan) -> Result<Vec<Event>, EngineError>;
}

/// The model with the metadata that the kernel was given.
pub struct KernelModel;

impl Runner for KernelModel {
    fn plan<'a>(&self, case: &'a Case, kernel: Config) -> Result<Plan<'a>, LeftOut> {
        Ok(plan::as_kernel(case, kernel))
    }

    fn run(&mut self, plan: &Plan) -> Result<Vec<Event>, EngineError> {
        let mut model = Model::new(plan.config.clone())?;
        let mut out = Vec::new();
        for step in &plan.steps {
            match step {
                Step::Frame { bytes, given } => {
                    let frame = Frame { bytes, bad_fcs: false, given: given.as_ref() };
                    model.frame(frame, &mut out);
                }
                Step::Flush => model.token(0, TokenKind::FlushAll, &mut out),
            }
        }
        Ok(out)
    }
}

/// Any engine, made anew for each case by a function.
pub struct EngineRunner<F>(pub F);

impl<E: Engine, F: FnMut(&Config) -> Result<E, EngineError>> Runner for EngineRunner<F> {
    fn plan<'a>(&self, case: &'a Case, kernel: Config) -> Result<Plan<'a>, LeftOut> {
        plan::as_hardware(case, kernel)
    }

    fn run(&mut self, plan: &Plan) -> Result<Vec<Event>, EngineError> {
        let mut engine = (self.0)(&plan.config)?;
        let mut out = Vec::new();
        for step in &plan.steps {
            match step {
                Step::Frame { bytes, .. } => engine.frame(bytes, &mut out)?,
                Step::Flush => engine.token(0, TokenKind::FlushAll, &mut out)?,
            }
        }
        engine.finish(&mut out)?;
        Ok(out)
    }
}

/// What came of one case on one kernel's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every recorded field is equal.
    Equal,
    /// Not run.
    LeftOut(LeftOut),
    /// Differences, each with the number of its delivery.
    Differs(Vec<(usize, Difference)>),
}

/// Runs one case under the rules of one kernel; `None` if the case has no record of that kernel.
pub fn run(
    runner: &mut dyn Runner,
    case: &Case,
    label: &str,
    kernel: &Config,
) -> Result<Option<Outcome>, EngineError> {
    let Some(golden) = case.golden.get(label) else { return Ok(None) };
    let plan = match runner.plan(case, kernel.clone()) {
        Ok(plan) => plan,
        Err(reason) => return Ok(Some(Outcome::LeftOut(reason))),
    };
    let list = compare(golden, &runner.run(&plan)?);
    Ok(Some(if list.is_empty() { Outcome::Equal } else { Outcome::Differs(list) }))
}

/// Runs all cases under the rules of one kernel, each runner in a thread of its own; outcomes in
/// the order of the cases.
pub fn run_all<R: Runner + Send>(
    runners: &mut [R],
    cases: &[Case],
    label: &str,
    kernel: &Config,
) -> Result<Vec<Option<Outcome>>, EngineError> {
    let next = AtomicUsize::new(0);
    let take = |runner: &mut R| {
        let mut mine = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { return Ok(mine) };
            mine.push((index, run(runner, case, label, kernel)?));
        }
    };
    let shares: Result<Vec<Vec<_>>, EngineError> = std::thread::scope(|scope| {
        let threads: Vec<_> = runners.iter_mut().map(|r| scope.spawn(|| take(r))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|share| share.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut all: Vec<_> = shares?.into_iter().flatten().collect();
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Differences between the record and the events of a run. A drop is a difference: the kernel drops
/// nothing.
fn compare(golden: &[Recorded], events: &[Event]) -> Vec<(usize, Difference)> {
    let mut list = Vec::new();
    let mut found = Vec::new();
    for event in events {
        match event {
            Event::Delivery(delivery) => found.push(recorded(delivery)),
            Event::Drop { frame, reason } => list.push((
                found.len(),
                difference("drop", "none".into(), format!("frame {frame}: {}", reason.name())),
            )),
        }
    }
    if golden.len() != found.len() {
        let (expected, count) = (golden.len().to_string(), found.len().to_string());
        list.push((golden.len().min(found.len()), difference("deliveries", expected, count)));
    }
    for (i, (expected, found)) in golden.iter().zip(&found).enumerate() {
        list.extend(differences(expected, found).into_iter().map(|d| (i, d)));
    }
    list
}

fn difference(field: &str, expected: String, found: String) -> Difference {
    Difference { field: field.to_owned(), expected, found, position: None }
}
