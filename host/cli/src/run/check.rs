//! Holds what the driver delivers against the model, while the run goes on.
//!
//!   frames ──► device ──► journal ──► model ──► expected, by queue ─┐
//!                └─────► driver ──────────────► found, by queue ────┴─► equal, or the difference
//!
//! Frames that the device dropped for want of buffers, and tokens of its timers, stand in its
//! journal, so that the model goes the same way. A ring does not say which frames a delivery was
//! made of: the model's numbers are taken, and every other field is compared.
//! Invariants: what is equal leaves memory (`what_is_equal_is_forgotten`); a delivery that differs,
//! is missing or too much is told (`a_difference_is_told`); every frame is delivered or dropped
//! once (`conservation_is_checked`).

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use groove_device::Step;
use groove_model::{Config, ConfigError, Event, Frame, Model};
use groove_spec::{Delivery, DropReason};

use crate::capture;
use crate::compare::{Mismatch, differences};
use crate::sim::{Conservation, Ledger};

/// What came of a delivery or of a dropped frame.
pub enum Checked {
    /// Equal in model and driver; bytes of its frames on the wire.
    Delivery(Delivery, u64),
    /// Dropped.
    Drop(DropReason),
}

/// Why a check ends early.
#[derive(Debug)]
pub enum Fault {
    /// The driver's delivery is not the model's.
    Mismatch(Box<Mismatch>),
    /// A frame was lost, invented or delivered twice.
    Conservation(Conservation),
    /// The device took more frames than came.
    Journal,
}

impl From<Conservation> for Fault {
    fn from(fault: Conservation) -> Self {
        Self::Conservation(fault)
    }
}

/// Deliveries of a queue that have no partner yet.
#[derive(Default)]
struct Pair {
    expected: VecDeque<Delivery>,
    found: VecDeque<Delivery>,
}

/// The check.
pub struct Check {
    model: Model,
    /// Frames that went to the device and are not in its journal yet.
    frames: VecDeque<Vec<u8>>,
    queues: Vec<Pair>,
    found: Receiver<Delivery>,
    /// Where frames came from.
    pub ledger: Ledger,
}

impl Check {
    /// At the start; `found` gives what the driver delivers.
    pub fn new(config: &Config, found: Receiver<Delivery>) -> Result<Self, ConfigError> {
        Ok(Self {
            model: Model::new(config.clone())?,
            frames: VecDeque::new(),
            queues: (0..config.queues).map(|_| Pair::default()).collect(),
            found,
            ledger: Ledger::new(true),
        })
    }

    /// A frame goes to the device.
    pub fn enter(&mut self, frame: &capture::Frame, queue: Option<u8>) {
        self.ledger.enter(frame, queue);
        self.frames.push_back(frame.bytes.to_vec());
    }

    /// Goes as far as journal and driver have come.
    pub fn step(&mut self, journal: &[Step], out: &mut Vec<Checked>) -> Result<(), Fault> {
        let mut events = Vec::new();
        for step in journal {
            match step {
                Step::Token { queue, kind } => self.model.token(*queue, *kind, &mut events),
                Step::Frame => {
                    let bytes = self.frames.pop_front().ok_or(Fault::Journal)?;
                    self.model.frame(Frame::new(&bytes), &mut events);
                }
                Step::Skip(reason) => {
                    self.frames.pop_front().ok_or(Fault::Journal)?;
                    self.model.skip(*reason, &mut events);
                }
            }
        }
        for event in events {
            match event {
                Event::Delivery(delivery) => {
                    self.queues[usize::from(delivery.queue)].expected.push_back(delivery);
                }
                Event::Drop { frame, reason } => {
                    self.ledger.take(&[frame])?;
                    out.push(Checked::Drop(reason));
                }
            }
        }
        for delivery in self.found.try_iter() {
            if let Some(pair) = self.queues.get_mut(usize::from(delivery.queue)) {
                pair.found.push_back(delivery);
            }
        }
        self.compare(out)
    }

    fn compare(&mut self, out: &mut Vec<Checked>) -> Result<(), Fault> {
        for pair in &mut self.queues {
            while let (Some(expected), Some(found)) =
                (pair.expected.front(), pair.found.front_mut())
            {
                found.frames.clone_from(&expected.frames);
                if expected != found {
                    let fields = differences(expected, found);
                    let (expected, found) = (expected.clone().into(), found.clone().into());
                    return Err(Fault::Mismatch(
                        Mismatch::Delivery { expected, found, fields }.into(),
                    ));
                }
                pair.expected.pop_front();
                if let Some(delivery) = pair.found.pop_front() {
                    let taken = self.ledger.take(&delivery.frames)?;
                    out.push(Checked::Delivery(delivery, taken.wire_bytes));
                }
            }
        }
        Ok(())
    }

