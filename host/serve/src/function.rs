//! The PCI function around a device: what the client's commands do to it.
//!
//!   configuration space ──► bus master? ──► device: memory mapped, vectors set
//!                      └──► memory space? ──► device: registers (else ones)
//!
//! The device has what the client mapped and the vectors that it set while it is a bus master, and
//! nothing otherwise: MSI-X is a memory write.
//! Invariants: without bus mastering the device reaches no memory and signals nothing
//! (`without_bus_mastering_there_is_no_dma`); a reset keeps the client's mappings and vectors, as
//! an IOMMU does (`a_reset_keeps_what_the_client_mapped`); registers are reached in whole words
//! (`registers_are_words`).
//! Not here: messages (`session`).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use groove_driver::vfio_user::wire::SetIrqs;
use groove_driver::{Device, Interrupt, Region, abi};
use rustix::io::Errno;

use crate::config::{Asked, CONFIG_BYTES, Config, MSIX_BAR, MSIX_BAR_BYTES};
use crate::memory::{Mappings, Stay};

/// A function.
pub struct Function {
    device: Arc<dyn Device>,
    config: Config,
    /// MSI-X table and pending bits: the client keeps them itself, and finds what it wrote.
    msix: Box<[u8; MSIX_BAR_BYTES]>,
    mappings: Mappings,
    vectors: Vec<Option<Arc<Interrupt>>>,
    /// Stands for vectors that signal nobody.
    nobody: Arc<Interrupt>,
    /// The device has mappings and vectors.
    live: bool,
}

/// Errors of a device, as the number that the client gets.
fn errno(_: groove_driver::Error) -> Errno {
    Errno::IO
}

impl Function {
    /// Around a device, which is reset.
    pub fn new(device: Arc<dyn Device>) -> io::Result<Self> {
        device.reset().map_err(io::Error::other)?;
        let window = device.region_bytes(Region::Bar(0)).clamp(16, 1 << 24) as u32;
        let vectors = device.vectors();
        Ok(Self {
            device,
            config: Config::new(vectors, window.next_power_of_two()),
            msix: Box::new([0; MSIX_BAR_BYTES]),
            mappings: Mappings::default(),
            vectors: vec![None; vectors],
            nobody: Arc::new(Interrupt::new()?),
            live: false,
        })
    }

    /// What the client had mapped so far, from nothing to nothing.
    pub fn stays(&self) -> &[Stay] {
        self.mappings.stays()
    }

    /// Size of a region.
    pub fn region_bytes(&self, region: u32) -> u64 {
        match region {
            0 => self.device.region_bytes(Region::Bar(0)).next_power_of_two(),
            MSIX_BAR => MSIX_BAR_BYTES as u64,
            abi::CONFIG_REGION => CONFIG_BYTES as u64,
            _ => 0,
        }
    }

    /// Vectors of an interrupt.
    pub fn vectors(&self, index: u32) -> u32 {
        match index {
            abi::MSIX => self.vectors.len() as u32,
            // Errors and requests of the platform: QEMU wants to have them.
            3 | 4 => 1,
            _ => 0,
        }
    }

    /// Reads a region. The range is inside it.
    pub fn read(&self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        let at = offset as usize;
        match region {
            abi::CONFIG_REGION => self.config.read(at, into),
            MSIX_BAR if self.config.has_memory_space() => {
                into.copy_from_slice(self.msix.get(at..at + into.len()).ok_or(Errno::INVAL)?);
            }
            0 if self.config.has_memory_space() => {
                for (offset, word) in words(offset, into.len())?.zip(into.as_chunks_mut::<4>().0) {
                    *word = self.register(offset)?.to_le_bytes();
                }
            }
            // Nobody answers on the bus.
            _ => into.fill(0xff),
        }
        Ok(())
    }

    fn register(&self, offset: u64) -> Result<u32, Errno> {
        if offset >= self.device.region_bytes(Region::Bar(0)) {
            return Ok(0);
        }
        self.device.read32(Region::Bar(0), offset).map_err(errno)
    }

