//! The record of a delivery as the inline form shows it.
//!
//!   Completion ──► bits ──► magic below, zeros where buffers were named      combinational
//!
//! Follows: row `INLINE_META`. Invariant: as the row says (`the_inline_form_equals_the_model`). Not
//! here: where it goes.

use crate::blocks::nic_ports::Completion;
use crate::comment;
use crate::stages::complete::flat::Flat;
use groove_spec::inline::{MAGIC, SHARED_LSB};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Stamp {
    /// The record.
    pub i: Signal<In, Completion>,
    /// What is shown.
    pub o: Signal<Out, Bits<256>>,
    flat: Flat,
    shared: Constant<Bits<256>>,
    magic: Constant<Bits<256>>,
}

impl Default for Stamp {
    fn default() -> Self {
        let mut shared = Bits::<256>::default();
        (SHARED_LSB[0]..SHARED_LSB[1]).for_each(|bit| shared = shared.replace_bit(bit, true));
        Self {
            i: Default::default(),
            o: Default::default(),
            flat: Default::default(),
            shared: Constant::new(shared),
            magic: Constant::new(MAGIC.to_bits()),
        }
    }
}

impl Logic for Stamp {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_stamp");
        self.flat.i.next = self.i.val();
        self.o.next = (self.flat.o.val() & self.shared.val()) | self.magic.val();
    }
}
