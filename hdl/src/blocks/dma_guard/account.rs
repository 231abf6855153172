//! Counts open bursts and tells how long the reset lasts.
//!
//!   flr ──►[ busy ] until no burst is open, at least 16 cycles
//!   taken addresses, taken responses ──►[ open writes, open reads ]
//!
//! Invariant: `busy` ends when every burst has its response, and not before
//! (`guard_ends_every_burst`). Not here: the channels.

use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct Account {
    /// Clock and the power-on reset.
    pub cr: ClkRst,
    /// Reset wanted.
    pub flr: Signal<In, Bit>,
    /// A write burst begins.
    pub write_begins: Signal<In, Bit>,
    /// A write burst has its response.
    pub write_ends: Signal<In, Bit>,
    /// A read burst begins.
    pub read_begins: Signal<In, Bit>,
    /// A read burst has its last beat.
    pub read_ends: Signal<In, Bit>,
    /// Reset at work.
    pub busy: Signal<Out, Bit>,
    writes: RegR<Bits<9>>,
    reads: RegR<Bits<9>>,
    resets: RegR<Bit>,
    elapsed: RegR<Bits<4>>,
    idle: Signal<Local, Bit>,
    one9: Constant<Bits<9>>,
    zero9: Constant<Bits<9>>,
    one4: Constant<Bits<4>>,
    zero4: Constant<Bits<4>>,
    enough: Constant<Bits<4>>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            flr: Default::default(),
            write_begins: Default::default(),
            write_ends: Default::default(),
            read_begins: Default::default(),
            read_ends: Default::default(),
            busy: Default::default(),
            writes: Default::default(),
            reads: Default::default(),
            resets: Default::default(),
            elapsed: Default::default(),
            idle: Default::default(),
            one9: Constant::new(1usize.to_bits()),
            zero9: Constant::new(0usize.to_bits()),
            one4: Constant::new(1usize.to_bits()),
            zero4: Constant::new(0usize.to_bits()),
            enough: Constant::new(15usize.to_bits()),
        }
    }
}

impl Logic for Account {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: dma_guard_account");
        ClkRst::link(&mut self.cr, &mut self.writes.cr);
        ClkRst::link(&mut self.cr, &mut self.reads.cr);
        ClkRst::link(&mut self.cr, &mut self.resets.cr);
        ClkRst::link(&mut self.cr, &mut self.elapsed.cr);

        self.writes.d.next = self.writes.q.val();
        if self.write_begins.val() & !self.write_ends.val() {
            self.writes.d.next = self.writes.q.val() + self.one9.val();
        } else if !self.write_begins.val() & self.write_ends.val() {
            self.writes.d.next = self.writes.q.val() - self.one9.val();
        }
        self.reads.d.next = self.reads.q.val();
        if self.read_begins.val() & !self.read_ends.val() {
            self.reads.d.next = self.reads.q.val() + self.one9.val();
        } else if !self.read_begins.val() & self.read_ends.val() {
            self.reads.d.next = self.reads.q.val() - self.one9.val();
        }
        self.idle.next =
            (self.writes.q.val() == self.zero9.val()) & (self.reads.q.val() == self.zero9.val());

        self.resets.d.next = self.resets.q.val();
        self.elapsed.d.next = self.zero4.val();
        if self.flr.val() {
            self.resets.d.next = true;
        } else if self.resets.q.val() {
            if self.elapsed.q.val() != self.enough.val() {
                self.elapsed.d.next = self.elapsed.q.val() + self.one4.val();
            } else {
                self.elapsed.d.next = self.elapsed.q.val();
                self.resets.d.next = !self.idle.val();
            }
        }
        self.busy.next = self.resets.q.val();
    }
}
