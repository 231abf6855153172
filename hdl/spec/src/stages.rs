//! Stages in pipeline order, each with its registers.

pub mod admit;
pub mod checksum;
pub mod classify;
pub mod coalesce;
pub mod device;
pub mod ingress;
pub mod parse;
pub mod rss;

use crate::layout::Layout;
pub use crate::register::check_registers;
use crate::register::Register;

/// Byte offset behind the last register window.
pub const REGISTERS_END: usize = 0x1000;

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Marks runts, oversize and bad FCS; takes tokens between frames.
    Ingress,
    /// Finds the headers and extracts their fields.
    Parse,
    /// Verifies IPv4, TCP and UDP checksums.
    Checksum,
    /// Packet type, protocol, VLAN strip.
    Classify,
    /// Hash and queue.
    Rss,
    /// Lets a whole frame in, or drops it.
    Admit,
    /// Sessions: merge, hold, flush.
    Coalesce,
}

/// One row of [`STAGES`].
#[derive(Clone, Copy, Debug)]
pub struct StageSpec {
    /// Which.
    pub stage: Stage,
    /// Basename in spec, model, hdl, vectors and docs.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Registers.
    pub registers: &'static [Register],
    /// Records that the stage defines.
    pub layouts: &'static [Layout],
}

macro_rules! stage {
    ($variant:ident, $module:ident, $doc:literal) => {
        StageSpec {
            stage: Stage::$variant,
            name: stringify!($module),
            doc: $doc,
            registers: $module::REGISTERS,
            layouts: $module::LAYOUTS,
        }
    };
}

/// The pipeline, in order. The only list of stages.
pub const STAGES: &[StageSpec] = &[
    stage!(Ingress, ingress, "Marks runts, oversize and bad FCS; takes tokens between frames."),
    stage!(Parse, parse, "Finds the headers and extracts their fields."),
    stage!(Checksum, checksum, "Verifies IPv4, TCP and UDP checksums."),
    stage!(Classify, classify, "Packet type, protocol, VLAN strip."),
    stage!(Rss, rss, "Hash and queue."),
    stage!(Admit, admit, "Lets a whole frame in, or drops it and counts it."),
    stage!(Coalesce, coalesce, "Sessions: merge, hold, flush."),
];

/// Every register: the device's own, then each stage's.
pub fn all_registers() -> impl Iterator<Item = &'static Register> {
    device::REGISTERS.iter().chain(STAGES.iter().flat_map(|s| s.registers))
}

/// The register of that name.
pub fn register(name: &str) -> Option<&'static Register> {
    all_registers().find(|r| r.name == name)
}

const fn fnv(mut hash: u32, bytes: &[u8]) -> u32 {
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}

const fn fnv_number(hash: u32, value: usize) -> u32 {
    fnv(hash, &(value as u64).to_le_bytes())
}

const fn fnv_registers(mut hash: u32, rows: &[Register]) -> u32 {
    let mut i = 0;
    while i < rows.len() {
        let row = &rows[i];
        hash = fnv(hash, row.name.as_bytes());
        hash = fnv_number(hash, row.offset);
        hash = fnv_number(hash, row.count);
        hash = fnv_number(hash, row.access as usize);
        hash = fnv_number(hash, row.reset as usize);
        let mut f = 0;
        while f < row.fields.len() {
            hash = fnv(hash, row.fields[f].name.as_bytes());
            hash = fnv_number(hash, row.fields[f].lsb);
            hash = fnv_number(hash, row.fields[f].width);
            f += 1;
        }
        i += 1;
    }
    hash
}

const fn fnv_layouts(mut hash: u32, rows: &[Layout]) -> u32 {
    let mut i = 0;
    while i < rows.len() {
        hash = fnv(hash, rows[i].name.as_bytes());
        let mut f = 0;
        while f < rows[i].fields.len() {
            hash = fnv(hash, rows[i].fields[f].name.as_bytes());
            hash = fnv_number(hash, rows[i].fields[f].lsb);
            hash = fnv_number(hash, rows[i].fields[f].width);
            f += 1;
        }
        i += 1;
    }
    hash
}

const fn fnv_names(mut hash: u32, names: &[&str]) -> u32 {
    let mut i = 0;
    while i < names.len() {
        hash = fnv(hash, names[i].as_bytes());
        hash = fnv(hash, b",");
        i += 1;
    }
    hash
}

/// FNV-1a over registers, layouts and coded names.
pub(crate) const fn spec_id() -> u32 {
    use crate::names;
    let mut hash = fnv_registers(0x811c_9dc5, device::REGISTERS);
    let mut i = 0;
    while i < STAGES.len() {
        hash = fnv(hash, STAGES[i].name.as_bytes());
        hash = fnv_registers(hash, STAGES[i].registers);
        hash = fnv_layouts(hash, STAGES[i].layouts);
        i += 1;
    }
    hash = fnv_names(hash, names::Profile::NAMES);
    hash = fnv_names(hash, names::OptionBit::NAMES);
    hash = fnv_names(hash, names::OpKind::NAMES);
    hash = fnv_names(hash, names::TokenKind::NAMES);
    hash = fnv_names(hash, names::EndReason::NAMES);
    hash = fnv_names(hash, names::AloneReason::NAMES);
    hash = fnv_names(hash, names::DropReason::NAMES);
    hash = fnv_names(hash, names::HashType::NAMES);
    hash = fnv_names(hash, names::SymmetricMode::NAMES);
    hash = fnv_names(hash, names::PacketType::NAMES);
    fnv_names(hash, names::Verdict::NAMES)
}
