//! Stages of streams: frames kept or dropped whole, headers cut off, operations corrected.
//!
//!   frame_fifo ─ whole frames or nothing        strip ─ the payload, byte by byte
//!   fixup ─ operations, RFC 1624                round_robin, responses ─ turns, answers
//!
//! Invariants: see the files of `properties/` of the same names. Not here: FIFOs of words.

use super::super::{Attachment, Method, Proof};
use super::{MEMORY, at, mutant};
use groove_hdl::blocks::fixup::Fixup;
use groove_hdl::blocks::frame_fifo::FrameFifo;
use groove_hdl::blocks::mover::responses::Responses;
use groove_hdl::blocks::round_robin::RoundRobin;
use groove_hdl::blocks::strip::Strip;
use groove_hdl::emit::emit;

/// The word that the block around it asks for; the RAM ignores what it does not need.
const FRAME_MEMORY: &str = r"
`ifdef INVARIANTS
    wire [12:0] p_slot;
    wire [$bits(rdata)-1:0] p_word = words[p_slot[8:0]];
`endif
";

#[rustfmt::skip]
pub(super) const FRAME_FIFO: Proof = Proof {
    block: "frame-fifo",
    parameters: "beats of 8 bits, room for 4 to 6",
    design: || emit("frame_fifo", FrameFifo::<512>::default()),
    module: "frame_fifo",
    properties: &[
        Attachment {
            module: "frame_fifo",
            text: include_str!("../properties/frame_fifo.sv"),
            words: &[("LIMIT", "4")],
        },
        at("frame_fifo_ram_512x512", FRAME_MEMORY),
        at("frame_fifo_ram_512x8", FRAME_MEMORY),
    ],
    narrow: &[("[511:0]", "[7:0]"), ("{512{1'bx}}", "{8{1'bx}}"), ("13'b111111110", "13'b100")],
    cut: &[],
    method: Method::Induction(2),
    depth: 12,
    mutants: &[
        mutant("valid-dropped", "frame_fifo", "holds_d = holds_q & ~m_ready;", "holds_d = 1'b0;", "stable.valid_held"),
        mutant("output-overtaken", "frame_fifo", "& (~holds_q | m_ready);", ";", "stable.data_held"),
        mutant("written-one-further", "frame_fifo", "data_waddr = wptr_q;", "data_waddr = wnext;", "in_order"),
        mutant("leaves-before-its-end", "frame_fifo", "(rptr_q != committed_q)", "(rptr_q != wptr_q)", "only_whole_frames"),
        mutant("dropped-frame-kept", "frame_fifo", "wptr_d = committed_q;", "committed_d = wnext;", "dropped_stays_inside"),
        mutant("room-for-ever", "frame_fifo", "room_d = used < limit;", "room_d = 1'b1;", "bounded"),
        mutant("never-out", "frame_fifo", "(rptr_q != committed_q)", "(rptr_q != committed_q) & s_valid", "delivery.in_time"),
        mutant("never-room", "frame_fifo", "room_d = used < limit;", "room_d = used == 0;", "space.in_time"),
    ],
    quick: false,
};

#[rustfmt::skip]
pub(super) const STRIP: Proof = Proof {
    block: "strip",
    parameters: "64 bits; headers of 14, 18 or 22 bytes, payload of at most 16",
    design: || emit("strip", Strip::<64, 8>::default()),
    module: "strip",
    properties: &[at("strip", include_str!("../properties/strip.sv"))],
    narrow: &[],
    cut: &[],
    method: Method::Bounded(6),
    depth: 9,
    mutants: &[
        mutant("valid-dropped", "strip", "emit | (o_valid_q & ~m_tready);", "emit;", "stable.valid_held"),
        mutant("output-overwritten", "strip", "o_data_en = out_free;", "o_data_en = 1'b1;", "stable.data_held"),
        mutant("not-rotated", "strip", "if (words[0]) begin", "if (1'b0) begin", "byte_in_place"),
        mutant("tail-kept", "strip", "o_keep_d = ones_keep >> unused_bytes;", "o_keep_d = ones_keep;", "exact_length"),
        mutant("discard-ignored", "strip", "starts & ~control_control[(64'h0)+:(1)]", "starts", "nothing_more"),
    ],
    quick: false,
};

