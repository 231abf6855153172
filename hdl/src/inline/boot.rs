//! Tells `place` where its one queue has its buffers, once, behind the reset.
//!
//!   step 0, 1, 2, 3 ──► header slots low, high, size of a buffer, control      4 cycles
//!
//! The pipeline takes no frame before it has cleared its tables, which takes longer. Invariant: as
//! `the_inline_form_equals_the_model`. Not here: registers of the host.

use crate::blocks::nic_ports::{ConfigSource, ConfigWrite};
use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use groove_spec::nic;
use rust_hdl::prelude::*;

/// Writes of the configuration.
const STEPS: usize = 4;

/// See the module.
#[derive(LogicBlock)]
pub struct Boot {
    /// Clock and reset.
    pub cr: ClkRst,
    /// To `place`.
    pub m: ConfigSource,
    step: RegR<Bits<3>>,
    word: Signal<Local, ConfigWrite>,
    empty: Constant<ConfigWrite>,
    number: [Constant<Bits<3>>; STEPS],
    index: [Constant<Bits<5>>; STEPS],
    data: [Constant<Bits<32>>; STEPS],
    one: Constant<Bits<3>>,
    behind: Constant<Bits<3>>,
}

impl Boot {
    /// Header slots at byte `slots`.
    pub fn new(slots: usize) -> Self {
        let writes = [
            (&nic::HEADER_BASE_LOW, slots),
            (&nic::HEADER_BASE_HIGH, 0),
            (&nic::BUFFER_SIZE, nic::BUFFER_BYTES_MIN),
            (&nic::QUEUE_CONTROL, 1),
        ];
        Self {
            cr: Default::default(),
            m: Default::default(),
            step: Default::default(),
            word: Default::default(),
            empty: Constant::new(ConfigWrite::default()),
            number: std::array::from_fn(|i| Constant::new(i.to_bits())),
            index: writes.map(|(register, _)| Constant::new((register.offset / 4).to_bits())),
            data: writes.map(|(_, value)| Constant::new(value.to_bits())),
            one: Constant::new(1usize.to_bits()),
            behind: Constant::new(STEPS.to_bits()),
        }
    }
}

impl Logic for Boot {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_boot");
        ClkRst::link(&mut self.cr, &mut self.step.cr);
        self.step.d.next = self.step.q.val();
        if self.step.q.val() < self.behind.val() {
            self.step.d.next = self.step.q.val() + self.one.val();
        }
        self.word.next = self.empty.val();
        for i in 0..4 {
            if self.step.q.val() == self.number[i].val() {
                self.word.next.write = true;
                self.word.next.index = self.index[i].val();
                self.word.next.data = self.data[i].val();
            }
        }
        self.m.bus.next = self.word.val();
    }
}
