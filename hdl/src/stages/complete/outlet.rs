//! A completion on its way out of the stage.
//!
//!   body, address ──► flat ──►[ register ]──► m        1 cycle; 1 completion per 2 cycles
//!
//! Invariants: `free` is a register, so that no ready passes through; a completion stays until it
//! is taken (`completions_equal_the_reference`). Not here: its contents.

use super::flat::Flat;
use crate::blocks::nic_ports::{Completion, CompletionWriteSource};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// The register.
#[derive(LogicBlock, Default)]
pub struct Outlet {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Takes the completion; only while `free`.
    pub send: Signal<In, Bit>,
    /// The completion.
    pub body: Signal<In, Completion>,
    /// Where it goes.
    pub address: Signal<In, Bits<64>>,
    /// Its queue.
    pub queue: Signal<In, Bits<5>>,
    /// Nothing waits.
    pub free: Signal<Out, Bit>,
    /// Completions.
    pub m: CompletionWriteSource,
    flat: Flat,
    waits: RegR<Bit>,
    at: RegE<Bits<64>>,
    data: RegE<Bits<256>>,
    of: RegE<Bits<5>>,
}

impl Logic for Outlet {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: complete_outlet");
        ClkRst::link(&mut self.cr, &mut self.waits.cr);
        ClkRst::link(&mut self.cr, &mut self.at.cr);
        ClkRst::link(&mut self.cr, &mut self.data.cr);
        ClkRst::link(&mut self.cr, &mut self.of.cr);
        self.flat.i.next = self.body.val();
        self.at.d.next = self.address.val();
        self.at.en.next = self.send.val();
        self.data.d.next = self.flat.o.val();
        self.data.en.next = self.send.val();
        self.of.d.next = self.queue.val();
        self.of.en.next = self.send.val();
        self.waits.d.next = self.send.val() | (self.waits.q.val() & !self.m.ready.val());
        self.free.next = !self.waits.q.val();
        self.m.valid.next = self.waits.q.val();
        self.m.address.next = self.at.q.val();
        self.m.data.next = self.data.q.val();
        self.m.queue.next = self.of.q.val();
    }
}