    /// Writes a region. The range is inside it.
    pub fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), Errno> {
        let at = offset as usize;
        match region {
            abi::CONFIG_REGION => match self.config.write(at, from) {
                Asked::Nothing => self.follow(),
                Asked::Reset => self.reset(),
            },
            MSIX_BAR if self.config.has_memory_space() => {
                let to = self.msix.get_mut(at..at + from.len()).ok_or(Errno::INVAL)?;
                to.copy_from_slice(from);
                Ok(())
            }
            0 if self.config.has_memory_space() => {
                for (offset, word) in words(offset, from.len())?.zip(from.as_chunks::<4>().0) {
                    if offset < self.device.region_bytes(Region::Bar(0)) {
                        let value = u32::from_le_bytes(*word);
                        self.device.write32(Region::Bar(0), offset, value).map_err(errno)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Gives the device what the configuration space lets it have.
    fn follow(&mut self) -> Result<(), Errno> {
        match (self.live, self.config.is_bus_master()) {
            (false, true) => {
                self.live = true;
                for (iova, memory) in self.mappings.reachable() {
                    self.device.dma_map(iova, memory).map_err(errno)?;
                }
                self.set_vectors()
            }
            (true, false) => {
                self.live = false;
                self.device.set_interrupts(&[]).map_err(errno)?;
                for (iova, memory) in self.mappings.reachable() {
                    self.device.dma_unmap(iova, memory.bytes() as u64).map_err(errno)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn set_vectors(&self) -> Result<(), Errno> {
        if !self.live {
            return Ok(());
        }
        if self.vectors.iter().all(Option::is_none) {
            return self.device.set_interrupts(&[]).map_err(errno);
        }
        let all = self.vectors.iter().map(|vector| vector.as_ref().unwrap_or(&self.nobody));
        let all: Vec<_> = all.map(Arc::clone).collect();
        self.device.set_interrupts(&all).map_err(errno)
    }

    /// Lets the device reach memory.
    pub fn map(
        &mut self,
        iova: u64,
        bytes: u64,
        file: Option<(OwnedFd, u64)>,
        writable: bool,
    ) -> Result<(), Errno> {
        let Some((iova, memory)) = self.mappings.map(iova, bytes, file, writable)? else {
            return Ok(());
        };
        if self.live
            && let Err(error) = self.device.dma_map(iova, memory)
        {
            self.mappings.unmap(iova, bytes)?;
            return Err(errno(error));
        }
        Ok(())
    }

    /// Takes memory away. Gives the bytes that are gone.
    pub fn unmap(&mut self, iova: u64, bytes: u64) -> Result<u64, Errno> {
        let (gone, bytes) = self.mappings.unmap(iova, bytes)?;
        if self.live {
            for (iova, memory) in gone {
                self.device.dma_unmap(iova, memory.bytes() as u64).map_err(errno)?;
            }
        }
        Ok(bytes)
    }

    /// Takes all memory away.
    pub fn unmap_all(&mut self) -> Result<(), Errno> {
        for (iova, memory) in self.mappings.clear() {
            if self.live {
                self.device.dma_unmap(iova, memory.bytes() as u64).map_err(errno)?;
            }
        }
        Ok(())
    }

    /// Says what vectors signal.
    pub fn set_irqs(&mut self, asked: &SetIrqs, files: Vec<OwnedFd>) -> Result<(), Errno> {
        const KIND: u32 = abi::SET_DATA_NONE | abi::SET_DATA_BOOL | abi::SET_DATA_EVENTFD;
        if asked.index != abi::MSIX {
            // The others never fire: whoever wants to be told may say so.
            return if asked.index < abi::IRQS { Ok(()) } else { Err(Errno::INVAL) };
        }
        let (start, count) = (asked.start as usize, asked.count as usize);
        let end = start.checked_add(count).filter(|end| *end <= self.vectors.len());
        let end = end.ok_or(Errno::INVAL)?;
        if asked.flags & abi::SET_TRIGGER == 0 {
            return Err(Errno::INVAL);
        }
        match (asked.flags & KIND, count) {
            (abi::SET_DATA_NONE, 0) => self.vectors.fill(None),
            (abi::SET_DATA_NONE, _) => {
                for vector in self.vectors[start..end].iter().flatten() {
                    // The client asked for it: that it cannot be told is its own loss.
                    let _ = vector.signal();
                }
                return Ok(());
            }
            (abi::SET_DATA_EVENTFD, 1) if files.is_empty() => self.vectors[start] = None,
            (abi::SET_DATA_EVENTFD, _) if files.len() == count => {
                for (vector, file) in self.vectors[start..end].iter_mut().zip(files) {
                    let interrupt = Interrupt::of_file(file).map_err(|_| Errno::INVAL)?;
                    *vector = Some(Arc::new(interrupt));
                }
            }
            _ => return Err(Errno::INVAL),
        }
        self.set_vectors()
    }

    /// Function-level reset: device and configuration space as at power-on. What the client mapped
    /// stays mapped, as in an IOMMU, and is reached again once the function is a bus master.
    pub fn reset(&mut self) -> Result<(), Errno> {
        self.live = false;
        self.config.reset();
        self.msix.fill(0);
        self.device.reset().map_err(errno)
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.device.reset();
    }
}

/// Offsets of the registers of an access.
fn words(offset: u64, bytes: usize) -> Result<std::iter::StepBy<std::ops::Range<u64>>, Errno> {
    if !offset.is_multiple_of(4) || !bytes.is_multiple_of(4) {
        return Err(Errno::INVAL);
    }
    Ok((offset..offset + bytes as u64).step_by(4))
}

#[cfg(test)]
#[path = "function_tests.rs"]
mod tests;
