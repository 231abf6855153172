//! Plug-ins of NIC shells under Verilator, alone: captures through the wrapper, the shell's stream
//! rules under monitors, its reset handshake, deliveries equal to the model.

use groove::capture::Reader;
use groove::engine::registers;
use groove::plugin::{Shell, verilog};
use groove_model::{Config, Event, Frame, Model, Options};
use groove_spec::inline::{INLINE_CONTROL, INLINE_HOLD, INLINE_PASSED, INLINE_STATUS};
use groove_spec::stages::{admit, device, ingress};
use groove_spec::{SPEC_ID, TokenKind};
use groove_tests::stream::{Feed, Monitor, Pins, Whole};
use groove_traffic::random::Rng;
use groove_verilator::{Dut, Source, Toolbox};
use std::path::{Path, PathBuf};

/// Verilator's warnings that RustHDL's generator forces (`groove::emit::WAIVERS`).
const WAIVED: [&str; 4] = ["DECLFILENAME", "WIDTH", "UNUSEDSIGNAL", "UNUSEDPARAM"];

/// Where a shell's wrapper is in its simulation.
struct Setting {
    shell: Shell,
    /// Pins of the wrapper beside its clocks: name, bits, input. One port.
    pins: Vec<(String, usize, bool)>,
    input: &'static str,
    /// Beside the input: pins, and their values for a frame of that many bytes.
    input_beside: &'static [&'static str],
    input_values: fn(usize) -> Vec<Vec<u32>>,
    output: &'static str,
    output_beside: &'static [&'static str],
    /// Clock of the streams; the register port has half its rate.
    clock: &'static str,
}

fn lite_pins() -> Vec<(String, usize, bool)> {
    [
        ("awvalid", 1, true),
        ("awaddr", 32, true),
        ("awready", 1, false),
        ("wvalid", 1, true),
        ("wdata", 32, true),
        ("wready", 1, false),
        ("bvalid", 1, false),
        ("bresp", 2, false),
        ("bready", 1, true),
        ("arvalid", 1, true),
        ("araddr", 32, true),
        ("arready", 1, false),
        ("rvalid", 1, false),
        ("rdata", 32, false),
        ("rresp", 2, false),
        ("rready", 1, true),
    ]
    .map(|(name, bits, input)| (format!("s_axil_{name}"), bits, input))
    .to_vec()
}

/// Pins of a stream of one port.
fn stream(
    name: &str,
    into: bool,
    ready: bool,
    users: &[(&str, usize)],
) -> Vec<(String, usize, bool)> {
    let pin = |n: &str, bits, input| (format!("{name}_{n}"), bits, input);
    let mut pins: Vec<_> = [("tvalid", 1), ("tdata", 512), ("tkeep", 64), ("tlast", 1)]
        .iter()
        .chain(users)
        .map(|(n, bits)| pin(n, *bits, into))
        .collect();
    pins.extend(ready.then(|| pin("tready", 1, !into)));
    pins
}

fn opennic_250() -> Setting {
    let users = [("tuser_size", 16), ("tuser_src", 16), ("tuser_dst", 16)];
    let mut pins = lite_pins();
    for (name, into) in [
        ("s_axis_qdma_h2c", true),
        ("m_axis_qdma_c2h", false),
        ("m_axis_adap_tx_250mhz", false),
        ("s_axis_adap_rx_250mhz", true),
    ] {
        pins.extend(stream(name, into, true, &users));
    }
    Setting {
        shell: Shell::Opennic250,
        pins,
        input: "s_axis_adap_rx_250mhz",
        input_beside: &["s_axis_adap_rx_250mhz_tuser_size", "s_axis_adap_rx_250mhz_tuser_src"],
        input_values: |bytes| vec![vec![bytes as u32], vec![0x40]],
        output: "m_axis_qdma_c2h",
        output_beside: &[
            "m_axis_qdma_c2h_tuser_size",
            "m_axis_qdma_c2h_tuser_src",
            "m_axis_qdma_c2h_tuser_dst",
        ],
        clock: "axis_aclk",
    }
}

fn opennic_322() -> Setting {
    let users = [("tuser_err", 1)];
    let mut pins = lite_pins();
    for (name, into, ready) in [
        ("s_axis_adap_tx_322mhz", true, true),
        ("m_axis_adap_rx_322mhz", false, false),
        ("m_axis_cmac_tx", false, true),
        ("s_axis_cmac_rx", true, false),
    ] {
        pins.extend(stream(name, into, ready, &users));
    }
    Setting {
        shell: Shell::Opennic322,
        pins,
        input: "s_axis_cmac_rx",
        input_beside: &["s_axis_cmac_rx_tuser_err"],
        input_values: |_| vec![vec![0]],
        output: "m_axis_adap_rx_322mhz",
        output_beside: &["m_axis_adap_rx_322mhz_tuser_err"],
        clock: "cmac_clk",
    }
}

