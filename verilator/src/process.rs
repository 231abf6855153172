//! Spawns programs: the only place of this crate that does.
//!
//! Follows: search by PATH, as `execvp` does.
//! Invariants: a missing or too old program is an error that names the command that installs it
//! (`missing_tool_names_the_command`, `old_verilator_is_refused`).

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::Error;

/// A program this project runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Program name.
    pub program: &'static str,
    /// Command that installs it.
    pub install: &'static str,
}

impl Tool {
    /// The Verilog simulator.
    pub const VERILATOR: Tool =
        Tool { program: "verilator", install: "apt-get install verilator g++ make" };
    /// The C++ compiler.
    pub const GXX: Tool = Tool { program: "g++", install: "apt-get install verilator g++ make" };
    /// The synthesis tool.
    pub const YOSYS: Tool = Tool { program: "yosys", install: "apt-get install yosys" };
    /// Unrolls yosys' SMT-LIB and asks a solver; a part of yosys.
    pub const SMTBMC: Tool = Tool { program: "yosys-smtbmc", install: "apt-get install yosys" };
    /// The solver.
    pub const Z3: Tool = Tool { program: "z3", install: "apt-get install z3" };
}

/// Verilator's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Major and minor number; `None` in builds that print only a revision.
    pub number: Option<(u32, u32)>,
    /// The whole line.
    pub text: String,
}

impl Version {
    /// Oldest Verilator that works.
    pub const OLDEST: (u32, u32) = (5, 6);
    const OLDEST_TEXT: &'static str = "5.006";

    fn parse(line: &str) -> Self {
        let number = line.split_whitespace().nth(1).and_then(|word| {
            let (major, minor) = word.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        });
        Self { number, text: line.trim().to_owned() }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some((major, minor)) => write!(f, "{major}.{minor:03}"),
            None => f.write_str(&self.text),
        }
    }
}

/// Output of a program that ended well.
#[derive(Clone, Debug)]
pub struct Output {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Where programs are searched and builds are kept.
#[derive(Clone, Debug)]
pub struct Toolbox {
    /// Search path, as in PATH.
    pub path: OsString,
    /// Cache directory; `None` if the environment names none.
    pub cache: Option<PathBuf>,
}

impl Toolbox {
    /// PATH, and the first of GROOVE_CACHE, XDG_CACHE_HOME/groove, HOME/.cache/groove.
    pub fn from_env() -> Self {
        let var = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let cache = var("GROOVE_CACHE")
            .or_else(|| var("XDG_CACHE_HOME").map(|d| d.join("groove")))
            .or_else(|| var("HOME").map(|d| d.join(".cache/groove")));
        Self { path: std::env::var_os("PATH").unwrap_or_default(), cache }
    }

    /// Full path of a program, if it is installed.
    pub fn find(&self, tool: Tool) -> Option<PathBuf> {
        std::env::split_paths(&self.path).map(|dir| dir.join(tool.program)).find(|file| {
            file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
        })
    }

    /// Runs a program to its end and returns its output.
    ///
    /// # Errors
    /// If it is missing, cannot be started, or ends with another status than 0.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        tool: Tool,
        directory: &Path,
        args: &[S],
    ) -> Result<Output, Error> {
        let (output, status) = self.run_any(tool, directory, args)?;
        if status.success() {
            return Ok(output);
        }
        let all = format!("{}{}", output.stdout, output.stderr);
        let program = tool.program;
        Err(Error::ToolFailed { program, status: status.to_string(), output: excerpt(&all) })
    }

    /// Whether a program that another one starts is there.
    ///
    /// # Errors
    /// If it is missing.
    pub fn require(&self, tool: Tool) -> Result<(), Error> {
        let Tool { program, install } = tool;
        self.find(tool).map(drop).ok_or(Error::ToolMissing { program, install })
    }

