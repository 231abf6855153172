//! Runs the receive pipeline `groove_rx`: drives every input, watches every output, on every cycle.
//!
//!   push ──► source ──► [ hardware ] ──► monitors ──► assembler ──► pull
//!
//! Invariants: one seed repeats a run cycle by cycle, however push and pull are mixed
//! (`same_seed_repeats_the_run`); memory is bounded if events are pulled; every frame is accounted
//! for, or the run fails (`lost_frame_is_an_error_not_a_hang`). Not here: any look into a frame.

use groove_spec::stages::coalesce::OPERATION;
use groove_spec::{MAX_HEADER_BYTES, TokenKind};

use crate::dut::{Dut, Port};
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::stall::Stall;
use crate::{BuildOptions, Error, Event, RunConfig, Source, Stats, Stimulus, Toolbox};

/// Name of the top module.
const TOP: &str = groove_hdl::pipeline::TOP;
const REFUSE_SALT: u64 = 31;
/// Cycles of reset before each run.
const RESET_CYCLES: usize = 4;
/// Stimulus that may wait inside before `push` lets the clock run.
const WAITING_ITEMS_MAX: usize = 256;
const WAITING_BYTES_MAX: usize = 1 << 18;
/// At the end: cycles without output after which tokens count as done, and more for each of them.
const QUIET_CYCLES: u64 = 128;
const QUIET_CYCLES_PER_TOKEN: u64 = 64;

struct Ports {
    reset: Port,
    admit: Port,
    admit_answer: Port,
    reg_addr: Port,
    reg_wdata: Port,
    reg_write: Port,
    reg_rdata: Port,
}

impl Ports {
    fn new(dut: &Dut) -> Result<Self, Error> {
        Ok(Self {
            reset: dut.port("sys_rst")?,
            admit: dut.port("admit")?,
            admit_answer: dut.port("admit_answer")?,
            reg_addr: dut.port("reg_addr")?,
            reg_wdata: dut.port("reg_wdata")?,
            reg_write: dut.port("reg_write")?,
            reg_rdata: dut.port("reg_rdata")?,
        })
    }
}

/// Refuses ports that the harness could not drive.
fn check_widths(dut: &Dut, width: usize) -> Result<(), Error> {
    let widths = [
        ("s_axis_tdata", width),
        ("s_axis_tkeep", width / 8),
        ("m_axis_tdata", width),
        ("m_axis_tkeep", width / 8),
        ("m_op_meta", OPERATION.bits()),
        ("m_op_header", 8 * MAX_HEADER_BYTES),
    ];
    for (name, needed) in widths {
        let found = dut.width(dut.port(name)?);
        if found != needed {
            return Err(Error::PortWidth { port: name.to_owned(), found, needed });
        }
    }
    Ok(())
}

/// Tokens behind the last frame: what the end has to wait for.
#[derive(Debug, Default)]
struct Tail {
    tokens: u64,
    /// Bit per queue: a token closes all its sessions.
    flush_all: u32,
}

/// The receive pipeline under simulation.
pub struct Pipeline {
    dut: Dut,
    options: BuildOptions,
    ports: Ports,
    inputs: Inputs,
    outputs: Outputs,
    refuse: Stall,
    config: RunConfig,
    stats: Stats,
    pushed_frames: u64,
    tail: Tail,
    /// Cycle of the clock at which this run began.
    start: u64,
    /// Cycles of the last transfer and of the last output.
    last_progress: u64,
    last_output: u64,
    wave_on: bool,
}

impl Pipeline {
    /// Emits the hardware, builds it or takes it from the cache.
    ///
    /// # Errors
    /// If a tool is missing or fails, or the parameters cannot be built.
    pub fn open(options: &BuildOptions) -> Result<Self, Error> {
        Self::from_verilog(&options.verilog()?, options)
    }

    /// As [`Pipeline::open`], from a Verilog text of the caller's, with top module `groove_rx`.
    ///
    /// # Errors
    /// If a tool is missing or fails, or ports are missing or have another width.
    pub fn from_verilog(verilog: &str, options: &BuildOptions) -> Result<Self, Error> {
        let source = Source { top: TOP, verilog, trace: options.trace };
        let dut = Dut::build_with(&source, &Toolbox::from_env())?;
        check_widths(&dut, options.width)?;
        let mut pipeline = Self {
            ports: Ports::new(&dut)?,
            inputs: Inputs::new(&dut, options)?,
            outputs: Outputs::new(&dut, options)?,
            dut,
            options: options.clone(),
            refuse: Stall::new(0, 0, 0),
            config: RunConfig::default(),
            stats: Stats::default(),
            pushed_frames: 0,
            tail: Tail::default(),
            start: 0,
            last_progress: 0,
            last_output: 0,
            wave_on: false,
        };
        pipeline.reset(&RunConfig::default())?;
        Ok(pipeline)
    }

