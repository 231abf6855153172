//! Walks IPv6 extension headers, then reads the transport header at the position found.
//!
//!   start ─► position ─► window >> position ─┬─ 0, 43, 60 ─► next position      1 cycle each
//!                                            └─ else ─►[ transport fields ]     1 cycle
//!
//! RFC 8200 (4.1, 4.3, 4.4, 4.6), RFC 9293 (3.1), RFC 768. The walk ends at a header that is not
//! there up to its end. Invariants: it ends, since every step takes 8 of at most 114 bytes; nothing
//! behind `room` counts (both `rtl_parse`). Not here: checksums.

use super::network::NetworkFields;
use crate::blocks::bits::ZExt;
use crate::blocks::reg::{ClkRst, RegE};
use rust_hdl::prelude::*;

/// What the transport layer says.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct TransportFields {
    /// 0 none, 1 TCP, 2 UDP: no fragment, and the ports are there.
    pub kind: Bits<2>,
    /// The TCP header is there, options included.
    pub tcp_complete: Bit,
    /// The least header (20 or 8 bytes) is there and within the IP length.
    pub summable: Bit,
    /// UDP without a checksum.
    pub absent: Bit,
    /// A fragment of either version.
    pub fragment: Bit,
    /// 32-bit words from the network header to here, and to the end of this header.
    pub words: Bits<5>,
    pub end_words: Bits<5>,
    /// Bytes from here to the end of the datagram; means nothing unless `summable`.
    pub length: Bits<16>,
    /// Both ports, and the sequence number, as received.
    pub ports: Bits<32>,
    pub seq: Bits<32>,
    pub flags: Bits<8>,
}

/// Registered results hold from a `step` without `more` to the next one.
#[derive(LogicBlock, Default)]
pub struct Transport {
    pub cr: ClkRst,
    /// Takes the position that the network layer gives.
    pub start: Signal<In, Bit>,
    pub start_words: Signal<In, Bits<5>>,
    pub start_protocol: Signal<In, Bits<8>>,
    /// Looks at the header at the position.
    pub step: Signal<In, Bit>,
    pub window: Signal<In, Bits<912>>,
    pub network: Signal<In, NetworkFields>,
    /// The step ends at another header to look at.
    pub more: Signal<Out, Bit>,
    pub fields: Signal<Out, TransportFields>,
    held: RegE<TransportFields>,
    words: RegE<Bits<5>>,
    protocol: RegE<Bits<8>>,
    amount: Signal<Local, Bits<10>>,
    shifted: Signal<Local, Bits<912>>,
    at: Signal<Local, Bits<160>>,
    v6: Signal<Local, Bit>,
    extension: Signal<Local, Bit>,
    jump: Signal<Local, Bits<10>>,
    target: Signal<Local, Bits<10>>,
    words_wide: Signal<Local, Bits<10>>,
    room_wide: Signal<Local, Bits<12>>,
    target_bytes: Signal<Local, Bits<12>>,
    advance: Signal<Local, Bit>,
    used: Signal<Local, Bits<8>>,
    behind: Signal<Local, Bits<8>>,
    room: Signal<Local, Bits<8>>,
    fragment: Signal<Local, Bit>,
    ports_there: Signal<Local, Bit>,
    tcp: Signal<Local, Bit>,
    udp: Signal<Local, Bit>,
    doff: Signal<Local, Bits<4>>,
    doff_bytes: Signal<Local, Bits<8>>,
    tcp_complete: Signal<Local, Bit>,
    udp_there: Signal<Local, Bit>,
    ip_len: Signal<Local, Bits<18>>,
    used_wide: Signal<Local, Bits<18>>,
    length: Signal<Local, Bits<18>>,
    length_there: Signal<Local, Bits<17>>,
}

