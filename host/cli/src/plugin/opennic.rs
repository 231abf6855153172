//! OpenNIC's plug-in directory: what its `build.tcl` sources and includes, for one of two boxes.
//!
//!   build_box_F.tcl, box_F/{box_F_axi_crossbar.tcl, box_F_address_map.v, .._inst.vh,
//!   user_plugin_F_inst.vh}
//!
//! A box that a plug-in does not have keeps the shell's own pass-through. One register port for all
//! cores: no crossbar, so that script makes no IP. Not here: the wrapper.

/// Signals of an AXI-Lite port without strobes: name, bits, driven by the host's side.
const LITE: [(&str, usize, bool); 16] = [
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
];

/// A box of the shell.
pub struct Place {
    /// Its frequency, as in the shell's file names.
    frequency: &'static str,
    /// Parameter of the wrapper, and what the box calls it.
    parameter: (&'static str, &'static str),
    /// Reset pairs of the box.
    resets: usize,
    /// Streams: name, whether it has `tready`.
    streams: &'static [(&'static str, bool)],
    /// What is beside `tdata`, `tkeep`, `tlast` and `tvalid`.
    users: &'static [&'static str],
    /// Clock of the streams.
    clock: &'static str,
    /// Where its registers are in BAR 2.
    base: &'static str,
    /// Checks of the box's parameters.
    check: &'static str,
    /// What the reader of the README has to know about this place.
    note: &'static str,
}

/// `box_250mhz`.
pub const BOX_250: Place = Place {
    frequency: "250mhz",
    parameter: ("NUM_INTF", "NUM_PHYS_FUNC"),
    resets: 16,
    streams: &[
        ("s_axis_qdma_h2c", true),
        ("m_axis_qdma_c2h", true),
        ("m_axis_adap_tx_250mhz", true),
        ("s_axis_adap_rx_250mhz", true),
    ],
    users: &["tuser_size", "tuser_src", "tuser_dst"],
    clock: "axis_aclk",
    base: "0x100000",
    check: "initial begin\n    if (USE_PHYS_FUNC == 0)\n        $fatal(1, \"groove needs USE_PHYS_FUNC = 1\");\n    \
            if (NUM_PHYS_FUNC != NUM_CMAC_PORT)\n        $fatal(1, \"groove needs as many functions as ports\");\nend\n\n",
    note: "Each delivery leaves whole, with `tuser_size` from its first beat on. The shell hashes what leaves\n\
           this box: RSS sees merged headers, which hash as their frames do. With the 64-byte header in\n\
           front (INLINE_CONTROL.header) it sees that header instead, and all frames go to one queue.\n",
};

/// `box_322mhz`.
pub const BOX_322: Place = Place {
    frequency: "322mhz",
    parameter: ("NUM_CMAC_PORT", "NUM_CMAC_PORT"),
    resets: 8,
    streams: &[
        ("s_axis_adap_tx_322mhz", true),
        ("m_axis_adap_rx_322mhz", false),
        ("m_axis_cmac_tx", true),
        ("s_axis_cmac_rx", false),
    ],
    users: &["tuser_err"],
    clock: "cmac_clk",
    base: "0x200000",
    check: "",
    note: "This box cannot wait: it has no `tready` from the MAC or towards the adapter. The core takes a\n\
           beat in every cycle; what it has no room for it drops and counts. The adapter behind it drops\n\
           what is longer than its buffer (1.5 times `-max_pkt_len` at least): keep aggregates below.\n",
};

/// Files of the plug-in beside the Verilog that all shells share.
pub fn files(place: &Place) -> Vec<(String, String)> {
    let f = place.frequency;
    let dir = format!("box_{f}");
    vec![
        (format!("build_box_{f}.tcl"), build(f)),
        (format!("{dir}/box_{f}_axi_crossbar.tcl"), crossbar(f)),
        (format!("{dir}/box_{f}_address_map.v"), address_map(f)),
        (format!("{dir}/box_{f}_address_map_inst.vh"), address_map_instance(f)),
        (format!("{dir}/user_plugin_{f}_inst.vh"), instance(place)),
        ("README.md".into(), readme(place)),
    ]
}

const LICENSE: &str = "SPDX-License-Identifier: MIT OR Apache-2.0";

fn build(f: &str) -> String {
    format!(
        "# {LICENSE}\n# Sourced by the shell's build.tcl, in this directory.\n\
         read_verilog -quiet groove_{f}.v\n\
         read_verilog -quiet groove_shell.v\n\
         read_verilog -quiet groove_inline.v\n"
    )
}

fn crossbar(f: &str) -> String {
    format!(
        "# {LICENSE}\n# The shell sources this for the crossbar IP of the box. There is one register port, so\n\
         # box_{f}_address_map.v needs no IP.\n"
    )
}

fn bits(width: usize) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

