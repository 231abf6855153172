//! The inline form under simulation, and what the model says of the same frames.
//!
//!   items ─► Bench ─► frames out, logs of drops and tokens ─┬─► equal?
//!                                                           └─► model (replays both logs)
//!
//! Invariant: the model takes from the hardware when tokens came and which frames found no room,
//! nothing else. Not here: shells.

use crate::differential::{self, Refused};
use crate::generate::Item;
use crate::stream::{Feed, Monitor, Pins, Whole};
use groove_model::{Config, Event};
use groove_spec::inline::{INLINE_META, MAGIC};
use groove_spec::{CsumState, Delivery, DropReason, TokenKind};
use groove_traffic::random::Rng;
use groove_verilator::{Dut, Port};

/// A token that the hardware took, and the frame in front of which.
pub type LoggedToken = (u32, u8, TokenKind);

/// What the hardware logged of its frames.
#[derive(Debug, Default)]
pub struct Logs {
    /// Tokens, in order.
    pub tokens: Vec<LoggedToken>,
    /// Frames that were dropped.
    pub drops: Vec<(u32, DropReason)>,
}

/// The log pins of the inline form.
struct LogPins {
    drops: [[Port; 3]; 2],
    token: [Port; 4],
}

impl LogPins {
    fn new(dut: &Dut) -> Self {
        let port = |name: &str| dut.port(name).unwrap_or_else(|e| panic!("{e}"));
        let drop = |of: &str| ["valid", "frame", "reason"].map(|n| port(&format!("{of}_{n}")));
        let token = ["valid", "queue", "kind", "frame"].map(|n| port(&format!("token_log_{n}")));
        Self { drops: [drop("drop_in"), drop("drop")], token }
    }

    fn sample(&self, dut: &Dut, logs: &mut Logs) {
        for [valid, frame, reason] in self.drops {
            if dut.read(valid) == 1 {
                let reason = DropReason::ALL[dut.read(reason) as usize];
                logs.drops.push((dut.read(frame) as u32, reason));
            }
        }
        let [valid, queue, kind, frame] = self.token;
        if dut.read(valid) == 1 {
            let kind = TokenKind::ALL[dut.read(kind) as usize];
            logs.tokens.push((dut.read(frame) as u32, dut.read(queue) as u8, kind));
        }
    }
}

/// Stalls of a run, in thousandths of the cycles.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stalls {
    /// The input pauses between two beats.
    pub input: usize,
    /// The output is not ready.
    pub output: usize,
}

/// The inline form and everything at its pins.
pub struct Bench {
    /// The hardware.
    pub dut: Dut,
    /// Frames in.
    pub feed: Feed,
    /// Frames out.
    pub monitor: Monitor,
    /// What was logged.
    pub logs: Logs,
    /// Stalls of both streams.
    pub stalls: Stalls,
    out: Pins,
    log_pins: LogPins,
    rng: Rng,
    /// Frames whose last beat was taken.
    pub taken: u64,
    token: Option<(u8, TokenKind)>,
    pushed: u32,
}

/// Names of the sideband pins that the monitor holds still: user, core, meta, size.
const BESIDE: [&str; 4] = ["m_user", "m_core", "m_meta", "m_size"];

impl Bench {
    /// Resets the hardware.
    ///
    /// # Panics
    /// If a pin is missing or Verilator gives up.
    pub fn new(mut dut: Dut, seed: u64) -> Self {
        let feed = Feed::new(&dut, Pins::new(&dut, "s_axis", &["s_user", "s_axis_tuser"]));
        let out = Pins::new(&dut, "m_axis", &BESIDE);
        let log_pins = LogPins::new(&dut);
        for name in ["s_axis_tvalid", "s_token_valid", "axil_awvalid", "axil_wvalid"] {
            dut.set(dut.port(name).expect("a pin"), 0);
        }
        for (name, value) in [("axil_arvalid", 0), ("axil_bready", 1), ("axil_rready", 1)] {
            dut.set(dut.port(name).expect("a pin"), value);
        }
        dut.set(dut.port("axil_wstrb").expect("a pin"), 15);
        let reset = dut.port("sys_rst").expect("a reset");
        dut.set(reset, 1);
        (0..4).for_each(|_| dut.clock().expect("runs"));
        dut.set(reset, 0);
        Self {
            dut,
            feed,
            monitor: Monitor::default(),
            logs: Logs::default(),
            stalls: Stalls::default(),
            out,
            log_pins,
            rng: Rng::new(seed),
            taken: 0,
            token: None,
            pushed: 0,
        }
    }

