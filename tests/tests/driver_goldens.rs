//! Recorded kernel results at the far end: what the driver delivers, out of rings in host memory,
//! against every recorded delivery that a device can be held to.
//!
//! What is left out, and why, is in `groove::golden::plan`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use groove::golden::{self, Case, DeviceRunner, Outcome, configuration};
use groove::run::{ModelBed, RtlBed};
use groove_device::verilated::{Options, VerilatedDevice};

const KERNELS: [&str; 4] = ["6.12.117", "6.18.44", "7.3.4", "7.3.4+pppoe"];
/// Cases that must remain of those that we carry.
const OWN_CASES_MIN: usize = 760;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs all cases on one kernel's rules; gives how many were equal.
fn equal(runners: &mut [DeviceRunner], cases: &[Case], label: &str) -> usize {
    let config = configuration(label).expect("a known kernel");
    let outcomes = golden::run_all(runners, cases, label, &config).expect("the device runs");
    let (mut equal, mut differing) = (0, Vec::new());
    for (case, outcome) in cases.iter().zip(outcomes) {
        match outcome {
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

fn own() -> Vec<Case> {
    golden::cases(&root().join("tests/golden")).expect("our own cases are readable")
}

/// Each kernel in its turn.
fn every_kernel(runners: &mut [DeviceRunner], cases: &[Case], cases_min: usize) {
    for label in KERNELS {
        let equal = equal(runners, cases, label);
        println!("{label}: {equal} of {} cases equal", cases.len());
        assert!(equal >= cases_min, "{label}: only {equal} cases remain");
    }
}

/// A device for each core.
fn hardware() -> Vec<DeviceRunner> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let open = || VerilatedDevice::open(&Options::default()).expect("the hardware builds");
    (0..cores).map(|_| DeviceRunner::new(Arc::new(RtlBed::new(open())))).collect()
}

#[test]
fn the_driver_delivers_what_kernels_delivered() {
    let mut runners = [DeviceRunner::new(Arc::new(ModelBed::new(1)))];
    every_kernel(&mut runners, &own(), OWN_CASES_MIN);
}

#[test]
fn the_driver_delivers_from_hardware_what_kernels_delivered() {
    every_kernel(&mut hardware(), &own(), OWN_CASES_MIN);
}
