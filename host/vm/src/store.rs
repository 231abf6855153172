//! The cache: QEMU, busybox and kernels, each fetched once, whole or not at all.
//!
//!   there? ── yes ──► use it
//!     └─ no ──► lock ──► there now? ── no ──► fetch into a directory beside ──► rename
//!
//! Invariants: a preparation that ends early leaves no half cache
//! (`a_failed_preparation_leaves_nothing`); two at once prepare once (`two_at_once_prepare_once`).

use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::apt::Apt;
use crate::error::io;
use crate::{Error, Kernel, KernelSpec, Machine};

pub use crate::apt::Host;

/// Longest wait for somebody else's preparation.
const LOCK_LIMIT: Duration = Duration::from_secs(900);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Beginning of directories that are being filled.
const UNFINISHED: &str = "unfinished-";

/// Hears what a preparation does, a line at a time.
pub type Talk<'a> = &'a dyn Fn(&str);

/// The cache.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
    host: Host,
}

impl Store {
    /// In Groove's cache directory.
    pub fn new(cache: &Path, host: Host) -> Self {
        Self { directory: cache.join("vm"), host }
    }

    /// QEMU and busybox, fetched if they are not there.
    ///
    /// # Errors
    /// If they are not there and cannot be fetched: see [`Error::is_unavailable`].
    pub fn machine(&self, talk: Talk<'_>) -> Result<Machine, Error> {
        let directory = self.prepared("qemu", talk, |apt, to| {
            talk("fetching QEMU and busybox from this machine's Debian mirror");
            apt.download_all(&["qemu-system-x86", "busybox-static"])?;
            let packages = apt.unpack(to)?;
            let path = to.join("packages");
            fs::write(&path, packages.join("\n") + "\n").map_err(io("write", &path))?;
            Machine::open(to)?.version().map(drop)
        })?;
        Machine::open(&directory)
    }

    /// A kernel, fetched if it is not there.
    ///
    /// # Errors
    /// If it is not there and cannot be fetched: see [`Error::is_unavailable`].
    pub fn kernel(&self, spec: &KernelSpec, talk: Talk<'_>) -> Result<Kernel, Error> {
        let directory = self.prepared(&format!("kernel-{spec}"), talk, |apt, to| {
            talk(&format!("fetching kernel {spec}"));
            spec.fetch(apt, to)
        })?;
        Kernel::open(&directory)
    }

    /// A directory of the cache, made by `make` if it is not there.
    fn prepared(
        &self,
        name: &str,
        talk: Talk<'_>,
        make: impl FnOnce(&Apt<'_>, &Path) -> Result<(), Error>,
    ) -> Result<PathBuf, Error> {
        let target = self.directory.join(name);
        if target.is_dir() {
            return Ok(target);
        }
        if std::env::consts::ARCH != "x86_64" {
            return Err(Error::Architecture(std::env::consts::ARCH));
        }
        fs::create_dir_all(&self.directory).map_err(io("create", &self.directory))?;
        let _lock = self.lock(talk)?;
        if target.is_dir() {
            return Ok(target);
        }
        self.sweep()?;
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.directory);
        let unfinished = unfinished.map_err(io("create a directory in", &self.directory))?;
        // A package of an earlier try does not get in: packages lie in a directory of their own.
        let packages = self.directory.join("apt");
        let archives = packages.join("cache/archives");
        if archives.exists() {
            fs::remove_dir_all(&archives).map_err(io("remove", &archives))?;
        }
        let apt = Apt::new(&self.host, &packages)?;
        talk("fetching the list of packages");
        apt.update()?;
        make(&apt, unfinished.path())?;
        fs::rename(unfinished.keep(), &target).map_err(io("rename to", &target))?;
        Ok(target)
    }

    /// One preparation at a time; the kernel lets go of the lock with the process.
    fn lock(&self, talk: Talk<'_>) -> Result<fs::File, Error> {
        let path = self.directory.join("lock");
        let file = fs::File::create(&path).map_err(io("create", &path))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(io("lock", &path)(error)),
                Err(TryLockError::WouldBlock) if start.elapsed() > LOCK_LIMIT => {
                    let what = format!("another preparation, which holds {},", path.display());
                    let said = "nothing".into();
                    return Err(Error::TooLong { what, limit: LOCK_LIMIT, said });
                }
                Err(TryLockError::WouldBlock) => {
                    if start.elapsed() < LOOK_EVERY {
                        talk("waiting for another preparation");
                    }
                    std::thread::sleep(LOOK_EVERY);
                }
            }
        }
    }

    /// Removes what preparations left that were killed. The lock is ours.
    fn sweep(&self) -> Result<(), Error> {
        let entries = fs::read_dir(&self.directory).map_err(io("read", &self.directory))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(UNFINISHED) {
                fs::remove_dir_all(&path).map_err(io("remove", &path))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
