//! Network layer: fields of the IPv4 or IPv6 header, and the sums that need no other layer.
//!
//!   window, kind, room ──► fields ───────────────────────►[ fields ]      1 cycle, at `go`
//!                     └──► words ──► adder trees ──►[ sums ]
//!
//! RFC 791 (3.1), RFC 8200 (3). IPv4 needs 20 bytes, version 4 and IHL >= 5; IPv6 needs 40 bytes,
//! whatever its version. Invariants: bytes that are not there never count; with `trim`, `room` ends
//! where the IP length ends (both `rtl_parse`). Not here: extension headers; the fold of the sums,
//! in a later cycle.

use super::address_sum::AddressSum;
use super::header_sum::HeaderSum;
use crate::blocks::bits::ZExt;
use crate::blocks::byte_order::Swap;
use crate::blocks::reg::{ClkRst, RegE};
use rust_hdl::prelude::*;

/// What the network layer says.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct NetworkFields {
    /// 0 none, 1 IPv4, 2 IPv6.
    pub kind: Bits<2>,
    /// The header is there up to its end, IPv4 options included.
    pub complete: Bit,
    /// The version nibble is 4 or 6, as the ethertype says.
    pub version_fits: Bit,
    /// IPv4 without options: first byte 0x45.
    pub plain: Bit,
    /// Bytes from the network header on that count.
    pub room: Bits<7>,
    /// Bytes from the network header to the end of the datagram, as it says itself.
    pub ip_len: Bits<17>,
    /// IPv4: identification, checksum, total length.
    pub id: Bits<16>,
    pub csum: Bits<16>,
    pub tot_len: Bits<16>,
    /// IPv4: a fragment.
    pub fragment: Bit,
    /// IPv4: the reserved bit is set.
    pub reserved: Bit,
    /// Sum of the IPv4 header's words, in received byte order.
    pub header_sum: Bits<24>,
    /// Sum of both addresses' words, in received byte order.
    pub address_sum: Bits<24>,
}

/// Registered results hold from the edge with `go` to the next one.
#[derive(LogicBlock, Default)]
pub struct Network {
    pub cr: ClkRst,
    pub go: Signal<In, Bit>,
    pub trim: Signal<In, Bit>,
    pub ethertype: Signal<In, Bits<2>>,
    pub room: Signal<In, Bits<7>>,
    pub window: Signal<In, Bits<912>>,
    pub fields: Signal<Out, NetworkFields>,
    /// Position of the next header in 32-bit words, and its protocol; not registered.
    pub next_words: Signal<Out, Bits<5>>,
    pub next_protocol: Signal<Out, Bits<8>>,
    held: RegE<NetworkFields>,
    header_sum: HeaderSum,
    address_sum: AddressSum,
    tot_len: Swap<16>,
    payload: Swap<16>,
    id: Swap<16>,
    frag: Swap<16>,
    csum: Swap<16>,
    v4: Signal<Local, Bit>,
    v6: Signal<Local, Bit>,
    ihl: Signal<Local, Bits<4>>,
    version: Signal<Local, Bits<4>>,
    header_bytes: Signal<Local, Bits<7>>,
    ip_len: Signal<Local, Bits<17>>,
    payload_wide: Signal<Local, Bits<17>>,
    long_enough: Signal<Local, Bit>,
    room_wide: Signal<Local, Bits<17>>,
    left: Signal<Local, Bits<7>>,
    more_or_offset: Signal<Local, Bits<14>>,
}

impl Logic for Network {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.held.cr);
        self.ihl.next = self.window.val().get_bits::<4>(0);
        self.version.next = self.window.val().get_bits::<4>(4);
        self.v4.next = (self.ethertype.val() == 1)
            & (self.room.val() >= 20)
            & (self.version.val() == 4)
            & (self.ihl.val() >= 5);
        self.v6.next = (self.ethertype.val() == 2) & (self.room.val() >= 40);
        self.tot_len.i.next = self.window.val().get_bits::<16>(16);
        self.payload.i.next = self.window.val().get_bits::<16>(32);
        self.id.i.next = self.window.val().get_bits::<16>(32);
        self.frag.i.next = self.window.val().get_bits::<16>(48);
        self.csum.i.next = self.window.val().get_bits::<16>(80);

        self.header_bytes.next = self.ihl.val().to_bits();
        self.next_words.next = self.ihl.val().to_bits();
        self.next_protocol.next = self.window.val().get_bits::<8>(72);
        self.ip_len.next = self.tot_len.o.val().to_bits();
        self.long_enough.next = self.tot_len.o.val() >= 20;
        self.payload_wide.next = self.payload.o.val().to_bits();
        if self.ethertype.val() == 2 {
            self.header_bytes.next = 10.into();
            self.next_words.next = 10.into();
            self.next_protocol.next = self.window.val().get_bits::<8>(48);
            self.ip_len.next = self.payload_wide.val() + 40;
            self.long_enough.next = true;
        }
        // An IP length behind the end of the frame cuts nothing off here either: `room` ends
        // before.
        self.room_wide.next = self.room.val().to_bits();
        self.left.next = self.room.val();
        if self.trim.val() & self.long_enough.val() & (self.ip_len.val() < self.room_wide.val()) {
            self.left.next = self.ip_len.val().get_bits::<7>(0);
        }

        self.header_sum.window.next = self.window.val().get_bits::<480>(0);
        self.address_sum.window.next = self.window.val().get_bits::<320>(0);
        self.address_sum.v4.next = self.ethertype.val() == 1;

        self.held.d.next.kind = 0.into();
        self.held.d.next.complete =
            self.v6.val() | (self.v4.val() & (self.left.val() >= (self.header_bytes.val() << 2)));
        self.held.d.next.version_fits = self.version.val() == 4;
        if self.v4.val() {
            self.held.d.next.kind = 1.into();
        } else if self.v6.val() {
            self.held.d.next.kind = 2.into();
            self.held.d.next.version_fits = self.version.val() == 6;
        }
        self.more_or_offset.next = self.frag.o.val().get_bits::<14>(0);
        self.held.d.next.plain = self.v4.val() & (self.ihl.val() == 5);
        self.held.d.next.room = self.left.val();
        self.held.d.next.ip_len = self.ip_len.val();
        self.held.d.next.id = self.id.o.val();
        self.held.d.next.csum = self.csum.o.val();
        self.held.d.next.tot_len = self.tot_len.o.val();
        self.held.d.next.fragment = self.v4.val() & self.more_or_offset.val().any();
        self.held.d.next.reserved = self.v4.val() & self.frag.o.val().get_bit(15);
        self.held.d.next.header_sum = self.header_sum.sum.val();
        self.held.d.next.address_sum = self.address_sum.sum.val();
        self.held.en.next = self.go.val();
        self.fields.next = self.held.q.val();
    }
}
