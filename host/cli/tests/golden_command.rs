//! `groove golden` from outside. Whether the model meets the recordings is tested in the
//! cross-crate suite.

mod support;

use std::fs;

use support::{groove, pcap, train};

/// A case of two frames that merge; `size` is the recorded gso_size, `sum` the recorded SHA-256.
fn case(size: u32, sum: &str) -> String {
    let delivery = format!(
        r#"{{"frames": [0, 1], "len": 254, "gso_size": {size}, "gso_segs": 2,
            "gso_type": ["TCPV4", "TCP_FIXEDID"], "csum": "partial", "csum_start": 34,
            "csum_offset": 16, "hash": 1, "sha256": "{sum}"}}"#
    );
    format!(
        r#"{{"name": "two", "group": "own", "about": "Two frames that merge.",
            "frames": [{{"hash": 1}}, {{"hash": 1}}], "golden": {{"7.3.4": [{delivery}]}}}}"#
    )
}

fn with(size: u32, sum: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("two.json"), case(size, sum)).unwrap();
    fs::write(dir.path().join("two.pcap"), pcap(&train(1000, 2, 100))).unwrap();
    dir
}

#[test]
fn differences_are_listed_with_exit_code_4() {
    let dir = with(99, "00");
    insta::assert_snapshot!("golden_differs", groove(dir.path(), &["golden", "."]).shown());
    let run = groove(dir.path(), &["golden", ".", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &json[0]["equal"]), (4, &0.into()));
    assert_eq!(json[0]["differ"][0]["case"], "own/two");
}

#[test]
fn equal_cases_are_counted() {
    // The sum is that of the delivery, taken from the report of the run above.
    let found = groove(with(100, "00").path(), &["golden", "."]).stdout;
    let sum = found.split("found ").last().unwrap().trim().trim_matches('"');
    let run = groove(with(100, sum).path(), &["golden", "."]);
    insta::assert_snapshot!("golden_equal", run.shown());
}

#[test]
fn wrong_input_is_refused() {
    let dir = with(100, "00");
    let shown = |args: &[&str]| groove(dir.path(), args).shown();
    insta::assert_snapshot!("golden_no_kernel", shown(&["golden", ".", "--kernel", "5.10"]));
    insta::assert_snapshot!("golden_missing", shown(&["golden", "nowhere"]));
    fs::write(dir.path().join("two.json"), "{").unwrap();
    insta::assert_snapshot!("golden_not_json", shown(&["golden", "."]));
    fs::remove_file(dir.path().join("two.json")).unwrap();
    insta::assert_snapshot!("golden_empty", shown(&["golden", "."]));
}
