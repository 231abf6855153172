//! Failures of engines, the same in every command that runs one.

use groove_model::Config;
use groove_spec::MAX_HEADER_BYTES;
use groove_verilator::Error;

use super::device;
use crate::engine::EngineError;
use crate::{Failure, exit};

/// An engine's error with its exit code and next step.
pub fn failure(error: &EngineError) -> Failure {
    match error {
        EngineError::Config(_) => Failure::of(exit::USAGE, error),
        EngineError::Rtl(cause) => rtl_failure(error, cause),
        EngineError::Bed(cause) => device::failure(error, cause),
        EngineError::Setup(_) => Failure::of(exit::DEVICE, error)
            .help("the device has fewer queues or less memory than the cases need"),
        EngineError::Queue(_) => {
            Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it")
        }
    }
}

/// A failure of the simulated hardware, told as `error`.
pub fn rtl_failure(error: &(dyn std::error::Error + 'static), cause: &Error) -> Failure {
    match cause {
        _ if cause.is_missing_tool() => {
            Failure::of(exit::TOOL, error).help("`groove doctor` shows what else is missing")
        }
        Error::NoCacheDirectory | Error::Cache { .. } | Error::Wave { .. } => {
            Failure::of(exit::USAGE, error).help("check that the directory exists and is writable")
        }
        _ => Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it"),
    }
}

/// Refuses settings that only the model can follow.
pub fn check_hardware(config: &Config, help: &str) -> Result<(), Failure> {
    let only_model =
        |what: &str, why: &str| Err(Failure::usage(format!("--set {what}: {why}")).help(help));
    if config.max_header_bytes != Some(MAX_HEADER_BYTES) {
        return only_model("max_header", "the hardware takes headers of up to 128 bytes");
    }
    if config.options.tunnels {
        return only_model("tunnels=on", "the hardware has them fixed to off");
    }
    if config.options.pppoe {
        return only_model("pppoe=on", "the hardware has it fixed to off");
    }
    Ok(())
}