    /// What it was built from.
    pub fn options(&self) -> &BuildOptions {
        &self.options
    }

    /// Starts a run: resets the hardware, writes the registers. What is under way is forgotten.
    ///
    /// # Errors
    /// If an output is valid before reset ends, or waves are asked for that it was not built for.
    pub fn reset(&mut self, config: &RunConfig) -> Result<(), Error> {
        self.dut.trace_stop();
        self.wave_on = false;
        self.config = config.clone();
        let RunConfig { seed, stall_percent, output_stall_percent, refuse_percent, .. } = *config;
        self.inputs.reset(&mut self.dut, seed, stall_percent);
        let output_stall_percent = output_stall_percent.unwrap_or(stall_percent);
        self.outputs.reset(&mut self.dut, seed, output_stall_percent);
        self.refuse = Stall::new(seed, REFUSE_SALT, refuse_percent);
        self.stats = Stats::default();
        self.pushed_frames = 0;
        self.tail = Tail::default();
        self.start = self.dut.cycle();
        self.hold_reset().map_err(|e| e.since(self.start))?;
        self.last_progress = self.dut.cycle();
        self.last_output = self.last_progress;
        for &(address, value) in &config.registers {
            self.dut.set(self.ports.reg_addr, address.into());
            self.dut.set(self.ports.reg_wdata, value.into());
            self.dut.set(self.ports.reg_write, 1);
            self.step()?;
        }
        self.dut.set(self.ports.reg_write, 0);
        Ok(())
    }

    fn hold_reset(&mut self) -> Result<(), Error> {
        self.dut.set(self.ports.reset, 1);
        self.dut.set(self.ports.reg_write, 0);
        self.dut.set(self.ports.admit, 1);
        self.dut.set(self.ports.admit_answer, 1);
        for cycle in 0..RESET_CYCLES {
            self.wave()?;
            self.dut.settle()?;
            // Registers need one edge to take their reset values.
            if cycle > 0 {
                self.inputs.check_reset(&self.dut)?;
                self.outputs.check_reset(&self.dut)?;
            }
            self.dut.edge()?;
        }
        self.dut.set(self.ports.reset, 0);
        Ok(())
    }

