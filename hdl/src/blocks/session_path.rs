//! The stages behind admit, wired: sessions and the headers of what leaves them.
//!
//!   Meta ──► coalesce ──► fixup ──► Op        about 8 cycles, 4 per frame
//!
//! Takes the options from the `CONTROL` register. Invariant: deliveries equal the model's
//! (`operations_equal_the_model`). Not here: behaviour.

use super::fixup::Fixup;
use super::meta::MetaSink;
use super::op::{OpSource, RawSource};
use super::reg::ClkRst;
use crate::comment;
use crate::stages::coalesce::Coalesce;
use groove_spec::OptionBit;
use groove_spec::stages::device::{CONTROL, CONTROL_OPTIONS_LSB};
use rust_hdl::prelude::*;

/// coalesce and fixup.
#[derive(LogicBlock)]
pub struct SessionPath {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Frames and tokens.
    pub s: MetaSink,
    /// Operations.
    pub m: OpSource,
    /// The tables are cleared; nothing is taken before.
    pub cleared: Signal<Out, Bit>,
    /// The register `CONTROL`.
    pub control: Signal<In, Bits<32>>,
    /// Counter.
    pub gro_packets: Signal<Out, Bits<32>>,
    /// Counter.
    pub gro_wire_packets: Signal<Out, Bits<32>>,
    /// Counter.
    pub evictions: Signal<Out, Bits<32>>,
    coalesce: Coalesce,
    fixup: Fixup,
    profile_lsb: Constant<Bits<32>>,
    rxcsum_bit: Constant<Bits<32>>,
    vlan_gro_bit: Constant<Bits<32>>,
    strict_order_bit: Constant<Bits<32>>,
}

impl SessionPath {
    /// For `queues` of `buckets` buckets of `depth` sessions.
    ///
    /// # Panics
    /// As [`Coalesce::new`].
    pub fn new(queues: usize, buckets: usize, depth: usize) -> Self {
        let position = |bit: usize| Constant::new((bit as u64).into());
        let option = |bit: OptionBit| position(CONTROL_OPTIONS_LSB + usize::from(bit.code()));
        Self {
            cr: Default::default(),
            s: Default::default(),
            m: Default::default(),
            cleared: Default::default(),
            control: Default::default(),
            gro_packets: Default::default(),
            gro_wire_packets: Default::default(),
            evictions: Default::default(),
            coalesce: Coalesce::new(queues, buckets, depth),
            fixup: Fixup::default(),
            profile_lsb: position(CONTROL.field("profile").lsb),
            rxcsum_bit: option(OptionBit::RxCsum),
            vlan_gro_bit: option(OptionBit::VlanGro),
            strict_order_bit: option(OptionBit::StrictOrder),
        }
    }
}

impl Logic for SessionPath {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: session_path");
        ClkRst::link(&mut self.cr, &mut self.coalesce.cr);
        ClkRst::link(&mut self.cr, &mut self.fixup.cr);
        MetaSink::link(&mut self.s, &mut self.coalesce.s);
        RawSource::join(&mut self.coalesce.m, &mut self.fixup.s);
        OpSource::link(&mut self.m, &mut self.fixup.m);
        self.cleared.next = self.coalesce.cleared.val();
        self.coalesce.profile.next =
            self.control.val().get_bits::<2>(self.profile_lsb.val().index());
        self.coalesce.rxcsum.next = self.control.val().get_bit(self.rxcsum_bit.val().index());
        self.coalesce.vlan_gro.next = self.control.val().get_bit(self.vlan_gro_bit.val().index());
        self.coalesce.strict_order.next =
            self.control.val().get_bit(self.strict_order_bit.val().index());
        self.gro_packets.next = self.coalesce.gro_packets.val();
        self.gro_wire_packets.next = self.coalesce.gro_wire_packets.val();
        self.evictions.next = self.coalesce.evictions.val();
    }
}
