//! The register file, elaborated from the table.
//!
//!   addr, wdata, write ──► decode ──►[ cells ]──► values          takes effect at the edge
//!   addr ──►[ address ]──► select ──►[ rdata ]                    2 clocks after addr is set
//!
//! Offsets, masks and reset values are the rows of `groove_spec`; a bit without a field reads as 0,
//! an address without a register too, and a write there does nothing. The indirection table lives
//! in `rss`.
//!
//! Invariants: every row behaves as it says, and sits at the port of its name (`rtl_regfile`);
//! `SPEC_ID` and `CAPABILITIES` describe what was built (`capabilities_are_packed_by_the_table`).
//! Not here: the bus of the host.

use crate::blocks::bits::ZExt;
use crate::blocks::reg::{ClkRst, RegE, RegInit};
use groove_spec::Register;
use groove_spec::stages::{admit, classify, coalesce, device, ingress, rss};
use rust_hdl::prelude::*;

/// Registers that the host writes, one cell each.
const CELLS: usize = 15;
/// Registers that hardware drives, `SPEC_ID` and `CAPABILITIES` included.
const STATUS: usize = 11;
const INDIRECTION_LSB_WORD: usize = rss::RSS_INDIRECTION.offset / 4 % 128;

/// In the order of the ports; a key of 10 words counts as 10 cells.
const CELL_ROWS: [&Register; 6] = [
    &device::CONTROL,
    &ingress::MAX_FRAME,
    &classify::MAC_LOW,
    &classify::MAC_HIGH,
    &rss::RSS_CONTROL,
    &rss::RSS_KEY,
];
/// In the order of the ports.
const STATUS_ROWS: [&Register; STATUS] = [
    &device::SPEC_ID,
    &device::CAPABILITIES,
    &ingress::FRAMES,
    &ingress::DROP_RUNT,
    &ingress::DROP_OVERSIZE,
    &ingress::DROP_BAD_FCS,
    &ingress::DROP_OVERFLOW,
    &admit::DROP_NO_BUFFER,
    &coalesce::GRO_PACKETS,
    &coalesce::GRO_WIRE_PACKETS,
    &coalesce::EVICTIONS,
];

/// What the hardware is built with, for the register of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub queues: usize,
    pub width_bytes: usize,
    pub buckets: usize,
    pub depth: usize,
    pub lossless: bool,
}

impl Capabilities {
    fn word(&self) -> u32 {
        let values = [
            ("queues", self.queues),
            ("width_bytes", self.width_bytes),
            ("buckets", self.buckets),
            ("depth", self.depth),
            ("lossless", usize::from(self.lossless)),
        ];
        values.iter().fold(0, |word, (name, value)| {
            let field = device::CAPABILITIES.field(name);
            assert!(*value < 1 << field.width, "{name} = {value} does not fit its field");
            word | (*value as u32) << field.lsb
        })
    }
}

/// One (offset, row) per cell.
fn cells() -> Vec<(usize, &'static Register)> {
    CELL_ROWS.iter().flat_map(|r| (0..r.count).map(move |i| (r.offset + 4 * i, *r))).collect()
}

