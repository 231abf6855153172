//! May the frame join the session, and if not, why: the merge decision.
//!
//!   frame, session, Diff ──► Facts        combinational, in front of a register
//!
//! Follows gro-semantics §1.6 with its measured corrections (kernel `tcp_gro_receive`,
//! `inet_gro_flush`, `skb_gro_receive` of 6.12, 6.18, 7.3); the model's decision function.
//! Invariants: of several reasons the first of `EndReason` is given (`operations_equal_the_model`);
//! an identification is fixed only if the second frame repeats the first
//! (`operations_equal_the_model`).
//! Not here: what follows from it (`decide`).

use super::compare::Diff;
use super::key::Key;
use super::session::Session;
use crate::blocks::meta::FrameMeta;
use crate::comment;
use groove_spec::{EndReason, Profile};
use rust_hdl::prelude::*;

/// What is known of a frame and one session.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Facts {
    /// They are of one flow.
    pub same: Bit,
    /// Code of `EndReason` that keeps the frame out; 0: it may join.
    pub reason: Bits<5>,
    /// The identification is fixed, this frame included.
    pub fixed_id: Bit,
    /// The payload is shorter than `gso_size`.
    pub short: Bit,
}

/// Computes the [`Facts`].
#[derive(LogicBlock)]
pub struct Rules {
    /// The frame.
    pub meta: Signal<In, FrameMeta>,
    /// Its class.
    pub key: Signal<In, Key>,
    /// The session.
    pub session: Signal<In, Session>,
    /// Where their headers differ.
    pub diff: Signal<In, Diff>,
    /// Code of `Profile`.
    pub profile: Signal<In, Bits<2>>,
    /// Result.
    pub facts: Signal<Out, Facts>,
    out: Signal<Local, Facts>,
    old_rules: Signal<Local, Bit>,
    flags: Signal<Local, Bits<8>>,
    flags_differ: Signal<Local, Bits<8>>,
    vlan_differ: Signal<Local, Bit>,
    delta: Signal<Local, Bits<16>>,
    expected: Signal<Local, Bits<16>>,
    fixed: Signal<Local, Bit>,
    length: Signal<Local, Bits<16>>,
    length18: Signal<Local, Bits<18>>,
    bytes: Signal<Local, Bits<17>>,
    bytes18: Signal<Local, Bits<18>>,
    total: Signal<Local, Bits<18>>,
    too_long: Signal<Local, Bit>,
    zero: Constant<Bits<16>>,
    one: Constant<Bits<16>>,
    profile_612: Constant<Bits<2>>,
    profile_73: Constant<Bits<2>>,
    compared: Constant<Bits<8>>,
    compared_612: Constant<Bits<8>>,
    none: Constant<Bits<5>>,
    cwr: Constant<Bits<5>>,
    flags_reason: Constant<Bits<5>>,
    ack: Constant<Bits<5>>,
    options: Constant<Bits<5>>,
    network: Constant<Bits<5>>,
    ip_id: Constant<Bits<5>>,
    empty: Constant<Bits<5>>,
    larger: Constant<Bits<5>>,
    out_of_order: Constant<Bits<5>>,
    soft_flush: Constant<Bits<5>>,
    limit: Constant<Bits<5>>,
}

