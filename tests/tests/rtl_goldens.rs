//! Recorded kernel results: the emitted hardware under Verilator against every delivery that it can
//! be held to, on four kernels' rules, with and without pauses on every port.
//!
//! What is left out, and why, is in `groove::golden::plan`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use groove::engine::{Config, EngineError, RtlEngine, RtlOptions, SharedPipeline};
use groove::golden::{self, Case, EngineRunner, Outcome, configuration};
use groove_verilator::{BuildOptions, Pipeline};

const KERNELS: [&str; 4] = ["6.12.117", "6.18.44", "7.3.4", "7.3.4+pppoe"];
/// Cases that must remain of all given ones, on 7.3.4.
const CASES_MIN: usize = 780;
/// Cases that must remain of those that we carry.
const OWN_CASES_MIN: usize = 760;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn pipeline(width: usize) -> SharedPipeline {
    // All queues are built, as in the other suites: a case's table sends everything to queue 0.
    let build = BuildOptions { width, ..BuildOptions::default() };
    Rc::new(RefCell::new(Pipeline::open(&build).expect("the hardware builds")))
}

/// Runs all cases on one kernel's rules; gives how many were equal.
fn equal(shared: &SharedPipeline, options: &RtlOptions, cases: &[Case], label: &str) -> usize {
    let config = configuration(label).expect("a known kernel");
    let attach = |config: &Config| -> Result<RtlEngine, EngineError> {
        RtlEngine::attach(Rc::clone(shared), config, options)
    };
    let mut runner = EngineRunner(attach);
    let (mut equal, mut differing) = (0, Vec::new());
    for case in cases {
        match golden::run(&mut runner, case, label, &config).expect("the hardware runs") {
            None => panic!("{}: no record of {label}", case.name),
            Some(Outcome::LeftOut(_)) => {}
            Some(Outcome::Equal) => equal += 1,
            Some(Outcome::Differs(list)) => {
                let (delivery, first) = &list[0];
                differing.push(format!("{} delivery {delivery}: {first}", case.name));
            }
        }
    }
    assert!(differing.is_empty(), "{label}: {} differ\n{}", differing.len(), differing.join("\n"));
    equal
}

#[test]
fn hardware_equals_our_kernel_deliveries() {
    let cases = golden::cases(&root().join("tests/golden")).expect("our own cases are readable");
    let shared = pipeline(512);
    for (label, seed) in KERNELS.iter().zip(1..) {
        let stalls = RtlOptions { stall_percent: 30, seed, ..RtlOptions::default() };
        for options in [RtlOptions::default(), stalls] {
            let equal = equal(&shared, &options, &cases, label);
            assert!(equal >= OWN_CASES_MIN, "{label}: only {equal} cases remain");
        }
    }
}

#[test]
fn hardware_of_another_width_equals_our_kernel_deliveries() {
    let cases = golden::cases(&root().join("tests/golden")).expect("our own cases are readable");
    let shared = pipeline(64);
    let equal = equal(&shared, &RtlOptions::default(), &cases, "7.3.4");
    assert!(equal >= OWN_CASES_MIN, "only {equal} cases remain");
}

#[test]
fn hardware_equals_the_given_kernel_deliveries() {
    let directory = root().join("../shared/golden");
    if !directory.is_dir() {
        println!("skipped: hardware_equals_the_given_kernel_deliveries: no ../shared");
        return;
    }
    let cases = golden::cases(&directory).expect("the given cases are readable");
    let shared = pipeline(512);
    for label in KERNELS {
        let equal = equal(&shared, &RtlOptions::default(), &cases, label);
        println!("{label}: {equal} of {} cases equal", cases.len());
        assert!(equal >= CASES_MIN, "{label}: only {equal} cases remain");
    }
}
