//! place: gives operations buffers and says where each byte goes.
//!
//!   Op ──► control ──► cursor, buffers ──► commands ─► mover
//!   drain ─┘  │ ▲            │ describe ─► records ──► complete
//!     pop ◄───┘ └─ sessions ─┘
//!
//! 4 cycles per ALONE of one buffer, up to 6 per OPEN and APPEND, 3 and one per buffer for CLOSE, 2
//! for each further buffer (`control`).
//!
//! Payload of a held session is written as it comes, not when the session ends. While a delivery
//! may still be one of 256 bytes, its payload goes to buffer and header slot.
//!
//! Follows: architecture "Rings", "Completions"; the decisions in the header of the software
//! device's `place`. Invariants: commands, records and credits are those of a reference, for both
//! split modes and all sizes of buffers, under any stalls
//! (`commands_and_records_equal_the_reference`); 4 cycles per ALONE (`four_cycles_per_alone`).
//! Not here: when a frame is admitted (it has its buffers when it comes here), moving bytes.

pub mod buffers;
pub mod control;
pub mod credit;
pub mod cursor;
pub mod describe;
pub mod extent;
pub mod output;
pub mod sessions;
pub mod tables;
pub mod walk;

use crate::blocks::nic_ports::{
    CommandSource, CompletionRecord, ConfigSink, CreditSource, DrainSink, PopSource, RecordSource,
};
use crate::blocks::op::{OpSink, Operation};
use crate::blocks::reg::ClkRst;
use crate::comment;
use control::Control;
use credit::Credit;
use describe::Describe;
use output::Output;
use rust_hdl::prelude::*;
use sessions::Sessions;
use tables::Tables;
use walk::Walk;

/// The stage.
#[derive(LogicBlock)]
pub struct Place {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Configuration of the queues.
    pub setup: ConfigSink,
    /// Operations.
    pub s: OpSink,
    /// Buffers to drain.
    pub drain: DrainSink,
    /// Prefetched buffers.
    pub pop: PopSource,
    /// Buffers reserved and not taken.
    pub credit: CreditSource,
    /// Commands.
    pub m: CommandSource,
    /// Records.
    pub records: RecordSource,
    control: Control,
    tables: Tables,
    sessions: Sessions,
    walk: Walk,
    describe: Describe,
    credits: Credit,
    back: Output,
    meta: Signal<Local, Operation>,
    queue: Signal<Local, Bits<5>>,
    record: Signal<Local, CompletionRecord>,
    no_record: Constant<CompletionRecord>,
}

impl Place {
    /// For `queues` queues of `sessions` sessions.
    ///
    /// # Panics
    /// If there are more than 32 queues or 1,024 sessions, or sessions are no power of two.
    pub fn new(queues: usize, sessions: usize) -> Self {
        assert!((1..=groove_spec::QUEUES_MAX).contains(&queues), "{queues} queues");
        assert!(sessions.is_power_of_two() && sessions <= 1024, "{sessions} sessions per queue");
        Self {
            cr: Default::default(),
            setup: Default::default(),
            s: Default::default(),
            drain: Default::default(),
            pop: Default::default(),
            credit: Default::default(),
            m: Default::default(),
            records: Default::default(),
            control: Default::default(),
            tables: Default::default(),
            sessions: Sessions::new(queues, sessions),
            walk: Default::default(),
            describe: Default::default(),
            credits: Default::default(),
            back: Default::default(),
            meta: Default::default(),
            queue: Default::default(),
            record: Default::default(),
            no_record: Constant::new(CompletionRecord::default()),
        }
    }
}

impl Logic for Place {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place");
        ClkRst::link(&mut self.cr, &mut self.control.cr);
        ClkRst::link(&mut self.cr, &mut self.tables.cr);
        ClkRst::link(&mut self.cr, &mut self.sessions.cr);
        ClkRst::link(&mut self.cr, &mut self.walk.cr);
        ClkRst::link(&mut self.cr, &mut self.credits.cr);
        ClkRst::link(&mut self.cr, &mut self.back.cr);
        ConfigSink::link(&mut self.setup, &mut self.tables.setup);
        CommandSource::link(&mut self.m, &mut self.back.m);
        RecordSource::link(&mut self.records, &mut self.back.records);
        CreditSource::link(&mut self.credit, &mut self.credits.credit);
        self.meta.next = self.s.meta.val();
        self.queue.next = self.meta.val().queue;
        if self.control.drains.val() {
            self.queue.next = self.drain.queue.val();
        }

