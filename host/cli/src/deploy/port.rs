//! The port above a card: what of it reports errors, and whether its link is up.
//!
//!   save ──► mask: SERR, error messages, surprise down, hot-plug, DPC ──► ... ──► clear what has
//!                                                          latched meanwhile ──► as it was
//!
//! A card that is programmed while it is plugged in is a card that vanishes: unmasked, the port
//! would tell so, and machines stop on that.
//!
//! Follows: PCI Express Base Specification 5.0: 7.5.1 (header), 7.5.3 (capability), 7.8.4 (AER),
//! 7.9.15 (DPC); `Documentation/PCI/sysfs-pci.rst` (`config`).
//! Invariants: every register is as it was when all is done (`masks_are_put_back`); lists of
//! capabilities that lead in circles end (`circles_end`).
//! Not here: choosing when.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use groove_driver::vfio::sysfs::{Bdf, Sysfs};
use serde::{Deserialize, Serialize};

use super::Hardware;

const COMMAND: u16 = 0x04;
const STATUS: u16 = 0x06;
const HEADER_TYPE: u16 = 0x0e;
const SECONDARY_BUS: u16 = 0x19;
const SECONDARY_STATUS: u16 = 0x1e;
const CAPABILITIES: u16 = 0x34;
const BRIDGE_CONTROL: u16 = 0x3e;
/// Where the extended capabilities begin.
const EXTENDED: u16 = 0x100;
const ID_EXPRESS: u8 = 0x10;
const ID_AER: u16 = 0x0001;
const ID_DPC: u16 = 0x001d;
/// Type of a port at the root of the tree, which raises interrupts and system errors itself.
const ROOT_PORT: u16 = 4;

/// A register that is masked: where, how wide, what it was, what it is meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// Its name in the specification.
    pub name: String,
    /// Byte offset in the configuration space.
    pub offset: u16,
    /// Bytes: 2 or 4.
    pub bytes: u8,
    /// Before.
    pub before: u32,
    /// Masked.
    pub masked: u32,
}

/// A status register whose bits are cleared by writing ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Latch {
    offset: u16,
    bytes: u8,
    bits: u32,
}

/// Configuration space of a function, as a file.
#[derive(Clone, Debug)]
pub struct Port {
    /// Which.
    pub bdf: Bdf,
    path: PathBuf,
}

impl Port {
    /// The port above a function; above an absent one, the port to whose bus it belongs.
    pub fn above(sysfs: &Sysfs, bdf: Bdf) -> Option<Self> {
        let at = |bdf| Self::at(sysfs, bdf);
        let directory = std::fs::canonicalize(sysfs.directory(bdf)).ok();
        if let Some(directory) = directory {
            let parent = directory.parent()?.file_name()?.to_str()?.parse().ok()?;
            return Some(at(parent));
        }
        let functions = sysfs.functions().into_iter();
        let mut ports = functions.filter(|f| f.bdf.domain() == bdf.domain()).map(|f| at(f.bdf));
        ports.find(|port| port.bus_below().is_ok_and(|bus| bus == Some(bdf.bus())))
    }

    /// A port by its address.
    pub fn at(sysfs: &Sysfs, bdf: Bdf) -> Self {
        Self { bdf, path: sysfs.directory(bdf).join("config") }
    }

    /// Functions right below it, by address.
    pub fn functions(&self, sysfs: &Sysfs) -> Vec<Bdf> {
        let Ok(entries) = std::fs::read_dir(sysfs.directory(self.bdf)) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut functions: Vec<Bdf> = names.filter_map(|name| name.parse().ok()).collect();
        functions.sort();
        functions
    }

    /// Where a scan of its bus is asked for.
    pub fn rescan(&self) -> PathBuf {
        self.path.with_file_name("rescan")
    }

    /// The bus behind it, if it is a port at all.
    fn bus_below(&self) -> io::Result<Option<u8>> {
        let kind = self.read(HEADER_TYPE, 1)? & 0x7f;
        Ok(if kind == 1 { Some(self.read(SECONDARY_BUS, 1)? as u8) } else { None })
    }

    fn read(&self, offset: u16, bytes: u8) -> io::Result<u32> {
        let mut word = [0; 4];
        File::open(&self.path)?.read_exact_at(&mut word[..bytes.into()], offset.into())?;
        Ok(u32::from_le_bytes(word))
    }

    fn write(
        &self,
        hardware: &mut dyn Hardware,
        offset: u16,
        bytes: u8,
        value: u32,
    ) -> io::Result<()> {
        hardware.poke(&self.path, offset, &value.to_le_bytes()[..bytes.into()])
    }

    /// A capability in the first 256 bytes.
    fn capability(&self, id: u8) -> io::Result<Option<u16>> {
        if self.read(STATUS, 2)? & 0x10 == 0 {
            return Ok(None);
        }
        let mut at = self.read(CAPABILITIES, 1)? as u16 & 0xfc;
        // As many as there is room for: a damaged list leads in circles.
        for _ in 0..48 {
            if at < 0x40 {
                break;
            }
            let head = self.read(at, 2)?;
            if head as u8 == id {
                return Ok(Some(at));
            }
            at = (head >> 8) as u16 & 0xfc;
        }
        Ok(None)
    }

