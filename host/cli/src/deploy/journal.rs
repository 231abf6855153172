//! What a deployment has changed, written down before it changes anything: so that whoever comes
//! behind an interrupted one can go on, or put the host back.
//!
//!   /run/groove, else the cache ──► lock (flock, gone with the process) ──► journal.json
//!
//! Invariants: two deployments do not run at the same time (`a_second_deployment_is_refused`); a
//! journal is there whole or not at all (`a_journal_is_replaced_whole`); a damaged one is told
//! (`a_damaged_journal_is_told`).
//! Not here: what is done with it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Step;
use super::port::Saved;
use super::programmer::Programmer;

/// A function as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Its address.
    pub bdf: String,
    /// Vendor and device.
    pub id: (u16, u16),
    /// Its driver.
    pub driver: Option<String>,
    /// The only driver that might have it.
    pub driver_override: Option<String>,
}

/// A deployment that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Name of the board.
    pub board: String,
    /// The file, by its whole path.
    pub file: PathBuf,
    /// Its SHA-256.
    pub sha256: String,
    /// What programs the board.
    pub programmer: Programmer,
    /// Function of the card, if the host is to be looked after.
    pub bdf: Option<String>,
    /// Port above it.
    pub port: Option<String>,
    /// Step that has begun.
    pub step: Step,
    /// What was masked.
    pub saved: Vec<Saved>,
    /// Functions of the card before.
    pub functions: Vec<Before>,
    /// The new bitstream was seen on the bus: earlier drivers are not for it.
    pub came_up: bool,
}

/// Why there is no place for a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Nowhere to write.
    #[error("failed to open {}", path.display())]
    NoPlace {
        /// Last place that was tried.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody deploys.
    #[error("another deployment is running{}", holder(.0))]
    Busy(String),
    /// It cannot be read or written.
    #[error("failed to {step} {}", path.display())]
    File {
        /// What was being done.
        step: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no journal.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

fn holder(process: &str) -> String {
    if process.is_empty() { String::new() } else { format!(" (process {process})") }
}

impl JournalError {
    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::NoPlace { .. } => {
                "run it as root, or name a cache directory: GROOVE_CACHE=DIR".into()
            }
            Self::Busy(_) => "wait for its end".into(),
            Self::File { .. } => "check that the directory is writable and has room".into(),
            Self::Damaged { path, .. } => format!(
                "look at the card with `groove devices`; then remove it: rm {}",
                path.display()
            ),
        }
    }
}

/// Where the journal is, locked.
#[derive(Debug)]
pub struct Place {
    directory: PathBuf,
    /// Held as long as this lives.
    _lock: File,
}

impl Place {
    /// Takes the first directory that can be written, alone.
    ///
    /// # Errors
    /// If there is none, or another process has it.
    pub fn take(directories: &[PathBuf]) -> Result<Self, JournalError> {
        let mut last = JournalError::NoPlace {
            path: PathBuf::from("a cache directory"),
            source: io::ErrorKind::NotFound.into(),
        };
        for directory in directories {
            match Self::open(directory) {
                Ok(lock) => return Self::lock(directory, lock),
                Err(source) => last = JournalError::NoPlace { path: directory.clone(), source },
            }
        }
        Err(last)
    }

    fn open(directory: &Path) -> io::Result<File> {
        std::fs::create_dir_all(directory)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.open(directory.join("deploy.lock"))
    }

    fn lock(directory: &Path, mut lock: File) -> Result<Self, JournalError> {
        let path = directory.join("deploy.lock");
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                // Who it is, if it can be told.
                let _ = lock.read_to_string(&mut process);
                return Err(JournalError::Busy(process.trim().into()));
            }
            Err(TryLockError::Error(source)) => {
                return Err(JournalError::File { step: "lock", path, source });
            }
        }
        let name = |lock: &mut File| -> io::Result<()> {
            lock.set_len(0)?;
            lock.rewind()?;
            writeln!(lock, "{}", std::process::id())
        };
        name(&mut lock).map_err(|source| JournalError::File { step: "write", path, source })?;
        Ok(Self { directory: directory.into(), _lock: lock })
    }

    fn path(&self) -> PathBuf {
        self.directory.join("journal.json")
    }

    /// Where this deployment may keep files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The journal of an interrupted deployment.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn journal(&self) -> Result<Option<Journal>, JournalError> {
        let path = self.path();
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(JournalError::File { step: "read", path, source }),
        };
        match serde_json::from_slice(&text) {
            Ok(journal) => Ok(Some(journal)),
            Err(error) => Err(JournalError::Damaged { path, reason: error.to_string() }),
        }
    }

    /// Writes the journal, whole, so that it is there after a loss of power.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, journal: &Journal) -> Result<(), JournalError> {
        let (path, fresh) = (self.path(), self.directory.join("journal.new"));
        let failed = |source| JournalError::File { step: "write", path: path.clone(), source };
        let text = serde_json::to_vec_pretty(journal).map_err(io::Error::from).map_err(failed)?;
        let mut file = File::create(&fresh).map_err(failed)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed)?;
        std::fs::rename(&fresh, &path).map_err(failed)
    }

    /// Nothing is left to be done.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn clear(&self) -> Result<(), JournalError> {
        match std::fs::remove_file(self.path()) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(JournalError::File { step: "remove", path: self.path(), source })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        Journal {
            board: "ax7203".into(),
            file: "/x.bit".into(),
            sha256: "00".into(),
            programmer: Programmer::command("/bin/true".into(), false, None),
            bdf: Some("0000:3b:00.0".into()),
            port: None,
            step: Step::Program,
            saved: vec![],
            functions: vec![],
            came_up: false,
        }
    }

    #[test]
    fn a_second_deployment_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let places = [dir.path().join("file/none"), dir.path().join("run/groove")];
        std::fs::write(dir.path().join("file"), "").unwrap();
        let first = Place::take(&places).unwrap();
        assert!(first.directory().ends_with("run/groove"), "the first place that can be written");
        let error = Place::take(&places).unwrap_err();
        let text = format!("another deployment is running (process {})", std::process::id());
        assert_eq!(error.to_string(), text);
        drop(first);
        crate::deploy::tests::free(&places);
        assert!(matches!(Place::take(&places[..1]), Err(JournalError::NoPlace { .. })));
    }

    #[test]
    fn a_journal_is_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::take(&[dir.path().into()]).unwrap();
        assert_eq!(place.journal().unwrap(), None);
        place.clear().unwrap();
        let mut expected = journal();
        place.write(&expected).unwrap();
        expected.step = Step::Rescan;
        place.write(&expected).unwrap();
        assert_eq!(place.journal().unwrap(), Some(expected));
        assert!(!dir.path().join("journal.new").exists());
        place.clear().unwrap();
        assert_eq!(place.journal().unwrap(), None);
    }

    #[test]
    fn a_damaged_journal_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::take(&[dir.path().into()]).unwrap();
        std::fs::write(dir.path().join("journal.json"), "{\"board\":").unwrap();
        let error = place.journal().unwrap_err();
        assert!(error.to_string().contains("journal.json is damaged"), "{error}");
        assert!(error.help().contains("rm "), "{}", error.help());
    }
}
