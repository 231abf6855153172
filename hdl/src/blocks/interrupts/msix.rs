//! Vectors on their way to the host.
//!
//!   fire ──► pending? ── no ──►[ FIFO of 32 ]──► MSI-X      2 cycles
//!                 └───── yes: merges with the one that waits
//!
//! Follows: PCI Express base specification, MSI-X (a pending vector is sent once).
//! Invariants: nothing is lost however long the host waits, and no vector waits twice
//! (`back_pressure_loses_no_vector`). Not here: masks of the MSI-X table, which the bridge has.

use crate::blocks::fifo::Fifo;
use crate::blocks::reg::{ClkRst, RegR};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Msix {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Signal this vector.
    pub fire: Signal<In, Bit>,
    pub queue: Signal<In, Bits<5>>,
    /// To the host.
    pub msix_vector: Signal<Out, Bits<5>>,
    pub msix_valid: Signal<Out, Bit>,
    pub msix_ready: Signal<In, Bit>,
    waiting: Fifo<Bits<5>, 5>,
    pending: RegR<Bits<32>>,
    only: Signal<Local, Bits<32>>,
    sent: Signal<Local, Bits<32>>,
    left: Signal<Local, Bits<32>>,
    found: Signal<Local, Bits<32>>,
    put: Signal<Local, Bit>,
    one: Constant<Bits<32>>,
}

impl Default for Msix {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            fire: Default::default(),
            queue: Default::default(),
            msix_vector: Default::default(),
            msix_valid: Default::default(),
            msix_ready: Default::default(),
            waiting: Default::default(),
            pending: Default::default(),
            only: Default::default(),
            sent: Default::default(),
            left: Default::default(),
            found: Default::default(),
            put: Default::default(),
            one: Constant::new(1usize.to_bits()),
        }
    }
}

impl Logic for Msix {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.waiting.cr);
        ClkRst::link(&mut self.cr, &mut self.pending.cr);

        self.sent.next = 0.into();
        if self.waiting.m_valid.val() & self.msix_ready.val() {
            self.sent.next = self.one.val() << self.waiting.m_data.val();
        }
        // One that leaves in this cycle is not merged with.
        self.left.next = self.pending.q.val() & !self.sent.val();
        self.only.next = self.one.val() << self.queue.val();
        self.found.next = self.left.val() & self.only.val();
        self.put.next = self.fire.val() & !self.found.val().any();
        self.pending.d.next = self.left.val();
        if self.put.val() {
            self.pending.d.next = self.left.val() | self.only.val();
        }
        self.waiting.s_data.next = self.queue.val();
        self.waiting.s_valid.next = self.put.val();
        self.waiting.m_ready.next = self.msix_ready.val();
        self.msix_vector.next = self.waiting.m_data.val();
        self.msix_valid.next = self.waiting.m_valid.val();
    }
}
