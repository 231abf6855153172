//! Recorded kernel results: the model against every delivery that real Linux kernels made.
//!
//!   as the kernel    recorded metadata given, headers of any length, tunnels on: all cases
//!   as hardware      everything computed: the cases that hardware can be given
//!
//! The cases that we made ourselves are carried in `tests/golden`; captures of others stay outside.

use std::collections::BTreeMap;
use std::path::PathBuf;

use groove::engine::ModelEngine;
use groove::golden::{
    self, Case, EngineRunner, KernelModel, LeftOut, Outcome, Runner, configuration,
};

const KERNELS: [&str; 4] = ["6.12.117", "6.18.44", "7.3.4", "7.3.4+pppoe"];

/// Cases that the RTL must at least be able to take, of 7.3.4, captures of others included.
const HARDWARE_CASES_MIN: usize = 780;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn own() -> Vec<Case> {
    golden::cases(&root().join("tests/golden")).expect("our own cases are readable")
}

/// The whole given set; `None` says that the test is skipped.
fn given(test: &str) -> Option<Vec<Case>> {
    let directory = root().join("../shared/golden");
    if !directory.is_dir() {
        println!("skipped: {test}: no ../shared");
        return None;
    }
    Some(golden::cases(&directory).expect("the given cases are readable"))
}

/// Runs all cases on one kernel's rules; gives how many were equal, and the reasons of those left
/// out.
fn run_all(
    runner: &mut dyn Runner,
    cases: &[Case],
    kernel: &str,
) -> (usize, BTreeMap<LeftOut, usize>) {
    let config = configuration(kernel).expect("a known kernel");
    let (mut equal, mut left_out, mut differing) = (0, BTreeMap::new(), Vec::new());
    for case in cases {
        match golden::run(runner, case, kernel, &config).expect("the model runs") {
            None => panic!("{}: no record of {kernel}", case.name),
            Some(Outcome::Equal) => equal += 1,
            Some(Outcome::LeftOut(reason)) => *left_out.entry(reason).or_default() += 1,
            Some(Outcome::Differs(list)) => {
                let (delivery, first) = &list[0];
                differing.push(format!("{} delivery {delivery}: {first}", case.name));
            }
        }
    }
    let some = differing.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(differing.is_empty(), "{kernel}: {} cases differ\n{some}", differing.len());
    (equal, left_out)
}

fn model() -> EngineRunner<impl FnMut(&groove::engine::Config) -> Made> {
    EngineRunner(|config: &groove::engine::Config| ModelEngine::new(config.clone()))
}

type Made = Result<ModelEngine, groove::engine::EngineError>;

#[test]
fn model_equals_every_given_kernel_delivery() {
    let Some(cases) = given("model_equals_every_given_kernel_delivery") else { return };
    assert_eq!(cases.len(), 1126);
    for kernel in KERNELS {
        let (equal, left_out) = run_all(&mut KernelModel, &cases, kernel);
        assert_eq!((equal, left_out.len()), (cases.len(), 0), "{kernel}");
    }
}

#[test]
fn model_as_hardware_equals_the_given_kernel_deliveries() {
    let Some(cases) = given("model_as_hardware_equals_the_given_kernel_deliveries") else {
        return;
    };
    for kernel in KERNELS {
        let (equal, left_out) = run_all(&mut model(), &cases, kernel);
        println!("{kernel}: {equal} equal, left out {left_out:?}");
        assert_eq!(equal + left_out.values().sum::<usize>(), cases.len());
        if kernel == "7.3.4" {
            assert!(equal >= HARDWARE_CASES_MIN, "only {equal} cases remain");
        }
    }
}
