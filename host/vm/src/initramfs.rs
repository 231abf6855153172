//! The guest's file system: busybox, the first process, modules, programs, files.

use std::fs;
use std::path::Path;

use crate::cpio::Archive;
use crate::error::io;
use crate::guest::Content;
use crate::{Error, Guest};

/// The first process.
const INIT: &str = include_str!("init.sh");
const PROGRAM: u32 = 0o755;
const TEXT: u32 = 0o644;

/// Packs it. `modules` are in the order in which they load.
pub fn pack(
    guest: &Guest,
    busybox: &Path,
    modules: &[(String, Vec<u8>)],
) -> Result<Vec<u8>, Error> {
    guest.check()?;
    let read = |path: &Path| fs::read(path).map_err(io("read", path));
    let mut archive = Archive::default();
    for directory in ["bin", "dev", "proc", "sys", "tmp", "guest/modules"] {
        archive.directory(directory);
    }
    // The kernel opens it before there is any other device.
    archive.character("/dev/console", (5, 1));
    archive.file("/init", PROGRAM, INIT.as_bytes());
    archive.file("/bin/busybox", PROGRAM, &read(busybox)?);
    let lines = |all: &mut dyn Iterator<Item = String>| all.map(|l| l + "\n").collect::<String>();
    let names = lines(&mut modules.iter().map(|(name, _)| format!("{name}.ko")));
    archive.file("/guest/modules.list", TEXT, names.as_bytes());
    for (name, content) in modules {
        archive.file(&format!("/guest/modules/{name}.ko"), TEXT, content);
    }
    archive.file("/guest/command", TEXT, guest.command.as_bytes());
    let outputs = lines(&mut guest.outputs.iter().cloned());
    archive.file("/guest/outputs", TEXT, outputs.as_bytes());
    let mut libraries: Vec<_> = guest.programs.iter().flat_map(|(_, p)| &p.libraries).collect();
    libraries.sort();
    libraries.dedup();
    for (file, path) in libraries {
        archive.file(path, PROGRAM, &read(file)?);
    }
    for (name, program) in &guest.programs {
        archive.file(&format!("/bin/{name}"), PROGRAM, &program.stripped()?);
    }
    for file in &guest.files {
        match &file.content {
            Content::Of(path) => archive.file(&file.path, PROGRAM, &read(path)?),
            Content::Bytes(bytes) => archive.file(&file.path, PROGRAM, bytes),
        }
    }
    Ok(archive.finish())
}
