//! The commands: the only place that prints, besides `main`.

mod doctor;
mod engine;
mod golden;
mod output;
mod sim;
mod spec;

use crate::Failure;
use crate::cli::{Cli, Command};

/// Runs a command.
pub fn run(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        Command::Sim(args) => sim::run(args),
        Command::Golden(args) => golden::run(args),
        Command::Spec(args) => spec::run(&args.action),
        Command::Doctor(args) => doctor::run(args),
    }
}
