//! The driver's checks can fail: named one-line breaks of its sources, each caught by the test that
//! is there for it.
//!
//!   sources ──► copy, every break in it, off ──► one build ──► break N on ──► its test fails
//!
//! One build serves all: a break is `if broken(N) { wrong } else { right }` in its line, and the
//! number comes from the environment. With none the copy passes. A break whose line is not found
//! exactly once fails the test: it would break nothing.
//! Not here: breaks of the hardware (`mutants.rs`). That a buffer comes home twice cannot be
//! written as a break: a lease can only be moved.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where the number of the break comes from.
const VARIABLE: &str = "GROOVE_BREAK";
/// A break may make its test hang, which is noticed too.
const PATIENCE: Duration = Duration::from_secs(300);

/// A break: its name, the file, a text that is in it once, what of it is replaced and by what, and
/// the test that catches it.
struct Break {
    name: &'static str,
    file: &'static str,
    context: &'static str,
    from: &'static str,
    to: &'static str,
    caught_by: Test,
}

/// A test binary and a test in it.
type Test = (&'static str, &'static str);

const fn mutant(
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    caught_by: Test,
) -> Break {
    Break { name, file, context: from, from, to, caught_by }
}

impl Break {
    /// With more text around it, to say which one is meant.
    const fn within(self, context: &'static str) -> Self {
        Self { context, ..self }
    }
}

const UNIT: &str = "groove_driver";

#[rustfmt::skip]
const BREAKS: &[Break] = &[
    // The device is not trusted.
    mutant("generation-not-checked", "ring.rs", "(last ^ expected) >> 63 != 0", "false", ("queue", "records_of_the_last_pass_are_not_taken_again")),
    mutant("id-not-checked", "ledger.rs", "usize::from(c.buf_id())", "usize::from(c.buf_id()) % pool", (UNIT, "ledger::tests::a_buffer_comes_home_once")).within("usize::from(c.buf_id())) else"),
    mutant("length-not-checked", "ledger.rs", "c.length() > self.buffer_bytes", "false", (UNIT, "ledger::tests::lengths_are_held_to_the_buffers")),
    mutant("total-not-checked", "ledger.rs", "bytes > total", "false", (UNIT, "ledger::tests::lengths_are_held_to_the_buffers")),
    mutant("reserved-not-checked", "ledger.rs", "c.reserved() != 0", "false", (UNIT, "ledger::tests::each_lie_is_named")),
    // The way home.
    mutant("no-kick-at-half", "home.rs", "n - 1 == bounds.kicks_behind", "false", (UNIT, "home_tests::kicks_once_at_half")),
    mutant("slot-not-bounded", "home.rs", "n >= bounds.max", "false", (UNIT, "home_tests::a_slot_is_bounded_until_it_is_drained")).within("if n >= bounds.max {"),
    mutant("kick-forgotten-in-a-drain", "home.rs", "self.kicks.pending.swap(false, Ordering::AcqRel)", "{ self.kicks.pending.store(false, Ordering::Relaxed); true }", ("models", "no_kick_is_lost")),
    mutant("push-releases-nothing", "home.rs", "Ordering::Release", "Ordering::Relaxed", ("models", "push_and_drain_lose_nothing")).within("Ordering::Release, Ordering::Relaxed)"),
    mutant("closed-list-takes-more", "home.rs", "CLOSED", "0", (UNIT, "dma::lease_tests::the_last_one_frees_all")).within("&self.next, CLOSED, |_| {}"),
    mutant("owner-never-lets-go", "dma/lease.rs", "home + 1", "home", (UNIT, "dma::lease_tests::the_last_one_frees_all")),
    // The rings.
    mutant("record-not-acquired", "ring.rs", "Ordering::Acquire", "Ordering::Relaxed", ("models", "a_completion_is_seen_whole")),
    mutant("doorbell-not-ordered", "ring.rs", "fence(Ordering::Release)", "()", ("models", "a_doorbell_covers_its_descriptors")),
    // Polling and waiting.
    mutant("waits-behind-a-full-budget", "queue/receiver.rs", "given < budget", "true", ("queue", "no_wait_behind_a_full_budget")),
    mutant("waits-when-stopped", "queue/receiver.rs", "!self.queue.running", "false", ("queue", "a_stopped_queue_does_not_wait")),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is a member").to_owned()
}

