//! Plug-ins: the inline form as the directory that a NIC shell's own build expects.
//!
//!   shell ──► wrapper (verilog/*.v) + groove_shell.v + groove_inline.v + scripts + README
//!
//! Follows: port facts of the shells (docs/shells.md says where each comes from). Files of a shell
//! are not part of a plug-in. Invariants: every wrapper is clean under Verilator's lint
//! (`every_plugin_is_clean`); what leaves OpenNIC's is what the model delivers, by the rules of the
//! shell's stream (`tests/tests/plugin.rs`), Corundum's are not simulated. Not here: writing files.

mod corundum;
mod opennic;

use clap::ValueEnum;
use groove_hdl::inline;
use groove_hdl::pipeline::Parameters;
use groove_spec::SPEC_ID;

use crate::emit::{File, waivers};
use crate::spec;

/// A NIC shell, and the place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// OpenNIC, box at 250 MHz between MAC adapter and QDMA
    #[value(name = "opennic-250")]
    Opennic250,
    /// OpenNIC, box at 322 MHz between CMAC and adapter, where nothing can wait
    #[value(name = "opennic-322")]
    Opennic322,
    /// Corundum, application block, streams of the MACs in the core's clock
    #[value(name = "corundum-sync")]
    CorundumSync,
    /// Corundum, application block, streams at the interfaces
    #[value(name = "corundum-if")]
    CorundumIf,
}

impl Shell {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Opennic250, Self::Opennic322, Self::CorundumSync, Self::CorundumIf];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opennic250 => "opennic-250",
            Self::Opennic322 => "opennic-322",
            Self::CorundumSync => "corundum-sync",
            Self::CorundumIf => "corundum-if",
        }
    }

    /// Module that the shell instantiates.
    pub const fn module(self) -> &'static str {
        match self {
            Self::Opennic250 => "groove_250mhz",
            Self::Opennic322 => "groove_322mhz",
            Self::CorundumSync => "groove_corundum_sync",
            Self::CorundumIf => "groove_corundum_if",
        }
    }

    /// The wrapper's text.
    const fn wrapper(self) -> &'static str {
        match self {
            Self::Opennic250 => include_str!("plugin/verilog/groove_250mhz.v"),
            Self::Opennic322 => include_str!("plugin/verilog/groove_322mhz.v"),
            Self::CorundumSync => include_str!("plugin/verilog/groove_corundum_sync.v"),
            Self::CorundumIf => include_str!("plugin/verilog/groove_corundum_if.v"),
        }
    }
}

/// What the wrappers of all shells share.
const SHARED: &str = include_str!("plugin/verilog/groove_shell.v");

/// Wrapper and all that it instantiates, as one Verilog text.
///
/// # Panics
/// If the hardware cannot be emitted: a fault of ours.
pub fn verilog(shell: Shell) -> String {
    format!("{}\n{SHARED}\n{}", shell.wrapper(), core())
}

/// The inline form for 512 bits, which every shell here has.
fn core() -> String {
    let design = inline::emit(&Parameters::default()).expect("the parameters are possible");
    let head = "// SPDX-License-Identifier: MIT OR Apache-2.0\n// groove_inline, written by `groove plugin`. Do not edit.";
    format!("{head}\n// Table 0x{SPEC_ID:08x}.\n\n{}", design.verilog)
}

/// All files of a plug-in, with their paths in its directory.
///
/// # Panics
/// As [`verilog`].
pub fn files(shell: Shell) -> Vec<File> {
    let file = |name: String, text: String| File { name, text };
    let page = |title: &str, sections: &[&str]| {
        let sections: Vec<String> =
            sections.iter().filter_map(|name| spec::section(name)).collect();
        format!("# {title} of table 0x{SPEC_ID:08x}\n\n{}", sections.join("\n"))
    };
    let in_rtl = matches!(shell, Shell::CorundumSync | Shell::CorundumIf);
    let rtl = if in_rtl { "rtl/" } else { "" };
    let mut files = vec![
        file(format!("{rtl}{}.v", shell.module()), shell.wrapper().into()),
        file(format!("{rtl}groove_shell.v"), SHARED.into()),
        file(format!("{rtl}groove_inline.v"), core()),
        file("groove_inline.vlt".into(), waivers()),
        file("groove.h".into(), spec::c_header(512, 1)),
        file("registers.md".into(), page("Registers", &["registers", "inline-registers"])),
        file("header.md".into(), page("In-band header", &["INLINE_META", "gso_type"])),
    ];
    let more = match shell {
        Shell::Opennic250 => opennic::files(&opennic::BOX_250),
        Shell::Opennic322 => opennic::files(&opennic::BOX_322),
        Shell::CorundumSync => corundum::files(&corundum::SYNC),
        Shell::CorundumIf => corundum::files(&corundum::INTERFACE),
    };
    files.extend(more.into_iter().map(|(name, text)| file(name, text)));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        assert_eq!(Shell::value_variants(), Shell::ALL);
        for shell in Shell::ALL {
            let value = shell.to_possible_value().expect("no variant is hidden");
            assert_eq!(value.get_name(), shell.name());
            assert!(shell.wrapper().contains(&format!("\nmodule {} #(", shell.module())));
        }
    }
}
