//! Ways to a function through the kernel's VFIO: its own file with an iommufd, or its group's file
//! with a type 1 container. The first is taken where the kernel offers it and this process may.
//!
//!   iommufd: /dev/iommu + /dev/vfio/devices/vfioN     ─┐ cannot be opened by this process
//!   group:   /dev/vfio/vfio + /dev/vfio/GROUP        ◄─┘
//!
//! Follows: `Documentation/driver-api/vfio.rst` ("VFIO Device cdev") of Linux 6.12.
//! Invariants: a way that cannot be opened gives way to the next, any other refusal is told
//! (`the_next_way_is_taken`); only what the kernel shows is tried (`ways_are_found`).

use std::fs;
use std::path::PathBuf;

use rustix::io::Errno;

use super::open_error::OpenError;
use super::sysfs::{Function, Sysfs};

/// A way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Device file and iommufd.
    Iommufd {
        /// The function's file.
        device: PathBuf,
    },
    /// Group file and container.
    Group,
}

/// The ways that the kernel offers, the better one first.
pub fn ways(sysfs: &Sysfs, function: &Function) -> Vec<Way> {
    let mut ways = Vec::new();
    let device = device_file(sysfs, function).filter(|device| device.exists());
    if let Some(device) = device.filter(|_| sysfs.dev().join("iommu").exists()) {
        ways.push(Way::Iommufd { device });
    }
    if sysfs.dev().join("vfio/vfio").exists() {
        ways.push(Way::Group);
    }
    ways
}

/// The file of a function by itself, as the kernel names it.
pub fn device_file(sysfs: &Sysfs, function: &Function) -> Option<PathBuf> {
    let entries = fs::read_dir(sysfs.directory(function.bdf).join("vfio-dev")).ok()?;
    let name = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).next()?;
    Some(sysfs.dev().join("vfio/devices").join(name))
}

/// Opens by the first way whose files this process may open. If there is none, the error is that of
/// the first.
pub fn open<T>(
    ways: &[Way],
    mut open: impl FnMut(&Way) -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let mut first = None;
    for (number, way) in ways.iter().enumerate() {
        match open(way) {
            Err(error) if number + 1 < ways.len() && is_closed(&error) => {
                first.get_or_insert(error);
            }
            Err(error) if is_closed(&error) => return Err(first.unwrap_or(error)),
            result => return result,
        }
    }
    Err(first.unwrap_or_else(|| OpenError::NoVfio("/dev/vfio/vfio".into())))
}

/// The file is not for this process, or not really there.
fn is_closed(error: &OpenError) -> bool {
    let OpenError::File { source, .. } = error else { return false };
    let errno = Errno::from_io_error(source);
    let closed = [Errno::ACCESS, Errno::PERM, Errno::NOENT, Errno::NODEV, Errno::NXIO];
    errno.is_some_and(|errno| closed.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_way_is_taken() {
        let device = PathBuf::from("/dev/vfio/devices/vfio0");
        let both = [Way::Iommufd { device: device.clone() }, Way::Group];
        let file = |path: &str, errno: Errno| {
            Err::<&str, _>(OpenError::File { path: path.into(), source: errno.into() })
        };
        let step =
            |errno: Errno| Err::<&str, _>(OpenError::Step { step: "x", source: errno.into() });
        let run = |iommufd: &dyn Fn() -> Result<&'static str, OpenError>,
                   group: &dyn Fn() -> Result<&'static str, OpenError>| {
            let way = |way: &Way| if *way == Way::Group { group() } else { iommufd() };
            open(&both, way).map_err(|error| error.to_string())
        };
        assert_eq!(run(&|| Ok("iommufd"), &|| Ok("group")), Ok("iommufd"));
        for errno in [Errno::ACCESS, Errno::PERM, Errno::NOENT, Errno::NODEV] {
            assert_eq!(run(&|| file("first", errno), &|| Ok("group")), Ok("group"), "{errno}");
        }
        let first = Err("failed to open first".to_owned());
        assert_eq!(run(&|| file("first", Errno::BUSY), &|| Ok("group")), first, "another driver");
        let none = run(&|| file("first", Errno::ACCESS), &|| file("second", Errno::ACCESS));
        assert_eq!(none, first);
        // Whoever may open the group is told what its own way says.
        let group = run(&|| file("first", Errno::ACCESS), &|| step(Errno::PERM));
        assert_eq!(group, Err("failed to x".into()));
        assert_eq!(run(&|| step(Errno::NOMEM), &|| Ok("group")), Err("failed to x".into()));
        assert!(matches!(open(&[], |_| Ok(())), Err(OpenError::NoVfio(_))));
    }
}