    /// One clock cycle of everything; whether the register port moved as `watch` asks.
    ///
    /// # Panics
    /// If a rule of the stream is broken.
    pub fn cycle(&mut self, watch: impl FnOnce(&Dut)) {
        let pauses = self.rng.chance(self.stalls.input);
        let ready = !self.rng.chance(self.stalls.output);
        let dut = &mut self.dut;
        self.feed.present(dut, pauses);
        let ready = self.out.set_ready(dut, ready);
        let valid = dut.port("s_token_valid").expect("a pin");
        dut.set(valid, self.token.is_some().into());
        if let Some((queue, kind)) = self.token {
            dut.set(dut.port("s_token_queue").expect("a pin"), queue.into());
            dut.set(dut.port("s_token_kind").expect("a pin"), kind.code().into());
        }
        dut.settle().expect("runs");
        watch(dut);
        if self.token.is_some() && dut.read(dut.port("s_token_ready").expect("a pin")) == 1 {
            self.token = None;
        }
        self.taken += u64::from(self.feed.sample(dut).is_some());
        let seen = self.monitor.see(self.out.beat(dut), ready);
        seen.unwrap_or_else(|rule| panic!("cycle {}: {rule}", dut.cycle()));
        self.log_pins.sample(dut, &mut self.logs);
        dut.edge().expect("runs");
    }

    /// `cycles` cycles.
    pub fn run(&mut self, cycles: usize) {
        (0..cycles).for_each(|_| self.cycle(|_| {}));
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.dut.port(name).unwrap_or_else(|e| panic!("{e}"));
        self.dut.set(port, value);
    }

    fn wait(&mut self, name: &str) {
        let port = self.dut.port(name).expect("a pin");
        for _ in 0..200 {
            let mut up = false;
            self.cycle(|dut| up = dut.read(port) == 1);
            if up {
                return;
            }
        }
        panic!("{name} stays low");
    }

    /// Writes a register while traffic goes on.
    ///
    /// # Panics
    /// If the access is not answered.
    pub fn write(&mut self, address: u32, value: u32) {
        for (name, value) in [("axil_awaddr", address), ("axil_wdata", value)] {
            self.set(name, value.into());
        }
        self.set("axil_awvalid", 1);
        self.wait("axil_awready");
        self.set("axil_awvalid", 0);
        self.set("axil_wvalid", 1);
        self.wait("axil_wready");
        self.set("axil_wvalid", 0);
        self.wait("axil_bvalid");
    }

    /// Reads a register while traffic goes on.
    ///
    /// # Panics
    /// If the access is not answered.
    pub fn read(&mut self, address: u32) -> u32 {
        self.set("axil_araddr", address.into());
        self.set("axil_arvalid", 1);
        self.wait("axil_arready");
        self.set("axil_arvalid", 0);
        let [valid, data] = ["axil_rvalid", "axil_rdata"].map(|n| self.dut.port(n).expect("a pin"));
        for _ in 0..200 {
            let mut value = None;
            self.cycle(|dut| value = (dut.read(valid) == 1).then(|| dut.read(data) as u32));
            if let Some(value) = value {
                return value;
            }
        }
        panic!("0x{address:x} is not answered");
    }

