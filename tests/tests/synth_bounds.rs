//! What each block may cost in logic levels, and that its tables are RAM: W = 512, 32 queues.
//!
//! The bounds are what yosys 0.23 gave, plus two levels for other versions; none may go above 20.
//! Needs yosys; without it each test prints that it was skipped.

use groove::synth::{BlockReport, Target, blocks, synthesise};
use groove_hdl::pipeline::Parameters;

/// Levels that no path may exceed.
const LEVELS_MAX: u32 = 20;
/// Memories from this size on must be RAM, bits.
const TABLE_BITS: u64 = 256;

/// Block and levels on ECP5.
const BOUNDS: [(&str, u32); 12] = [
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
];

fn measure(test: &str, block: &str, target: Target) -> Option<BlockReport> {
    let requests = blocks::requests(&Parameters::default(), Some(block), Some(target));
    let request = &requests.expect("the block exists")[0];
    match synthesise(request) {
        Err(error) if error.is_missing_tool() => {
            println!("skipped: {test}: {error}");
            None
        }
        other => Some(other.unwrap_or_else(|e| panic!("{block}: {e}"))),
    }
}

fn holds(report: &BlockReport, bound: u32) {
    let BlockReport { block, longest, .. } = report;
    assert!(longest.levels <= bound, "{block}: {} > {bound}: {longest:#?}", longest.levels);
    let tables: Vec<_> = report.register_tables(TABLE_BITS).collect();
    assert!(tables.is_empty(), "{block}: in flip-flops: {tables:?}");
    println!("{block} on {}: {} levels", report.target, longest.levels);
}

#[test]
fn each_block_keeps_its_bound() {
    for (block, bound) in BOUNDS {
        assert!(bound <= LEVELS_MAX);
        let Some(report) = measure("each_block_keeps_its_bound", block, Target::Ecp5) else {
            return;
        };
        holds(&report, bound);
    }
    let unbounded = blocks::names().filter(|n| BOUNDS.iter().all(|(b, _)| b != n));
    assert_eq!(unbounded.collect::<Vec<_>>(), [blocks::PIPELINE]);
}

/// Paths from block to block too; on the other family.
#[test]
fn no_path_of_the_pipeline_exceeds_20_levels() {
    let test = "no_path_of_the_pipeline_exceeds_20_levels";
    let Some(report) = measure(test, blocks::PIPELINE, Target::Xcup) else { return };
    holds(&report, LEVELS_MAX);
    let block_ram = |name: &str| {
        let all = report.memories.iter();
        let found: Vec<_> = all.filter(|m| m.name.contains(name)).collect();
        assert!(!found.is_empty(), "{name} is no memory: {:?}", report.memories);
        found.iter().all(|m| m.kind == groove::synth::MemoryKind::Block)
    };
    assert!(block_ram("coalesce.store.headers") && block_ram("coalesce.store.sessions"));
    assert!(block_ram("coalesce.lookup.ram_0"));
}
