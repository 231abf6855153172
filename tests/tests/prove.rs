//! Formal proofs: those that are quick hold, mutants included; the tables of all are complete.
//!
//!   PROOFS ──► quick ones: proved, covers reached, every mutant killed
//!
//! The others run by command: `groove prove --mutants`. What counts is the answer, not the time.

use groove::prove::{self, Method, Mutant, PROOFS, Proof, Report, Verdict};
use groove_verilator::{Tool, Toolbox};

fn proof(block: &str) -> Proof {
    **PROOFS.iter().find(|proof| proof.block == block).expect("a block of the table")
}

fn run(proof: &Proof) -> Report {
    let dir = tempfile::tempdir().unwrap();
    prove::prove(proof, None, dir.path()).unwrap_or_else(|e| panic!("{}: {e:?}", proof.block))
}

/// Where the tools cannot be had the test is skipped, by name; not in CI, which installs them.
fn skipped(test: &str) -> bool {
    let tools = Toolbox::from_env();
    let missing = [Tool::YOSYS, Tool::SMTBMC, Tool::Z3].map(|tool| tools.require(tool));
    let Some(why) = missing.into_iter().find_map(Result::err) else { return false };
    assert!(std::env::var_os("CI").is_none(), "{test}: {why}");
    println!("skipped: {test}: {why}");
    true
}

#[test]
fn quick_proofs_hold() {
    if skipped("quick_proofs_hold") {
        return;
    }
    for proof in PROOFS.iter().filter(|proof| proof.quick) {
        let report = run(proof);
        println!("{}", prove::text(std::slice::from_ref(&report), &[]));
        assert_eq!(report.verdict, Verdict::Proved, "{}", proof.block);
        assert!(!report.covers.is_empty(), "{}: nothing shows that it can happen", proof.block);
    }
}

#[test]
fn every_property_is_the_aim_of_a_mutant() {
    if skipped("every_property_is_the_aim_of_a_mutant") {
        return;
    }
    for proof in PROOFS {
        let dir = tempfile::tempdir().unwrap();
        let properties = prove::properties(proof, dir.path()).unwrap();
        for property in &properties {
            let aimed = proof.mutants.iter().any(|mutant| mutant.kills == property);
            assert!(aimed, "{}: no mutant for {property}", proof.block);
        }
    }
}

#[test]
fn every_property_kills_a_mutant() {
    if skipped("every_property_kills_a_mutant") {
        return;
    }
    for proof in PROOFS.iter().filter(|proof| proof.quick) {
        let dir = tempfile::tempdir().unwrap();
        let mutants = prove::mutants(proof, dir.path()).unwrap();
        println!("{}", prove::text(&[], &mutants));
        let alive: Vec<_> = mutants.iter().filter(|mutant| !mutant.killed).collect();
        assert!(alive.is_empty(), "{}: {alive:?}", proof.block);
    }
}

#[test]
fn a_harmless_mutant_survives() {
    const HARMLESS: &[Mutant] = &[Mutant {
        name: "harmless",
        module: "frame_gate",
        from: "m_tvalid = s_tvalid & open & ~swallow_q;",
        to: "m_tvalid = open & s_tvalid & ~swallow_q;",
        kills: "unchanged",
    }];
    if skipped("a_harmless_mutant_survives") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let proof = Proof { mutants: HARMLESS, ..proof("frame-gate") };
    assert!(!prove::mutants(&proof, dir.path()).unwrap()[0].killed);
}

#[test]
fn an_unreached_cover_fails() {
    if skipped("an_unreached_cover_fails") {
        return;
    }
    // Three cycles do not end a frame that was cut.
    let proof = Proof { depth: 1, ..proof("frame-gate") };
    assert_eq!(run(&proof).verdict, Verdict::Unreached);
}

#[test]
fn a_broken_block_is_not_proved() {
    if skipped("a_broken_block_is_not_proved") {
        return;
    }
    let proof = proof("frame-gate");
    let broken = Proof { design: broken_gate, method: Method::Induction(2), ..proof };
    let Verdict::Failed { properties, .. } = run(&broken).verdict else { panic!("proved") };
    assert!(properties.iter().any(|p| p == "unchanged"), "{properties:?}");
}

fn broken_gate() -> groove_hdl::emit::Design {
    let mut design = (proof("frame-gate").design)();
    design.verilog = design.verilog.replace("m_tlast = s_tlast;", "m_tlast = ~s_tlast;");
    design
}