    /// Adds stimulus; lets the clock run if much of it waits already.
    ///
    /// # Errors
    /// If the frame is empty, the hardware breaks a protocol, or nothing moves any more.
    pub fn push(&mut self, stimulus: Stimulus) -> Result<(), Error> {
        if self.is_settled() {
            // The watchdog measures the hardware, not the time in which nobody asked for anything.
            self.last_progress = self.dut.cycle();
        }
        match stimulus {
            Stimulus::Frame { bytes: [], .. } => {
                return Err(Error::EmptyFrame { frame: self.pushed_frames });
            }
            Stimulus::Frame { bytes, .. } => {
                self.pushed_frames += 1;
                self.stats.bytes += bytes.len() as u64;
                self.tail = Tail::default();
            }
            Stimulus::Token { queue, kind } => {
                self.tail.tokens += 1;
                if kind == TokenKind::FlushAll && usize::from(queue) < self.options.queues {
                    self.tail.flush_all |= 1 << queue;
                }
            }
        }
        self.inputs.push(stimulus);
        while self.is_full() {
            self.step()?;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let (items, bytes) = self.inputs.waiting();
        items >= WAITING_ITEMS_MAX || bytes >= WAITING_BYTES_MAX
    }

    /// The next output, if there is one by now.
    pub fn pull(&mut self) -> Option<Event> {
        self.pull_timed().map(|(_, event)| event)
    }

    /// The same with the cycle since reset in which the output was complete.
    pub fn pull_timed(&mut self) -> Option<(u64, Event)> {
        let (cycle, event) = self.outputs.events.pop_front()?;
        Some((cycle - self.start, event))
    }

    /// Lets the clock run until every frame pushed is accounted for, and all tokens are done.
    ///
    /// # Errors
    /// If the hardware breaks a protocol, or nothing moves any more: a frame that is lost shows so.
    pub fn finish(&mut self) -> Result<(), Error> {
        while !self.is_settled() {
            self.step()?;
        }
        // What comes unasked shows in these cycles.
        let quiet = QUIET_CYCLES + QUIET_CYCLES_PER_TOKEN * self.tail.tokens;
        self.last_output = self.dut.cycle();
        while self.dut.cycle() < self.last_output + quiet {
            self.step()?;
        }
        self.outputs.check_end(&self.dut).map_err(|e| e.since(self.start))?;
        self.tail = Tail::default();
        if self.wave_on {
            self.dut.trace_stop();
            self.wave_on = false;
        }
        Ok(())
    }

    /// Time in waves of a cycle since reset: two steps a cycle, from the first one of the clock on.
    pub fn wave_time(&self, cycle: u64) -> u64 {
        cycle.saturating_add(self.start).saturating_mul(2)
    }

    /// Reads a register; the clock runs for some cycles.
    ///
    /// # Errors
    /// If the hardware breaks a protocol.
    pub fn register(&mut self, address: u32) -> Result<u32, Error> {
        self.dut.set(self.ports.reg_addr, address.into());
        for _ in 0..3 {
            self.step()?;
        }
        Ok(self.dut.read(self.ports.reg_rdata) as u32)
    }

    /// Counts since reset.
    pub fn stats(&self) -> Stats {
        let out = &self.outputs;
        Stats {
            cycles: self.dut.cycle() - self.start,
            operations: out.operations,
            beats_out: out.beats,
            drops: out.drops,
            deliveries: out.deliveries,
            ..self.stats
        }
    }

    /// Everything pushed has come out, or is held in a session that no token closes.
    fn is_settled(&self) -> bool {
        self.inputs.is_idle()
            && self.outputs.assembler.is_settled(self.pushed_frames)
            && self.flushing() == 0
    }

    /// Sessions that a token at the end has to close yet.
    fn flushing(&self) -> u32 {
        if self.tail.flush_all == 0 {
            return 0;
        }
        let flushed = |queue: &usize| self.tail.flush_all >> queue & 1 != 0;
        let queues = (0..self.options.queues).filter(flushed);
        queues.map(|queue| self.outputs.assembler.open_sessions(queue)).sum()
    }

    /// One clock cycle.
    fn step(&mut self) -> Result<(), Error> {
        if self.config.wave.is_some() {
            self.wave()?;
        }
        self.inputs.present(&mut self.dut);
        self.outputs.present(&mut self.dut);
        if self.config.refuse_percent > 0 {
            let admit = !self.refuse.pause();
            self.dut.set(self.ports.admit, admit.into());
        }
        let result = self.cycle();
        result.map_err(|e| e.since(self.start))?;
        let idle = self.dut.cycle() - self.last_progress;
        if idle > self.config.watchdog_cycles && !self.is_settled() {
            return Err(self.stuck(idle));
        }
        Ok(())
    }

    fn cycle(&mut self) -> Result<(), Error> {
        self.dut.settle()?;
        let now = self.dut.cycle();
        let taken = self.inputs.accept(&self.dut)?;
        let output = self.outputs.observe(&self.dut, self.pushed_frames)?;
        if output {
            self.last_output = now;
        }
        if output || taken.beat || taken.token {
            self.last_progress = now;
        }
        if taken.beat {
            self.stats.last_beat_cycle = now - self.start;
            if self.stats.beats_in == 0 {
                self.stats.first_beat_cycle = self.stats.last_beat_cycle;
            }
            self.stats.beats_in += 1;
        }
        self.stats.frames += u64::from(taken.frame);
        self.stats.tokens += u64::from(taken.token);
        self.dut.edge()?;
        self.inputs.withdraw(&mut self.dut, taken);
        Ok(())
    }

    /// Starts and ends waves at their cycles.
    fn wave(&mut self) -> Result<(), Error> {
        let Some(wave) = &self.config.wave else { return Ok(()) };
        let cycle = self.dut.cycle() - self.start;
        if cycle == wave.from_cycle {
            self.dut.trace_start(&wave.path)?;
            self.wave_on = true;
        } else if self.wave_on && cycle - wave.from_cycle >= wave.cycles {
            self.dut.trace_stop();
            self.wave_on = false;
        }
        Ok(())
    }

    fn stuck(&self, idle_cycles: u64) -> Error {
        let (items, _) = self.inputs.waiting();
        let assembler = &self.outputs.assembler;
        let counts = [
            (items as u64, "frames and tokens not offered yet"),
            (self.pushed_frames - self.stats.frames, "frames not taken wholly"),
            (
                self.stats.frames.saturating_sub(assembler.accounted()),
                "frames without operation or drop",
            ),
            (assembler.payload_pending() as u64, "payloads announced but not come"),
            (self.flushing().into(), "sessions that a flush has to close"),
            (assembler.open_total().into(), "sessions open"),
        ];
        let counts = counts.iter().filter(|c| c.0 > 0).map(|(n, what)| format!("{n} {what}"));
        let at_ports = self.inputs.describe().map(str::to_owned);
        let waiting: Vec<String> = at_ports.into_iter().chain(counts).collect();
        let cycle = self.dut.cycle() - self.start;
        Error::Stuck { cycle, idle_cycles, waiting: waiting.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use groove_spec::{CsumState, Delivery, DropReason, EndReason};

    use super::*;

    fn options() -> BuildOptions {
        BuildOptions { width: 64, queues: 2, buckets: 1, depth: 1, ..BuildOptions::default() }
    }

    fn verilog() -> String {
        let text =
            include_str!("../testdata/toy.v").replace("@BITS@", &OPERATION.bits().to_string());
        OPERATION.fields.iter().fold(text, |text, field| {
            text.replace(&format!("@{}@", field.name), &format!("{} +: {}", field.lsb, field.width))
        })
    }

    fn toy() -> Pipeline {
        Pipeline::from_verilog(&verilog(), &options()).unwrap()
    }

    fn config(seed: u64, stall_percent: u8) -> RunConfig {
        RunConfig { seed, stall_percent, watchdog_cycles: 2000, ..RunConfig::default() }
    }

    fn frame(index: usize) -> (Vec<u8>, bool) {
        let length = 1 + index * 37 % 100;
        let mut bytes: Vec<u8> = (0..length).map(|i| (index * 7 + i) as u8).collect();
        bytes[0] = if index.is_multiple_of(3) { 0xaa } else { 0x11 };
        (bytes, index % 5 == 4)
    }

    /// Pushes frames with flushes between them; pulls in a rhythm of its own.
    fn drive(
        pipeline: &mut Pipeline,
        frames: usize,
        pull_every: usize,
    ) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        for index in 0..frames {
            let (bytes, bad_fcs) = frame(index);
            pipeline.push(Stimulus::Frame { bytes: &bytes, bad_fcs })?;
            if index % 8 == 7 {
                pipeline.push(Stimulus::Token { queue: 0, kind: TokenKind::FlushAll })?;
            }
            if index % pull_every == 0 {
                events.extend(std::iter::from_fn(|| pipeline.pull()));
            }
        }
        pipeline.push(Stimulus::Token { queue: 0, kind: TokenKind::FlushAll })?;
        pipeline.finish()?;
        events.extend(std::iter::from_fn(|| pipeline.pull()));
        Ok(events)
    }

    /// Frames of a delivery and its bytes.
    type Bytes = (Vec<u32>, Vec<u8>);

    /// What the toy does, in software.
    fn expected(frames: usize) -> (Vec<Bytes>, Vec<u32>) {
        let (mut deliveries, mut drops) = (Vec::new(), Vec::new());
        let mut session: Option<Bytes> = None;
        for index in 0..frames {
            let (bytes, bad_fcs) = frame(index);
            let number = index as u32;
            if bad_fcs && bytes.len() <= 8 {
                drops.push(number);
            } else if bytes[0] == 0xaa {
                let entry = session.get_or_insert_with(|| (vec![], vec![1, 2, 3, 4, 5, 6, 7, 8]));
                entry.0.push(number);
                entry.1.extend(bytes.iter().skip(8));
            } else {
                deliveries.push((vec![number], bytes));
            }
            if index % 8 == 7 || index == frames - 1 {
                deliveries.extend(session.take());
            }
        }
        (deliveries, drops)
    }

    fn split(events: Vec<Event>) -> (Vec<Delivery>, Vec<u32>) {
        let (mut deliveries, mut drops) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Delivery(delivery) => deliveries.push(delivery),
                Event::Drop { frame, reason } => {
                    assert_eq!(reason, DropReason::BadFcs);
                    drops.push(frame);
                }
            }
        }
        (deliveries, drops)
    }

