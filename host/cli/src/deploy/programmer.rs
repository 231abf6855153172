//! The program that puts a bitstream onto a chip: openFPGALoader, or whatever the user names.
//!
//!   board, cable, SRAM or flash ──► arguments ──► run, bounded ──► what it said ──► error, if any
//!
//! Follows: `openFPGALoader --help`.
//! Invariants: one that takes longer than its bound is ended (`a_programmer_that_hangs_is_ended`);
//! one that says that it failed has failed, whatever its exit code
//! (`a_failure_in_words_is_a_failure`): openFPGALoader 0.10 ends well when it cannot verify the
//! flash of an AMD chip.
//! Not here: JTAG.

use std::io;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::time::Duration;

use groove_vm::Background;
use serde::{Deserialize, Serialize};

use crate::boards::{Board, Loader};

/// Name of the usual one.
pub const LOADER: &str = "openFPGALoader";
/// Longest that the SRAM of a chip may take: 30 MB at a slow cable's 4 Mb/s.
const SRAM_LIMIT_S: u64 = 120;
/// Longest for flash: it is erased, written and read again.
const FLASH_LIMIT_S: u64 = 1200;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Of what it said, at most.
const SAID_MAX: usize = 400;

/// How the cable is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cable {
    /// Kind, if it is not the board's own.
    pub kind: Option<String>,
    /// Serial number, of several.
    pub serial: Option<String>,
    /// A server of the Xilinx Virtual Cable protocol instead.
    pub xvc: Option<SocketAddrV4>,
}

/// What is run; the file follows as its last argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programmer {
    /// The program.
    pub program: PathBuf,
    /// Arguments before the file.
    pub args: Vec<String>,
    /// It writes flash: what is cut short leaves the card without a bitstream.
    pub flash: bool,
    /// Longest that it may take, in seconds.
    pub limit_s: u64,
}

/// Why there is no programmer, or it did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ProgrammerError {
    /// openFPGALoader does not know the chip.
    #[error("openFPGALoader does not know {0} ({1})")]
    Unknown(&'static str, String),
    /// Or not its flash.
    #[error("openFPGALoader cannot write the flash of {0}")]
    NoFlash(&'static str),
    /// It is not installed.
    #[error("{} is not installed", .0.display())]
    Missing(PathBuf),
    /// It cannot be run.
    #[error("failed to run {}", program.display())]
    Run {
        /// Which.
        program: PathBuf,
        /// Why.
        source: groove_vm::Error,
    },
    /// It ended badly, or said that it did.
    #[error("{program} failed ({how}): {said}")]
    Failed {
        /// Which.
        program: String,
        /// Its exit code, as words.
        how: String,
        /// Its last words.
        said: String,
    },
    /// It took too long, and was ended.
    #[error("{program} took longer than {limit_s} s, and was ended: {said}")]
    TooLong {
        /// Which.
        program: String,
        /// Its bound.
        limit_s: u64,
        /// Its last words.
        said: String,
    },
    /// Ctrl-C; it was ended.
    #[error("{0} was ended")]
    Interrupted(String),
}

impl ProgrammerError {
    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::Unknown(..) => {
                "program it by another tool, named by --programmer CMD: it is called as `CMD sram \
                 FILE`, or `CMD flash FILE` with --flash"
                    .into()
            }
            Self::NoFlash(_) => "leave --flash out, or name another tool: --programmer CMD".into(),
            Self::Missing(program) if program == Path::new(LOADER) => {
                "apt-get install openfpgaloader".into()
            }
            Self::Missing(_) | Self::Run { .. } => "check --programmer".into(),
            Self::Failed { said, .. } if said.contains("cannot find board") => {
                "a newer openFPGALoader has this board; docs/boards.md says which".into()
            }
            Self::Failed { .. } => {
                "check the cable, the power of the card, and that nobody else has the cable; run \
                 the same again"
                    .into()
            }
            Self::TooLong { .. } => "check the cable; a slow one takes --limit SECONDS".into(),
            Self::Interrupted(_) => "run the same again".into(),
        }
    }
}

