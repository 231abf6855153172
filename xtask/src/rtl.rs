//! Breaks of the emitted Verilog of the pipeline: one build with all of them, then each alone.
//!
//!   emission ─► plan ─► one build ─► for each: vectors, random segments, registers back ─► fate
//!
//! Invariants: the hardware without a break passes everything that the broken ones are put through
//! (checked first, or the run ends); a break that hangs the hardware is caught by the watchdog of
//! the harness.
//! Not here: the NIC around the pipeline (`tests/tests/nic_mutants.rs` breaks it by name).

use crate::Failure;
use crate::judged::Judged;
use crate::report::{Fate, Outcome};
use groove::engine::registers;
use groove_hdl::pipeline::{self, Parameters, TOP};
use groove_model::Config;
use groove_spec::STAGES;
use groove_tests::differential::{Segment, check, interrupted};
use groove_tests::generate::Item;
use groove_tests::generate::segment::Scope;
use groove_tests::mutation::{self, Candidate, NUMBER_ADDRESS};
use groove_tests::sweep::{self, Layout};
use groove_tests::vectors::{self, Vector};
use groove_verilator::{BuildOptions, Pipeline, RunConfig};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Few, so that buckets fill; more than one, so that steering matters.
const QUEUES: usize = 2;
/// The first segment is short: most breaks show in it, and a long one costs ten times as much.
const FIRST_FRAMES: usize = 100;
const SEGMENT_FRAMES: usize = 1_000;
const VECTOR_STALL_PERCENT: u8 = 30;
/// Breaks between two lines about how far it is.
const LINE_EVERY: usize = 20;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Breaks.
    pub count: usize,
    /// Decides which.
    pub seed: u64,
    /// Segments that each has to survive.
    pub segments: u64,
    /// An earlier report: what was caught there is not tried again.
    pub again: Option<Outcome>,
}

/// One thing that a break has to survive.
struct Trial {
    name: String,
    segment: Segment,
    config: Config,
    items: Vec<Item>,
    /// Whether it begins in the middle of other traffic, by a reset.
    interrupts: bool,
}

fn segment(seed: u64) -> Segment {
    Segment {
        seed,
        queues: QUEUES as u8,
        frames: if seed == 0 { FIRST_FRAMES } else { SEGMENT_FRAMES },
        stall_percent: [0, 0, 20, 50][(seed % 4) as usize],
        output_stall_percent: None,
        refuse_percent: if seed % 8 == 5 { 5 } else { 0 },
    }
}

/// A vector as a trial: the model says what is right, so that fewer queues than it was written for
/// do no harm.
fn of_vector(vector: Vector) -> Trial {
    let Vector { file, line, mut config, mut items, refuse, .. } = vector;
    config.queues = QUEUES as u8;
    let rss = &mut config.rss;
    rss.indirection.iter_mut().chain([&mut rss.default_queue]).for_each(|q| *q %= QUEUES as u8);
    items.retain(|i| !matches!(i, Item::Token { queue, .. } if usize::from(*queue) >= QUEUES));
    let segment = Segment {
        seed: line as u64,
        queues: QUEUES as u8,
        frames: items.len(),
        stall_percent: VECTOR_STALL_PERCENT,
        output_stall_percent: None,
        refuse_percent: if refuse { 100 } else { 0 },
    };
    Trial { name: format!("vector {file}:{line}"), segment, config, items, interrupts: false }
}

/// Every header bit in every place: one bit of each byte, another in each layout.
fn of_layout(index: usize, layout: Layout) -> Trial {
    let items = sweep::items(layout, |byte| vec![(byte + index) % 8]);
    let segment = Segment {
        seed: index as u64,
        queues: QUEUES as u8,
        frames: items.len(),
        stall_percent: 0,
        output_stall_percent: None,
        refuse_percent: 0,
    };
    let config = sweep::config(layout, QUEUES as u8);
    Trial { name: format!("{layout:?}"), segment, config, items, interrupts: false }
}

/// Random segments, and behind the first of them every vector, and every header bit.
fn trials(segments: u64) -> Result<Vec<Trial>, Failure> {
    let random = |seed| {
        let segment = segment(seed);
        let (config, items) = segment.input(Scope::Hardware);
        Trial { name: format!("segment {seed}"), segment, config, items, interrupts: seed % 2 == 1 }
    };
    let mut trials: Vec<Trial> = (0..segments).map(random).collect();
    trials.splice(1..1, Layout::all().into_iter().enumerate().map(|(i, l)| of_layout(i, l)));
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let help = "run it from a checkout of the project";
    for stage in STAGES {
        let of_stage = vectors::of_stage(&directory, stage.name);
        let of_stage = of_stage.map_err(|e| Failure::new(groove::exit::USAGE, e, help))?;
        trials.splice(1..1, of_stage.into_iter().map(of_vector));
    }
    Ok(trials)
}

/// What a trial shows of break `number`, if anything: a difference in what is delivered, or in what
/// the registers give back. They are written with the break on.
fn difference(pipeline: &mut Pipeline, trial: &Trial, number: u32) -> Option<String> {
    let image = registers::image(&trial.config);
    let mut written = vec![(NUMBER_ADDRESS, number)];
    written.extend(&image);
    if trial.interrupts {
        // Only what comes behind it counts; under a break anything may happen here.
        let _ = interrupted(pipeline, &trial.segment, written.clone(), &trial.items);
    }
    if let Err(difference) = check(pipeline, &trial.segment, written, &trial.config, &trial.items) {
        let text = difference.to_string();
        return Some(text.lines().next().unwrap_or_default().to_owned());
    }
    for (address, value) in image {
        match pipeline.register(address) {
            Ok(found) if found == value => {}
            Ok(found) => return Some(format!("register {address:#06x} is {found:#x}")),
            Err(error) => return Some(error.to_string()),
        }
    }
    None
}

