//! The two operations that a frame can lead to, as records.
//!
//!   session, its number, reason ──► closing, fix        combinational
//!   mark                        ──► closing
//!   frame, its class, kind      ──► framed
//!
//! Follows gro-semantics §2 (output of coalescing): a session of one frame is delivered as that
//! frame; a merged one has the first frame's metadata, checksum state partial and the GSO fields.
//! Invariants: fields without meaning are 0 in CLOSE, ALONE and FLUSHED
//! (`operations_equal_the_model`).
//! Not here: the header (`fixup`).

use super::key::Key;
use super::session::Session;
use crate::blocks::meta::FrameMeta;
use crate::blocks::op::{Fix, Operation};
use crate::comment;
use groove_spec::stages::coalesce as spec;
use groove_spec::{CsumState, OpKind, Profile};
use rust_hdl::prelude::*;

/// Computes both operations.
#[derive(LogicBlock)]
pub struct Describe {
    /// Queue of both.
    pub queue: Signal<In, Bits<5>>,
    /// Code of `EndReason`.
    pub reason: Signal<In, Bits<5>>,
    /// No session is closed: a flush-all is through.
    pub mark: Signal<In, Bit>,
    /// The session that is closed.
    pub session: Signal<In, Session>,
    /// Its number.
    pub close_index: Signal<In, Bits<10>>,
    /// The frame.
    pub meta: Signal<In, FrameMeta>,
    /// Its class.
    pub key: Signal<In, Key>,
    /// Number of the session that it opens or joins.
    pub frame_index: Signal<In, Bits<10>>,
    /// Code of `OpKind` of its operation.
    pub kind: Signal<In, Bits<2>>,
    /// Code of `Profile`.
    pub profile: Signal<In, Bits<2>>,
    /// The session's operation.
    pub closing: Signal<Out, Operation>,
    /// What its header needs.
    pub fix: Signal<Out, Fix>,
    /// The frame's operation.
    pub framed: Signal<Out, Operation>,
    close_op: Signal<Local, Operation>,
    close_fix: Signal<Local, Fix>,
    frame_op: Signal<Local, Operation>,
    merged: Signal<Local, Bit>,
    gso_type: Signal<Local, Bits<9>>,
    cwr_type: Signal<Local, Bits<9>>,
    l4_field: Signal<Local, Bits<7>>,
    payload: Signal<Local, Bits<16>>,
    flags: Signal<Local, Bits<8>>,
    one: Constant<Bits<16>>,
    no_operation: Constant<Operation>,
    alone_session: Constant<Bits<10>>,
    no_type: Constant<Bits<9>>,
    type_v4: Constant<Bits<9>>,
    type_v4_fixed: Constant<Bits<9>>,
    type_v6: Constant<Bits<9>>,
    type_ecn: Constant<Bits<9>>,
    type_accecn: Constant<Bits<9>>,
    kind_ipv4: Constant<Bits<2>>,
    close_kind: Constant<Bits<3>>,
    flushed_kind: Constant<Bits<3>>,
    alone_kind: Constant<Bits<2>>,
    unnecessary: Constant<Bits<2>>,
    partial: Constant<Bits<2>>,
    profile_612: Constant<Bits<2>>,
}

impl Default for Describe {
    fn default() -> Self {
        let code = |code: u8| Constant::new(u64::from(code).into());
        let kind = |kind: OpKind| Constant::new(u64::from(kind.code()).into());
        let gso = |bits: u16| Constant::new(u64::from(bits).into());
        Self {
            queue: Default::default(),
            reason: Default::default(),
            mark: Default::default(),
            session: Default::default(),
            close_index: Default::default(),
            meta: Default::default(),
            key: Default::default(),
            frame_index: Default::default(),
            kind: Default::default(),
            profile: Default::default(),
            closing: Default::default(),
            fix: Default::default(),
            framed: Default::default(),
            close_op: Default::default(),
            close_fix: Default::default(),
            frame_op: Default::default(),
            merged: Default::default(),
            gso_type: Default::default(),
            cwr_type: Default::default(),
            l4_field: Default::default(),
            payload: Default::default(),
            flags: Default::default(),
            one: Constant::new(1.into()),
            no_operation: Constant::new(Operation::default()),
            alone_session: Constant::new(0.into()),
            no_type: Constant::new(0.into()),
            type_v4: gso(spec::GSO_TCPV4),
            type_v4_fixed: gso(spec::GSO_TCPV4 | spec::GSO_FIXEDID),
            type_v6: gso(spec::GSO_TCPV6),
            type_ecn: gso(spec::GSO_ECN),
            type_accecn: gso(spec::GSO_ACCECN),
            kind_ipv4: Constant::new(1.into()),
            close_kind: kind(OpKind::Close),
            flushed_kind: kind(OpKind::Flushed),
            alone_kind: code(OpKind::Alone.code()),
            unnecessary: code(CsumState::Unnecessary as u8),
            partial: code(CsumState::Partial as u8),
            profile_612: code(Profile::Linux612.code()),
        }
    }
}

