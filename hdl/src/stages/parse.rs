//! Finds the headers of a frame and extracts their fields.
//!
//!   head ─► tag strip ─► link ─► network ─► transport, extension headers ─► compose ─► flow
//!                load      1        1           1         + 1 each               1  └──► sum
//!
//! A frame takes 4 cycles, and one more per extension header; the next one is loaded in the cycle
//! that composes the last one, so the sustained interval is 4 as well. Follows IEEE 802.1Q, RFC
//! 791, RFC 8200, RFC 9293, RFC 768. Fields are read at offsets: one 4:1 multiplexer and one shift,
//! none per layer.
//!
//! Invariants, all in `rtl_parse`: every field equals the model's; nothing behind the collected
//! bytes or behind the frame is read as a header; 4 cycles per frame while nothing stalls; tokens
//! stay in order. Not here: tunnels and PPPoE, which are opaque.

mod address_sum;
mod compose;
mod fold;
mod header_sum;
mod link;
mod network;
mod tag;
mod transport;

use crate::blocks::bits::ZExt;
use crate::blocks::meta::{FlowSource, FrameMeta, HeadSink, SumControl, SumSource};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use compose::{ArrivalFields, Compose};
use link::Link;
use network::Network;
use rust_hdl::prelude::*;
use tag::TagStrip;
use transport::Transport;

/// What the frame in the header register is in for.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ParseState {
    Empty,
    Link,
    Network,
    Transport,
    Compose,
}

/// See the module.
#[derive(LogicBlock, Default)]
pub struct Parse {
    pub cr: ClkRst,
    /// Options of `CONTROL`.
    pub vlan_strip: Signal<In, Bit>,
    pub vlan_gro: Signal<In, Bit>,
    pub trim_pad: Signal<In, Bit>,
    pub s: HeadSink,
    pub m: FlowSource,
    pub sum: SumSource,
    tag: TagStrip,
    link: Link,
    network: Network,
    transport: Transport,
    compose: Compose,
    state: RegR<ParseState>,
    header: RegE<Bits<1024>>,
    arrival: RegE<ArrivalFields>,
    out_waits: RegR<Bit>,
    out_meta: RegE<FrameMeta>,
    out_header: RegE<Bits<1024>>,
    out_addresses: RegE<Bits<256>>,
    out_ports: RegE<Bits<32>>,
    out_hashable: RegE<Bit>,
    control_waits: RegR<Bit>,
    control_held: RegE<SumControl>,
    ready: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    emit: Signal<Local, Bit>,
}

