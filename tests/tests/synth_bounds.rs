//! What each block may cost in logic levels, and that its tables are RAM: W = 512, 32 queues.
//!
//! The bounds are what yosys 0.23 gave, plus two levels for other versions; none may go above 20.
//! Needs yosys; without it each test prints that it was skipped.

use groove::synth::{BlockReport, MemoryKind, Request, Target, blocks, synthesise};
use groove_hdl::pipeline::Parameters;

/// Levels that no path may exceed.
const LEVELS_MAX: u32 = 20;
/// Memories from this size on must be RAM, bits.
const TABLE_BITS: u64 = 256;

/// Block and levels on ECP5.
const BOUNDS: [(&str, u32); 17] = [
    ("ingress", 6),
    ("collect", 4),
    ("parse", 14),
    ("checksum", 7),
    ("classify", 6),
    ("rss", 7),
    ("frame-fifo", 5),
    ("admit", 8),
    ("coalesce", 15),
    ("fixup", 9),
    ("strip", 8),
    ("registers", 6),
    ("frame-gate", 3),
    ("complete", 7),
    ("prefetch", 10),
    ("dma-guard", 5),
    ("axi-lite", 4),
];

/// Too slow for a test, or held by another one: `groove synth --block BLOCK` measures them, and
/// docs/measurements.md has what it gave.
const BY_COMMAND: [&str; 6] =
    [blocks::PIPELINE, "place", "mover", "queues", "interrupts", blocks::NIC];

/// What is to be synthesised, of one emission of pipeline and NIC each.
fn requests(block: Option<&str>, target: Target) -> Vec<Request> {
    blocks::requests(&Parameters::default(), block, Some(target)).expect("the block exists")
}

fn measure(test: &str, request: &Request) -> Option<BlockReport> {
    match synthesise(request) {
        Err(error) if error.is_missing_tool() => {
            println!("skipped: {test}: {error}");
            None
        }
        other => Some(other.unwrap_or_else(|e| panic!("{}: {e}", request.block))),
    }
}

fn holds(report: &BlockReport, bound: u32) {
    let BlockReport { block, longest, .. } = report;
    assert!(longest.levels <= bound, "{block}: {} > {bound}: {longest:#?}", longest.levels);
    let tables: Vec<_> = report.register_tables(TABLE_BITS).collect();
    assert!(tables.is_empty(), "{block}: in flip-flops: {tables:?}");
    println!("{block} on {}: {} levels", report.target, longest.levels);
}

/// Whether every memory of such a name is block RAM.
fn block_ram(report: &BlockReport, name: &str) -> bool {
    let found: Vec<_> = report.memories.iter().filter(|m| m.name.contains(name)).collect();
    assert!(!found.is_empty(), "{name} is no memory: {:?}", report.memories);
    found.iter().all(|m| m.kind == MemoryKind::Block)
}

#[test]
fn each_block_keeps_its_bound() {
    let requests = requests(None, Target::Ecp5);
    for (block, bound) in BOUNDS {
        assert!(bound <= LEVELS_MAX);
        let request = requests.iter().find(|r| r.block == block).expect("the block exists");
        let Some(report) = measure("each_block_keeps_its_bound", request) else { return };
        holds(&report, bound);
        assert!(block != "prefetch" || block_ram(&report, "buffers"), "prefetched buffers");
    }
    let unbounded = blocks::names().filter(|n| BOUNDS.iter().all(|(b, _)| b != n));
    assert!(unbounded.eq(BY_COMMAND));
}

/// Paths from block to block too; on the other family.
#[test]
fn no_path_of_the_pipeline_exceeds_20_levels() {
    let test = "no_path_of_the_pipeline_exceeds_20_levels";
    let requests = requests(Some(blocks::PIPELINE), Target::Xcup);
    let Some(report) = measure(test, &requests[0]) else { return };
    holds(&report, LEVELS_MAX);
    assert!(block_ram(&report, "coalesce.store.headers"));
    assert!(block_ram(&report, "coalesce.store.sessions"));
    assert!(block_ram(&report, "coalesce.lookup.ram_0"));
}
