//! Wrong usage in the words of every other failure: `error:`, then `help:` with the next step.
//!
//!   clap's text ──► message ──► tips as help lines ──► usage as a help line ──► where help is
//!
//! Invariant: every refused command line ends in a help line (`wrong_usage`).

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::Cli;

/// The text of a refused command line; `None` for what was asked for, as `--help`. `args` are the
/// words behind the program's name.
pub fn wrong_usage(error: &clap::Error, args: impl Iterator<Item = String>) -> Option<String> {
    let whole_help = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || error.kind() == whole_help {
        return None;
    }
    let text = error.render().to_string();
    let mut lines = Vec::new();
    let mut help = Vec::new();
    for line in text.lines() {
        if let Some(usage) = line.strip_prefix("Usage: ") {
            help.push(format!("help: usage: {usage}"));
        } else if let Some(tip) = line.trim_start().strip_prefix("tip: ") {
            help.push(format!("help: {tip}"));
        } else if !line.trim().is_empty() && !line.starts_with("For more information") {
            lines.push(line.to_owned());
        }
    }
    help.push(format!("help: `{} --help` says what can be typed", command(args)));
    lines.extend(help);
    Some(lines.join("\n"))
}

/// The command that the words name, as far as they do.
fn command(args: impl Iterator<Item = String>) -> String {
    let mut at = Cli::command();
    let mut name = at.get_name().to_owned();
    for word in args {
        let Some(next) = at.find_subcommand(&word).cloned() else { break };
        name = format!("{name} {word}");
        at = next;
    }
    name
}
