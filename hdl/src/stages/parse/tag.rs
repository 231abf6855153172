//! Takes the outermost VLAN tag out of a collected header.
//!
//!   header, bytes ──► header without the tag, bytes - 4, tag      0 cycles
//!
//! IEEE 802.1Q: TPID 0x8100 or 0x88a8 at byte 12. Without the whole 18-byte header, nothing is
//! taken. Invariant: the other bytes keep their order (`rtl_parse`). Not here: the beats, which
//! keep the tag until `strip`.

use crate::blocks::byte_order::Swap;
use rust_hdl::prelude::*;

/// Combinational.
#[derive(LogicBlock, Default)]
pub struct TagStrip {
    pub enable: Signal<In, Bit>,
    pub header: Signal<In, Bits<1024>>,
    pub bytes: Signal<In, Bits<8>>,
    pub stripped: Signal<Out, Bits<1024>>,
    pub bytes_left: Signal<Out, Bits<8>>,
    pub valid: Signal<Out, Bit>,
    /// 0: 0x8100, 1: 0x88a8.
    pub tpid: Signal<Out, Bit>,
    pub tci: Signal<Out, Bits<16>>,
    tci_order: Swap<16>,
    is_c_tag: Signal<Local, Bit>,
    is_s_tag: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    low: Signal<Local, Bits<96>>,
    high: Signal<Local, Bits<896>>,
}

impl Logic for TagStrip {
    #[hdl_gen]
    fn update(&mut self) {
        // As received, so with the first byte lowest: 0x8100 and 0x88a8.
        self.is_c_tag.next = self.header.val().get_bits::<16>(96) == 0x0081;
        self.is_s_tag.next = self.header.val().get_bits::<16>(96) == 0xa888;
        self.take.next = self.enable.val()
            & (self.is_c_tag.val() | self.is_s_tag.val())
            & (self.bytes.val() >= 18);
        self.tci_order.i.next = self.header.val().get_bits::<16>(112);
        self.low.next = self.header.val().get_bits::<96>(0);
        self.high.next = self.header.val().get_bits::<896>(128);
        self.stripped.next = self.header.val();
        self.bytes_left.next = self.bytes.val();
        if self.take.val() {
            self.stripped.next = bit_cast::<1024, 96>(self.low.val())
                | (bit_cast::<1024, 896>(self.high.val()) << 96);
            self.bytes_left.next = self.bytes.val() - 4;
        }
        self.valid.next = self.take.val();
        self.tpid.next = self.is_s_tag.val();
        self.tci.next = self.tci_order.o.val();
    }
}