/// Switches any break off and resets, so that nothing of the one before is left; hardware that a
/// break keeps from that is thrown away.
fn without(pipeline: &mut Pipeline, verilog: &str) -> Result<(), Failure> {
    let off = RunConfig { registers: vec![(NUMBER_ADDRESS, 0)], ..RunConfig::default() };
    // The first reset is still under the break.
    if pipeline.reset(&off).and_then(|()| pipeline.reset(&off)).is_err() {
        *pipeline = open(verilog)?;
    }
    Ok(())
}

fn open(verilog: &str) -> Result<Pipeline, Failure> {
    let options = BuildOptions { queues: QUEUES, ..BuildOptions::default() };
    Pipeline::from_verilog(verilog, &options).map_err(|e| {
        let code = if e.is_missing_tool() { groove::exit::TOOL } else { groove::exit::FAULT };
        Failure::new(code, format!("the hardware does not build: {e}"), "see `groove doctor`")
    })
}

fn without_a_break(pipeline: &mut Pipeline, trials: &[Trial]) -> Result<(), Failure> {
    match trials.iter().find_map(|t| difference(pipeline, t, 0).map(|d| (&t.name, d))) {
        None => Ok(()),
        Some((name, difference)) => Err(Failure::new(
            groove::exit::MISMATCH,
            format!("{name} differs without any break: {difference}"),
            "mend that first: no break can be judged before",
        )),
    }
}

/// Tries breaks alone, on all processors; gives what caught each.
fn caught(
    verilog: &str,
    numbers: &[u32],
    trials: &[Trial],
) -> Result<Vec<Option<String>>, Failure> {
    let (next, start) = (AtomicUsize::new(0), Instant::now());
    let found = Mutex::new(vec![None; numbers.len()]);
    let work = || -> Result<(), Failure> {
        let mut pipeline = open(verilog)?;
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(&number) = numbers.get(index) else { return Ok(()) };
            without(&mut pipeline, verilog)?;
            let catch = trials.iter().find_map(|trial| {
                let found = difference(&mut pipeline, trial, number)?;
                Some(format!("{}: {found}", trial.name))
            });
            if (index + 1) % LINE_EVERY == 0 {
                eprintln!("{} of {} breaks, {:.0?}", index + 1, numbers.len(), start.elapsed());
            }
            found.lock().expect("no thread panics with it")[index] = catch;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|w| w.join().expect("no panics"))
    })?;
    Ok(found.into_inner().expect("no thread panics with it"))
}

fn fate(candidate: &Candidate, lines: &[&str], judged: &Judged) -> Fate {
    let Candidate { class, module, change } = candidate;
    let from = lines[change.line][change.at.clone()].to_owned();
    let near = lines[change.line - 1].trim().to_owned();
    let equivalent = judged.reason(module, &near, &from, &change.to).map(str::to_owned);
    Fate {
        module: module.clone(),
        line: change.line + 1,
        class: class.name().to_owned(),
        near,
        from,
        to: change.to.clone(),
        caught: None,
        equivalent,
    }
}

/// Makes the breaks, and tries each.
///
/// # Errors
/// If a tool is missing, or the hardware fails without a break.
pub fn run(plan: &Plan, judged: &Judged) -> Result<Outcome, Failure> {
    let parameters = Parameters { queues: QUEUES, ..Parameters::default() };
    let design = pipeline::emit(&parameters).expect("these parameters are possible");
    let candidates = mutation::candidates(&design.verilog);
    let chosen = mutation::plan(&candidates, plan.count, plan.seed);
    let breaks: Vec<_> = chosen.iter().map(|c| c.change.clone()).collect();
    let verilog = mutation::instrument(&design.verilog, TOP, &breaks);
    eprintln!("{} of {} possible breaks; building them", chosen.len(), candidates.len());
    let trials = trials(plan.segments)?;
    let start = Instant::now();
    let mut unbroken = open(&verilog)?;
    eprintln!("built, {:.0?}", start.elapsed());
    let start = Instant::now();
    without_a_break(&mut unbroken, &trials)?;
    eprintln!("{} trials passed without a break, {:.0?}", trials.len(), start.elapsed());
    drop(unbroken);
    let lines: Vec<&str> = design.verilog.lines().collect();
    let mut fates: Vec<Fate> = chosen.iter().map(|c| fate(c, &lines, judged)).collect();
    if let Some(before) = &plan.again {
        before.carry_over(&mut fates);
    }
    let open_ones = (1..).zip(&fates).filter(|(_, fate)| fate.caught.is_none());
    let numbers: Vec<u32> = open_ones.map(|(number, _)| number).collect();
    for (number, catch) in numbers.iter().zip(caught(&verilog, &numbers, &trials)?) {
        fates[*number as usize - 1].caught = catch;
    }
    Ok(Outcome { seed: plan.seed, candidates: candidates.len(), fates })
}
