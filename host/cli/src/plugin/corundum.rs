//! Corundum's application: the core for one receive stream, and the script that puts it into a copy
//! of the tree's own template.
//!
//!   make_app.sh, rtl/{groove_corundum_X.v, groove_shell.v, groove_inline.v, groove_app_inst.vh}
//!
//! The block's other ports are of no concern here: the template passes them through. Not here: the
//! wrapper.

/// A place in the application block.
pub struct Place {
    /// Name of the stream in the block's ports, without `s_axis_`.
    stream: &'static str,
    /// Module.
    module: &'static str,
    /// Parameters that the block has under the same name.
    parameters: &'static [&'static str],
    /// Signals of the stream.
    signals: &'static [&'static str],
    /// Parameter of `config.tcl` that connects the stream.
    gate: &'static str,
}

/// The synchronous MAC streams.
pub const SYNC: Place = Place {
    stream: "sync_rx",
    module: "groove_corundum_sync",
    parameters: &["PORT_COUNT", "AXIS_SYNC_RX_USER_WIDTH"],
    signals: &["tdata", "tkeep", "tvalid", "tready", "tlast", "tuser"],
    gate: "APP_AXIS_SYNC_ENABLE",
};

/// The streams at the interfaces.
pub const INTERFACE: Place = Place {
    stream: "if_rx",
    module: "groove_corundum_if",
    parameters: &[
        "IF_COUNT",
        "AXIS_IF_RX_ID_WIDTH",
        "AXIS_IF_RX_DEST_WIDTH",
        "AXIS_IF_RX_USER_WIDTH",
    ],
    signals: &["tdata", "tkeep", "tvalid", "tready", "tlast", "tid", "tdest", "tuser"],
    gate: "APP_AXIS_IF_ENABLE",
};

/// Signals of the block's register port.
const LITE: [&str; 19] = [
    "awaddr", "awprot", "awvalid", "awready", "wdata", "wstrb", "wvalid", "wready", "bresp",
    "bvalid", "bready", "araddr", "arprot", "arvalid", "arready", "rdata", "rresp", "rvalid",
    "rready",
];

const SCRIPT: &str = include_str!("verilog/make_app.sh");

/// Files of the plug-in beside the Verilog that all shells share.
pub fn files(place: &Place) -> Vec<(String, String)> {
    vec![
        ("make_app.sh".into(), SCRIPT.replace("STREAM", place.stream)),
        ("rtl/groove_app_inst.vh".into(), instance(place)),
        ("README.md".into(), readme(place)),
    ]
}

fn instance(place: &Place) -> String {
    let same = |name: &str| format!("    .{name}({name})");
    let parameters: Vec<String> = place.parameters.iter().map(|name| same(name)).collect();
    let mut ports = vec![same("clk"), same("rst")];
    ports.extend(LITE.iter().map(|name| same(&format!("s_axil_app_ctrl_{name}"))));
    for side in ["s", "m"] {
        let names = place.signals.iter().map(|name| format!("{side}_axis_{}_{name}", place.stream));
        ports.extend(names.map(|name| same(&name)));
    }
    format!(
        "// SPDX-License-Identifier: MIT OR Apache-2.0\n// Included at the end of mqnic_app_block.\n\
         {} #(\n{}\n) groove_inst (\n{}\n);\n",
        place.module,
        parameters.join(",\n"),
        ports.join(",\n")
    )
}

fn readme(place: &Place) -> String {
    let Place { stream, module, gate, .. } = place;
    format!(
        "# Groove in Corundum's application block, on `{stream}`\n\n\
         Written by `groove plugin`. In a Corundum tree whose streams have 512 bits (100G):\n\n    \
         ./make_app.sh CORUNDUM\n\n\
         makes `fpga/app/groove` from the tree's own `fpga/app/template`. Then, beside a board's\n\
         `fpga_100g`, make a directory `fpga_app_groove` with the Makefile and config.tcl of its\n\
         `fpga_app_template`, in which\n\n\
         - `SYN_FILES` has `app/groove/rtl/mqnic_app_block.v`, `{module}.v`, `groove_shell.v` and\n  \
         `groove_inline.v`, and the include path `app/groove/rtl`;\n\
         - config.tcl has APP_ID 0x47520001, APP_ENABLE 1, APP_CTRL_ENABLE 1, {gate} 1;\n\n\
         and run `make` there.\n\n\
         ## Use\n\n\
         Registers are in the application's BAR, 64 KiB for each core (`registers.md`, `groove.h`). Behind a\n\
         reset frames pass through, bit by bit. Check SPEC_ID first, set CONTROL (without `vlan_strip`, unless\n\
         the header tells the host of tags), then INLINE_CONTROL.enable.\n\n\
         A merged frame needs MAX_RX_SIZE and RX_FIFO_DEPTH above its length; its length in a completion has\n\
         16 bits. Corundum hashes and sums what leaves this block, and its completions carry nothing of\n\
         `INLINE_META`: the 64-byte header does (`header.md`).\n\n\
         ## What was not run\n\n\
         Linted and elaborated with Verilator for one and two streams; docs/shells.md of Groove says what was\n\
         simulated. Not run: Vivado, Corundum's RTL and its cocotb test benches around it, timing, a card.\n\
         No file of Corundum is part of this directory.\n"
    )
}
