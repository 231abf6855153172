//! The write side of the memory: takes bursts, and commits each late, when it answers it.
//!
//!   AW ─┐
//!       ├─► assembled, in order ──► waiting, by id ── latency ──► committed, B
//!   W ──┘
//!
//! Follows: AMBA AXI4 (IHI 0022): A3.3 (B behind both AW and the last W; beats may come before
//! their address), A5.3 (responses of one id in order, of different ids in any).
//! Invariants: nothing is written before its response, or without one
//! (`writes_are_committed_with_their_responses`); what breaks a rule is an error with its port and
//! cycle (`bursts_that_break_a_rule_are_caught`, `beats_that_break_a_rule_are_caught`).
//! Promises of the NIC beyond AXI, watched here: strobes of a burst are one run of bytes; a burst
//! of completions is one completion; strobes are zero in a function-level reset alone.

use std::collections::VecDeque;

use super::burst::{ADDRESS_FIELDS, AddressPorts, Burst, COMPLETION_ID, DATA_ID, IDS};
use super::config::{Latency, NicConfig};
use super::memory::{HostMemory, Refused};
use crate::Error;
use crate::dut::{Dut, Port};
use crate::monitor::{Monitor, violation};
use crate::stall::{Rng, Stall};

const ADDRESS_SALT: u64 = 41;
const DATA_SALT: u64 = 42;
const RESPONSE_SALT: u64 = 43;
const LATENCY_SALT: u64 = 44;
const ERROR_SALT: u64 = 45;
const COMPLETION_BYTES: usize = groove_spec::nic::COMPLETION_BYTES;

/// A burst on its way.
#[derive(Debug, Default)]
struct Write {
    serial: u64,
    burst: Option<Burst>,
    /// Beats taken.
    beats: usize,
    ended: bool,
    /// Beat and lane of the first byte.
    first: Option<(usize, usize)>,
    /// No byte can follow: a lane was left out behind the first byte.
    closed: bool,
    data: Vec<u8>,
    due: u64,
}

struct Ports {
    data: Port,
    strobes: Port,
    last: Port,
    valid: Port,
    id: Port,
    response: Port,
}

/// The write side.
pub(crate) struct Writes {
    ports: Ports,
    address: AddressPorts,
    width_bytes: usize,
    monitors: [Monitor; 2],
    stalls: [Stall; 2],
    ready: [bool; 2],
    response_stall: Stall,
    latency: Latency,
    errors: Rng,
    bursts_max: usize,
    /// Beats are taken before their address.
    ahead: bool,
    /// Bursts in order; `addressed` of them have an address, `filled` of them all beats.
    assembly: VecDeque<Write>,
    addressed: usize,
    filled: usize,
    waiting: [VecDeque<Write>; IDS],
    spare: Vec<Write>,
    /// The burst whose response is at the port.
    offered: Option<u64>,
    /// Bursts whose address or a beat was taken, and bursts answered.
    pub begun: u64,
    pub answered: u64,
    /// Bursts refused, and beats taken.
    pub refused: u64,
    pub beats: u64,
}

impl Writes {
    pub(crate) fn new(dut: &Dut, width_bytes: usize) -> Result<Self, Error> {
        let port = |name: &str| dut.port(&format!("axi_{name}"));
        let config = NicConfig::default();
        let stall = || Stall::new(0, 0, 0);
        Ok(Self {
            ports: Ports {
                data: port("wdata")?,
                strobes: port("wstrb")?,
                last: port("wlast")?,
                valid: port("bvalid")?,
                id: port("bid")?,
                response: port("bresp")?,
            },
            address: AddressPorts::new(dut, "axi_aw", width_bytes)?,
            width_bytes,
            monitors: [
                Monitor::channel(dut, "axi_aw", &ADDRESS_FIELDS)?,
                Monitor::channel(dut, "axi_w", &["data", "strb", "last"])?,
            ],
            stalls: [stall(), stall()],
            ready: [false; 2],
            response_stall: stall(),
            latency: Latency::new(&config, LATENCY_SALT),
            errors: Rng::new(0, ERROR_SALT),
            bursts_max: 1,
            ahead: true,
            assembly: VecDeque::new(),
            addressed: 0,
            filled: 0,
            waiting: Default::default(),
            spare: Vec::new(),
            offered: None,
            begun: 0,
            answered: 0,
            refused: 0,
            beats: 0,
        })
    }