impl Default for Rules {
    fn default() -> Self {
        let reason = |r: EndReason| Constant::new(u64::from(r.code()).into());
        let profile = |p: Profile| Constant::new(u64::from(p.code()).into());
        Self {
            meta: Default::default(),
            key: Default::default(),
            session: Default::default(),
            diff: Default::default(),
            profile: Default::default(),
            facts: Default::default(),
            out: Default::default(),
            old_rules: Default::default(),
            flags: Default::default(),
            flags_differ: Default::default(),
            vlan_differ: Default::default(),
            delta: Default::default(),
            expected: Default::default(),
            fixed: Default::default(),
            length: Default::default(),
            length18: Default::default(),
            bytes: Default::default(),
            bytes18: Default::default(),
            total: Default::default(),
            too_long: Default::default(),
            zero: Constant::new(0.into()),
            one: Constant::new(1.into()),
            profile_612: profile(Profile::Linux612),
            profile_73: profile(Profile::Linux73),
            // All but FIN and PSH; in 6.12 all but CWR too.
            compared: Constant::new(0xf6.into()),
            compared_612: Constant::new(0x76.into()),
            none: reason(EndReason::None),
            cwr: reason(EndReason::CwrDiffer),
            flags_reason: reason(EndReason::FlagsDiffer),
            ack: reason(EndReason::AckDiffer),
            options: reason(EndReason::OptionsDiffer),
            network: reason(EndReason::NetworkDiffer),
            ip_id: reason(EndReason::IpId),
            empty: reason(EndReason::Empty),
            larger: reason(EndReason::Larger),
            out_of_order: reason(EndReason::Sequence),
            soft_flush: reason(EndReason::SoftFlush),
            limit: reason(EndReason::Limit),
        }
    }
}

impl Logic for Rules {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_rules");
        self.old_rules.next = self.profile.val() == self.profile_612.val();
        self.flags.next = self.meta.val().tcp_flags;
        self.length.next = self.meta.val().payload_len;

        self.vlan_differ.next = (self.meta.val().vlan_valid != self.session.val().vlan_valid)
            | (self.meta.val().vlan_valid
                & ((self.meta.val().vlan_tpid != self.session.val().vlan_tpid)
                    | (self.meta.val().vlan_tci != self.session.val().vlan_tci)));
        self.out.next.same = !self.diff.val().identity & !self.vlan_differ.val();

        self.flags_differ.next =
            (self.flags.val() ^ self.session.val().tcp_flags) & self.compared.val();
        if self.old_rules.val() {
            self.flags_differ.next =
                (self.flags.val() ^ self.session.val().tcp_flags) & self.compared_612.val();
        }

        self.delta.next = self.key.val().ip_id - self.session.val().ip_id;
        self.fixed.next = self.session.val().fixed_id;
        if self.session.val().count == self.one.val() {
            self.fixed.next = self.key.val().rules4
                & (self.delta.val() == self.zero.val())
                & (!self.old_rules.val() | self.key.val().df);
        }
        self.expected.next = self.session.val().count;
        if self.fixed.val() {
            self.expected.next = self.zero.val();
        }

        self.bytes.next = self.session.val().bytes;
        self.bytes18.next = bit_cast::<18, 17>(self.bytes.val());
        self.length18.next = bit_cast::<18, 16>(self.length.val());
        self.total.next = self.bytes18.val() + self.length18.val();
        self.too_long.next = self.total.val().get_bit(16) | self.total.val().get_bit(17);

        self.out.next.fixed_id = self.fixed.val();
        self.out.next.short = self.length.val() < self.session.val().gso_size;
        self.out.next.reason = self.none.val();
        if self.flags.val().get_bit(7) & (self.profile.val() < self.profile_73.val()) {
            self.out.next.reason = self.cwr.val();
        } else if self.flags_differ.val().any() | self.diff.val().word {
            self.out.next.reason = self.flags_reason.val();
        } else if self.diff.val().ack {
            self.out.next.reason = self.ack.val();
        } else if self.diff.val().options {
            self.out.next.reason = self.options.val();
        } else if self.diff.val().network {
            self.out.next.reason = self.network.val();
        } else if self.key.val().rules4 & (self.delta.val() != self.expected.val()) {
            self.out.next.reason = self.ip_id.val();
        } else if self.length.val() == self.zero.val() {
            self.out.next.reason = self.empty.val();
        } else if self.length.val() > self.session.val().gso_size {
            self.out.next.reason = self.larger.val();
        } else if self.meta.val().tcp_seq != self.session.val().next_seq {
            self.out.next.reason = self.out_of_order.val();
        } else if self.meta.val().soft_flush {
            self.out.next.reason = self.soft_flush.val();
        } else if self.too_long.val() {
            self.out.next.reason = self.limit.val();
        }
        self.facts.next = self.out.val();
    }
}
