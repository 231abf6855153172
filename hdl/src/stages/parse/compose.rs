//! Puts the layers' results together: metadata, and what `checksum` adds up.
//!
//!   tag, link, network, transport fields ──► sums, offsets ──► meta, control      0 cycles
//!
//! RFC 1071 (2)(B): sums are taken in received byte order and turned round once folded. The
//! transport verdict given here is provisional: `good` says that the sum decides (`admit`).
//! Invariant: a frame is a candidate only with its TCP header there in full (`rtl_parse`). Not
//! here: fields of later stages, 0.

use super::fold::Fold;
use super::link::LinkFields;
use super::network::NetworkFields;
use super::transport::TransportFields;
use crate::blocks::bits::ZExt;
use crate::blocks::byte_order::Swap;
use crate::blocks::meta::{FrameMeta, SumControl};
use rust_hdl::prelude::*;

/// What is known of a frame or token before its headers are looked at.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct ArrivalFields {
    pub bytes: Bits<8>,
    pub is_token: Bit,
    pub token_kind: Bits<2>,
    pub queue: Bits<5>,
    pub vlan_valid: Bit,
    pub vlan_tpid: Bit,
    pub vlan_tci: Bits<16>,
}

/// Combinational.
#[derive(LogicBlock, Default)]
pub struct Compose {
    pub vlan_gro: Signal<In, Bit>,
    pub arrival: Signal<In, ArrivalFields>,
    pub link: Signal<In, LinkFields>,
    pub network: Signal<In, NetworkFields>,
    pub transport: Signal<In, TransportFields>,
    pub meta: Signal<Out, FrameMeta>,
    pub control: Signal<Out, SumControl>,
    header_fold: Fold,
    address_fold: Fold,
    pseudo_fold: Fold,
    address_order: Swap<16>,
    pseudo_order: Swap<16>,
    length_order: Swap<16>,
    seq_order: Swap<32>,
    length: Signal<Local, Bits<24>>,
    protocol: Signal<Local, Bits<24>>,
    header_good: Signal<Local, Bit>,
    in_band: Signal<Local, Bit>,
    offset: Signal<Local, Bits<8>>,
    here: Signal<Local, Bits<8>>,
    behind: Signal<Local, Bits<8>>,
    l4_off: Signal<Local, Bits<8>>,
    received_extra: Signal<Local, Bits<8>>,
    start: Signal<Local, Bits<8>>,
    ip_end: Signal<Local, Bits<17>>,
}

impl Logic for Compose {
    #[hdl_gen]
    fn update(&mut self) {
        self.header_fold.sum.next = self.network.val().header_sum;
        self.header_good.next = (self.network.val().kind == 1)
            & self.network.val().complete
            & (self.header_fold.folded.val() == 0xffff);
        // Protocol and length as received: TCP's 6 and UDP's 17 in the high byte.
        self.address_fold.sum.next = self.network.val().address_sum + 0x0600;
        self.address_order.i.next = self.address_fold.folded.val();
        self.length_order.i.next = self.transport.val().length;
        self.seq_order.i.next = self.transport.val().seq;
        self.length.next = self.length_order.o.val().to_bits();
        self.protocol.next = 0x0600.into();
        if self.transport.val().kind == 2 {
            self.protocol.next = 0x1100.into();
        }
        self.pseudo_fold.sum.next =
            self.network.val().address_sum + self.protocol.val() + self.length.val();
        self.pseudo_order.i.next = self.pseudo_fold.folded.val();

        self.offset.next = bit_cast::<8, 5>(self.link.val().offset);
        self.here.next = bit_cast::<8, 5>(self.transport.val().words);
        self.behind.next = bit_cast::<8, 5>(self.transport.val().end_words);
        self.l4_off.next = self.offset.val() + (self.here.val() << 2);
        self.in_band.next = self.link.val().tags != 0;

        self.meta.next.is_token = self.arrival.val().is_token;
        self.meta.next.token_kind = self.arrival.val().token_kind;
        self.meta.next.queue = self.arrival.val().queue;
        self.meta.next.hash = 0.into();
        self.meta.next.hash_type = 0.into();
        self.meta.next.vlan_valid = self.arrival.val().vlan_valid;
        self.meta.next.vlan_tpid = self.arrival.val().vlan_tpid;
        self.meta.next.vlan_tci = self.arrival.val().vlan_tci;
        self.meta.next.packet_type = 0.into();
        self.meta.next.protocol = 0.into();
        self.meta.next.hdr_len = self.offset.val();
        if self.network.val().complete {
            self.meta.next.hdr_len = self.offset.val() + (self.behind.val() << 2);
        }
        self.meta.next.l3_kind = self.network.val().kind;
        self.meta.next.l3_off = self.link.val().offset;
        self.meta.next.l4_kind = self.transport.val().kind;
        self.meta.next.l4_off = self.l4_off.val().get_bits::<7>(0);
        self.meta.next.fragment = self.transport.val().fragment;
        self.meta.next.ip_len = self.network.val().ip_len;
        self.meta.next.l3_verdict = 0.into();
        if (self.network.val().kind == 1) & self.network.val().complete {
            self.meta.next.l3_verdict = 2.into();
            if self.header_good.val() {
                self.meta.next.l3_verdict = 1.into();
            }
        }
        self.meta.next.l4_verdict = 0.into();
        if self.transport.val().summable {
            self.meta.next.l4_verdict = 1.into();
            if self.transport.val().absent {
                self.meta.next.l4_verdict = 3.into();
            }
        }
        self.meta.next.addr_sum = self.address_order.o.val();
        self.meta.next.candidate = self.transport.val().tcp_complete
            & ((self.network.val().kind == 2)
                | (self.network.val().plain & self.header_good.val()))
            & (self.vlan_gro.val() | !self.in_band.val());
        self.meta.next.soft_flush = self.network.val().reserved;
        self.meta.next.ip_id = self.network.val().id;
        self.meta.next.ip_csum = self.network.val().csum;
        self.meta.next.ip_tot_len = self.network.val().tot_len;
        self.meta.next.tcp_seq = self.seq_order.o.val();
        self.meta.next.tcp_flags = self.transport.val().flags;
        self.meta.next.payload_len = 0.into();
        self.meta.next.frame_bytes = 0.into();

        // In received bytes: a stripped tag is still in front.
        self.received_extra.next = 0.into();
        if self.arrival.val().vlan_valid {
            self.received_extra.next = 4.into();
        }
        self.start.next = self.l4_off.val() + self.received_extra.val();
        self.ip_end.next = bit_cast::<17, 8>(self.offset.val())
            + bit_cast::<17, 8>(self.received_extra.val())
            + self.network.val().ip_len;
        self.control.next.start = 0.into();
        self.control.next.end = 0.into();
        if self.transport.val().summable {
            self.control.next.start = self.start.val();
            self.control.next.end = self.ip_end.val();
        }
        self.control.next.init = self.pseudo_order.o.val();
    }
}
