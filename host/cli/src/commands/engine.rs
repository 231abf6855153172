//! Failures of engines, the same in every command that runs one.

use groove_verilator::Error;

use crate::engine::EngineError;
use crate::{Failure, exit};

/// An engine's error with its exit code and next step.
pub fn failure(error: &EngineError) -> Failure {
    match error {
        EngineError::Config(_) => Failure::of(exit::USAGE, error),
        EngineError::Rtl(cause) if cause.is_missing_tool() => {
            Failure::of(exit::TOOL, error).help("`groove doctor` shows what else is missing")
        }
        EngineError::Rtl(Error::NoCacheDirectory | Error::Cache { .. } | Error::Wave { .. }) => {
            Failure::of(exit::USAGE, error).help("check that the directory exists and is writable")
        }
        EngineError::Rtl(_) => {
            Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it")
        }
    }
}
