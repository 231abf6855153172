//! Every target on its committed inputs and on mutations of them by seed.
//!
//! `GROOVE_FUZZ_SEED` chooses the mutations (1), `GROOVE_FUZZ_SECONDS` runs each target so long
//! instead of so many, `GROOVE_FUZZ_INPUT` runs one file alone. A failing input is made small and
//! written to a file, with the command that runs it again.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use groove_fuzz::mutate::Rng;
use groove_fuzz::{TARGETS, corpus, mutate, target};

/// Attempts to make a failing input smaller.
const ATTEMPTS: usize = 4000;
/// Most files, and bytes in them, of a corpus.
const FILES_MAX: usize = 150;
const BYTES_MAX: usize = 300_000;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Panics of attempts are not printed.
fn hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
}

/// What a target panics with, if it does.
fn failure(run: fn(&[u8]), input: &[u8]) -> Option<String> {
    hook();
    QUIET.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(|| run(input)));
    QUIET.set(false);
    let payload = result.err()?;
    let text = payload.downcast_ref::<String>().map(String::as_str);
    Some(text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned())
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Makes a failing input small, writes it, and says how it is run again.
fn report(name: &str, run: fn(&[u8]), input: &[u8], what: &str, from: &str) -> ! {
    let least = mutate::minimise(input.to_vec(), ATTEMPTS, |less| failure(run, less).is_some());
    let what_least = failure(run, &least).unwrap_or_else(|| what.to_owned());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("fuzz-{name}-{}", corpus::name(&least)));
    let written = std::fs::write(&path, &least);
    panic!(
        "target {name}, {from}: {what_least}\n{} bytes in {} ({written:?}); again:\n    \
         GROOVE_FUZZ_INPUT={} cargo test --package groove-fuzz --test replay -- {name}",
        least.len(),
        path.display(),
        path.display(),
    );
}

/// The corpus, then `count` mutations.
fn replay(name: &str, count: u64) {
    let run = target(name).expect("a target");
    if let Some(path) = std::env::var_os("GROOVE_FUZZ_INPUT").map(PathBuf::from) {
        return run(&std::fs::read(&path).expect("GROOVE_FUZZ_INPUT is a file"));
    }
    let inputs = corpus::read(name).expect("a committed corpus");
    assert!(!inputs.is_empty(), "no committed input");
    for (file, input) in &inputs {
        if let Some(what) = failure(run, input) {
            report(name, run, input, &what, &format!("corpus file {file}"));
        }
    }
    let seed = setting("GROOVE_FUZZ_SEED").unwrap_or(1);
    let time = setting("GROOVE_FUZZ_SECONDS").map(Duration::from_secs);
    let mut rng = Rng::new(seed);
    let (start, mut done) = (Instant::now(), 0);
    while time.map_or(done < count, |time| start.elapsed() < time) {
        let any = |rng: &mut Rng| &inputs[rng.range(0, inputs.len() - 1)].1[..];
        let (input, other) = (any(&mut rng), any(&mut rng));
        let input = mutate::mutate(&mut rng, input, other);
        if let Some(what) = failure(run, &input) {
            report(name, run, &input, &what, &format!("GROOVE_FUZZ_SEED={seed}, input {done}"));
        }
        done += 1;
    }
    println!("{name}: {} files, {done} mutations, GROOVE_FUZZ_SEED={seed}", inputs.len());
}

#[test]
fn frame() {
    replay("frame", 20_000);
}

#[test]
fn capture() {
    replay("capture", 2_000);
}

#[test]
fn coalescer() {
    replay("coalescer", 500);
}

#[test]
fn spec() {
    replay("spec", 20_000);
}

#[test]
fn completions() {
    replay("completions", 2_000);
}

#[test]
fn vfio_user() {
    replay("vfio_user", 1_000);
}

#[test]
fn corpora_are_small_and_named_by_content() {
    for (name, _) in TARGETS {
        let inputs = corpus::read(name).expect("a committed corpus");
        let bytes: usize = inputs.iter().map(|(_, input)| input.len()).sum();
        let within = inputs.len() <= FILES_MAX && bytes <= BYTES_MAX;
        assert!(within, "{name}: {} files, {bytes} bytes; setup/fuzz merge", inputs.len());
        for (file, input) in &inputs {
            assert_eq!(*file, corpus::name(input), "{name}: a name is the content's");
        }
    }
}

/// What is broken fails, is made small, and is told with its file and command.
#[test]
fn a_failing_input_is_told_with_how_to_run_it_again() {
    let broken: fn(&[u8]) = |input| assert!(!input.contains(&7), "a seven");
    assert_eq!(failure(broken, &[1, 2]), None);
    let told = panic::catch_unwind(|| report("none", broken, &[1, 7, 2, 7], "a seven", "here"));
    let told = told.unwrap_err().downcast::<String>().unwrap();
    let path = told.split_once("GROOVE_FUZZ_INPUT=").unwrap().1.split(' ').next().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), [7], "{told}");
    assert!(told.starts_with("target none, here: a seven\n1 bytes in"), "{told}");
}
