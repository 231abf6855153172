//! The read side of the memory: takes addresses, answers late, beat by beat.
//!
//!   AR ──► waiting, by id ── latency ──► memory is read ──► R, R, ... last
//!
//! Follows: AMBA AXI4 (IHI 0022): A5.3 (bursts of one id in order, of different ids in any).
//! Invariants: memory is read when the answer begins, not when it was asked
//! (`reads_see_memory_as_it_is_when_they_are_answered`).

use std::collections::VecDeque;

use super::burst::{ADDRESS_FIELDS, AddressPorts, Burst, DESCRIPTOR_ID, IDS};
use super::config::{Latency, NicConfig};
use super::memory::HostMemory;
use crate::Error;
use crate::dut::{Dut, Port};
use crate::monitor::Monitor;
use crate::stall::{Rng, Stall};

const ADDRESS_SALT: u64 = 51;
const DATA_SALT: u64 = 52;
const LATENCY_SALT: u64 = 53;
const ERROR_SALT: u64 = 54;

struct Ports {
    data: Port,
    id: Port,
    response: Port,
    last: Port,
    valid: Port,
}

/// The burst that is being answered.
#[derive(Debug, Default)]
struct Answer {
    id: u8,
    response: u64,
    beats: usize,
    /// Beats taken.
    taken: usize,
    data: Vec<u8>,
}

/// The read side.
pub(crate) struct Reads {
    ports: Ports,
    address: AddressPorts,
    width_bytes: usize,
    monitor: Monitor,
    address_stall: Stall,
    data_stall: Stall,
    ready: bool,
    latency: Latency,
    errors: Rng,
    bursts_max: usize,
    waiting: [VecDeque<(u64, Burst)>; IDS],
    answer: Answer,
    offered: bool,
    /// Bursts taken, and bursts answered.
    pub begun: u64,
    pub answered: u64,
    /// Bursts refused.
    pub refused: u64,
}

impl Reads {
    pub(crate) fn new(dut: &Dut, width_bytes: usize) -> Result<Self, Error> {
        let port = |name: &str| dut.port(&format!("axi_r{name}"));
        Ok(Self {
            ports: Ports {
                data: port("data")?,
                id: port("id")?,
                response: port("resp")?,
                last: port("last")?,
                valid: port("valid")?,
            },
            address: AddressPorts::new(dut, "axi_ar", width_bytes)?,
            width_bytes,
            monitor: Monitor::channel(dut, "axi_ar", &ADDRESS_FIELDS)?,
            address_stall: Stall::new(0, 0, 0),
            data_stall: Stall::new(0, 0, 0),
            ready: false,
            latency: Latency::new(&NicConfig::default(), LATENCY_SALT),
            errors: Rng::new(0, ERROR_SALT),
            bursts_max: 1,
            waiting: Default::default(),
            answer: Answer::default(),
            offered: false,
            begun: 0,
            answered: 0,
            refused: 0,
        })
    }

    /// Forgets everything; behind it, the same seed gives the same behaviour.
    pub(crate) fn reset(&mut self, dut: &mut Dut, config: &NicConfig) {
        self.address_stall = Stall::new(config.seed, ADDRESS_SALT, config.stall_percent);
        self.data_stall = Stall::new(config.seed, DATA_SALT, config.stall_percent);
        self.latency = Latency::new(config, LATENCY_SALT);
        self.errors = Rng::new(config.seed, ERROR_SALT);
        self.bursts_max = config.bursts_max.max(1);
        self.waiting.iter_mut().for_each(VecDeque::clear);
        (self.answer.beats, self.answer.taken) = (0, 0);
        self.offered = false;
        self.monitor.reset(dut);
        (self.begun, self.answered, self.refused) = (0, 0, 0);
        dut.set(self.ports.valid, 0);
    }

    /// Nothing may be offered, because of `why`.
    pub(crate) fn check_silent(&self, dut: &Dut, why: &str) -> Result<(), Error> {
        self.monitor.check_silent(dut, why)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.begun == self.answered
    }

    /// What is open, for errors.
    pub(crate) fn describe(&self) -> String {
        format!("{} read bursts without answer", self.begun - self.answered)
    }

    /// Before the cycle settles: ready or not, and the next beat.
    pub(crate) fn present(&mut self, dut: &mut Dut, memory: &mut impl HostMemory) {
        let room = ((self.begun - self.answered) as usize) < self.bursts_max;
        self.ready = room && !self.address_stall.pause();
        self.monitor.set_ready(dut, self.ready);
        if self.offered || self.data_stall.pause() {
            return;
        }
        if self.answer.taken == self.answer.beats {
            self.begin(dut.cycle(), memory);
        }
        if self.answer.taken < self.answer.beats {
            self.offer(dut);
        }
    }

    /// Reads memory for a burst that is due.
    fn begin(&mut self, now: u64, memory: &mut impl HostMemory) {
        let first = self.latency.choose(IDS);
        let due = |waiting: &VecDeque<(u64, Burst)>| waiting.front().is_some_and(|w| w.0 <= now);
        let id = (0..IDS).map(|i| (first + i) % IDS).find(|id| due(&self.waiting[*id]));
        let Some((_, burst)) = id.and_then(|id| self.waiting[id].pop_front()) else { return };
        let answer = &mut self.answer;
        (answer.id, answer.beats, answer.taken) = (burst.id, burst.beats, 0);
        answer.data.resize(burst.beats * self.width_bytes, 0);
        answer.response = match memory.read(burst.start(self.width_bytes), &mut answer.data) {
            Ok(()) => 0,
            Err(_) => {
                self.refused += 1;
                answer.data.fill(0xee);
                2 + u64::from(self.errors.next() & 1) // SLVERR or DECERR
            }
        };
    }

    fn offer(&mut self, dut: &mut Dut) {
        let answer = &self.answer;
        let from = answer.taken * self.width_bytes;
        let data = &answer.data[from..from + self.width_bytes];
        dut.bytes_mut(self.ports.data).copy_from_slice(data);
        dut.set(self.ports.id, answer.id.into());
        dut.set(self.ports.response, answer.response);
        dut.set(self.ports.last, (answer.taken + 1 == answer.beats).into());
        dut.set(self.ports.valid, 1);
        self.offered = true;
    }

    /// After the cycle settled: what is taken. True if anything moved.
    pub(crate) fn observe(&mut self, dut: &Dut) -> Result<bool, Error> {
        if !self.monitor.check(dut, self.ready)? {
            return Ok(false);
        }
        let burst = self.address.take(dut, &[DESCRIPTOR_ID])?;
        let due = dut.cycle() + self.latency.draw();
        self.waiting[usize::from(burst.id)].push_back((due, burst));
        self.begun += 1;
        Ok(true)
    }

    /// After the edge: withdraws a beat that was taken. True if one was.
    pub(crate) fn withdraw(&mut self, dut: &mut Dut, ready: bool) -> bool {
        if !self.offered || !ready {
            return false;
        }
        self.offered = false;
        self.answer.taken += 1;
        self.answered += u64::from(self.answer.taken == self.answer.beats);
        dut.set(self.ports.valid, 0);
        dut.set(self.ports.last, 1);
        dut.bytes_mut(self.ports.data).fill(self.errors.next() as u8);
        true
    }
}
