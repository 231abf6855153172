//! Waves of a failure: a stand-in for the hardware fails or differs, and the repeated run shows it.

mod support;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use groove::capture::Reader;
use groove::engine::{Config, EngineError, ModelEngine, RtlEngine, RtlOptions};
use groove::sim::{self, CutRule, Engines, Pace, Setup, SimError, WaveError};
use groove_spec::stages::coalesce::OPERATION;
use groove_verilator::{BuildOptions, Pipeline, Wave};
use support::{pcap, train};

/// The harness's stand-in for the hardware, with one of its faults; 0 is none.
fn toy(fault: u32, wave: Option<Wave>) -> Result<RtlEngine, EngineError> {
    let text = include_str!("../../../verilator/testdata/toy.v");
    let text = text.replace("@BITS@", &OPERATION.bits().to_string());
    let text = text.replace("fault = 0;", &format!("fault = {fault};"));
    let verilog = OPERATION.fields.iter().fold(text, |text, field| {
        text.replace(&format!("@{}@", field.name), &format!("{} +: {}", field.lsb, field.width))
    });
    let build = BuildOptions {
        width: 64,
        queues: 2,
        buckets: 1,
        depth: 1,
        trace: wave.is_some(),
        ..BuildOptions::default()
    };
    let pipeline = Rc::new(RefCell::new(Pipeline::from_verilog(&verilog, &build)?));
    RtlEngine::attach(pipeline, &config(), &RtlOptions { stall_percent: 40, seed: 5, wave })
}

fn config() -> Config {
    Config { queues: 2, ..Config::default() }
}

fn setup() -> Setup {
    Setup { config: config(), pace: Pace::Batch(64), cut: CutRule::Skip, limit: None }
}

fn with_capture() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.pcap");
    fs::write(&path, pcap(&train(1000, 100, 1000))).unwrap();
    (dir, path)
}

fn run(path: &Path, engines: Engines) -> Result<sim::Outcome, SimError> {
    sim::run(&mut Reader::open(path).unwrap(), engines, &setup(), None, &mut |_| {})
}

/// First and last time of an FST file: the body of its first block, of type 0 and 329 bytes long.
fn times(file: &Path) -> (u64, u64) {
    let bytes = fs::read(file).unwrap();
    assert!(bytes.len() > 329, "{} bytes", bytes.len());
    assert_eq!((bytes[0], &bytes[1..9]), (0, &329u64.to_be_bytes()[..]));
    let number = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
    (number(9), number(17))
}

#[test]
fn a_difference_is_recorded_around_its_cycle() {
    let (dir, capture) = with_capture();
    let model = ModelEngine::new(config()).unwrap();
    let engines = Engines::both(Box::new(model), Box::new(toy(0, None).unwrap()));
    let outcome = run(&capture, engines).unwrap();
    let cycle = outcome.mismatch.expect("the stand-in merges nothing").cycle.unwrap();
    // The first frame has 132 beats, and the ports pause in some cycles.
    assert!((132..1000).contains(&cycle), "{cycle}");
    let file = dir.path().join("w.fst");
    let setup = Setup { limit: Some(outcome.report.records), ..setup() };
    let open = || toy(0, Some(Wave::around(&file, cycle)));
    fs::write(&file, "of an earlier failure").unwrap();
    let time = sim::record_waves(&capture, &setup, &file, cycle, open).unwrap();
    // Two steps a cycle.
    assert_eq!(times(&file), (time - 2 * cycle.min(300), time + 2 * 50 - 1));
}

#[test]
fn a_broken_protocol_is_recorded_up_to_its_cycle() {
    let (dir, capture) = with_capture();
    let error = run(&capture, Engines::One(Box::new(toy(4, None).unwrap()))).unwrap_err();
    let cycle = error.cycle().expect("the monitors tell the cycle");
    let file = dir.path().join("w.fst");
    let open = || toy(4, Some(Wave::around(&file, cycle)));
    let time = sim::record_waves(&capture, &setup(), &file, cycle, open).unwrap();
    // The simulation ends in the middle of that cycle, with what the monitors saw.
    assert_eq!(times(&file), (time - 2 * cycle.min(300), time));
}

#[test]
fn what_cannot_be_recorded_says_why() {
    let (dir, capture) = with_capture();
    let file = dir.path().join("w.fst");
    let record = |capture: &Path, file: &Path, cycle| {
        let open = || toy(0, Some(Wave::around(file, cycle)));
        sim::record_waves(capture, &setup(), file, cycle, open).unwrap_err()
    };
    let error = record(Path::new("-"), &file, 9);
    assert!(matches!(error, WaveError::NotAFile(_)), "{error}");
    assert_eq!(error.to_string(), "- is not a file that can be read again");
    // What an earlier failure left is not taken for the waves of this one.
    fs::write(&file, "of an earlier failure").unwrap();
    let error = record(&capture, &file, u64::MAX);
    assert!(matches!(error, WaveError::Short), "{error}");
    let error = record(&capture, &dir.path().join("missing/w.fst"), 9);
    assert!(error.to_string().contains("could not be written"), "{error}");
}
