//! `groove serve` and `groove run` as two processes: driver and device, a socket between them.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::groove;

/// A server that is killed with the test.
struct Serve(Child);

impl Serve {
    /// Starts it, and waits until it is there. The path of a socket is short: it is relative.
    fn start(dir: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_groove"));
        command.args(["serve", "--socket", "s"]).args(more).current_dir(dir);
        let log = fs::File::create(dir.join("serve.log")).unwrap();
        let child = command.stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let served = Self(child);
        let end = Instant::now() + Duration::from_secs(60);
        while !dir.join("s").exists() {
            assert!(Instant::now() < end, "{}", fs::read_to_string(dir.join("serve.log")).unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
        served
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn capture(name: &str) -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    tests.canonicalize().unwrap().join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_capture_comes_through_the_socket() {
    for name in ["bulk_v4.pcap", "http_v4_vlan.pcap"] {
        let dir = tempfile::tempdir().unwrap();
        let file = capture(name);
        let mut served = Serve::start(dir.path(), &["--capture", &file, "--queues", "4", "--once"]);
        let args = ["run", &file, "--queues", "4", "--threads", "2", "--device"];
        let run = groove(dir.path(), &[&args[..], &["vfio-user:s", "--json"]].concat());
        assert_eq!(run.code, 0, "{}", run.shown());
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert!(report["frames"].as_u64().unwrap() > 100, "{report}");
        assert!(served.0.wait().unwrap().success());
        let log = fs::read_to_string(dir.path().join("serve.log")).unwrap();
        assert!(log.contains("a driver is there") && log.contains("has gone after"), "{log}");
        assert!(!dir.path().join("s").exists());
    }
}

#[test]
fn every_driver_gets_the_whole_capture() {
    let dir = tempfile::tempdir().unwrap();
    let file = capture("rr_v4.pcap");
    let _served = Serve::start(dir.path(), &["--capture", &file, "--queues", "2"]);
    let args = ["run", &file, "--queues", "2", "--device", "vfio-user:s"];
    for _ in 0..3 {
        let run = groove(dir.path(), &args);
        assert_eq!(run.code, 0, "{}", run.shown());
    }
}

/// The driver's process is killed in the middle; the next one finds a clean device.
#[test]
fn a_killed_driver_is_started_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = capture("bulk_v6.pcap");
    let _served = Serve::start(dir.path(), &["--capture", &file, "--queues", "2"]);
    let args = ["run", &file, "--queues", "2", "--device", "vfio-user:s"];
    for milliseconds in [20, 60] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_groove"));
        command.args(args).current_dir(dir.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut driver = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        driver.kill().unwrap();
        driver.wait().unwrap();
    }
    let run = groove(dir.path(), &args);
    assert_eq!(run.code, 0, "{}", run.shown());
}

/// As the page has it: the driver takes as many queues as the device has.
#[test]
fn both_ends_agree_without_being_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = capture("bulk_v4.pcap");
    let _served = Serve::start(dir.path(), &["--capture", &file, "--queues", "3"]);
    let run = groove(dir.path(), &["run", &file, "--device", "vfio-user:s", "--json"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["result"], &report["queue_count"]), (&"equal".into(), &3.into()));
}

/// The device's process is killed under a driver that waits: the driver says so, and ends.
#[test]
fn a_killed_server_ends_the_driver() {
    let dir = tempfile::tempdir().unwrap();
    let mut served = Serve::start(dir.path(), &["--queues", "2"]);
    let args = ["run", "--device", "vfio-user:s", "--seconds", "120"];
    let run = std::thread::scope(|scope| {
        let driver = scope.spawn(|| groove(dir.path(), &args));
        let end = Instant::now() + Duration::from_secs(60);
        while !fs::read_to_string(dir.path().join("serve.log")).unwrap().contains("a driver is") {
            assert!(Instant::now() < end, "no driver came");
            std::thread::sleep(Duration::from_millis(2));
        }
        // Its set-up is done, most likely; if not, it must end all the same.
        std::thread::sleep(Duration::from_millis(200));
        served.0.kill().unwrap();
        driver.join().unwrap()
    });
    assert_eq!(run.code, 3, "{}", run.shown());
    assert!(run.stdout.contains("ended by failure"), "{}", run.shown());
    assert!(run.stderr.contains("closed the connection"), "{}", run.shown());
    assert!(run.stderr.contains("help: "), "{}", run.shown());
}

/// Another capture at the other end: the first delivery that differs is told.
#[test]
fn another_capture_is_a_mismatch() {
    let dir = tempfile::tempdir().unwrap();
    let (here, there) = (capture("bulk_v4.pcap"), capture("bulk_v4_loss_reorder.pcap"));
    let _served =
        Serve::start(dir.path(), &["--capture", &there, "--queues", "1", "--limit", "50"]);
    let limit = ["--limit", "50", "--queues", "1", "--device", "vfio-user:s"];
    let run = groove(dir.path(), &[&["run", &here][..], &limit].concat());
    assert_eq!(run.code, 4, "{}", run.shown());
}

#[test]
fn what_is_not_there_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(capture("rr_v4.pcap"), dir.path().join("x.pcap")).unwrap();
    fs::write(dir.path().join("file"), "no socket").unwrap();
    let run = |args: &[&str]| groove(dir.path(), args).shown();
    let device = |device: &str| run(&["run", "x.pcap", "--device", device]);
    insta::assert_snapshot!("run_no_server", device("vfio-user:nowhere"));
    insta::assert_snapshot!("run_no_function", device("vfio:ffff:ff:1f.7"));
    insta::assert_snapshot!("run_no_device", device("tap:x"));
    insta::assert_snapshot!("serve_no_socket", run(&["serve", "--socket", "file"]));
    let long = "x".repeat(120);
    insta::assert_snapshot!("serve_long_path", run(&["serve", "--socket", &long]));
    let missing = ["serve", "--socket", "s", "--capture", "nowhere.pcap"];
    insta::assert_snapshot!("serve_no_capture", run(&missing));
    insta::assert_snapshot!("serve_tap_name", run(&["serve", "--socket", "s", "--tap", "a/b"]));
    let both = ["serve", "--socket", "s", "--tap", "g0", "--capture", "x.pcap"];
    insta::assert_snapshot!("serve_tap_and_capture", run(&both));
    insta::assert_snapshot!("run_nothing", run(&["run"]));
    insta::assert_snapshot!("run_no_wire_to_flush", run(&["run", "--batch", "9"]));
    insta::assert_snapshot!("help_serve", run(&["serve", "--help"]));
}
