//! QEMU out of the cache: starts a guest, watches it, and takes what comes.
//!
//!   initramfs, kernel ──► QEMU ── first serial line ──► console ──► events
//!                          │ └── second serial line ──► results
//!                          └── each device: a socket, behind a root port
//!
//! Emulated throughout (TCG): that KVM is there does not say that it works. It runs through the
//! loader of its own tree, so this machine's libraries do not matter.
//! Invariants: up, done and off each have a bound (`a_guest_that_hangs_is_ended`); QEMU goes with
//! whoever started it, killed or not (`qemu_goes_with_its_owner`).

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{io, last_words};
use crate::process::{self, Background, Call, Heard};
use crate::results::Results;
use crate::{Error, Event, Guest, Kernel, Outcome, initramfs};

/// From the start to the first process, on a machine that has other things to do.
const UP_LIMIT: Duration = Duration::from_secs(180);
/// From the end of the command to that of QEMU, files included.
const OFF_LIMIT: Duration = Duration::from_secs(120);
const LOCAL_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// QEMU and busybox.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    pub(crate) fn open(root: &Path) -> Result<Self, Error> {
        let machine = Self { root: root.into() };
        for file in [machine.loader(), machine.qemu(), machine.busybox()] {
            fs::metadata(&file).map_err(io("find", file))?;
        }
        Ok(machine)
    }

    fn loader(&self) -> PathBuf {
        self.root.join("lib64/ld-linux-x86-64.so.2")
    }

    fn qemu(&self) -> PathBuf {
        self.root.join("usr/bin/qemu-system-x86_64")
    }

    fn busybox(&self) -> PathBuf {
        self.root.join("usr/bin/busybox")
    }

    /// What the loader is to be told: where libraries are, and QEMU.
    fn start(&self) -> Vec<OsString> {
        let libraries = self.root.join("usr/lib/x86_64-linux-gnu");
        let mut path = libraries.clone().into_os_string();
        path.push(":");
        path.push(libraries.join("libfuse"));
        let mut args: Vec<OsString> = vec!["--library-path".into(), path, self.qemu().into()];
        for share in ["qemu", "seabios", "ipxe"] {
            args.extend(["-L".into(), self.root.join("usr/share").join(share).into()]);
        }
        args
    }

    /// Version of QEMU: `11.1.3 (Debian ...)`.
    ///
    /// # Errors
    /// If it does not run.
    pub fn version(&self) -> Result<String, Error> {
        let mut args = self.start();
        args.push("--version".into());
        let loader = self.loader();
        let call = self.call("qemu --version", &loader);
        let text = String::from_utf8_lossy(&process::run(&call, &args)?).into_owned();
        let line = text.lines().next().unwrap_or_default();
        Ok(line.trim_start_matches("QEMU emulator version ").to_owned())
    }

    fn call<'a>(&'a self, what: &'a str, program: &'a Path) -> Call<'a> {
        Call { what, program, directory: &self.root, variables: &[], limit: LOCAL_LIMIT }
    }

    /// Content of a kernel module's file.
    fn unpack(&self, file: &Path) -> Result<Vec<u8>, Error> {
        if file.extension().is_some_and(|end| end == "ko") {
            return fs::read(file).map_err(io("read", file));
        }
        let busybox = self.busybox();
        process::run(&self.call("unxz", &busybox), &["xzcat".as_ref(), file.as_os_str()])
    }

    /// Runs a guest to its end.
    ///
    /// # Errors
    /// If it does not come up, its command takes longer than its limit, or it ends before that.
    pub fn run(
        &self,
        kernel: &Kernel,
        guest: &Guest,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Outcome, Error> {
        let files = Files::new(self, kernel, guest)?;
        let mut args = self.arguments(kernel, guest, &files)?;
        args.extend(["-serial", "stdio"].map(OsString::from));
        args.extend(files.results_line());
        let start = Instant::now();
        let (qemu, heard) = process::start_heard(&self.loader(), &args, &files.errors())?;
        let watch = Watch {
            qemu,
            heard,
            files,
            start,
            limit: guest.limit,
            results: Results::default(),
            read: 0,
            told: 0,
            up: None,
            exit: None,
        };
        watch.finish(tell)
    }

    /// Gives a guest this process's terminal. It has no limit but that of getting up; leaving QEMU
    /// with Ctrl-A X ends it. Gives the exit code of its command, if it came to that.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn interact(&self, kernel: &Kernel, guest: &Guest) -> Result<Option<i32>, Error> {
        let files = Files::new(self, kernel, guest)?;
        let mut args = self.arguments(kernel, guest, &files)?;
        args.extend(["-serial", "mon:stdio"].map(OsString::from));
        args.extend(files.results_line());
        let mut qemu = process::start_here(&self.loader(), &args)?;
        while qemu.wait(UP_LIMIT)?.is_none() {}
        let mut results = Results::default();
        results.push(&fs::read(files.results()).unwrap_or_default())?;
        Ok(results.exit)
    }

    fn arguments(
        &self,
        kernel: &Kernel,
        guest: &Guest,
        files: &Files,
    ) -> Result<Vec<OsString>, Error> {
        let memory = guest.memory_mib;
        let mut args = self.start();
        let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        add(&["-accel", "tcg,thread=multi", "-cpu", "max"]);
        add(&["-smp", &guest.processors.to_string(), "-m", &memory.to_string()]);
        // Shared, or a device gets no file for it and reaches nothing.
        let ram = format!("memory-backend-memfd,id=ram,size={memory}M,share=on");
        add(&["-object", &ram, "-machine", "q35,memory-backend=ram"]);
        // The IOMMU reports new mappings (caching-mode) and remaps interrupts (intremap), or
        // vfio-pci takes no function.
        add(&["-device", "intel-iommu,intremap=on,caching-mode=on"]);
        for (i, socket) in guest.devices.iter().enumerate() {
            let port = i + 1;
            add(&["-device", &format!("pcie-root-port,id=port{i},chassis={port},slot={port}")]);
            add(&["-device", &vfio_user(&format!("port{i}"), socket)]);
        }
        add(&["-nodefaults", "-nographic", "-no-reboot", "-run-with", "exit-with-parent=on"]);
        // On a busy machine the timer looks broken to a kernel that checks it.
        let mut line = String::from("console=ttyS0 quiet panic=-1 intel_iommu=on no_timer_check");
        guest.arguments.iter().for_each(|word| line += &format!(" {word}"));
        add(&["-append", &line]);
        args.extend(["-kernel".into(), kernel.image().into()]);
        args.extend(["-initrd".into(), files.initramfs().into()]);
        Ok(args)
    }
}