    #[test]
    fn deliveries_and_drops_are_complete_under_any_stalls() {
        let mut pipeline = toy();
        let (wanted, wanted_drops) = expected(400);
        assert!(!wanted_drops.is_empty());
        for (seed, stall) in [(1, 0), (2, 20), (3, 50), (4, 90)] {
            pipeline.reset(&config(seed, stall)).unwrap();
            let (deliveries, drops) = split(drive(&mut pipeline, 400, 9).unwrap());
            let got: Vec<_> =
                deliveries.iter().map(|d| (d.frames.clone(), d.bytes.clone())).collect();
            assert_eq!(got, wanted, "stall {stall}");
            assert_eq!(drops, wanted_drops);
            let close = deliveries.iter().find(|d| d.frames.len() > 1).unwrap();
            assert_eq!((close.csum, close.csum_offset), (CsumState::Partial, 16));
            assert_eq!((close.end_reason, close.hdr_len), (EndReason::FlushAll, 8));
            let stats = pipeline.stats();
            assert_eq!((stats.frames, stats.tokens), (400, 51));
            assert_eq!(stats.drops as usize, wanted_drops.len());
            assert_eq!(stats.deliveries as usize, wanted.len());
        }
    }

    #[test]
    fn same_seed_repeats_the_run() {
        let mut pipeline = toy();
        let mut run = |seed, pull_every| {
            pipeline.reset(&config(seed, 40)).unwrap();
            let events = drive(&mut pipeline, 300, pull_every).unwrap();
            (events, pipeline.stats())
        };
        assert_eq!(run(9, 1), run(9, 1000));
        assert_ne!(run(9, 1).1.cycles, run(10, 1).1.cycles);
    }

