//! Lengths of a command in beats.
//!
//!   command ─► start, end, beats, position in the burst      combinational
//!
//! A command of `bytes` bytes at an address with `start = address mod K` makes
//! ceil((start + bytes) / K) write beats. A burst ends at multiples of 4,096 bytes (AXI A3.4.1) or
//! of 256 beats, whichever is smaller.
//!
//! Invariant: as the byte model has it (`mover_moves_every_byte`). Not here: beats.

use crate::blocks::nic_ports::{PlaceCommand, source};
use crate::comment;
use rust_hdl::prelude::*;

/// What the beats of a command depend on.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Plan {
    /// As in the command.
    pub source: Bits<2>,
    /// First lane written.
    pub start: Bits<6>,
    /// Lanes written of the last beat; 0: all.
    pub end: Bits<6>,
    /// Beats behind the first.
    pub left: Bits<14>,
    /// Place of the first beat among those of the longest burst.
    pub slot: Bits<8>,
    /// The shift is this command's, not that of the one before.
    pub first: Bit,
    /// Nothing of the payload frame follows.
    pub last: Bit,
    /// As in the command.
    pub keep: Bit,
}

/// Beats of the longest burst.
pub const fn burst_beats(width_bytes: usize) -> usize {
    if width_bytes < 16 { 256 } else { 4096 / width_bytes }
}

/// The block.
#[derive(LogicBlock)]
pub struct PlanOf<const K: usize> {
    /// The command.
    pub command: Signal<In, PlaceCommand>,
    /// Its plan.
    pub plan: Signal<Out, Plan>,
    address: Signal<Local, Bits<64>>,
    low: Signal<Local, Bits<12>>,
    start: Signal<Local, Bits<12>>,
    sum: Signal<Local, Bits<18>>,
    last_byte: Signal<Local, Bits<18>>,
    last_beat: Signal<Local, Bits<18>>,
    end_lane: Signal<Local, Bits<18>>,
    beat: Signal<Local, Bits<12>>,
    slot: Signal<Local, Bits<12>>,
    other: Signal<Local, Bit>,
    built: Signal<Local, Plan>,
    payload: Constant<Bits<2>>,
    lane_mask12: Constant<Bits<12>>,
    lane_mask18: Constant<Bits<18>>,
    slot_mask: Constant<Bits<12>>,
    beat_log2: Constant<Bits<8>>,
    one: Constant<Bits<18>>,
}

impl<const K: usize> Default for PlanOf<K> {
    fn default() -> Self {
        assert!((8..=64).contains(&K) && K.is_power_of_two());
        Self {
            command: Default::default(),
            plan: Default::default(),
            address: Default::default(),
            low: Default::default(),
            start: Default::default(),
            sum: Default::default(),
            last_byte: Default::default(),
            last_beat: Default::default(),
            end_lane: Default::default(),
            beat: Default::default(),
            slot: Default::default(),
            other: Default::default(),
            built: Default::default(),
            payload: Constant::new(source::PAYLOAD.to_bits()),
            lane_mask12: Constant::new((K - 1).to_bits()),
            lane_mask18: Constant::new((K - 1).to_bits()),
            slot_mask: Constant::new((burst_beats(K) - 1).to_bits()),
            beat_log2: Constant::new((K.ilog2() as usize).to_bits()),
            one: Constant::new(1usize.to_bits()),
        }
    }
}

impl<const K: usize> Logic for PlanOf<K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: mover_plan");
        self.address.next = self.command.val().address;
        self.low.next = self.address.val().get_bits::<12>(0);
        self.start.next = self.low.val() & self.lane_mask12.val();
        self.sum.next =
            bit_cast::<18, 12>(self.start.val()) + bit_cast::<18, 17>(self.command.val().bytes);
        self.last_byte.next = self.sum.val() - self.one.val();
        self.last_beat.next = self.last_byte.val() >> self.beat_log2.val();
        self.end_lane.next = self.sum.val() & self.lane_mask18.val();
        self.beat.next = self.low.val() >> self.beat_log2.val();
        self.slot.next = self.beat.val() & self.slot_mask.val();
        self.other.next = self.command.val().source != self.payload.val();

        self.built.next.source = self.command.val().source;
        self.built.next.start = self.start.val().get_bits::<6>(0);
        self.built.next.end = self.end_lane.val().get_bits::<6>(0);
        self.built.next.left = self.last_beat.val().get_bits::<14>(0);
        self.built.next.slot = self.slot.val().get_bits::<8>(0);
        self.built.next.first = self.command.val().first | self.other.val();
        self.built.next.last = self.command.val().last | self.other.val();
        self.built.next.keep = self.command.val().keep;
        self.plan.next = self.built.val();
    }
}
