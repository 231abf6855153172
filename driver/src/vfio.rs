//! The kernel's VFIO: a PCI function that the kernel hands to this process, behind its IOMMU.
//!
//!   sysfs ──► check ──► iommufd, or group (type 1) ──► KernelVfio: BARs, DMA, MSI-X, reset
//!
//! Follows: `Documentation/driver-api/vfio.rst`, `include/uapi/linux/vfio.h` of Linux 6.12.
//! The kernel disables bus mastering when it opens a function, and `vfio-ioctls` leaves it so:
//! without it neither DMA nor MSI-X works. It is set at open and behind each reset.
//!
//! Invariants: memory that the kernel still maps is kept alive
//! (`memory_lives_as_long_as_the_kernel_maps_it`); a reset leaves no mapping and no vector, and the
//! function a bus master (`reset_takes_everything_away`); vectors that are off are not switched
//! off, which the kernel refuses (`vectors_are_switched_off_once`); errors of the kernel keep their
//! errno and name a cure (`a_refused_mapping_says_what_to_do`).
//! A function that is pulled out reads as ones from then on, and what is written to it is lost: the
//! kernel leaves the maps of its BARs until this driver has let it go, and asks for that by an
//! event file (`an_alarm_is_an_error`). An access would end the process with SIGBUS only if memory
//! space were switched off, or the function put to sleep, under the map: only this driver can.
//! Not here: PCI functions without VFIO.
#![allow(unsafe_code)] // one of its fixed homes

mod bar;
mod borrow;
mod kernel;
mod open_error;
mod peek;
pub mod sysfs;
mod way;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::{pread, pwrite};

use crate::abi;
use crate::device::check_access;
use crate::{Alarm, Device, DmaMemory, Error, Interrupt, Region};
use bar::Bar;
pub use open_error::OpenError;
use open_error::mapping_help;
pub use peek::{Peek, PeekError};
use sysfs::{Bdf, Sysfs};

/// Where a region of the function is in the device's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Window {
    offset: u64,
    bytes: u64,
    can_be_mapped: bool,
}

/// What the kernel does for one function. The other implementation is the fake of the tests.
trait Kernel: Send + Sync {
    /// The device's file.
    fn file(&self) -> BorrowedFd<'_>;
    /// Where a region is in it.
    fn window(&self, index: u32) -> Window;
    /// MSI-X vectors.
    fn vectors(&self) -> usize;
    /// Whether it can be reset.
    fn can_reset(&self) -> bool;
    /// Maps memory for the function.
    ///
    /// # Safety
    /// From `address` on, `bytes` stay mapped in this process, and are accessed by atomic
    /// operations alone, until `dma_unmap` succeeds for the same range.
    unsafe fn dma_map(&self, iova: u64, address: usize, bytes: usize) -> io::Result<()>;
    /// Takes a mapping away.
    fn dma_unmap(&self, iova: u64, bytes: usize) -> io::Result<()>;
    /// Says what MSI-X signals; nothing switches it off.
    fn set_vectors(&self, interrupts: &[Arc<Interrupt>]) -> io::Result<()>;
    /// Lets the kernel signal what is of the platform (`abi::IRQ_ERROR`, `abi::IRQ_REQUEST`).
    /// `false`: this function has no such signal.
    fn set_alarm(&self, index: u32, interrupt: &Interrupt) -> io::Result<bool>;
    /// Resets the function.
    fn reset(&self) -> io::Result<()>;
}

/// A PCI function bound to `vfio-pci`.
pub struct KernelVfio {
    bars: [Option<Bar>; 6],
    mappings: Mutex<BTreeMap<u64, Arc<DmaMemory>>>,
    /// MSI-X is on. The kernel refuses to switch off what is not.
    signalling: Mutex<bool>,
    alarms: Vec<(Alarm, Arc<Interrupt>)>,
    kernel: Box<dyn Kernel>,
}