    /// A capability behind the first 256 bytes, which only root may read.
    fn extended(&self, id: u16) -> io::Result<Option<u16>> {
        if std::fs::metadata(&self.path)?.len() <= u64::from(EXTENDED) {
            return Ok(None);
        }
        let mut at = EXTENDED;
        for _ in 0..960 {
            let head = self.read(at, 4)?;
            if head == 0 || head == u32::MAX {
                break;
            }
            if head as u16 == id {
                return Ok(Some(at));
            }
            at = (head >> 20) as u16 & 0xffc;
            if at < EXTENDED {
                break;
            }
        }
        Ok(None)
    }

    /// Its PCI Express capability, and whether it is a root port.
    fn express(&self) -> io::Result<Option<(u16, bool)>> {
        let Some(at) = self.capability(ID_EXPRESS)? else { return Ok(None) };
        let kind = self.read(at + 2, 2)? as u16 >> 4 & 0xf;
        Ok(Some((at, kind == ROOT_PORT)))
    }

    /// What is to be masked, as it is now. Nothing is written.
    ///
    /// # Errors
    /// If the configuration space cannot be read.
    pub fn saved(&self) -> io::Result<Vec<Saved>> {
        let mut saved = Vec::new();
        let mut add = |name: &str, offset, bytes, clear: u32, set: u32| -> io::Result<()> {
            let before = self.read(offset, bytes)?;
            let masked = before & !clear | set;
            if masked != before {
                saved.push(Saved { name: name.into(), offset, bytes, before, masked });
            }
            Ok(())
        };
        // SERR# of the port, and of what comes from below.
        add("Command", COMMAND, 2, 0x0100, 0)?;
        add("Bridge Control", BRIDGE_CONTROL, 2, 0x0002, 0)?;
        if let Some((at, root)) = self.express()? {
            // Correctable, non-fatal and fatal errors, unsupported requests.
            add("Device Control", at + 0x08, 2, 0x000f, 0)?;
            if self.read(at + 0x02, 2)? & 0x0100 != 0 {
                // Hot-plug: a card that goes or a link that changes.
                add("Slot Control", at + 0x18, 2, 0x1008, 0)?;
            }
            if root {
                add("Root Control", at + 0x1c, 2, 0x0007, 0)?;
            }
            if let Some(aer) = self.extended(ID_AER)? {
                // Bit 5: surprise down.
                add("Uncorrectable Error Mask", aer + 0x08, 4, 0, 0x0020)?;
                if root {
                    add("Root Error Command", aer + 0x2c, 4, 0x0007, 0)?;
                }
            }
            if let Some(dpc) = self.extended(ID_DPC)? {
                add("DPC Control", dpc + 0x06, 2, 0x0003, 0)?;
            }
        }
        Ok(saved)
    }

    /// Masks.
    ///
    /// # Errors
    /// If the configuration space cannot be written.
    pub fn mask(&self, hardware: &mut dyn Hardware, saved: &[Saved]) -> io::Result<()> {
        saved.iter().try_for_each(|s| self.write(hardware, s.offset, s.bytes, s.masked))
    }

    /// Clears what has latched while it was masked, and puts back what was masked. Bits that
    /// somebody else has changed meanwhile stay as they are.
    ///
    /// # Errors
    /// If the configuration space cannot be read or written.
    pub fn put_back(&self, hardware: &mut dyn Hardware, saved: &[Saved]) -> io::Result<()> {
        for latch in self.latches()? {
            let set = self.read(latch.offset, latch.bytes)? & latch.bits;
            if set != 0 {
                self.write(hardware, latch.offset, latch.bytes, set)?;
            }
        }
        for s in saved.iter().rev() {
            let ours = s.before ^ s.masked;
            let now = self.read(s.offset, s.bytes)?;
            self.write(hardware, s.offset, s.bytes, now & !ours | s.before & ours)?;
        }
        Ok(())
    }

    fn latches(&self) -> io::Result<Vec<Latch>> {
        let latch = |offset, bytes, bits| Latch { offset, bytes, bits };
        let mut latches = vec![latch(SECONDARY_STATUS, 2, 0xf900)];
        if let Some((at, root)) = self.express()? {
            latches.push(latch(at + 0x0a, 2, 0x000f));
            if self.read(at + 0x02, 2)? & 0x0100 != 0 {
                latches.push(latch(at + 0x1a, 2, 0x0108));
            }
            if let Some(aer) = self.extended(ID_AER)? {
                latches.extend([latch(aer + 0x04, 4, 0x07ff_fff0), latch(aer + 0x10, 4, 0xf1c1)]);
                if root {
                    latches.push(latch(aer + 0x30, 4, 0x007f));
                }
            }
            if let Some(dpc) = self.extended(ID_DPC)? {
                latches.push(latch(dpc + 0x08, 2, 0x0001));
            }
        }
        Ok(latches)
    }

    /// Whether its link is up; `None`: it does not say.
    ///
    /// # Errors
    /// If the configuration space cannot be read.
    pub fn link_is_up(&self) -> io::Result<Option<bool>> {
        let Some((at, _)) = self.express()? else { return Ok(None) };
        // Link Capabilities bit 20: the port reports it; Link Status bit 13: it is active.
        if self.read(at + 0x0c, 4)? & 1 << 20 == 0 {
            return Ok(None);
        }
        Ok(Some(self.read(at + 0x12, 2)? & 1 << 13 != 0))
    }

    /// Has the link trained anew.
    ///
    /// # Errors
    /// If the configuration space cannot be read or written.
    pub fn retrain(&self, hardware: &mut dyn Hardware) -> io::Result<()> {
        let Some((at, _)) = self.express()? else { return Ok(()) };
        let control = self.read(at + 0x10, 2)?;
        self.write(hardware, at + 0x10, 2, control | 1 << 5)
    }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
