//! Packet type and protocol, as the kernel's `eth_type_trans` (7.3) gives them.
//!
//!   flow ──► + packet_type, protocol ──► flow      0 cycles
//!
//! IEEE 802.3 (3.2.6). The station address is compared before the group bit. The tag was taken out
//! by parse already, on whose header this works. Invariant: equal to the model's
//! (`rtl_classify_rss`). Not here: DSA; decoding of SNAP.

use crate::blocks::byte_order::Swap;
use crate::blocks::meta::{FlowSink, FlowSource};
use rust_hdl::prelude::*;

/// Combinational.
#[derive(LogicBlock, Default)]
pub struct Classify {
    /// Station address, first byte lowest.
    pub mac_low: Signal<In, Bits<32>>,
    pub mac_high: Signal<In, Bits<16>>,
    pub s: FlowSink,
    pub m: FlowSource,
    order: Swap<16>,
    own: Signal<Local, Bit>,
    packet_type: Signal<Local, Bits<2>>,
    protocol: Signal<Local, Bits<16>>,
}

impl Logic for Classify {
    #[hdl_gen]
    fn update(&mut self) {
        self.own.next = (self.s.header.val().get_bits::<32>(0) == self.mac_low.val())
            & (self.s.header.val().get_bits::<16>(32) == self.mac_high.val());
        self.packet_type.next = 3.into();
        if self.own.val() {
            self.packet_type.next = 0.into();
        } else if self.s.header.val().get_bits::<48>(0).all() {
            self.packet_type.next = 1.into();
        } else if self.s.header.val().get_bit(0) {
            self.packet_type.next = 2.into();
        }
        // Below 0x0600 the field is a length: LLC, or Novell raw if ff ff follows. Bytes that are
        // not there are 0.
        self.order.i.next = self.s.header.val().get_bits::<16>(96);
        self.protocol.next = self.order.o.val();
        if self.order.o.val() < 0x0600 {
            self.protocol.next = 0x0004.into();
            if self.s.header.val().get_bits::<16>(112).all() {
                self.protocol.next = 0x0001.into();
            }
        }
        self.m.meta.next = self.s.meta.val();
        self.m.meta.next.packet_type = self.packet_type.val();
        self.m.meta.next.protocol = self.protocol.val();
        self.m.header.next = self.s.header.val();
        self.m.addresses.next = self.s.addresses.val();
        self.m.ports.next = self.s.ports.val();
        self.m.hashable.next = self.s.hashable.val();
        self.m.valid.next = self.s.valid.val();
        self.s.ready.next = self.m.ready.val();
    }
}
