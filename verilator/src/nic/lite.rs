//! The AXI-Lite master: one access at a time, address and data in any order.
//!
//! Follows: AMBA AXI4 (IHI 0022) A3.3 (a response comes behind address and data), B1.1.
//! Invariants: a response that nothing asked for, or that comes early, is an error
//! (`responses_that_break_a_rule_are_caught`).

use super::config::NicConfig;
use crate::Error;
use crate::dut::{Dut, Port};
use crate::monitor::{Monitor, violation};
use crate::stall::Stall;

const SALT: u64 = 61;
/// All four byte lanes.
pub(crate) const ALL: u8 = 0xf;

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read { address: u16 },
    Write { address: u16, data: u32, strobes: u8 },
}

/// One request channel.
struct Request {
    valid: Port,
    ready: Port,
    stall: Stall,
    /// To be offered, and offered.
    wanted: bool,
    offered: bool,
}

impl Request {
    fn new(dut: &Dut, channel: &str) -> Result<Self, Error> {
        Ok(Self {
            valid: dut.port(&format!("{channel}valid"))?,
            ready: dut.port(&format!("{channel}ready"))?,
            stall: Stall::new(0, 0, 0),
            wanted: false,
            offered: false,
        })
    }

    fn reset(&mut self, dut: &mut Dut, config: &NicConfig, salt: u64) {
        self.stall = Stall::new(config.seed, salt, config.stall_percent);
        (self.wanted, self.offered) = (false, false);
        dut.set(self.valid, 0);
    }

    fn present(&mut self, dut: &mut Dut) {
        if self.wanted && !self.offered && !self.stall.pause() {
            dut.set(self.valid, 1);
            self.offered = true;
        }
    }

    /// After the cycle settled: whether it is taken at the edge.
    fn taken(&self, dut: &Dut) -> bool {
        self.offered && dut.read(self.ready) != 0
    }

    fn withdraw(&mut self, dut: &mut Dut) {
        (self.wanted, self.offered) = (false, false);
        dut.set(self.valid, 0);
    }
}

/// One response channel.
struct Response {
    name: &'static str,
    monitor: Monitor,
    code: Port,
    stall: Stall,
    ready: bool,
}

impl Response {
    fn new(dut: &Dut, name: &'static str, fields: &[&str]) -> Result<Self, Error> {
        Ok(Self {
            name,
            monitor: Monitor::channel(dut, name, fields)?,
            code: dut.port(&format!("{name}resp"))?,
            stall: Stall::new(0, 0, 0),
            ready: false,
        })
    }

    fn present(&mut self, dut: &mut Dut) {
        self.ready = !self.stall.pause();
        self.monitor.set_ready(dut, self.ready);
    }

    /// After the cycle settled: the response, if it is taken.
    fn take(&mut self, dut: &Dut, expected: bool) -> Result<Option<u8>, Error> {
        let taken = self.monitor.check(dut, self.ready)?;
        if !expected && self.monitor.is_valid(dut) {
            return Err(violation(dut, self.name, "a response that nothing asked for by then"));
        }
        Ok(taken.then(|| dut.read(self.code) as u8))
    }
}

/// The master.
pub(crate) struct Lite {
    /// AW, W, AR.
    requests: [Request; 3],
    write: Response,
    read: Response,
    write_address: Port,
    write_data: Port,
    strobes: Port,
    read_address: Port,
    read_data: Port,
    busy: Option<Access>,
    /// Response code and data of the access that was last.
    pub answer: (u8, u32),
    taken: [bool; 3],
}

impl Lite {
    pub(crate) fn new(dut: &Dut) -> Result<Self, Error> {
        let port = |name: &str| dut.port(&format!("axil_{name}"));
        Ok(Self {
            requests: [
                Request::new(dut, "axil_aw")?,
                Request::new(dut, "axil_w")?,
                Request::new(dut, "axil_ar")?,
            ],
            write: Response::new(dut, "axil_b", &["resp"])?,
            read: Response::new(dut, "axil_r", &["data", "resp"])?,
            write_address: port("awaddr")?,
            write_data: port("wdata")?,
            strobes: port("wstrb")?,
            read_address: port("araddr")?,
            read_data: port("rdata")?,
            busy: None,
            answer: (0, 0),
            taken: [false; 3],
        })
    }

    pub(crate) fn reset(&mut self, dut: &mut Dut, config: &NicConfig) {
        for (salt, request) in (SALT..).zip(&mut self.requests) {
            request.reset(dut, config, salt);
        }
        for (salt, response) in (SALT + 3..).zip([&mut self.write, &mut self.read]) {
            response.stall = Stall::new(config.seed, salt, config.stall_percent);
            response.monitor.reset(dut);
        }
        self.busy = None;
    }

    pub(crate) fn check_reset(&self, dut: &Dut) -> Result<(), Error> {
        self.write.monitor.check_reset(dut)?;
        self.read.monitor.check_reset(dut)
    }

    pub(crate) fn busy(&self) -> Option<Access> {
        self.busy
    }

    /// Begins an access; none is under way.
    pub(crate) fn begin(&mut self, dut: &mut Dut, access: Access) {
        self.busy = Some(access);
        match access {
            Access::Read { address } => {
                dut.set(self.read_address, address.into());
                self.requests[2].wanted = true;
            }
            Access::Write { address, data, strobes } => {
                dut.set(self.write_address, address.into());
                dut.set(self.write_data, data.into());
                dut.set(self.strobes, strobes.into());
                (self.requests[0].wanted, self.requests[1].wanted) = (true, true);
            }
        }
    }

    pub(crate) fn present(&mut self, dut: &mut Dut) {
        self.requests.iter_mut().for_each(|request| request.present(dut));
        self.write.present(dut);
        self.read.present(dut);
    }

    /// After the cycle settled: what is taken. True if anything moved.
    pub(crate) fn observe(&mut self, dut: &Dut) -> Result<bool, Error> {
        self.taken = [0, 1, 2].map(|i| self.requests[i].taken(dut));
        // A response is for what was taken in cycles before.
        let idle = |requests: &[Request]| requests.iter().all(|r| !r.wanted);
        let writing = matches!(self.busy, Some(Access::Write { .. })) && idle(&self.requests[..2]);
        let reading = matches!(self.busy, Some(Access::Read { .. })) && idle(&self.requests[2..]);
        let written = self.write.take(dut, writing)?.map(|code| (code, 0));
        let read = self.read.take(dut, reading)?;
        let read = read.map(|code| (code, dut.read(self.read_data) as u32));
        if let Some(answer) = written.or(read) {
            self.answer = answer;
            self.busy = None;
            return Ok(true);
        }
        Ok(self.taken.contains(&true))
    }

    /// After the edge: withdraws what was taken.
    pub(crate) fn withdraw(&mut self, dut: &mut Dut) {
        for (request, taken) in self.requests.iter_mut().zip(self.taken) {
            if taken {
                request.withdraw(dut);
            }
        }
    }
}
