//! `groove doctor`: what the machine lacks, as a table or as JSON.

use std::path::Path;

use groove_verilator::Toolbox;

use super::output;
use crate::cli::DoctorArgs;
use crate::doctor::{self, Finding, State};
use crate::{Failure, exit};

/// Runs the command.
pub fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let findings = doctor::examine(&Toolbox::from_env(), Path::new(doctor::INCLUDE));
    if args.json {
        let healthy = doctor::is_healthy(&findings);
        let json = serde_json::json!({"healthy": healthy, "tools": findings});
        output::data(&format!("{json:#}"))?;
    } else {
        output::data(&findings.iter().map(line).collect::<String>())?;
    }
    if doctor::is_healthy(&findings) {
        return Ok(());
    }
    let lacking = findings.iter().filter(|f| f.required && f.state != State::Ok);
    let (names, ways): (Vec<&str>, Vec<&str>) =
        lacking.map(|f| (f.tool, f.install.unwrap_or_default())).unzip();
    let mut help = ways;
    help.dedup();
    Err(Failure::new(exit::TOOL, format!("required tools are missing: {}", names.join(", ")))
        .help(help.join("\nhelp: ")))
}

fn line(finding: &Finding) -> String {
    let state = match finding.state {
        State::Ok => "ok",
        State::TooOld => "too old",
        State::Broken => "broken",
        State::Missing => "missing",
    };
    let version = finding.version.as_deref().unwrap_or("-");
    let minimum = match finding.minimum {
        "" => String::new(),
        minimum => format!("{minimum} or newer"),
    };
    let need = if finding.required { "required" } else { "optional" };
    let install = finding.install.map_or_else(String::new, |way| format!("; get it: {way}"));
    format!(
        "{:10} {state:8} {version:10} {minimum:15} {need}: {}{install}\n",
        finding.tool, finding.purpose
    )
}
