//! Link layer: tags in band, ethertype, and the window that starts at the network header.
//!
//!   header ──► tags ──► ethertype ──► 4:1 mux ──►[ window, room, kind ]      1 cycle, at `go`
//!
//! IEEE 802.1Q: up to three tags (0x8100, 0x88a8), each only with its 4 bytes within the collected
//! ones. Invariant: `room` never counts a byte that is not there (`rtl_parse`). Not here: 802.3
//! lengths, which are `classify`'s.

use crate::blocks::bits::ZExt;
use crate::blocks::reg::{ClkRst, RegE};
use rust_hdl::prelude::*;

/// What the link layer says.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct LinkFields {
    /// 0 none, 1 IPv4, 2 IPv6, by ethertype.
    pub kind: Bits<2>,
    /// Tags in band.
    pub tags: Bits<2>,
    /// Bytes in front of the network header.
    pub offset: Bits<5>,
    /// Collected bytes behind them, at most 114.
    pub room: Bits<7>,
}

/// Results hold from the edge with `go` to the next one.
#[derive(LogicBlock, Default)]
pub struct Link {
    pub cr: ClkRst,
    pub go: Signal<In, Bit>,
    pub header: Signal<In, Bits<1024>>,
    pub bytes: Signal<In, Bits<8>>,
    pub fields: Signal<Out, LinkFields>,
    /// The bytes from the network header on.
    pub window: Signal<Out, Bits<912>>,
    fields_reg: RegE<LinkFields>,
    window_reg: RegE<Bits<912>>,
    one: Signal<Local, Bit>,
    two: Signal<Local, Bit>,
    three: Signal<Local, Bit>,
    ethertype: Signal<Local, Bits<16>>,
    shifted: Signal<Local, Bits<912>>,
    offset: Signal<Local, Bits<5>>,
    tags: Signal<Local, Bits<2>>,
    left: Signal<Local, Bits<8>>,
}

impl Logic for Link {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.fields_reg.cr);
        ClkRst::link(&mut self.cr, &mut self.window_reg.cr);
        // As received, so with the first byte lowest: 0x8100 and 0x88a8.
        self.one.next = (self.bytes.val() >= 18)
            & ((self.header.val().get_bits::<16>(96) == 0x0081)
                | (self.header.val().get_bits::<16>(96) == 0xa888));
        self.two.next = self.one.val()
            & (self.bytes.val() >= 22)
            & ((self.header.val().get_bits::<16>(128) == 0x0081)
                | (self.header.val().get_bits::<16>(128) == 0xa888));
        self.three.next = self.two.val()
            & (self.bytes.val() >= 26)
            & ((self.header.val().get_bits::<16>(160) == 0x0081)
                | (self.header.val().get_bits::<16>(160) == 0xa888));
        self.ethertype.next = self.header.val().get_bits::<16>(96);
        self.shifted.next = self.header.val().get_bits::<912>(112);
        self.offset.next = 14.into();
        self.tags.next = 0.into();
        if self.three.val() {
            self.ethertype.next = self.header.val().get_bits::<16>(192);
            self.shifted.next = self.header.val().get_bits::<816>(208).to_bits();
            self.offset.next = 26.into();
            self.tags.next = 3.into();
        } else if self.two.val() {
            self.ethertype.next = self.header.val().get_bits::<16>(160);
            self.shifted.next = self.header.val().get_bits::<848>(176).to_bits();
            self.offset.next = 22.into();
            self.tags.next = 2.into();
        } else if self.one.val() {
            self.ethertype.next = self.header.val().get_bits::<16>(128);
            self.shifted.next = self.header.val().get_bits::<880>(144).to_bits();
            self.offset.next = 18.into();
            self.tags.next = 1.into();
        }
        // A runt has no room; it is dropped later.
        self.left.next = 0.into();
        if self.bytes.val() >= 14 {
            self.left.next = self.bytes.val() - bit_cast::<8, 5>(self.offset.val());
        }
        self.fields_reg.d.next.kind = 0.into();
        if self.ethertype.val() == 0x0008 {
            self.fields_reg.d.next.kind = 1.into();
        } else if self.ethertype.val() == 0xdd86 {
            self.fields_reg.d.next.kind = 2.into();
        }
        self.fields_reg.d.next.tags = self.tags.val();
        self.fields_reg.d.next.offset = self.offset.val();
        self.fields_reg.d.next.room = self.left.val().get_bits::<7>(0);
        self.fields_reg.en.next = self.go.val();
        self.window_reg.d.next = self.shifted.val();
        self.window_reg.en.next = self.go.val();
        self.fields.next = self.fields_reg.q.val();
        self.window.next = self.window_reg.q.val();
    }
}
