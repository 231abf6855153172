//! The driver in a guest: a real kernel's vfio-pci and IOMMU, the device as its PCI function.
//!
//!   groove vm test ── RTL ──► captures, strays, mappings
//!   groove vm shell ── typed into ──► the device is there, and bound
//!
//! Skipped by name where QEMU or a kernel cannot be had: no Debian, no mirror, an empty cache.

mod support;

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use support::guest::machine;

#[test]
fn the_driver_passes_in_a_guest() {
    if machine("the_driver_passes_in_a_guest").is_none() {
        return;
    }
    if !support::installed("verilator") {
        eprintln!("skipped: the_driver_passes_in_a_guest: verilator is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let run = support::groove(dir.path(), &["vm", "test", "--json"]);
    assert_eq!(run.code, 0, "{}\n{}", run.stdout, run.stderr);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["result"], &report["device"]), (&"passed".into(), &"rtl".into()));
    assert!(report["kernel"].as_str().unwrap().starts_with("6.12."), "{report:#}");
    let captures = report["captures"].as_array().unwrap();
    assert_eq!(captures.len(), 3);
    for capture in captures {
        // Four queues, each on three huge pages.
        let maps = ["maps_needed", "maps", "bytes_left"].map(|name| capture[name].as_u64());
        assert_eq!(maps, [Some(12), Some(12), Some(0)], "{capture:#}");
        assert_eq!(capture["digest"], capture["guest_digest"]);
    }
    let ways = report["stray"]["ways"].as_array().unwrap();
    assert_eq!(ways.len(), 3);
    for way in ways {
        assert!(way["errors"].as_u64() > Some(0), "{way:#}");
        assert_eq!((&way["stopped"], &way["untouched"]), (&true.into(), &true.into()), "{way:#}");
    }
}

/// Reads a console until it has shown a text.
fn read_until(console: &mut impl Read, text: &str) -> String {
    let mut shown = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&shown).ends_with(text) {
        let count = console.read(&mut byte).unwrap();
        assert!(count == 1, "{text:?} did not come: {}", String::from_utf8_lossy(&shown));
        shown.push(byte[0]);
    }
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn the_shell_is_a_console_with_the_device() {
    if machine("the_shell_is_a_console_with_the_device").is_none() {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_groove"));
    command.args(["vm", "shell", "--device", "model", "--driver", "copy"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut shell = command.spawn().unwrap();
    let (mut typed, mut console) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
    read_until(&mut console, "Leave:");
    read_until(&mut console, "# ");
    typed.write_all(b"groove devices; echo \"device: $bdf\"\n").unwrap();
    let shown = read_until(&mut console, "device: 0000:");
    assert!(shown.contains("vfio-pci"), "{shown}");
    typed.write_all(b"exit\n").unwrap();
    let mut rest = String::new();
    console.read_to_string(&mut rest).unwrap();
    assert!(shell.wait().unwrap().success(), "{rest}");
}
