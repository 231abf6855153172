//! What a frame is looked up and compared by: masks over its header words, digest, class.
//!
//!   metadata, header ──► Key        combinational, in front of the frame register
//!
//! IP and TCP headers start at byte 2 of a 4-byte word, whatever tags, options and extension
//! headers are in front. So a mask has one bit per word of bytes 2..126: word w holds bytes 2 + 4 w
//! to 5 + 4 w.
//!
//! Follows gro-semantics: §1.2.2 (same flow), §1.4, §1.6 (what is compared), §1.7 (what is held),
//! §1.8 (checksum state of a frame that is delivered alone).
//! Invariants: frames of one identity have one digest (`digest_collisions_never_merge` is about the
//! reverse); length, identification and checksum words are in no mask, and parts of a word are
//! compared apart.
//! Not here: candidates, verdicts: they come with the metadata.

use crate::blocks::meta::FrameMeta;
use crate::comment;
use groove_spec::{AloneReason, Verdict};
use rust_hdl::prelude::*;

/// Words of the header that masks cover.
pub const WORDS: usize = 31;
const L4_TCP: u64 = 1;
const L3_IPV4: u64 = 1;

/// Masks, digest and class of a frame.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Key {
    /// Words that must be equal in frames of one flow.
    pub identity: Bits<31>,
    /// Words of TCP options.
    pub options: Bits<31>,
    /// The word of the acknowledgement number.
    pub ack: Bits<31>,
    /// The word of data offset, flags and window.
    pub word: Bits<31>,
    /// Fold of the identity words.
    pub digest: Bits<16>,
    /// A held session of its flow matters.
    pub search: Bit,
    /// Would be held.
    pub hold: Bit,
    /// Carries URG, PSH, RST, SYN or FIN.
    pub ends: Bit,
    /// The version nibble is not 6: merge rules read the header as IPv4, whatever the ethertype
    /// said.
    pub rules4: Bit,
    /// IPv4 "don't fragment", by position.
    pub df: Bit,
    /// IPv4 identification, by position.
    pub ip_id: Bits<16>,
    /// Checksum state when delivered alone: unnecessary.
    pub verified: Bit,
    /// Code of `AloneReason` when not held.
    pub alone_reason: Bits<3>,
}

/// Computes the [`Key`].
#[derive(LogicBlock)]
pub struct FrameKey {
    /// The frame.
    pub meta: Signal<In, FrameMeta>,
    /// Its header.
    pub header: Signal<In, Bits<1024>>,
    /// There is a frame; without one the digest means nothing (it costs simulation time).
    pub en: Signal<In, Bit>,
    /// Option.
    pub rxcsum: Signal<In, Bit>,
    /// Option.
    pub vlan_gro: Signal<In, Bit>,
    /// Option.
    pub strict_order: Signal<In, Bit>,
    /// Result.
    pub key: Signal<Out, Key>,
    out: Signal<Local, Key>,
    identity: Signal<Local, Bits<31>>,
    options: Signal<Local, Bits<31>>,
    ack: Signal<Local, Bits<31>>,
    word: Signal<Local, Bits<31>>,
    ipv4: Signal<Local, Bit>,
    tcp: Signal<Local, Bit>,
    empty: Signal<Local, Bit>,
    l3_field: Signal<Local, Bits<5>>,
    l3_off: Signal<Local, Bits<8>>,
    l4_field: Signal<Local, Bits<7>>,
    l4_off: Signal<Local, Bits<8>>,
    hdr_len: Signal<Local, Bits<8>>,
    addresses: Signal<Local, Bits<8>>,
    ack_off: Signal<Local, Bits<8>>,
    word_off: Signal<Local, Bits<8>>,
    options_off: Signal<Local, Bits<8>>,
    plain_l4: Signal<Local, Bits<8>>,
    plain: Signal<Local, Bit>,
    masked: Vec<Signal<Local, Bits<32>>>,
    fold: Signal<Local, Bits<32>>,
    flags: Signal<Local, Bits<8>>,
    given: Signal<Local, Bit>,
    reaches: Signal<Local, Bit>,
    ip1: Signal<Local, Bits<32>>,
    nibble: Signal<Local, Bits<4>>,
    id: Signal<Local, Bits<16>>,
    address_end: Signal<Local, Bits<8>>,
    position: Vec<Constant<Bits<8>>>,
    v4_addresses: Constant<Bits<8>>,
    v6_addresses: Constant<Bits<8>>,
    to_ack: Constant<Bits<8>>,
    to_word: Constant<Bits<8>>,
    to_options: Constant<Bits<8>>,
    no_words: Constant<Bits<31>>,
    zero32: Constant<Bits<32>>,
    ending: Constant<Bits<8>>,
    kind_ipv4: Constant<Bits<2>>,
    kind_tcp: Constant<Bits<2>>,
    version6: Constant<Bits<4>>,
    good: Constant<Bits<2>>,
    bad: Constant<Bits<2>>,
    absent: Constant<Bits<2>>,
    untagged: Constant<Bits<8>>,
    tagged1: Constant<Bits<8>>,
    tagged2: Constant<Bits<8>>,
    bypass: Constant<Bits<3>>,
    no_payload: Constant<Bits<3>>,
    flagged: Constant<Bits<3>>,
    padded: Constant<Bits<3>>,
}

