//! The session table: never two sessions of one flow.
//!
//!   coalesce, cut: comparison, RAM of sessions, ticks, output ── left: tags, choice, order
//!
//! Invariants: see `properties/session_table.sv`. Not here: what a flow is.

use super::super::{Attachment, Method, Mutant, Proof};
use super::{MEMORY, at, mutant};
use groove_hdl::emit::emit;
use groove_hdl::stages::coalesce::Coalesce;

const TABLE_TEXT: &str = include_str!("../properties/session_table.sv");

/// What the tag RAM of a slot holds at the bucket, and what was read from it.
macro_rules! slot {
    ($n:literal, $top:literal) => {
        concat!(
            "(* hierconn *) wire [",
            $top,
            ":0] \\lookup.ram_",
            $n,
            ".p_slot ;\n",
            "(* hierconn *) wire [53:0] \\lookup.ram_",
            $n,
            ".p_word , \\lookup.ram_",
            $n,
            "_rdata ;\n",
            "assign \\lookup.ram_",
            $n,
            ".p_slot = p_bucket[",
            $top,
            ":0];\n",
            "assign p_words[54 * ",
            $n,
            " +: 54] = \\lookup.ram_",
            $n,
            ".p_word ;\n",
            "assign p_rdata[54 * ",
            $n,
            " +: 54] = \\lookup.ram_",
            $n,
            "_rdata ;\n",
        )
    };
}
const SLOTS_2: &str = concat!(slot!("0", "0"), slot!("1", "0"));
const SLOTS_4: &str = concat!(slot!("0", "1"), slot!("1", "1"), slot!("2", "1"), slot!("3", "1"));

/// What is proved does not rest on the comparison, the RAM of sessions, time and output.
const CUT: &[&str] = &[
    "coalesce_coalesce_key",
    "coalesce_coalesce_store",
    "coalesce_coalesce_ticks",
    "coalesce_coalesce_output",
];

#[rustfmt::skip]
const MUTANTS: &[Mutant] = &[
    mutant("digest-of-another", "coalesce_coalesce_lookup", "look_digest = digest;", "look_digest = ~digest;", "one_entry_per_flow"),
    mutant("match-not-noted", "coalesce_coalesce_lookup", "is_candidate_d = hit;", "is_candidate_d = retry;", "meets_its_session"),
    mutant("free-slot-not-taken", "coalesce", "lookup_fresh = opens & ~action[(64'h4)+:(1)];", "lookup_fresh = 1'b0;", "opens_in_free_slot"),
    mutant("empty-bucket-flushed", "coalesce_coalesce_control", "leaves = ~occupied;", "leaves = 1'b0;", "closes_what_is_held"),
];

#[rustfmt::skip]
pub(super) const SMALL_TABLE: Proof = Proof {
    block: "session-table-small",
    parameters: "1 queue of 2 buckets of 2 sessions",
    design: || emit("coalesce", Coalesce::new(1, 2, 2)),
    module: "coalesce",
    properties: &[
        Attachment {
            module: "coalesce",
            text: TABLE_TEXT,
            words: &[("QUEUES", "1"), ("BUCKETS", "2"), ("DEPTH", "2"), ("SLOTS", SLOTS_2)],
        },
        at("coalesce_ram_2x54", MEMORY),
    ],
    narrow: &[],
    cut: CUT,
    method: Method::Induction(2),
    depth: 17,
    mutants: MUTANTS,
    quick: false,
};

#[rustfmt::skip]
pub(super) const SESSION_TABLE: Proof = Proof {
    block: "session-table",
    parameters: "2 queues of 2 buckets of 4 sessions",
    design: || emit("coalesce", Coalesce::new(2, 2, 4)),
    module: "coalesce",
    properties: &[
        Attachment {
            module: "coalesce",
            text: TABLE_TEXT,
            words: &[("QUEUES", "2"), ("BUCKETS", "2"), ("DEPTH", "4"), ("SLOTS", SLOTS_4)],
        },
        at("coalesce_ram_4x54", MEMORY),
    ],
    narrow: &[],
    cut: CUT,
    method: Method::Induction(2),
    depth: 14,
    mutants: MUTANTS,
    quick: false,
};
