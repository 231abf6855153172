//! Emission: everything that a design team needs from here, as files.
//!
//!   parameters ──► groove_rx.v, groove_rx.vlt, groove.h, registers.md, layouts.md, names.md
//!
//! Invariants: the Verilog is clean under `verilator --lint-only -Wall groove_rx.vlt groove_rx.v`
//! (`the_emitted_verilog_is_clean`); one module per name (`module_names_are_unique`).
//! Not here: writing files.

use groove_hdl::pipeline::{self, ParameterError, Parameters, TOP};
use groove_spec::SPEC_ID;

use crate::spec;

/// Lint warnings that RustHDL's generator forces, each with its reason.
pub const WAIVERS: [(&str, &str); 4] = [
    ("DECLFILENAME", "all modules are in one file"),
    ("WIDTH", "RustHDL writes constants and sums without widths of their own"),
    ("UNUSEDSIGNAL", "a record travels whole, though a stage reads some of its fields"),
    ("UNUSEDPARAM", "an enumeration is declared whole, though a module uses some of its values"),
];

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Name without directory.
    pub name: &'static str,
    /// Content.
    pub text: String,
}

/// All files of hardware with these parameters.
pub fn files(parameters: &Parameters) -> Result<Vec<File>, ParameterError> {
    let design = pipeline::emit(parameters)?;
    let page = |title: &str, sections: &[&str]| {
        let section = |name: &&str| spec::section(name).unwrap_or_default();
        let sections: Vec<String> = sections.iter().map(section).collect();
        format!("# {title} of table 0x{SPEC_ID:08x}\n\n{}", sections.join("\n"))
    };
    let head = head(parameters);
    Ok(vec![
        File { name: "groove_rx.v", text: format!("{head}\n{}", design.verilog) },
        File { name: "groove_rx.vlt", text: waivers() },
        File { name: "groove.h", text: spec::c_header(parameters.width, parameters.queues) },
        File { name: "registers.md", text: page("Registers", &["registers"]) },
        File {
            name: "layouts.md",
            text: page("Records", &["FRAME_META", "OPERATION", "gso_type"]),
        },
        File { name: "names.md", text: page("Names", &["names"]) },
    ])
}

fn head(parameters: &Parameters) -> String {
    let Parameters { width, queues, buckets, depth, lossless } = *parameters;
    let pressure = if lossless { "back-pressure to the MAC" } else { "frames dropped when full" };
    format!(
        "// SPDX-License-Identifier: MIT OR Apache-2.0\n\
         // {TOP}: receive pipeline, written by `groove emit`. Do not edit.\n\
         // {width} bits a beat, {queues} queues, {buckets} buckets of {depth} sessions, \
         {pressure}.\n\
         // Table 0x{SPEC_ID:08x}.\n"
    )
}

/// Verilator's configuration file for the waivers.
fn waivers() -> String {
    let rules =
        WAIVERS.iter().map(|(rule, reason)| format!("// {reason}\nlint_off -rule {rule}\n"));
    format!("`verilator_config\n{}", rules.collect::<String>())
}