    /// Forgets everything; behind it, the same seed gives the same behaviour.
    pub(crate) fn reset(&mut self, dut: &mut Dut, config: &NicConfig) {
        let stall = |salt| Stall::new(config.seed, salt, config.stall_percent);
        self.stalls = [stall(ADDRESS_SALT), stall(DATA_SALT)];
        self.response_stall = stall(RESPONSE_SALT);
        self.latency = Latency::new(config, LATENCY_SALT);
        self.errors = Rng::new(config.seed, ERROR_SALT);
        self.bursts_max = config.bursts_max.max(1);
        self.ahead = config.stall_percent == 0 || config.seed.is_multiple_of(2);
        self.assembly.clear();
        (self.addressed, self.filled) = (0, 0);
        self.waiting.iter_mut().for_each(VecDeque::clear);
        self.monitors.iter_mut().for_each(|monitor| monitor.reset(dut));
        self.offered = None;
        (self.begun, self.answered, self.refused, self.beats) = (0, 0, 0, 0);
        dut.set(self.ports.valid, 0);
    }

    /// Nothing may be offered, because of `why`.
    pub(crate) fn check_silent(&self, dut: &Dut, why: &str) -> Result<(), Error> {
        self.monitors.iter().try_for_each(|monitor| monitor.check_silent(dut, why))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.begun == self.answered
    }

    /// Whether each of the first `begun` bursts has its answer.
    pub(crate) fn is_answered(&self, begun: u64) -> bool {
        let later = |serial: u64| serial >= begun;
        let lists = self.waiting.iter().chain([&self.assembly]);
        // Each list is in order.
        let mut fronts = lists.filter_map(VecDeque::front);
        self.offered.is_none_or(later) && fronts.all(|write| later(write.serial))
    }

    /// What is open, for errors.
    pub(crate) fn describe(&self) -> String {
        let assembly = self.assembly.len();
        let waiting: usize = self.waiting.iter().map(VecDeque::len).sum();
        format!("{assembly} write bursts incomplete, {waiting} without response")
    }

    /// Before the cycle settles: ready or not, and the next response.
    pub(crate) fn present(&mut self, dut: &mut Dut, memory: &mut impl HostMemory) {
        let room = ((self.begun - self.answered) as usize) < self.bursts_max;
        let data_room = self.filled < self.addressed
            || self.ahead && (self.filled < self.assembly.len() || room);
        let address_room = room || self.addressed < self.assembly.len();
        for (i, room) in [address_room, data_room].into_iter().enumerate() {
            self.ready[i] = room && !self.stalls[i].pause();
            self.monitors[i].set_ready(dut, self.ready[i]);
        }
        if self.offered.is_none() && !self.response_stall.pause() {
            self.respond(dut, memory);
        }
    }

    /// Commits a burst that is due, and offers its response.
    fn respond(&mut self, dut: &mut Dut, memory: &mut impl HostMemory) {
        let now = dut.cycle();
        let first = self.latency.choose(IDS);
        let ids = (0..IDS).map(|i| (first + i) % IDS);
        let due = |write: &Write| write.due <= now;
        let Some(id) = ids.into_iter().find(|id| self.waiting[*id].front().is_some_and(due)) else {
            return;
        };
        let Some(write) = self.waiting[id].pop_front() else { return };
        let response = match commit(&write, self.width_bytes, memory) {
            Ok(()) => 0,
            Err(Refused) => {
                self.refused += 1;
                2 + u64::from(self.errors.next() & 1) // SLVERR or DECERR
            }
        };
        dut.set(self.ports.id, id as u64);
        dut.set(self.ports.response, response);
        dut.set(self.ports.valid, 1);
        self.offered = Some(write.serial);
        self.recycle(write);
    }

    fn recycle(&mut self, mut write: Write) {
        write.data.clear();
        let data = std::mem::take(&mut write.data);
        self.spare.push(Write { data, ..Write::default() });
    }

    /// After the cycle settled: what is taken. True if anything moved.
    pub(crate) fn observe(&mut self, dut: &Dut, flr: bool) -> Result<bool, Error> {
        let mut any = false;
        if self.monitors[0].check(dut, self.ready[0])? {
            let burst = self.address.take(dut, &[DATA_ID, COMPLETION_ID])?;
            let at = self.addressed;
            self.open(at).burst = Some(burst);
            self.addressed += 1;
            self.match_up(dut, at, "axi_aw")?;
            any = true;
        }
        if self.monitors[1].check(dut, self.ready[1])? {
            self.beat(dut, flr)?;
            any = true;
        }
        self.complete(dut, flr)?;
        Ok(any)
    }

