//! How long a token waits for a gap between frames.
//!
//!   waits ──►[ count ]──► over        255 cycles
//!
//! Invariant: no token starves (`ingress_lossy_starves_no_token`). Not here: what happens then.

use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Patience {
    /// Clock and reset.
    pub cr: ClkRst,
    /// A token is offered, and not taken.
    pub waits: Signal<In, Bit>,
    /// It has waited long enough; stays until it is taken.
    pub over: Signal<Out, Bit>,
    waited: RegR<Bits<8>>,
    one: Constant<Bits<8>>,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            waits: Default::default(),
            over: Default::default(),
            waited: Default::default(),
            one: Constant::new(1usize.to_bits()),
        }
    }
}

impl Logic for Patience {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: ingress_patience");
        ClkRst::link(&mut self.cr, &mut self.waited.cr);
        self.waited.d.next = 0.into();
        if self.waits.val() {
            self.waited.d.next = self.waited.q.val();
            if !self.waited.q.val().all() {
                self.waited.d.next = self.waited.q.val() + self.one.val();
            }
        }
        self.over.next = self.waited.q.val().all();
    }
}
