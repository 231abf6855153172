//! `groove run` with the hardware, from outside. One build for all: the default width and queues.

mod support;

use std::path::Path;

use serde_json::Value;
use support::{groove, interrupt};

fn report(command: &str, args: &[&str]) -> Value {
    let captures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures"));
    let run = groove(captures, &[&[command, "bulk_v4_loss_reorder.pcap", "--json"], args].concat());
    assert_eq!(run.code, 0, "{command} {args:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn a_run_on_hardware_equals_a_simulation() {
    let simulation = report("sim", &["--engine", "model"]);
    for args in [
        &["--threads", "2", "--latency", "100"][..],
        &["--release", "away", "--buffer", "2048", "--split", "off", "--stall", "30"],
    ] {
        let run = report("run", &[&["--device", "rtl"], args].concat());
        assert_eq!(run["result"], "equal");
        for (queue, expected) in simulation["queues"].as_object().unwrap() {
            for (name, value) in expected.as_object().unwrap() {
                assert_eq!(&run["queues"][queue][name], value, "{args:?}: {name} of queue {queue}");
            }
        }
        assert_eq!((&run["frames"], &run["drops"]), (&simulation["frames"], &simulation["drops"]));
        assert!(run["times"]["cycles"].as_u64() > Some(1000));
    }
}

#[test]
fn an_interrupted_run_on_hardware_is_drained() {
    interrupt::a_run_is_drained("rtl", "-INT");
}