    #[test]
    fn without_stalls_the_input_never_idles() {
        let mut pipeline = toy();
        pipeline.reset(&config(1, 0)).unwrap();
        for _ in 0..50 {
            pipeline.push(Stimulus::Frame { bytes: &[0x11; 80], bad_fcs: false }).unwrap();
        }
        pipeline.finish().unwrap();
        let stats = pipeline.stats();
        assert_eq!(stats.beats_in, 500);
        assert_eq!(stats.last_beat_cycle - stats.first_beat_cycle, 499);
    }

    #[test]
    fn registers_are_written_and_read() {
        let mut pipeline = toy();
        let registers = vec![(4, 99), (0, 77)];
        pipeline.reset(&RunConfig { registers, ..config(1, 0) }).unwrap();
        assert_eq!(pipeline.register(0).unwrap(), 77);
    }

    #[test]
    fn empty_frame_is_refused() {
        let mut pipeline = toy();
        let error = pipeline.push(Stimulus::Frame { bytes: &[], bad_fcs: false }).unwrap_err();
        assert_eq!(error.to_string(), "frame 0 has no bytes");
    }

    /// The error of a run in which the toy misbehaves.
    fn fault(number: u32) -> String {
        let mut pipeline = toy();
        let registers = vec![(0, number)];
        let config = RunConfig { registers, ..config(5, 40) };
        let first = pipeline.reset(&config);
        // The fault outlives reset, so that reset itself can be broken.
        let error = first
            .and_then(|()| pipeline.reset(&config))
            .and_then(|()| drive(&mut pipeline, 100, 1).map(|_| ()))
            .expect_err("the fault must be caught");
        assert!(error.cycle().is_some());
        error.to_string()
    }

