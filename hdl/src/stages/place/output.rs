//! Commands and records on their way out, and the count that ties them together.
//!
//!   push ──►[ 4 commands ]──┬──► m          2 cycles when empty, 1 per cycle
//!   header ─►[ 2 headers ]──┘
//!   push ──►[ 512 records ]────► records    as many wait for their data
//!
//! The count of data commands travels with each record as its tag: what the record tells is in
//! memory when as many are done. Flows that began together end together: 64 of them end with
//! hundreds of records within one latency of memory.
//!
//! Invariants: a header leaves with its command, since both FIFOs are filled together; rooms come
//! from registers, so that no ready passes through (`commands_and_records_equal_the_reference`).
//! Not here: what is sent.

use crate::blocks::deep_fifo::DeepFifo;
use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::{
    CommandSource, Completion, CompletionRecord, PlaceCommand, RecordSource, source,
};
use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// FIFOs and counter.
#[derive(LogicBlock)]
pub struct Output {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Commands.
    pub m: CommandSource,
    /// Records.
    pub records: RecordSource,
    /// A command goes, and its tag counts.
    pub push: Signal<In, Bit>,
    /// The command.
    pub command: Signal<In, PlaceCommand>,
    /// Header of the operation: goes with a HEADER command.
    pub header: Signal<In, Bits<1024>>,
    /// Room for a command.
    pub command_room: Signal<Out, Bit>,
    /// Room for a header.
    pub header_room: Signal<Out, Bit>,
    /// A record goes.
    pub push_record: Signal<In, Bit>,
    /// The record; its tag is set here.
    pub record: Signal<In, CompletionRecord>,
    /// Its body.
    pub body: Signal<In, Completion>,
    /// Room for a record.
    pub record_room: Signal<Out, Bit>,
    commands: Fifo<PlaceCommand, 2>,
    headers: Fifo<Bits<1024>, 1>,
    waiting: DeepFifo<CompletionRecord, 9>,
    bodies: DeepFifo<Completion, 9>,
    count: RegR<Bits<32>>,
    counted: Signal<Local, Bits<32>>,
    labelled: Signal<Local, CompletionRecord>,
    leaving: Signal<Local, PlaceCommand>,
    header_kind: Constant<Bits<2>>,
    one: Constant<Bits<32>>,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            m: Default::default(),
            records: Default::default(),
            push: Default::default(),
            command: Default::default(),
            header: Default::default(),
            command_room: Default::default(),
            header_room: Default::default(),
            push_record: Default::default(),
            record: Default::default(),
            body: Default::default(),
            record_room: Default::default(),
            commands: Default::default(),
            headers: Default::default(),
            waiting: Default::default(),
            bodies: Default::default(),
            count: Default::default(),
            counted: Default::default(),
            labelled: Default::default(),
            leaving: Default::default(),
            header_kind: Constant::new(source::HEADER.into()),
            one: Constant::new(1.into()),
        }
    }
}

impl Logic for Output {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_output");
        ClkRst::link(&mut self.cr, &mut self.commands.cr);
        ClkRst::link(&mut self.cr, &mut self.headers.cr);
        ClkRst::link(&mut self.cr, &mut self.waiting.cr);
        ClkRst::link(&mut self.cr, &mut self.bodies.cr);
        ClkRst::link(&mut self.cr, &mut self.count.cr);
        self.counted.next = self.count.q.val();
        if self.push.val() {
            self.counted.next = self.count.q.val() + self.one.val();
        }
        self.count.d.next = self.counted.val();

        self.commands.s_data.next = self.command.val();
        self.commands.s_valid.next = self.push.val();
        self.headers.s_data.next = self.header.val();
        self.headers.s_valid.next =
            self.push.val() & (self.command.val().source == self.header_kind.val());
        self.command_room.next = self.commands.s_ready.val();
        self.header_room.next = self.headers.s_ready.val();
        self.leaving.next = self.commands.m_data.val();
        self.m.command.next = self.leaving.val();
        self.m.header.next = self.headers.m_data.val();
        self.m.valid.next = self.commands.m_valid.val();
        self.commands.m_ready.next = self.m.ready.val();
        self.headers.m_ready.next = self.m.ready.val()
            & self.commands.m_valid.val()
            & (self.leaving.val().source == self.header_kind.val());

        self.labelled.next = self.record.val();
        self.labelled.next.tag = self.counted.val();
        self.waiting.s_data.next = self.labelled.val();
        self.waiting.s_valid.next = self.push_record.val();
        self.bodies.s_data.next = self.body.val();
        self.bodies.s_valid.next = self.push_record.val();
        self.record_room.next = self.waiting.s_ready.val();
        self.records.record.next = self.waiting.m_data.val();
        self.records.body.next = self.bodies.m_data.val();
        self.records.valid.next = self.waiting.m_valid.val();
        self.waiting.m_ready.next = self.records.ready.val();
        self.bodies.m_ready.next = self.records.ready.val();
    }
}
