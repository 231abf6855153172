//! Emission: everything that a design team needs from here, as files.
//!
//!   parameters ──► groove_rx.v, groove_rx.vlt, groove.h, registers.md, layouts.md, names.md
//!              ├─► groove_nic.v, groove_nic.vlt, ... with rings, DMA, registers and interrupts
//!              └─► groove_inline.v, groove_inline.vlt, ... between two streams
//!
//! Invariants: the Verilog is clean under `verilator --lint-only -Wall groove_rx.vlt groove_rx.v`
//! (`the_emitted_verilog_is_clean`); one module per name (`module_names_are_unique`).
//! Not here: writing files.

use clap::ValueEnum;
use groove_hdl::emit::Design;
use groove_hdl::pipeline::{self, ParameterError, Parameters};
use groove_hdl::{inline, nic};
use groove_spec::SPEC_ID;

use crate::spec;

/// Lint warnings that RustHDL's generator forces, each with its reason.
pub const WAIVERS: [(&str, &str); 4] = [
    ("DECLFILENAME", "all modules are in one file"),
    ("WIDTH", "RustHDL writes constants and sums without widths of their own"),
    ("UNUSEDSIGNAL", "a record travels whole, though a stage reads some of its fields"),
    ("UNUSEDPARAM", "an enumeration is declared whole, though a module uses some of its values"),
];

/// Which top module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Top {
    /// The receive pipeline, up to operations and payload: groove_rx
    Rx,
    /// The NIC around it, with rings, AXI, registers and interrupts: groove_nic
    Nic,
    /// The pipeline between two streams, with a packet memory of its own: groove_inline
    Inline,
}

impl Top {
    fn emit(self, parameters: &Parameters) -> Result<Design, ParameterError> {
        match self {
            Self::Rx => pipeline::emit(parameters),
            Self::Nic => nic::emit(parameters),
            Self::Inline => inline::emit(parameters),
        }
    }

    /// Name of the module.
    pub const fn module(self) -> &'static str {
        match self {
            Self::Rx => pipeline::TOP,
            Self::Nic => nic::TOP,
            Self::Inline => inline::TOP,
        }
    }

    const fn what(self) -> &'static str {
        match self {
            Self::Rx => "receive pipeline",
            Self::Nic => "NIC",
            Self::Inline => "inline form",
        }
    }

    /// Sections of the pages on registers and records.
    const fn sections(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Rx => (&["registers"], &["FRAME_META", "OPERATION", "gso_type"]),
            Self::Nic => (
                &["registers", "queue-registers"],
                &["DESCRIPTOR", "COMPLETION", "FRAME_META", "OPERATION", "gso_type"],
            ),
            Self::Inline => (&["registers", "inline-registers"], &["INLINE_META", "gso_type"]),
        }
    }
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Name without directory.
    pub name: String,
    /// Content.
    pub text: String,
}

/// All files of hardware with these parameters.
pub fn files(top: Top, parameters: &Parameters) -> Result<Vec<File>, ParameterError> {
    // What the form does not have is not said to be there.
    let inline = Parameters { queues: 1, lossless: false, ..*parameters };
    let parameters = if top == Top::Inline { &inline } else { parameters };
    let design = top.emit(parameters)?;
    let page = |title: &str, sections: &[&str]| {
        let section = |name: &&str| spec::section(name).unwrap_or_default();
        let sections: Vec<String> = sections.iter().map(section).collect();
        format!("# {title} of table 0x{SPEC_ID:08x}\n\n{}", sections.join("\n"))
    };
    let (module, (registers, layouts)) = (top.module(), top.sections());
    let verilog = format!("{}\n{}", head(top, parameters), design.verilog);
    let header = spec::c_header(parameters.width, parameters.queues);
    let file = |name: String, text| File { name, text };
    Ok(vec![
        file(format!("{module}.v"), verilog),
        file(format!("{module}.vlt"), waivers()),
        file("groove.h".into(), header),
        file("registers.md".into(), page("Registers", registers)),
        file("layouts.md".into(), page("Records", layouts)),
        file("names.md".into(), page("Names", &["names"])),
    ])
}

fn head(top: Top, parameters: &Parameters) -> String {
    let Parameters { width, queues, buckets, depth, lossless } = *parameters;
    let pressure = if lossless { "back-pressure to the MAC" } else { "frames dropped when full" };
    let (module, what) = (top.module(), top.what());
    format!(
        "// SPDX-License-Identifier: MIT OR Apache-2.0\n\
         // {module}: {what}, written by `groove emit`. Do not edit.\n\
         // {width} bits a beat, {queues} queues, {buckets} buckets of {depth} sessions, \
         {pressure}.\n\
         // Table 0x{SPEC_ID:08x}.\n"
    )
}

/// Verilator's configuration file for the waivers.
pub(crate) fn waivers() -> String {
    let rules =
        WAIVERS.iter().map(|(rule, reason)| format!("// {reason}\nlint_off -rule {rule}\n"));
    format!("`verilator_config\n{}", rules.collect::<String>())
}
