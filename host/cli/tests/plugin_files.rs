//! `groove plugin` from outside: which files, the report, and what is refused.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::groove;

/// Every file below, by its path, sorted.
fn files(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(dir.join(&below)).unwrap() {
            let entry = entry.unwrap();
            let path = below.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => open.push(path),
                false => found.push(path.display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_shell_has_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["opennic-250", "opennic-322", "corundum-sync", "corundum-if"] {
        let run = groove(dir.path(), &["plugin", "--shell", shell, "--out", shell, "--json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let out = dir.path().join(shell);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let mut named: Vec<&str> = report["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["name"].as_str().unwrap())
            .collect();
        named.sort_unstable();
        let found = files(&out);
        assert_eq!(named, found, "the report names every file");
        insta::assert_snapshot!(format!("plugin_{shell}"), found.join("\n"));
        let readme = fs::read_to_string(out.join("README.md")).unwrap();
        assert!(readme.contains("## What was not run"), "{shell}");
    }
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("full")).unwrap();
    fs::write(dir.path().join("full/mine"), "").unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let run = |out| groove(dir.path(), &["plugin", "--shell", "opennic-250", "--out", out]).shown();
    insta::assert_snapshot!("plugin_not_empty", run("full"));
    assert_eq!(files(&dir.path().join("full")), ["mine"], "nothing was written");
    insta::assert_snapshot!("plugin_no_directory", run("file/x"));
    let run = groove(dir.path(), &["plugin", "--shell", "coyote", "--out", "new"]);
    insta::assert_snapshot!("plugin_no_shell", run.shown());
}

/// A tree with lines as the script expects them, or without one of them.
fn tree(root: &Path, stream: &str) {
    let app = root.join("fpga/app/template/rtl");
    fs::create_dir_all(&app).unwrap();
    let block = format!(
        "module mqnic_app_block #( parameter APP_ID = 32'h12340001 ) ();\naxil_ram #(\n) ram_inst (\n);\n\
         assign m_axis_{stream}_tdata = s_axis_{stream}_tdata;\n\
         assign s_axis_{stream}_tready = m_axis_{stream}_tready;\nassign other = 1;\nendmodule\n"
    );
    fs::write(app.join("mqnic_app_block.v"), block).unwrap();
}

#[test]
fn the_corundum_script_changes_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["plugin", "--shell", "corundum-sync", "--out", "app"];
    assert_eq!(groove(dir.path(), &args).code, 0);
    let script = |tree: &str| {
        let run = Command::new("sh")
            .args(["app/make_app.sh", tree])
            .env("LC_ALL", "C")
            .current_dir(dir.path())
            .output()
            .unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    tree(&dir.path().join("good"), "sync_rx");
    assert_eq!(script("good").0, Some(0));
    let made = dir.path().join("good/fpga/app/groove/rtl");
    let block = fs::read_to_string(made.join("mqnic_app_block.v")).unwrap();
    assert_eq!(
        block,
        "module mqnic_app_block #( parameter APP_ID = 32'h47520001 ) ();\nassign other = 1;\n\
         `include \"groove_app_inst.vh\"\n\nendmodule\n"
    );
    assert!(made.join("groove_inline.v").exists() && made.join("groove_app_inst.vh").exists());
    let (code, said) = script("good");
    assert!(code == Some(2) && said.contains("is there already"), "{said}");
    tree(&dir.path().join("other"), "if_rx");
    let (code, said) = script("other");
    assert!(code == Some(4) && said.contains("has no line"), "{said}");
    assert!(!dir.path().join("other/fpga/app/groove").exists(), "nothing was made");
}