impl Logic for Parse {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.link.cr);
        ClkRst::link(&mut self.cr, &mut self.network.cr);
        ClkRst::link(&mut self.cr, &mut self.transport.cr);
        ClkRst::link(&mut self.cr, &mut self.state.cr);
        ClkRst::link(&mut self.cr, &mut self.header.cr);
        ClkRst::link(&mut self.cr, &mut self.arrival.cr);
        ClkRst::link(&mut self.cr, &mut self.out_waits.cr);
        ClkRst::link(&mut self.cr, &mut self.out_meta.cr);
        ClkRst::link(&mut self.cr, &mut self.out_header.cr);
        ClkRst::link(&mut self.cr, &mut self.out_addresses.cr);
        ClkRst::link(&mut self.cr, &mut self.out_ports.cr);
        ClkRst::link(&mut self.cr, &mut self.out_hashable.cr);
        ClkRst::link(&mut self.cr, &mut self.control_waits.cr);
        ClkRst::link(&mut self.cr, &mut self.control_held.cr);

        // Both outputs must be free; their `ready` plays no part, which costs nothing while each is
        // taken within 3 cycles.
        self.emit.next = (self.state.q.val() == ParseState::Compose)
            & !self.out_waits.q.val()
            & (!self.control_waits.q.val() | self.arrival.q.val().is_token);
        self.ready.next = (self.state.q.val() == ParseState::Empty) | self.emit.val();
        self.load.next = self.ready.val() & self.s.valid.val();
        self.state.d.next = self.state.q.val();
        match self.state.q.val() {
            ParseState::Link => {
                self.state.d.next = ParseState::Network;
            }
            ParseState::Network => {
                self.state.d.next = ParseState::Transport;
            }
            ParseState::Transport => {
                if !self.transport.more.val() {
                    self.state.d.next = ParseState::Compose;
                }
            }
            _ => {
                if self.load.val() {
                    self.state.d.next = ParseState::Link;
                } else if self.emit.val() {
                    self.state.d.next = ParseState::Empty;
                }
            }
        }

        self.tag.enable.next = self.vlan_strip.val() & !self.s.is_token.val();
        self.tag.header.next = self.s.header.val();
        self.tag.bytes.next = self.s.bytes.val();
        self.header.en.next = self.load.val();
        self.header.d.next = self.tag.stripped.val();
        self.arrival.en.next = self.load.val();
        self.arrival.d.next.bytes = self.tag.bytes_left.val();
        self.arrival.d.next.is_token = self.s.is_token.val();
        self.arrival.d.next.token_kind = self.s.token_kind.val();
        self.arrival.d.next.queue = self.s.queue.val();
        self.arrival.d.next.vlan_valid = self.tag.valid.val();
        self.arrival.d.next.vlan_tpid = self.tag.tpid.val();
        self.arrival.d.next.vlan_tci = self.tag.tci.val();

        self.link.go.next = self.state.q.val() == ParseState::Link;
        self.link.header.next = self.header.q.val();
        self.link.bytes.next = self.arrival.q.val().bytes;
        self.network.go.next = self.state.q.val() == ParseState::Network;
        self.network.trim.next = self.trim_pad.val();
        self.network.ethertype.next = self.link.fields.val().kind;
        self.network.room.next = self.link.fields.val().room;
        self.network.window.next = self.link.window.val();
        self.transport.start.next = self.state.q.val() == ParseState::Network;
        self.transport.start_words.next = self.network.next_words.val();
        self.transport.start_protocol.next = self.network.next_protocol.val();
        self.transport.step.next = self.state.q.val() == ParseState::Transport;
        self.transport.window.next = self.link.window.val();
        self.transport.network.next = self.network.fields.val();
        self.compose.vlan_gro.next = self.vlan_gro.val();
        self.compose.arrival.next = self.arrival.q.val();
        self.compose.link.next = self.link.fields.val();
        self.compose.network.next = self.network.fields.val();
        self.compose.transport.next = self.transport.fields.val();

        self.out_waits.d.next = self.emit.val() | (self.out_waits.q.val() & !self.m.ready.val());
        self.out_meta.en.next = self.emit.val();
        self.out_meta.d.next = self.compose.meta.val();
        self.out_header.en.next = self.emit.val();
        self.out_header.d.next = self.header.q.val();
        self.out_addresses.en.next = self.emit.val();
        self.out_addresses.d.next = self.link.window.val().get_bits::<256>(64);
        if self.network.fields.val().kind == 1 {
            self.out_addresses.d.next = self.link.window.val().get_bits::<64>(96).to_bits();
        }
        self.out_ports.en.next = self.emit.val();
        self.out_ports.d.next = self.transport.fields.val().ports;
        self.out_hashable.en.next = self.emit.val();
        self.out_hashable.d.next = self.network.fields.val().version_fits;
        self.control_waits.d.next = (self.emit.val() & !self.arrival.q.val().is_token)
            | (self.control_waits.q.val() & !self.sum.ready.val());
        self.control_held.en.next = self.emit.val() & !self.arrival.q.val().is_token;
        self.control_held.d.next = self.compose.control.val();

        self.s.ready.next = self.ready.val();
        self.m.meta.next = self.out_meta.q.val();
        self.m.header.next = self.out_header.q.val();
        self.m.addresses.next = self.out_addresses.q.val();
        self.m.ports.next = self.out_ports.q.val();
        self.m.hashable.next = self.out_hashable.q.val();
        self.m.valid.next = self.out_waits.q.val();
        self.sum.control.next = self.control_held.q.val();
        self.sum.valid.next = self.control_waits.q.val();
    }
}