/// The device, as QEMU reads it. JSON, since a path may have commas.
fn vfio_user(port: &str, socket: &Path) -> String {
    let path = socket.display().to_string();
    let quoted: String = path
        .chars()
        .flat_map(|c| match c {
            '"' | '\\' => vec!['\\', c],
            _ => vec![c],
        })
        .collect();
    format!(
        "{{\"driver\":\"vfio-user-pci\",\"bus\":\"{port}\",\"rombar\":0,\
         \"socket\":{{\"type\":\"unix\",\"path\":\"{quoted}\"}}}}"
    )
}

/// Files of one guest, gone with it.
struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new(machine: &Machine, kernel: &Kernel, guest: &Guest) -> Result<Self, Error> {
        let modules = kernel.modules(&guest.modules, |file| machine.unpack(file))?;
        let archive = initramfs::pack(guest, &machine.busybox(), &modules)?;
        let directory = tempfile::tempdir().map_err(io("create", std::env::temp_dir()))?;
        let files = Self { directory };
        let path = files.initramfs();
        fs::write(&path, archive).map_err(io("write", &path))?;
        fs::write(files.results(), []).map_err(io("write", files.results()))?;
        Ok(files)
    }

    fn initramfs(&self) -> PathBuf {
        self.directory.path().join("initramfs")
    }

    fn results(&self) -> PathBuf {
        self.directory.path().join("results")
    }

    fn errors(&self) -> PathBuf {
        self.directory.path().join("errors")
    }

    fn results_line(&self) -> [OsString; 2] {
        let mut file = OsString::from("file:");
        file.push(self.results());
        ["-serial".into(), file]
    }
}

