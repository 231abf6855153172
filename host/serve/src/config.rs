//! Configuration space: header type 0, MSI-X, PCI Express with function-level reset.
//!
//!   0x00 header │ 0x40 MSI-X: table and pending bits in BAR 2 │ 0x60 PCI Express
//!
//! Follows: PCI Local Bus 3.0 §6.1, §6.2.5, §6.8.2; PCI Express Base 4.0 §7.5.3.
//! Invariants: only what may be written changes (`only_what_may_be_written_changes`); a BAR tells
//! its size as PCI wants it (`bars_tell_their_size`); the reset bit reads as zero
//! (`the_reset_bit_asks_for_a_reset`).

use groove_driver::abi;
use groove_spec::QUEUES_MAX;

pub use groove_driver::pci_id::{DEVICE_ID, VENDOR_ID};

/// Bytes of the configuration space.
pub const CONFIG_BYTES: usize = 256;
/// BAR with the MSI-X table.
pub const MSIX_BAR: u32 = 2;
/// Its size.
pub const MSIX_BAR_BYTES: usize = 0x1000;
/// Where the pending bits are in it.
const PENDING_AT: u32 = 0x800;

const MSIX: usize = 0x40;
const PCIE: usize = 0x60;
const COMMAND: usize = 0x04;
const BARS: usize = 0x10;
const DEVICE_CONTROL: usize = PCIE + 8;
const RESET_BIT: u8 = 0x80; // in the upper byte of device control

/// What a write asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing beyond the bytes.
    Nothing,
    /// A function-level reset.
    Reset,
}

/// The space.
#[derive(Debug)]
pub struct Config {
    bytes: [u8; CONFIG_BYTES],
    /// Bits that a write changes.
    writable: [u8; CONFIG_BYTES],
    vectors: usize,
    bar0_bytes: u32,
}

