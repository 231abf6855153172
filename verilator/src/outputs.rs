//! Watches all outputs of the receive pipeline and hands out what they say.
//!
//!   m_op, m_axis ──► monitors ──► assembler ──► events
//!   drop_in, drop ────────────────────┘
//!
//! Invariants: every port is looked at in every cycle, in reset too
//! (`output_before_reset_ends_is_caught`).

use std::collections::VecDeque;

use crate::assemble::Assembler;
use crate::dut::{Dut, Port};
use crate::monitor::{Monitor, keep_bytes, violation};
use crate::operation::{OPERATION_WORDS, Operation};
use crate::stall::Stall;
use crate::{BuildOptions, Error, Event};

const OPERATION_SALT: u64 = 21;
const PAYLOAD_SALT: u64 = 22;

/// A log of dropped frames.
struct DropLog {
    name: &'static str,
    valid: Port,
    frame: Port,
    reason: Port,
}

impl DropLog {
    fn new(dut: &Dut, name: &'static str) -> Result<Self, Error> {
        let port = |field: &str| dut.port(&format!("{name}_{field}"));
        Ok(Self { name, valid: port("valid")?, frame: port("frame")?, reason: port("reason")? })
    }
}

/// All outputs.
pub(crate) struct Outputs {
    op_meta: Port,
    op_header: Port,
    data: Port,
    keep: Port,
    last: Port,
    /// The one nearer to the input first.
    logs: [DropLog; 2],
    op_monitor: Monitor,
    payload_monitor: Monitor,
    op_stall: Stall,
    payload_stall: Stall,
    op_ready: bool,
    payload_ready: bool,
    width_bytes: usize,
    queues: usize,
    sessions: usize,
    pub assembler: Assembler,
    /// With the cycle of the clock in which they were complete.
    pub events: VecDeque<(u64, Event)>,
    pub operations: u64,
    pub beats: u64,
    pub drops: u64,
    pub deliveries: u64,
}

impl Outputs {
    pub(crate) fn new(dut: &Dut, options: &BuildOptions) -> Result<Self, Error> {
        let fields = ["tdata", "tkeep", "tlast"];
        Ok(Self {
            op_meta: dut.port("m_op_meta")?,
            op_header: dut.port("m_op_header")?,
            data: dut.port("m_axis_tdata")?,
            keep: dut.port("m_axis_tkeep")?,
            last: dut.port("m_axis_tlast")?,
            logs: [DropLog::new(dut, "drop_in")?, DropLog::new(dut, "drop")?],
            op_monitor: Monitor::new(dut, "m_op", ["valid", "ready"], &["meta", "header"])?,
            payload_monitor: Monitor::new(dut, "m_axis", ["tvalid", "tready"], &fields)?,
            op_stall: Stall::new(0, 0, 0),
            payload_stall: Stall::new(0, 0, 0),
            op_ready: true,
            payload_ready: true,
            width_bytes: options.width / 8,
            queues: options.queues,
            sessions: options.buckets * options.depth,
            assembler: Assembler::default(),
            events: VecDeque::new(),
            operations: 0,
            beats: 0,
            drops: 0,
            deliveries: 0,
        })
    }

    /// Forgets what came; takes everything while reset lasts.
    pub(crate) fn reset(&mut self, dut: &mut Dut, seed: u64, stall_percent: u8) {
        self.op_stall = Stall::new(seed, OPERATION_SALT, stall_percent);
        self.payload_stall = Stall::new(seed, PAYLOAD_SALT, stall_percent);
        self.op_monitor.reset(dut);
        self.payload_monitor.reset(dut);
        self.assembler = Assembler::new(self.queues, self.sessions);
        self.events.clear();
        (self.operations, self.beats, self.drops, self.deliveries) = (0, 0, 0, 0);
    }

    /// Before the cycle settles: ready or not.
    pub(crate) fn present(&mut self, dut: &mut Dut) {
        self.op_ready = !self.op_stall.pause();
        self.payload_ready = !self.payload_stall.pause();
        self.op_monitor.set_ready(dut, self.op_ready);
        self.payload_monitor.set_ready(dut, self.payload_ready);
    }

    /// After the cycle settled: checks all outputs; true if anything came.
    pub(crate) fn observe(&mut self, dut: &Dut, pushed_frames: u64) -> Result<bool, Error> {
        // Before operations: a frame dropped takes no number from the ones behind it.
        let mut any = self.drop_logs(dut, pushed_frames)?;
        if self.op_monitor.check(dut, self.op_ready)? {
            self.operation(dut, pushed_frames)?;
            any = true;
        }
        if self.payload_monitor.check(dut, self.payload_ready)? {
            self.payload_beat(dut)?;
            any = true;
        }
        if any {
            self.collect(dut)?;
        }
        Ok(any)
    }

    fn drop_logs(&mut self, dut: &Dut, pushed_frames: u64) -> Result<bool, Error> {
        let mut any = false;
        for log in &self.logs {
            if dut.read(log.valid) == 0 {
                continue;
            }
            let fail = |what: String| violation(dut, log.name, what);
            let frame = dut.read(log.frame) as u32;
            if u64::from(frame) >= pushed_frames {
                return Err(fail(format!("frame {frame} was never sent")));
            }
            let reason = self.assembler.drop_frame(frame, dut.read(log.reason)).map_err(fail)?;
            self.drops += 1;
            self.events.push_back((dut.cycle(), Event::Drop { frame, reason }));
            any = true;
        }
        Ok(any)
    }

    fn operation(&mut self, dut: &Dut, pushed_frames: u64) -> Result<(), Error> {
        let fail = |what: String| violation(dut, "m_op", what);
        let mut words = [0; OPERATION_WORDS];
        dut.read_words(self.op_meta, &mut words);
        let header = dut.bytes(self.op_header);
        self.assembler.operation(Operation::new(words), header).map_err(fail)?;
        self.operations += 1;
        if self.assembler.accounted() > pushed_frames {
            return Err(fail("more frames than were sent".to_owned()));
        }
        Ok(())
    }

    fn payload_beat(&mut self, dut: &Dut) -> Result<(), Error> {
        let last = dut.read(self.last) != 0;
        let count = keep_bytes(dut.read(self.keep), self.width_bytes, last)
            .map_err(|what| violation(dut, "m_axis_tkeep", what))?;
        let data = &dut.bytes(self.data)[..count];
        self.beats += 1;
        self.assembler.payload(data, last).map_err(|what| violation(dut, "m_axis", what))
    }

    /// Hands out what is complete.
    fn collect(&mut self, dut: &Dut) -> Result<(), Error> {
        let fail = |what: String| violation(dut, "m_op_meta", what);
        while let Some(delivery) = self.assembler.delivery().map_err(fail)? {
            self.deliveries += 1;
            self.events.push_back((dut.cycle(), Event::Delivery(delivery)));
        }
        Ok(())
    }

    /// In reset nothing may be offered.
    pub(crate) fn check_reset(&self, dut: &Dut) -> Result<(), Error> {
        self.op_monitor.check_reset(dut)?;
        self.payload_monitor.check_reset(dut)?;
        match self.logs.iter().find(|log| dut.read(log.valid) != 0) {
            Some(log) => Err(violation(dut, log.name, "valid before reset ended")),
            None => Ok(()),
        }
    }

    /// At the end nothing may be left over.
    pub(crate) fn check_end(&self, dut: &Dut) -> Result<(), Error> {
        if self.assembler.payload_unclaimed() {
            return Err(violation(dut, "m_axis", "payload that no operation announced"));
        }
        Ok(())
    }
}
