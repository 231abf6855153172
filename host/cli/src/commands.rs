//! The commands: the only place that prints, besides `main`.

mod bench;
mod deploy;
mod device;
mod doctor;
mod emit;
mod engine;
mod golden;
mod live;
mod measured;
mod oracle;
mod output;
mod pci;
mod plugin;
mod progress;
mod prove;
mod run;
mod serve;
mod sim;
mod spec;
mod synth;
mod vm;

use crate::Failure;
use crate::cli::{Cli, Command};

/// Runs a command.
pub fn run(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        Command::Sim(args) => sim::run(args),
        Command::Run(args) => run::run(args),
        Command::Golden(args) => golden::run(args),
        Command::Oracle(args) => oracle::run(args),
        Command::Emit(args) => emit::run(args),
        Command::Plugin(args) => plugin::run(args),
        Command::Spec(args) => spec::run(&args.action),
        Command::Synth(args) => synth::run(args),
        Command::Prove(args) => prove::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Devices(args) => pci::devices(args),
        Command::Stats(args) => pci::stats(args),
        Command::Bind(args) => pci::bind(args),
        Command::Unbind(args) => pci::unbind(args),
        Command::Deploy(args) => deploy::run(args),
        Command::Vm(args) => vm::run(args),
        Command::Doctor(args) => doctor::run(args),
    }
}