impl std::fmt::Debug for KernelVfio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelVfio").finish_non_exhaustive()
    }
}

fn transport(what: impl Into<String>, source: io::Error) -> Error {
    Error::Transport { what: what.into(), help: None, source }
}

impl KernelVfio {
    /// Opens a function that is bound to `vfio-pci`.
    pub fn open(bdf: Bdf) -> Result<Self, OpenError> {
        let sysfs = Sysfs::default();
        let function = sysfs.check(bdf)?;
        let kernel = kernel::Vfio::open(&sysfs, &function)?;
        Self::new(bdf, Box::new(kernel))
    }

    fn new(bdf: Bdf, kernel: Box<dyn Kernel>) -> Result<Self, OpenError> {
        let step = |step| move |source| OpenError::Step { step, source };
        if !kernel.can_reset() {
            let what = "it cannot be reset (no FLR): it could not be left clean";
            return Err(OpenError::Unfit { bdf, what });
        }
        if kernel.window(0).bytes == 0 {
            return Err(OpenError::Unfit { bdf, what: "it has no BAR 0" });
        }
        let mut device = Self {
            bars: Default::default(),
            mappings: Mutex::default(),
            signalling: Mutex::default(),
            alarms: Vec::new(),
            kernel,
        };
        // Before the first access: an access to a function whose memory is disabled is a bus error.
        device.enable().map_err(|error| match error {
            Error::Io(source) | Error::Transport { source, .. } => {
                step("enable memory space and bus mastering")(source)
            }
            _ => OpenError::Unfit { bdf, what: "its configuration space is too small" },
        })?;
        device.set_alarms().map_err(step("listen for errors and requests of the platform"))?;
        for (index, bar) in device.bars.iter_mut().enumerate() {
            let window = device.kernel.window(index as u32);
            if window.bytes > 0 && window.can_be_mapped {
                let region = Region::Bar(index as u8);
                let map = Bar::new(device.kernel.file(), region, window.offset, window.bytes);
                *bar = Some(map.map_err(step("map a BAR"))?);
            }
        }
        Ok(device)
    }

    fn set_alarms(&mut self) -> io::Result<()> {
        for (index, alarm) in [(abi::IRQ_ERROR, Alarm::Fault), (abi::IRQ_REQUEST, Alarm::Release)] {
            let interrupt = Arc::new(Interrupt::new()?);
            if self.kernel.set_alarm(index, &interrupt)? {
                self.alarms.push((alarm, interrupt));
            }
        }
        Ok(())
    }

