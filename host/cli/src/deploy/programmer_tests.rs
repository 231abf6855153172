//! Programmers that are scripts.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn board(name: &str) -> &'static Board {
    Board::named(name).unwrap()
}

/// Runs a script as the programmer, and stops it at the look of that number.
fn run(script: &str, flash: bool, stop_at: usize) -> Result<(), ProgrammerError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prog");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let looks = AtomicUsize::new(0);
    let stop = || looks.fetch_add(1, Ordering::Relaxed) >= stop_at;
    let programmer = Programmer::command(path, flash, Some(1));
    programmer.run(Path::new("x.bit"), &dir.path().join("log"), &stop)
}

#[test]
fn the_loader_is_told_everything() {
    let line = |name, cable: &Cable, flash| {
        Programmer::loader(board(name), cable, flash, None).map(|p| p.line(Path::new("a.bit")))
    };
    let own = Cable::default();
    let sram = line("ecpix5", &own, false).unwrap();
    assert_eq!(sram, "openFPGALoader --board ecpix5 --write-sram a.bit");
    let flash = line("nexys-video", &own, true).unwrap();
    assert_eq!(flash, "openFPGALoader --board nexysVideo --write-flash --verify a.bit");
    let other =
        Cable { kind: Some("ft4232".into()), serial: Some("A1".into()), ..Cable::default() };
    let other = line("ax7203", &other, false).unwrap();
    assert!(other.contains(" --cable ft4232 --ftdi-serial A1 "), "{other}");
    let far = Cable { xvc: Some("10.0.0.9:2542".parse().unwrap()), ..Cable::default() };
    let far = line("ulx3s", &far, false).unwrap();
    assert!(far.contains(" --cable xvc-client --ip 10.0.0.9 --port 2542 "), "{far}");
    let error = line("au50", &own, false).unwrap_err();
    assert_eq!(error.to_string(), "openFPGALoader does not know au50 (xcu50-fsvh2104)");
    assert!(error.help().contains("--programmer CMD"), "{}", error.help());
    assert!(matches!(line("vcu1525", &own, true), Err(ProgrammerError::NoFlash("vcu1525"))));
}

#[test]
fn a_programmer_is_told_what_and_where() {
    run("test \"$1 $2\" = 'sram x.bit'", false, usize::MAX).unwrap();
    run("test \"$1 $2\" = 'flash x.bit'", true, usize::MAX).unwrap();
}

#[test]
fn a_programmer_that_hangs_is_ended() {
    let error = run("echo begun; exec sleep 600", false, usize::MAX).unwrap_err();
    assert!(matches!(&error, ProgrammerError::TooLong { said, .. } if said == "begun"), "{error}");
}

#[test]
fn a_failure_in_words_is_a_failure() {
    let error = run("echo 'Verification failed at 65536' >&2", true, usize::MAX).unwrap_err();
    let text = error.to_string();
    assert!(text.ends_with("(exit status: 0, yet it says so): Verification failed at 65536"));
    let error = run("echo no luck; exit 3", false, usize::MAX).unwrap_err();
    assert!(error.to_string().ends_with("failed (exit status: 3): no luck"), "{error}");
    run("printf 'Loading [==== ] 50%%\\rDone\\n'", false, usize::MAX).unwrap();
    let missing = Programmer::command("no-such-program".into(), false, None);
    let error = missing.run(Path::new("x"), Path::new("/nowhere/log"), &|| false).unwrap_err();
    assert!(matches!(error, ProgrammerError::Missing(_)), "{error}");
}

#[test]
fn ctrl_c_ends_what_may_be_ended() {
    let error = run("exec sleep 600", false, 2).unwrap_err();
    assert!(matches!(error, ProgrammerError::Interrupted(_)), "{error}");
    // Flash is written to its end.
    run("sleep 0.3", true, 2).unwrap();
}