    /// Refuses whatever has no partner, and frames that never came out.
    pub fn finish(&mut self) -> Result<(), Fault> {
        for pair in &mut self.queues {
            for (side, missing) in [(&mut pair.expected, true), (&mut pair.found, false)] {
                if let Some(delivery) = side.pop_front() {
                    let delivery = delivery.into();
                    return Err(Fault::Mismatch(Mismatch::Unpaired { delivery, missing }.into()));
                }
            }
        }
        Ok(self.ledger.check_empty()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::TokenKind;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    /// Frames that no protocol knows: each is a delivery.
    fn check() -> (Check, Sender<Delivery>) {
        let (sender, found) = channel();
        let mut check = Check::new(&Config::default(), found).unwrap();
        for record in 1..=3 {
            let bytes = &[record as u8; 60];
            let time = Duration::ZERO;
            let frame = capture::Frame { record, offset: 0, time, wire_bytes: 60, bytes };
            check.enter(&frame, Some(0));
        }
        (check, sender)
    }

    /// As the driver gives it.
    fn delivery(byte: u8) -> Delivery {
        let mut model = Model::new(Config::default()).unwrap();
        let mut events = Vec::new();
        model.frame(Frame::new(&[byte; 60]), &mut events);
        let Some(Event::Delivery(mut delivery)) = events.pop() else { panic!("not delivered") };
        delivery.frames.clear();
        delivery
    }

    #[test]
    fn what_is_equal_is_forgotten() {
        let (mut check, driver) = check();
        let mut out = Vec::new();
        driver.send(delivery(1)).unwrap();
        check.step(&[], &mut out).unwrap();
        assert!(out.is_empty(), "the journal does not have it yet");
        let flush = Step::Token { queue: 0, kind: TokenKind::FlushAll };
        let journal = [Step::Frame, Step::Skip(DropReason::NoBuffer), flush, Step::Frame];
        check.step(&journal, &mut out).unwrap();
        driver.send(delivery(3)).unwrap();
        check.step(&[], &mut out).unwrap();
        let [
            Checked::Drop(DropReason::NoBuffer),
            Checked::Delivery(a, 60),
            Checked::Delivery(b, 60),
        ] = &out[..]
        else {
            panic!("{} outcomes", out.len())
        };
        assert_eq!((&a.frames[..], &b.frames[..]), (&[0][..], &[2][..]));
        assert!(check.frames.is_empty() && check.queues[0].expected.is_empty());
        check.finish().unwrap();
    }

    #[test]
    fn a_difference_is_told() {
        let (mut check, driver) = self::check();
        let mut wrong = delivery(1);
        wrong.bytes[59] ^= 1;
        driver.send(wrong).unwrap();
        let result = check.step(&[Step::Frame], &mut Vec::new());
        let Err(Fault::Mismatch(mismatch)) = result else { panic!("not noticed") };
        let Mismatch::Delivery { fields, .. } = *mismatch else { panic!("{mismatch:?}") };
        assert_eq!(fields.iter().map(|f| f.field.as_str()).collect::<Vec<_>>(), ["bytes[59]"]);

        let (mut check, _driver) = self::check();
        check.step(&[Step::Frame], &mut Vec::new()).unwrap();
        let missing = check.finish();
        assert!(matches!(missing, Err(Fault::Mismatch(m))
            if matches!(*m, Mismatch::Unpaired { missing: true, .. })));

        let (mut check, driver) = self::check();
        driver.send(delivery(1)).unwrap();
        check.step(&[], &mut Vec::new()).unwrap();
        let invented = check.finish();
        assert!(matches!(invented, Err(Fault::Mismatch(m))
            if matches!(*m, Mismatch::Unpaired { missing: false, .. })));
    }

    #[test]
    fn a_frame_that_nobody_sent_is_told() {
        let (mut check, _driver) = check();
        let result = check.step(&[Step::Frame; 4], &mut Vec::new());
        assert!(matches!(result, Err(Fault::Journal)));
    }
}
