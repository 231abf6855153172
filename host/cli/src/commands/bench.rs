//! `groove bench`: rates of the hardware in clock cycles, the speed of its simulation, and what the
//! driver costs.

use std::path::Path;

use groove_verilator::{BuildOptions, Error, Pipeline};
use serde::Serialize;

use super::{measured, output};
use crate::bench::{NicReport, RtlReport};
use crate::cli::{BenchArgs, BenchKind, BenchOptions};
use crate::{Failure, bench, exit};

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    // Progress is talk: a reader that has gone away does not stop a measurement.
    let mut progress = |what: &str| drop(output::talk(what));
    match &args.what {
        BenchKind::Rtl(options) => {
            let mut pipeline = open(options)?;
            let rtl = bench::rtl(&mut pipeline, &mut progress).map_err(|e| failure(&e))?;
            let nic = bench::nic(&build(options), &mut progress).map_err(|e| failure(&e))?;
            let table = format!("{rtl}\n{nic}");
            measured::report(options.json.as_deref(), &table, &Hardware { rtl, nic })
        }
        BenchKind::Sim(options) => {
            let mut pipeline = open(options)?;
            let result = bench::sim(&mut pipeline, &mut progress);
            report(options.json.as_deref(), result)
        }
        BenchKind::Driver(options) => {
            let report = bench::driver(&mut progress).map_err(|e| Failure::of(exit::FAULT, &*e))?;
            measured::report(options.json.as_deref(), &report.to_string(), &report)
        }
    }
}

/// Pipeline and NIC.
#[derive(Serialize)]
struct Hardware {
    #[serde(flatten)]
    rtl: RtlReport,
    #[serde(flatten)]
    nic: NicReport,
}

fn build(options: &BenchOptions) -> BuildOptions {
    BuildOptions { width: options.width, queues: options.queues.into(), ..BuildOptions::default() }
}

fn open(options: &BenchOptions) -> Result<Pipeline, Failure> {
    output::talk("building the hardware under Verilator, or taking it from the cache")?;
    Pipeline::open(&build(options)).map_err(|e| failure(&e))
}

fn report<R: Serialize + std::fmt::Display>(
    json: Option<&Path>,
    result: Result<R, Error>,
) -> Result<(), Failure> {
    let report = result.map_err(|e| failure(&e))?;
    measured::report(json, &report.to_string(), &report)
}

fn failure(error: &Error) -> Failure {
    Failure::of(if error.is_missing_tool() { exit::TOOL } else { exit::FAULT }, error)
}
