//! The real kernel: `vfio-ioctls` over container, group and device files.
//!
//! `vfio-ioctls` gives no errno for some calls. It is read from the thread right behind the call,
//! before anything else can change it.
//! Not here: anything that a test can see without a kernel that has VFIO (`vfio`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::ioctl::{NoArg, Opcode, ioctl, opcode};
use vfio_ioctls::{VfioContainer, VfioDevice, VfioError, VfioOps};
use vmm_sys_util::eventfd::EventFd;

use super::sysfs::{Function, Sysfs};
use super::{Kernel, OpenError, Window};
use crate::{Interrupt, abi};

/// `VFIO_DEVICE_RESET`.
const RESET: Opcode = opcode::none(b';', 111);

/// A function over container and group.
pub struct Vfio {
    // Closed before the container.
    device: VfioDevice,
    container: Arc<VfioContainer>,
}

/// The error of a call of `vfio-ioctls` that was the last thing that this thread did.
fn error(error: VfioError) -> io::Error {
    let last = io::Error::last_os_error();
    match error {
        VfioError::OpenContainer(e) | VfioError::OpenGroup(e, _) => e,
        VfioError::ContainerSetIOMMU(e)
        | VfioError::GroupGetDeviceFD(e)
        | VfioError::VfioDeviceGetInfo(e)
        | VfioError::VfioDeviceGetRegionInfo(e)
        | VfioError::IommuDmaMap(e)
        | VfioError::IommuDmaUnmap(e) => io::Error::from_raw_os_error(e.errno()),
        VfioError::GetGroupStatus
        | VfioError::GroupSetContainer
        | VfioError::VfioDeviceGetIrqInfo
        | VfioError::VfioDeviceEnableIrq
        | VfioError::VfioDeviceDisableIrq => last,
        other => io::Error::other(other.to_string()),
    }
}

fn open_error(e: VfioError, sysfs: &Sysfs, function: &Function) -> OpenError {
    let group = function.group.unwrap_or_default();
    let step = match &e {
        VfioError::OpenContainer(_) => {
            let path = PathBuf::from("/dev/vfio/vfio");
            return OpenError::File { path, source: error(e) };
        }
        VfioError::OpenGroup(..) => {
            return OpenError::File { path: sysfs.group_file(group), source: error(e) };
        }
        VfioError::GroupViable => {
            let others = sysfs.blocking(group, function.bdf);
            let others = others.into_iter().map(|f| f.bdf.to_string()).collect();
            return OpenError::NotViable { bdf: function.bdf, group, others };
        }
        VfioError::GroupSetContainer => "join the function's group to a container",
        VfioError::ContainerSetIOMMU(_) => "set the container's IOMMU to type 1",
        VfioError::GroupGetDeviceFD(_) => "take the function from its group",
        _ => "read what the function has",
    };
    OpenError::Step { step, source: error(e) }
}

impl Vfio {
    /// Opens a function that `Sysfs::check` let through.
    pub fn open(sysfs: &Sysfs, function: &Function) -> Result<Self, OpenError> {
        let wrap = |e| open_error(e, sysfs, function);
        let container = Arc::new(VfioContainer::new(None).map_err(wrap)?);
        let ops: Arc<dyn VfioOps> = Arc::clone(&container) as Arc<dyn VfioOps>;
        let device = VfioDevice::new(&sysfs.directory(function.bdf), ops, true).map_err(wrap)?;
        Ok(Self { device, container })
    }
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
        unsafe { self.container.vfio_dma_map(iova, bytes, address) }.map_err(error)
    }

    fn dma_unmap(&self, iova: u64, bytes: usize) -> io::Result<()> {
        self.container.vfio_dma_unmap(iova, bytes).map_err(error)
    }

    fn set_vectors(&self, interrupts: &[Arc<Interrupt>]) -> io::Result<()> {
        if interrupts.is_empty() {
            return match self.device.disable_irq(abi::MSIX) {
                // No vectors at all: there is nothing to switch off.
                Err(_) if self.vectors() == 0 => Ok(()),
                done => done.map_err(error),
            };
        }
        let copy = |interrupt: &Arc<Interrupt>| -> io::Result<EventFd> {
            let file = interrupt.file().try_clone_to_owned()?;
            // SAFETY: `into_raw_fd` gives up what `EventFd` takes over; it is an event file.
            Ok(unsafe { EventFd::from_raw_fd(file.into_raw_fd()) })
        };
        let files = interrupts.iter().map(copy).collect::<io::Result<Vec<_>>>()?;
        self.device.enable_irq(abi::MSIX, files.iter().collect()).map_err(error)
    }

    fn reset(&self) -> io::Result<()> {
        // SAFETY: VFIO_DEVICE_RESET has no argument and touches no memory of this process.
        unsafe { Ok(ioctl(self.file(), NoArg::<RESET>::new())?) }
    }
}
