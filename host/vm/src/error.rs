//! What can go wrong between a mirror and a guest's exit code, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why there is no guest, or no result of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The guest runs this machine's programs, which must be x86-64.
    #[error("this machine is {0}, and the guest is x86-64")]
    Architecture(&'static str),
    /// No Debian, or none with a mirror of its own.
    #[error("{apt} names no Debian mirror for {codename}")]
    NoMirror {
        /// Where apt's sources are.
        apt: String,
        /// Release of this machine.
        codename: String,
    },
    /// The keys of Debian's archive.
    #[error("there is no {0}, so nothing from a mirror can be verified")]
    NoKeyring(PathBuf),
    /// A program is missing.
    #[error("{0} is not installed")]
    NoProgram(String),
    /// The mirror, or the way to it.
    #[error("failed to fetch {what} from {mirror}")]
    Fetch {
        /// What was wanted.
        what: String,
        /// From where.
        mirror: String,
        /// What apt said.
        source: Box<Error>,
    },
    /// No such kernel on the mirror.
    #[error("the mirror has no kernel {wanted}; it has {}", available.join(", "))]
    NoKernel {
        /// Which.
        wanted: String,
        /// Versions that it has.
        available: Vec<String>,
    },
    /// Not a version.
    #[error("{0:?} is no kernel: 6.12, 6.12.117, 7.3-generic")]
    KernelName(String),
    /// A kernel without a module.
    #[error("kernel {kernel} has no module {module}")]
    NoModule {
        /// Its release.
        kernel: String,
        /// The module.
        module: String,
    },
    /// A program that did not do what it was asked.
    #[error("{what} failed ({status}): {said}")]
    Failed {
        /// What it was asked.
        what: String,
        /// How it ended.
        status: String,
        /// Its last words.
        said: String,
    },
    /// Something took too long.
    #[error("{what} took longer than {} s; the last that was heard: {said}", limit.as_secs())]
    TooLong {
        /// What.
        what: String,
        /// Its bound.
        limit: Duration,
        /// Last lines of it.
        said: String,
    },
    /// The guest went before its command had ended.
    #[error("the guest ended before its command did ({status}); its last words: {said}")]
    GuestLost {
        /// How QEMU ended.
        status: String,
        /// End of the console, and of what QEMU said.
        said: String,
    },
    /// A path that a guest cannot have.
    #[error("{0:?} is no absolute path without '..' or line breaks")]
    GuestPath(String),
    /// What came over the second serial line makes no sense.
    #[error("the guest's results are damaged: {0}")]
    Results(String),
    /// A file of this machine.
    #[error("failed to {what} {path}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Error {
    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::Architecture(_) => "run it on an x86-64 machine".into(),
            Self::NoMirror { .. } => "QEMU and the kernel come from Debian's packages: run it on \
                                      Debian, with a source for its release under /etc/apt"
                .into(),
            Self::NoKeyring(_) => "apt-get install debian-archive-keyring".into(),
            Self::NoProgram(program) => match program.as_str() {
                "apt-get" | "apt-cache" | "dpkg" => {
                    "QEMU and the kernel come from Debian's packages: run it on Debian".into()
                }
                other => format!("apt-get install {other}"),
            },
            Self::Fetch { .. } => "once everything is in the cache, no mirror is needed; until \
                                   then this machine's own must be reachable: apt-get update"
                .into(),
            Self::NoKernel { .. } => "take one of these, as in --kernel 6.12".into(),
            Self::KernelName(_) => "the version, as far as it matters, and cloud (the default) or \
                                    generic"
                .into(),
            Self::NoModule { .. } => "the generic kernel has more than the cloud one: \
                                      --kernel 6.12-generic"
                .into(),
            Self::TooLong { .. } => "a busy machine may need it again, or a larger limit".into(),
            Self::Io { .. } => "the cache must be writable and have room: GROOVE_CACHE names \
                                another place for it"
                .into(),
            Self::Failed { .. } | Self::GuestLost { .. } => {
                "its own words are above; a damaged cache can be removed, it is made again".into()
            }
            Self::GuestPath(_) | Self::Results(_) => {
                "this is a fault of Groove: please report it".into()
            }
        }
    }

    /// Whether it is about this machine or the way to the mirror, and not about the guest: what a
    /// test may skip itself for.
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::Architecture(_)
                | Self::NoMirror { .. }
                | Self::NoKeyring(_)
                | Self::NoProgram(_)
                | Self::Fetch { .. }
        )
    }
}

/// Makes an [`Error::Io`] of the kernel's answer about a path.
pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
    let path = path.into();
    move |source| Error::Io { what, path, source }
}

/// The lines of a text that say most, for an error: from where a kernel gave up, else the last.
pub(crate) fn last_words(text: &str) -> String {
    const LINES_MAX: usize = 12;
    let clean = text.replace('\r', "");
    let lines: Vec<&str> = clean.lines().filter(|line| !line.trim().is_empty()).collect();
    let gave_up = |line: &&str| line.contains("Kernel panic") || line.contains("BUG: ");
    let skip = lines.iter().position(gave_up);
    let skip = skip.unwrap_or(lines.len().saturating_sub(LINES_MAX));
    match lines.len() {
        0 => "nothing".into(),
        _ => lines[skip..].iter().take(LINES_MAX).copied().collect::<Vec<_>>().join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_say_most_are_kept() {
        assert_eq!(last_words(" \n\r\n"), "nothing");
        let many: String = (0..20).map(|n| format!("{n}\r\n")).collect();
        assert!(last_words(&many).starts_with("8\n") && last_words(&many).ends_with("\n19"));
        let panic = format!("a\n[1.0] Kernel panic - not syncing: x\n{many}");
        assert!(last_words(&panic).starts_with("[1.0] Kernel panic - not syncing: x\n0\n"));
        assert!(last_words(&panic).ends_with("\n10"));
    }
}