impl Setting {
    /// The wrapper under a top with one clock: the register port's rises at every other edge.
    fn bench_text(&self) -> String {
        let module = self.shell.module();
        let mut pins = self.pins.clone();
        pins.extend([("mod_rstn".to_owned(), 1, true), ("mod_rst_done".to_owned(), 1, false)]);
        let port = |(name, bits, input): &(String, usize, bool)| {
            let direction = if *input { "input " } else { "output" };
            format!("    {direction} wire [{}:0] {name},\n", bits - 1)
        };
        let ports: String = pins.iter().map(port).collect();
        let wires: String = pins.iter().map(|(n, ..)| format!("    .{n}({n}),\n")).collect();
        format!(
            "module bench (\n{ports}    output wire phase,\n    input wire clk\n);\n\
             reg half = 1'b0;\nalways @(posedge clk) half <= !half;\nassign phase = half;\n\
             {module} dut (\n{wires}    .axil_aclk(half),\n    .{}(clk)\n);\nendmodule\n{}",
            self.clock,
            verilog(self.shell)
        )
    }
}

/// A wrapper at work.
struct Bench {
    setting: Setting,
    dut: Dut,
    feed: Feed,
    monitor: Monitor,
    out: Pins,
    rng: Rng,
    /// Thousandths of the cycles: input pauses, output stalls.
    stalls: [usize; 2],
}

impl Bench {
    fn new(setting: Setting) -> Self {
        let text = setting.bench_text();
        let source = Source { top: "bench", verilog: &text, trace: false };
        let dut = Dut::build(&source).expect("the wrapper builds");
        let mut feed = Feed::new(&dut, Pins::new(&dut, setting.input, setting.input_beside));
        let out = Pins::new(&dut, setting.output, setting.output_beside);
        let monitor = Monitor::default();
        let rng = Rng::new(5);
        // Shells do not let valid fall inside a frame, and want the same.
        feed.breaks = false;
        let mut bench = Self { setting, dut, feed, monitor, out, rng, stalls: [0; 2] };
        bench.set("mod_rstn", 1);
        bench.set("s_axil_bready", 1);
        bench.set("s_axil_rready", 1);
        bench.reset();
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.dut.port(name).unwrap_or_else(|e| panic!("{e}"));
        self.dut.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.dut.read(self.dut.port(name).unwrap_or_else(|e| panic!("{e}")))
    }

    /// The shell's handshake: a pulse of two register clocks; done falls, and rises in a while.
    /// Nothing leaves meanwhile.
    fn reset(&mut self) {
        self.set("mod_rstn", 0);
        (0..4).for_each(|_| self.dut.clock().expect("runs"));
        self.set("mod_rstn", 1);
        assert_eq!(self.get("mod_rst_done"), 0, "done falls with the reset");
        let valid = format!("{}_tvalid", self.setting.output);
        for cycle in 0.. {
            self.dut.settle().expect("runs");
            if self.get("mod_rst_done") == 1 {
                assert!(cycle > 200, "long enough for every clock");
                break;
            }
            assert!(cycle < 2_000, "done rises again");
            assert_eq!(self.get(&valid), 0, "nothing leaves in reset");
            self.dut.edge().expect("runs");
        }
    }

    /// One cycle; whether the register port sees an edge, with what `watch` sees.
    fn cycle<T>(&mut self, watch: impl FnOnce(&Self) -> T) -> Option<T> {
        let pauses = self.rng.chance(self.stalls[0]);
        let ready = !self.rng.chance(self.stalls[1]);
        self.feed.present(&mut self.dut, pauses);
        let ready = self.out.set_ready(&mut self.dut, ready);
        self.dut.settle().expect("runs");
        self.feed.sample(&self.dut);
        let seen = self.monitor.see(self.out.beat(&self.dut), ready);
        seen.unwrap_or_else(|rule| panic!("cycle {}: {rule}", self.dut.cycle()));
        let seen = (self.get("phase") == 0).then(|| watch(self));
        self.dut.edge().expect("runs");
        seen
    }

    fn run(&mut self, cycles: usize) {
        (0..cycles).for_each(|_| {
            self.cycle(|_| ());
        });
    }

    fn wait(&mut self, name: &str) -> u64 {
        for _ in 0..400 {
            let seen = self.cycle(|b| (b.get(name) == 1).then(|| b.get("s_axil_rdata")));
            if let Some(Some(data)) = seen {
                return data;
            }
        }
        panic!("{name} stays low");
    }

    fn write(&mut self, address: usize, value: u32) {
        self.set("s_axil_awaddr", address as u64);
        self.set("s_axil_wdata", value.into());
        self.set("s_axil_awvalid", 1);
        self.set("s_axil_wvalid", 1);
        self.wait("s_axil_awready");
        self.set("s_axil_awvalid", 0);
        self.set("s_axil_wvalid", 0);
        self.wait("s_axil_bvalid");
    }

