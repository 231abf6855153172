//! `groove emit` from outside: which files, which interface, and that Verilator has nothing to say
//! about them.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::groove;

fn emit(width: &str, queues: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let args = ["emit", "--width", width, "--queues", queues, "--out", "out"];
    let run = groove(dir.path(), &args);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    dir
}

fn verilog(dir: &Path) -> String {
    fs::read_to_string(dir.join("out/groove_rx.v")).unwrap()
}

/// Ports of the top module, one a line, as direction, width and name.
fn interface(verilog: &str) -> String {
    let top = verilog.find("module groove_rx(").expect("the top module is there");
    let header = &verilog[top..top + verilog[top..].find(");").unwrap()];
    let declarations = verilog[top..].lines().map(str::trim);
    let port = |line: &str| {
        let line = line.trim_end_matches([',', ';']);
        let is_port = line.starts_with("input ") || line.starts_with("output ");
        is_port.then(|| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let ports: Vec<String> = declarations.filter_map(port).collect();
    assert!(!ports.is_empty(), "{header}");
    ports.join("\n")
}

#[test]
fn the_interface_is_stable() {
    for width in ["64", "512"] {
        let dir = emit(width, "32");
        let name = format!("interface_{width}");
        insta::assert_snapshot!(name, interface(&verilog(dir.path())));
    }
}

#[test]
fn every_file_is_written() {
    let dir = emit("64", "1");
    let mut names: Vec<String> = fs::read_dir(dir.path().join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected =
        ["groove.h", "groove_rx.v", "groove_rx.vlt", "layouts.md", "names.md", "registers.md"];
    assert_eq!(names, expected);
}

#[test]
fn module_names_are_unique() {
    let text = verilog(emit("128", "4").path());
    let modules = text.lines().filter_map(|line| line.strip_prefix("module "));
    let mut names: Vec<&str> = modules.map(|rest| rest.split(['(', ';']).next().unwrap()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(count > 5);
    assert_eq!(names.len(), count);
}

#[test]
fn the_emitted_verilog_is_clean() {
    if !support::installed("verilator") {
        println!("skipped: the_emitted_verilog_is_clean: no verilator");
        return;
    }
    for (width, queues) in [("64", "1"), ("512", "32")] {
        let dir = emit(width, queues);
        let lint = Command::new("verilator")
            .args(["--lint-only", "-Wall", "--top-module", "groove_rx"])
            .args(["groove_rx.vlt", "groove_rx.v"])
            .current_dir(dir.path().join("out"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&lint.stderr).into_owned();
        assert!(lint.status.success() && said.is_empty(), "W={width}: {said}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let run = groove(dir.path(), &["emit", "--width", "64", "--queues", "1", "--out", "file/x"]);
    insta::assert_snapshot!("emit_no_directory", run.shown());
}
