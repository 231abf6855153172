//! What a guest is to be, and what came of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Error, Program};

/// Content of a file of the guest.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// As a file of this machine is when the guest starts.
    Of(PathBuf),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A file that the guest finds.
#[derive(Clone, Debug)]
pub struct File {
    pub(crate) path: String,
    pub(crate) content: Content,
}

impl File {
    /// A copy of a file of this machine.
    pub fn copy(path: impl Into<String>, of: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), content: Content::Of(of.into()) }
    }

    /// A text.
    pub fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), content: Content::Bytes(text.into().into_bytes()) }
    }
}

/// A guest: what is in it, what it does, how long it may take.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Modules of its kernel, by name; what they need is loaded before them.
    pub modules: Vec<String>,
    /// Files that it finds, beside busybox with all its commands.
    pub files: Vec<File>,
    /// Programs of this machine, with their libraries; each is `/bin/NAME` there.
    pub programs: Vec<(String, Program)>,
    /// Script for its shell, run as root, in `/`, with its console as output.
    pub command: String,
    /// Files that are brought back, if they are there when the command has ended.
    pub outputs: Vec<String>,
    /// Sockets of vfio-user servers; each is a PCI function behind a root port of its own.
    pub devices: Vec<PathBuf>,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Processors; each is a thread of this machine.
    pub processors: u32,
    /// More words for the kernel's command line.
    pub arguments: Vec<String>,
    /// Longest that the command may take.
    pub limit: Duration,
}

impl Default for Guest {
    /// One processor, 512 MiB, two minutes, nothing to do.
    fn default() -> Self {
        Self {
            modules: Vec::new(),
            files: Vec::new(),
            programs: Vec::new(),
            command: String::new(),
            outputs: Vec::new(),
            devices: Vec::new(),
            memory_mib: 512,
            processors: 1,
            arguments: Vec::new(),
            limit: Duration::from_secs(120),
        }
    }
}

impl Guest {
    /// Refuses paths that a guest cannot have.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let files = self.files.iter().map(|file| &file.path);
        for path in files.chain(&self.outputs) {
            let parts = Path::new(path).components();
            let up = parts.into_iter().any(|part| part == std::path::Component::ParentDir);
            if !path.starts_with('/') || path.ends_with('/') || path.contains(['\n', '\0']) || up {
                return Err(Error::GuestPath(path.clone()));
            }
        }
        Ok(())
    }
}

/// What happens in a guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// Its first process runs.
    Up,
    /// Its console has a further line.
    Line(&'a str),
    /// Its command has ended with this code.
    Exit(i32),
}

/// What came of a guest.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Exit code of its command: 126 and above are the shell's.
    pub exit: i32,
    /// Everything that its console showed.
    pub console: String,
    /// Files that it was to bring back and had, by path.
    pub outputs: BTreeMap<String, Vec<u8>>,
    /// Modules that its kernel did not take.
    pub refused: Vec<String>,
    /// From its start to its first process.
    pub boot: Duration,
    /// From its start to its end.
    pub elapsed: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_absolute() {
        let guest = |path: &str| Guest { files: vec![File::text(path, "")], ..Guest::default() };
        assert!(guest("/a/b").check().is_ok());
        for path in ["", "a", "/", "/a/", "/a/../b", "/a\nb"] {
            assert!(guest(path).check().is_err(), "{path:?}");
            let outputs = vec![path.to_owned()];
            assert!(Guest { outputs, ..Guest::default() }.check().is_err(), "{path:?}");
        }
    }
}
