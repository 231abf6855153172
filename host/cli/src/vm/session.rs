//! A server with a device, and a guest that has it.
//!
//!   groove serve (a child, its words in a file) ◄── socket ──► QEMU (a child) ◄── this process
//!
//! Both go with this process. Every wait has a bound: for the socket, for the guest's steps, for
//! the server's report.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use groove_verilator::Toolbox;
use groove_vm::{Background, Event, File, Guest, Host, Kernel, Machine, Outcome, Store};

use super::{Driver, ProgramError, script};
use crate::cli::{DeviceChoice, VmGuestArgs};

/// Longest wait for the server's socket: the hardware may have to be built by Verilator first.
const SERVE_LIMIT: Duration = Duration::from_secs(900);
/// Longest wait for the server's report, when QEMU has gone.
const REPORT_LIMIT: Duration = Duration::from_secs(60);
/// Longest that one capture may take in the guest, and that all the rest may take.
const STEP_LIMIT: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// For 32 queues with the default pool, twice.
const HUGE_PAGES: usize = 160;
const MEMORY_MIB: u32 = 1024;

/// Why there is no guest, or nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Nowhere to keep QEMU.
    #[error("there is no cache directory")]
    NoCache,
    /// No driver for it.
    #[error("there is no driver for the guest")]
    Program(#[from] ProgramError),
    /// Fetching or booting.
    #[error(transparent)]
    Vm(#[from] groove_vm::Error),
    /// The server did not come up.
    #[error("groove serve did not come up: {0}")]
    Serve(String),
    /// The server left no report.
    #[error("groove serve left no report: {0}")]
    NoReport(String),
    /// This command's own file, or a directory for sockets.
    #[error("failed to prepare a session")]
    Io(#[from] std::io::Error),
}

/// How long things took.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Seconds {
    /// Fetching what was not in the cache.
    pub fetch: f64,
    /// Linking the driver.
    pub driver: f64,
    /// Starting the device.
    pub serve: f64,
    /// From QEMU's start to the guest's first process.
    pub boot: f64,
    /// From there to the guest's end.
    pub guest: f64,
}

/// Everything that a guest with the device needs, the server running.
pub struct Session {
    machine: Machine,
    kernel: Kernel,
    driver: Driver,
    server: Background,
    directory: tempfile::TempDir,
    captures: Vec<PathBuf>,
    /// How long it took so far.
    pub seconds: Seconds,
}

impl Session {
    /// Fetches, links, and starts the server.
    pub fn start(
        args: &VmGuestArgs,
        captures: &[PathBuf],
        talk: &dyn Fn(&str),
    ) -> Result<Self, SessionError> {
        let tools = Toolbox::from_env();
        let cache = tools.cache.clone().ok_or(SessionError::NoCache)?;
        let mut seconds = Seconds::default();
        let store = Store::new(&cache, Host::default());
        let start = Instant::now();
        let machine = store.machine(talk)?;
        let kernel = store.kernel(&args.kernel, talk)?;
        seconds.fetch = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let driver = Driver::make(args.driver, &tools, talk)?;
        seconds.driver = start.elapsed().as_secs_f64();
        talk("starting the device: groove serve");
        let start = Instant::now();
        let directory = tempfile::tempdir()?;
        let server = serve(args, captures, directory.path())?;
        seconds.serve = start.elapsed().as_secs_f64();
        let captures = captures.to_vec();
        Ok(Self { machine, kernel, driver, server, directory, captures, seconds })
    }

    /// Version of QEMU.
    pub fn qemu(&self) -> Result<String, SessionError> {
        Ok(self.machine.version()?)
    }

    /// Release of the kernel.
    pub fn kernel(&self) -> &str {
        self.kernel.release()
    }

    /// The driver.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    fn guest(&self, command: String, outputs: Vec<String>) -> Guest {
        let capture = |(i, path): (usize, &PathBuf)| File::copy(script::capture(i), path);
        Guest {
            modules: ["vfio_iommu_type1", "vfio-pci"].map(String::from).to_vec(),
            files: self.captures.iter().enumerate().map(capture).collect(),
            programs: vec![("groove".into(), self.driver.program.clone())],
            command,
            outputs,
            devices: vec![socket(self.directory.path())],
            memory_mib: MEMORY_MIB,
            arguments: vec![format!("hugepages={HUGE_PAGES}")],
            limit: STEP_LIMIT * (self.captures.len() as u32 + 2),
            ..Guest::default()
        }
    }

    /// Runs the guest to its end.
    pub fn run(
        &mut self,
        command: String,
        outputs: Vec<String>,
        talk: &dyn Fn(&str),
    ) -> Result<Outcome, SessionError> {
        talk(&format!("booting kernel {}", self.kernel.release()));
        let guest = self.guest(command, outputs);
        let outcome = self.machine.run(&self.kernel, &guest, &mut |event| {
            if let Event::Line(line) = event
                && let Some(step) = line.strip_prefix("step ")
            {
                talk(&format!("in the guest: {}", step.replace(' ', ": exit code ")));
            }
        })?;
        self.seconds.boot = outcome.boot.as_secs_f64();
        self.seconds.guest = (outcome.elapsed - outcome.boot).as_secs_f64();
        Ok(outcome)
    }

    /// Gives the guest this process's terminal.
    pub fn interact(&self, command: String) -> Result<(), SessionError> {
        let guest = self.guest(command, Vec::new());
        self.machine.interact(&self.kernel, &guest)?;
        Ok(())
    }

    /// What the server reports, when the guest has gone, and what it said.
    pub fn served(mut self) -> Result<(serde_json::Value, String), SessionError> {
        let log = fs::read_to_string(self.directory.path().join(LOG)).unwrap_or_default();
        if self.server.wait(REPORT_LIMIT)?.is_none() {
            return Err(SessionError::NoReport(log));
        }
        let text = fs::read_to_string(self.directory.path().join(REPORT)).unwrap_or_default();
        match serde_json::from_str(&text) {
            Ok(report) => Ok((report, log)),
            Err(_) => Err(SessionError::NoReport(log)),
        }
    }
}

const LOG: &str = "serve.log";
const REPORT: &str = "serve.json";

fn socket(directory: &Path) -> PathBuf {
    directory.join("nic")
}

/// Starts the server, and waits until it listens.
fn serve(
    args: &VmGuestArgs,
    captures: &[PathBuf],
    directory: &Path,
) -> Result<Background, SessionError> {
    let mut words: Vec<OsString> = vec!["serve".into(), "--once".into(), "--socket".into()];
    words.push(socket(directory).into());
    let device = match args.device {
        DeviceChoice::Model => "model",
        DeviceChoice::Rtl => "rtl",
    };
    words.extend(["--device".into(), device.into()]);
    words.extend(["--queues".into(), args.queues.to_string().into()]);
    let mut json = OsString::from("--json=");
    json.push(directory.join(REPORT));
    words.push(json);
    if let Some(limit) = args.limit {
        words.extend(["--limit".into(), limit.to_string().into()]);
    }
    for capture in captures {
        words.extend(["--capture".into(), capture.into()]);
    }
    let log = directory.join(LOG);
    let mut server = Background::start(&std::env::current_exe()?, &words, &log)?;
    let start = Instant::now();
    while !socket(directory).exists() {
        let ended = server.ended()?.is_some();
        if ended || start.elapsed() > SERVE_LIMIT {
            return Err(SessionError::Serve(fs::read_to_string(&log).unwrap_or_default()));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(server)
}
