//! The running kernel: fresh random bursts against the model, and the recordings that we carry
//! against a fresh recording. Skipped by name where the kernel cannot be asked.
//!
//! GROOVE_ORACLE_CASES=N runs N bursts (2,000 unless given), GROOVE_ORACLE_SEED=S starts at seed S
//! (a new one unless given). A burst that differs is told with its seed, and left as a capture.

use std::cell::RefCell;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use groove::engine::{Config, EngineError, RtlEngine, RtlOptions};
use groove::golden::{self, Case, EngineRunner, Outcome, Runner, write_pair};
use groove::oracle::{Error, Live, against_record, random, recorded_like, rules};
use groove_verilator::{BuildOptions, Pipeline};

const CASES: u64 = 2000;
/// Of these, so many go through the hardware too.
const HARDWARE_CASES: u64 = 250;
const RUNS: usize = 3;
const PIECE: usize = 250;

/// Two oracles on one CPU only get into each other's way.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is a member").to_owned()
}

fn env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// The running kernel; `None` says that the test is skipped, and why.
fn live(test: &str) -> Option<(MutexGuard<'static, ()>, Live)> {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    match Live::open() {
        Ok(live) => Some((guard, live)),
        Err(Error::Missing { feature, source }) => {
            println!("skipped: {test}: {}: {source}; {}", feature.name(), feature.help());
            None
        }
        Err(error) => panic!("the kernel can be asked, but: {error}"),
    }
}

fn fresh_seed() -> u64 {
    RandomState::new().hash_one(std::process::id()) >> 24
}

#[test]
fn the_running_kernel_equals_the_model_on_fresh_random_bursts() {
    const TEST: &str = "the_running_kernel_equals_the_model_on_fresh_random_bursts";
    let Some((_guard, live)) = live(TEST) else { return };
    let Ok(rules) = live.kernel.rules() else {
        println!("skipped: {TEST}: the rules of kernel {} are not known", live.kernel.release);
        return;
    };
    let seed = env("GROOVE_ORACLE_SEED").unwrap_or_else(fresh_seed);
    let count = env("GROOVE_ORACLE_CASES").unwrap_or(CASES);
    println!("{}\nseed {seed}", live.kernel.line());
    let (mut frames, mut merged) = (0, 0);
    let seeds: Vec<u64> = (0..count).map(|number| seed.wrapping_add(number)).collect();
    for seeds in seeds.chunks(PIECE) {
        let mut cases: Vec<Case> = seeds.iter().copied().map(random::burst).collect();
        live.record(&mut cases, RUNS, seed).unwrap_or_else(|e| panic!("from seed {seed}: {e:?}"));
        for (case, seed) in cases.iter().zip(seeds) {
            let outcome = live.compare(&mut golden::KernelModel, case, &rules).expect("it runs");
            if outcome != Outcome::Equal {
                fail(TEST, case, *seed, &outcome);
            }
            frames += case.frames.len();
            let recorded = case.golden.values().flatten();
            merged += recorded.filter(|recorded| recorded.gso_segs.is_some()).count();
        }
    }
    println!("{frames} frames in {count} bursts, {merged} merged deliveries");
    if count >= CASES {
        assert!(frames > 40_000 && merged > 3_000, "{frames} frames, {merged} merged");
    }
}

fn fail(test: &str, case: &Case, seed: u64, outcome: &Outcome) -> ! {
    let path = write_pair(Path::new(env!("CARGO_TARGET_TMPDIR")), case, "differs");
    panic!(
        "the kernel and the model differ: {outcome:#?}\nthe burst is in {path:?}\n\
         repeat: GROOVE_ORACLE_SEED={seed} GROOVE_ORACLE_CASES=1 cargo test -p groove-tests \
         --test oracle {test}, or groove oracle random --cases 1 --seed {seed}"
    );
}

/// The hardware of the default width, which other tests have built as well.
fn hardware() -> impl Runner {
    let pipeline = Pipeline::open(&BuildOptions::default()).expect("the hardware builds");
    let shared = Rc::new(RefCell::new(pipeline));
    EngineRunner(move |config: &Config| -> Result<RtlEngine, EngineError> {
        RtlEngine::attach(Rc::clone(&shared), config, &RtlOptions::default())
    })
}

