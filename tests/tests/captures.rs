//! Goal: every capture, our own and those of public test sets, gives the same deliveries from model
//! and hardware, loses no frame, and what was merged can be cut into the frames that went in.
//! Method: one build per width for all captures, polls of 64 frames, random pauses on every port at
//! the narrower width. Frames that the snap length cut are run as the bytes that are there: more
//! shapes for the hardware.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use groove::capture::Reader;
use groove::engine::{Config, Event, ModelEngine, RtlEngine, RtlOptions, SharedPipeline};
use groove::sim::{Engines, Pace, Schedule, Stop};
use groove_model::{Model, RssConfig};
use groove_spec::{MIN_FRAME_BYTES, QUEUES_MAX};
use groove_tests::inverse::Inverse;
use groove_verilator::{BuildOptions, Pipeline};

const QUEUES: u8 = QUEUES_MAX as u8;
const BATCH: u32 = 64;

/// Sum over captures.
#[derive(Debug, Default)]
struct Total {
    captures: usize,
    frames: usize,
    dropped: usize,
    inverse: Inverse,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn captures(directory: &Path) -> Vec<PathBuf> {
    let is_capture =
        |path: &PathBuf| path.extension().is_some_and(|e| e == "pcap" || e == "pcapng");
    let entries = std::fs::read_dir(directory).expect("the directory is readable");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("readable").path()).filter(is_capture).collect();
    paths.sort();
    paths
}

fn frames(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = Reader::open(path).expect("the capture opens");
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().expect("the capture is whole") {
        if !frame.bytes.is_empty() {
            frames.push(frame.bytes.to_vec());
        }
    }
    frames
}

/// Gives every frame to both engines, with the flush points of polls.
fn drive(engines: &mut Engines, config: &Config, frames: &[Vec<u8>]) -> Result<Vec<Event>, Stop> {
    let steering = Model::new(config.clone()).expect("a valid configuration");
    let mut schedule = Schedule::new(Pace::Batch(BATCH), QUEUES);
    let (mut tokens, mut events) = (Vec::new(), Vec::new());
    for frame in frames {
        engines.frame(frame, &mut events)?;
        if (MIN_FRAME_BYTES..=config.max_frame_bytes).contains(&frame.len()) {
            schedule.after(steering.steer(frame), &mut tokens);
        }
        for token in tokens.drain(..) {
            engines.token(token.queue, token.kind, &mut events)?;
        }
    }
    schedule.end(&mut tokens);
    for token in tokens {
        engines.token(token.queue, token.kind, &mut events)?;
    }
    engines.finish(&mut events)?;
    Ok(events)
}

fn run(path: &Path, hardware: &SharedPipeline, stall_percent: u8, total: &mut Total) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let frames = frames(path);
    let config = Config { queues: QUEUES, rss: RssConfig::spread(QUEUES), ..Config::default() };
    let options = RtlOptions { stall_percent, seed: frames.len() as u64, wave: None };
    let model = ModelEngine::new(config.clone()).expect("a valid configuration");
    let rtl = RtlEngine::attach(Rc::clone(hardware), &config, &options).expect("the run starts");
    let mut engines = Engines::both(Box::new(model), Box::new(rtl));
    let events = drive(&mut engines, &config, &frames)
        .unwrap_or_else(|stop| panic!("{name}, pauses {stall_percent} %: {stop:?}"));
    let mut seen = vec![0u32; frames.len()];
    for event in &events {
        match event {
            Event::Drop { frame, .. } => {
                seen[*frame as usize] += 1;
                total.dropped += 1;
            }
            Event::Delivery(delivery) => {
                delivery.frames.iter().for_each(|frame| seen[*frame as usize] += 1);
                let frame = |number: u32| frames[number as usize].as_slice();
                let back = total.inverse.check(&config, delivery, frame);
                back.unwrap_or_else(|fault| panic!("{name}: {fault}"));
            }
        }
    }
    let lost = seen.iter().position(|count| *count != 1);
    assert_eq!(lost, None, "{name}: frame delivered {:?} times", lost.map(|i| seen[i]));
    total.captures += 1;
    total.frames += frames.len();
}

fn run_all(width: usize, stall_percent: u8, paths: &[PathBuf]) -> Total {
    let build = BuildOptions { width, ..BuildOptions::default() };
    let pipeline = Pipeline::open(&build).expect("the hardware builds");
    let hardware = Rc::new(RefCell::new(pipeline));
    let mut total = Total::default();
    for path in paths {
        run(path, &hardware, stall_percent, &mut total);
    }
    println!("W={width}: {total:?}");
    total
}

#[test]
fn our_captures_are_equal_at_two_widths() {
    let paths = captures(&root().join("tests/captures"));
    for (width, stall_percent) in [(512, 0), (128, 30)] {
        let total = run_all(width, stall_percent, &paths);
        assert!(total.captures >= 14 && total.inverse.merged > 100, "{total:?}");
        assert_eq!(total.inverse.excepted, 0);
    }
}

#[test]
fn public_captures_are_equal_at_two_widths() {
    let directory = root().join("../shared/captures");
    if !directory.is_dir() {
        println!("skipped: public_captures_are_equal_at_two_widths: no ../shared");
        return;
    }
    let paths = captures(&directory);
    for (width, stall_percent) in [(512, 0), (128, 30)] {
        let total = run_all(width, stall_percent, &paths);
        assert!(total.captures >= 38 && total.inverse.merged > 100, "{total:?}");
    }
}
