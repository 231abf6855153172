//! Programs of this machine, each with a bound: the only place of this crate that starts any.
//!
//! Invariants: one that takes longer than its bound is ended and named
//! (`a_program_that_hangs_is_ended`); none outlives whoever started it (`none_outlives_its_owner`).

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Error;
use crate::error::{io, last_words};

/// Between two looks at a program.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What is run, and how.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// For errors: `apt-get update`.
    pub what: &'a str,
    /// Its file.
    pub program: &'a Path,
    /// Where it runs.
    pub directory: &'a Path,
    /// Variables that it gets besides this process's.
    pub variables: &'a [(&'a str, &'a OsStr)],
    /// Longest that it may take.
    pub limit: Duration,
}

/// A program that goes on while other things happen. It is killed when it is let go.
#[derive(Debug)]
pub struct Background {
    child: Child,
}

impl Background {
    /// Starts a program with nothing to read; what it says goes to a file.
    ///
    /// # Errors
    /// If it cannot be started, or the file not be written.
    pub fn start<S: AsRef<OsStr>>(program: &Path, args: &[S], log: &Path) -> Result<Self, Error> {
        let to = File::create(log).map_err(io("create", log))?;
        let same = to.try_clone().map_err(io("create", log))?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(to).stderr(same);
        Self::spawn(command, program)
    }

    /// As [`Background::start`], apart from this process's terminal: a Ctrl-C there does not reach
    /// it.
    ///
    /// # Errors
    /// If it cannot be started, or the file not be written.
    pub fn start_apart<S: AsRef<OsStr>>(
        program: &Path,
        args: &[S],
        log: &Path,
    ) -> Result<Self, Error> {
        let to = File::create(log).map_err(io("create", log))?;
        let same = to.try_clone().map_err(io("create", log))?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(to).stderr(same).process_group(0);
        Self::spawn(command, program)
    }

    fn spawn(mut command: Command, program: &Path) -> Result<Self, Error> {
        let child = command.spawn().map_err(io("start", program))?;
        Ok(Self { child })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended; `None`: it runs.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().map_err(io("wait for", "a program"))
    }

    /// Waits for its end; `None`: not within the limit.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>, Error> {
        let start = Instant::now();
        loop {
            match self.ended()? {
                None if start.elapsed() < limit => std::thread::sleep(LOOK_EVERY),
                ended => return Ok(ended),
            }
        }
    }

    /// Ends it as SIGKILL does, and waits until it is gone.
    pub fn kill(&mut self) {
        // It may have gone by itself; then there is only its status to take.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Everything that a pipe gave so far.
#[derive(Debug)]
pub struct Heard {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Heard {
    fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::<Mutex<Vec<u8>>>::default();
        let to = Arc::clone(&text);
        let reader = std::thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(n @ 1..) = pipe.read(&mut some) {
                to.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&some[..n]);
            }
        });
        Self { text, reader: Some(reader) }
    }

    /// So far.
    pub fn so_far(&self) -> Vec<u8> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// To its end: the program is gone.
    pub fn all(mut self) -> Vec<u8> {
        if let Some(reader) = self.reader.take() {
            // It ends with the pipe, and does nothing that panics.
            let _ = reader.join();
        }
        self.so_far()
    }
}

/// Starts a program whose standard output is heard; its errors go to a file.
pub fn start_heard<S: AsRef<OsStr>>(
    program: &Path,
    args: &[S],
    errors: &Path,
) -> Result<(Background, Heard), Error> {
    let to = File::create(errors).map_err(io("create", errors))?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(to);
    let mut running = Background::spawn(command, program)?;
    let heard = running.child.stdout.take().map(Heard::of);
    let heard = heard.ok_or_else(|| Error::NoProgram(program.display().to_string()))?;
    Ok((running, heard))
}

/// Starts a program that has this process's terminal.
pub fn start_here<S: AsRef<OsStr>>(program: &Path, args: &[S]) -> Result<Background, Error> {
    let mut command = Command::new(program);
    command.args(args);
    Background::spawn(command, program)
}

/// Runs a program to its end: what it printed.
///
/// # Errors
/// If it cannot be started, takes too long, or ends with another status than 0.
pub fn run<S: AsRef<OsStr>>(call: &Call<'_>, args: &[S]) -> Result<Vec<u8>, Error> {
    let mut command = Command::new(call.program);
    command.args(args).current_dir(call.directory).envs(call.variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Background::spawn(command, call.program)?;
    let out = running.child.stdout.take().map(Heard::of);
    let errors = running.child.stderr.take().map(Heard::of);
    let ended = running.wait(call.limit)?;
    if ended.is_none() {
        running.kill();
    }
    // What it started itself may live on and hold the pipes: then they are not waited for.
    let said = |heard: Option<Heard>| match (heard, ended) {
        (None, _) => Vec::new(),
        (Some(heard), Some(_)) => heard.all(),
        (Some(heard), None) => heard.so_far(),
    };
    let (out, errors) = (said(out), said(errors));
    let words = || {
        let all = [&out[..], &errors[..]].concat();
        last_words(&String::from_utf8_lossy(&all))
    };
    let what = call.what.to_owned();
    match ended {
        None => Err(Error::TooLong { what, limit: call.limit, said: words() }),
        Some(status) if !status.success() => {
            Err(Error::Failed { what, status: status.to_string(), said: words() })
        }
        Some(_) => Ok(out),
    }
}

/// Runs a program to its end, with further variables: what it printed.
///
/// # Errors
/// If it cannot be started, takes too long, or ends with another status than 0.
pub fn run_program<S: AsRef<OsStr>>(
    program: &Path,
    args: &[S],
    directory: &Path,
    variables: &[(&str, &OsStr)],
    limit: Duration,
) -> Result<Vec<u8>, Error> {
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    run(&Call { what: &name, program, directory, variables, limit }, args)
}

/// A program's file, searched as a shell does.
pub fn find(path: &OsStr, program: &str) -> Result<PathBuf, Error> {
    std::env::split_paths(path)
        .map(|directory| directory.join(program))
        .find(|f| f.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0))
        .ok_or_else(|| Error::NoProgram(program.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(limit: Duration) -> Call<'static> {
        Call {
            what: "sh",
            program: Path::new("/bin/sh"),
            directory: Path::new("/"),
            variables: &[],
            limit,
        }
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let limit = Duration::from_millis(300);
        let error = run(&call(limit), &["-c", "echo begun; exec sleep 600"]).unwrap_err();
        assert!(matches!(&error, Error::TooLong { said, .. } if said == "begun"), "{error}");
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let limit = Duration::from_secs(60);
        let error = run(&call(limit), &["-c", "echo no luck >&2; exit 3"]).unwrap_err();
        assert_eq!(error.to_string(), "sh failed (exit status: 3): no luck");
        assert_eq!(run(&call(limit), &["-c", "printf hello"]).unwrap(), b"hello");
    }

    #[test]
    fn none_outlives_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let running = Background::start(Path::new("/bin/sleep"), &["600"], &log).unwrap();
        let entry = PathBuf::from(format!("/proc/{}", running.id()));
        assert!(entry.exists());
        drop(running);
        assert!(!entry.exists());
    }
}
