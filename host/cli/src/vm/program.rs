//! The command as a program of the guest: linked statically by cargo, or itself with its libraries.
//!
//!   sources there? ── yes ──► cargo rustc: same objects, linked again without libraries ──► static
//!        └─ no ──► this very file, and what its loader lists ──► copied
//!
//! Only the last link differs from the build at hand, whose objects are used, so it takes seconds.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use groove_verilator::{Tool, Toolbox};
use groove_vm::{Program, run_program};

use super::sources;
use crate::cli::DriverChoice;

/// Longest build: everything from nothing, on a busy machine.
const BUILD_LIMIT: Duration = Duration::from_secs(1200);
const CARGO: Tool = Tool { program: "cargo", install: "https://rustup.rs" };

/// Why there is no driver for the guest.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// What this command was built from.
    #[error("its sources are not at {} any more", .0.display())]
    NoSources(PathBuf),
    /// What builds it.
    #[error("cargo is not installed")]
    NoCargo,
    /// Where it would be kept.
    #[error("there is no cache directory")]
    NoCache,
    /// This command's own file.
    #[error("this command does not find itself")]
    NoSelf(#[source] std::io::Error),
    /// The build, or the search for libraries.
    #[error(transparent)]
    Failed(#[from] groove_vm::Error),
    /// Built, but not as asked.
    #[error("what cargo built is not static")]
    NotStatic,
}

/// The driver, and how it came about.
#[derive(Clone, Debug)]
pub struct Driver {
    /// What goes into the guest.
    pub program: Program,
    /// `static` or `copied`.
    pub kind: &'static str,
    /// Why it is not static although that was tried.
    pub note: Option<String>,
}

impl Driver {
    /// Makes one. `talk` hears of what takes time.
    pub fn make(
        choice: DriverChoice,
        tools: &Toolbox,
        talk: &dyn Fn(&str),
    ) -> Result<Self, ProgramError> {
        if choice == DriverChoice::Copy {
            return copied(None);
        }
        match linked_statically(tools, talk) {
            Ok(program) => Ok(Self { program, kind: "static", note: None }),
            Err(error) if choice == DriverChoice::Static => Err(error),
            Err(error) => {
                // Cargo's words are many; the first says what is wrong.
                let why = error.to_string();
                let why = why.lines().next().unwrap_or_default().to_owned();
                talk(&format!("no static driver ({why}): taking this command itself"));
                copied(Some(why))
            }
        }
    }
}

fn copied(note: Option<String>) -> Result<Driver, ProgramError> {
    let this = std::env::current_exe().map_err(ProgramError::NoSelf)?;
    Ok(Driver { program: Program::of(&this)?, kind: "copied", note })
}

fn linked_statically(tools: &Toolbox, talk: &dyn Fn(&str)) -> Result<Program, ProgramError> {
    let sources = sources();
    if !sources.join("Cargo.toml").is_file() {
        return Err(ProgramError::NoSources(sources.into()));
    }
    let cargo = tools.find(CARGO).ok_or(ProgramError::NoCargo)?;
    let target = tools.cache.as_ref().ok_or(ProgramError::NoCache)?.join("vm/driver");
    talk("linking the driver statically");
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let mut args = vec!["rustc", "--quiet", "--locked", "--package=groove", "--bin=groove"];
    if profile == "release" {
        args.push("--release");
    }
    args.extend(["--", "-Ctarget-feature=+crt-static", "-Cstrip=symbols"]);
    // Objects are where this build's are, only what comes out of them goes elsewhere.
    let objects = objects().unwrap_or_else(|| target.clone());
    let variables: [(&str, &OsStr); 2] =
        [("CARGO_TARGET_DIR", target.as_os_str()), ("CARGO_BUILD_BUILD_DIR", objects.as_os_str())];
    run_program(&cargo, &args, sources, &variables, BUILD_LIMIT)?;
    let program = Program::of(&target.join(profile).join("groove"))?;
    if program.is_static() { Ok(program) } else { Err(ProgramError::NotStatic) }
}

/// Cargo's directory that this command lies in: `DIR/debug/groove`.
fn objects() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let directory = this.ancestors().nth(2)?;
    is_cargos(directory).then(|| directory.to_owned())
}

fn is_cargos(directory: &Path) -> bool {
    directory.join(".rustc_info.json").is_file() || directory.join("CACHEDIR.TAG").is_file()
}
