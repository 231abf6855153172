//! `groove synth`: cells, RAM and logic levels of each block, on each FPGA family.

use groove_hdl::pipeline::Parameters;

use super::measured;
use super::output;
use crate::cli::SynthArgs;
use crate::synth::{self, SynthError};
use crate::{Failure, exit};

/// Runs the command.
pub fn run(args: &SynthArgs) -> Result<(), Failure> {
    let parameters =
        Parameters { width: args.width, queues: args.queues.into(), ..Parameters::default() };
    let requests = synth::blocks::requests(&parameters, args.block.as_deref(), args.target)
        .map_err(|e| failure(&e))?;
    let mut reports = Vec::new();
    for request in &requests {
        output::talk(&format!("synthesising {} for {}", request.block, request.target.name()))?;
        reports.push(synth::synthesise(request).map_err(|e| failure(&e))?);
    }
    measured::report(args.json.as_deref(), &synth::table(&reports), &reports)
}

fn failure(error: &SynthError) -> Failure {
    let code = match error {
        _ if error.is_missing_tool() => exit::TOOL,
        SynthError::Parameters(_) => exit::USAGE,
        _ => exit::FAULT,
    };
    Failure::of(code, error)
}
