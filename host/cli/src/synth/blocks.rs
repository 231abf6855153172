//! The blocks of the pipeline and of the NIC, cut out of one emission of each.
//!
//! Invariant: every stage of the table, and every part between stages, is a module of the emitted
//! pipeline or NIC (`every_block_is_a_module`).

use super::{Request, SynthError, Target};
use groove_hdl::pipeline::{self, ParameterError, Parameters};
use groove_hdl::{emit::Design, nic};
use std::sync::Arc;

/// Name of the whole pipeline among the blocks.
pub const PIPELINE: &str = "pipeline";
/// Name of the whole NIC among the blocks.
pub const NIC: &str = "nic";

/// Block and its instance in the pipeline, in the order of the data; the whole pipeline last.
const PIPELINE_BLOCKS: [Block; 13] = [
    ("ingress", "ingress"),
    ("collect", "collect"),
    ("parse", "parse"),
    ("checksum", "checksum"),
    ("classify", "classify"),
    ("rss", "rss"),
    ("frame-fifo", "frame_fifo"),
    ("admit", "admission"),
    ("coalesce", "coalesce"),
    ("fixup", "fixup"),
    ("strip", "strip"),
    ("registers", "registers"),
    (PIPELINE, ""),
];

/// The same of what the NIC adds to the pipeline; the whole NIC last.
const NIC_BLOCKS: [Block; 10] = [
    ("frame-gate", "frame_gate"),
    ("place", "place"),
    ("complete", "complete"),
    ("prefetch", "prefetch"),
    ("mover", "mover"),
    ("dma-guard", "dma_guard"),
    ("axi-lite", "axi_lite"),
    ("queues", "queues"),
    ("interrupts", "interrupts"),
    (NIC, ""),
];

type Emit = fn(&Parameters) -> Result<Design, ParameterError>;
/// Block and instance.
type Block = (&'static str, &'static str);

/// What is emitted: its blocks, its name and how.
const TOPS: [(&[Block], &str, Emit); 2] =
    [(&PIPELINE_BLOCKS, pipeline::TOP, pipeline::emit), (&NIC_BLOCKS, nic::TOP, nic::emit)];

/// Names of all blocks.
pub fn names() -> impl Iterator<Item = &'static str> {
    PIPELINE_BLOCKS.iter().chain(&NIC_BLOCKS).map(|(name, _)| *name)
}

fn module(top: &str, instance: &str) -> String {
    if instance.is_empty() { top.into() } else { format!("{top}_{instance}") }
}

/// What is to be synthesised for one block or all, on one target or all.
pub fn requests(
    parameters: &Parameters,
    block: Option<&str>,
    target: Option<Target>,
) -> Result<Vec<Request>, SynthError> {
    let wanted = |name: &str| block.is_none_or(|b| b == name);
    let mut requests = Vec::new();
    for (blocks, top, emit) in TOPS {
        // Emission takes seconds.
        if !blocks.iter().any(|(name, _)| wanted(name)) {
            continue;
        }
        let design = emit(parameters).map_err(|e| SynthError::Parameters(e.to_string()))?;
        let verilog: Arc<str> = design.verilog.into();
        for (name, instance) in blocks.iter().filter(|(name, _)| wanted(name)) {
            for to in Target::ALL.into_iter().filter(|t| target.is_none_or(|to| to == *t)) {
                requests.push(Request {
                    verilog: verilog.clone(),
                    module: module(top, instance),
                    block: (*name).into(),
                    target: to,
                });
            }
        }
    }
    if requests.is_empty() {
        let known = names().collect::<Vec<_>>().join(", ");
        let name = block.unwrap_or_default();
        return Err(SynthError::Parameters(format!("no block {name}; there are: {known}")));
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_a_module() {
        let requests = requests(&Parameters::default(), None, Some(Target::Ecp5)).unwrap();
        assert_eq!(requests.len(), names().count());
        for request in &requests {
            let header = format!("\nmodule {}(", request.module);
            let count = request.verilog.matches(&header).count();
            assert_eq!(count, 1, "{} in the emission", request.module);
        }
        for stage in groove_spec::STAGES {
            let name = stage.name;
            assert!(requests.iter().any(|r| r.block == name), "stage {name}");
        }
    }

    #[test]
    fn an_unknown_block_is_named() {
        let error = requests(&Parameters::default(), Some("parser"), None).unwrap_err();
        assert!(error.to_string().starts_with("no block parser; there are: ingress, "), "{error}");
    }
}
