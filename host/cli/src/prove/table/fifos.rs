//! FIFOs: what goes in comes out, in order, once, under any stalls.
//!
//!   fifo ─► deep_fifo, and in pairs ─► beat_fifo, meta_fifo, op_fifo
//!
//! Invariants: see `properties/fifo.sv`, `deep_fifo.sv`, `pair.sv`. Not here: frames.

use super::super::{Attachment, Method, Proof};
use super::{MEMORY, at, mutant};
use groove_hdl::blocks::beat_fifo::BeatFifo;
use groove_hdl::blocks::deep_fifo::DeepFifo;
use groove_hdl::blocks::fifo::Fifo;
use groove_hdl::blocks::frame_fifo::StoredInfo;
use groove_hdl::blocks::meta_fifo::MetaFifo;
use groove_hdl::blocks::op_fifo::OpFifo;
use groove_hdl::emit::emit;

pub(super) const FIFO_TEXT: &str = include_str!("../properties/fifo.sv");
const DEEP_TEXT: &str = include_str!("../properties/deep_fifo.sv");
const PAIR_TEXT: &str = include_str!("../properties/pair.sv");

#[rustfmt::skip]
pub(super) const FIFO: Proof = Proof {
    block: "fifo",
    parameters: "4 words of 8 bits, and one",
    design: || emit("fifo", Fifo::<StoredInfo, 2>::default()),
    module: "fifo",
    properties: &[at("fifo", FIFO_TEXT), at("fifo_lut_ram*", MEMORY)],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 12,
    mutants: &[
        mutant("valid-dropped", "fifo", "o_valid_d = o_valid_q & ~m_ready;", "o_valid_d = 1'b0;", "stable.valid_held"),
        mutant("output-overwritten", "fifo", "o_data_en = get;", "o_data_en = 1'b1;", "stable.data_held"),
        mutant("written-one-further", "fifo", "mem_waddr = wptr_q;", "mem_waddr = wnext;", "order.in_order"),
        mutant("read-when-empty", "fifo", "(full_q | (wptr_q != rptr_q))", "1'b1", "order.none_twice"),
        mutant("ready-when-full", "fifo", "s_ready = ~full_q;", "s_ready = 1'b1;", "order.bounded"),
        mutant("full-looks-empty", "fifo", "full_d = 1'b1;", "full_d = 1'b0;", "delivery.in_time"),
        mutant("full-for-ever", "fifo", "full_d = 1'b0;", "full_d = full_q;", "space.in_time"),
        mutant("almost-too-early", "fifo", "used == most", "used == middle", "almost_true"),
        mutant("half-too-late", "fifo", "used >= middle", "used > middle", "half_true"),
    ],
    quick: true,
};

#[rustfmt::skip]
pub(super) const DEEP_FIFO: Proof = Proof {
    block: "deep-fifo",
    parameters: "4 words of 8 bits, and five",
    design: || emit("deep_fifo", DeepFifo::<StoredInfo, 2>::default()),
    module: "deep_fifo",
    properties: &[
        at("deep_fifo", DEEP_TEXT),
        at("deep_fifo_fifo", FIFO_TEXT),
        at("deep_fifo_lut_ram*", MEMORY),
        at("deep_fifo_ram*", MEMORY),
    ],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 14,
    mutants: &[
        mutant("valid-dropped", "deep_fifo", "m_valid = ahead_m_valid;", "m_valid = ahead_m_valid & ~reading_q;", "stable.valid_held"),
        mutant("output-overtaken", "deep_fifo", "m_data = ahead_m_data;", "m_data = reading_q ? mem_rdata : ahead_m_data;", "stable.data_held"),
        mutant("read-one-further", "deep_fifo", "mem_raddr = rptr_q;", "mem_raddr = rptr_q + one;", "order.in_order"),
        mutant("read-when-empty", "deep_fifo", "(full_q | (wptr_q != rptr_q))", "1'b1", "order.none_twice"),
        mutant("ready-when-full", "deep_fifo", "s_ready = ~full_q;", "s_ready = 1'b1;", "order.bounded"),
        mutant("never-read", "deep_fifo", "& ~ahead_almost;", "& ahead_almost;", "delivery.in_time"),
        mutant("full-for-ever", "deep_fifo", "full_d = 1'b0;", "full_d = full_q;", "space.in_time"),
    ],
    quick: true,
};

/// A FIFO never looks at its data: 8 bits show as much as 1,024, and the solver ends.
const NARROW: &[(&str, &str)] =
    &[("[1023:0]", "[7:0]"), ("1024'h0", "8'h0"), ("[262:0]", "[7:0]"), ("263'h0", "8'h0")];
