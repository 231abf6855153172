//! `groove run` from outside: what it delivers, where the buffers go, how it ends.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use support::{Run, groove, pcap, train};

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

/// Waits until the kernel's signal mask of a process is as wanted.
fn wait_for(id: u32, mask: &str, wanted: impl Fn(u64) -> bool) {
    loop {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(mask)).unwrap_or("0");
        if wanted(u64::from_str_radix(line.trim(), 16).unwrap()) {
            return;
        }
        std::thread::yield_now();
    }
}

/// Ends a run with a signal while the wire is silent, some time after its first half, then gives it
/// the rest.
fn interrupted(signal: &str, after: Duration) -> Run {
    let file = pcap(&train(2000, 40, 100));
    let mut child = Command::new(env!("CARGO_BIN_EXE_groove"))
        .args(["run", "-", "--queues", "1", "--release", "home", "--batch", "7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut wire = child.stdin.take().unwrap();
    let half = 24 + 20 * (16 + train(2000, 1, 100)[0].len());
    wire.write_all(&file[..half]).unwrap();
    wire.flush().unwrap();
    let id = child.id();
    wait_for(id, "SigCgt:", |mask| mask >> 1 & 1 == 1 && mask >> 14 & 1 == 1);
    std::thread::sleep(after);
    let sent = Command::new("kill").args([signal, &id.to_string()]).status().unwrap();
    assert!(sent.success());
    wait_for(id, "ShdPnd:", |mask| mask == 0);
    std::thread::sleep(Duration::from_millis(50)); // inside the handler, at worst
    // It may have ended by now.
    let _ = wire.write_all(&file[half..]);
    drop(wire);
    let mut texts = [String::new(), String::new()];
    child.stdout.take().unwrap().read_to_string(&mut texts[0]).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut texts[1]).unwrap();
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let [stdout, stderr] = texts;
    Run { code, stdout, stderr }
}

#[test]
fn an_interrupted_run_is_drained() {
    for signal in ["-INT", "-TERM"] {
        // A slow machine has taken no frame yet: then later.
        let runs = (1..8).map(|n| interrupted(signal, Duration::from_millis(50 << n)));
        let taken = |run: &Run| !run.stdout.contains("interrupted behind frame 0\n");
        let run = runs.into_iter().find(taken).expect("a frame is taken within some seconds");
        assert_eq!(run.code, 130, "{}", run.stderr);
        let stopped = "interrupted behind frame ";
        assert!(run.stdout.contains(stopped) && run.stderr.contains(stopped), "{}", run.stdout);
        assert!(run.stdout.contains("all home at the end"), "{}", run.stdout);
        assert!(run.stderr.contains("\nhelp: "), "{}", run.stderr);
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