#[rustfmt::skip]
pub(super) const FIXUP: Proof = Proof {
    block: "fixup",
    parameters: "operations as they come; any header",
    design: || emit("fixup", Fixup::default()),
    module: "fixup",
    properties: &[at("fixup", include_str!("../properties/fixup.sv"))],
    narrow: &[],
    cut: &["fixup_fixup_lengths", "fixup_fixup_placement"],
    method: Method::Induction(2),
    depth: 8,
    mutants: &[
        mutant("valid-dropped", "fixup", "out_valid_d = waits_q | (out_valid_q & ~out_moves);", "out_valid_d = waits_q;", "stable.valid_held"),
        mutant("output-overwritten", "fixup", "out_meta_en = out_takes;", "out_meta_en = waits_q;", "stable.data_held"),
        mutant("input-overwrites", "fixup", "meta_en = takes;\n", "meta_en = s_valid;\n", "order.in_order"),
        mutant("sent-twice", "fixup", "waits_d = s_valid | (waits_q & ~moves);", "waits_d = s_valid | waits_q;", "order.none_twice"),
        mutant("always-ready", "fixup", "s_ready = moves;", "s_ready = 1'b1;", "order.bounded"),
        mutant("waits-for-a-successor", "fixup", "out_takes = out_moves & waits_q;\n        out_valid_d = waits_q", "out_takes = out_moves & waits_q;\n        out_valid_d = (waits_q & s_valid)", "delivery.in_time"),
        mutant("waits-for-nothing", "fixup", "moves = ~waits_q | out_moves;", "moves = ~waits_q;", "space.in_time"),
    ],
    quick: true,
};

#[rustfmt::skip]
pub(super) const CHECKSUMS: Proof = Proof {
    block: "fixup-checksums",
    parameters: "16 bits",
    design: || emit("fixup", Fixup::default()),
    module: "fixup_fixup_checksums",
    properties: &[at("fixup_fixup_checksums", include_str!("../properties/checksums.sv"))],
    narrow: &[],
    cut: &[],
    method: Method::Combinational,
    depth: 1,
    mutants: &[
        mutant("length-not-swapped", "fixup_fixup_checksums", "length_field = swapped;", "length_field = length;", "length_by_position"),
        mutant("second-carry-dropped", "fixup_fixup_checksums", "sum = more[(32'h0)+:(16)] + ((more_carry) & 16'hffff);", "sum = more[(32'h0)+:(16)];", "csum_congruent"),
        mutant("zero-invented", "fixup_fixup_checksums", "csum_field = ~sum;", "csum_field = &sum ? sum : ~sum;", "csum_zero_is_zero"),
        mutant("carry-dropped", "fixup_fixup_checksums", "folded = pseudo[(32'h0)+:(16)] + ((pseudo_carry) & 16'hffff);", "folded = pseudo[(32'h0)+:(16)];", "tcp_congruent"),
        mutant("all-ones-as-zero", "fixup_fixup_checksums", "tcp_field = (folded >> 32'h8) | (folded << 32'h8);", "tcp_field = &folded ? 16'h0 : (folded >> 32'h8) | (folded << 32'h8);", "tcp_zero_is_zero"),
    ],
    quick: false,
};

#[rustfmt::skip]
pub(super) const ROUND_ROBIN: Proof = Proof {
    block: "round-robin",
    parameters: "32 positions",
    design: || emit("round_robin", RoundRobin::default()),
    module: "round_robin",
    properties: &[at("round_robin", include_str!("../properties/round_robin.sv"))],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 8,
    mutants: &[
        mutant("several-chosen", "round_robin", "held_d = filled & ~behind;", "held_d = filled;", "at_most_one"),
        mutant("first-always-wants", "round_robin", "of_all_mask = wants;", "of_all_mask = wants | 32'h1;", "who_wants"),
        mutant("no-second-round", "round_robin", "if (of_later_some) begin", "if (1'b1) begin", "somebody"),
        mutant("index-of-another", "round_robin", "held_q & digit_4", "held_q & digit_3", "index_of_chosen"),
        mutant("turn-not-over", "round_robin", "above_d = behind;", "above_d = above_q;", "no_turn_twice"),
    ],
    quick: false,
};

#[rustfmt::skip]
pub(super) const RESPONSES: Proof = Proof {
    block: "mover-responses",
    parameters: "128 open bursts",
    design: || emit("responses", Responses::<7>::default()),
    module: "responses",
    properties: &[
        at("responses", include_str!("../properties/responses.sv")),
        at("responses_fifo", super::fifos::FIFO_TEXT),
        at("responses_lut_ram*", MEMORY),
    ],
    narrow: &[],
    cut: &[],
    method: Method::Induction(2),
    depth: 10,
    mutants: &[
        mutant("no-room", "responses", "room = count_q != most;", "room = count_q != one;", "room_is_true"),
        mutant("fifo-half-ready", "responses_fifo", "s_ready = ~full_q;", "s_ready = ~full_q & ~m_ready;", "no_burst_lost"),
        mutant("done-by-burst", "responses", "o_valid_d = take & open_m_data[(64'h5)+:(1)];", "o_valid_d = take;", "done_per_command"),
        mutant("last-error-counts", "responses", "bad = failed_q | response_error;", "bad = response_error;", "error_of_any_burst"),
    ],
    quick: false,
};