const NARROW_OPERATION: &[(&str, &str)] =
    &[("[1023:0]", "[7:0]"), ("1024'h0", "8'h0"), ("[179:0]", "[7:0]"), ("180'h0", "8'h0")];

/// Mutants of two FIFOs side by side, by the names of their ports and halves.
macro_rules! pair_mutants {
    ($module:literal, $first:literal, $second:literal, $low:literal) => {
        &[
            mutant(
                "valid-dropped",
                $module,
                concat!("m_valid = ", $second, "_m_valid;"),
                concat!("m_valid = ", $second, "_m_valid & ~s_valid;"),
                "stable.valid_held",
            ),
            mutant(
                "data-follows-input",
                $module,
                concat!("m_", $low, " = ", $first, "_m_data;"),
                concat!("m_", $low, " = ", $first, "_m_data ^ s_valid;"),
                "stable.data_held",
            ),
            mutant(
                "one-half-waits",
                $module,
                concat!($first, "_m_ready = m_ready;"),
                concat!($first, "_m_ready = m_ready & s_valid;"),
                "order.in_order",
            ),
            mutant(
                "valid-invented",
                $module,
                concat!("m_valid = ", $second, "_m_valid;"),
                "m_valid = 1'b1;",
                "order.none_twice",
            ),
            mutant(
                "always-ready",
                $module,
                concat!("s_ready = ", $second, "_s_ready;"),
                "s_ready = 1'b1;",
                "order.bounded",
            ),
            mutant(
                "never-valid",
                $module,
                concat!("m_valid = ", $second, "_m_valid;"),
                "m_valid = 1'b0;",
                "delivery.in_time",
            ),
            mutant(
                "never-ready",
                $module,
                concat!("s_ready = ", $second, "_s_ready;"),
                "s_ready = 1'b0;",
                "space.in_time",
            ),
        ]
    };
}

#[rustfmt::skip]
pub(super) const BEAT_FIFO: Proof = Proof {
    block: "beat-fifo",
    parameters: "4 beats of 64 bits, and one",
    design: || emit("beat_fifo", BeatFifo::<64, 2>::default()),
    module: "beat_fifo",
    properties: &[
        pair("beat_fifo", &[("FIRST", "data"), ("SECOND", "info"), ("LOW", "data"), ("HIGH", "info"), ("WORDS_LOG2", "2")]),
        at("beat_fifo_fifo*", FIFO_TEXT),
        at("beat_fifo_lut_ram*", MEMORY),
    ],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 12,
    mutants: pair_mutants!("beat_fifo", "data", "info", "data"),
    quick: true,
};

#[rustfmt::skip]
pub(super) const META_FIFO: Proof = Proof {
    block: "meta-fifo",
    parameters: "4 records, and one; header and record of 8 bits each",
    design: || emit("meta_fifo", MetaFifo::<2>::default()),
    module: "meta_fifo",
    properties: &[
        pair("meta_fifo", &[("FIRST", "header"), ("SECOND", "meta"), ("LOW", "header"), ("HIGH", "meta"), ("WORDS_LOG2", "2")]),
        at("meta_fifo_fifo*", FIFO_TEXT),
        at("meta_fifo_lut_ram*", MEMORY),
    ],
    narrow: NARROW,
    cut: &[],
    method: Method::Induction(2),
    depth: 12,
    mutants: pair_mutants!("meta_fifo", "header", "meta", "header"),
    quick: false,
};

#[rustfmt::skip]
pub(super) const OP_FIFO: Proof = Proof {
    block: "op-fifo",
    parameters: "4 operations, and one; header and record of 8 bits each",
    design: || emit("op_fifo", OpFifo::<2>::default()),
    module: "op_fifo",
    properties: &[
        pair("op_fifo", &[("FIRST", "headers"), ("SECOND", "records"), ("LOW", "header"), ("HIGH", "meta"), ("WORDS_LOG2", "2")]),
        at("op_fifo_fifo*", FIFO_TEXT),
        at("op_fifo_lut_ram*", MEMORY),
    ],
    narrow: NARROW_OPERATION,
    cut: &[],
    method: Method::Induction(2),
    depth: 12,
    mutants: pair_mutants!("op_fifo", "headers", "records", "header"),
    quick: false,
};

const fn pair(module: &'static str, words: &'static [(&'static str, &'static str)]) -> Attachment {
    Attachment { module, text: PAIR_TEXT, words }
}
