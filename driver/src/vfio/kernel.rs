//! The real kernel: `vfio-ioctls` over an iommufd, or over container and group.
//!
//! `vfio-ioctls` gives no errno for some calls. It is read from the thread right behind the call,
//! before anything else can change it.
//! Not here: anything that a test can see without a kernel that has VFIO (`vfio`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd};
use std::path::PathBuf;
use std::sync::Arc;

use iommufd_ioctls::{IommuFd, IommufdError};
use rustix::ioctl::{NoArg, Opcode, ioctl, opcode};
use vfio_ioctls::{VfioContainer, VfioDevice, VfioError, VfioIommufd, VfioOps};
use vmm_sys_util::eventfd::EventFd;

use super::sysfs::{Function, Sysfs};
use super::way::{self, Way};
use super::{Kernel, OpenError, Window};
use crate::{Interrupt, abi};

/// `VFIO_DEVICE_RESET`.
const RESET: Opcode = opcode::none(b';', 111);

/// A function, and the memory that it may reach.
pub struct Vfio {
    // Closed before the container, or the I/O address space.
    device: VfioDevice,
    memory: Arc<dyn VfioOps>,
}

/// The error of a call of `vfio-ioctls` that was the last thing that this thread did.
fn error(error: VfioError) -> io::Error {
    let last = io::Error::last_os_error();
    match error {
        VfioError::OpenContainer(e)
        | VfioError::OpenGroup(e, _)
        | VfioError::OpenDeviceCdev(e)
        | VfioError::NewVfioIommufd(IommufdError::OpenIommufd(e)) => e,
        VfioError::ContainerSetIOMMU(e)
        | VfioError::GroupGetDeviceFD(e)
        | VfioError::VfioDeviceBindIommufd(e)
        | VfioError::VfioDeviceAttachIommufdPt(e)
        | VfioError::VfioDeviceGetInfo(e)
        | VfioError::VfioDeviceGetRegionInfo(e)
        | VfioError::IommuDmaMap(e)
        | VfioError::IommuDmaUnmap(e)
        | VfioError::NewVfioIommufd(IommufdError::IommuIoasAlloc(e))
        | VfioError::IommufdIoctlError(
            IommufdError::IommuIoasMap(e) | IommufdError::IommuIoasUnmap(e),
        ) => io::Error::from_raw_os_error(e.errno()),
        VfioError::GetGroupStatus
        | VfioError::GroupSetContainer
        | VfioError::VfioDeviceGetIrqInfo
        | VfioError::VfioDeviceEnableIrq
        | VfioError::VfioDeviceDisableIrq => last,
        other => io::Error::other(other.to_string()),
    }
}

fn open_error(e: VfioError, sysfs: &Sysfs, function: &Function, way: &Way) -> OpenError {
    let group = function.group.unwrap_or_default();
    let file = |path: PathBuf, e| OpenError::File { path, source: error(e) };
    let step = match (&e, way) {
        (VfioError::OpenContainer(_), _) => return file(sysfs.dev().join("vfio/vfio"), e),
        (VfioError::OpenGroup(..), _) => return file(sysfs.group_file(group), e),
        (VfioError::NewVfioIommufd(IommufdError::OpenIommufd(_)), _) => {
            return file(sysfs.dev().join("iommu"), e);
        }
        (VfioError::OpenDeviceCdev(_), Way::Iommufd { device }) => return file(device.clone(), e),
        (VfioError::GroupViable, _) => {
            let others = sysfs.blocking(group, function.bdf);
            let others = others.into_iter().map(|f| f.bdf.to_string()).collect();
            return OpenError::NotViable { bdf: function.bdf, group, others };
        }
        (VfioError::GroupSetContainer, _) => "join the function's group to a container",
        (VfioError::ContainerSetIOMMU(_), _) => "set the container's IOMMU to type 1",
        (VfioError::GroupGetDeviceFD(_), _) => "take the function from its group",
        (VfioError::NewVfioIommufd(_), _) => "make an I/O address space",
        (VfioError::VfioDeviceBindIommufd(_), _) => "bind the function to iommufd",
        (VfioError::VfioDeviceAttachIommufdPt(_), _) => {
            "attach the function to its I/O address space"
        }
        _ => "read what the function has",
    };
    OpenError::Step { step, source: error(e) }
}

impl Vfio {
    /// Opens a function that `Sysfs::check` let through.
    pub fn open(sysfs: &Sysfs, function: &Function) -> Result<Self, OpenError> {
        way::open(&way::ways(sysfs, function), |way| {
            let memory = Self::memory(way);
            let device = memory.and_then(|memory| {
                let path = sysfs.directory(function.bdf);
                let device = VfioDevice::new(&path, Arc::clone(&memory), true)?;
                Ok(Self { device, memory })
            });
            device.map_err(|e| open_error(e, sysfs, function, way))
        })
    }

    fn memory(way: &Way) -> Result<Arc<dyn VfioOps>, VfioError> {
        Ok(match way {
            Way::Group => Arc::new(VfioContainer::new(None)?),
            Way::Iommufd { .. } => {
                let iommufd = IommuFd::new().map_err(VfioError::NewVfioIommufd)?;
                Arc::new(VfioIommufd::new(Arc::new(iommufd), None, None)?)
            }
        })
    }
}

