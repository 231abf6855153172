//! The checks can fail: named one-line breaks of the emitted Verilog, each caught by random
//! traffic.
//!
//!   emitted text ──► every break in it, off ──► one build ──► break N on ──► engines differ
//!
//! One build serves all (`tests/src/mutation`); with number 0 the hardware is as emitted. A break
//! whose line is not found exactly once fails the test: it would break nothing.

use groove::engine::registers;
use groove_hdl::pipeline::{self, Parameters, TOP};
use groove_model::Config;
use groove_tests::differential::{Segment, check};
use groove_tests::generate::Item;
use groove_tests::generate::segment::Scope;
use groove_tests::mutation::{Break, NUMBER_ADDRESS, instrument};
use groove_verilator::{BuildOptions, Pipeline};

/// Segments tried on each break, and on the hardware without any.
const SEGMENTS: u64 = 60;
const SEGMENTS_UNBROKEN: u64 = 12;
const SEGMENT_FRAMES: usize = 1_000;
/// Few, so that buckets fill; more than one, so that steering matters.
const QUEUES: usize = 2;

/// A break: its name, the line, what of it is replaced, and by what.
struct Mutant {
    name: &'static str,
    line: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn mutant(
    name: &'static str,
    line: &'static str,
    from: &'static str,
    to: &'static str,
) -> Mutant {
    Mutant { name, line, from, to }
}

#[rustfmt::skip]
const MUTANTS: &[Mutant] = &[
    // Which session a frame belongs to.
    mutant("tci-not-compared", "vlan_differ = (meta[(64'h2b)+:(1)] != session[(64'hb0)+:(1)]) | (meta[(64'h2b)+:(1)] & ((meta[(64'h2c)+:(1)] != session[(64'hb1)+:(1)]) | (meta[(64'h2d)+:(16)] != session[(64'hb2)+:(16)])));", "(meta[(64'h2d)+:(16)] != session[(64'hb2)+:(16)])", "1'b0"),
    mutant("in-band-identity-not-compared", "out[(64'h0)+:(1)] = |first | |(differs & key[(64'h0)+:(31)]) | |identity_ip;", "|(differs & key[(64'h0)+:(31)])", "1'b0"),
    mutant("flow-label-not-compared", "out[(64'h0)+:(1)] = |first | |(differs & key[(64'h0)+:(31)]) | |identity_ip;", "|identity_ip", "1'b0"),
    // What must be equal to merge.
    mutant("cwr-does-not-block", "if (flags[32'h7] & (profile < profile_73)) begin", "(profile < profile_73)", "1'b0"),
    mutant("ece-not-compared", "flags_differ = (flags ^ session[(64'h85)+:(8)]) & compared;", "compared", "8'hb6"),
    mutant("window-not-compared", "else if (|flags_differ | diff[(64'h2)+:(1)]) begin", "diff[(64'h2)+:(1)]", "1'b0"),
    mutant("ack-not-compared", "else if (diff[(64'h1)+:(1)]) begin", "diff[(64'h1)+:(1)]", "1'b0"),
    mutant("options-not-compared", "else if (diff[(64'h3)+:(1)]) begin", "diff[(64'h3)+:(1)]", "1'b0"),
    mutant("ttl-and-tos-not-compared", "else if (diff[(64'h4)+:(1)]) begin", "diff[(64'h4)+:(1)]", "1'b0"),
    mutant("ip-id-not-checked", "else if (key[(64'h8f)+:(1)] & (delta != expected)) begin", "(delta != expected)", "1'b0"),
    mutant("fixed-id-not-known", "fixed = key[(64'h8f)+:(1)] & (delta == zero) & (~old_rules | key[(64'h90)+:(1)]);", "(delta == zero)", "1'b0"),
    // Sizes and sequence.
    mutant("empty-merges", "else if (length == zero) begin", "length == zero", "1'b0"),
    mutant("larger-merges", "else if (length > session[(64'h10)+:(16)]) begin", "length > session[(64'h10)+:(16)]", "1'b0"),
    mutant("gap-merges", "else if (meta[(64'hbf)+:(32)] != session[(64'h42)+:(32)]) begin", "meta[(64'hbf)+:(32)] != session[(64'h42)+:(32)]", "1'b0"),
    mutant("padding-merges", "else if (meta[(64'h8e)+:(1)]) begin", "meta[(64'h8e)+:(1)]", "1'b0"),
    mutant("limit-one-byte-late", "too_long = total[32'h10] | total[32'h11];", "total[32'h10]", "total[32'h10] & |total[15:0]"),
    mutant("short-goes-on", "out[(64'h7)+:(1)] = length < session[(64'h10)+:(16)];", "length < session[(64'h10)+:(16)]", "1'b0"),
    // The container, and what leaves it.
    mutant("fin-not-kept", "more[(64'h73)+:(1)] = session[(64'h73)+:(1)] | flags[32'h0];", "flags[32'h0]", "1'b0"),
    mutant("newest-evicted", "top = ranks & ~(ranks >> 32'h1);", "~(ranks >> 32'h1)", "one"),
    mutant("flush-old-takes-all", "if ((token_kind == flush_old) & young) begin", "young", "1'b0"),
    mutant("length-change-loses-a-carry", "rest = less[(32'h0)+:(16)] + ((less_carry) & 16'hffff);", "((less_carry) & 16'hffff)", "16'h0"),
    // What the stages in front find out.
    mutant("truncation-not-seen", "soft_now = is_ip & (meta[(64'h8e)+:(1)] | (ip_end != bytes));", "(ip_end != bytes)", "(ip_end < bytes)"),
    mutant("bad-sum-is-good", "if ((meta[(64'h7b)+:(2)] == 32'h1) & ~sum_good) begin", "~sum_good", "1'b0"),
    mutant("ipv4-options-merge", "held_d[(64'h4)+:(1)] = v4 & (ihl == 32'h5);", "(ihl == 32'h5)", "1'b1"),
    mutant("fragments-merge", "fragment = network[(64'h4d)+:(1)] | (v6 & (protocol_q == 32'h2c));", "network[(64'h4d)+:(1)]", "1'b0"),
    mutant("xor-mode-half-done", "second = source ^ destination;", "source ^ destination", "destination"),
    mutant("multicast-is-other-host", "else if (s_header[32'h0]) begin", "s_header[32'h0]", "1'b0"),
    mutant("oversize-one-byte-early", "over = ~runt & (sum > limit_q);", "(sum > limit_q)", "(sum >= limit_q)"),
];

/// Where a break is in the text.
fn place(mutant: &Mutant, lines: &[&str]) -> Break {
    let Mutant { name, line, from, to } = mutant;
    let found: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].trim() == *line).collect();
    assert_eq!(found.len(), 1, "{name}: its line is not in the text once");
    let text = lines[found[0]];
    assert_eq!(text.matches(from).count(), 1, "{name}: what it replaces");
    let start = text.find(from).expect("it is there once");
    Break { line: found[0], at: start..start + from.len(), to: (*to).to_owned() }
}

