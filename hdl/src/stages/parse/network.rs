//! Network layer: fields of the IPv4 or IPv6 header, and the sums that need no other layer.
//!
//!   window, kind, room ──► fields ───────────────────────►[ fields ]      1 cycle, at `go`
//!                     └──► masked words ──► adder trees ──►[ sums ]
//!
//! RFC 791, RFC 8200. Invariants: a header that is not there in full, up to its IHL, gives kind 0; with
//! `trim`, `room` ends where the IP length ends (both `rtl_parse`). Not here: extension headers and the
//! fold of the sums, which have a cycle of their own.

use super::word_tree::WordTree;
use crate::blocks::bits::ZExt;
use crate::blocks::byte_order::Swap;
use crate::blocks::reg::{ClkRst, RegE};
use rust_hdl::prelude::*;

/// What the network layer says.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct NetworkFields {
    /// 0 none, 1 IPv4, 2 IPv6: the header is there.
    pub kind: Bits<2>,
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
#[derive(LogicBlock)]
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
    reg: RegE<NetworkFields>,
    header_tree: WordTree,
    address_tree: WordTree,
    tot_len: Swap<16>,
    payload: Swap<16>,
    id: Swap<16>,
    frag: Swap<16>,
    csum: Swap<16>,
    option_word: [Constant<Bits<4>>; 10],
    v4: Signal<Local, Bit>,
    v6: Signal<Local, Bit>,
    ihl: Signal<Local, Bits<4>>,
    version: Signal<Local, Bits<4>>,
    header_bytes: Signal<Local, Bits<7>>,
    ihl_wide: Signal<Local, Bits<7>>,
    ip_len: Signal<Local, Bits<17>>,
    least: Signal<Local, Bits<17>>,
    room_wide: Signal<Local, Bits<17>>,
    trimmed: Signal<Local, Bits<7>>,
    fragment: Signal<Local, Bits<16>>,
}
