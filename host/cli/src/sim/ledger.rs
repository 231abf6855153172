//! The ledger: every frame that went in and has not come out, so that none is lost, invented or
//! doubled; and, for two engines, the last frames with their bytes, to be written out when the
//! engines differ.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::Duration;

use crate::capture::Frame;

/// Most bytes of recent frames that are kept for a report of a difference.
const HISTORY_BYTES_MAX: usize = 16 << 20;

/// Where a frame came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Number of its record in the capture, from 1.
    pub record: u64,
    /// Where the record starts.
    pub offset: u64,
    /// Time of the capture.
    pub time: Duration,
    /// Bytes received.
    pub bytes: usize,
}

/// A frame kept for a report.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its number.
    pub frame: u32,
    /// Its queue, if it reached one.
    pub queue: Option<u8>,
    /// Time of the capture.
    pub time: Duration,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What a delivery or drop took from the ledger.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Time of the first frame.
    pub first_time: Duration,
    /// Bytes received of all frames.
    pub wire_bytes: u64,
}

/// A frame that was lost, invented or delivered twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conservation {
    /// Never went in, or came out before.
    Unknown(u32),
    /// A delivery without a frame.
    NoFrames,
    /// How many did not come out, and the first of them.
    Lost(usize, u32),
}

impl fmt::Display for Conservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(frame) => write!(f, "frame {frame} came out, but is not inside"),
            Self::NoFrames => write!(f, "a delivery names no frame"),
            Self::Lost(count, first) => {
                write!(f, "{count} frames never came out, the first is frame {first}")
            }
        }
    }
}

impl std::error::Error for Conservation {}

/// Frames inside the engines.
#[derive(Debug)]
pub struct Ledger {
    inside: HashMap<u32, Source>,
    next: u32,
    history: Option<VecDeque<Kept>>,
    history_bytes: usize,
}

impl Ledger {
    /// An empty ledger, with or without the bytes of recent frames.
    pub fn new(with_history: bool) -> Self {
        let history = with_history.then(VecDeque::new);
        Self { inside: HashMap::new(), next: 0, history, history_bytes: 0 }
    }

    /// A frame goes in; frames are numbered from 0.
    pub fn enter(&mut self, frame: &Frame, queue: Option<u8>) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let source = Source {
            record: frame.record,
            offset: frame.offset,
            time: frame.time,
            bytes: frame.bytes.len(),
        };
        self.inside.insert(number, source);
        let Some(history) = &mut self.history else { return };
        let bytes = frame.bytes.to_vec();
        self.history_bytes += bytes.len();
        history.push_back(Kept { frame: number, queue, time: frame.time, bytes });
        while self.history_bytes > HISTORY_BYTES_MAX {
            let Some(oldest) = history.pop_front() else { break };
            self.history_bytes -= oldest.bytes.len();
        }
    }

    /// Frames come out together.
    pub fn take(&mut self, frames: &[u32]) -> Result<Taken, Conservation> {
        let mut first = None;
        let mut wire_bytes = 0;
        for frame in frames {
            let source = self.inside.remove(frame).ok_or(Conservation::Unknown(*frame))?;
            first.get_or_insert(source.time);
            wire_bytes += source.bytes as u64;
        }
        let first_time = first.ok_or(Conservation::NoFrames)?;
        Ok(Taken { first_time, wire_bytes })
    }

    /// Where a frame that is inside came from.
    pub fn source(&self, frame: u32) -> Option<Source> {
        self.inside.get(&frame).copied()
    }

    /// Refuses frames that never came out.
    pub fn check_empty(&self) -> Result<(), Conservation> {
        match self.inside.keys().min() {
            None => Ok(()),
            Some(first) => Err(Conservation::Lost(self.inside.len(), *first)),
        }
    }

    /// The recent frames up to `last` that could have a part in what happened to it: those of its
    /// queue.
    pub fn recent(&mut self, last: u32) -> Vec<Kept> {
        let history = self.history.take().unwrap_or_default();
        let queue = history.iter().find(|kept| kept.frame == last).and_then(|kept| kept.queue);
        let wanted = |kept: &Kept| kept.frame <= last && (queue.is_none() || kept.queue == queue);
        history.into_iter().filter(wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(ledger: &mut Ledger, count: u64) {
        for record in 1..=count {
            let bytes: &[u8] = &[0; 60];
            let time = Duration::from_secs(record);
            let frame = Frame { record, offset: record * 76, time, wire_bytes: 60, bytes };
            ledger.enter(&frame, Some(0));
        }
    }

    #[test]
    fn conservation_is_checked() {
        let mut ledger = Ledger::new(false);
        enter(&mut ledger, 3);
        let taken = ledger.take(&[1, 2]).unwrap();
        assert_eq!((taken.first_time, taken.wire_bytes), (Duration::from_secs(2), 120));
        assert_eq!(ledger.take(&[1]).unwrap_err(), Conservation::Unknown(1));
        assert_eq!(ledger.take(&[3]).unwrap_err(), Conservation::Unknown(3));
        assert_eq!(ledger.take(&[]).unwrap_err(), Conservation::NoFrames);
        assert_eq!(ledger.check_empty(), Err(Conservation::Lost(1, 0)));
        ledger.take(&[0]).unwrap();
        assert_eq!(ledger.check_empty(), Ok(()));
    }

    #[test]
    fn history_is_bounded() {
        let mut ledger = Ledger::new(true);
        let bytes = vec![0; 1 << 20];
        for record in 1..=40 {
            let frame = Frame {
                record,
                offset: 0,
                time: Duration::ZERO,
                wire_bytes: 1 << 20,
                bytes: &bytes,
            };
            ledger.enter(&frame, Some(0));
        }
        let kept: Vec<u32> = ledger.recent(38).iter().map(|kept| kept.frame).collect();
        assert_eq!(kept, (24..=38).collect::<Vec<_>>());
    }
}
