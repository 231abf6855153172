//! Compares the header of a frame with that of a held session.
//!
//!   new, stored, masks ──► Diff        combinational, between session RAM and a register
//!
//! Whole words are compared under the frame's masks. The words of the IP header in which only some
//! bits count are picked at the four possible positions and compared under fixed masks.
//!
//! Follows gro-semantics: §1.2.2, §1.3, §1.4 (identity), §1.6.1 to §1.6.4 (what a merge needs).
//! Invariant: length, identification, checksums, sequence and urgent pointer never matter
//! (`operations_equal_the_model`). Not here: lists of reasons, identification arithmetic.

use super::key::{Key, WORDS};
use crate::comment;
use rust_hdl::prelude::*;

/// Where two headers differ.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Diff {
    /// In the flow's identity.
    pub identity: Bit,
    /// In the acknowledgement number.
    pub ack: Bit,
    /// In data offset, reserved bits or window.
    pub word: Bit,
    /// In TCP options.
    pub options: Bit,
    /// In TOS, TTL and "don't fragment", or traffic class and hop limit.
    pub network: Bit,
}

/// Computes the [`Diff`].
#[derive(LogicBlock)]
pub struct Compare {
    /// Compares; else the result means nothing (it costs simulation time).
    pub en: Signal<In, Bit>,
    /// Header of the frame.
    pub arrived: Signal<In, Bits<1024>>,
    /// Header of the session.
    pub stored: Signal<In, Bits<1024>>,
    /// Of the frame.
    pub key: Signal<In, Key>,
    /// Of the frame.
    pub ipv4: Signal<In, Bit>,
    /// Of the frame.
    pub l3_off: Signal<In, Bits<5>>,
    /// Result.
    pub diff: Signal<Out, Diff>,
    out: Signal<Local, Diff>,
    x: Vec<Signal<Local, Bits<32>>>,
    differs: Signal<Local, Bits<31>>,
    outside_flags: Signal<Local, Bits<31>>,
    first: Signal<Local, Bits<16>>,
    ip0: Signal<Local, Bits<32>>,
    ip1: Signal<Local, Bits<32>>,
    ip2: Signal<Local, Bits<32>>,
    identity_ip: Signal<Local, Bits<32>>,
    network_ip: Signal<Local, Bits<32>>,
    none: Constant<Bits<31>>,
    zero: Constant<Bits<32>>,
    zero16: Constant<Bits<16>>,
    not_flags: Constant<Bits<32>>,
    tag: [Constant<Bits<5>>; 3],
    v4_tos: Constant<Bits<32>>,
    v4_df: Constant<Bits<32>>,
    v4_ttl: Constant<Bits<32>>,
    v4_protocol: Constant<Bits<32>>,
    v6_class: Constant<Bits<32>>,
    v6_hop: Constant<Bits<32>>,
    v6_flow: Constant<Bits<32>>,
    v6_next: Constant<Bits<32>>,
}

impl Default for Compare {
    fn default() -> Self {
        let mask = |m: u64| Constant::new(m.into());
        Self {
            en: Default::default(),
            arrived: Default::default(),
            stored: Default::default(),
            key: Default::default(),
            ipv4: Default::default(),
            l3_off: Default::default(),
            diff: Default::default(),
            out: Default::default(),
            x: vec![Default::default(); WORDS],
            differs: Default::default(),
            outside_flags: Default::default(),
            first: Default::default(),
            ip0: Default::default(),
            ip1: Default::default(),
            ip2: Default::default(),
            identity_ip: Default::default(),
            network_ip: Default::default(),
            none: Constant::new(0.into()),
            zero: Constant::new(0.into()),
            zero16: Constant::new(0.into()),
            // The second byte of the word at TCP offset 12.
            not_flags: mask(0xffff_00ff),
            tag: [14u64, 18, 22].map(|off| Constant::new(off.into())),
            // First byte lowest.
            v4_tos: mask(0x0000_ff00),
            v4_df: mask(0x0040_0000),
            v4_ttl: mask(0x0000_00ff),
            v4_protocol: mask(0x0000_ff00),
            v6_class: mask(0x0000_f00f),
            v6_hop: mask(0xff00_0000),
            v6_flow: mask(0xffff_0ff0),
            v6_next: mask(0x00ff_0000),
        }
    }
}

impl Logic for Compare {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_compare");
        self.differs.next = self.none.val();
        self.outside_flags.next = self.none.val();
        self.first.next = self.zero16.val();
        for w in 0..WORDS {
            self.x[w].next = self.zero.val();
        }
        if self.en.val() {
            self.first.next =
                self.arrived.val().get_bits::<16>(0) ^ self.stored.val().get_bits::<16>(0);
            for w in 0..WORDS {
                self.x[w].next = self.arrived.val().get_bits::<32>(w * 32 + 16)
                    ^ self.stored.val().get_bits::<32>(w * 32 + 16);
                if self.x[w].val().any() {
                    self.differs.next = self.differs.val().replace_bit(w, true);
                }
                if (self.x[w].val() & self.not_flags.val()).any() {
                    self.outside_flags.next = self.outside_flags.val().replace_bit(w, true);
                }
            }
        }
        // The IP header starts at word 3, 4, 5 or 6.
        self.ip0.next = self.x[6].val();
        self.ip1.next = self.x[7].val();
        self.ip2.next = self.x[8].val();
        if self.l3_off.val() == self.tag[0].val() {
            self.ip0.next = self.x[3].val();
            self.ip1.next = self.x[4].val();
            self.ip2.next = self.x[5].val();
        } else if self.l3_off.val() == self.tag[1].val() {
            self.ip0.next = self.x[4].val();
            self.ip1.next = self.x[5].val();
            self.ip2.next = self.x[6].val();
        } else if self.l3_off.val() == self.tag[2].val() {
            self.ip0.next = self.x[5].val();
            self.ip1.next = self.x[6].val();
            self.ip2.next = self.x[7].val();
        }
        self.identity_ip.next =
            (self.ip0.val() & self.v6_flow.val()) | (self.ip1.val() & self.v6_next.val());
        if self.ipv4.val() {
            self.identity_ip.next = self.ip2.val() & self.v4_protocol.val();
        }
        self.network_ip.next =
            (self.ip0.val() & self.v6_class.val()) | (self.ip1.val() & self.v6_hop.val());
        if self.key.val().rules4 {
            self.network_ip.next = (self.ip0.val() & self.v4_tos.val())
                | (self.ip1.val() & self.v4_df.val())
                | (self.ip2.val() & self.v4_ttl.val());
        }
        self.out.next.identity = self.first.val().any()
            | (self.differs.val() & self.key.val().identity).any()
            | self.identity_ip.val().any();
        self.out.next.ack = (self.differs.val() & self.key.val().ack).any();
        self.out.next.word = (self.outside_flags.val() & self.key.val().word).any();
        self.out.next.options = (self.differs.val() & self.key.val().options).any();
        self.out.next.network = self.network_ip.val().any();
        self.diff.next = self.out.val();
    }
}
