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
    for (top, width, name) in [
        ("rx", "64", "interface_64"),
        ("rx", "512", "interface_512"),
        ("nic", "64", "interface_nic_64"),
        ("nic", "512", "interface_nic_512"),
    ] {
        let dir = emit(top, width, "32");
        insta::assert_snapshot!(name, interface(&verilog(dir.path(), top), top));
    }
}

#[test]
fn every_file_is_written() {
    for top in ["rx", "nic"] {
        let dir = emit(top, "64", "1");
        let out = dir.path().join("out");
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
}

#[test]
fn module_names_are_unique() {
    for top in ["rx", "nic"] {
        names_are_unique(&verilog(emit(top, "128", "4").path(), top));
    }
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

#[test]
fn the_emitted_verilog_is_clean() {
    if !support::installed("verilator") {
        println!("skipped: the_emitted_verilog_is_clean: no verilator");
        return;
    }
    for (top, width, queues) in
        [("rx", "64", "1"), ("rx", "512", "32"), ("nic", "64", "1"), ("nic", "512", "32")]
    {
        let dir = emit(top, width, queues);
        let module = format!("groove_{top}");
        let lint = Command::new("verilator")
            .args(["--lint-only", "-Wall", "--top-module", &module])
            .args([format!("{module}.vlt"), format!("{module}.v")])
            .current_dir(dir.path().join("out"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&lint.stderr).into_owned();
        assert!(lint.status.success() && said.is_empty(), "{top}, W={width}: {said}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let run = groove(dir.path(), &["emit", "--width", "64", "--queues", "1", "--out", "file/x"]);
    insta::assert_snapshot!("emit_no_directory", run.shown());
}
