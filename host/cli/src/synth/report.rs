//! What is reported of a block, as data and as a table.

use super::levels::Longest;
use super::netlist::Netlist;
use super::{Request, cells};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What a memory of the design became.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryKind {
    /// Block RAM.
    Block,
    /// RAM in LUTs.
    Distributed,
    /// Flip-flops and multiplexers: a table that should not be one.
    Registers,
}

/// One memory of the design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Name in the flattened design.
    pub name: String,
    /// Words.
    pub words: u64,
    /// Bits of a word.
    pub width: u64,
    /// What it became.
    pub kind: MemoryKind,
}

/// The longest path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Levels {
    /// Logic levels.
    pub levels: u32,
    /// From start to end: cell type and net.
    pub path: Vec<String>,
}

/// Measurements of one block.
#[derive(Clone, Debug, Serialize)]
pub struct BlockReport {
    /// Stage, or the whole pipeline.
    pub block: String,
    /// Family.
    pub target: &'static str,
    /// Look-up tables.
    pub luts: u64,
    /// Carry cells.
    pub carries: u64,
    /// Dedicated multiplexers.
    pub muxes: u64,
    /// Flip-flops.
    pub registers: u64,
    /// Block RAM cells.
    pub ram_blocks: u64,
    /// RAM and shift register cells in LUTs.
    pub lut_rams: u64,
    /// Longest path.
    pub longest: Levels,
    /// Memories, and what they became.
    pub memories: Vec<Memory>,
    /// Every cell type with its count.
    pub cells: BTreeMap<String, u64>,
    /// Time that yosys took, s.
    pub seconds: f64,
}

impl BlockReport {
    /// Memories of at least `bits` that became flip-flops.
    pub fn register_tables(&self, bits: u64) -> impl Iterator<Item = &Memory> {
        self.memories
            .iter()
            .filter(move |m| m.kind == MemoryKind::Registers && m.words * m.width >= bits)
    }
}

pub(super) fn build(
    request: &Request,
    netlist: &Netlist,
    longest: Longest,
    memories: Vec<Memory>,
    seconds: f64,
) -> BlockReport {
    use cells::Kind;
    BlockReport {
        block: request.block.clone(),
        target: request.target.name(),
        luts: netlist.count(Kind::Lut),
        carries: netlist.count(Kind::Carry),
        muxes: netlist.count(Kind::WideMux),
        registers: netlist.count(Kind::Register),
        ram_blocks: netlist.count(Kind::BlockRam),
        lut_rams: netlist.count(Kind::LutRam) + netlist.count(Kind::ShiftLut),
        longest: Levels { levels: longest.levels, path: longest.path },
        memories,
        cells: netlist.counts(),
        seconds,
    }
}

/// The table of all blocks, then the longest path of each and the memories that are not RAM.
pub fn table(reports: &[BlockReport]) -> String {
    let mut text = format!(
        "{:<12} {:<6} {:>8} {:>8} {:>7} {:>9} {:>6} {:>8} {:>7} {:>6}\n",
        "block", "target", "LUT", "carry", "mux", "register", "RAM", "LUT RAM", "levels", "s"
    );
    for r in reports {
        let _ = writeln!(
            text,
            "{:<12} {:<6} {:>8} {:>8} {:>7} {:>9} {:>6} {:>8} {:>7} {:>6.1}",
            r.block,
            r.target,
            r.luts,
            r.carries,
            r.muxes,
            r.registers,
            r.ram_blocks,
            r.lut_rams,
            r.longest.levels,
            r.seconds
        );
    }
    for r in reports {
        let _ = writeln!(text, "\n{} on {}: {} levels", r.block, r.target, r.longest.levels);
        for step in &r.longest.path {
            let _ = writeln!(text, "    {step}");
        }
        for m in r.register_tables(0) {
            let _ = writeln!(
                text,
                "    memory {} ({} x {}) is in flip-flops",
                m.name, m.words, m.width
            );
        }
    }
    text
}
