//! Breaks of the model or the driver: `cargo mutants` makes them, the crate's own tests and the
//! suites over it find them.

use crate::Failure;
use std::process::Command;

/// Suites that hold the model to kernels, besides its own.
const MODEL_SUITES: [&str; 4] = ["goldens", "bugs", "gso", "vectors"];

/// Runs cargo-mutants on a crate. Its own report is in `target/mutants-CRATE`.
///
/// # Errors
/// If it is not installed or cannot be started.
pub fn run(package: &str, shard: &str) -> Result<u8, Failure> {
    let missing = |e: &dyn std::fmt::Display| {
        Failure::new(
            groove::exit::TOOL,
            format!("cargo-mutants does not run: {e}"),
            "cargo install --locked cargo-mutants",
        )
    };
    let found = Command::new("cargo").args(["mutants", "--version"]).output();
    match found {
        Ok(output) if output.status.success() => {}
        Ok(output) => return Err(missing(&String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => return Err(missing(&error)),
    }
    let mut command = Command::new("cargo");
    command.args(["mutants", "--package", package, "--shard", shard]);
    command.args(["--output", &format!("target/mutants-{package}"), "--timeout", "120"]);
    command.args(["--baseline", "skip", "--jobs", "1"]);
    if package == "groove-model" {
        command.args(["--test-package", "groove-model,groove-tests", "--", "--lib"]);
        command.args(MODEL_SUITES.iter().flat_map(|suite| ["--test", suite]));
    }
    let status = command.status().map_err(|e| missing(&e))?;
    Ok(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}