/// The text with every break in it.
fn with_breaks(verilog: &str) -> String {
    let lines: Vec<&str> = verilog.lines().collect();
    let breaks: Vec<Break> = MUTANTS.iter().map(|mutant| place(mutant, &lines)).collect();
    instrument(verilog, TOP, &breaks)
}

/// A segment's input, and its difference under break `number`, if any.
fn difference(pipeline: &mut Pipeline, seed: u64, number: u32) -> Option<String> {
    let segment = Segment {
        seed,
        queues: QUEUES as u8,
        frames: SEGMENT_FRAMES,
        stall_percent: 0,
        output_stall_percent: None,
        refuse_percent: 0,
    };
    let (config, items): (Config, Vec<Item>) = segment.input(Scope::Hardware);
    let mut registers = registers::image(&config);
    registers.push((NUMBER_ADDRESS, number));
    check(pipeline, &segment, registers, &config, &items).err().map(|d| d.to_string())
}

#[test]
fn every_break_is_caught() {
    let options = BuildOptions { queues: QUEUES, ..BuildOptions::default() };
    let parameters = Parameters { queues: QUEUES, ..Parameters::default() };
    let design = pipeline::emit(&parameters).expect("these parameters are possible");
    let mut pipeline = Pipeline::from_verilog(&with_breaks(&design.verilog), &options)
        .unwrap_or_else(|e| panic!("the hardware does not build: {e}"));
    for seed in 0..SEGMENTS_UNBROKEN {
        let found = difference(&mut pipeline, seed, 0);
        assert_eq!(found, None, "seed {seed}, without any break");
    }
    let mut missed = Vec::new();
    for (index, mutant) in MUTANTS.iter().enumerate() {
        let number = index as u32 + 1;
        let caught = (0..SEGMENTS).find_map(|seed| {
            difference(&mut pipeline, seed, number).map(|difference| (seed, difference))
        });
        match caught {
            Some((seed, difference)) => {
                println!("{}: caught by seed {seed}: {difference}", mutant.name);
            }
            None => missed.push(mutant.name),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
    assert!(MUTANTS.len() >= 20);
}