impl Default for FrameKey {
    fn default() -> Self {
        let alone = |reason: AloneReason| Constant::new(u64::from(reason.code()).into());
        let verdict = |v: Verdict| Constant::new(u64::from(v.code()).into());
        Self {
            meta: Default::default(),
            header: Default::default(),
            en: Default::default(),
            rxcsum: Default::default(),
            vlan_gro: Default::default(),
            strict_order: Default::default(),
            key: Default::default(),
            out: Default::default(),
            identity: Default::default(),
            options: Default::default(),
            ack: Default::default(),
            word: Default::default(),
            ipv4: Default::default(),
            tcp: Default::default(),
            empty: Default::default(),
            l3_field: Default::default(),
            l3_off: Default::default(),
            l4_field: Default::default(),
            l4_off: Default::default(),
            hdr_len: Default::default(),
            addresses: Default::default(),
            ack_off: Default::default(),
            word_off: Default::default(),
            options_off: Default::default(),
            plain_l4: Default::default(),
            plain: Default::default(),
            masked: vec![Default::default(); WORDS],
            fold: Default::default(),
            flags: Default::default(),
            given: Default::default(),
            reaches: Default::default(),
            ip1: Default::default(),
            nibble: Default::default(),
            id: Default::default(),
            address_end: Default::default(),
            position: (0..WORDS as u64).map(|w| Constant::new((2 + 4 * w).into())).collect(),
            v4_addresses: Constant::new(12.into()),
            v6_addresses: Constant::new(8.into()),
            to_ack: Constant::new(8.into()),
            to_word: Constant::new(12.into()),
            to_options: Constant::new(20.into()),
            no_words: Constant::new(0.into()),
            zero32: Constant::new(0.into()),
            ending: Constant::new(0x2f.into()),
            kind_ipv4: Constant::new(L3_IPV4.into()),
            kind_tcp: Constant::new(L4_TCP.into()),
            version6: Constant::new(6.into()),
            good: verdict(Verdict::Good),
            bad: verdict(Verdict::Bad),
            absent: verdict(Verdict::Absent),
            untagged: Constant::new(14.into()),
            tagged1: Constant::new(18.into()),
            tagged2: Constant::new(22.into()),
            bypass: alone(AloneReason::Bypass),
            no_payload: alone(AloneReason::Empty),
            flagged: alone(AloneReason::Flags),
            padded: alone(AloneReason::SoftFlush),
        }
    }
}

impl Logic for FrameKey {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_key");
        self.ipv4.next = self.meta.val().l3_kind == self.kind_ipv4.val();
        self.tcp.next = self.meta.val().l4_kind == self.kind_tcp.val();
        self.l3_field.next = self.meta.val().l3_off;
        self.l3_off.next = bit_cast::<8, 5>(self.l3_field.val());
        self.l4_field.next = self.meta.val().l4_off;
        self.l4_off.next = bit_cast::<8, 7>(self.l4_field.val());
        self.hdr_len.next = self.meta.val().hdr_len;
        self.addresses.next = self.l3_off.val() + self.v6_addresses.val();
        if self.ipv4.val() {
            self.addresses.next = self.l3_off.val() + self.v4_addresses.val();
        }
        self.plain_l4.next = self.l3_off.val() + self.to_options.val();
        self.address_end.next = self.l4_off.val();
        if self.ipv4.val() {
            self.address_end.next = self.plain_l4.val();
        }
        self.ack_off.next = self.l4_off.val() + self.to_ack.val();
        self.word_off.next = self.l4_off.val() + self.to_word.val();
        self.options_off.next = self.l4_off.val() + self.to_options.val();

