//! Help texts as people see them. Accept a wanted change with `cargo insta review`.

mod support;

use std::path::Path;

use support::groove;

fn help(args: &[&str]) -> String {
    let run = groove(Path::new("."), args);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    run.stdout
}

#[test]
fn of_the_command() {
    insta::assert_snapshot!("help", help(&["--help"]));
}

#[test]
fn of_sim() {
    insta::assert_snapshot!("help_sim", help(&["sim", "--help"]));
}

#[test]
fn of_run() {
    insta::assert_snapshot!("help_run", help(&["run", "--help"]));
}

#[test]
fn of_golden() {
    insta::assert_snapshot!("help_golden", help(&["golden", "--help"]));
}

#[test]
fn of_plugin() {
    insta::assert_snapshot!("help_plugin", help(&["plugin", "--help"]));
}

#[test]
fn of_emit() {
    insta::assert_snapshot!("help_emit", help(&["emit", "--help"]));
}

#[test]
fn of_spec() {
    insta::assert_snapshot!("help_spec", help(&["spec", "--help"]));
    insta::assert_snapshot!("help_spec_check", help(&["spec", "check", "--help"]));
}

#[test]
fn of_synth() {
    insta::assert_snapshot!("help_synth", help(&["synth", "--help"]));
}

#[test]
fn of_prove() {
    insta::assert_snapshot!("help_prove", help(&["prove", "--help"]));
}

#[test]
fn of_bench() {
    insta::assert_snapshot!("help_bench", help(&["bench", "--help"]));
    insta::assert_snapshot!("help_bench_rtl", help(&["bench", "rtl", "--help"]));
    insta::assert_snapshot!("help_bench_driver", help(&["bench", "driver", "--help"]));
}

#[test]
fn of_doctor() {
    insta::assert_snapshot!("help_doctor", help(&["doctor", "--help"]));
}

#[test]
fn the_exit_codes_are_in_the_help() {
    let text = help(&["--help"]);
    for (code, meaning) in groove::exit::TABLE {
        assert!(text.contains(&format!("{code:<3}  {meaning}")), "{code}");
    }
}

#[test]
fn of_vm() {
    insta::assert_snapshot!("help_vm", help(&["vm", "--help"]));
    insta::assert_snapshot!("help_vm_test", help(&["vm", "test", "--help"]));
    insta::assert_snapshot!("help_vm_shell", help(&["vm", "shell", "--help"]));
}
