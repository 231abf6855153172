//! A measurement as a table, as JSON, or both.

use std::path::Path;

use serde::Serialize;

use super::output;
use crate::{Failure, exit};

/// The table to standard output; with `json` also to a file, or `-`: then the table goes to
/// standard error.
pub fn report(json: Option<&Path>, table: &str, data: &impl Serialize) -> Result<(), Failure> {
    let Some(path) = json else { return output::data(table) };
    if path == Path::new("-") {
        output::talk(table)?;
        return self::json(path, data);
    }
    self::json(path, data)?;
    output::data(table)
}

/// JSON alone, to a file or to standard output.
pub fn json(path: &Path, data: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(data)
        .map_err(|e| Failure::fault(format!("failed to write JSON: {e}")))?;
    if path == Path::new("-") {
        return output::data(&text);
    }
    std::fs::write(path, text + "\n").map_err(|e| {
        Failure::caused(exit::USAGE, format!("failed to write {}", path.display()), &e)
            .help("check that the directory exists, is writable and has room")
    })
}
