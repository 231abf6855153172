//! The doctor: which tools there are, in which version, and how to get what is missing.
//!
//! Follows: docs of the project, "What you need". Required is what the simulation of the hardware
//! needs; the others serve single commands.
//! Not here: printing, starting processes (`groove_verilator::Toolbox` does).

use std::path::Path;

use groove_verilator::{Tool, Toolbox};
use serde::Serialize;

/// A tool and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Program and how to get it.
    pub tool: Tool,
    /// Oldest version that works; empty if any does.
    pub minimum: &'static str,
    /// Whether the main commands need it.
    pub required: bool,
    /// What it is for.
    pub purpose: &'static str,
}

const RUST: &str = "https://rustup.rs, then: rustup update stable";

/// Everything that the project runs.
pub const WANTED: [Wanted; 8] = [
    wanted("rustc", RUST, "1.95", true, "building Groove"),
    wanted(Tool::VERILATOR.program, Tool::VERILATOR.install, "5.006", true, "sim, golden, bench"),
    wanted(Tool::GXX.program, Tool::GXX.install, "9", true, "building simulations"),
    wanted("make", "apt-get install make", "", false, "Verilator's own makefiles"),
    wanted(Tool::YOSYS.program, Tool::YOSYS.install, "0.23", false, "synth, prove"),
    wanted(Tool::Z3.program, Tool::Z3.install, "4.8", false, "prove"),
    wanted("tshark", "apt-get install tshark", "3", false, "a test that reads written captures"),
    wanted("git", "apt-get install git", "", false, "work on the project"),
];

const fn wanted(
    program: &'static str,
    install: &'static str,
    minimum: &'static str,
    required: bool,
    purpose: &'static str,
) -> Wanted {
    Wanted { tool: Tool { program, install }, minimum, required, purpose }
}

/// State of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Found, and new enough as far as can be told.
    Ok,
    /// Found, but older than the minimum.
    TooOld,
    /// Found, but it does not run.
    Broken,
    /// Not found.
    Missing,
}

/// One line of the doctor.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Program.
    pub tool: &'static str,
    /// State.
    pub state: State,
    /// Whether the main commands need it.
    pub required: bool,
    /// Version found, if it says one.
    pub version: Option<String>,
    /// Oldest version that works.
    pub minimum: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// How to get it, if it is not as it should be.
    pub install: Option<&'static str>,
}

/// Where the C++ compiler of a distribution finds its headers.
pub const INCLUDE: &str = "/usr/include";

/// Looks for every tool, and for the one header that waves need.
pub fn examine(toolbox: &Toolbox, include: &Path) -> Vec<Finding> {
    let tools = WANTED.iter().map(|wanted| look(toolbox, wanted));
    tools.chain([zlib(include)]).collect()
}

fn zlib(include: &Path) -> Finding {
    let found = include.join("zlib.h").is_file();
    Finding {
        tool: "zlib.h",
        state: if found { State::Ok } else { State::Missing },
        required: false,
        version: None,
        minimum: "",
        purpose: "sim --wave",
        install: (!found).then_some("apt-get install zlib1g-dev"),
    }
}

/// Whether everything that is required is there.
pub fn is_healthy(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.state == State::Ok || !finding.required)
}

fn look(toolbox: &Toolbox, wanted: &Wanted) -> Finding {
    let Wanted { tool, minimum, required, purpose } = *wanted;
    let (state, version) = match toolbox.find(tool) {
        None => (State::Missing, None),
        Some(_) => match toolbox.run(tool, Path::new("/"), &["--version"]) {
            Err(_) => (State::Broken, None),
            Ok(output) => {
                let version = version(&output.stdout);
                let old = version.as_deref().is_some_and(|found| older(found, minimum));
                (if old { State::TooOld } else { State::Ok }, version)
            }
        },
    };
    let install = (state != State::Ok).then_some(tool.install);
    Finding { tool: tool.program, state, required, version, minimum, purpose, install }
}

/// The first number with a dot in the first line: `12.2.0` of `g++ (Debian 12.2.0-14) 12.2.0`.
fn version(output: &str) -> Option<String> {
    let words = output.lines().next()?.split(|c: char| c.is_whitespace() || c == '(');
    let number = |word: &str| {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
        word[..end].trim_end_matches('.').to_owned()
    };
    words.map(number).find(|number| number.contains('.'))
}

/// Compares versions number by number; what is no number counts as 0.
fn older(found: &str, minimum: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        let parts = text.split(|c: char| !c.is_ascii_digit());
        parts.map(|part| part.parse().unwrap_or(0)).collect()
    };
    minimum.starts_with(|c: char| c.is_ascii_digit()) && numbers(found) < numbers(minimum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        let found = |text: &str| version(text);
        assert_eq!(found("rustc 1.95.0 (59807616e 2026-04-14)"), Some("1.95.0".into()));
        assert_eq!(found("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)"), Some("5.006".into()));
        assert_eq!(found("g++ (Debian 12.2.0-14+deb12u1) 12.2.0\nmore"), Some("12.2.0".into()));
        assert_eq!(found("GNU Make 4.3"), Some("4.3".into()));
        assert_eq!(found("Yosys 0.23 (git sha1 7ce5011c24b)"), Some("0.23".into()));
        assert_eq!(
            found("TShark (Wireshark) 4.0.17 (Git v4.0.17 packaged)."),
            Some("4.0.17".into())
        );
        assert_eq!(found("git version 2.39.5"), Some("2.39.5".into()));
        assert_eq!(found("Verilator rev vUNKNOWN-built20260516"), None);
        assert_eq!(found(""), None);
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(older("5.005", "5.006"));
        assert!(!older("5.006", "5.006"));
        assert!(!older("5.048", "5.006"));
        assert!(older("1.94.1", "1.95"));
        assert!(!older("1.95.0", "1.95"));
        assert!(!older("0.1", ""));
    }

    #[test]
    fn an_empty_machine_lacks_everything() {
        let toolbox = Toolbox { path: "/nonexistent".into(), cache: None };
        let findings = examine(&toolbox, Path::new("/nonexistent"));
        assert!(findings.iter().all(|f| f.state == State::Missing && f.install.is_some()));
        assert!(!is_healthy(&findings));
    }
}
