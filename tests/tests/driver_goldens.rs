//! Recorded kernel results at the far end: what the driver delivers, out of rings in host memory,
//! against every recorded delivery that a device can be held to.
//!
//! What is left out, and why, is in `groove::golden::plan`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use groove::golden::{self, Case, DeviceRunner, Outcome, configuration};
use groove::run::{Bed, ModelBed, RtlBed};
use groove_device::verilated::{Options, VerilatedDevice};

const KERNELS: [&str; 4] = ["6.12.117", "6.18.44", "7.3.4", "7.3.4+pppoe"];
/// Cases that must remain of those that we carry.
const OWN_CASES_MIN: usize = 760;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs all cases on one kernel's rules; gives how many were equal.
fn equal(bed: &Arc<dyn Bed>, cases: &[Case], label: &str) -> usize {
    let config = configuration(label).expect("a known kernel");
    let mut runner = DeviceRunner(Arc::clone(bed));
    let (mut equal, mut differing) = (0, Vec::new());
    for case in cases {
        match golden::run(&mut runner, case, label, &config).expect("the device runs") {
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

#[test]
fn the_driver_delivers_what_kernels_delivered() {
    let (cases, bed) = (own(), Arc::new(ModelBed::new(1)) as Arc<dyn Bed>);
    for label in KERNELS {
        let equal = equal(&bed, &cases, label);
        assert!(equal >= OWN_CASES_MIN, "{label}: only {equal} cases remain");
    }
}

#[test]
fn the_driver_delivers_from_hardware_what_kernels_delivered() {
    let device = VerilatedDevice::open(&Options::default()).expect("the hardware builds");
    let bed = Arc::new(RtlBed::new(device)) as Arc<dyn Bed>;
    let equal = equal(&bed, &own(), "7.3.4");
    assert!(equal >= OWN_CASES_MIN, "only {equal} cases remain");
}
