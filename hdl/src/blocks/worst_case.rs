//! Buffers that a frame takes at most, whatever lies in the buffers of its session already.
//!
//!   bytes, size ──► 1 + bytes / size, rounded up ──► need        same cycle
//!
//! One more than the frame alone would fill. Whoever reserves and whoever takes use this same
//! block, so that what was reserved and not taken is known without a record of it.
//!
//! Follows: `Queue::covers` of the software device. Invariant: as there, for every frame of up to
//! 9,216 bytes (`worst_case_covers_the_frame`). Not here: longer frames.

use crate::comment;
use rust_hdl::prelude::*;

/// The sum.
#[derive(LogicBlock, Default)]
pub struct WorstCase {
    /// Delivered bytes of the frame.
    pub bytes: Signal<In, Bits<17>>,
    /// Bytes of a buffer; 2,048 at least.
    pub size: Signal<In, Bits<17>>,
    /// Buffers: 1 to 6.
    pub need: Signal<Out, Bits<3>>,
    all: Signal<Local, Bits<19>>,
    once: Signal<Local, Bits<19>>,
    twice: Signal<Local, Bits<19>>,
    thrice: Signal<Local, Bits<19>>,
    times4: Signal<Local, Bits<19>>,
}

impl Logic for WorstCase {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: worst_case");
        self.all.next = bit_cast::<19, 17>(self.bytes.val());
        self.once.next = bit_cast::<19, 17>(self.size.val());
        self.twice.next = self.once.val() + self.once.val();
        self.thrice.next = self.twice.val() + self.once.val();
        self.times4.next = self.twice.val() + self.twice.val();
        self.need.next = 1.into();
        if self.bytes.val().any() {
            self.need.next = 2.into();
        }
        if self.all.val() > self.once.val() {
            self.need.next = 3.into();
        }
        if self.all.val() > self.twice.val() {
            self.need.next = 4.into();
        }
        if self.all.val() > self.thrice.val() {
            self.need.next = 5.into();
        }
        if self.all.val() > self.times4.val() {
            self.need.next = 6.into();
        }
    }
}
