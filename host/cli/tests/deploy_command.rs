//! `groove deploy`: what people see, and the real openFPGALoader on a JTAG chain that is made up.

mod support;

use std::fs;
use std::path::Path;

use support::bitstream::{ecp5, xilinx};
use support::xvc::{Chip, serve};
use support::{Run, groove};

/// A directory with a bitstream of each kind.
fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| fs::write(dir.path().join(name), bytes).unwrap();
    write("ecpix5.bit", ecp5(0x8111_3043, "LFE5UM5G-85F-8CABGA554", 20_000));
    write("nexys.bit", xilinx(0x0363_6093, "7a200tsbg484", 20_000));
    write("cut.bit", ecp5(0x8111_3043, "LFE5UM5G-85F-8CABGA554", 20_000)[..9000].to_vec());
    write("text.bit", b"entity groove is\n".to_vec());
    dir
}

fn deploy(dir: &Path, args: &[&str]) -> Run {
    groove(dir, &[&["deploy", "--state", "state"], args].concat())
}

#[test]
fn help_and_refusals() {
    let dir = directory();
    let shown = |args: &[&str]| deploy(dir.path(), args).shown();
    insta::assert_snapshot!("help_deploy", groove(Path::new("."), &["deploy", "--help"]).shown());
    insta::assert_snapshot!("deploy_nothing", shown(&[]));
    insta::assert_snapshot!("deploy_no_board", shown(&["--board", "nic", "ecpix5.bit"]));
    insta::assert_snapshot!("deploy_cut", shown(&["--board", "ecpix5", "cut.bit"]));
    insta::assert_snapshot!("deploy_text", shown(&["--board", "ecpix5", "text.bit"]));
    insta::assert_snapshot!("deploy_other_family", shown(&["--board", "ecpix5", "nexys.bit"]));
    insta::assert_snapshot!("deploy_other_package", shown(&["--board", "ax7203", "nexys.bit"]));
    insta::assert_snapshot!("deploy_unknown_chip", shown(&["--board", "au50", "nexys.bit"]));
    insta::assert_snapshot!("deploy_nothing_to_resume", shown(&["--resume"]));
    let command = ["--board", "ecpix5", "ecpix5.bit", "--programmer"];
    let fails = shown(&[&command[..], &["/bin/false"]].concat());
    // How long it took is another time each time.
    let timed = |line: &&str| !line.starts_with("program    FAILED");
    let fails: Vec<_> = fails.lines().filter(timed).collect();
    insta::assert_snapshot!("deploy_fails", fails.join("\n"));
    let nowhere = ["--bdf", "77:00.0", "--sys", "sys"];
    let nowhere = [&command[..], &["/bin/true"], &nowhere].concat();
    insta::assert_snapshot!("deploy_nowhere", shown(&nowhere));
    fs::write(dir.path().join("state/journal.json"), "{").unwrap();
    insta::assert_snapshot!("deploy_damaged_journal", shown(&["--recover"]));
}

fn is_installed(test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join("openFPGALoader").is_file());
    if !found {
        eprintln!("skipped: {test}: openFPGALoader is not installed");
    }
    found
}

/// Debian 12's is the oldest that is promised anything.
#[test]
fn boards_are_known_to_the_loader() {
    if !is_installed("boards_are_known_to_the_loader") {
        return;
    }
    let list = std::process::Command::new("openFPGALoader").arg("--list-boards").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let known: Vec<_> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let loaders = groove::boards::BOARDS.iter().filter_map(|board| board.loader);
    let all: Vec<_> = loaders.filter(|loader| loader.since == "0.10").collect();
    assert_eq!(all.len(), 6);
    for loader in all {
        assert!(known.contains(&loader.board), "{}", loader.board);
    }
}

/// Runs the real openFPGALoader on a chip; `None` where it is not installed.
fn load(test: &str, chip: Chip, board: &str, file: &str) -> Option<(Run, Chip, Vec<u8>)> {
    if !is_installed(test) {
        return None;
    }
    let dir = directory();
    let (address, chip) = serve(chip);
    let address = address.to_string();
    let run = deploy(dir.path(), &["--board", board, file, "--xvc", &address, "--json=report"]);
    let bytes = fs::read(dir.path().join(file)).unwrap();
    let chip = std::mem::replace(&mut *chip.lock().unwrap(), Chip::artix(0));
    Some((run, chip, bytes))
}

#[test]
fn real_loader_programs_an_ecp5() {
    let name = "real_loader_programs_an_ecp5";
    let Some((run, chip, file)) = load(name, Chip::ecp5(0x8111_3043), "ecpix5", "ecpix5.bit")
    else {
        return;
    };
    assert_eq!(run.code, 0, "{}", run.shown());
    let loaded = chip.loaded();
    assert!(chip.runs() && file.ends_with(&loaded), "{} bytes", loaded.len());
    assert!(loaded.windows(2).any(|pair| pair == [0xbd, 0xb3]) && loaded.len() > 20_000);

    // Another chip on the cable, and one that finds what was loaded damaged.
    let other = load(name, Chip::ecp5(0x4111_3043), "ecpix5", "ecpix5.bit").unwrap();
    assert_eq!((other.0.code, other.1.loaded().len()), (3, 0), "{}", other.0.shown());
    let refuses = Chip::ecp5(0x8111_3043).refusing();
    let (run, chip, _) = load(name, refuses, "ecpix5", "ecpix5.bit").unwrap();
    assert!(run.code == 3 && !chip.runs(), "{}", run.shown());
    assert!(run.stderr.contains("the card was not programmed"), "{}", run.stderr);
}

#[test]
fn real_loader_programs_an_artix() {
    let name = "real_loader_programs_an_artix";
    let Some((run, chip, file)) = load(name, Chip::artix(0x1363_6093), "nexys-video", "nexys.bit")
    else {
        return;
    };
    assert_eq!(run.code, 0, "{}", run.shown());
    let loaded = chip.loaded();
    assert!(chip.runs() && file.ends_with(&loaded), "{} bytes", loaded.len());
    assert!(loaded.len() > 20_000, "{}", loaded.len());
}