impl Logic for Describe {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_describe");
        self.merged.next = self.session.val().count != self.one.val();
        self.flags.next = self.session.val().tcp_flags;
        self.l4_field.next = self.session.val().l4_off;
        self.gso_type.next = self.type_v6.val();
        if self.session.val().l3_kind == self.kind_ipv4.val() {
            self.gso_type.next = self.type_v4.val();
            if self.session.val().fixed_id {
                self.gso_type.next = self.type_v4_fixed.val();
            }
        }
        self.cwr_type.next = self.no_type.val();
        if self.flags.val().get_bit(7) {
            self.cwr_type.next = self.type_accecn.val();
            if self.profile.val() == self.profile_612.val() {
                self.cwr_type.next = self.type_ecn.val();
            }
        }
        self.close_op.next = self.no_operation.val();
        self.close_op.next.kind = self.close_kind.val();
        self.close_op.next.queue = self.queue.val();
        self.close_op.next.session = self.close_index.val();
        self.close_op.next.hash = self.session.val().hash;
        self.close_op.next.hash_type = self.session.val().hash_type;
        self.close_op.next.vlan_valid = self.session.val().vlan_valid;
        self.close_op.next.vlan_tpid = self.session.val().vlan_tpid;
        self.close_op.next.vlan_tci = self.session.val().vlan_tci;
        self.close_op.next.packet_type = self.session.val().packet_type;
        self.close_op.next.protocol = self.session.val().protocol;
        self.close_op.next.l3_verdict = self.session.val().l3_verdict;
        self.close_op.next.l4_verdict = self.session.val().l4_verdict;
        self.close_op.next.hdr_len = self.session.val().hdr_len;
        self.close_op.next.payload_len = self.session.val().payload;
        self.close_op.next.end_reason = self.reason.val();
        self.close_op.next.csum = self.unnecessary.val();
        if self.merged.val() {
            self.close_op.next.csum = self.partial.val();
            self.close_op.next.csum_start = bit_cast::<8, 7>(self.l4_field.val());
            self.close_op.next.gso_size = self.session.val().gso_size;
            self.close_op.next.gso_segs = self.session.val().count;
            self.close_op.next.gso_type = self.gso_type.val() | self.cwr_type.val();
        }
        if self.mark.val() {
            self.close_op.next = self.no_operation.val();
            self.close_op.next.kind = self.flushed_kind.val();
            self.close_op.next.queue = self.queue.val();
        }
        self.closing.next = self.close_op.val();
        self.close_fix.next.merged = self.merged.val() & !self.mark.val();
        self.close_fix.next.l3_kind = self.session.val().l3_kind;
        self.close_fix.next.l3_off = self.session.val().l3_off;
        self.close_fix.next.l4_off = self.session.val().l4_off;
        self.close_fix.next.addr_sum = self.session.val().addr_sum;
        self.close_fix.next.fin = self.session.val().fin;
        self.close_fix.next.psh = self.session.val().psh;
        self.fix.next = self.close_fix.val();

        self.payload.next = self.meta.val().payload_len;
        self.frame_op.next = self.no_operation.val();
        self.frame_op.next.kind = bit_cast::<3, 2>(self.kind.val());
        self.frame_op.next.queue = self.queue.val();
        self.frame_op.next.session = self.frame_index.val();
        self.frame_op.next.hash = self.meta.val().hash;
        self.frame_op.next.hash_type = self.meta.val().hash_type;
        self.frame_op.next.vlan_valid = self.meta.val().vlan_valid;
        self.frame_op.next.vlan_tpid = self.meta.val().vlan_tpid;
        self.frame_op.next.vlan_tci = self.meta.val().vlan_tci;
        self.frame_op.next.packet_type = self.meta.val().packet_type;
        self.frame_op.next.protocol = self.meta.val().protocol;
        if self.key.val().verified {
            self.frame_op.next.csum = self.unnecessary.val();
        }
        self.frame_op.next.l3_verdict = self.meta.val().l3_verdict;
        self.frame_op.next.l4_verdict = self.meta.val().l4_verdict;
        self.frame_op.next.hdr_len = self.meta.val().hdr_len;
        self.frame_op.next.payload_len = bit_cast::<17, 16>(self.payload.val());
        if self.kind.val() == self.alone_kind.val() {
            self.frame_op.next.session = self.alone_session.val();
            self.frame_op.next.alone_reason = self.key.val().alone_reason;
        }
        self.framed.next = self.frame_op.val();
    }
}
