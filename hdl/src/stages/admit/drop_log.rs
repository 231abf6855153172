//! The log of dropped frames, and their counters.
//!
//!   drop, frame, reason ──►[ valid, frame, reason ]      1 cycle
//!                      └──►[ counter of the reason ]
//!
//! Invariant: a counter grows by one for each line of its reason (`rtl_admit`). Not here: overflow,
//! which ingress counts.

use crate::blocks::reg::{ClkRst, RegE, RegR};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock, Default)]
pub struct DropLog {
    pub cr: ClkRst,
    pub drop: Signal<In, Bit>,
    pub drop_frame: Signal<In, Bits<32>>,
    pub drop_reason: Signal<In, Bits<3>>,
    pub valid: Signal<Out, Bit>,
    pub frame: Signal<Out, Bits<32>>,
    pub reason: Signal<Out, Bits<3>>,
    pub runt: Signal<Out, Bits<32>>,
    pub oversize: Signal<Out, Bits<32>>,
    pub bad_fcs: Signal<Out, Bits<32>>,
    pub no_buffer: Signal<Out, Bits<32>>,
    valid_held: RegR<Bit>,
    frame_held: RegE<Bits<32>>,
    reason_held: RegE<Bits<3>>,
    runts: RegR<Bits<32>>,
    oversizes: RegR<Bits<32>>,
    bad: RegR<Bits<32>>,
    refused: RegR<Bits<32>>,
}

impl Logic for DropLog {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.valid_held.cr);
        ClkRst::link(&mut self.cr, &mut self.frame_held.cr);
        ClkRst::link(&mut self.cr, &mut self.reason_held.cr);
        ClkRst::link(&mut self.cr, &mut self.runts.cr);
        ClkRst::link(&mut self.cr, &mut self.oversizes.cr);
        ClkRst::link(&mut self.cr, &mut self.bad.cr);
        ClkRst::link(&mut self.cr, &mut self.refused.cr);
        self.valid_held.d.next = self.drop.val();
        self.frame_held.en.next = self.drop.val();
        self.frame_held.d.next = self.drop_frame.val();
        self.reason_held.en.next = self.drop.val();
        self.reason_held.d.next = self.drop_reason.val();
        self.valid.next = self.valid_held.q.val();
        self.frame.next = self.frame_held.q.val();
        self.reason.next = self.reason_held.q.val();

        // Codes of DropReason.
        self.runts.d.next = self.runts.q.val();
        self.oversizes.d.next = self.oversizes.q.val();
        self.bad.d.next = self.bad.q.val();
        self.refused.d.next = self.refused.q.val();
        if self.drop.val() {
            match self.drop_reason.val().index() {
                0 => {
                    self.runts.d.next = self.runts.q.val() + 1;
                }
                1 => {
                    self.oversizes.d.next = self.oversizes.q.val() + 1;
                }
                2 => {
                    self.bad.d.next = self.bad.q.val() + 1;
                }
                4 => {
                    self.refused.d.next = self.refused.q.val() + 1;
                }
                _ => {}
            }
        }
        self.runt.next = self.runts.q.val();
        self.oversize.next = self.oversizes.q.val();
        self.bad_fcs.next = self.bad.q.val();
        self.no_buffer.next = self.refused.q.val();
    }
}

#[cfg(test)]
mod tests {
    use groove_spec::DropReason;

    #[test]
    fn codes_are_the_tables() {
        let codes = [
            DropReason::Runt,
            DropReason::Oversize,
            DropReason::BadFcs,
            DropReason::Overflow,
            DropReason::NoBuffer,
        ];
        assert_eq!(codes.map(DropReason::code), [0, 1, 2, 3, 4]);
    }
}
