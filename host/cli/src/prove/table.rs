//! Every proof: block, parameters, properties, method, mutants.
//!
//!   block ──► emission ──► module, texts ──► method, depth ──► mutants
//!
//! Invariants: names are unique (`names_are_unique`); every property of a block is the aim of one
//! of its mutants (`every_property_is_the_aim_of_a_mutant`). Not here: how a proof is run.

mod checks;
mod fifos;
mod sessions;
mod streams;

const MEMORY: &str = include_str!("properties/memory.sv");

use super::{Attachment, Mutant, Proof};

/// Every proof, in the order of the report.
pub const PROOFS: &[&Proof] = &[
    &fifos::FIFO,
    &fifos::DEEP_FIFO,
    &fifos::BEAT_FIFO,
    &fifos::META_FIFO,
    &fifos::OP_FIFO,
    &checks::FRAME_GATE,
    &checks::FRAME_GATE_LOSSY,
    &checks::INGRESS,
    &checks::INGRESS_LOSSY,
    &sessions::SESSION_TABLE,
    &sessions::SMALL_TABLE,
    &streams::FRAME_FIFO,
    &streams::STRIP,
    &streams::FIXUP,
    &streams::CHECKSUMS,
    &streams::ROUND_ROBIN,
    &streams::RESPONSES,
    &checks::FOLD,
    &checks::SUM,
    &checks::RING,
    &checks::ACCOUNT,
];

const fn mutant(
    name: &'static str,
    module: &'static str,
    from: &'static str,
    to: &'static str,
    kills: &'static str,
) -> Mutant {
    Mutant { name, module, from, to, kills }
}

const fn at(module: &'static str, text: &'static str) -> Attachment {
    Attachment { module, text, words: &[] }
}

#[cfg(test)]
mod tests {
    use super::PROOFS;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let mut names = HashSet::new();
        for proof in PROOFS {
            assert!(names.insert(proof.block), "{}", proof.block);
            let mut mutants = HashSet::new();
            assert!(proof.mutants.iter().all(|m| mutants.insert(m.name)), "{}", proof.block);
        }
    }
}
