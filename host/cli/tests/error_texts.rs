//! Errors as people see them: text, help line and exit code. Accept a wanted change with `cargo
//! insta review`.

mod support;

use std::fs;
use std::path::Path;

use support::{Order, groove, pcap, pcap_header, pcap_record, train};

/// Runs `groove sim x.pcap --engine model` on a file of these bytes.
fn sim(bytes: &[u8], more: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.pcap"), bytes).unwrap();
    let args = [&["sim", "x.pcap", "--engine", "model"], more].concat();
    groove(dir.path(), &args).shown()
}

fn plain(args: &[&str]) -> String {
    groove(Path::new(env!("CARGO_MANIFEST_DIR")), args).shown()
}

#[test]
fn wrong_usage() {
    insta::assert_snapshot!("usage_no_command", plain(&["nonsense"]));
    insta::assert_snapshot!("usage_no_capture", plain(&["sim"]));
    insta::assert_snapshot!("usage_width", plain(&["sim", "x", "--width", "48"]));
    let engines = ["golden", ".", "--engine", "rtl", "--device", "model"];
    insta::assert_snapshot!("usage_engine_and_device", plain(&engines));
    insta::assert_snapshot!("usage_bench_of_what", plain(&["bench", "rlt"]));
    insta::assert_snapshot!("usage_queues", plain(&["sim", "x", "--queues", "33"]));
    insta::assert_snapshot!("usage_batch_zero", plain(&["sim", "x", "--batch", "0"]));
    let both = ["sim", "x", "--batch", "1", "--ticks", "1"];
    insta::assert_snapshot!("usage_batch_and_ticks", plain(&both));
    insta::assert_snapshot!("usage_profile", plain(&["sim", "x", "--profile", "linux-5.10"]));
    insta::assert_snapshot!("usage_set_unknown", plain(&["sim", "x", "--set", "gro=on"]));
    insta::assert_snapshot!("usage_set_value", plain(&["sim", "x", "--set", "rxcsum=maybe"]));
    let frame = ["sim", "x", "--set", "max_frame_bytes=9217"];
    insta::assert_snapshot!("usage_set_bound", plain(&frame));
    let wave = ["sim", "x", "--engine", "model", "--wave", "w.fst"];
    insta::assert_snapshot!("usage_wave_of_the_model", plain(&wave));
    let hardware = |set| plain(&["sim", "x", "--engine", "rtl", "--set", set]);
    insta::assert_snapshot!("usage_header_without_bound", hardware("max_header=none"));
    insta::assert_snapshot!("usage_tunnels", hardware("tunnels=on"));
    insta::assert_snapshot!("usage_pppoe", hardware("pppoe=on"));
}

/// A baseline is read before the long work, and refused by its line.
#[test]
fn baselines_of_synthesis() {
    let dir = tempfile::tempdir().unwrap();
    let with = |text: &str| {
        fs::write(dir.path().join("figures"), text).unwrap();
        let args = ["synth", "--block", "frame-gate", "--target", "ecp5", "--baseline", "figures"];
        groove(dir.path(), &args)
    };
    insta::assert_snapshot!("synth_baseline_strange", with("# made\nparse ecp5 many\n").shown());
    if !support::installed("yosys") {
        println!("skipped: baselines_of_synthesis: yosys is not installed");
        return;
    }
    let grown = with("frame-gate ecp5 1 1 0 0 9\n");
    assert_eq!(grown.code, 4, "{}", grown.stderr);
    assert!(grown.stderr.contains("help: if it is worth it"), "{}", grown.stderr);
    assert!(grown.stdout.contains("frame-gate on ecp5: levels 9 -> "), "{}", grown.stdout);
    assert_eq!(with("frame-gate ecp5 1000 1000 0 0 9\n").code, 0);
}

/// Whatever is wrong with a command line, the last line says where to read on.
#[test]
fn every_refusal_ends_in_a_help_line() {
    for args in [
        &["nonsense"][..],
        &["sim"],
        &["sim", "x", "--queues", "33"],
        &["run", "x", "y"],
        &["golden", ".", "--kernel"],
        &["bench", "rtl", "--width=7"],
        &["spec", "chek"],
        &["emit"],
    ] {
        let run = groove(Path::new("."), args);
        let last = run.stderr.lines().last().unwrap_or_default();
        assert_eq!(run.code, 2, "{args:?}");
        assert!(last.starts_with("help: ") && last.contains("--help` says"), "{args:?}: {last}");
    }
}

