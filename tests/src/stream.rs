//! A stream of frames at the pins of a module: its driver, and the monitor that holds it to its
//! rules.
//!
//!   frames ─► Feed ─► module ─► Monitor ─► frames, or the rule that was broken
//!
//! Rules (AMBA IHI 0051A 2.2.1, and those that shells add): what is offered stays until it is
//! taken; `valid` does not fall inside a frame; `keep` is all ones but in the last beat, and there
//! contiguous and not empty; what is beside a frame is the same from its first beat to its last.
//! Invariant: each rule can fail (`each_rule_can_fail`). Not here: what a frame means.

use groove_verilator::{Dut, Port};
use std::collections::VecDeque;

/// A frame and what is beside it, in words of 32 bits.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Whole {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What is beside it, in the order of the pins' names.
    pub beside: Vec<Vec<u32>>,
}

/// One beat as the pins show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Data, first byte lowest.
    pub data: Vec<u32>,
    /// Bit per byte.
    pub keep: u64,
    /// Last of its frame.
    pub last: bool,
    /// Beside it.
    pub beside: Vec<Vec<u32>>,
}

/// What a monitor knows of its stream.
#[derive(Debug, Default)]
pub struct Monitor {
    waiting: Option<Beat>,
    inside: bool,
    frame: Whole,
    /// Whole frames, in order.
    pub frames: VecDeque<Whole>,
}

impl Monitor {
    /// Looks at one cycle.
    ///
    /// # Errors
    /// The rule that was broken.
    pub fn see(&mut self, beat: Option<Beat>, ready: bool) -> Result<(), String> {
        let Some(beat) = beat else {
            return match (self.waiting.is_some(), self.inside) {
                (true, _) => Err("valid fell before ready".into()),
                (_, true) => Err("valid fell inside a frame".into()),
                _ => Ok(()),
            };
        };
        if self.waiting.as_ref().is_some_and(|waiting| *waiting != beat) {
            return Err("what waited has changed".into());
        }
        let bytes = beat.data.len() * 4;
        let all = u64::MAX >> (64 - bytes);
        if beat.keep == 0
            || (beat.keep & (beat.keep + u64::from(beat.keep != u64::MAX))) != 0
                && beat.keep != u64::MAX
        {
            return Err(format!("keep 0x{:x} has a hole or nothing", beat.keep));
        }
        if !beat.last && beat.keep != all {
            return Err(format!("keep 0x{:x} in front of the last beat", beat.keep));
        }
        if self.inside && self.frame.beside != beat.beside {
            return Err("what is beside the frame changed inside it".into());
        }
        if !ready {
            self.waiting = Some(beat);
            return Ok(());
        }
        self.waiting = None;
        let count = beat.keep.count_ones() as usize;
        let data = beat.data.iter().flat_map(|word| word.to_le_bytes());
        self.frame.bytes.extend(data.take(count));
        self.frame.beside = beat.beside;
        self.inside = !beat.last;
        if beat.last {
            self.frames.push_back(std::mem::take(&mut self.frame));
        }
        Ok(())
    }

    /// Nothing of a frame is out but whole ones.
    pub fn is_idle(&self) -> bool {
        !self.inside && self.waiting.is_none()
    }
}

/// The pins of a stream.
#[derive(Debug)]
pub struct Pins {
    data: Port,
    keep: Port,
    valid: Port,
    last: Port,
    ready: Option<Port>,
    beside: Vec<Port>,
}

impl Pins {
    /// Pins `PREFIX_tdata` and so on; `beside` by their whole names.
    ///
    /// # Panics
    /// If there is no such pin; `tready` may be missing.
    pub fn new(dut: &Dut, prefix: &str, beside: &[&str]) -> Self {
        let pin =
            |name: &str| dut.port(&format!("{prefix}_{name}")).unwrap_or_else(|e| panic!("{e}"));
        Self {
            data: pin("tdata"),
            keep: pin("tkeep"),
            valid: pin("tvalid"),
            last: pin("tlast"),
            ready: dut.port(&format!("{prefix}_tready")).ok(),
            beside: beside.iter().map(|n| dut.port(n).unwrap_or_else(|e| panic!("{e}"))).collect(),
        }
    }

    /// The beat at an output.
    pub fn beat(&self, dut: &Dut) -> Option<Beat> {
        let words = |port: &Port| {
            let mut words = vec![0; dut.width(*port).div_ceil(32)];
            dut.read_words(*port, &mut words);
            words
        };
        (dut.read(self.valid) == 1).then(|| Beat {
            data: words(&self.data),
            keep: dut.read(self.keep),
            last: dut.read(self.last) == 1,
            beside: self.beside.iter().map(words).collect(),
        })
    }

