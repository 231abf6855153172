//! Read: every recorded case below a directory, or of one file, in a fixed order.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::case::{Case, ReadError, from_files, from_line};

/// End of the name of a packed group.
const PACKED: &str = ".jsonl.gz";

/// Every case at `path`: a directory (searched to any depth), a packed file, or one case's JSON
/// file. Ordered by file name.
pub fn cases(path: &Path) -> Result<Vec<Case>, ReadError> {
    let mut files = Vec::new();
    find(path, &mut files)?;
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        if is_packed(&file) {
            unpack(&file, &mut cases)?;
        } else {
            cases.push(from_files(&file)?);
        }
    }
    match cases.is_empty() {
        true => Err(ReadError::Empty { path: path.to_owned() }),
        false => Ok(cases),
    }
}

fn is_packed(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(PACKED))
}

fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(failed)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A JSON file without a capture beside it is something else.
        let is_case =
            path.extension().is_some_and(|e| e == "json") && path.with_extension("pcap").is_file();
        if path.is_dir() || is_case || is_packed(&path) {
            find(&path, files)?;
        }
    }
    Ok(())
}

fn unpack(path: &Path, cases: &mut Vec<Case>) -> Result<(), ReadError> {
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    for (i, line) in BufReader::new(MultiGzDecoder::new(file)).lines().enumerate() {
        cases.push(from_line(path, i + 1, &line.map_err(failed)?)?);
    }
    Ok(())
}
