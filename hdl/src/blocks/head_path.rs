//! The stages that work on a collected header, in a row.
//!
//!   head ─► parse ─► classify ─► rss ─► meta      4 cycles per frame, 9 in all
//!             └─► sum
//!
//! Invariant: wiring only; its stages' invariants are checked through it (`rtl_classify_rss`). Not
//! here: the FIFOs around it.

use crate::blocks::meta::{FlowSource, HeadSink, MetaSource, SumSource};
use crate::blocks::reg::ClkRst;
use crate::stages::classify::Classify;
use crate::stages::parse::Parse;
use crate::stages::rss::Rss;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct HeadPath {
    pub cr: ClkRst,
    /// `CONTROL`, `MAC_LOW`, `MAC_HIGH`, `RSS_CONTROL` and `RSS_KEY`.
    pub control: Signal<In, Bits<32>>,
    pub mac_low: Signal<In, Bits<32>>,
    pub mac_high: Signal<In, Bits<32>>,
    pub rss_control: Signal<In, Bits<32>>,
    pub key: [Signal<In, Bits<32>>; 10],
    /// Port of the indirection table: writes at the edge, reads in the same cycle.
    pub table_write: Signal<In, Bit>,
    pub table_index: Signal<In, Bits<7>>,
    pub table_wdata: Signal<In, Bits<5>>,
    pub table_rdata: Signal<Out, Bits<5>>,
    pub s: HeadSink,
    pub m: MetaSource,
    pub sum: SumSource,
    parse: Parse,
    classify: Classify,
    rss: Rss,
}

impl HeadPath {
    /// For `queues` receive queues.
    ///
    /// # Panics
    /// If there are none, or more than the indirection table can name.
    pub fn new(queues: usize) -> Self {
        Self {
            cr: Default::default(),
            control: Default::default(),
            mac_low: Default::default(),
            mac_high: Default::default(),
            rss_control: Default::default(),
            key: std::array::from_fn(|_| Default::default()),
            table_write: Default::default(),
            table_index: Default::default(),
            table_wdata: Default::default(),
            table_rdata: Default::default(),
            s: Default::default(),
            m: Default::default(),
            sum: Default::default(),
            parse: Default::default(),
            classify: Default::default(),
            rss: Rss::new(queues),
        }
    }
}

impl Logic for HeadPath {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.parse.cr);
        ClkRst::link(&mut self.cr, &mut self.rss.cr);
        HeadSink::link(&mut self.s, &mut self.parse.s);
        SumSource::link(&mut self.sum, &mut self.parse.sum);
        FlowSource::join(&mut self.parse.m, &mut self.classify.s);
        FlowSource::join(&mut self.classify.m, &mut self.rss.s);
        MetaSource::link(&mut self.m, &mut self.rss.m);
        // Positions are those of the table: `positions_are_the_tables`.
        self.parse.vlan_strip.next = self.control.val().get_bit(9);
        self.parse.vlan_gro.next = self.control.val().get_bit(10);
        self.parse.trim_pad.next = self.control.val().get_bit(13);
        self.classify.mac_low.next = self.mac_low.val();
        self.classify.mac_high.next = self.mac_high.val().get_bits::<16>(0);
        self.rss.hash_types.next = self.rss_control.val().get_bits::<7>(0);
        self.rss.symmetric.next = self.rss_control.val().get_bits::<2>(8);
        self.rss.default_queue.next = self.rss_control.val().get_bits::<5>(16);
        for i in 0..10 {
            self.rss.key[i].next = self.key[i].val();
        }
        self.rss.table_write.next = self.table_write.val();
        self.rss.table_waddr.next = self.table_index.val();
        self.rss.table_wdata.next = self.table_wdata.val();
        self.rss.table_raddr.next = self.table_index.val();
        self.table_rdata.next = self.rss.table_rdata.val();
    }
}

#[cfg(test)]
mod tests {
    use groove_spec::stages::{classify, device, rss};

    #[test]
    fn positions_are_the_tables() {
        let at = |row: &groove_spec::Register, name: &str| {
            let field = row.field(name);
            (field.lsb, field.width)
        };
        assert_eq!(at(&device::CONTROL, "vlan_strip"), (9, 1));
        assert_eq!(at(&device::CONTROL, "vlan_gro"), (10, 1));
        assert_eq!(at(&device::CONTROL, "trim_pad"), (13, 1));
        assert_eq!(at(&classify::MAC_HIGH, "mac_high"), (0, 16));
        assert_eq!(at(&rss::RSS_CONTROL, "hash_types"), (0, 7));
        assert_eq!(at(&rss::RSS_CONTROL, "symmetric"), (8, 2));
        assert_eq!(at(&rss::RSS_CONTROL, "default_queue"), (16, 5));
    }
}