/// See the module.
#[derive(LogicBlock)]
pub struct RegFile {
    pub cr: ClkRst,
    pub addr: Signal<In, Bits<16>>,
    pub wdata: Signal<In, Bits<32>>,
    pub write: Signal<In, Bit>,
    pub rdata: Signal<Out, Bits<32>>,
    pub control: Signal<Out, Bits<32>>,
    pub max_frame: Signal<Out, Bits<32>>,
    pub mac_low: Signal<Out, Bits<32>>,
    pub mac_high: Signal<Out, Bits<32>>,
    pub rss_control: Signal<Out, Bits<32>>,
    pub rss_key: [Signal<Out, Bits<32>>; 10],
    pub frames: Signal<In, Bits<32>>,
    pub drop_runt: Signal<In, Bits<32>>,
    pub drop_oversize: Signal<In, Bits<32>>,
    pub drop_bad_fcs: Signal<In, Bits<32>>,
    pub drop_overflow: Signal<In, Bits<32>>,
    pub drop_no_buffer: Signal<In, Bits<32>>,
    pub gro_packets: Signal<In, Bits<32>>,
    pub gro_wire_packets: Signal<In, Bits<32>>,
    pub evictions: Signal<In, Bits<32>>,
    /// To the indirection table.
    pub table_write: Signal<Out, Bit>,
    pub table_index: Signal<Out, Bits<7>>,
    pub table_wdata: Signal<Out, Bits<5>>,
    pub table_rdata: Signal<In, Bits<5>>,
    cell: [RegInit<Bits<32>>; CELLS],
    cell_offset: [Constant<Bits<16>>; CELLS],
    cell_mask: [Constant<Bits<32>>; CELLS],
    cell_lane: [Signal<Local, Bits<32>>; CELLS],
    status: [Signal<Local, Bits<32>>; STATUS],
    status_offset: [Constant<Bits<16>>; STATUS],
    status_lane: [Signal<Local, Bits<32>>; STATUS],
    spec_id: Constant<Bits<32>>,
    capabilities: Constant<Bits<32>>,
    table_first: Constant<Bits<16>>,
    table_behind: Constant<Bits<16>>,
    table_first_index: Constant<Bits<7>>,
    address: RegE<Bits<16>>,
    table_held: RegE<Bits<5>>,
    table_hit_held: RegE<Bit>,
    read_held: RegE<Bits<32>>,
    table_hit: Signal<Local, Bit>,
    table_lane: Signal<Local, Bits<32>>,
    word: Signal<Local, Bits<32>>,
}

impl RegFile {
    /// A register file that tells of these capabilities.
    ///
    /// # Panics
    /// If one of them does not fit its field.
    pub fn new(capabilities: &Capabilities) -> Self {
        let cells = cells();
        assert_eq!(cells.len(), CELLS);
        let table = rss::RSS_INDIRECTION;
        Self {
            cr: Default::default(),
            addr: Default::default(),
            wdata: Default::default(),
            write: Default::default(),
            rdata: Default::default(),
            control: Default::default(),
            max_frame: Default::default(),
            mac_low: Default::default(),
            mac_high: Default::default(),
            rss_control: Default::default(),
            rss_key: std::array::from_fn(|_| Default::default()),
            frames: Default::default(),
            drop_runt: Default::default(),
            drop_oversize: Default::default(),
            drop_bad_fcs: Default::default(),
            drop_overflow: Default::default(),
            drop_no_buffer: Default::default(),
            gro_packets: Default::default(),
            gro_wire_packets: Default::default(),
            evictions: Default::default(),
            table_write: Default::default(),
            table_index: Default::default(),
            table_wdata: Default::default(),
            table_rdata: Default::default(),
            cell: std::array::from_fn(|i| RegInit::new(u64::from(cells[i].1.reset).into())),
            cell_offset: std::array::from_fn(|i| Constant::new(cells[i].0.to_bits())),
            cell_mask: std::array::from_fn(|i| Constant::new(u64::from(cells[i].1.mask()).into())),
            cell_lane: std::array::from_fn(|_| Default::default()),
            status: std::array::from_fn(|_| Default::default()),
            status_offset: std::array::from_fn(|i| Constant::new(STATUS_ROWS[i].offset.to_bits())),
            status_lane: std::array::from_fn(|_| Default::default()),
            spec_id: Constant::new(u64::from(groove_spec::SPEC_ID).into()),
            capabilities: Constant::new(u64::from(capabilities.word()).into()),
            table_first: Constant::new(table.offset.to_bits()),
            table_behind: Constant::new(table.end().to_bits()),
            table_first_index: Constant::new(INDIRECTION_LSB_WORD.to_bits()),
            address: Default::default(),
            table_held: Default::default(),
            table_hit_held: Default::default(),
            read_held: Default::default(),
            table_hit: Default::default(),
            table_lane: Default::default(),
            word: Default::default(),
        }
    }
}

