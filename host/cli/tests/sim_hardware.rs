//! `groove sim` with the hardware, from outside. One build for all: the default width and queues.

mod support;

use std::fs;

use serde_json::Value;
use support::{groove, pcap, tcp, train};

fn with_capture() -> tempfile::TempDir {
    let mut frames = train(1000, 10, 1000);
    frames.extend(train(1001, 3, 100));
    frames.push(tcp(1002, 1, 0x02, &[]));
    frames.push(vec![0; 13]);
    frames.push(vec![0; 9217]);
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.pcap"), pcap(&frames)).unwrap();
    dir
}

#[test]
fn both_engines_are_equal_with_and_without_pauses() {
    let dir = with_capture();
    let args = ["sim", "x.pcap", "--batch", "4"];
    insta::assert_snapshot!("both", groove(dir.path(), &args).shown());
    let pauses = [&args[..], &["--stall", "60", "--seed", "9"]].concat();
    let with_pauses = groove(dir.path(), &pauses);
    assert_eq!(with_pauses.stdout, groove(dir.path(), &args).stdout);
}

#[test]
fn either_engine_reports_and_writes_the_same() {
    let dir = with_capture();
    let report = |engine: &str| {
        let out = format!("{engine}.pcapng");
        let args = ["sim", "x.pcap", "--engine", engine, "--json", "--out", &out];
        let run = groove(dir.path(), &args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let mut report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["engine"].take(), engine);
        (report, fs::read(dir.path().join(out)).unwrap())
    };
    assert_eq!(report("model"), report("rtl"));
}

#[test]
fn ticks_mean_the_same_to_both() {
    let dir = with_capture();
    let run = groove(dir.path(), &["sim", "x.pcap", "--ticks", "30", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &report["result"]), (0, &"equal".into()), "{}", run.stderr);
    assert!(report["total"]["end"]["flush-old"].as_u64() > Some(1), "{report:#}");
}
