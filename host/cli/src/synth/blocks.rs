//! The blocks of the pipeline, cut out of one emission.
//!
//! Invariant: every stage of the table, and every part between stages, is a module of the emitted
//! pipeline (`every_block_is_a_module`).

use super::{Request, SynthError, Target};
use groove_hdl::pipeline::{self, Parameters, TOP};
use std::sync::Arc;

/// Name of the whole pipeline among the blocks.
pub const PIPELINE: &str = "pipeline";

/// Block and its instance in the pipeline, in the order of the data; the whole pipeline last.
const BLOCKS: [(&str, &str); 13] = [
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

/// Names of all blocks.
pub fn names() -> impl Iterator<Item = &'static str> {
    BLOCKS.iter().map(|(name, _)| *name)
}

fn module(instance: &str) -> String {
    if instance.is_empty() { TOP.into() } else { format!("{TOP}_{instance}") }
}

/// What is to be synthesised for one block or all, on one target or all.
pub fn requests(
    parameters: &Parameters,
    block: Option<&str>,
    target: Option<Target>,
) -> Result<Vec<Request>, SynthError> {
    let design = pipeline::emit(parameters).map_err(|e| SynthError::Parameters(e.to_string()))?;
    let verilog: Arc<str> = design.verilog.into();
    let mut requests = Vec::new();
    for (name, instance) in BLOCKS {
        for to in Target::ALL {
            if block.is_none_or(|b| b == name) && target.is_none_or(|t| t == to) {
                requests.push(Request {
                    verilog: verilog.clone(),
                    module: module(instance),
                    block: name.into(),
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
        assert_eq!(requests.len(), BLOCKS.len());
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
