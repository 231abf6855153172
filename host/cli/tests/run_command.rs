//! `groove run` from outside: what it delivers, where the buffers go, how it ends.

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{Run, groove, interrupt, pcap, train};

fn captures() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures"))
}

fn run(args: &[&str]) -> Run {
    groove(captures(), &[&["run"], args].concat())
}

/// The report of a run that must be equal to the model.
#[track_caller]
fn report(args: &[&str]) -> Value {
    let run = run(&[args, &["--json"]].concat());
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["result"], "equal", "{args:?}");
    report
}

fn simulation(args: &[&str]) -> Value {
    let run = groove(captures(), &[&["sim", "--engine", "model", "--json"], args].concat());
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// What the simulation counts is in the report of the run, with the same value.
#[track_caller]
fn contains(report: &Value, simulation: &Value, at: &str) {
    match simulation {
        Value::Object(map) => {
            for (key, value) in map {
                contains(&report[key], value, &format!("{at}.{key}"));
            }
        }
        value => assert_eq!(&report, &value, "{at}"),
    }
}

#[test]
fn a_run_equals_a_simulation() {
    let captures = ["bulk_v4_loss_reorder", "ce_marks_v6", "qinq_v4", "short_flows_v4"];
    let shapes: [&[&str]; 4] = [
        &["--threads", "1"],
        &["--threads", "3", "--release", "away", "--buffer", "2048"],
        &["--split", "off", "--release", "home", "--buffer", "65536", "--pool", "128"],
        &["--split", "off", "--threads", "2", "--buffer", "2112", "--pool", "256"],
    ];
    let paces: [&[&str]; 2] = [&["--batch", "32"], &["--ticks", "100"]];
    for (i, capture) in captures.iter().enumerate() {
        let file = format!("{capture}.pcap");
        let input = [&[file.as_str(), "--queues", "4"], paces[i % 2]].concat();
        let mut expected = simulation(&input);
        let expected = expected.as_object_mut().unwrap();
        expected.retain(|key, _| {
            ["records", "frames", "tokens", "drops", "coalesce_ratio", "total", "queues"]
                .contains(&key.as_str())
        });
        assert_eq!(expected.len(), 7);
        let report = report(&[&input, shapes[i]].concat());
        contains(&report, &Value::Object(expected.clone()), capture);
    }
}

#[test]
fn buffers_come_home_on_every_way() {
    for release in ["home", "away", "mixed"] {
        let args = ["bulk_v4.pcap", "--queues", "2", "--threads", "2", "--release", release];
        let total = &report(&[&args[..], &["--pool", "64"]].concat())["total"];
        let count = |name: &str| total[name].as_u64().unwrap();
        let (home, away) = (count("home"), count("away") + count("overflow"));
        assert_eq!(home + away, count("delivered"), "{release}");
        assert!(count("posted") >= 128, "{release}");
        assert_eq!((home > 0, away > 0), (release != "away", release != "home"), "{release}");
    }
}

#[test]
fn a_pool_that_is_too_small_drops() {
    let args = ["bulk_v4_jumbo.pcap", "--queues", "1", "--buffer", "2048", "--pool", "16"];
    let report = report(&args);
    assert!(report["drops"]["no-buffer"].as_u64().unwrap() > 0, "{:#}", report["drops"]);
    let frames = report["total"]["frames"].as_u64().unwrap();
    let dropped: u64 =
        report["drops"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(frames + dropped, report["frames"].as_u64().unwrap());
}

#[test]
fn a_wire_that_does_not_wait_loses_nothing_else() {
    let args = ["bulk_v4.pcap", "--queues", "2", "--shortage", "drop", "--pool", "32"];
    report(&args);
}

/// Without the lines that no two runs share.
fn shown(run: &Run) -> String {
    let same = |line: &&str| !line.starts_with("time ");
    run.shown().lines().filter(same).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_report_is_stable() {
    let args = ["bulk_v4_loss_reorder.pcap", "--queues", "4", "--threads", "2"];
    let run = run(&[&args[..], &["--release", "home"]].concat());
    insta::assert_snapshot!("run_table", shown(&run));
}

#[test]
fn an_interrupted_run_is_drained() {
    for signal in ["-INT", "-TERM"] {
        interrupt::a_run_is_drained("model", signal);
    }
}

#[test]
fn wrong_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.pcap"), pcap(&train(1000, 2, 100))).unwrap();
    fs::write(dir.path().join("text.pcap"), "hello, world\n").unwrap();
    let shown = |args: &[&str]| groove(dir.path(), &[&["run"], args].concat()).shown();
    insta::assert_snapshot!("run_no_capture", shown(&[]));
    insta::assert_snapshot!("run_buffer", shown(&["x.pcap", "--buffer", "2050"]));
    insta::assert_snapshot!("run_pool", shown(&["x.pcap", "--pool", "15"]));
    insta::assert_snapshot!("run_tunnels", shown(&["x.pcap", "--set", "tunnels=on"]));
    insta::assert_snapshot!("run_device", shown(&["x.pcap", "--device", "card"]));
    insta::assert_snapshot!("run_text", shown(&["text.pcap"]));
}
