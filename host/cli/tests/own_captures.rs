//! The report of the model for each capture that the project carries. Accept a wanted change with
//! `cargo insta review`: it says which frames merge now that did not before.

mod support;

use std::path::Path;

use support::groove;

/// In the order of their names.
const CAPTURES: [&str; 14] = [
    "bulk_v4",
    "bulk_v4_jumbo",
    "bulk_v4_loss_reorder",
    "bulk_v6",
    "bulk_v6_loss_reorder",
    "ce_marks_v4",
    "ce_marks_v6",
    "http_v4_vlan",
    "http_v6",
    "qinq_v4",
    "rr_v4",
    "rr_v6",
    "short_flows_v4",
    "short_flows_v6",
];

fn directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures"))
}

#[test]
fn every_capture_is_listed() {
    let mut names: Vec<String> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "pcap" || e == "pcapng"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, CAPTURES);
}

#[test]
fn reports_are_stable() {
    for name in CAPTURES {
        let file = format!("{name}.pcap");
        let args = ["sim", &file, "--engine", "model", "--queues", "4"];
        let run = groove(directory(), &args);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name}");
        insta::assert_snapshot!(name, run.stdout);
    }
}
