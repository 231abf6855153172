//! The held sessions in RAM, and what a frame means to one of them.
//!
//!   read ──►[ header RAM, session RAM ]──► compare ──► rules ──►[ facts ]      2 cycles
//!                                     └──► renew ──► write, or the session that is closed
//!
//! Outputs of the RAMs hold until the next read. A header is written when a session opens; the rest
//! also when a frame joins.
//!
//! Follows gro-semantics §1.1, §1.6. Invariant: a word that is being written is not read
//! (`control`: reads and writes are in different states). Not here: which session.

use super::compare::Compare;
use super::key::Key;
use super::rules::{Facts, Rules};
use super::session::{Session, SessionUpdate};
use crate::blocks::meta::FrameMeta;
use crate::blocks::ram::Ram;
use crate::blocks::reg::{ClkRst, RegE};
use crate::comment;
use rust_hdl::prelude::*;

/// Sessions of all queues.
#[derive(LogicBlock)]
pub struct Store {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Session to read.
    pub read_address: Signal<In, Bits<15>>,
    /// Reads it.
    pub read: Signal<In, Bit>,
    /// Session to write.
    pub write_address: Signal<In, Bits<15>>,
    /// The frame opens it.
    pub open: Signal<In, Bit>,
    /// The frame joins it.
    pub append: Signal<In, Bit>,
    /// A session was read: compare.
    pub comparing: Signal<In, Bit>,
    /// The frame.
    pub meta: Signal<In, FrameMeta>,
    /// Its class.
    pub key: Signal<In, Key>,
    /// Its header.
    pub header: Signal<In, Bits<1024>>,
    /// Tick of its queue.
    pub tick: Signal<In, Bits<16>>,
    /// Code of `Profile`.
    pub profile: Signal<In, Bits<2>>,
    /// What the frame means to the session read last, from the cycle after `comparing`.
    pub facts: Signal<Out, Facts>,
    /// The session read last, with the frame if `joins`.
    pub session: Signal<Out, Session>,
    /// See `session`.
    pub joins: Signal<In, Bit>,
    /// Header of the session read last.
    pub stored: Signal<Out, Bits<1024>>,
    /// The session read last was opened in the current tick.
    pub young: Signal<Out, Bit>,
    headers: Ram<Bits<1024>, 15>,
    sessions: Ram<Session, 15>,
    compare: Compare,
    rules: Rules,
    known: RegE<Facts>,
    renew: SessionUpdate,
    ipv4: Constant<Bits<2>>,
}

impl Store {
    /// For `sessions` sessions.
    pub fn new(sessions: usize) -> Self {
        Self {
            cr: Default::default(),
            read_address: Default::default(),
            read: Default::default(),
            write_address: Default::default(),
            open: Default::default(),
            append: Default::default(),
            comparing: Default::default(),
            meta: Default::default(),
            key: Default::default(),
            header: Default::default(),
            tick: Default::default(),
            profile: Default::default(),
            facts: Default::default(),
            session: Default::default(),
            joins: Default::default(),
            stored: Default::default(),
            young: Default::default(),
            headers: Ram::new(sessions),
            sessions: Ram::new(sessions),
            compare: Default::default(),
            rules: Default::default(),
            known: Default::default(),
            renew: Default::default(),
            ipv4: Constant::new(1.into()),
        }
    }
}

impl Logic for Store {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: coalesce_store");
        ClkRst::link(&mut self.cr, &mut self.headers.cr);
        ClkRst::link(&mut self.cr, &mut self.sessions.cr);
        ClkRst::link(&mut self.cr, &mut self.known.cr);
        self.headers.raddr.next = self.read_address.val();
        self.headers.ren.next = self.read.val();
        self.headers.waddr.next = self.write_address.val();
        self.headers.wen.next = self.open.val();
        self.headers.wdata.next = self.header.val();
        self.sessions.raddr.next = self.read_address.val();
        self.sessions.ren.next = self.read.val();
        self.sessions.waddr.next = self.write_address.val();
        self.sessions.wen.next = self.open.val() | self.append.val();
        self.sessions.wdata.next = self.renew.appended.val();
        if self.open.val() {
            self.sessions.wdata.next = self.renew.opened.val();
        }
        self.stored.next = self.headers.rdata.val();
        self.session.next = self.sessions.rdata.val();
        if self.joins.val() {
            self.session.next = self.renew.appended.val();
        }
        self.young.next = self.sessions.rdata.val().tick == self.tick.val();

        self.compare.en.next = self.comparing.val();
        self.compare.arrived.next = self.header.val();
        self.compare.stored.next = self.headers.rdata.val();
        self.compare.key.next = self.key.val();
        self.compare.ipv4.next = self.meta.val().l3_kind == self.ipv4.val();
        self.compare.l3_off.next = self.meta.val().l3_off;
        self.rules.meta.next = self.meta.val();
        self.rules.key.next = self.key.val();
        self.rules.session.next = self.sessions.rdata.val();
        self.rules.diff.next = self.compare.diff.val();
        self.rules.profile.next = self.profile.val();
        self.known.en.next = self.comparing.val();
        self.known.d.next = self.rules.facts.val();
        self.facts.next = self.known.q.val();

        self.renew.meta.next = self.meta.val();
        self.renew.ip_id.next = self.key.val().ip_id;
        self.renew.tick.next = self.tick.val();
        self.renew.session.next = self.sessions.rdata.val();
        self.renew.fixed_id.next = self.known.q.val().fixed_id;
    }
}
