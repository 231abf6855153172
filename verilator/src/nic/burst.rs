//! What one address beat asks for, and the rules that it has to keep.
//!
//! Follows: AMBA AXI4 (IHI 0022) A3.4.1: a burst is INCR, as wide as the bus, and stays within 4
//! KiB. Invariants: an address beat that breaks a rule is named with its values
//! (`bursts_that_break_a_rule_are_caught`).

use crate::Error;
use crate::dut::{Dut, Port};
use crate::monitor::violation;

const INCR: u64 = 1;
/// No burst crosses a multiple of it.
const PAGE_BYTES: u64 = 4096;

/// Ids that the NIC writes with, and the one that it reads with.
pub(crate) const DATA_ID: u8 = 0;
pub(crate) const COMPLETION_ID: u8 = 1;
pub(crate) const DESCRIPTOR_ID: u8 = 2;
/// Ids that two bits name.
pub(crate) const IDS: usize = 4;

/// An address beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Burst {
    pub id: u8,
    pub address: u64,
    pub beats: usize,
}

impl Burst {
    /// Address of the first lane of the first beat.
    pub(crate) fn start(&self, width_bytes: usize) -> u64 {
        self.address & !(width_bytes as u64 - 1)
    }

    fn check(&self, width_bytes: usize) -> Result<(), String> {
        let bytes = (self.beats * width_bytes) as u64;
        let last = self.start(width_bytes).checked_add(bytes - 1);
        if last.is_none_or(|last| last / PAGE_BYTES != self.address / PAGE_BYTES) {
            let Self { address, beats, .. } = self;
            return Err(format!("{beats} beats from {address:#x} on cross 4 KiB"));
        }
        Ok(())
    }
}

/// Ports of an address channel.
pub(crate) struct AddressPorts {
    channel: &'static str,
    id: Port,
    address: Port,
    length: Port,
    size: Port,
    burst: Port,
    width_bytes: usize,
}

/// Names of what must stay while an address beat waits.
pub(crate) const ADDRESS_FIELDS: [&str; 5] = ["id", "addr", "len", "size", "burst"];

impl AddressPorts {
    pub(crate) fn new(dut: &Dut, channel: &'static str, width_bytes: usize) -> Result<Self, Error> {
        let [id, address, length, size, burst] = ADDRESS_FIELDS.map(|f| format!("{channel}{f}"));
        Ok(Self {
            channel,
            id: dut.port(&id)?,
            address: dut.port(&address)?,
            length: dut.port(&length)?,
            size: dut.port(&size)?,
            burst: dut.port(&burst)?,
            width_bytes,
        })
    }

    /// The address beat at the port, which must have one of `ids`.
    pub(crate) fn take(&self, dut: &Dut, ids: &[u8]) -> Result<Burst, Error> {
        let fail = |what: String| violation(dut, self.channel, what);
        let burst = Burst {
            id: dut.read(self.id) as u8,
            address: dut.read(self.address),
            beats: dut.read(self.length) as usize + 1,
        };
        let (size, kind) = (dut.read(self.size), dut.read(self.burst));
        if !ids.contains(&burst.id) {
            return Err(fail(format!("id {} is not one of {ids:?}", burst.id)));
        }
        if 1 << size != self.width_bytes {
            return Err(fail(format!("{} bytes a beat, not {}", 1 << size, self.width_bytes)));
        }
        if kind != INCR {
            return Err(fail(format!("burst type {kind} is not INCR")));
        }
        burst.check(self.width_bytes).map_err(fail)?;
        Ok(burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_stay_within_four_kib() {
        let check = |address, beats| Burst { id: 0, address, beats }.check(64).is_ok();
        assert!(check(0x1000, 64) && check(0x1fc0, 1) && check(0x1fff, 1) && check(0x1f80, 2));
        assert!(!check(0x1040, 64) && !check(0x1fc0, 2) && !check(0x1fff, 2));
        assert!(check(u64::MAX, 1) && !check(u64::MAX, 2));
    }
}
