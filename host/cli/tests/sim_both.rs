//! Two engines held against each other, one of them made to go wrong: what is found, and how it is
//! named.

mod support;

use std::io::Cursor;

use groove::capture::Reader;
use groove::engine::{Config, Engine, EngineError, Event, ModelEngine};
use groove::sim::{self, Conservation, CutRule, Engines, Outcome, Pace, Setup, SimError};
use groove_spec::TokenKind;
use support::{pcap, tcp, train};

/// The model with a change to what comes out of it.
struct Twisted<F>(ModelEngine, F);

impl<F: FnMut(&mut Vec<Event>)> Engine for Twisted<F> {
    fn name(&self) -> &'static str {
        "twisted"
    }

    fn frame(&mut self, bytes: &[u8], out: &mut Vec<Event>) -> Result<(), EngineError> {
        self.0.frame(bytes, out)?;
        (self.1)(out);
        Ok(())
    }

    fn token(
        &mut self,
        queue: u8,
        kind: TokenKind,
        out: &mut Vec<Event>,
    ) -> Result<(), EngineError> {
        self.0.token(queue, kind, out)?;
        (self.1)(out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<Event>) -> Result<(), EngineError> {
        self.0.finish(out)
    }

    fn cycle(&self, frame: Option<u32>) -> Option<u64> {
        Some(frame.map_or(7, |frame| 1000 + u64::from(frame)))
    }
}

fn setup() -> Setup {
    let config = Config::default();
    Setup { config, pace: Pace::Batch(64), cut: CutRule::Skip, limit: None }
}

/// Two trains of three, then a frame of another flow.
fn capture() -> Vec<u8> {
    let mut frames = train(1000, 3, 100);
    frames.extend(train(2000, 3, 200));
    frames.push(tcp(3000, 1, 0x18, &[1]));
    pcap(&frames)
}

fn run(engines: Engines, file: Vec<u8>) -> Result<Outcome, SimError> {
    let mut reader = Reader::new("x.pcap".into(), Box::new(Cursor::new(file)), None).unwrap();
    sim::run(&mut reader, engines, &setup(), None, &mut |_| {})
}

fn both(twist: impl FnMut(&mut Vec<Event>) + 'static) -> Outcome {
    let model = || ModelEngine::new(Config::default()).unwrap();
    let engines = Engines::both(Box::new(model()), Box::new(Twisted(model(), twist)));
    run(engines, capture()).unwrap()
}

fn one(twist: impl FnMut(&mut Vec<Event>) + 'static) -> SimError {
    let twisted = Twisted(ModelEngine::new(Config::default()).unwrap(), twist);
    run(Engines::One(Box::new(twisted)), capture()).unwrap_err()
}

/// Changes the delivery that starts with this frame.
fn change(first: u32, change: impl Fn(&mut groove_spec::Delivery)) -> impl FnMut(&mut Vec<Event>) {
    move |events| {
        for event in events {
            if let Event::Delivery(delivery) = event
                && delivery.frames[0] == first
            {
                change(delivery);
            }
        }
    }
}

#[test]
fn equal_engines_are_equal() {
    let outcome = both(|_| {});
    assert!(outcome.mismatch.is_none());
    assert_eq!(outcome.report.result, "equal");
    assert_eq!(outcome.report.total.frames, 7);
}

#[test]
fn a_field_is_named_with_frame_and_place() {
    let outcome = both(change(3, |d| d.gso_size = 199));
    assert_eq!(outcome.report.result, "different");
    let mismatch = outcome.mismatch.unwrap();
    assert_eq!(
        mismatch.lines,
        ["gso_size: expected 200, found 199", "frame 3 is record 4 of the capture, at byte 534",]
    );
    // The table shows what was equal before.
    assert_eq!(outcome.report.total.deliveries, 1);
}

#[test]
fn a_byte_is_named_with_the_frame_it_came_from() {
    let mismatch = both(change(3, |d| d.bytes[54 + 205] ^= 1)).mismatch.unwrap();
    assert_eq!(
        mismatch.lines,
        [
            "bytes[259]: expected 0x5a, found 0x5b",
            "byte 259 of the delivery is byte 59 of frame 4",
            "frame 3 is record 4 of the capture, at byte 534",
        ]
    );
}

#[test]
fn the_frames_of_the_queue_are_kept() {
    let mismatch = both(change(3, |d| d.hash ^= 1)).mismatch.unwrap();
    let kept: Vec<u32> = mismatch.kept.iter().map(|kept| kept.frame).collect();
    assert_eq!(kept, [0, 1, 2, 3, 4, 5]);
    assert_eq!(mismatch.kept[3].bytes, train(2000, 3, 200)[0]);
}

#[test]
fn a_missing_delivery_is_named() {
    let lose = |events: &mut Vec<Event>| {
        events.retain(|e| !matches!(e, Event::Delivery(d) if d.frames[0] == 6));
    };
    let mismatch = both(lose).mismatch.unwrap();
    assert_eq!(mismatch.lines[0], "delivery of frames 6 (queue 0) is missing");
}

#[test]
fn frames_that_vanish_or_double_are_a_fault_of_a_single_engine_too() {
    let lose = |events: &mut Vec<Event>| events.clear();
    let SimError::Conservation { fault, .. } = one(lose) else { panic!("not noticed") };
    assert_eq!(fault, Conservation::Lost(7, 0));
    assert_eq!(one(lose).cycle(), Some(7), "waves of it can be recorded");
    let double = |events: &mut Vec<Event>| {
        let again = events.clone();
        events.extend(again);
    };
    assert_eq!(one(double).cycle(), Some(1000));
    let SimError::Conservation { fault, .. } = one(double) else { panic!("not noticed") };
    assert_eq!(fault, Conservation::Unknown(0));
    let invent = change(3, |d| d.frames.push(99));
    let SimError::Conservation { fault, .. } = one(invent) else { panic!("not noticed") };
    assert_eq!(fault, Conservation::Unknown(99));
}