        self.identity.next = self.no_words.val();
        self.options.next = self.no_words.val();
        self.ack.next = self.no_words.val();
        self.word.next = self.no_words.val();
        self.fold.next = self.zero32.val();
        for w in 0..WORDS {
            self.masked[w].next = self.zero32.val();
        }
        if self.en.val() {
            for w in 0..WORDS {
                // MAC and tags; addresses and extension headers; ports.
                if (self.position[w].val() < self.l3_off.val())
                    | ((self.position[w].val() >= self.addresses.val())
                        & (self.position[w].val() < self.address_end.val()))
                    | (self.position[w].val() == self.l4_off.val())
                {
                    self.identity.next = self.identity.val().replace_bit(w, true);
                    self.masked[w].next = self.header.val().get_bits::<32>(w * 32 + 16);
                }
                if (self.position[w].val() >= self.options_off.val())
                    & (self.position[w].val() < self.hdr_len.val())
                {
                    self.options.next = self.options.val().replace_bit(w, true);
                }
                if self.position[w].val() == self.ack_off.val() {
                    self.ack.next = self.ack.val().replace_bit(w, true);
                }
                if self.position[w].val() == self.word_off.val() {
                    self.word.next = self.word.val().replace_bit(w, true);
                }
                self.fold.next = self.fold.val() ^ self.masked[w].val();
            }
        }

        self.flags.next = self.meta.val().tcp_flags;
        self.empty.next = self.meta.val().payload_len == 0;
        self.out.next.identity = self.identity.val();
        self.out.next.options = self.options.val();
        self.out.next.ack = self.ack.val();
        self.out.next.word = self.word.val();
        self.out.next.digest =
            self.fold.val().get_bits::<16>(0) ^ self.fold.val().get_bits::<16>(16);
        // With IPv4 options the ports lie elsewhere: such a frame meets no session.
        self.plain.next = !self.ipv4.val() | (self.l4_off.val() == self.plain_l4.val());
        self.out.next.search = self.meta.val().candidate
            | (self.strict_order.val() & self.tcp.val() & self.plain.val());
        self.out.next.ends = (self.flags.val() & self.ending.val()).any();
        self.out.next.hold = self.meta.val().candidate
            & !self.empty.val()
            & !(self.flags.val() & self.ending.val()).any()
            & !self.meta.val().soft_flush;
        if !self.meta.val().candidate {
            self.out.next.alone_reason = self.bypass.val();
        } else if self.empty.val() {
            self.out.next.alone_reason = self.no_payload.val();
        } else if (self.flags.val() & self.ending.val()).any() {
            self.out.next.alone_reason = self.flagged.val();
        } else {
            self.out.next.alone_reason = self.padded.val();
        }

        // The second word of the IP header, which starts at byte 14, 18, 22 or 26.
        if self.l3_off.val() == self.untagged.val() {
            self.nibble.next = self.header.val().get_bits::<4>(116);
            self.ip1.next = self.header.val().get_bits::<32>(144);
        } else if self.l3_off.val() == self.tagged1.val() {
            self.nibble.next = self.header.val().get_bits::<4>(148);
            self.ip1.next = self.header.val().get_bits::<32>(176);
        } else if self.l3_off.val() == self.tagged2.val() {
            self.nibble.next = self.header.val().get_bits::<4>(180);
            self.ip1.next = self.header.val().get_bits::<32>(208);
        } else {
            self.nibble.next = self.header.val().get_bits::<4>(212);
            self.ip1.next = self.header.val().get_bits::<32>(240);
        }
        self.id.next = self.ip1.val().get_bits::<16>(0);
        self.out.next.ip_id = (self.id.val() >> 8) | (self.id.val() << 8);
        self.out.next.df = self.ip1.val().get_bit(22);
        self.out.next.rules4 = self.nibble.val() != self.version6.val();

        self.given.next = self.rxcsum.val()
            & (self.meta.val().l4_verdict == self.good.val())
            & (self.meta.val().l3_verdict != self.bad.val());
        // On its way through GRO, TCP or UDP is verified unless it is soft-flushed.
        self.reaches.next = (self.vlan_gro.val() | (self.l3_off.val() == self.untagged.val()))
            & self.plain.val()
            & (!self.ipv4.val() | (self.meta.val().l3_verdict == self.good.val()));
        self.out.next.verified = self.given.val()
            | (self.reaches.val()
                & !self.meta.val().soft_flush
                & ((self.meta.val().l4_verdict == self.good.val())
                    | (self.meta.val().l4_verdict == self.absent.val())));
        self.key.next = self.out.val();
    }
}