    /// The text without the number of the cycle.
    fn words(text: &str) -> String {
        let keep = |word: &&str| word.trim_end_matches([':', ',']).parse::<u64>().is_err();
        text.split(' ').filter(keep).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dropped_valid_is_caught() {
        assert_eq!(words(&fault(4)), "m_axis, cycle valid fell before ready");
    }

    #[test]
    fn changed_data_is_caught() {
        let changed = "changed while valid waited for ready";
        assert_eq!(words(&fault(5)), format!("m_axis_tdata, cycle {changed}"));
        assert_eq!(words(&fault(9)), format!("m_op_header, cycle {changed}"));
    }

    #[test]
    fn keep_with_holes_is_caught() {
        assert_eq!(words(&fault(6)), "m_axis_tkeep, cycle keep has holes");
        assert_eq!(words(&fault(7)), "m_axis_tkeep, cycle keep is not full before the last beat");
    }

    #[test]
    fn output_before_reset_ends_is_caught() {
        assert_eq!(fault(8), "m_op, cycle 1: valid before reset ended");
        assert_eq!(fault(2), "s_axis, cycle 1: ready before reset ended");
    }

    #[test]
    fn overtaking_is_caught() {
        assert_eq!(words(&fault(1)), "s_axis, cycle a frame overtook the token before it");
        assert_eq!(words(&fault(3)), "s_token, cycle ready inside a frame");
    }

    #[test]
    fn lost_frame_is_an_error_not_a_hang() {
        let text = fault(11);
        // The operation behind the lost one claims a payload of another length.
        assert!(text.contains("payload bytes, its operation has"), "{text}");
        let mut pipeline = toy();
        pipeline.reset(&RunConfig { registers: vec![(0, 11)], ..config(1, 0) }).unwrap();
        let push = |p: &mut Pipeline| p.push(Stimulus::Frame { bytes: &[1; 3], bad_fcs: false });
        (0..9).try_for_each(|_| push(&mut pipeline)).unwrap();
        let error = pipeline.finish().unwrap_err();
        assert!(matches!(error, Error::Stuck { idle_cycles: 2001, .. }), "{error}");
        assert!(error.to_string().ends_with(": 1 frames without operation or drop"), "{error}");
    }

    #[test]
    fn refused_input_is_an_error_not_a_hang() {
        let text = fault(15);
        assert!(text.contains(": s_axis waits for tready, "), "{text}");
    }

    #[test]
    fn lost_flush_is_an_error_not_a_hang() {
        let text = fault(13);
        assert!(text.ends_with("1 sessions that a flush has to close, 1 sessions open"), "{text}");
    }

    #[test]
    fn impossible_operations_are_caught() {
        let text = words(&fault(12));
        assert!(text.contains("payload bytes, its operation has"), "{text}");
        assert_eq!(words(&fault(14)), "m_op, cycle append: queue session is not open");
        let text = fault(16);
        assert!(text.contains("payload bytes, its operation has"), "{text}");
        assert!(fault(10).contains("drop_in, cycle ") && fault(10).contains("was never sent"));
    }

    #[test]
    fn missing_and_wrong_ports_are_named() {
        let wide = BuildOptions { width: 128, ..options() };
        let error = Pipeline::from_verilog(&verilog(), &wide).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "port s_axis_tdata is 64 bits wide, not 128");
        let text = verilog().replace("s_token_kind", "s_token_sort");
        let error = Pipeline::from_verilog(&text, &options()).map(|_| ()).unwrap_err();
        assert!(error.to_string().starts_with("groove_rx has no port s_token_kind;"), "{error}");
    }

    #[test]
    fn impossible_parameters_are_named() {
        let odd = BuildOptions { width: 100, ..options() };
        let error = Pipeline::open(&odd).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("the hardware could not be emitted: width: 100 "), "{error}");
    }

    #[test]
    fn tready_low_without_back_pressure_is_caught() {
        let lossy = BuildOptions { lossless: false, ..options() };
        let mut pipeline = Pipeline::from_verilog(&verilog(), &lossy).unwrap();
        pipeline.reset(&config(5, 0)).unwrap();
        drive(&mut pipeline, 20, 1).unwrap();
        // The toy always has back-pressure: it shows when the outputs are stalled.
        pipeline.reset(&config(5, 40)).unwrap();
        let text = drive(&mut pipeline, 20, 1).unwrap_err().to_string();
        assert_eq!(words(&text), "s_axis, cycle tready fell, though built without back-pressure");
    }

    #[test]
    fn waves_cover_the_cycles_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let traced = BuildOptions { trace: true, ..options() };
        let mut pipeline = Pipeline::from_verilog(&verilog(), &traced).unwrap();
        let mut run = |name: &str, wave: fn(std::path::PathBuf) -> crate::Wave| {
            let path = dir.path().join(name);
            let config = RunConfig { wave: Some(wave(path.clone())), ..config(1, 0) };
            pipeline.reset(&config).unwrap();
            drive(&mut pipeline, 2000, 1).unwrap();
            std::fs::metadata(path).unwrap().len()
        };
        let all = run("all.fst", crate::Wave::all);
        let window = run("window.fst", |path| crate::Wave::around(path, 4000));
        assert!(window > 500 && all > 3 * window, "{all} and {window} bytes");
    }
}