        self.control.offered.next = self.s.valid.val();
        // Not through `meta`, which what the FSM says shares: a loop to Verilator.
        self.control.kind.next = self.s.meta.val().kind;
        self.control.drain_offered.next = self.drain.valid.val();
        self.control.more.next = self.walk.more.val();
        self.control.fits.next = self.walk.fits.val();
        self.control.full.next = self.walk.full.val();
        self.control.keep.next = self.walk.keep.val();
        self.control.single.next = self.walk.single.val();
        self.control.last.next = self.walk.last.val();
        self.control.command_room.next = self.back.command_room.val();
        self.control.header_room.next = self.back.header_room.val();
        self.control.record_room.next = self.back.record_room.val();
        self.s.ready.next = self.control.take.val();
        self.drain.ready.next = self.control.drain_take.val();
        self.pop.queue.next = self.queue.val();
        self.pop.read.next = self.control.pop_read.val();
        self.pop.take.next = self.control.pop_take.val();

        self.tables.queue.next = self.queue.val();
        self.tables.read.next = self.control.start.val();
        self.sessions.queue.next = self.meta.val().queue;
        self.sessions.session.next = self.meta.val().session;
        self.sessions.read.next = self.control.start.val();
        self.sessions.write.next = self.control.save.val() & !self.control.alone.val();
        self.sessions.new_held.next = self.walk.new_held.val();
        self.sessions.count.next = self.walk.count.val();
        self.sessions.id.next = self.pop.id.val();
        self.sessions.add.next = self.control.next_buffer.val();
        self.sessions.alone.next = self.control.alone.val();
        self.sessions.index.next = self.walk.index.val();
        self.sessions.advance.next = self.control.push_record.val();

        self.walk.load.next = self.control.load.val();
        self.walk.prepare.next = self.control.prepare.val();
        self.walk.next_buffer.next = self.control.next_buffer.val();
        self.walk.save.next = self.control.save.val();
        self.walk.push_payload.next = self.control.push_payload.val();
        self.walk.push_replay.next = self.control.push_replay.val();
        self.walk.push_record.next = self.control.push_record.val();
        self.walk.is_held.next = self.control.held.val();
        self.walk.alone.next = self.control.alone.val();
        self.walk.meta.next = self.meta.val();
        self.walk.held.next = self.sessions.held.val();
        self.walk.pop_id.next = self.pop.id.val();
        self.walk.pop_iova.next = self.pop.iova.val();
        self.walk.slots_low.next = self.tables.slots_low.val();
        self.walk.slots_high.next = self.tables.slots_high.val();
        self.walk.size.next = self.tables.size.val();
        self.walk.split.next = self.tables.split.val();

        self.describe.meta.next = self.meta.val();
        self.describe.drains.next = self.control.drains.val();
        self.describe.total.next = self.walk.total.val();
        self.describe.compact.next = self.walk.compact.val();
        self.describe.split.next = self.tables.split.val();
        self.describe.size.next = self.tables.size.val();
        self.describe.position.next = self.walk.position.val();
        self.describe.at_once.next = self.control.push_payload.val();
        self.describe.id.next = self.walk.id.val();
        self.describe.chained.next = self.sessions.chained.val();
        self.describe.first.next = self.walk.first.val();
        self.describe.last.next = self.walk.last.val();

        self.credits.done.next =
            self.control.drain_take.val() | (self.control.take.val() & self.control.frame.val());
        self.credits.drains.next = self.control.drains.val();
        self.credits.queue.next = self.queue.val();
        self.credits.total.next = self.walk.total.val();
        self.credits.size.next = self.tables.size.val();
        self.credits.took.next = self.walk.took.val();

        self.record.next = self.no_record.val();
        self.record.next.marker = self.control.push_marker.val();
        self.record.next.queue = self.queue.val();
        self.record.next.quiet = self.control.drains.val() & self.drain.quiet.val();
        self.back.push.next = self.control.push_header.val()
            | self.control.push_payload.val()
            | self.control.push_replay.val();
        self.back.command.next = self.walk.command.val();
        self.back.header.next = self.s.header.val();
        self.back.push_record.next =
            self.control.push_record.val() | self.control.push_marker.val();
        self.back.record.next = self.record.val();
        self.back.body.next = self.describe.body.val();
    }
}
