//! Vectors of every stage (`tests/vectors`): the model, and the emitted hardware under Verilator at
//! two widths, with and without pauses, against what the files expect from standards and published
//! sources.
//!
//! Not here: model against hardware. Here each stands against the files alone.

use std::path::{Path, PathBuf};

use groove::engine::registers;
use groove_model::{Config, Event};
use groove_spec::STAGES;
use groove_tests::differential::{Segment, hardware, model};
use groove_tests::vectors::{Vector, of_stage, parse};
use groove_verilator::{BuildOptions, Pipeline};

const STALL_PERCENTS: [u8; 2] = [0, 30];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

fn all() -> Vec<Vector> {
    let of = |name| of_stage(&directory(), name).unwrap_or_else(|error| panic!("{error}"));
    let vectors: Vec<_> = STAGES.iter().flat_map(|stage| of(stage.name)).collect();
    assert!(vectors.len() >= VECTORS_MIN, "only {} vectors", vectors.len());
    vectors
}

/// Vectors that must be there: none is lost by a slip of the format.
const VECTORS_MIN: usize = 250;

fn model_events(vector: &Vector) -> Vec<Event> {
    model(&vector.config, &vector.items, &vector.refused()).0
}

#[track_caller]
fn all_hold(found: &[String]) {
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

#[test]
fn model_meets_every_vector() {
    let find = |vector: &Vector| vector.findings("model", &model_events(vector));
    all_hold(&all().iter().flat_map(find).collect::<Vec<_>>());
}

fn hardware_meets_every_vector(width: usize) {
    let build = BuildOptions { width, ..BuildOptions::default() };
    let mut pipeline = Pipeline::open(&build).expect("the hardware builds");
    let mut found = Vec::new();
    for (seed, vector) in (1..).zip(all()) {
        for stall_percent in STALL_PERCENTS {
            let segment = Segment {
                seed,
                queues: vector.config.queues,
                frames: vector.frames().len(),
                stall_percent,
                output_stall_percent: None,
                refuse_percent: if vector.refuse { 100 } else { 0 },
            };
            let engine = format!("hardware W={width}, pauses {stall_percent} %");
            let registers = registers::image(&vector.config);
            match hardware(&mut pipeline, &segment, registers, &vector.items) {
                Ok(events) => found.extend(vector.findings(&engine, &events)),
                Err(error) => found.push(format!(
                    "{}:{}: {}: {engine}: {error}",
                    vector.file, vector.line, vector.name
                )),
            }
        }
    }
    all_hold(&found);
}

#[test]
fn hardware_meets_every_vector_at_w512() {
    hardware_meets_every_vector(512);
}

#[test]
fn hardware_meets_every_vector_at_w64() {
    hardware_meets_every_vector(64);
}

#[test]
fn every_stage_has_vectors_of_its_own() {
    for stage in STAGES {
        let vectors = of_stage(&directory(), stage.name).expect("the files are readable");
        assert!(vectors.len() >= 8, "{}: only {} vectors", stage.name, vectors.len());
        let mut names: Vec<_> = vectors.iter().map(|vector| &vector.name).collect();
        names.sort();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "{}", stage.name);
    }
}

// --- the checks can fail ----------------------------------------------------------------------

const GOOD: &str = "\
vector two segments
  about two segments of a flow are one delivery
  frame v4 len=100
  frame v4 len=50
  frame v4 len=20 sport=7 bad-fcs
  deliver 0,1 payload=150 csum=partial gso_type=TCPV4 @23=06 end=short
  drop 2 bad-fcs
";

fn findings_of(text: &str) -> Vec<String> {
    let vectors = parse("a/b.txt", text).unwrap_or_else(|error| panic!("{error}"));
    vectors.iter().flat_map(|vector| vector.findings("model", &model_events(vector))).collect()
}

#[test]
fn a_wrong_expectation_is_named() {
    assert_eq!(findings_of(GOOD), [""; 0]);
    let place = "a/b.txt:6: two segments: model: [0, 1]";
    for (from, to, finding) in [
        ("payload=150", "payload=151", "payload: expected 151, found 150"),
        ("csum=partial", "csum=none", "csum: expected none, found partial"),
        ("gso_type=TCPV4", "gso_type=TCPV6", "gso_type: expected TCPV6, found TCPV4"),
        ("@23=06", "@23=11", "@23: expected 11, found 06"),
        ("end=short", "end=flags", "end: expected flags, found short"),
    ] {
        assert_eq!(findings_of(&GOOD.replace(from, to)), [format!("{place} {finding}")]);
    }
    let found = findings_of(&GOOD.replace("drop 2 bad-fcs", "drop 2 runt"));
    assert_eq!(found[0], "a/b.txt:1: two segments: model: drops: expected 2 runt, found 2 bad-fcs");
    let found = findings_of(&GOOD.replace("drop 2 bad-fcs", "deliver 2"));
    assert!(found.iter().any(|f| f.contains("number of deliveries: expected 2, found 1")));
    let sizes = GOOD.replace("  drop", "  sizes 100 50\n  drop");
    assert_eq!(
        findings_of(&sizes),
        ["a/b.txt:1: two segments: model: sizes: expected [100, 50], found [150]"]
    );
}

#[test]
fn changed_bytes_are_found_without_being_asked_for() {
    let vectors = parse("a/b.txt", GOOD).expect("readable");
    let mut events = model_events(&vectors[0]);
    for event in &mut events {
        if let Event::Delivery(delivery) = event {
            *delivery.bytes.last_mut().expect("not empty") ^= 1;
        }
    }
    let found = vectors[0].findings("model", &events);
    assert!(found.len() == 1 && found[0].contains("[0, 1] payload bytes"), "{found:?}");
}

#[test]
fn what_is_not_in_the_format_is_refused() {
    for (from, to, error) in [
        ("  about", "  abuot", "a/b.txt:2: abuot: not a word of the format"),
        ("  about two", "  # two", "a/b.txt:1: two segments: no 'about'"),
        ("csum=partial", "csam=partial", "a/b.txt:6: csam: not a field of a delivery"),
        ("len=50", "lne=50", "a/b.txt:4: lne: not a field of this frame"),
        ("len=50", "len=5o", "a/b.txt:4: len: 5o: not a number that fits"),
        ("deliver 0,1", "deliver 1", "a/b.txt:1: two segments: 3 frames, 2 accounted for"),
        ("drop 2 bad-fcs", "drop 2 fcs", "a/b.txt:7: drop: there is no 'fcs'"),
        ("frame v4 len=50", "frame hex 123", "a/b.txt:4: 123: not whole bytes"),
        (
            "  frame v4 len=50",
            "  set vlan_strip=maybe",
            "a/b.txt:4: vlan_strip: maybe is neither on nor off",
        ),
        ("vector", "# vector", "a/b.txt:2: about: before the first vector"),
    ] {
        assert_eq!(parse("a/b.txt", &GOOD.replace(from, to)).err().as_deref(), Some(error));
    }
}

#[test]
fn configurations_of_vectors_are_possible() {
    assert!(all().iter().all(|vector| Config::check(&vector.config).is_ok()));
}
