//! The `groove` command: reads arguments, runs one command, turns its failure into text and exit
//! code.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use groove::cli::{Cli, wrong_usage};
use groove::{commands, exit};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(failure) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(std::io::stderr().lock(), "{failure}");
            ExitCode::from(failure.code)
        }
    }
}

/// Wrong usage ends with code 2, `--help` and `--version` with 0.
fn refused(error: &clap::Error) -> ExitCode {
    let Some(text) = wrong_usage(error, std::env::args().skip(1)) else { error.exit() };
    let _ = writeln!(std::io::stderr().lock(), "{text}");
    ExitCode::from(exit::USAGE)
}