    fn mappings(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<DmaMemory>>> {
        self.mappings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn window(&self, region: Region) -> Window {
        match region {
            Region::Bar(n @ 0..6) => self.kernel.window(n.into()),
            Region::Bar(_) => Window::default(),
            Region::Config => self.kernel.window(abi::CONFIG_REGION),
        }
    }

    fn bar(&self, region: Region) -> Option<&Bar> {
        match region {
            Region::Bar(n) => self.bars.get(usize::from(n))?.as_ref(),
            Region::Config => None,
        }
    }

    /// Memory space and bus mastering on.
    fn enable(&self) -> Result<(), Error> {
        let word = self.read32(Region::Config, abi::COMMAND_OFFSET)?;
        // The upper half is the status register, whose bits are cleared by writing ones.
        let command = word & 0xffff | abi::COMMAND_MEMORY | abi::COMMAND_MASTER;
        self.write32(Region::Config, abi::COMMAND_OFFSET, command)
    }

    fn unmap(&self, iova: u64, memory: &DmaMemory) -> Result<(), Error> {
        let undone = self.kernel.dma_unmap(iova, whole_pages(memory));
        undone.map_err(|source| transport(format!("failed to unmap IOVA {iova:#x}"), source))
    }
}

/// The kernel maps whole pages; those of the memory end with one.
fn whole_pages(memory: &DmaMemory) -> usize {
    memory.bytes().next_multiple_of(rustix::param::page_size())
}

impl Device for KernelVfio {
    fn region_bytes(&self, region: Region) -> u64 {
        self.window(region).bytes
    }

    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        if let Some(bar) = self.bar(region) {
            return bar.read32(offset);
        }
        let window = self.window(region);
        check_access(region, offset, window.bytes)?;
        let mut bytes = [0; 4];
        match pread(self.kernel.file(), &mut bytes, window.offset + offset) {
            Ok(4) => Ok(u32::from_le_bytes(bytes)),
            Ok(_) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Err(errno) => Err(transport(format!("failed to read {region:?}"), errno.into())),
        }
    }

    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        if let Some(bar) = self.bar(region) {
            return bar.write32(offset, value);
        }
        let window = self.window(region);
        check_access(region, offset, window.bytes)?;
        match pwrite(self.kernel.file(), &value.to_le_bytes(), window.offset + offset) {
            Ok(4) => Ok(()),
            Ok(_) => Err(io::Error::from(io::ErrorKind::WriteZero).into()),
            Err(errno) => Err(transport(format!("failed to write {region:?}"), errno.into())),
        }
    }

    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        let bytes = whole_pages(&memory);
        let mut mappings = self.mappings();
        if mappings.contains_key(&iova) {
            return Err(Error::Mapping { iova, bytes: bytes as u64 });
        }
        // SAFETY: `mappings` keeps the memory until `dma_unmap` has succeeded, or for ever if that
        // fails (`drop`); `DmaMemory` is accessed atomically alone.
        let mapped = unsafe { self.kernel.dma_map(iova, memory.address(), bytes) };
        mapped.map_err(|source| Error::Transport {
            what: format!("failed to map {bytes} bytes at IOVA {iova:#x}"),
            help: mapping_help(&source),
            source,
        })?;
        mappings.insert(iova, memory);
        Ok(())
    }

    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        let mut mappings = self.mappings();
        match mappings.get(&iova) {
            Some(memory) if memory.bytes() as u64 == bytes => self.unmap(iova, memory)?,
            _ => return Err(Error::Mapping { iova, bytes }),
        }
        mappings.remove(&iova);
        Ok(())
    }

    fn vectors(&self) -> usize {
        self.kernel.vectors()
    }

    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        let (wanted, available) = (interrupts.len(), self.vectors());
        if wanted > available {
            return Err(Error::TooManyVectors { wanted, available });
        }
        let mut signalling = self.signalling.lock().unwrap_or_else(PoisonError::into_inner);
        // Off before on: the kernel does not add vectors to those that are on.
        let was_on = *signalling;
        let mut set = |some: &[Arc<Interrupt>]| {
            let set = self.kernel.set_vectors(some);
            set.map_err(|source| transport("failed to set the interrupt vectors", source))?;
            *signalling = !some.is_empty();
            Ok::<_, Error>(())
        };
        if was_on {
            set(&[])?;
        }
        if wanted > 0 { set(interrupts) } else { Ok(()) }
    }

    fn alarms(&self) -> &[(Alarm, Arc<Interrupt>)] {
        &self.alarms
    }

    fn reset(&self) -> Result<(), Error> {
        let reset = self.kernel.reset();
        reset.map_err(|source| transport("failed to reset the function", source))?;
        self.set_interrupts(&[])?;
        let mut mappings = self.mappings();
        while let Some((iova, memory)) = mappings.first_key_value() {
            self.unmap(*iova, memory)?;
            mappings.pop_first();
        }
        drop(mappings);
        self.enable()
    }
}

impl Drop for KernelVfio {
    fn drop(&mut self) {
        // Nobody is left to be told. The kernel resets the function when its file is closed.
        let _ = self.reset();
        // What the kernel would not unmap, the function may still write to: it is never freed.
        self.mappings().values().for_each(|memory| std::mem::forget(Arc::clone(memory)));
    }
}

#[cfg(test)]
#[path = "vfio/vfio_tests.rs"]
mod tests;
