//! `groove synth`: cells, RAM and logic levels of each block, on each FPGA family.

use std::path::Path;

use groove_hdl::pipeline::Parameters;

use super::measured;
use super::output;
use crate::cli::SynthArgs;
use crate::synth::baseline::{self, Figures};
use crate::synth::{self, SynthError};
use crate::{Failure, exit};

/// Runs the command.
pub fn run(args: &SynthArgs) -> Result<(), Failure> {
    let parameters =
        Parameters { width: args.width, queues: args.queues.into(), ..Parameters::default() };
    // Refused before the long work.
    let before = args.baseline.as_deref().map(read_baseline).transpose()?;
    let requests = synth::blocks::requests(&parameters, args.block.as_deref(), args.target)
        .map_err(|e| failure(&e))?;
    let mut reports = Vec::new();
    for request in &requests {
        output::talk(&format!("synthesising {} for {}", request.block, request.target.name()))?;
        reports.push(synth::synthesise(request).map_err(|e| failure(&e))?);
    }
    let figures: Vec<Figures> = reports.iter().map(Figures::from).collect();
    if let Some(path) = &args.svg {
        write(path, &synth::chart(&reports))?;
    }
    if let Some(path) = &args.record {
        write(path, &baseline::record(&figures, &made_by(args)))?;
    }
    let changes = before.map(|before| baseline::compare(&before, &figures, args.tolerance));
    let mut table = synth::table(&reports);
    if let Some(changes) = &changes {
        table += &format!("\n{}", baseline::table(changes));
    }
    measured::report(args.json.as_deref(), &table, &reports)?;
    let grown = changes.iter().flatten().filter(|change| change.grown).count();
    if grown == 0 {
        return Ok(());
    }
    let help = "if it is worth it: `groove synth --record FILE` writes a new baseline";
    Err(Failure::new(exit::MISMATCH, format!("{grown} figures grew beyond the baseline"))
        .help(help))
}

/// The command that gives the same figures.
fn made_by(args: &SynthArgs) -> String {
    let mut command = format!("groove synth --width {} --queues {}", args.width, args.queues);
    if let Some(block) = &args.block {
        command += &format!(" --block {block}");
    }
    if let Some(target) = args.target {
        command += &format!(" --target {}", target.name());
    }
    command + " --record FILE"
}

fn read_baseline(path: &Path) -> Result<Vec<Figures>, Failure> {
    let help = "give a file that `groove synth --record FILE` wrote";
    let what = || format!("failed to read the baseline {}", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::caused(exit::USAGE, what(), &e).help(help))?;
    baseline::read(&text).map_err(|e| Failure::caused(exit::USAGE, what(), &e).help(help))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| {
        Failure::caused(exit::USAGE, format!("failed to write {}", path.display()), &e)
            .help("check that the directory exists, is writable and has room")
    })
}

fn failure(error: &SynthError) -> Failure {
    let code = match error {
        _ if error.is_missing_tool() => exit::TOOL,
        SynthError::Parameters(_) => exit::USAGE,
        _ => exit::FAULT,
    };
    Failure::of(code, error)
}