    fn read(&mut self, address: usize) -> u32 {
        self.set("s_axil_araddr", address as u64);
        self.set("s_axil_arvalid", 1);
        self.wait("s_axil_arready");
        self.set("s_axil_arvalid", 0);
        self.wait("s_axil_rvalid") as u32
    }

    fn push(&mut self, frames: &[Vec<u8>]) {
        for bytes in frames {
            let beside = (self.setting.input_values)(bytes.len());
            self.feed.frames.push_back(Whole { bytes: bytes.clone(), beside });
            while self.feed.frames.len() > 4 {
                self.run(1);
            }
        }
        while !self.feed.frames.is_empty() {
            self.run(1);
        }
        self.run(200);
    }
}

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("captures")
}

/// Frames of a capture, as many as a simulation takes.
fn capture(name: &str) -> Vec<Vec<u8>> {
    let mut reader = Reader::open(&captures().join(name)).expect("the capture opens");
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().expect("a record") {
        frames.push(frame.bytes.to_vec());
    }
    frames.truncate(400);
    frames
}

/// What the model delivers, with one flush behind all frames.
fn model(config: &Config, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut model = Model::new(config.clone()).expect("a configuration");
    let mut out = Vec::new();
    for bytes in frames {
        model.frame(Frame::new(bytes), &mut out);
    }
    model.token(0, TokenKind::FlushAll, &mut out);
    let bytes = |event| match event {
        Event::Delivery(delivery) => delivery.bytes,
        Event::Drop { frame, reason } => panic!("frame {frame}: {reason:?}"),
    };
    out.into_iter().map(bytes).collect()
}

/// A capture passes, then goes through the core, then passes again.
fn through(setting: Setting, outcome: impl Fn(&Whole)) {
    let mut bench = Bench::new(setting);
    let frames = capture("bulk_v4_loss_reorder.pcap");
    bench.stalls = [300, 200];
    assert_eq!(bench.read(device::SPEC_ID.offset), SPEC_ID);
    bench.push(&frames);
    let passed: Vec<Whole> = bench.monitor.frames.drain(..).collect();
    assert!(passed.iter().map(|w| &w.bytes).eq(&frames), "bit by bit");
    passed.iter().for_each(&outcome);
    assert_eq!(bench.read(INLINE_PASSED.offset) as usize, frames.len());

    let options = Options { vlan_strip: false, ..Options::default() };
    let config = Config { options, queues: 1, ..Config::default() };
    for (address, value) in registers::image(&config) {
        bench.write(address as usize, value);
    }
    bench.write(INLINE_HOLD.offset, 0);
    bench.write(INLINE_CONTROL.offset, 1);
    while bench.read(INLINE_STATUS.offset) & 3 != 1 {}
    // At most a frame per four cycles is what the core takes: no drop here.
    bench.stalls = [500, 100];
    bench.push(&frames);
    bench.write(INLINE_CONTROL.offset, 0);
    while bench.read(INLINE_STATUS.offset) & 3 != 0 {}
    for counter in [&admit::DROP_NO_BUFFER, &ingress::DROP_OVERFLOW] {
        assert_eq!(bench.read(counter.offset), 0, "{}", counter.name);
    }
    let delivered: Vec<Whole> = bench.monitor.frames.drain(..).collect();
    let expected = model(&config, &frames);
    assert!(expected.len() < frames.len() / 2, "frames were merged");
    assert!(delivered.iter().map(|w| &w.bytes).eq(&expected), "as the model delivers");
    delivered.iter().for_each(&outcome);

    // A reset in the middle of it all: frames pass again, and registers are as behind any reset.
    bench.write(INLINE_CONTROL.offset, 1);
    bench.push(&frames[..20]);
    bench.reset();
    assert_eq!(bench.read(INLINE_CONTROL.offset), 0);
    bench.monitor = Monitor::default();
    bench.push(&frames[..5]);
    assert!(bench.monitor.frames.iter().map(|w| &w.bytes).eq(&frames[..5]));
    // A port that is not there answers as AXI says, and the next access works.
    assert_eq!(bench.read(0x70000), 0);
    assert_eq!(bench.read(device::SPEC_ID.offset), SPEC_ID);
}

#[test]
fn opennic_250_equals_the_model() {
    through(opennic_250(), |frame| {
        let size = frame.bytes.len() as u32;
        assert_eq!(frame.beside, [vec![size], vec![0x40], vec![1]], "size, source, function");
    });
}

#[test]
fn opennic_322_equals_the_model() {
    through(opennic_322(), |frame| assert_eq!(frame.beside, [[0]], "no error"));
}

#[test]
fn every_plugin_is_clean() {
    for shell in Shell::ALL {
        let lines = Toolbox::from_env().lint(shell.module(), &verilog(shell), &WAIVED);
        let lines = lines.expect("lints");
        assert!(lines.is_empty(), "{}: {lines:#?}", shell.name());
    }
}
