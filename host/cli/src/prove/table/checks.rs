//! Blocks with rules of their own: gates, counters, rings, ingress, the checksum's fold.
//!
//!   ingress, frame_gate ─ frames accounted        ring ─ slots and generation
//!   dma_guard_account ─ bursts open               fold ─ RFC 1071
//!
//! Invariants: see the files of `properties/` of the same names. Not here: FIFOs.

use super::super::{Attachment, Method, Mutant, Proof};
use super::{MEMORY, at, mutant};
use groove_hdl::blocks::dma_guard::account::Account;
use groove_hdl::blocks::frame_gate::FrameGate;
use groove_hdl::blocks::sum_lanes::SumLanes;
use groove_hdl::emit::emit;
use groove_hdl::stages::complete::ring::Ring;
use groove_hdl::stages::ingress::Ingress;
use groove_hdl::stages::parse::Parse;

const GATE_TEXT: &str = include_str!("../properties/frame_gate.sv");
const INGRESS_TEXT: &str = include_str!("../properties/ingress.sv");

const fn with(
    module: &'static str,
    text: &'static str,
    words: &'static [(&'static str, &'static str)],
) -> Attachment {
    Attachment { module, text, words }
}

#[rustfmt::skip]
const GATE_MUTANTS: &[Mutant] = &[
    mutant("shut-gate-passes", "frame_gate", "s_tvalid & open & ~swallow_q;", "s_tvalid & ~swallow_q;", "shut_passes_nothing"),
    mutant("rest-passes", "frame_gate", "s_tvalid & open & ~swallow_q;", "s_tvalid & open;", "no_rest_without_beginning"),
    mutant("swallows-next-frame", "frame_gate", "still = ~s_tlast;", "still = 1'b1;", "passes_or_swallows"),
    mutant("last-forced", "frame_gate", "m_tlast = s_tlast;", "m_tlast = s_tlast | swallow_q;", "unchanged"),
];

#[rustfmt::skip]
pub(super) const FRAME_GATE: Proof = Proof {
    block: "frame-gate",
    parameters: "64 bits, with back-pressure",
    design: || emit("frame_gate", FrameGate::<64, 8>::new(true)),
    module: "frame_gate",
    properties: &[with("frame_gate", GATE_TEXT, &[("LOSSY", "1'b0")])],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 8,
    mutants: GATE_MUTANTS,
    quick: true,
};

#[rustfmt::skip]
pub(super) const FRAME_GATE_LOSSY: Proof = Proof {
    block: "frame-gate-lossy",
    parameters: "64 bits, without back-pressure",
    design: || emit("frame_gate", FrameGate::<64, 8>::new(false)),
    module: "frame_gate",
    properties: &[with("frame_gate", GATE_TEXT, &[("LOSSY", "1'b1")])],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 8,
    mutants: GATE_MUTANTS,
    quick: true,
};

#[rustfmt::skip]
pub(super) const FOLD: Proof = Proof {
    block: "fold",
    parameters: "24 bits, once and again",
    design: || emit("parse", Parse::default()),
    module: "parse_address_fold",
    properties: &[at("parse_address_fold", include_str!("../properties/fold.sv"))],
    narrow: &[],
    cut: &[],
    method: Method::Combinational,
    depth: 1,
    mutants: &[
        mutant("carry-dropped", "parse_address_fold", "folded = base + carry;", "folded = base;", "congruent"),
        mutant("zero-forced", "parse_address_fold", "folded = base + carry;", "folded = base + carry + (sum == 24'hffff);", "zero_is_zero"),
    ],
    quick: true,
};

#[rustfmt::skip]
pub(super) const SUM: Proof = Proof {
    block: "checksum-sum",
    parameters: "512 bits, frames of at most 256 beats",
    design: || emit("sum_lanes", SumLanes::<512>::default()),
    module: "sum_lanes",
    properties: &[with(
        "sum_lanes",
        include_str!("../properties/sum_lanes.sv"),
        &[("GOOD", "48"), ("BEATS", "256")],
    )],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 6,
    mutants: &[
        mutant("upper-half-left-out", "sum_lanes", "once = lower + upper;", "once = lower;", "good_is_arithmetic"),
        mutant("word-left-out", "sum_lanes", "level1_15 = level0_30 + level0_31;", "level1_15 = level0_30;", "each_word_once"),
        mutant("lane-left-out", "sum_lanes", "level4_1 = level3_2 + level3_3;", "level4_1 = level3_2;", "beat_is_their_sum"),
        mutant("carry-dropped", "sum_lanes", "base = accumulator_q;", "base = {16'h0, accumulator_q[15:0]};", "no_carry_lost"),
    ],
    quick: false,
};

