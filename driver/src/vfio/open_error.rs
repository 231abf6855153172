//! Why a PCI function cannot be driven over the kernel, and what to do about it.
//!
//! Invariant: every reason has a cure (`each_obstacle_is_named_with_its_cure`,
//! `each_errno_has_its_cure`).

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use super::sysfs::Bdf;

/// Why a function was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is there.
    #[error("there is no PCI function {0}")]
    Absent(Bdf),
    /// The kernel has no IOMMU for it.
    #[error("{0} is in no IOMMU group: the kernel has no IOMMU for it")]
    NoIommu(Bdf),
    /// Another driver has it, or none.
    #[error("{bdf} is bound to {}", driver.as_deref().unwrap_or("no driver"))]
    Bound {
        /// The function.
        bdf: Bdf,
        /// Its driver.
        driver: Option<String>,
    },
    /// Others of its group are with the kernel.
    #[error("IOMMU group {group} of {bdf} is not viable: the kernel drives {}", others.join(", "))]
    NotViable {
        /// The function.
        bdf: Bdf,
        /// Its group.
        group: u32,
        /// Address and driver of the others.
        others: Vec<String>,
    },
    /// No VFIO.
    #[error("there is no {}: the kernel's VFIO modules are not loaded", .0.display())]
    NoVfio(PathBuf),
    /// A file of VFIO cannot be opened.
    #[error("failed to open {}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A step of the set-up failed.
    #[error("failed to {step}")]
    Step {
        /// What was being done.
        step: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The function is not as Groove's are.
    #[error("{bdf}: {what}")]
    Unfit {
        /// The function.
        bdf: Bdf,
        /// What is missing.
        what: &'static str,
    },
}

impl OpenError {
    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::Absent(_) => "`groove devices` lists the functions of this machine".into(),
            Self::NoIommu(_) => "switch VT-d or AMD-Vi on in the firmware, and boot with \
                                 intel_iommu=on (Intel); in QEMU add an intel-iommu device"
                .into(),
            Self::Bound { bdf, .. } => format!("hand it to user space: groove bind {bdf}"),
            Self::NotViable { others, .. } => {
                let bdf = others.first().and_then(|o| o.split(' ').next()).unwrap_or_default();
                format!("all of a group go together: groove bind {bdf}, or use another slot")
            }
            Self::NoVfio(_) => "load them: modprobe vfio-pci".into(),
            Self::File { path, source } => match errno(source) {
                Some(Errno::ACCESS | Errno::PERM) => {
                    format!("run as root, or make it yours: chown $USER {}", path.display())
                }
                Some(Errno::BUSY) => "another process drives this function: end it first".into(),
                Some(Errno::NOENT) => "load the modules, and bind the function again: modprobe \
                                       vfio-pci, groove bind"
                    .into(),
                _ => "see the kernel's log: dmesg".into(),
            },
            Self::Step { source, .. } => match errno(source) {
                Some(Errno::PERM) => "the platform cannot remap interrupts: switch interrupt \
                                      remapping on in the firmware (QEMU: intremap=on)"
                    .into(),
                Some(Errno::BUSY) => "another process drives this function: end it first".into(),
                Some(Errno::NOMEM) => MEMLOCK.into(),
                _ => "see the kernel's log: dmesg".into(),
            },
            Self::Unfit { .. } => "check that this is a Groove card, with a bitstream of this \
                                   version: groove devices"
                .into(),
        }
    }
}

const MEMLOCK: &str = "raise the limit of locked memory (ulimit -l unlimited, or LimitMEMLOCK= of \
                       the service), or use fewer or smaller buffers";

/// What to do when DMA memory was not mapped.
pub fn mapping_help(source: &io::Error) -> Option<&'static str> {
    Some(match errno(source)? {
        Errno::NOMEM => MEMLOCK,
        Errno::EXIST => "the range is mapped already: this is a fault of the driver",
        Errno::NOSPC => {
            "too many mappings: use huge pages or fewer queues, or raise \
                         dma_entry_limit of the module vfio_iommu_type1"
        }
        Errno::INVAL => "the IOMMU does not reach this address, or the size is no whole page",
        _ => return None,
    })
}

fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_errno_has_its_cure() {
        let bdf: Bdf = "3b:00.0".parse().unwrap();
        let file = |errno: Errno| {
            OpenError::File { path: "/dev/vfio/7".into(), source: errno.into() }.help()
        };
        assert!(file(Errno::ACCESS).contains("chown $USER /dev/vfio/7"));
        assert!(file(Errno::BUSY).contains("another process"));
        assert!(file(Errno::NOENT).contains("modprobe vfio-pci"));
        let step = |errno: Errno| {
            OpenError::Step { step: "set the IOMMU's type", source: errno.into() }.help()
        };
        assert!(step(Errno::PERM).contains("interrupt remapping"));
        assert!(step(Errno::NOMEM).contains("ulimit -l"));
        assert!(
            OpenError::Bound { bdf, driver: None }.help().ends_with("groove bind 0000:3b:00.0")
        );
        let map = |errno: Errno| mapping_help(&errno.into());
        assert!(map(Errno::NOMEM).unwrap().contains("ulimit -l"));
        assert!(map(Errno::NOSPC).unwrap().contains("dma_entry_limit"));
        assert_eq!(map(Errno::IO), None);
    }

    #[test]
    fn errors_carry_the_errno() {
        let error = OpenError::Step { step: "set the IOMMU's type", source: Errno::PERM.into() };
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(source, "Operation not permitted (os error 1)");
    }
}