    /// Runs a program to its end and returns its output and status, whatever that is.
    ///
    /// # Errors
    /// If it is missing or cannot be started.
    pub fn run_any<S: AsRef<OsStr>>(
        &self,
        tool: Tool,
        directory: &Path,
        args: &[S],
    ) -> Result<(Output, ExitStatus), Error> {
        let Tool { program, install } = tool;
        let file = self.find(tool).ok_or(Error::ToolMissing { program, install })?;
        let result = Command::new(file)
            .args(args)
            .env("PATH", &self.path)
            .current_dir(directory)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| Error::Spawn { program, source })?;
        let output = Output {
            stdout: String::from_utf8_lossy(&result.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&result.stderr).into_owned(),
        };
        Ok((output, result.status))
    }

    /// Verilator's version.
    ///
    /// # Errors
    /// If it is missing or older than [`Version::OLDEST`].
    pub fn verilator_version(&self) -> Result<Version, Error> {
        let output = self.run(Tool::VERILATOR, Path::new("/"), &["--version"])?;
        let version = Version::parse(&output.stdout);
        match version.number {
            Some(number) if number < Version::OLDEST => Err(Error::ToolTooOld {
                program: Tool::VERILATOR.program,
                found: version.to_string(),
                needed: Version::OLDEST_TEXT,
                install: Tool::VERILATOR.install,
            }),
            _ => Ok(version),
        }
    }

    /// First line of `g++ --version`.
    ///
    /// # Errors
    /// If it is missing.
    pub fn gxx_version(&self) -> Result<String, Error> {
        let output = self.run(Tool::GXX, Path::new("/"), &["--version"])?;
        Ok(output.stdout.lines().next().unwrap_or_default().to_owned())
    }

    /// What `verilator --lint-only -Wall` says about a module, the named warnings waived.
    ///
    /// Names that the installed version does not know are left out: newer ones split WIDTH in two.
    ///
    /// # Errors
    /// If Verilator is missing, or cannot read the text at all.
    pub fn lint(&self, top: &str, verilog: &str, waived: &[&str]) -> Result<Vec<String>, Error> {
        let version = self.verilator_version()?;
        let directory = tempfile::tempdir()
            .map_err(|source| Error::Cache { path: std::env::temp_dir(), source })?;
        let file = directory.path().join(format!("{top}.v"));
        std::fs::write(&file, verilog)
            .map_err(|source| Error::Cache { path: file.clone(), source })?;
        let mut args = ["--lint-only", "-Wall", "-Wno-fatal", "-Wno-DECLFILENAME", "--top-module"]
            .map(String::from)
            .to_vec();
        args.push(top.to_owned());
        args.extend(waived.iter().flat_map(|name| waiver(name, &version)));
        args.push(format!("{top}.v"));
        let output = self.run(Tool::VERILATOR, directory.path(), &args)?;
        Ok(output.stderr.lines().filter(|l| l.starts_with("%Warning-")).map(String::from).collect())
    }
}

/// `-Wno-` flags for one name. WIDTH became WIDTHEXPAND, WIDTHTRUNC and WIDTHXZEXPAND in 5.012.
fn waiver(name: &str, version: &Version) -> Vec<String> {
    let split = version.number.is_none_or(|number| number >= (5, 12));
    match name {
        "WIDTHEXPAND" | "WIDTHTRUNC" | "WIDTHXZEXPAND" if !split => vec!["-Wno-WIDTH".to_owned()],
        _ => vec![format!("-Wno-{name}")],
    }
}

/// The lines that matter: errors if there are any, else the last ones.
fn excerpt(text: &str) -> String {
    const LINES_MAX: usize = 20;
    let errors: Vec<&str> =
        text.lines().filter(|l| l.contains("%Error") || l.contains("error:")).collect();
    let lines = if errors.is_empty() { text.lines().collect() } else { errors };
    let skip = if text.contains("rror") { 0 } else { lines.len().saturating_sub(LINES_MAX) };
    lines.into_iter().skip(skip).take(LINES_MAX).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Toolbox {
        Toolbox { path: OsString::new(), cache: None }
    }

    /// A directory with one executable script.
    fn fake(program: &str, script: &str) -> (tempfile::TempDir, Toolbox) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(program);
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = dir.path().as_os_str().to_owned();
        (dir, Toolbox { path, cache: None })
    }

    #[test]
    fn missing_tool_names_the_command() {
        let error = empty().verilator_version().unwrap_err();
        assert_eq!(
            error.to_string(),
            "verilator is not installed; install it: apt-get install verilator g++ make"
        );
        assert!(error.is_missing_tool());
        let error = empty().gxx_version().unwrap_err();
        assert_eq!(
            error.to_string(),
            "g++ is not installed; install it: apt-get install verilator g++ make"
        );
    }

    #[test]
    fn old_verilator_is_refused() {
        let (_dir, tools) = fake("verilator", "#!/bin/sh\necho Verilator 4.038 2020-07-11 rev x\n");
        let error = tools.verilator_version().unwrap_err();
        assert_eq!(
            error.to_string(),
            "verilator 4.038 is too old, 5.006 or newer is needed; \
             install it: apt-get install verilator g++ make"
        );
    }

    #[test]
    fn versions_with_and_without_a_number_are_read() {
        let debian = Version::parse("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)\n");
        assert_eq!(debian.number, Some((5, 6)));
        assert_eq!(debian.to_string(), "5.006");
        let bare = Version::parse("Verilator rev vUNKNOWN-built20260516-4e853d8\n");
        assert_eq!(bare.number, None);
    }

    #[test]
    fn width_waivers_follow_the_version() {
        let old = Version::parse("Verilator 5.006 x");
        let new = Version::parse("Verilator 5.048 x");
        assert_eq!(waiver("WIDTHEXPAND", &old), ["-Wno-WIDTH"]);
        assert_eq!(waiver("WIDTHEXPAND", &new), ["-Wno-WIDTHEXPAND"]);
        assert_eq!(waiver("UNUSEDSIGNAL", &old), ["-Wno-UNUSEDSIGNAL"]);
    }

    #[test]
    fn failure_carries_the_status_and_the_words() {
        let (_dir, tools) = fake("yosys", "#!/bin/sh\necho 'ERROR: no such file' >&2\nexit 3\n");
        let error = tools.run(Tool::YOSYS, Path::new("/"), &["-q"]).unwrap_err();
        assert_eq!(error.to_string(), "yosys failed (exit status: 3):\nERROR: no such file");
    }
}