fn address_map(f: &str) -> String {
    let port = |prefix: &str, is_input: bool, (name, width, _): &(&str, usize, bool)| {
        let direction = if is_input { "input " } else { "output" };
        format!("    {direction} wire {}{prefix}_{name},\n", bits(*width))
    };
    let ports: String =
        LITE.iter().map(|s| port("s_axil", s.2, s) + &port("m_axil_groove", !s.2, s)).collect();
    let wires: String = LITE
        .iter()
        .map(|(name, _, down)| match down {
            true => format!("    assign m_axil_groove_{name} = s_axil_{name};\n"),
            false => format!("    assign s_axil_{name} = m_axil_groove_{name};\n"),
        })
        .collect();
    format!(
        "// {LICENSE}\n// The whole window of the box belongs to groove: 64 KiB for each port.\n\
         module box_{f}_address_map (\n{ports}    input  wire aclk,\n    input  wire aresetn\n);\n\
         {wires}    wire _unused = &{{1'b0, aclk, aresetn}};\nendmodule\n"
    )
}

fn address_map_instance(f: &str) -> String {
    let wires: String = LITE
        .iter()
        .map(|(name, width, _)| format!("wire {}axil_groove_{name};\n", bits(*width)))
        .collect();
    let ports: String = LITE
        .iter()
        .map(|(name, _, _)| {
            format!(
                "    .s_axil_{name}(s_axil_{name}),\n    .m_axil_groove_{name}(axil_groove_{name}),\n"
            )
        })
        .collect();
    format!(
        "// {LICENSE}\n// Included in the box.\n{wires}\nbox_{f}_address_map address_map_inst (\n{ports}    \
         .aclk(axil_aclk),\n    .aresetn(internal_box_rstn)\n);\n"
    )
}

fn instance(place: &Place) -> String {
    let Place { frequency: f, parameter: (ours, theirs), resets, check, clock, .. } = place;
    let lite: String = LITE
        .iter()
        .map(|(name, _, _)| format!("    .s_axil_{name}(axil_groove_{name}),\n"))
        .collect();
    let mut streams = String::new();
    for (stream, ready) in place.streams {
        let names = ["tvalid", "tdata", "tkeep", "tlast"].iter().chain(place.users);
        for name in names.chain(ready.then_some(&"tready")) {
            streams += &format!("    .{stream}_{name}({stream}_{name}),\n");
        }
    }
    format!(
        "// {LICENSE}\n// Included in the box. One reset pair is in use; the others answer at once.\n\
         {check}assign mod_rst_done[{}:1] = {{{}{{1'b1}}}};\n\n\
         groove_{f} #(\n    .{ours}({theirs})\n) groove_inst (\n{lite}{streams}    \
         .mod_rstn(mod_rstn[0]),\n    .mod_rst_done(mod_rst_done[0]),\n    .axil_aclk(axil_aclk),\n    \
         .{clock}({clock})\n);\n",
        resets - 1,
        resets - 1,
    )
}

fn readme(place: &Place) -> String {
    let Place { frequency: f, base, note, .. } = place;
    format!(
        "# Groove in OpenNIC's {f} box\n\n\
         Written by `groove plugin`. In the shell's `script` directory:\n\n    \
         vivado -mode batch -source build.tcl -tclargs -board au250 -user_plugin THIS_DIRECTORY \\\n        \
         -num_cmac_port 1 -num_phys_func 1 -max_pkt_len 9600 -impl 1 -post_impl 1\n\n\
         The other box keeps the shell's pass-through. Take another board, two ports and two functions as\n\
         the shell has them.\n\n\
         | File | The shell |\n|---|---|\n\
         | `build_box_{f}.tcl` | sources it to read the Verilog |\n\
         | `box_{f}/box_{f}_axi_crossbar.tcl` | sources it; nothing to make |\n\
         | `box_{f}/box_{f}_address_map.v` | reads it |\n\
         | `box_{f}/box_{f}_address_map_inst.vh`, `box_{f}/user_plugin_{f}_inst.vh` | includes them in the box |\n\n\
         ## Use\n\n\
         Behind a reset frames pass through, bit by bit. Registers are at {base} in BAR 2, 64 KiB for each\n\
         port (`registers.md`, `groove.h`). Check SPEC_ID first, set CONTROL (take `vlan_strip` out of it\n\
         unless the header tells the host of tags), then INLINE_CONTROL.enable.\n\n\
         {note}\n\
         The stock kernel driver takes 4 KB per packet: docs/shells.md of Groove says what that means.\n\n\
         ## What was not run\n\n\
         Linted, elaborated and simulated with Verilator, alone, its stream rules under monitors. Not run:\n\
         Vivado, the shell's own RTL around it, timing, a card. This shell's files are not part of this\n\
         directory.\n"
    )
}