    /// Frames and tokens in their order.
    ///
    /// # Panics
    /// If the input hangs.
    pub fn push(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Token { queue, kind } => {
                    self.settle_input();
                    self.token = Some((*queue, *kind));
                    self.settle_input();
                }
                Item::Frame { bytes, bad_fcs } => {
                    let beside = vec![user(self.pushed), vec![u32::from(*bad_fcs)]];
                    self.pushed += 1;
                    self.feed.frames.push_back(Whole { bytes: bytes.clone(), beside });
                    if self.feed.frames.len() > 32 {
                        self.settle_input();
                    }
                }
            }
        }
        self.settle_input();
    }

    fn settle_input(&mut self) {
        let end = self.dut.cycle() + 200_000;
        while !self.feed.frames.is_empty() || self.token.is_some() {
            self.cycle(|_| {});
            assert!(self.dut.cycle() < end, "the input hangs");
        }
    }

    /// Lets the hardware run until nothing has left it for a while.
    pub fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 2_000 {
            let before = self.monitor.frames.len();
            self.cycle(|_| {});
            let moved = self.monitor.frames.len() != before || !self.monitor.is_idle();
            quiet = if moved { 0 } else { quiet + 1 };
        }
    }

    /// What the model delivers for the frames of `items`, with this run's tokens and refusals.
    pub fn expected(&self, config: &Config, items: &[Item]) -> Vec<Delivery> {
        let mut tokens = self.logs.tokens.iter().peekable();
        let mut replayed = Vec::new();
        let frames = items.iter().filter(|item| matches!(item, Item::Frame { .. }));
        for (number, frame) in frames.enumerate() {
            while let Some((_, queue, kind)) = tokens.next_if(|t| t.0 as usize <= number) {
                replayed.push(Item::Token { queue: *queue, kind: *kind });
            }
            replayed.push(frame.clone());
        }
        replayed.extend(tokens.map(|(_, queue, kind)| Item::Token { queue: *queue, kind: *kind }));
        let room = |r: &DropReason| matches!(r, DropReason::Overflow | DropReason::NoBuffer);
        let refused: Refused = self.logs.drops.iter().filter(|d| room(&d.1)).copied().collect();
        let (events, stats) = differential::model(config, &replayed, &refused);
        assert!(stats.conserved(), "{stats:?}");
        let delivery = |event| match event {
            Event::Delivery(delivery) => Some(delivery),
            Event::Drop { .. } => None,
        };
        events.into_iter().filter_map(delivery).collect()
    }
}

/// What goes in beside frame `number`.
pub fn user(number: u32) -> Vec<u32> {
    vec![number, 0x55aa, !number, 7]
}

/// A field of `INLINE_META`.
pub fn meta(words: &[u32], name: &str) -> u64 {
    INLINE_META.field(name).extract(words)
}

/// Holds `INLINE_META` to the delivery that it describes.
///
/// # Panics
/// If a field differs.
pub fn check_meta(words: &[u32], delivery: &Delivery) {
    let partial = delivery.csum == CsumState::Partial;
    let tag = delivery.vlan;
    let fields: [(&str, u64); 21] = [
        ("magic", MAGIC),
        ("reserved_low", 0),
        ("vlan_valid", tag.is_some().into()),
        ("hash", delivery.hash.into()),
        ("hash_type", delivery.hash_type.code().into()),
        ("packet_type", delivery.packet_type.code().into()),
        ("protocol", delivery.protocol.into()),
        ("csum", delivery.csum as u64),
        ("csum_level", delivery.csum_level.into()),
        ("csum_start", if partial { delivery.csum_start.into() } else { 0 }),
        ("l3_verdict", delivery.l3_verdict.code().into()),
        ("l4_verdict", delivery.l4_verdict.code().into()),
        ("header_bytes", delivery.hdr_len.into()),
        ("total_len", delivery.bytes.len() as u64),
        ("gso_size", delivery.gso_size.into()),
        ("gso_segs", delivery.gso_segs.into()),
        ("gso_type", delivery.gso_type.into()),
        ("encapsulation", delivery.encapsulation.into()),
        ("end_reason", delivery.end_reason.code().into()),
        ("alone_reason", delivery.alone_reason.code().into()),
        ("reserved", 0),
    ];
    // Without a tag these mean nothing.
    let tagged =
        tag.map(|tag| [("vlan_tpid", (tag.tpid == 0x88a8).into()), ("vlan_tci", tag.tci.into())]);
    for (name, expected) in fields.into_iter().chain(tagged.into_iter().flatten()) {
        assert_eq!(meta(words, name), expected, "{name} of {:?}", delivery.frames);
    }
}