    /// After the edge: withdraws a response that was taken. True if one was.
    pub(crate) fn withdraw(&mut self, dut: &mut Dut, ready: bool) -> bool {
        if self.offered.is_none() || !ready {
            return false;
        }
        self.offered = None;
        self.answered += 1;
        dut.set(self.ports.valid, 0);
        dut.set(self.ports.response, 3);
        true
    }

    fn open(&mut self, at: usize) -> &mut Write {
        if at == self.assembly.len() {
            let write = self.spare.pop().unwrap_or_default();
            self.assembly.push_back(Write { serial: self.begun, ..write });
            self.begun += 1;
        }
        &mut self.assembly[at]
    }

    fn beat(&mut self, dut: &Dut, flr: bool) -> Result<(), Error> {
        let fail = |what: String| violation(dut, "axi_w", what);
        let strobes = dut.read(self.ports.strobes);
        let last = dut.read(self.ports.last) != 0;
        let (at, width_bytes) = (self.filled, self.width_bytes);
        let ports = (self.ports.data, self.ports.strobes);
        let write = self.open(at);
        let (lane, count) = (strobes.trailing_zeros() as usize, strobes.count_ones() as usize);
        if strobes == 0 {
            if !flr {
                return Err(violation(dut, "axi_wstrb", "zero outside a function-level reset"));
            }
            write.closed = true;
        } else {
            if strobes >> lane != u64::MAX >> (64 - count) {
                return Err(violation(dut, "axi_wstrb", format!("{strobes:#x} has holes")));
            }
            if write.closed || write.first.is_some() && lane > 0 {
                return Err(violation(dut, "axi_wstrb", "bytes behind a gap in the burst"));
            }
            write.first.get_or_insert((write.beats, lane));
            write.data.extend_from_slice(&dut.bytes(ports.0)[lane..lane + count]);
            write.closed = lane + count < width_bytes;
        }
        write.beats += 1;
        write.ended = last;
        if write.beats > 256 {
            return Err(fail("a burst of more than 256 beats".to_owned()));
        }
        self.filled += usize::from(last);
        self.beats += 1;
        self.match_up(dut, at, "axi_wlast")
    }

    /// Holds the beats of a burst to its address, as far as both have come.
    fn match_up(&mut self, dut: &Dut, at: usize, port: &str) -> Result<(), Error> {
        let Write { burst: Some(burst), beats, ended, .. } = &self.assembly[at] else {
            return Ok(());
        };
        let (beats, wanted) = (*beats, burst.beats);
        if beats > wanted || *ended != (beats == wanted) {
            let last = if *ended { "with" } else { "without" };
            let what = format!("{beats} beats {last} WLAST of a burst of {wanted}");
            return Err(violation(dut, port, what));
        }
        Ok(())
    }

    /// Moves what is complete to where it waits for its response.
    fn complete(&mut self, dut: &Dut, flr: bool) -> Result<(), Error> {
        while self.addressed > 0 && self.filled > 0 {
            let Some(mut write) = self.assembly.pop_front() else { break };
            self.addressed -= 1;
            self.filled -= 1;
            let burst = write.burst.unwrap_or_default();
            let fail = |what: &str| {
                let Burst { id, address, .. } = burst;
                Err(violation(dut, "axi_w", format!("id {id}, {address:#x}: {what}")))
            };
            let offset = (burst.address - burst.start(self.width_bytes)) as usize;
            if write.first.is_some_and(|(beat, lane)| beat == 0 && lane < offset) {
                return fail("bytes before the address");
            }
            let whole = write.data.len() == COMPLETION_BYTES
                && address(&write, self.width_bytes).is_multiple_of(COMPLETION_BYTES as u64);
            if burst.id == COMPLETION_ID && !whole && !flr {
                return fail("not one completion");
            }
            write.due = dut.cycle() + self.latency.draw();
            self.waiting[usize::from(burst.id)].push_back(write);
        }
        Ok(())
    }
}

/// Address of the first byte written.
fn address(write: &Write, width_bytes: usize) -> u64 {
    let (beat, lane) = write.first.unwrap_or_default();
    write.burst.unwrap_or_default().start(width_bytes) + (beat * width_bytes + lane) as u64
}

fn commit(write: &Write, width_bytes: usize, memory: &mut impl HostMemory) -> Result<(), Refused> {
    if write.data.is_empty() {
        return Ok(());
    }
    let address = address(write, width_bytes);
    match <&[u8; COMPLETION_BYTES]>::try_from(&write.data[..]) {
        Ok(record) if write.burst.is_some_and(|b| b.id == COMPLETION_ID) => {
            memory.publish(address, record)
        }
        _ => memory.write(address, &write.data),
    }
}
