//! `groove emit` from outside: which files, which interface, and that Verilator has nothing to say
//! about them.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::groove;

fn emit(top: &str, width: &str, queues: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let args = ["emit", "--top", top, "--width", width, "--queues", queues, "--out", "out"];
    let run = groove(dir.path(), &args);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    dir
}

fn verilog(dir: &Path, top: &str) -> String {
    fs::read_to_string(dir.join(format!("out/groove_{top}.v"))).unwrap()
}

/// Ports of the top module, one a line, as direction, width and name.
fn interface(verilog: &str, top: &str) -> String {
    let top = verilog.find(&format!("module groove_{top}(")).expect("the top module is there");
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
        let dir = emit("rx", width, "32");
        insta::assert_snapshot!(
            format!("interface_{width}"),
            interface(&verilog(dir.path(), "rx"), "rx")
        );
    }
}

/// Files that an emission of a top writes.
fn files_are_there(dir: &Path, top: &str) {
    let out = dir.join("out");
    let mut names: Vec<String> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let (verilog, waivers) = (format!("groove_{top}.v"), format!("groove_{top}.vlt"));
    let expected = ["groove.h", &verilog, &waivers, "layouts.md", "names.md", "registers.md"];
    assert_eq!(names, expected);
    let layouts = fs::read_to_string(out.join("layouts.md")).unwrap();
    assert_eq!(layouts.contains("`buf_id`"), top == "nic", "rings are the NIC's");
}

#[test]
fn every_file_is_written() {
    files_are_there(emit("rx", "64", "1").path(), "rx");
}

#[test]
fn module_names_are_unique() {
    names_are_unique(&verilog(emit("rx", "128", "4").path(), "rx"));
}

fn names_are_unique(text: &str) {
    let modules = text.lines().filter_map(|line| line.strip_prefix("module "));
    let mut names: Vec<&str> = modules.map(|rest| rest.split(['(', ';']).next().unwrap()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(count > 5);
    assert_eq!(names.len(), count);
}

/// Whether Verilator has nothing to say about an emission; `false` without it.
fn lint(dir: &Path, top: &str) -> bool {
    if !support::installed("verilator") {
        return false;
    }
    let module = format!("groove_{top}");
    let lint = Command::new("verilator")
        .args(["--lint-only", "-Wall", "--top-module", &module])
        .args([format!("{module}.vlt"), format!("{module}.v")])
        .current_dir(dir.join("out"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&lint.stderr).into_owned();
    assert!(lint.status.success() && said.is_empty(), "{top}: {said}");
    true
}

#[test]
fn the_emitted_verilog_is_clean() {
    for (width, queues) in [("64", "1"), ("512", "32")] {
        if !lint(emit("rx", width, queues).path(), "rx") {
            println!("skipped: the_emitted_verilog_is_clean: no verilator");
        }
    }
}

/// All of the above on one emission, since it takes its time; other widths are linted where the NIC
/// is tested.
#[test]
fn the_nic_is_emitted_whole() {
    let dir = emit("nic", "512", "32");
    let text = verilog(dir.path(), "nic");
    files_are_there(dir.path(), "nic");
    names_are_unique(&text);
    if !lint(dir.path(), "nic") {
        println!("skipped: the_nic_is_emitted_whole: no verilator");
    }
    insta::assert_snapshot!("interface_nic_512", interface(&text, "nic"));
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let run = groove(dir.path(), &["emit", "--width", "64", "--queues", "1", "--out", "file/x"]);
    insta::assert_snapshot!("emit_no_directory", run.shown());
}