impl Programmer {
    /// openFPGALoader, for a board.
    ///
    /// # Errors
    /// If it does not know the board, or not its flash.
    pub fn loader(
        board: &'static Board,
        cable: &Cable,
        flash: bool,
        limit_s: Option<u64>,
    ) -> Result<Self, ProgrammerError> {
        let Some(Loader { board: name, flash: writes_flash, .. }) = board.loader else {
            return Err(ProgrammerError::Unknown(board.name, board.part()));
        };
        if flash && !writes_flash {
            return Err(ProgrammerError::NoFlash(board.name));
        }
        let mut args = vec!["--board".to_owned(), name.to_owned()];
        let mut add = |option: &str, value: String| args.extend([option.to_owned(), value]);
        match (cable.xvc, &cable.kind) {
            (Some(server), _) => {
                add("--cable", "xvc-client".into());
                add("--ip", server.ip().to_string());
                add("--port", server.port().to_string());
            }
            (None, Some(kind)) => add("--cable", kind.clone()),
            (None, None) => {}
        }
        if let Some(serial) = &cable.serial {
            add("--ftdi-serial", serial.clone());
        }
        args.extend(match flash {
            true => vec!["--write-flash".to_owned(), "--verify".to_owned()],
            false => vec!["--write-sram".to_owned()],
        });
        Ok(Self { program: LOADER.into(), args, flash, limit_s: limit(flash, limit_s) })
    }

    /// Another program: it is told `sram` or `flash`, and the file.
    pub fn command(program: PathBuf, flash: bool, limit_s: Option<u64>) -> Self {
        let what = if flash { "flash" } else { "sram" };
        Self { program, args: vec![what.into()], flash, limit_s: limit(flash, limit_s) }
    }

    /// Its file, searched as a shell does.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(&self, path: &std::ffi::OsStr) -> Result<PathBuf, ProgrammerError> {
        if self.program.components().count() > 1 {
            let found = self.program.is_file().then(|| self.program.clone());
            return found.ok_or_else(|| ProgrammerError::Missing(self.program.clone()));
        }
        let mut files = std::env::split_paths(path).map(|dir| dir.join(&self.program));
        let file = files.find(|file| file.is_file());
        file.ok_or_else(|| ProgrammerError::Missing(self.program.clone()))
    }

    /// What a shell would be told.
    pub fn line(&self, file: &Path) -> String {
        let args = self.args.join(" ");
        format!("{} {args} {}", self.program.display(), file.display())
    }

    /// Runs it to its end. `stop` ends it, unless it writes flash.
    ///
    /// # Errors
    /// If it cannot be run, takes too long, is stopped, ends badly or says that it failed.
    pub fn run(
        &self,
        file: &Path,
        log: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), ProgrammerError> {
        let program = self.program.display().to_string();
        let path = self.find(&std::env::var_os("PATH").unwrap_or_default())?;
        let failed = |source| ProgrammerError::Run { program: self.program.clone(), source };
        let mut args: Vec<_> = self.args.iter().map(std::ffi::OsString::from).collect();
        args.push(file.into());
        // Ctrl-C is ours to hear: half a flash is no bitstream.
        let mut running = Background::start_apart(&path, &args, log).map_err(failed)?;
        let looks = Duration::from_secs(self.limit_s).as_millis() / LOOK_EVERY.as_millis();
        for _ in 0..looks {
            if let Some(status) = running.ended().map_err(failed)? {
                return judge(program, status.success(), &status.to_string(), &said(log));
            }
            if stop() && !self.flash {
                running.kill();
                return Err(ProgrammerError::Interrupted(program));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        running.kill();
        let said = last_words(&said(log));
        Err(ProgrammerError::TooLong { program, limit_s: self.limit_s, said })
    }
}

fn limit(flash: bool, limit_s: Option<u64>) -> u64 {
    limit_s.unwrap_or(if flash { FLASH_LIMIT_S } else { SRAM_LIMIT_S })
}

fn said(log: &Path) -> String {
    let text: io::Result<Vec<u8>> = std::fs::read(log);
    // What cannot be read was not said.
    String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()
}

fn judge(program: String, well: bool, how: &str, said: &str) -> Result<(), ProgrammerError> {
    let bad = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.contains("fail") || line.contains("error")
    };
    let words = lines(said).iter().copied().filter(bad).collect::<Vec<_>>().join("; ");
    match (well, words.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => {
            let how = format!("{how}, yet it says so");
            Err(ProgrammerError::Failed { program, how, said: last_words(&words) })
        }
        (false, _) => {
            let said = last_words(if words.is_empty() { said } else { &words });
            Err(ProgrammerError::Failed { program, how: how.into(), said })
        }
    }
}

/// Lines without the bars that a terminal would overwrite.
fn lines(said: &str) -> Vec<&str> {
    let lines = said.split(['\n', '\r']).map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.contains("[=")).collect()
}

fn last_words(said: &str) -> String {
    let lines = lines(said);
    let last = &lines[lines.len().saturating_sub(4)..];
    let text = last.join("; ");
    let from = text.char_indices().rev().nth(SAID_MAX).map_or(0, |(at, _)| at);
    if text.is_empty() { "it said nothing".into() } else { text[from..].to_owned() }
}

#[cfg(test)]
#[path = "programmer_tests.rs"]
mod tests;