#[rustfmt::skip]
pub(super) const ACCOUNT: Proof = Proof {
    block: "dma-guard-account",
    parameters: "at most 300 open bursts of each kind",
    design: || emit("account", Account::default()),
    module: "account",
    properties: &[at("account", include_str!("../properties/account.sv"))],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 20,
    mutants: &[
        mutant("both-at-once-counts", "account", "if (write_begins & ~write_ends)", "if (write_begins)", "count_is_exact"),
        mutant("ends-with-reads-open", "account", "(writes_q == zero9) & (reads_q == zero9)", "(writes_q == zero9)", "ends_when_idle"),
        mutant("ends-one-early", "account", "enough = 4'hf", "enough = 4'he", "at_least_16"),
    ],
    quick: true,
};

#[rustfmt::skip]
pub(super) const RING: Proof = Proof {
    block: "completion-ring",
    parameters: "32 queues, any ring of 1 to 32,768 slots",
    design: || emit("ring", Ring::default()),
    module: "ring",
    properties: &[
        at("ring", include_str!("../properties/ring.sv")),
        at("ring_lut_ram_32x16", MEMORY),
    ],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 10,
    mutants: &[
        mutant("mask-too-wide", "ring", "mask = entries - one;", "mask = entries;", "inside"),
        mutant("slot-of-16-bytes", "ring", "slot_shift = 6'b101", "slot_shift = 6'b100", "address_of_slot"),
        mutant("restart-goes-on", "ring_complete_index", "| starts;", ";", "starts_at_0"),
        mutant("counts-by-two", "ring_complete_index", "following = current + one16;", "following = current + 16'd2;", "next_slot"),
        mutant("generation-of-half-the-ring", "ring", "fresh_d = (index_now_q & entries) == none;", "fresh_d = (index_now_q & (entries >> 1)) == none;", "generation_toggles_at_0"),
    ],
    quick: true,
};

/// Mutants of ingress; what may overwrite a beat, or come beside one, differs with back-pressure.
macro_rules! ingress_mutants { ($($own:expr),*) => { &[
    $($own,)*
    mutant("rest-not-swallowed", "ingress", "state_d = IngressState_Swallow;", "state_d = IngressState_Pass;", "never_twice"),
    mutant("end-not-seen", "ingress", "entry[(64'h7)+:(1)] = ends | cut;", "entry[(64'h7)+:(1)] = arrival_info[(64'h7)+:(1)] & ~over;", "frame_accounted"),
    mutant("token-inside-frame", "ingress", "token_ok = open & ~in_frame_q", "token_ok = open", "tokens_between_frames"),
    mutant("token-not-written", "ingress", "a_valid_q & (state_q != IngressState_Swallow)", "a_valid_q & ((state_q == IngressState_Pass) | ~arrival_info[(64'h8)+:(1)])", "token_kept"),
    mutant("middle-not-written", "ingress", "a_valid_q & (state_q != IngressState_Swallow)", "a_valid_q & (state_q == IngressState_Idle)", "passed_beat_kept"),
    mutant("number-stands-still", "ingress", "number_d = number_q + one;", "number_d = number_q;", "numbered"),
    mutant("oversize-counts-as-overflow", "ingress", "if (refuse | cut) begin", "if (refuse | cut | over) begin", "overflows_counted"),
    mutant("refusal-without-reason", "ingress", "logs_refuse = refuse;", "logs_refuse = refuse | over;", "refusal_logged"),
] } }

#[rustfmt::skip]
pub(super) const INGRESS: Proof = Proof {
    block: "ingress",
    parameters: "64 bits, with back-pressure",
    design: || emit("ingress", Ingress::<64, 8>::new(true)),
    module: "ingress",
    properties: &[with("ingress", INGRESS_TEXT, &[("LOSSLESS", "1'b1")])],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 8,
    mutants: ingress_mutants!(
        mutant("beat-overwritten", "ingress", "fire = a_valid_q & (fifo_s_ready", "fire = a_valid_q & ((fifo_s_ready & ~s_tlast)", "beat_kept"),
        mutant("beat-beside-token", "ingress", "(in_frame_q | ~token_valid | ~lossless)", "1'b1", "one_at_a_time")
    ),
    quick: false,
};

#[rustfmt::skip]
pub(super) const INGRESS_LOSSY: Proof = Proof {
    block: "ingress-lossy",
    parameters: "64 bits, without back-pressure; any patience",
    design: || emit("ingress", Ingress::<64, 8>::new(false)),
    module: "ingress",
    properties: &[with("ingress", INGRESS_TEXT, &[("LOSSLESS", "1'b0")])],
    narrow: &[],
    cut: &["ingress_ingress_patience"],
    method: Method::Induction(2),
    depth: 8,
    mutants: ingress_mutants!(
        mutant("beat-overwritten", "ingress", "fire = a_valid_q & (fifo_s_ready", "fire = a_valid_q & ~s_tuser & (fifo_s_ready", "beat_kept"),
        mutant("token-beside-beat", "ingress", "(lossless | ~s_tvalid | patience_over)", "1'b1", "one_at_a_time"),
        mutant("displaced-frame-forgotten", "ingress", "refuse = displaced |", "refuse =", "frame_accounted")
    ),
    quick: true,
};
