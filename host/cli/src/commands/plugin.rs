//! `groove plugin`: the inline form as a plug-in of a NIC shell, into a directory.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::{measured, output};
use crate::cli::PluginArgs;
use crate::{Failure, exit, plugin};

/// What was written.
#[derive(Serialize)]
struct Report {
    shell: &'static str,
    directory: String,
    /// Module that the shell instantiates.
    module: &'static str,
    spec_id: u32,
    files: Vec<Written>,
}

/// One file.
#[derive(Serialize)]
struct Written {
    name: String,
    lines: usize,
}

/// Runs the command.
pub fn run(args: &PluginArgs) -> Result<(), Failure> {
    empty(&args.out)?;
    let mut files = Vec::new();
    for file in plugin::files(args.shell) {
        let path = args.out.join(&file.name);
        let parent = path.parent().unwrap_or(&args.out);
        fs::create_dir_all(parent).map_err(|e| failed("create", parent, &e))?;
        fs::write(&path, &file.text).map_err(|e| failed("write", &path, &e))?;
        let lines = file.text.lines().count();
        output::talk(&format!("{}: {lines} lines", path.display()))?;
        files.push(Written { name: file.name, lines });
    }
    let (shell, module) = (args.shell.name(), args.shell.module());
    let directory = args.out.display().to_string();
    let report = Report { shell, directory, module, spec_id: groove_spec::SPEC_ID, files };
    args.json.as_deref().map_or(Ok(()), |path| measured::json(path, &report))
}

/// Makes the directory; refuses one with anything in it.
fn empty(out: &Path) -> Result<(), Failure> {
    fs::create_dir_all(out).map_err(|e| failed("create", out, &e))?;
    let mut entries = fs::read_dir(out).map_err(|e| failed("read", out, &e))?;
    if entries.next().is_some() {
        return Err(Failure::usage(format!("{} is not empty", out.display()))
            .help("name a new directory with --out, or empty this one"));
    }
    Ok(())
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::caused(exit::USAGE, format!("failed to {what} {}", path.display()), error)
        .help("name a directory that can be created or written with --out")
}
