//! Breaks of the emitted Verilog of the pipeline: one build with all of them, then each alone.
//!
//!   emission ─► plan ─► one build ─► for each: 40 random segments, registers read back ─► fate
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
use groove_tests::differential::{Segment, check};
use groove_tests::generate::segment::Scope;
use groove_tests::mutation::{self, Candidate, NUMBER_ADDRESS};
use groove_verilator::{BuildOptions, Pipeline};
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Few, so that buckets fill; more than one, so that steering matters.
const QUEUES: usize = 2;
const SEGMENT_FRAMES: usize = 1_000;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Breaks.
    pub count: usize,
    /// Decides which.
    pub seed: u64,
    /// Segments that each has to survive.
    pub segments: u64,
}

fn segment(seed: u64) -> Segment {
    Segment {
        seed,
        queues: QUEUES as u8,
        frames: SEGMENT_FRAMES,
        stall_percent: [0, 0, 20, 50][(seed % 4) as usize],
        output_stall_percent: None,
        refuse_percent: if seed % 8 == 5 { 5 } else { 0 },
    }
}

/// What a segment shows of break `number`, if anything: a difference in what is delivered, or in
/// what the registers give back.
fn difference(pipeline: &mut Pipeline, seed: u64, number: u32) -> Option<String> {
    let segment = segment(seed);
    let (config, items) = segment.input(Scope::Hardware);
    let image = registers::image(&config);
    let mut written = image.clone();
    written.push((NUMBER_ADDRESS, number));
    if let Err(difference) = check(pipeline, &segment, written, &config, &items) {
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

fn open(verilog: &str) -> Result<Pipeline, Failure> {
    let options = BuildOptions { queues: QUEUES, ..BuildOptions::default() };
    Pipeline::from_verilog(verilog, &options).map_err(|e| {
        let code = if e.is_missing_tool() { groove::exit::TOOL } else { groove::exit::FAULT };
        Failure::new(code, format!("the hardware does not build: {e}"), "see `groove doctor`")
    })
}

fn without_a_break(pipeline: &mut Pipeline, segments: u64) -> Result<(), Failure> {
    match (0..segments).find_map(|seed| difference(pipeline, seed, 0).map(|d| (seed, d))) {
        None => Ok(()),
        Some((seed, difference)) => Err(Failure::new(
            groove::exit::MISMATCH,
            format!("segment {seed} differs without any break: {difference}"),
            "mend that first: no break can be judged before",
        )),
    }
}

fn fate(candidate: &Candidate, lines: &[&str], caught: Option<String>, judged: &Judged) -> Fate {
    let Candidate { class, module, change } = candidate;
    let from = lines[change.line][change.at.clone()].to_owned();
    let equivalent = judged.reason(module, &from, &change.to).map(str::to_owned);
    Fate {
        module: module.clone(),
        line: change.line + 1,
        class: class.name(),
        from,
        to: change.to.clone(),
        caught,
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
    without_a_break(&mut open(&verilog)?, plan.segments)?;
    let bar = ProgressBar::new(chosen.len() as u64).with_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} breaks, {eta} left")
            .expect("a fixed template"),
    );
    let (next, caught) = (AtomicUsize::new(0), Mutex::new(vec![None; chosen.len()]));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let work = || -> Result<(), Failure> {
            let mut pipeline = open(&verilog)?;
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= chosen.len() {
                    return Ok(());
                }
                let number = index as u32 + 1;
                let found = (0..plan.segments).find_map(|seed| {
                    let found = difference(&mut pipeline, seed, number)?;
                    Some(format!("segment {seed}: {found}"))
                });
                caught.lock().expect("no thread panics with it")[index] = found;
                bar.inc(1);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|w| w.join().expect("no panics"))
    })?;
    bar.finish_and_clear();
    let lines: Vec<&str> = design.verilog.lines().collect();
    let caught = caught.into_inner().expect("no thread panics with it");
    let pairs = chosen.iter().zip(caught);
    let fates = pairs.map(|(c, caught)| fate(c, &lines, caught, judged)).collect();
    Ok(Outcome { seed: plan.seed, candidates: candidates.len(), fates })
}
