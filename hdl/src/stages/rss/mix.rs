//! Lays the hash input out: addresses and ports in the order of the symmetric mode, zero where
//! nothing counts.
//!
//!   addresses, ports ──► mixed pairs ──► source, destination, ports without gaps      0 cycles
//!
//! Modes follow the kernel's `scaling.rst` (7.3). A zero bit leaves a Toeplitz hash alone, so what
//! does not count is zeroed. Invariant: swapping source and destination changes nothing in the
//! symmetric modes (`rtl_classify_rss`). Not here: which fields count.

use crate::blocks::bits::ZExt;
use rust_hdl::prelude::*;

/// Combinational.
#[derive(LogicBlock, Default)]
pub struct Mix {
    pub addresses: Signal<In, Bits<256>>,
    pub ports: Signal<In, Bits<32>>,
    /// IPv6 layout of the addresses.
    pub wide: Signal<In, Bit>,
    pub use_addresses: Signal<In, Bit>,
    pub use_ports: Signal<In, Bit>,
    /// Code of `SymmetricMode`.
    pub mode: Signal<In, Bits<2>>,
    /// First hashed byte lowest.
    pub hashed: Signal<Out, Bits<288>>,
    source: Signal<Local, Bits<128>>,
    destination: Signal<Local, Bits<128>>,
    first: Signal<Local, Bits<128>>,
    second: Signal<Local, Bits<128>>,
    source_port: Signal<Local, Bits<16>>,
    destination_port: Signal<Local, Bits<16>>,
    first_port: Signal<Local, Bits<16>>,
    second_port: Signal<Local, Bits<16>>,
    ports_out: Signal<Local, Bits<32>>,
    narrow: Signal<Local, Bits<96>>,
    first_word: Signal<Local, Bits<32>>,
    second_word: Signal<Local, Bits<32>>,
}

impl Logic for Mix {
    #[hdl_gen]
    fn update(&mut self) {
        self.source.next = self.addresses.val().get_bits::<128>(0);
        self.destination.next = self.addresses.val().get_bits::<128>(128);
        if !self.wide.val() {
            self.source.next = self.addresses.val().get_bits::<32>(0).to_bits();
            self.destination.next = self.addresses.val().get_bits::<32>(32).to_bits();
        }
        self.source_port.next = self.ports.val().get_bits::<16>(0);
        self.destination_port.next = self.ports.val().get_bits::<16>(16);
        self.first.next = self.source.val();
        self.second.next = self.destination.val();
        self.first_port.next = self.source_port.val();
        self.second_port.next = self.destination_port.val();
        if self.mode.val() == 1 {
            self.first.next = self.source.val() ^ self.destination.val();
            self.first_port.next = self.source_port.val() ^ self.destination_port.val();
        } else if self.mode.val() == 2 {
            self.first.next = self.source.val() | self.destination.val();
            self.first_port.next = self.source_port.val() | self.destination_port.val();
        }
        if (self.mode.val() == 1) | (self.mode.val() == 2) {
            self.second.next = self.source.val() ^ self.destination.val();
            self.second_port.next = self.source_port.val() ^ self.destination_port.val();
        }
        self.ports_out.next = 0.into();
        if self.use_ports.val() {
            self.ports_out.next = bit_cast::<32, 16>(self.first_port.val())
                | (bit_cast::<32, 16>(self.second_port.val()) << 16);
        }
        self.first_word.next = self.first.val().get_bits::<32>(0);
        self.second_word.next = self.second.val().get_bits::<32>(0);
        self.narrow.next = bit_cast::<96, 32>(self.first_word.val())
            | (bit_cast::<96, 32>(self.second_word.val()) << 32)
            | (bit_cast::<96, 32>(self.ports_out.val()) << 64);
        self.hashed.next = 0.into();
        if self.use_addresses.val() {
            self.hashed.next = self.narrow.val().to_bits();
            if self.wide.val() {
                self.hashed.next = bit_cast::<288, 128>(self.first.val())
                    | (bit_cast::<288, 128>(self.second.val()) << 128)
                    | (bit_cast::<288, 32>(self.ports_out.val()) << 256);
            }
        }
    }
}
