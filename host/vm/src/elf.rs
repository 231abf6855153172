//! A program of this machine, with all that it needs elsewhere: itself if it is static, else also
//! its loader and libraries.
//!
//!   file ──► program headers ──► loader? ── no ──► static
//!                                  └─ yes ──► loader --list ──► libraries
//!
//! Follows: ELF-64, `PT_INTERP`; ld.so(8), `--list`.
//! Invariants: no file makes it panic (`no_file_makes_it_panic`).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;
use crate::error::io;
use crate::process::{self, Call};

const PT_INTERP: u32 = 3;
const LIMIT: Duration = Duration::from_secs(60);
/// Where Debian's loader looks without being told.
const LIBRARIES: &str = "/lib/x86_64-linux-gnu";

/// A program and what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file.
    pub file: PathBuf,
    /// Loader and libraries: file here, path in the guest. None if it is static.
    pub libraries: Vec<(PathBuf, String)>,
}

impl Program {
    /// Looks at a program.
    ///
    /// # Errors
    /// If it cannot be read, or its loader does not know its libraries.
    pub fn of(file: &Path) -> Result<Self, Error> {
        let bytes = fs::read(file).map_err(io("read", file))?;
        let Some(loader) = interpreter(&bytes) else {
            return Ok(Self { file: file.into(), libraries: Vec::new() });
        };
        let call = Call {
            what: "ld.so --list",
            program: Path::new(&loader),
            directory: Path::new("/"),
            variables: &[],
            limit: LIMIT,
        };
        let list = process::run(&call, &["--list".as_ref(), file.as_os_str()])?;
        let mut libraries = listed(&String::from_utf8_lossy(&list));
        libraries.push((PathBuf::from(&loader), loader));
        Ok(Self { file: file.into(), libraries })
    }

    /// Whether it needs nothing else.
    pub fn is_static(&self) -> bool {
        self.libraries.is_empty()
    }

    /// Its bytes, without what only debuggers read if `strip` is installed.
    pub fn stripped(&self) -> Result<Vec<u8>, Error> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let plain = || fs::read(&self.file).map_err(io("read", &self.file));
        let Ok(strip) = process::find(&path, "strip") else { return plain() };
        let directory = tempfile::tempdir().map_err(io("create", std::env::temp_dir()))?;
        let out = directory.path().join("out");
        let args: [OsString; 3] = ["-o".into(), out.clone().into(), self.file.clone().into()];
        let call = Call {
            what: "strip",
            program: &strip,
            directory: Path::new("/"),
            variables: &[],
            limit: LIMIT,
        };
        match process::run(&call, &args) {
            Ok(_) => fs::read(&out).map_err(io("read", &out)),
            Err(_) => plain(),
        }
    }
}

/// The loader that a program names.
fn interpreter(elf: &[u8]) -> Option<String> {
    let bytes = |at: u64, count: usize| {
        let at = usize::try_from(at).ok()?;
        elf.get(at..at.checked_add(count)?)
    };
    let number = |at: u64, count: usize| {
        let mut all = [0; 8];
        all[..count].copy_from_slice(bytes(at, count)?);
        Some(u64::from_le_bytes(all))
    };
    // Class 64, little-endian.
    (bytes(0, 6)? == b"\x7fELF\x02\x01").then_some(())?;
    let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let header = (0..count)
        .map_while(|i| start.checked_add(i * size))
        .find(|header| number(*header, 4) == Some(PT_INTERP.into()))?;
    let text = bytes(number(header + 8, 8)?, usize::try_from(number(header + 32, 8)?).ok()?)?;
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    String::from_utf8(text.to_vec()).ok()
}

/// Libraries in the loader's list: `NAME => FILE (ADDRESS)`.
fn listed(list: &str) -> Vec<(PathBuf, String)> {
    let line = |line: &str| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let (file, _) = rest.rsplit_once(" (")?;
        Some((PathBuf::from(file), format!("{LIBRARIES}/{name}")))
    };
    list.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_this_test_are_found() {
        let program = Program::of(&std::env::current_exe().unwrap()).unwrap();
        assert!(!program.is_static());
        let has = |name| program.libraries.iter().any(|(_, guest)| guest.contains(name));
        assert!(has("libc.so.6") && has("ld-linux"), "{program:?}");
        assert!(program.libraries.iter().all(|(file, _)| file.is_file()));
        assert!(program.stripped().unwrap().starts_with(b"\x7fELF"));
    }

    #[test]
    fn what_the_loader_lists_is_read() {
        let list = "\tlinux-vdso.so.1 (0x7ff)\n\tlibm.so.6 => /lib/x/libm.so.6 (0x7f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x7f)\n\tlibq.so => not found\n";
        assert_eq!(listed(list), [("/lib/x/libm.so.6".into(), format!("{LIBRARIES}/libm.so.6"))]);
    }

    #[test]
    fn no_file_makes_it_panic() {
        let elf = fs::read(std::env::current_exe().unwrap()).unwrap();
        for length in 0..200 {
            let mut head = elf[..length].to_vec();
            interpreter(&head);
            if let Some(last) = head.last_mut() {
                *last = 0xff;
            }
            interpreter(&head);
        }
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
    }
}
