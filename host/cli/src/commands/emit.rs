//! `groove emit`: the hardware as Verilog, with C header and tables, into a directory.

use std::fs;

use groove_hdl::pipeline::Parameters;

use super::output;
use crate::cli::EmitArgs;
use crate::{Failure, emit, exit};

/// Runs the command.
pub fn run(args: &EmitArgs) -> Result<(), Failure> {
    let parameters = Parameters {
        width: args.width,
        queues: args.queues.into(),
        lossless: args.lossless,
        ..Parameters::default()
    };
    let files = emit::files(args.top, &parameters).map_err(|e| Failure::of(exit::USAGE, &e))?;
    let failed = |what: String, e: &std::io::Error| {
        Failure::caused(exit::USAGE, what, e)
            .help("name a directory that can be created or written with --out")
    };
    let directory = &args.out;
    fs::create_dir_all(directory)
        .map_err(|e| failed(format!("failed to create {}", directory.display()), &e))?;
    for file in files {
        let path = directory.join(&file.name);
        fs::write(&path, &file.text)
            .map_err(|e| failed(format!("failed to write {}", path.display()), &e))?;
        output::talk(&format!("{}: {} lines", path.display(), file.text.lines().count()))?;
    }
    Ok(())
}
