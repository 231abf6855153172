//! The committed inputs: one directory for each target, one file for each input.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Where the inputs of a target are.
pub fn directory(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// All inputs of a target with their names, by name.
///
/// # Errors
/// If there is no corpus, or it cannot be read.
pub fn read(target: &str) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut inputs = Vec::new();
    for entry in std::fs::read_dir(directory(target))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        inputs.push((name, std::fs::read(&path)?));
    }
    inputs.sort();
    Ok(inputs)
}

/// Name of an input: the first 16 hexadecimal digits of its SHA-256, as `sha256sum` gives it.
pub fn name(input: &[u8]) -> String {
    Sha256::digest(input).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