#[test]
fn the_running_kernel_equals_the_hardware_on_fresh_random_bursts() {
    const TEST: &str = "the_running_kernel_equals_the_hardware_on_fresh_random_bursts";
    let Some((_guard, live)) = live(TEST) else { return };
    let Ok(rules) = live.kernel.rules() else {
        println!("skipped: {TEST}: the rules of kernel {} are not known", live.kernel.release);
        return;
    };
    let seed = env("GROOVE_ORACLE_SEED").unwrap_or_else(fresh_seed);
    let count = env("GROOVE_ORACLE_CASES").unwrap_or(CASES).min(HARDWARE_CASES);
    println!("{}\nseed {seed}", live.kernel.line());
    let seeds: Vec<u64> = (0..count).map(|number| seed.wrapping_add(number)).collect();
    let mut cases: Vec<Case> = seeds.iter().copied().map(random::burst).collect();
    live.record(&mut cases, RUNS, seed).unwrap_or_else(|e| panic!("from seed {seed}: {e:?}"));
    let (mut hardware, mut equal) = (hardware(), 0);
    for (case, seed) in cases.iter().zip(seeds) {
        match live.compare(&mut hardware, case, &rules).expect("it runs") {
            Outcome::Equal => equal += 1,
            // A tunnel, or another that hardware cannot be given.
            Outcome::LeftOut(_) => {}
            outcome => fail(TEST, case, seed, &outcome),
        }
    }
    println!("{equal} of {count} bursts equal, the others left out");
    if count >= HARDWARE_CASES {
        assert!(equal * 3 > count, "{equal} of {count}");
    }
}

#[test]
fn a_fresh_recording_equals_the_one_that_we_carry() {
    const TEST: &str = "a_fresh_recording_equals_the_one_that_we_carry";
    let Some((_guard, live)) = live(TEST) else { return };
    let cases = golden::cases(&root().join("tests/golden")).expect("our own cases are readable");
    let Some(label) = recorded_like(&cases[0], &live.kernel.label).map(str::to_owned) else {
        println!("skipped: {TEST}: there is no record of a kernel like {}", live.kernel.label);
        return;
    };
    let fresh = live.deliveries(&cases, RUNS, 1).expect("each case can be put through");
    let mut differing = Vec::new();
    for (case, fresh) in cases.iter().zip(&fresh) {
        if let Outcome::Differs(list) = against_record(&case.golden[&label], fresh) {
            differing.push(format!("{}: {}", case.name, list[0].1));
        }
    }
    assert!(differing.is_empty(), "{} differ from {label}: {differing:#?}", differing.len());
    println!("{} cases recorded anew, equal to {label}", cases.len());
}

#[test]
fn nothing_is_left_behind() {
    const TEST: &str = "nothing_is_left_behind";
    let devices = || {
        let mut names: Vec<_> =
            fs::read_dir("/sys/class/net").unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let namespace = || fs::read_link("/proc/thread-self/ns/net").unwrap();
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    // Field 18 of the statistics is the priority, 41 the policy.
    let schedule = || {
        let text = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        (fields[17].clone(), fields[40].clone())
    };
    let before = (devices(), namespace(), mounts(), schedule());
    let Some((_guard, live)) = live(TEST) else { return };
    live.deliveries(&[random::burst(1)], 1, 1).expect("a burst goes through");
    assert_eq!((devices(), namespace(), mounts(), schedule()), before, "while it is open");
    drop(live);
    assert_eq!((devices(), namespace(), mounts(), schedule()), before, "afterwards");
}

#[test]
fn a_burst_beyond_the_method_is_refused() {
    let Some((_guard, live)) = live("a_burst_beyond_the_method_is_refused") else { return };
    let mut case = random::burst(1);
    case.frames.resize(65, case.frames[0].clone());
    let refused = |case: &Case| match live.deliveries(std::slice::from_ref(case), 1, 1) {
        Err(Error::At { source, .. }) => source.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(refused(&case).contains("65 frames"), "{}", refused(&case));
    case.frames.truncate(64);
    case.frames[1].bytes.truncate(13);
    assert!(refused(&case).starts_with("frame 1: 13 bytes"), "{}", refused(&case));
    // The oracle goes on after a refusal.
    live.deliveries(&[random::burst(2)], 1, 1).expect("a burst goes through");
}

#[test]
fn the_table_in_the_docs_is_measured() {
    let all = golden::cases(&root().join("tests/golden")).expect("our own cases are readable");
    let cases = rules::cases(&all).unwrap_or_else(|name| panic!("no case is called {name}"));
    let rows = rules::rows(&cases);
    let table = rules::markdown(&rows);
    let page = fs::read_to_string(root().join("docs/semantics.md")).unwrap();
    assert!(
        page.contains(&table),
        "docs/semantics.md: the table is not that of `groove oracle rules tests/golden`:\n{table}"
    );
    // Each kernel of the records differs from each other one in some rule, and all agree in most.
    let labels: Vec<&String> = cases[0].golden.keys().collect();
    for (i, a) in labels.iter().enumerate() {
        for b in &labels[i + 1..] {
            let differ = rows.iter().filter(|row| row.kernels[*a] != row.kernels[*b]).count();
            assert!((1..rows.len() / 2).contains(&differ), "{a} and {b}: {differ}");
        }
    }
}