    /// Sets `tready` of an output; whether it takes a beat: one without `tready` always does.
    pub fn set_ready(&self, dut: &mut Dut, ready: bool) -> bool {
        if let Some(port) = self.ready {
            dut.set(port, ready.into());
        }
        ready || self.ready.is_none()
    }
}

/// Drives a stream into a module.
#[derive(Debug)]
pub struct Feed {
    pins: Pins,
    width_bytes: usize,
    at: usize,
    offered: bool,
    /// Frames that wait, the first one under way.
    pub frames: VecDeque<Whole>,
    /// The stream may pause inside a frame, too.
    pub breaks: bool,
    /// Cycles in which a beat was offered and not taken.
    pub stalled: u64,
}

impl Feed {
    /// For the pins.
    pub fn new(dut: &Dut, pins: Pins) -> Self {
        let width_bytes = dut.width(pins.data) / 8;
        Self {
            pins,
            width_bytes,
            at: 0,
            offered: false,
            frames: VecDeque::new(),
            breaks: true,
            stalled: 0,
        }
    }

    /// Offers a beat, unless the stream `pauses` between two of them, or between two frames.
    pub fn present(&mut self, dut: &mut Dut, pauses: bool) {
        let Some(frame) = self.frames.front() else {
            dut.set(self.pins.valid, 0);
            return;
        };
        if !self.offered && pauses && (self.breaks || self.at == 0) {
            dut.set(self.pins.valid, 0);
            return;
        }
        let rest = &frame.bytes[self.at..];
        let count = rest.len().min(self.width_bytes);
        let word = |i: usize| u32::from(rest.get(i).copied().unwrap_or(0));
        let words: Vec<u32> = (0..self.width_bytes / 4)
            .map(|w| (0..4).fold(0, |v, b| v | word(4 * w + b) << (8 * b)))
            .collect();
        dut.set_words(self.pins.data, &words);
        dut.set(self.pins.keep, u64::MAX >> (64 - count));
        dut.set(self.pins.last, (rest.len() == count).into());
        for (port, words) in self.pins.beside.iter().zip(&frame.beside) {
            dut.set_words(*port, words);
        }
        dut.set(self.pins.valid, 1);
        self.offered = true;
    }

    /// Looks whether the beat was taken; the frame whose last beat that was.
    pub fn sample(&mut self, dut: &Dut) -> Option<Whole> {
        let ready = self.pins.ready.is_none_or(|port| dut.read(port) == 1);
        if !self.offered || !ready {
            self.stalled += u64::from(self.offered);
            return None;
        }
        self.offered = false;
        self.at += self.width_bytes;
        let whole = self.frames.front()?.bytes.len();
        if self.at < whole {
            return None;
        }
        self.at = 0;
        self.frames.pop_front()
    }

    /// Between two frames.
    pub fn is_between(&self) -> bool {
        self.at == 0 && !self.offered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(keep: u64, last: bool, size: u32) -> Option<Beat> {
        Some(Beat { data: vec![1, 2], keep, last, beside: vec![vec![size]] })
    }

    /// A beat, if one is offered, and whether it is taken.
    type Cycle = (Option<Beat>, bool);

    fn run(cycles: &[Cycle]) -> Result<usize, String> {
        let mut monitor = Monitor::default();
        for (beat, ready) in cycles {
            monitor.see(beat.clone(), *ready)?;
        }
        assert!(monitor.is_idle());
        Ok(monitor.frames.len())
    }

    #[test]
    fn each_rule_can_fail() {
        let whole = || beat(0xff, false, 9);
        let good = [(None, true), (whole(), false), (whole(), true), (beat(1, true, 9), true)];
        assert_eq!(run(&good), Ok(1));
        let faulty: [(&str, Vec<Cycle>); 6] = [
            ("valid fell before ready", vec![(whole(), false), (None, true)]),
            ("valid fell inside a frame", vec![(whole(), true), (None, true)]),
            ("what waited has changed", vec![(whole(), false), (beat(0xff, false, 8), true)]),
            ("keep 0x5 has a hole or nothing", vec![(beat(5, true, 9), true)]),
            ("keep 0x7 in front of the last beat", vec![(beat(7, false, 9), true)]),
            (
                "what is beside the frame changed inside it",
                vec![(whole(), true), (beat(1, true, 8), true)],
            ),
        ];
        for (rule, cycles) in faulty {
            assert_eq!(run(&cycles), Err(rule.to_owned()));
        }
        assert_eq!(run(&[(beat(0, true, 9), true)]), Err("keep 0x0 has a hole or nothing".into()));
    }
}