/// The event file as `vfio-ioctls` wants it; the kernel keeps it open by itself.
fn copy(interrupt: &Interrupt) -> io::Result<EventFd> {
    let file = interrupt.file().try_clone_to_owned()?;
    // SAFETY: `into_raw_fd` gives up what `EventFd` takes over; it is an event file.
    Ok(unsafe { EventFd::from_raw_fd(file.into_raw_fd()) })
}

impl Kernel for Vfio {
    fn file(&self) -> BorrowedFd<'_> {
        // SAFETY: `device` has the file open as long as `self` lives, which the result borrows.
        unsafe { BorrowedFd::borrow_raw(self.device.as_raw_fd()) }
    }

    fn window(&self, index: u32) -> Window {
        Window {
            offset: self.device.get_region_offset(index),
            bytes: self.device.get_region_size(index),
            can_be_mapped: self.device.get_region_flags(index) & abi::REGION_MMAP != 0,
        }
    }

    fn vectors(&self) -> usize {
        self.device.get_irq_info(abi::MSIX).map_or(0, |irq| irq.count as usize)
    }

    fn can_reset(&self) -> bool {
        // `VfioDevice` keeps the flag to itself; the call that it hides is the same one.
        self.reset().is_ok()
    }

    // SAFETY: the trait says what the caller keeps to.
    unsafe fn dma_map(&self, iova: u64, address: usize, bytes: usize) -> io::Result<()> {
        let address = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the caller keeps the memory mapped, and accesses it atomically.
        unsafe { self.memory.vfio_dma_map(iova, bytes, address) }.map_err(error)
    }

    fn dma_unmap(&self, iova: u64, bytes: usize) -> io::Result<()> {
        self.memory.vfio_dma_unmap(iova, bytes).map_err(error)
    }

    fn set_vectors(&self, interrupts: &[Arc<Interrupt>]) -> io::Result<()> {
        if interrupts.is_empty() {
            return match self.device.disable_irq(abi::MSIX) {
                // No vectors at all: there is nothing to switch off.
                Err(_) if self.vectors() == 0 => Ok(()),
                done => done.map_err(error),
            };
        }
        let files = interrupts.iter().map(|i| copy(i)).collect::<io::Result<Vec<_>>>()?;
        self.device.enable_irq(abi::MSIX, files.iter().collect()).map_err(error)
    }

    fn set_alarm(&self, index: u32, interrupt: &Interrupt) -> io::Result<bool> {
        if self.device.get_irq_info(index).is_none_or(|irq| irq.count == 0) {
            return Ok(false);
        }
        self.device.enable_irq(index, vec![&copy(interrupt)?]).map_err(error)?;
        Ok(true)
    }

    fn reset(&self) -> io::Result<()> {
        // SAFETY: VFIO_DEVICE_RESET has no argument and touches no memory of this process.
        unsafe { Ok(ioctl(self.file(), NoArg::<RESET>::new())?) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vmm_sys_util::errno::Error as SysError;

    /// What iommufd refuses is told as what a container refuses.
    #[test]
    fn refusals_of_both_ways_keep_their_errno() {
        let sysfs = Sysfs::at("/nonexistent", "/nonexistent/dev");
        let function = Function {
            bdf: "3b:00.0".parse().unwrap(),
            vendor: 0,
            device: 0,
            class: 0,
            driver: None,
            driver_override: None,
            group: Some(7),
            link: None,
            interfaces: Vec::new(),
            resets: String::new(),
        };
        let device = PathBuf::from("/nonexistent/dev/vfio/devices/vfio0");
        let way = Way::Iommufd { device };
        let io = |errno| io::Error::from_raw_os_error(errno);
        let files = [
            (VfioError::OpenDeviceCdev(io(13)), "vfio/devices/vfio0"),
            (VfioError::NewVfioIommufd(IommufdError::OpenIommufd(io(13))), "iommu"),
            (VfioError::OpenContainer(io(13)), "vfio/vfio"),
            (VfioError::OpenGroup(io(13), "7".into()), "vfio/7"),
        ];
        for (e, path) in files {
            let error = open_error(e, &sysfs, &function, &way);
            assert_eq!(error.to_string(), format!("failed to open /nonexistent/dev/{path}"));
            assert!(error.help().contains("chown $USER /nonexistent/dev/"), "{}", error.help());
        }
        let steps = [
            VfioError::VfioDeviceBindIommufd(SysError::new(1)),
            VfioError::VfioDeviceAttachIommufdPt(SysError::new(1)),
            VfioError::ContainerSetIOMMU(SysError::new(1)),
        ];
        for e in steps {
            let error = open_error(e, &sysfs, &function, &way);
            assert!(matches!(error, OpenError::Step { .. }), "{error}");
            assert!(error.help().contains("interrupt remapping"), "{error}: {}", error.help());
        }
        let map = IommufdError::IommuIoasMap(SysError::new(12));
        for e in [VfioError::IommufdIoctlError(map), VfioError::IommuDmaMap(SysError::new(12))] {
            let help = crate::vfio::open_error::mapping_help(&error(e)).unwrap();
            assert!(help.contains("ulimit -l"), "{help}");
        }
    }
}
