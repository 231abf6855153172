//! Runs the emitted pipeline under the harness alone: what goes in comes out, or is logged as
//! dropped.
//!
//! Not here: what the deliveries should be; that is told by the model, in the cross-crate suites.

use groove_spec::stages::device::SPEC_ID as SPEC_ID_REGISTER;
use groove_spec::stages::ingress::{DROP_BAD_FCS, DROP_OVERFLOW, FRAMES};
use groove_spec::{DropReason, SPEC_ID, TokenKind};
use groove_verilator::{BuildOptions, Event, Pipeline, RunConfig, Stats, Stimulus, Wave};

/// A frame that is not IP, so that it comes out alone and unchanged.
fn frame(index: u32) -> Vec<u8> {
    let length = 14 + index * 131 % 1500;
    let mut bytes: Vec<u8> = (0..length).map(|i| (i * 3 + index) as u8).collect();
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes
}

fn bad_fcs(index: u32) -> bool {
    index % 11 == 3
}

/// Sends frames with a token after every fifth; all events.
fn send(pipeline: &mut Pipeline, frames: u32) -> Vec<Event> {
    let mut events = Vec::new();
    for index in 0..frames {
        let bytes = frame(index);
        pipeline.push(Stimulus::Frame { bytes: &bytes, bad_fcs: bad_fcs(index) }).unwrap();
        if index % 5 == 4 {
            pipeline.push(Stimulus::Token { queue: 0, kind: TokenKind::FlushAll }).unwrap();
        }
        events.extend(std::iter::from_fn(|| pipeline.pull()));
    }
    pipeline.finish().unwrap();
    events.extend(std::iter::from_fn(|| pipeline.pull()));
    events
}

/// Every frame came once, unchanged if it was delivered; the drops by reason.
fn check(events: &[Event], frames: u32) -> Vec<(u32, DropReason)> {
    let mut seen = vec![0; frames as usize];
    let mut drops = Vec::new();
    for event in events {
        match event {
            Event::Delivery(delivery) => {
                let [number] = delivery.frames[..] else { panic!("merged: {:?}", delivery.frames) };
                assert_eq!(delivery.bytes, frame(number), "frame {number}");
                seen[number as usize] += 1;
            }
            Event::Drop { frame, reason } => {
                seen[*frame as usize] += 1;
                drops.push((*frame, *reason));
            }
        }
    }
    assert!(seen.iter().all(|count| *count == 1), "a frame is missing or came twice");
    drops
}

fn count(drops: &[(u32, DropReason)], reason: DropReason) -> u32 {
    drops.iter().filter(|d| d.1 == reason).count() as u32
}

#[test]
fn every_frame_is_delivered_or_logged_whatever_stalls() {
    let options = BuildOptions { width: 64, queues: 1, ..BuildOptions::default() };
    let mut pipeline = Pipeline::open(&options).unwrap();
    for (seed, stall_percent, refuse_percent) in [(1, 0, 0), (2, 30, 0), (3, 80, 40)] {
        let config = RunConfig { seed, stall_percent, refuse_percent, ..RunConfig::default() };
        pipeline.reset(&config).unwrap();
        let drops = check(&send(&mut pipeline, 300), 300);
        let bad = (0..300).filter(|i| bad_fcs(*i)).count() as u32;
        assert_eq!(count(&drops, DropReason::BadFcs), bad);
        assert_eq!(count(&drops, DropReason::NoBuffer) > 0, refuse_percent > 0);
        assert_eq!(pipeline.register(SPEC_ID_REGISTER.offset as u32).unwrap(), SPEC_ID);
        assert_eq!(pipeline.register(FRAMES.offset as u32).unwrap(), 300);
        assert_eq!(pipeline.register(DROP_BAD_FCS.offset as u32).unwrap(), bad);
    }
}

#[test]
fn without_back_pressure_whole_frames_are_dropped_and_logged() {
    let options = BuildOptions { width: 64, queues: 1, lossless: false, ..BuildOptions::default() };
    let mut pipeline = Pipeline::open(&options).unwrap();
    let mut run = |stall_percent| {
        let output_stall_percent = Some(stall_percent);
        let config = RunConfig { output_stall_percent, seed: 4, ..RunConfig::default() };
        pipeline.reset(&config).unwrap();
        let drops = check(&send(&mut pipeline, 400), 400);
        let overflows = count(&drops, DropReason::Overflow);
        assert_eq!(pipeline.register(DROP_OVERFLOW.offset as u32).unwrap(), overflows);
        overflows
    };
    // Beats without a pause are a little more than a narrow pipeline takes.
    let (few, many) = (run(0), run(90));
    assert!(few < 10 && many > 50, "{few} and {many} of 400 frames were dropped");
}

#[test]
fn waves_do_not_change_a_run() {
    let options = BuildOptions { width: 64, queues: 1, ..BuildOptions::default() };
    let traced = BuildOptions { trace: true, ..options.clone() };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("around.fst");
    let config = RunConfig { seed: 5, stall_percent: 30, ..RunConfig::default() };
    let with_wave = RunConfig { wave: Some(Wave::around(&path, 900)), ..config.clone() };
    let run = |options: &BuildOptions, config: &RunConfig| -> (Vec<Event>, Stats) {
        let mut pipeline = Pipeline::open(options).unwrap();
        pipeline.reset(config).unwrap();
        let events = send(&mut pipeline, 60);
        (events, pipeline.stats())
    };
    assert_eq!(run(&options, &config), run(&traced, &with_wave));
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes > 10_000, "{bytes} bytes of waves");
}
