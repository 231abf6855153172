//! The file of a function, out of the process that drives it: for a look at its registers.
//!
//!   /proc/*/fd ──► who holds the function's file, or its group's ──► pidfd_getfd ──► pread
//!
//! Kernels with `CONFIG_IO_STRICT_DEVMEM`, as Debian's, let nobody map what a driver uses. Its own
//! file can be shared by who may trace it, which is root and mostly its own user. A read by the
//! file is the kernel's: where memory space is off it is an error, never a fault.
//! Follows: `pidfd_getfd(2)`; `include/uapi/linux/vfio.h` (`VFIO_DEVICE_GET_REGION_INFO`).
//! Invariants: a file is taken only if it can be no other function's (`holders_are_found`); nothing
//! but `pread` is done with it (`a_borrowed_file_is_read`).

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::{Errno, pread};
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::Error;
use crate::device::check_access;
use crate::identify::REGISTERS;

/// `VFIO_DEVICE_GET_REGION_INFO`.
const REGION_INFO: Opcode = opcode::none(b';', 108);
/// What the kernel calls the file of a function that came from its group.
const FUNCTION: &str = "anon_inode:[vfio-device]";

/// A process and the number of its file.
pub type Holder = (i32, i32);

/// BAR 0 of a function, by its driver's file.
#[derive(Debug)]
pub struct Borrowed {
    file: OwnedFd,
    offset: u64,
    bytes: u64,
}

impl Borrowed {
    /// Shares the file.
    pub fn open((process, number): Holder) -> io::Result<Self> {
        let process = Pid::from_raw(process).ok_or(Errno::SRCH)?;
        let process = pidfd_open(process, PidfdFlags::empty())?;
        let file = pidfd_getfd(process, number, PidfdGetfdFlags::empty())?;
        // Its number may stand for something else by now.
        let name = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        if name != Path::new(FUNCTION) && !name.starts_with("/dev/vfio/devices") {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no function's file any more"));
        }
        // argsz, flags, index of the region, capabilities, size, offset.
        let mut info = [32u32, 0, 0, 0, 0, 0, 0, 0];
        // SAFETY: the file is a function's of VFIO, as was seen above. VFIO_DEVICE_GET_REGION_INFO
        // reads and writes no more bytes than the first word says, which are those of `info`.
        unsafe { ioctl(&file, Updater::<REGION_INFO, _>::new(&mut info)) }?;
        let wide = |at: usize| u64::from(info[at]) | u64::from(info[at + 1]) << 32;
        Ok(Self { file, bytes: wide(4), offset: wide(6) })
    }

    /// Reads a register.
    pub fn read32(&self, offset: u64) -> Result<u32, Error> {
        check_access(REGISTERS, offset, self.bytes)?;
        let mut word = [0; 4];
        match pread(&self.file, &mut word, self.offset + offset) {
            Ok(4) => Ok(u32::from_le_bytes(word)),
            Ok(_) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            // The function's memory space is off, or it is gone.
            Err(Errno::IO) => Err(Error::Gone),
            Err(errno) => Err(io::Error::from(errno).into()),
        }
    }
}

/// Who holds a function by its own file, or by its group's: then the process has to have one
/// function alone. `None`: nobody, or it cannot be told. `proc` is `/proc`, but for tests.
pub fn holder(proc: &Path, group: Option<&Path>, function: Option<&Path>) -> Option<Holder> {
    let processes = fs::read_dir(proc).ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        Some((path.file_name()?.to_str()?.parse().ok()?, path.join("fd")))
    });
    let mut found = processes.filter_map(|(process, files)| {
        let files: Vec<(i32, PathBuf)> = fs::read_dir(files)
            .ok()?
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let number = path.file_name()?.to_str()?.parse().ok()?;
                Some((number, fs::read_link(path).ok()?))
            })
            .collect();
        let is = |to: &PathBuf, wanted: Option<&Path>| wanted == Some(to.as_path());
        if let Some((number, _)) = files.iter().find(|(_, to)| is(to, function)) {
            return Some((process, *number));
        }
        files.iter().find(|(_, to)| is(to, group))?;
        let mut functions = files.iter().filter(|(_, to)| is(to, Some(Path::new(FUNCTION))));
        let (number, _) = functions.next()?;
        functions.next().is_none().then_some((process, *number))
    });
    found.next().filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn holders_are_found() {
        let root = tempfile::tempdir().unwrap();
        let file = |process: &str, number: &str, to: &str| {
            let files = root.path().join(process).join("fd");
            fs::create_dir_all(&files).unwrap();
            symlink(to, files.join(number)).unwrap();
        };
        let (group, own) = (Path::new("/dev/vfio/7"), Path::new("/dev/vfio/devices/vfio2"));
        let holder = || holder(root.path(), Some(group), Some(own));
        fs::create_dir(root.path().join("self")).unwrap();
        file("1", "3", "/dev/null");
        file("1", "4", FUNCTION);
        assert_eq!(holder(), None, "of another group");
        file("20", "3", "/dev/vfio/7");
        assert_eq!(holder(), None, "the function is not open");
        file("20", "9", FUNCTION);
        assert_eq!(holder(), Some((20, 9)));
        file("20", "10", FUNCTION);
        assert_eq!(holder(), None, "which of the two?");
        file("20", "11", "/dev/vfio/devices/vfio2");
        assert_eq!(holder(), Some((20, 11)), "the file says so by itself");
        file("21", "5", "/dev/vfio/devices/vfio2");
        assert_eq!(holder(), None, "which of the two?");
        assert_eq!(super::holder(Path::new("/nonexistent"), None, None), None);
    }

    #[test]
    fn a_borrowed_file_is_read() {
        let file = rustix::fs::memfd_create("bar", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&file, &[0, 0, 0, 0, 1, 2, 3, 4, 5]).unwrap();
        let process = std::process::id() as i32;
        // Shared, and then it is seen that it is none of VFIO's; or not shared, as in a container.
        let refused = Borrowed::open((process, file.as_raw_fd())).unwrap_err();
        let is_kept = matches!(Errno::from_io_error(&refused), Some(Errno::PERM | Errno::NOSYS));
        assert!(is_kept || refused.to_string().contains("no function's file"), "{refused}");
        let borrowed = Borrowed { file, offset: 4, bytes: 16 };
        assert_eq!(borrowed.read32(0).unwrap(), 0x0403_0201);
        assert!(matches!(borrowed.read32(4), Err(Error::Io(_))), "the file is shorter");
        for offset in [2, 16, u64::MAX] {
            assert!(matches!(borrowed.read32(offset), Err(Error::OutOfRange { .. })), "{offset}");
        }
    }
}
