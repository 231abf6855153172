//! What is remembered of a held session beside its header, and how a frame changes it.
//!
//!   frame, tick ──► opened          combinational
//!   frame, session ──► appended
//!
//! Follows gro-semantics: §1.1 (container state), §1.7 (after the decision); the model's `Session`.
//! Invariants: `bytes` is what lies behind the 14-byte MAC header, which the size limit counts
//! (`aggregates_reach_exactly_the_limit`); the tick is that of the first frame
//! (`age_counts_from_open`).
//! Not here: the header, and whether a frame may join.

use crate::blocks::meta::FrameMeta;
use crate::comment;
use rust_hdl::prelude::*;

/// A held session: word of the session RAM.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Session {
    pub count: Bits<16>,
    pub gso_size: Bits<16>,
    pub bytes: Bits<17>,
    pub payload: Bits<17>,
    pub next_seq: Bits<32>,
    pub tick: Bits<16>,
    pub fixed_id: Bit,
    pub fin: Bit,
    pub psh: Bit,
    pub ip_id: Bits<16>,
    pub tcp_flags: Bits<8>,
    pub hash: Bits<32>,
    pub hash_type: Bits<3>,
    pub vlan_valid: Bit,
    pub vlan_tpid: Bit,
    pub vlan_tci: Bits<16>,
    pub packet_type: Bits<2>,
    pub protocol: Bits<16>,
    pub l3_verdict: Bits<2>,
    pub l4_verdict: Bits<2>,
    pub l3_kind: Bits<2>,
    pub l3_off: Bits<5>,
    pub l4_off: Bits<7>,
    pub hdr_len: Bits<8>,
    pub addr_sum: Bits<16>,
}

/// Computes the session that a frame opens, and the one it leaves behind when it joins.
#[derive(LogicBlock)]
pub struct SessionUpdate {
    /// The frame.
    pub meta: Signal<In, FrameMeta>,
    /// Its identification, by position.
    pub ip_id: Signal<In, Bits<16>>,
    /// Current tick of its queue.
    pub tick: Signal<In, Bits<16>>,
    /// The session that it may join.
    pub session: Signal<In, Session>,
    /// Whether that session has a fixed IPv4 identification, this frame included.
    pub fixed_id: Signal<In, Bit>,
    /// Session that starts with the frame.
    pub opened: Signal<Out, Session>,
    /// Session with the frame.
    pub appended: Signal<Out, Session>,
    first: Signal<Local, Session>,
    more: Signal<Local, Session>,
    length: Signal<Local, Bits<16>>,
    length17: Signal<Local, Bits<17>>,
    length32: Signal<Local, Bits<32>>,
    frame17: Signal<Local, Bits<17>>,
    frame_bytes: Signal<Local, Bits<16>>,
    flags: Signal<Local, Bits<8>>,
    count: Signal<Local, Bits<16>>,
    bytes: Signal<Local, Bits<17>>,
    payload: Signal<Local, Bits<17>>,
    next_seq: Signal<Local, Bits<32>>,
    start_seq: Signal<Local, Bits<32>>,
    start_bytes: Signal<Local, Bits<17>>,
    one: Constant<Bits<16>>,
    mac_bytes: Constant<Bits<17>>,
}

impl Default for SessionUpdate {
    fn default() -> Self {
        Self {
            meta: Default::default(),
            ip_id: Default::default(),
            tick: Default::default(),
            session: Default::default(),
            fixed_id: Default::default(),
            opened: Default::default(),
            appended: Default::default(),
            first: Default::default(),
            more: Default::default(),
            length: Default::default(),
            length17: Default::default(),
            length32: Default::default(),
            frame17: Default::default(),
            frame_bytes: Default::default(),
            flags: Default::default(),
            count: Default::default(),
            bytes: Default::default(),
            payload: Default::default(),
            next_seq: Default::default(),
            start_seq: Default::default(),
            start_bytes: Default::default(),
            one: Constant::new(1.into()),
            mac_bytes: Constant::new(14.into()),
        }
    }
}

impl Logic for SessionUpdate {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_session_update");
        self.length.next = self.meta.val().payload_len;
        self.length17.next = bit_cast::<17, 16>(self.length.val());
        self.length32.next = bit_cast::<32, 16>(self.length.val());
        self.frame_bytes.next = self.meta.val().frame_bytes;
        self.frame17.next = bit_cast::<17, 16>(self.frame_bytes.val());
        self.flags.next = self.meta.val().tcp_flags;

        self.start_bytes.next = self.frame17.val() - self.mac_bytes.val();
        self.start_seq.next = self.meta.val().tcp_seq + self.length32.val();
        self.first.next = self.session.val();
        self.first.next.count = self.one.val();
        self.first.next.gso_size = self.length.val();
        self.first.next.bytes = self.start_bytes.val();
        self.first.next.payload = self.length17.val();
        self.first.next.next_seq = self.start_seq.val();
        self.first.next.tick = self.tick.val();
        self.first.next.fixed_id = false;
        // Neither FIN nor PSH opens a session.
        self.first.next.fin = false;
        self.first.next.psh = false;
        self.first.next.ip_id = self.ip_id.val();
        self.first.next.tcp_flags = self.flags.val();
        self.first.next.hash = self.meta.val().hash;
        self.first.next.hash_type = self.meta.val().hash_type;
        self.first.next.vlan_valid = self.meta.val().vlan_valid;
        self.first.next.vlan_tpid = self.meta.val().vlan_tpid;
        self.first.next.vlan_tci = self.meta.val().vlan_tci;
        self.first.next.packet_type = self.meta.val().packet_type;
        self.first.next.protocol = self.meta.val().protocol;
        self.first.next.l3_verdict = self.meta.val().l3_verdict;
        self.first.next.l4_verdict = self.meta.val().l4_verdict;
        self.first.next.l3_kind = self.meta.val().l3_kind;
        self.first.next.l3_off = self.meta.val().l3_off;
        self.first.next.l4_off = self.meta.val().l4_off;
        self.first.next.hdr_len = self.meta.val().hdr_len;
        self.first.next.addr_sum = self.meta.val().addr_sum;
        self.opened.next = self.first.val();

        self.count.next = self.session.val().count + self.one.val();
        self.bytes.next = self.session.val().bytes + self.length17.val();
        self.payload.next = self.session.val().payload + self.length17.val();
        self.next_seq.next = self.session.val().next_seq + self.length32.val();
        self.more.next = self.session.val();
        self.more.next.count = self.count.val();
        self.more.next.bytes = self.bytes.val();
        self.more.next.payload = self.payload.val();
        self.more.next.next_seq = self.next_seq.val();
        self.more.next.fixed_id = self.fixed_id.val();
        self.more.next.fin = self.session.val().fin | self.flags.val().get_bit(0);
        self.more.next.psh = self.session.val().psh | self.flags.val().get_bit(3);
        self.appended.next = self.more.val();
    }
}
