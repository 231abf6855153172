//! Chooses among up to 32 that want a turn, the next one after the last that had one.
//!
//!   wants ─┬─► those above the last ──► lowest ─┬─►[ chosen ]──► index      1 cycle
//!          └─► all ──► lowest ──────────────────┘
//!
//! Invariants: one that wants is chosen before any other is twice (`everyone_has_a_turn`); nobody
//! is chosen who does not want (same test). Not here: what a turn is.

use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// Ones from the lowest one of a mask on.
#[derive(LogicBlock, Default)]
pub struct FromLowest {
    /// Mask.
    pub mask: Signal<In, Bits<32>>,
    /// Filled up.
    pub filled: Signal<Out, Bits<32>>,
    /// There is a one.
    pub some: Signal<Out, Bit>,
    by2: Signal<Local, Bits<32>>,
    by4: Signal<Local, Bits<32>>,
    by8: Signal<Local, Bits<32>>,
    by16: Signal<Local, Bits<32>>,
}

impl Logic for FromLowest {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: from_lowest");
        self.by2.next = self.mask.val() | (self.mask.val() << 1);
        self.by4.next = self.by2.val() | (self.by2.val() << 2);
        self.by8.next = self.by4.val() | (self.by4.val() << 4);
        self.by16.next = self.by8.val() | (self.by8.val() << 8);
        self.filled.next = self.by16.val() | (self.by16.val() << 16);
        self.some.next = self.mask.val().any();
    }
}

/// See the module.
#[derive(LogicBlock)]
pub struct RoundRobin {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Who wants a turn.
    pub wants: Signal<In, Bits<32>>,
    /// Chooses at this edge.
    pub step: Signal<In, Bit>,
    /// Who was chosen, one bit; none if nobody wanted.
    pub chosen: Signal<Out, Bits<32>>,
    /// Its position.
    pub index: Signal<Out, Bits<5>>,
    held: RegE<Bits<32>>,
    above: RegR<Bits<32>>,
    of_later: FromLowest,
    of_all: FromLowest,
    filled: Signal<Local, Bits<32>>,
    behind: Signal<Local, Bits<32>>,
    code: Signal<Local, Bits<5>>,
    digit: [Constant<Bits<32>>; 5],
    zero: Constant<Bits<5>>,
}

impl Default for RoundRobin {
    fn default() -> Self {
        // Positions whose number has the bit.
        let digit = |bit: usize| {
            let positions = (0..32u64).filter(|position| position >> bit & 1 == 1);
            Constant::new(positions.fold(0u64, |mask, position| mask | 1 << position).into())
        };
        Self {
            cr: Default::default(),
            wants: Default::default(),
            step: Default::default(),
            chosen: Default::default(),
            index: Default::default(),
            held: Default::default(),
            above: Default::default(),
            of_later: Default::default(),
            of_all: Default::default(),
            filled: Default::default(),
            behind: Default::default(),
            code: Default::default(),
            digit: std::array::from_fn(digit),
            zero: Constant::new(0.into()),
        }
    }
}

impl Logic for RoundRobin {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: round_robin");
        ClkRst::link(&mut self.cr, &mut self.held.cr);
        ClkRst::link(&mut self.cr, &mut self.above.cr);
        self.of_later.mask.next = self.wants.val() & self.above.q.val();
        self.of_all.mask.next = self.wants.val();
        self.filled.next = self.of_all.filled.val();
        if self.of_later.some.val() {
            self.filled.next = self.of_later.filled.val();
        }
        self.behind.next = self.filled.val() << 1;
        self.held.en.next = self.step.val();
        self.held.d.next = self.filled.val() & !self.behind.val();
        self.above.d.next = self.above.q.val();
        if self.step.val() {
            self.above.d.next = self.behind.val();
        }
        self.code.next = self.zero.val();
        for bit in 0..5 {
            if (self.held.q.val() & self.digit[bit].val()).any() {
                self.code.next = self.code.val().replace_bit(bit, true);
            }
        }
        self.chosen.next = self.held.q.val();
        self.index.next = self.code.val();
    }
}