impl Config {
    /// After reset, of a function with so many vectors and so large a register window, which is a
    /// power of two.
    pub fn new(vectors: usize, bar0_bytes: u32) -> Self {
        let mut config = Self {
            bytes: [0; CONFIG_BYTES],
            writable: [0; CONFIG_BYTES],
            vectors: vectors.clamp(1, QUEUES_MAX),
            bar0_bytes,
        };
        config.fill();
        config
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn allow(&mut self, at: usize, mask: &[u8]) {
        self.writable[at..at + mask.len()].copy_from_slice(mask);
    }

    fn fill(&mut self) {
        self.put(0x00, &VENDOR_ID.to_le_bytes());
        self.put(0x02, &DEVICE_ID.to_le_bytes());
        self.put(0x06, &[0x10]); // status: there is a capability list
        self.put(0x08, &[1, 0, 0, 2]); // revision 1, class network controller, Ethernet
        self.put(0x2c, &VENDOR_ID.to_le_bytes());
        self.put(0x2e, &DEVICE_ID.to_le_bytes());
        self.put(0x34, &[MSIX as u8]);
        let vectors = (self.vectors - 1) as u16;
        self.put(MSIX, &[0x11, PCIE as u8]);
        self.put(MSIX + 2, &vectors.to_le_bytes());
        self.put(MSIX + 4, &MSIX_BAR.to_le_bytes());
        self.put(MSIX + 8, &(PENDING_AT | MSIX_BAR).to_le_bytes());
        self.put(PCIE, &[0x10, 0, 0x02, 0]); // version 2, endpoint
        let role_based_errors_and_reset = 1u32 << 15 | 1 << 28;
        self.put(PCIE + 4, &role_based_errors_and_reset.to_le_bytes());
        let link = 0x11u32; // 2.5 GT/s, one lane: nobody measures it
        self.put(PCIE + 0x0c, &link.to_le_bytes());
        self.put(PCIE + 0x12, &(link as u16).to_le_bytes());

        // Memory space, bus master, parity, SERR, no INTx.
        self.allow(COMMAND, &[0x46, 0x05]);
        self.allow(0x0c, &[0xff]); // cache line
        self.allow(0x3c, &[0xff]); // interrupt line
        let bar = |bytes: u32| (!(bytes - 1)).to_le_bytes();
        self.allow(BARS, &bar(self.bar0_bytes));
        self.allow(BARS + 4 * MSIX_BAR as usize, &bar(MSIX_BAR_BYTES as u32));
        self.allow(MSIX + 3, &[0xc0]); // enable, mask all
        self.allow(DEVICE_CONTROL, &[0xff, 0x7f]);
        self.allow(PCIE + 0x10, &[0xff, 0x0f]); // link control
    }

    /// Back to the state after reset.
    pub fn reset(&mut self) {
        *self = Self::new(self.vectors, self.bar0_bytes);
    }

    /// Reads bytes; those outside read as ones.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        for (at, byte) in (offset..).zip(into) {
            *byte = self.bytes.get(at).copied().unwrap_or(0xff);
        }
    }

    /// Writes bytes; those outside are ignored.
    pub fn write(&mut self, offset: usize, from: &[u8]) -> Asked {
        let mut asked = Asked::Nothing;
        for (at, new) in (offset..CONFIG_BYTES).zip(from) {
            let mask = self.writable[at];
            self.bytes[at] = self.bytes[at] & !mask | new & mask;
            if at == DEVICE_CONTROL + 1 && new & RESET_BIT != 0 {
                asked = Asked::Reset;
            }
        }
        asked
    }

    fn command(&self) -> u32 {
        u32::from(self.bytes[COMMAND])
    }

    /// The function answers at its BARs.
    pub fn has_memory_space(&self) -> bool {
        self.command() & abi::COMMAND_MEMORY != 0
    }

    /// The function may reach memory.
    pub fn is_bus_master(&self) -> bool {
        self.command() & abi::COMMAND_MASTER != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(config: &Config, at: usize) -> u32 {
        let mut bytes = [0; 4];
        config.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn the_header_says_what_it_is() {
        let config = Config::new(32, 0x2000);
        assert_eq!(word(&config, 0) as u16, VENDOR_ID);
        assert_eq!((word(&config, 0) >> 16) as u16, DEVICE_ID);
        assert_eq!(word(&config, 8) >> 8, 0x02_0000, "Ethernet controller");
        // The list of capabilities, as a driver walks it.
        let mut at = word(&config, 0x34) as usize & 0xff;
        let mut found = vec![];
        while at != 0 {
            found.push(word(&config, at) & 0xff);
            at = word(&config, at) as usize >> 8 & 0xff;
        }
        assert_eq!(found, [0x11, 0x10]);
        assert_eq!(word(&config, MSIX) >> 16 & 0x7ff, 31, "vectors minus one");
        assert_eq!(word(&config, MSIX + 8), 0x802);
        assert_eq!(word(&config, PCIE + 4) >> 28 & 1, 1, "function-level reset");
    }

    #[test]
    fn bars_tell_their_size() {
        let mut config = Config::new(1, 0x2000);
        for (bar, size) in [(0, !0x1fff), (1, 0), (2, !0xfff), (3, 0), (4, 0), (5, 0)] {
            config.write(BARS + 4 * bar, &[0xff; 4]);
            assert_eq!(word(&config, BARS + 4 * bar), size, "BAR {bar}");
        }
        config.write(0x30, &[0xff; 4]);
        assert_eq!(word(&config, 0x30), 0, "no expansion ROM");
    }

    #[test]
    fn only_what_may_be_written_changes() {
        let mut config = Config::new(4, 0x2000);
        let before = config.bytes;
        assert_eq!(config.write(0, &[0xff; CONFIG_BYTES + 7]), Asked::Reset);
        let changed: Vec<_> =
            (0..CONFIG_BYTES).filter(|at| config.bytes[*at] != before[*at]).collect();
        let expected =
            [4, 5, 0x0c, 0x11, 0x12, 0x13, 0x19, 0x1a, 0x1b, 0x3c, 0x43, 0x68, 0x69, 0x70, 0x71];
        assert_eq!(changed, expected);
        config.reset();
        assert_eq!(config.bytes, before);
        let mut outside = [0; 8];
        config.read(CONFIG_BYTES - 4, &mut outside);
        assert_eq!(outside[4..], [0xff; 4]);
        assert_eq!(config.write(usize::MAX, &[1]), Asked::Nothing);
    }

    #[test]
    fn the_reset_bit_asks_for_a_reset() {
        let mut config = Config::new(1, 0x2000);
        assert_eq!(config.write(DEVICE_CONTROL, &[0, 0x80]), Asked::Reset);
        assert_eq!(word(&config, DEVICE_CONTROL) & 0x8000, 0);
        assert_eq!(config.write(DEVICE_CONTROL, &[0x10, 0x28]), Asked::Nothing);
        assert_eq!(word(&config, DEVICE_CONTROL) & 0xffff, 0x2810);
    }
}
