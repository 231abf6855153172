//! `groove oracle` from outside: what it says when it cannot, and one round trip when it can.
//! Whether kernel and model are equal is tested in the cross-crate suite.

mod support;

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use groove::oracle::{Error, Feature};
use support::{groove, pcap, run, train};

fn plain(args: &[&str]) -> String {
    groove(Path::new(env!("CARGO_MANIFEST_DIR")), args).shown()
}

fn help(args: &[&str]) -> String {
    let run = groove(Path::new("."), args);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    run.stdout
}

/// Whether the running kernel can be asked.
fn can_ask(test: &str) -> bool {
    match groove::oracle::Live::open() {
        Ok(_) => true,
        Err(error) => {
            println!("skipped: {test}: {error}");
            false
        }
    }
}

#[test]
fn help_texts() {
    insta::assert_snapshot!("help_oracle", help(&["oracle", "--help"]));
    insta::assert_snapshot!("help_oracle_record", help(&["oracle", "record", "--help"]));
    insta::assert_snapshot!("help_oracle_check", help(&["oracle", "check", "--help"]));
    insta::assert_snapshot!("help_oracle_random", help(&["oracle", "random", "--help"]));
    insta::assert_snapshot!("help_oracle_guest", help(&["oracle", "guest", "--help"]));
    insta::assert_snapshot!("help_oracle_rules", help(&["oracle", "rules", "--help"]));
}

#[test]
fn wrong_usage_is_refused_before_the_kernel_is_asked() {
    let check = |more: &[&str]| plain(&[&["oracle", "check"], more].concat());
    insta::assert_snapshot!("oracle_no_action", plain(&["oracle"]));
    insta::assert_snapshot!("oracle_no_capture", check(&["nowhere.pcap"]));
    insta::assert_snapshot!("oracle_kernels_option", check(&["x", "--set", "vlan_gro=on"]));
    insta::assert_snapshot!("oracle_burst", check(&["x", "--burst", "65"]));
    insta::assert_snapshot!("oracle_runs", check(&["x", "--runs", "0"]));
    insta::assert_snapshot!("oracle_no_record", check(&["tests/snapshots"]));
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.json"), "{").unwrap();
    let set = groove(dir.path(), &["oracle", "check", ".", "--set", "rxcsum=off"]);
    insta::assert_snapshot!("oracle_set_of_recorded", set.shown());
    let odd = ["oracle", "guest", "--kernel", "newest"];
    insta::assert_snapshot!("oracle_guest_kernel", plain(&odd));
    insta::assert_snapshot!("oracle_rules_elsewhere", plain(&["oracle", "rules", "nowhere"]));
}

#[test]
fn what_a_machine_may_lack_is_named_with_a_next_step() {
    let told = Feature::ALL.map(|feature| {
        let source = io::Error::from_raw_os_error(1);
        let error = Error::Missing { feature, source };
        format!("{error}\nhelp: {}\n", feature.help())
    });
    insta::assert_snapshot!("oracle_missing", told.concat());
}

/// Nobody has the right to any of it, so nothing may be done in half.
#[test]
fn without_root_it_says_what_is_missing() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    if !can_ask("without_root_it_says_what_is_missing") {
        return;
    }
    // Where anybody may run it.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let binary = dir.path().join("groove");
    fs::copy(env!("CARGO_BIN_EXE_groove"), &binary).unwrap();
    let mut command = Command::new(&binary);
    command.args(["oracle", "random", "--cases", "1"]).current_dir("/").uid(NOBODY).gid(NOBODY);
    let run = run(&mut command);
    insta::assert_snapshot!("oracle_without_root", run.shown());
}

#[test]
fn a_recording_is_one_that_golden_reads() {
    if !can_ask("a_recording_is_one_that_golden_reads") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("x.pcap"), pcap(&train(1000, 70, 100))).unwrap();
    let record = groove(dir.path(), &["oracle", "record", "x.pcap", "--out", "deep/out"]);
    assert_eq!(record.code, 0, "{}", record.shown());
    assert!(record.stdout.contains("70 frames in 2 bursts"), "{}", record.stdout);
    let cases = groove::golden::cases(&at("deep/out/x.jsonl.gz")).unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["x-1-64", "x-65-70"]);
    let label = cases[0].golden.keys().next().unwrap().clone();
    let known = groove::golden::configuration(&label).is_ok();
    let golden = groove(dir.path(), &["golden", "deep/out"]);
    assert_eq!(golden.code, if known { 0 } else { 2 }, "{}", golden.shown());

    let check = groove(dir.path(), &["oracle", "check", "x.pcap", "--json", "--burst=10"]);
    let refused = !known && check.code == 5 && check.stderr.contains("--profile");
    assert!(refused || check.code == 0, "{}", check.shown());
    if known {
        let json: serde_json::Value = serde_json::from_str(&check.stdout).unwrap();
        assert_eq!((&json["frames"], &json["bursts"]), (&70.into(), &7.into()));
        assert_eq!(json["against"][0]["equal"], 7);
        // The recording itself, held against a fresh one.
        let again = groove(dir.path(), &["oracle", "check", "deep/out"]);
        assert!(again.code == 0 && again.stdout.contains("\nrecord "), "{}", again.shown());
    }
}

#[test]
fn rules_of_another_kernel_are_a_mismatch_that_is_kept() {
    if !can_ask("rules_of_another_kernel_are_a_mismatch_that_is_kept") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut differing = 0;
    for profile in groove_spec::Profile::NAMES {
        let args = ["oracle", "random", "--cases", "200", "--seed", "1", "--runs", "1"];
        let more = ["--profile", profile, "--out", profile];
        let run = groove(dir.path(), &[&args[..], &more].concat());
        if run.code == 0 {
            continue;
        }
        differing += 1;
        assert_eq!(run.code, 4, "{}", run.shown());
        assert!(run.stderr.contains("oracle random --cases 1 --seed"), "{}", run.shown());
        let kept = groove::golden::cases(&dir.path().join(profile)).unwrap();
        assert!(kept.len() == 1 && kept[0].frames.len() <= 8, "{} frames", kept[0].frames.len());
    }
    let others = groove_spec::Profile::NAMES.len() - 1;
    assert!(differing >= others, "only {differing} of {others} other kernels differ");
}