/// Copies a file or a folder, as it is.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, fs::read(from).unwrap()).unwrap();
    }
}

/// A workspace of the driver and the table alone, every break in it.
fn broken_copy() -> PathBuf {
    let (root, copied) = (root(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("driver-mutants"));
    for part in
        ["driver/Cargo.toml", "driver/src", "driver/tests", "hdl/spec", "host/bench/src/ring.rs"]
    {
        copy(&root.join(part), &copied.join(part));
    }
    copy(&root.join("Cargo.lock"), &copied.join("Cargo.lock"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let only = |line: &str| match line.starts_with("members = ") {
        true => "members = [\"driver\", \"hdl/spec\"]".to_owned(),
        false => line.to_owned(),
    };
    let kept = |line: &&str| !line.starts_with("default-members");
    let manifest: Vec<String> = manifest.lines().filter(kept).map(only).collect();
    fs::write(copied.join("Cargo.toml"), manifest.join("\n")).unwrap();
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for (i, Break { name, file, context, from, to, .. }) in BREAKS.iter().enumerate() {
        let text = files
            .entry(file)
            .or_insert_with(|| fs::read_to_string(root.join("driver/src").join(file)).unwrap());
        assert_eq!(text.matches(context).count(), 1, "{name}: its text is not in {file} once");
        assert_eq!(context.matches(from).count(), 1, "{name}: what it replaces");
        let either = format!("(if broken({}) {{ {to} }} else {{ {from} }})", i + 1);
        *text = text.replacen(context, &context.replacen(from, &either, 1), 1);
    }
    for (file, text) in files {
        let number = format!(
            "\nfn broken(number: u32) -> bool {{\n    static CHOSEN: std::sync::OnceLock<u32> = \
             std::sync::OnceLock::new();\n    let chosen = || std::env::var(\"{VARIABLE}\").ok()\
             .and_then(|n| n.parse().ok());\n    *CHOSEN.get_or_init(|| chosen().unwrap_or(0)) == \
             number\n}}\n"
        );
        // In front of a file's tests, which are behind everything.
        let at = text.find("\n#[cfg(test)]\n").unwrap_or(text.len());
        let text = format!("{}{number}{}", &text[..at], &text[at..]);
        fs::write(copied.join("driver/src").join(file), text).unwrap();
    }
    copied
}

/// Builds the copy's tests; returns the executable of each.
fn build(copied: &Path) -> BTreeMap<String, PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--package", "groove-driver", "--no-run"])
        .args(["--lib", "--test", "models", "--test", "queue", "--message-format", "json"])
        .current_dir(copied)
        // Not the workspace's own: cargo would take the copy for the original.
        .env("CARGO_TARGET_DIR", copied.join("target"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs: it runs this test");
    assert!(output.status.success(), "the copy does not build");
    let messages = String::from_utf8(output.stdout).unwrap();
    let messages = messages.lines().filter_map(|l| serde_json::from_str(l).ok());
    let named = |message: serde_json::Value| {
        let name = message["target"]["name"].as_str()?.to_owned();
        Some((name, PathBuf::from(message["executable"].as_str()?)))
    };
    messages.filter_map(named).collect()
}

/// Whether a test passes under a break; `None`: it hangs.
fn passes(executable: &Path, test: &str, number: usize) -> Option<bool> {
    let mut child = Command::new(executable)
        .args(["--exact", test])
        .env(VARIABLE, number.to_string())
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.success());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn every_break_of_the_driver_is_caught() {
    let executables = build(&broken_copy());
    let mut missed = Vec::new();
    for (i, Break { name, caught_by: (binary, test), .. }) in BREAKS.iter().enumerate() {
        let executable = &executables[*binary];
        assert_eq!(passes(executable, test, 0), Some(true), "{test}, without any break");
        match passes(executable, test, i + 1) {
            Some(true) => missed.push(name),
            Some(false) => println!("{name}: caught by {test}"),
            None => println!("{name}: {test} hangs"),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