/// A guest that runs.
struct Watch {
    qemu: Background,
    heard: Heard,
    files: Files,
    start: Instant,
    limit: Duration,
    results: Results,
    /// Bytes of the results that were read.
    read: u64,
    /// Bytes of the console that were told.
    told: usize,
    up: Option<Instant>,
    exit: Option<Instant>,
}

impl Watch {
    fn finish(mut self, tell: &mut dyn FnMut(Event<'_>)) -> Result<Outcome, Error> {
        let status = loop {
            let ended = self.qemu.ended()?;
            self.look(tell)?;
            if let Some(status) = ended {
                break status;
            }
            self.check()?;
            std::thread::sleep(LOOK_EVERY);
        };
        let elapsed = self.start.elapsed();
        let console = plain(&self.heard.all());
        let rest = console.get(self.told..).unwrap_or_default();
        rest.lines().for_each(|line| tell(Event::Line(line)));
        let results = self.results;
        let (Some(exit), true) = (results.exit, results.ended) else {
            let errors = fs::read_to_string(self.files.errors()).unwrap_or_default();
            let said = last_words(&format!("{console}\n{errors}"));
            return Err(Error::GuestLost { status: status.to_string(), said });
        };
        let boot = self.up.map_or(elapsed, |up| up.duration_since(self.start));
        let Results { outputs, refused, .. } = results;
        Ok(Outcome { exit, console, outputs, refused, boot, elapsed })
    }

    /// Takes what has come since.
    fn look(&mut self, tell: &mut dyn FnMut(Event<'_>)) -> Result<(), Error> {
        let path = self.files.results();
        let mut file = fs::File::open(&path).map_err(io("open", &path))?;
        let mut more = Vec::new();
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(self.read))
            .and_then(|_| file.read_to_end(&mut more))
            .map_err(io("read", &path))?;
        self.read += more.len() as u64;
        self.results.push(&more)?;
        if self.up.is_none() && self.results.up.is_some() {
            self.up = Some(Instant::now());
            tell(Event::Up);
        }
        let console = plain(&self.heard.so_far());
        while let Some((line, _)) = console.get(self.told..).and_then(|rest| rest.split_once('\n'))
        {
            self.told += line.len() + 1;
            tell(Event::Line(line));
        }
        if let Some(code) = self.results.exit
            && self.exit.is_none()
        {
            self.exit = Some(Instant::now());
            tell(Event::Exit(code));
        }
        Ok(())
    }

    /// Refuses to wait longer than the step that it is at may take.
    fn check(&self) -> Result<(), Error> {
        let (what, since, limit) = match (self.up, self.exit) {
            (None, _) => ("the guest's start", self.start, UP_LIMIT),
            (Some(up), None) => ("the guest's command", up, self.limit),
            (Some(_), Some(exit)) => ("the guest's end", exit, OFF_LIMIT),
        };
        if since.elapsed() <= limit {
            return Ok(());
        }
        let said = last_words(&plain(&self.heard.so_far()));
        Err(Error::TooLong { what: what.into(), limit, said })
    }
}

/// What a terminal would show as text: without returns, colours and movements (ECMA-48 5.4).
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\r' => {}
            '\x1b' => {
                if rest.next() == Some('[') {
                    // Parameters, up to the letter that ends them.
                    rest.find(|c| ('@'..='~').contains(c));
                }
            }
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_no_text() {
        let text = b"\x1bc\x1b[?7l\x1b[2Jhello\r\nto \x1b[1;31myou\x1b[0m\x1b[1";
        assert_eq!(plain(text), "hello\nto you");
    }

    #[test]
    fn sockets_are_quoted() {
        let text = vfio_user("port0", Path::new("/a,b/\"c\\"));
        let expected = "{\"driver\":\"vfio-user-pci\",\"bus\":\"port0\",\"rombar\":0,\
                        \"socket\":{\"type\":\"unix\",\"path\":\"/a,b/\\\"c\\\\\"}}";
        assert_eq!(text, expected);
    }
}
