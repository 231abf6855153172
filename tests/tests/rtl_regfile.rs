//! The register file under Verilator, row by row of the table.

mod rtl_support;

use groove_hdl::blocks::regfile::{Capabilities, RegFile};
use groove_hdl::emit::emit;
use groove_spec::stages::{all_registers, device, rss};
use groove_spec::{Access, Register};
use groove_verilator::Dut;
use rtl_support::{Rng, set, start};

const BUILT: Capabilities =
    Capabilities { queues: 4, width_bytes: 64, buckets: 8, depth: 8, lossless: true };

fn open() -> Dut {
    start(&emit("regfile", RegFile::new(&BUILT)))
}

fn write(dut: &mut Dut, addr: usize, value: u32) {
    set(dut, "addr", addr as u64);
    set(dut, "wdata", value.into());
    set(dut, "write", 1);
    dut.clock().expect("runs");
    set(dut, "write", 0);
}

/// Two clocks after the address is set.
fn read(dut: &mut Dut, addr: usize) -> u32 {
    set(dut, "addr", addr as u64);
    dut.clock().expect("runs");
    dut.clock().expect("runs");
    output(dut, "rdata")
}

fn output(dut: &mut Dut, name: &str) -> u32 {
    dut.settle().expect("runs");
    dut.read(dut.port(name).expect("a port")) as u32
}

/// Name of the port of entry `i` of a register.
fn port(row: &Register, i: usize) -> String {
    let name = row.name.to_lowercase();
    if row.count == 1 { name } else { format!("{name}_{i}") }
}

fn cells() -> impl Iterator<Item = (&'static Register, usize)> {
    all_registers()
        .filter(|r| r.access == Access::ReadWrite && r.name != rss::RSS_INDIRECTION.name)
        .flat_map(|r| (0..r.count).map(move |i| (r, i)))
}

#[test]
fn cells_reset_hold_and_mask() {
    let mut dut = open();
    let mut rng = Rng(1);
    for (row, i) in cells() {
        assert_eq!(output(&mut dut, &port(row, i)), row.reset, "{} after reset", row.name);
        assert_eq!(read(&mut dut, row.offset + 4 * i), row.reset, "{} after reset", row.name);
    }
    let values: Vec<u32> = cells().map(|_| rng.next() as u32).collect();
    for ((row, i), value) in cells().zip(&values) {
        write(&mut dut, row.offset + 4 * i, *value);
        assert_eq!(output(&mut dut, &port(row, i)), value & row.mask(), "{} at once", row.name);
    }
    for ((row, i), value) in cells().zip(&values) {
        assert_eq!(read(&mut dut, row.offset + 4 * i), value & row.mask(), "{}", row.name);
    }
}

#[test]
fn status_is_what_hardware_drives() {
    let mut dut = open();
    let mut rng = Rng(2);
    let rows = || all_registers().filter(|r| r.access == Access::ReadOnly);
    assert_eq!(read(&mut dut, device::SPEC_ID.offset), groove_spec::SPEC_ID);
    let capabilities = read(&mut dut, device::CAPABILITIES.offset);
    for (name, value) in
        [("queues", 4), ("width_bytes", 64), ("buckets", 8), ("depth", 8), ("lossless", 1)]
    {
        let field = device::CAPABILITIES.field(name);
        assert_eq!((capabilities & field.mask()) >> field.lsb, value, "{name}");
    }
    let driven = || rows().filter(|r| r.offset > device::CAPABILITIES.offset);
    let values: Vec<u32> = driven().map(|_| rng.next() as u32).collect();
    for (row, value) in driven().zip(&values) {
        set(&mut dut, &port(row, 0), (*value).into());
    }
    for (row, value) in driven().zip(&values) {
        write(&mut dut, row.offset, !value);
        assert_eq!(read(&mut dut, row.offset), *value, "{}", row.name);
    }
}

/// Every address of the window: what is no register reads as 0, and writing it changes nothing.
#[test]
fn other_addresses_are_empty() {
    let mut dut = open();
    let known = |addr: usize| {
        all_registers().any(|r| addr >= r.offset && addr < r.end() && addr.is_multiple_of(4))
    };
    for addr in (0..0x1000).chain([0x1008, 0x8008, 0xfffc]).filter(|a| !known(*a)) {
        write(&mut dut, addr, 0xffff_ffff);
        assert_eq!(output(&mut dut, "table_write"), 0, "{addr:#x}");
        assert_eq!(read(&mut dut, addr), 0, "{addr:#x}");
    }
    for (row, i) in cells() {
        assert_eq!(read(&mut dut, row.offset + 4 * i), row.reset, "{}", row.name);
    }
}

#[test]
fn the_table_port_is_addressed_by_entry() {
    let mut dut = open();
    let row = rss::RSS_INDIRECTION;
    for i in 0..row.count {
        set(&mut dut, "addr", (row.offset + 4 * i) as u64);
        set(&mut dut, "wdata", 0xffff_ffe0 | (i as u64 & 31));
        set(&mut dut, "write", 1);
        let port = |dut: &mut Dut, name: &str| output(dut, name) as usize;
        assert_eq!(port(&mut dut, "table_write"), 1, "entry {i}");
        assert_eq!(port(&mut dut, "table_index"), i);
        assert_eq!(port(&mut dut, "table_wdata"), i & 31);
        set(&mut dut, "write", 0);
        set(&mut dut, "table_rdata", (i as u64 + 3) & 31);
        assert_eq!(read(&mut dut, row.offset + 4 * i) as usize, (i + 3) & 31);
    }
}
