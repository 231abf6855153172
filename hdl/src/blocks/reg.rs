//! Clock, reset and the three kinds of register.
//!
//!   d ──►[ RegR / RegE / RegInit ]──► q        1 cycle
//!
//! Control state resets (`RegR`, `RegInit`), data does not (`RegE`): a wide reset net costs routing
//! and buys nothing. Invariant: emitted `initial` values equal the reset values, so that simulation
//! and hardware start alike (`registers_follow_their_model`). Not here: asynchronous resets, clock
//! gating.

use rust_hdl::prelude::*;

/// Clock and synchronous reset, bundled so that `ClkRst::link` wires them straight through the
/// hierarchy as port connections: a bare `Signal::link` emits broken names in RustHDL 0.46.
#[derive(LogicInterface, Default, Clone, Debug)]
pub struct ClkRst {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub rst: Signal<In, Bit>,
}

/// Register with synchronous reset to `T::default()`.
#[derive(LogicBlock, Default, Clone, Debug)]
pub struct RegR<T: Synth> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Next value.
    pub d: Signal<In, T>,
    /// Value.
    pub q: Signal<Out, T>,
}

fn timing(inputs: &[&str]) -> Vec<TimingInfo> {
    vec![TimingInfo {
        name: "register".into(),
        clock: "cr$clk".into(),
        inputs: inputs.iter().map(ToString::to_string).collect(),
        outputs: vec!["q".into()],
    }]
}

fn reset_body(name: &str, value: &VerilogLiteral) -> Verilog {
    Verilog::Custom(format!(
        "// block: {name}\n\
         initial q = {value:x};\n\
         always @(posedge cr$clk) begin\n    \
             if (cr$rst) q <= {value:x};\n    \
             else q <= d;\n\
         end\n",
    ))
}

impl<T: Synth> Logic for RegR<T> {
    fn update(&mut self) {
        if self.cr.clk.pos_edge() {
            self.q.next = if self.cr.rst.val() { T::default() } else { self.d.val() };
        }
    }
    fn connect(&mut self) {
        self.q.connect();
    }
    fn hdl(&self) -> Verilog {
        reset_body(&format!("reg_r_{}", T::BITS), &T::default().verilog())
    }
    fn timing(&self) -> Vec<TimingInfo> {
        timing(&["d"])
    }
}

/// Register with synchronous reset to a value given at construction.
#[derive(LogicBlock, Clone, Debug)]
pub struct RegInit<T: Synth> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Next value.
    pub d: Signal<In, T>,
    /// Value.
    pub q: Signal<Out, T>,
    _reset: T,
}

impl<T: Synth> RegInit<T> {
    /// Resets to `reset`.
    pub fn new(reset: T) -> Self {
        Self { cr: Default::default(), d: Default::default(), q: Default::default(), _reset: reset }
    }
}

impl<T: Synth> Logic for RegInit<T> {
    fn update(&mut self) {
        if self.cr.clk.pos_edge() {
            self.q.next = if self.cr.rst.val() { self._reset } else { self.d.val() };
        }
    }
    fn connect(&mut self) {
        self.q.connect();
    }
    fn hdl(&self) -> Verilog {
        reset_body(&format!("reg_init_{}", T::BITS), &self._reset.verilog())
    }
    fn timing(&self) -> Vec<TimingInfo> {
        timing(&["d"])
    }
}

/// Register without reset (data path), with clock enable.
#[derive(LogicBlock, Default, Clone, Debug)]
pub struct RegE<T: Synth> {
    /// Clock; the reset is there so that one `link` serves every kind of register.
    pub cr: ClkRst,
    /// Takes `d` at this edge.
    pub en: Signal<In, Bit>,
    /// Next value.
    pub d: Signal<In, T>,
    /// Value.
    pub q: Signal<Out, T>,
}

impl<T: Synth> Logic for RegE<T> {
    fn update(&mut self) {
        if self.cr.clk.pos_edge() && self.en.val() {
            self.q.next = self.d.val();
        }
    }
    fn connect(&mut self) {
        self.q.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "// block: reg_e_{}\n\
             initial q = {:x};\n\
             always @(posedge cr$clk) if (en) q <= d;\n\
             {UNUSED_RESET}",
            T::BITS,
            T::default().verilog()
        ))
    }
    fn timing(&self) -> Vec<TimingInfo> {
        timing(&["d", "en"])
    }
}

/// Takes note of the reset in blocks that have none.
pub(crate) const UNUSED_RESET: &str = "/* verilator lint_off UNUSEDSIGNAL */\n\
     wire _unused = cr$rst;\n\
     /* verilator lint_on UNUSEDSIGNAL */\n";
