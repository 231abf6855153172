//! `groove run`, ended by a signal in the middle of a capture.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Run, pcap, train};

/// Waits until the kernel's signal mask of a process is as wanted.
fn wait_for(id: u32, mask: &str, wanted: impl Fn(u64) -> bool) {
    loop {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(mask)).unwrap_or("0");
        if wanted(u64::from_str_radix(line.trim(), 16).unwrap()) {
            return;
        }
        std::thread::yield_now();
    }
}

/// Ends a run with a signal while the wire is silent, some time after its first half, then gives it
/// the rest.
fn interrupted(device: &str, signal: &str, after: Duration) -> Run {
    let file = pcap(&train(2000, 40, 100));
    let mut child = Command::new(env!("CARGO_BIN_EXE_groove"))
        .args([
            "run",
            "-",
            "--queues",
            "1",
            "--release",
            "home",
            "--batch",
            "7",
            "--device",
            device,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut wire = child.stdin.take().unwrap();
    let half = 24 + 20 * (16 + train(2000, 1, 100)[0].len());
    wire.write_all(&file[..half]).unwrap();
    wire.flush().unwrap();
    let id = child.id();
    wait_for(id, "SigCgt:", |mask| mask >> 1 & 1 == 1 && mask >> 14 & 1 == 1);
    std::thread::sleep(after);
    let sent = Command::new("kill").args([signal, &id.to_string()]).status().unwrap();
    assert!(sent.success());
    wait_for(id, "ShdPnd:", |mask| mask == 0);
    std::thread::sleep(Duration::from_millis(50)); // inside the handler, at worst
    // It may have ended by now.
    let _ = wire.write_all(&file[half..]);
    drop(wire);
    let mut texts = [String::new(), String::new()];
    child.stdout.take().unwrap().read_to_string(&mut texts[0]).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut texts[1]).unwrap();
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let [stdout, stderr] = texts;
    Run { code, stdout, stderr }
}

/// A signal ends a run early: what is inside is drained, checked and reported.
pub fn a_run_is_drained(device: &str, signal: &str) {
    // A slow machine has taken no frame yet: then later.
    let runs = (1..8).map(|n| interrupted(device, signal, Duration::from_millis(50 << n)));
    let taken = |run: &Run| !run.stdout.contains("interrupted behind frame 0\n");
    let run = runs.into_iter().find(taken).expect("a frame is taken within some seconds");
    assert_eq!(run.code, 130, "{}", run.stderr);
    let stopped = "interrupted behind frame ";
    assert!(run.stdout.contains(stopped) && run.stderr.contains(stopped), "{}", run.stdout);
    assert!(run.stdout.contains("all home at the end"), "{}", run.stdout);
    assert!(run.stderr.contains("\nhelp: "), "{}", run.stderr);
}
