//! The `groove` command: reads arguments, runs one command, turns its failure into text and exit
//! code.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use groove::{cli::Cli, commands, exit};

fn main() -> ExitCode {
    // Wrong usage ends here with code 2, `--help` and `--version` with 0.
    let cli = Cli::parse();
    match commands::run(&cli) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(failure) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(std::io::stderr().lock(), "{failure}");
            ExitCode::from(failure.code)
        }
    }
}
