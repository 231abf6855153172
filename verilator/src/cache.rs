//! The build cache: sealed files, written whole or not at all.
//!
//!   content ++ SHA-256(content) ++ magic          (ELF loaders ignore what follows sections)
//!
//! Invariants: a file is read only if its seal holds (`damaged_seal_is_refused`); an entry appears
//! by rename (`parallel_builds_share_one_entry`).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{Error, Toolbox};

const MAGIC: &[u8; 16] = b"groove-sealed-01";
const SEAL_BYTES: usize = 32 + MAGIC.len();
/// Entries are dropped, the least recently used first, above this total.
const CACHE_BYTES_MAX: u64 = 2 << 30;

/// Collects what a cache entry depends on.
pub(crate) struct Key(Sha256);

impl Key {
    pub(crate) fn new(kind: &str) -> Self {
        let mut key = Self(Sha256::new());
        key.add(kind);
        key
    }

    /// Adds one part; parts cannot run into each other.
    pub(crate) fn add(&mut self, part: &str) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
    }

    pub(crate) fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What `-march=native` depends on.
pub(crate) fn cpu_flags() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let wanted = ["flags", "Features", "model name"];
    let first = |name: &&str| {
        text.lines().find(|line| line.starts_with(*name)).unwrap_or_default().to_owned()
    };
    wanted.iter().map(first).collect::<Vec<_>>().join("\n")
}

/// A cache directory that exists.
pub(crate) struct Cache {
    directory: PathBuf,
}

impl Cache {
    pub(crate) fn open(tools: &Toolbox) -> Result<Self, Error> {
        let directory = tools.cache.clone().ok_or(Error::NoCacheDirectory)?;
        fs::create_dir_all(&directory).map_err(at(&directory))?;
        // Compilers run in another directory.
        let directory = fs::canonicalize(&directory).map_err(at(&directory))?;
        Ok(Self { directory })
    }

    /// A directory for one build, on the same file system, removed when dropped.
    pub(crate) fn scratch(&self) -> Result<tempfile::TempDir, Error> {
        tempfile::Builder::new()
            .prefix("build-")
            .tempdir_in(&self.directory)
            .map_err(at(&self.directory))
    }

    /// The entry `name`, made by `make` (which is given the file to write) if there is none or its
    /// seal is broken.
    pub(crate) fn entry(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<PathBuf, Error> {
        let file = self.directory.join(name);
        if sealed(&file) {
            touch(&file);
            return Ok(file);
        }
        let lock_file = self.directory.join(format!("{name}.lock"));
        let lock = File::create(&lock_file).map_err(at(&lock_file))?;
        lock.lock().map_err(at(&lock_file))?;
        // Another process may have made it while this one waited.
        if !sealed(&file) {
            let scratch = self.scratch()?;
            let new = scratch.path().join("entry");
            make(&new)?;
            seal(&new).map_err(at(&new))?;
            fs::rename(&new, &file).map_err(at(&file))?;
            self.evict(&file);
        }
        Ok(file)
    }

    /// Removes the least recently used entries above the size limit; failures are of no
    /// consequence.
    fn evict(&self, keep: &Path) {
        let Ok(list) = fs::read_dir(&self.directory) else { return };
        let mut entries: Vec<_> = list
            .flatten()
            .filter_map(|e| {
                let meta = e.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((meta.modified().ok()?, meta.len(), e.path()))
            })
            .collect();
        let mut total: u64 = entries.iter().map(|e| e.1).sum();
        entries.sort();
        for (_, bytes, path) in entries {
            if total <= CACHE_BYTES_MAX {
                break;
            }
            if path != keep && fs::remove_file(&path).is_ok() {
                total -= bytes;
            }
        }
    }
}

/// Attaches a path to an I/O error.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Cache { path, source }
}

fn touch(file: &Path) {
    // Only the order of eviction depends on it.
    if let Ok(file) = File::options().append(true).open(file) {
        let _ = file.set_modified(std::time::SystemTime::now());
    }
}

fn seal(file: &Path) -> io::Result<()> {
    let mut content = fs::read(file)?;
    let sum = Sha256::digest(&content);
    content.extend_from_slice(&sum);
    content.extend_from_slice(MAGIC);
    fs::write(file, content)
}

fn sealed(file: &Path) -> bool {
    let Ok(content) = fs::read(file) else { return false };
    let Some(split) = content.len().checked_sub(SEAL_BYTES) else { return false };
    let (content, seal) = content.split_at(split);
    &seal[32..] == MAGIC && seal[..32] == Sha256::digest(content)[..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_seal_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x");
        fs::write(&file, b"some content").unwrap();
        assert!(!sealed(&file), "no seal yet");
        seal(&file).unwrap();
        assert!(sealed(&file));
        let whole = fs::read(&file).unwrap();
        let damages: [fn(&mut Vec<u8>); 4] =
            [|v| v[3] ^= 1, |v| v.truncate(20), Vec::clear, |v| *v.last_mut().unwrap() ^= 1];
        for damage in damages {
            let mut bytes = whole.clone();
            damage(&mut bytes);
            fs::write(&file, bytes).unwrap();
            assert!(!sealed(&file));
        }
        fs::remove_file(&file).unwrap();
        assert!(!sealed(&file), "absent");
    }

    #[test]
    fn parts_of_a_key_do_not_run_into_each_other() {
        let key = |a: &str, b: &str| {
            let mut key = Key::new("test");
            key.add(a);
            key.add(b);
            key.hex()
        };
        assert_ne!(key("ab", "c"), key("a", "bc"));
        assert_eq!(key("ab", "c"), key("ab", "c"));
        assert_eq!(key("", "").len(), 64);
    }

    #[test]
    fn entry_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let tools = Toolbox { path: Default::default(), cache: Some(dir.path().join("deep/er")) };
        let cache = Cache::open(&tools).unwrap();
        let mut made = 0;
        for _ in 0..3 {
            let file = cache
                .entry("e", |new| {
                    made += 1;
                    fs::write(new, b"content").map_err(at(new))
                })
                .unwrap();
            assert!(fs::read(file).unwrap().starts_with(b"content"));
        }
        assert_eq!(made, 1);
    }
}