impl Logic for RegFile {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.address.cr);
        ClkRst::link(&mut self.cr, &mut self.table_held.cr);
        ClkRst::link(&mut self.cr, &mut self.table_hit_held.cr);
        ClkRst::link(&mut self.cr, &mut self.read_held.cr);

        for i in 0..15 {
            ClkRst::link(&mut self.cr, &mut self.cell[i].cr);
            self.cell[i].d.next = self.cell[i].q.val();
            if self.write.val() & (self.addr.val() == self.cell_offset[i].val()) {
                self.cell[i].d.next = self.wdata.val() & self.cell_mask[i].val();
            }
            self.cell_lane[i].next = 0.into();
            if self.address.q.val() == self.cell_offset[i].val() {
                self.cell_lane[i].next = self.cell[i].q.val();
            }
        }
        self.control.next = self.cell[0].q.val();
        self.max_frame.next = self.cell[1].q.val();
        self.mac_low.next = self.cell[2].q.val();
        self.mac_high.next = self.cell[3].q.val();
        self.rss_control.next = self.cell[4].q.val();
        for i in 0..10 {
            self.rss_key[i].next = self.cell[i + 5].q.val();
        }

        self.status[0].next = self.spec_id.val();
        self.status[1].next = self.capabilities.val();
        self.status[2].next = self.frames.val();
        self.status[3].next = self.drop_runt.val();
        self.status[4].next = self.drop_oversize.val();
        self.status[5].next = self.drop_bad_fcs.val();
        self.status[6].next = self.drop_overflow.val();
        self.status[7].next = self.drop_no_buffer.val();
        self.status[8].next = self.gro_packets.val();
        self.status[9].next = self.gro_wire_packets.val();
        self.status[10].next = self.evictions.val();
        for i in 0..11 {
            self.status_lane[i].next = 0.into();
            if self.address.q.val() == self.status_offset[i].val() {
                self.status_lane[i].next = self.status[i].val();
            }
        }

        self.table_hit.next = (self.addr.val() >= self.table_first.val())
            & (self.addr.val() < self.table_behind.val())
            & (self.addr.val().get_bits::<2>(0) == 0);
        self.table_write.next = self.write.val() & self.table_hit.val();
        self.table_index.next = self.addr.val().get_bits::<7>(2) - self.table_first_index.val();
        self.table_wdata.next = self.wdata.val().get_bits::<5>(0);
        self.table_hit_held.en.next = true;
        self.table_hit_held.d.next = self.table_hit.val();
        self.table_held.en.next = true;
        self.table_held.d.next = self.table_rdata.val();
        self.table_lane.next = 0.into();
        if self.table_hit_held.q.val() {
            self.table_lane.next = self.table_held.q.val().to_bits();
        }

        self.address.en.next = true;
        self.address.d.next = self.addr.val();
        self.word.next = self.table_lane.val();
        for i in 0..15 {
            self.word.next = self.word.val() | self.cell_lane[i].val();
        }
        for i in 0..11 {
            self.word.next = self.word.val() | self.status_lane[i].val();
        }
        self.read_held.en.next = true;
        self.read_held.d.next = self.word.val();
        self.rdata.next = self.read_held.q.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::Access;
    use groove_spec::stages::all_registers;

    #[test]
    fn capabilities_are_packed_by_the_table() {
        let built =
            Capabilities { queues: 32, width_bytes: 64, buckets: 8, depth: 8, lossless: true };
        assert_eq!(built.word(), 0x8808_4020);
    }

    #[test]
    fn every_row_is_here() {
        for row in all_registers().filter(|r| r.name != rss::RSS_INDIRECTION.name) {
            let rows: &[&Register] = match row.access {
                Access::ReadWrite => &CELL_ROWS,
                Access::ReadOnly => &STATUS_ROWS,
            };
            assert!(rows.iter().any(|r| r.name == row.name), "{} has no port", row.name);
        }
    }
}