impl Logic for Transport {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.held.cr);
        ClkRst::link(&mut self.cr, &mut self.words.cr);
        ClkRst::link(&mut self.cr, &mut self.protocol.cr);
        self.words_wide.next = self.words.q.val().to_bits();
        self.amount.next = self.words_wide.val() << 5;
        self.shifted.next = self.window.val() >> self.amount.val();
        self.at.next = self.shifted.val().get_bits::<160>(0);
        self.v6.next = self.network.val().kind == 2;

        // Extension header: next kind, length in units of 8 bytes without the first 8.
        self.extension.next = self.v6.val()
            & ((self.protocol.q.val() == 0)
                | (self.protocol.q.val() == 43)
                | (self.protocol.q.val() == 60));
        self.jump.next = self.at.val().get_bits::<8>(8).to_bits();
        self.target.next = self.words_wide.val() + (self.jump.val() << 1) + 2;
        self.target_bytes.next = self.target.val().to_bits();
        self.room_wide.next = self.network.val().room.to_bits();
        self.advance.next =
            self.extension.val() & ((self.target_bytes.val() << 2) <= self.room_wide.val());
        self.more.next = self.advance.val();
        self.words.en.next = self.start.val() | (self.step.val() & self.advance.val());
        self.protocol.en.next = self.start.val() | (self.step.val() & self.advance.val());
        self.words.d.next = self.target.val().get_bits::<5>(0);
        self.protocol.d.next = self.at.val().get_bits::<8>(0);
        if self.start.val() {
            self.words.d.next = self.start_words.val();
            self.protocol.d.next = self.start_protocol.val();
        }

        // Transport header.
        self.used.next = self.amount.val().get_bits::<7>(3).to_bits();
        self.room.next = self.network.val().room.to_bits();
        self.behind.next = self.room.val() - self.used.val();
        self.fragment.next =
            self.network.val().fragment | (self.v6.val() & (self.protocol.q.val() == 44));
        self.ports_there.next = self.network.val().complete
            & !self.fragment.val()
            & (self.room.val() >= self.used.val())
            & (self.behind.val() >= 4);
        self.tcp.next = self.ports_there.val() & (self.protocol.q.val() == 6);
        self.udp.next = self.ports_there.val() & (self.protocol.q.val() == 17);
        self.doff.next = self.at.val().get_bits::<4>(100);
        self.doff_bytes.next = self.doff.val().to_bits();
        self.tcp_complete.next = self.tcp.val()
            & (self.behind.val() >= 20)
            & (self.doff.val() >= 5)
            & ((self.doff_bytes.val() << 2) <= self.behind.val());
        self.udp_there.next = self.udp.val() & (self.behind.val() >= 8);
        self.ip_len.next = self.network.val().ip_len.to_bits();
        self.used_wide.next = self.used.val().to_bits();
        self.length.next = self.ip_len.val() - self.used_wide.val();
        self.length_there.next = self.length.val().get_bits::<17>(0);

        self.held.en.next = self.step.val() & !self.advance.val();
        self.held.d.next.kind = 0.into();
        self.held.d.next.end_words = self.words.q.val();
        self.held.d.next.summable = false;
        if self.tcp.val() {
            self.held.d.next.kind = 1.into();
            self.held.d.next.summable = (self.behind.val() >= 20)
                & !self.length.val().get_bit(17)
                & (self.length_there.val() >= 20);
        } else if self.udp.val() {
            self.held.d.next.kind = 2.into();
            self.held.d.next.summable = self.udp_there.val()
                & !self.length.val().get_bit(17)
                & (self.length_there.val() >= 8);
        }
        if self.tcp_complete.val() {
            self.held.d.next.end_words = self.words.q.val() + bit_cast::<5, 4>(self.doff.val());
        } else if self.udp_there.val() {
            self.held.d.next.end_words = self.words.q.val() + 2;
        }
        self.held.d.next.tcp_complete = self.tcp_complete.val();
        self.held.d.next.absent = self.udp.val() & (self.at.val().get_bits::<16>(48) == 0);
        self.held.d.next.fragment = self.fragment.val();
        self.held.d.next.words = self.words.q.val();
        self.held.d.next.length = self.length.val().get_bits::<16>(0);
        self.held.d.next.ports = self.at.val().get_bits::<32>(0);
        self.held.d.next.seq = self.at.val().get_bits::<32>(32);
        self.held.d.next.flags = self.at.val().get_bits::<8>(104);
        self.fields.next = self.held.q.val();
    }
}