#[test]
fn no_capture_there() {
    let model = ["--engine", "model"];
    let run = |path: &str| plain(&[&["sim", path], &model[..]].concat());
    insta::assert_snapshot!("capture_missing", run("nowhere.pcap"));
    insta::assert_snapshot!("capture_is_a_directory", run("src"));
}

#[test]
fn captures_that_hold_nothing() {
    insta::assert_snapshot!("capture_empty", sim(&[], &[]));
    insta::assert_snapshot!("capture_header_only", sim(&pcap(&[]), &[]));
    let mut cut = pcap_header(Order::Little, false, 1);
    cut.extend(pcap_record(Order::Little, 0, 0, &[0; 60], 1514));
    insta::assert_snapshot!("capture_all_cut", sim(&cut, &[]));
}

#[test]
fn captures_of_another_kind() {
    insta::assert_snapshot!("capture_text", sim(b"hello, world\n", &[]));
    insta::assert_snapshot!("capture_compressed", sim(&[0x1f, 0x8b, 8, 0, 0, 0], &[]));
    insta::assert_snapshot!("capture_three_bytes", sim(&[0xd4, 0xc3, 0xb2], &[]));
    let wifi = pcap_header(Order::Little, false, 105);
    insta::assert_snapshot!("capture_wifi", sim(&wifi, &[]));
}

#[test]
fn damage_is_reported_after_the_report() {
    let mut file = pcap(&train(1000, 3, 100));
    file.truncate(file.len() - 1);
    insta::assert_snapshot!("capture_cut_off", sim(&file, &[]));
    let order = Order::Little;
    let mut file = support::section(order);
    file.extend(support::interface(order, 1, 0, 0));
    for frame in train(1000, 2, 100) {
        file.extend(support::enhanced(order, 0, 0, &frame, frame.len() as u32));
    }
    let last = file.len() - 1;
    file[last] ^= 1;
    insta::assert_snapshot!("capture_damaged", sim(&file, &[]));
}

#[test]
fn outputs_that_cannot_be_written() {
    let file = pcap(&train(1000, 2, 100));
    insta::assert_snapshot!("out_no_directory", sim(&file, &["--out", "no/where.pcapng"]));
    insta::assert_snapshot!("json_no_directory", sim(&file, &["--json=no/where.json"]));
}

/// Runs the command where no program is installed.
fn bare(dir: &Path, args: &[&str]) -> String {
    support::run(
        std::process::Command::new(env!("CARGO_BIN_EXE_groove"))
            .args(args)
            .current_dir(dir)
            .env("PATH", dir)
            .env("GROOVE_CACHE", dir.join("cache")),
    )
    .shown()
}

#[test]
fn missing_tools() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.pcap"), pcap(&train(1000, 2, 100))).unwrap();
    let both = ["sim", "x.pcap", "--width", "64", "--queues", "1"];
    insta::assert_snapshot!("tool_missing_sim", bare(dir.path(), &both));
    insta::assert_snapshot!("tool_missing_prove", bare(dir.path(), &["prove", "fold"]));
    // Whether the machine has the zlib header is no matter of PATH.
    let doctor = bare(dir.path(), &["doctor"]);
    let lines = doctor.lines().filter(|line| !line.starts_with("zlib.h"));
    insta::assert_snapshot!("tool_missing_doctor", lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn stale_docs() {
    let dir = tempfile::tempdir().unwrap();
    let check = |page: &str| {
        fs::write(dir.path().join("page.md"), page).unwrap();
        groove(dir.path(), &["spec", "check", "--docs", "."]).shown()
    };
    let stale = "<!-- BEGIN GROOVE Verdict -->\nold\n<!-- END GROOVE -->\n";
    insta::assert_snapshot!("docs_stale", check(stale));
    insta::assert_snapshot!("docs_unknown", check(&stale.replace("Verdict", "nothing")));
    insta::assert_snapshot!("docs_open", check("<!-- BEGIN GROOVE Verdict -->\n"));
    insta::assert_snapshot!("docs_without_fences", check("# Title\n"));
    let missing = groove(dir.path(), &["spec", "check"]).shown();
    insta::assert_snapshot!("docs_missing", missing);
}
