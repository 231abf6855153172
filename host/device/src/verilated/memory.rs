//! The translation as the memory behind AXI pins.

use groove_verilator::nic::{HostMemory, Refused};

use crate::memory::Translation;

impl HostMemory for Translation {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Refused> {
        Translation::read(self, address, into).map_err(|_| Refused)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Refused> {
        Translation::write(self, address, from).map_err(|_| Refused)
    }

    fn publish(&mut self, address: u64, record: &[u8; 32]) -> Result<(), Refused> {
        Translation::publish(self, address, record).map_err(|_| Refused)
    }
}
