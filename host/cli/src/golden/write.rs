//! Write: recorded cases in the forms that `read` takes.
//!
//!   Packed       <group>.jsonl.gz, a case a line
//!   write_pair   <name>.json and <name>.pcap, for people and their tools
//!
//! Invariant: what is written reads back the same (`what_is_written_reads_back`).

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use groove_model::GivenCsum;
use serde_json::{Value, json};

use super::case::{Case, Input, Recorded};
use super::view::hex;

/// Why a case could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write {}", path.display())]
pub struct WriteError {
    /// Which file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// A packed file being written.
pub struct Packed {
    path: PathBuf,
    file: GzEncoder<File>,
}

impl Packed {
    /// Creates the file, and its directory if need be.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let failed = |source| WriteError { path: path.to_owned(), source };
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        let file = GzEncoder::new(File::create(path).map_err(failed)?, Compression::best());
        Ok(Self { path: path.to_owned(), file })
    }

    /// Appends a case; `about` says what it is.
    pub fn add(&mut self, case: &Case, about: &str) -> Result<(), WriteError> {
        let frames: Vec<String> = case.frames.iter().map(|input| hex(&input.bytes)).collect();
        // The hash covers the first bytes as well.
        let line = json!({"case": as_json(case, about, false), "frames": frames});
        let result = writeln!(self.file, "{line}");
        result.map_err(|source| WriteError { path: self.path.clone(), source })
    }

    /// Ends the file.
    pub fn finish(self) -> Result<(), WriteError> {
        let Self { path, file } = self;
        file.finish().map(drop).map_err(|source| WriteError { path, source })
    }
}

/// Writes a case as two files, named after it; gives the capture's path.
pub fn write_pair(directory: &Path, case: &Case, about: &str) -> Result<PathBuf, WriteError> {
    let write = |path: PathBuf, bytes: &[u8]| match fs::write(&path, bytes) {
        Ok(()) => Ok(path),
        Err(source) => Err(WriteError { path, source }),
    };
    let failed = |source| WriteError { path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    let text = format!("{:#}\n", as_json(case, about, true));
    write(directory.join(format!("{}.json", case.name)), text.as_bytes())?;
    write(directory.join(format!("{}.pcap", case.name)), &pcap(&case.frames))
}

/// Follows draft-ietf-opsawg-pcap: microseconds, Ethernet; the time numbers the frames.
fn pcap(frames: &[Input]) -> Vec<u8> {
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0x0004_0000, 1];
    let mut out: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for (number, input) in (0_u32..).zip(frames) {
        let length = input.bytes.len() as u32;
        out.extend([0, number, length, length].into_iter().flat_map(u32::to_le_bytes));
        out.extend(&input.bytes);
    }
    out
}

fn as_json(case: &Case, about: &str, heads: bool) -> Value {
    let delivery = |recorded: &Recorded| {
        let head = recorded.head.clone().filter(|_| heads);
        json!(Recorded { head, ..recorded.clone() })
    };
    let golden = case.golden.iter().map(|(label, list)| {
        let list: Vec<Value> = list.iter().map(delivery).collect();
        (label.clone(), Value::Array(list))
    });
    json!({
        "name": case.name,
        "group": case.group,
        "about": about,
        "frames": case.frames.iter().map(frame).collect::<Vec<_>>(),
        "golden": Value::Object(golden.collect()),
    })
}

fn frame(input: &Input) -> Value {
    let mut out = json!({"hash": input.given.hash.unwrap_or_default()});
    match input.given.csum {
        GivenCsum::None => {}
        GivenCsum::Unnecessary => out["csum"] = "unnecessary".into(),
        GivenCsum::Partial { start, offset } => {
            out["csum"] = "partial".into();
            out["csum_start"] = start.into();
            out["csum_offset"] = offset.into();
        }
    }
    if let Some(tag) = input.given.vlan {
        out["vlan"] = json!([tag.tpid, tag.tci]);
    }
    if input.gap {
        out["gap"] = true.into();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::cases;
    use groove_model::Given;
    use groove_spec::Tag;

    fn case() -> Case {
        let input = |csum, vlan, gap| Input {
            bytes: vec![7; 60],
            given: Given { hash: Some(9), csum, vlan },
            gap,
        };
        let tag = Some(Tag { tpid: 0x8100, tci: 3 });
        let recorded = Recorded {
            frames: vec![0, 1],
            gso_type: Some(vec!["TCPV4".into()]),
            csum: "partial".into(),
            csum_start: Some(34),
            sha256: "00".into(),
            head: Some("aa".into()),
            ..Recorded::default()
        };
        Case {
            name: "two".into(),
            group: "own".into(),
            frames: vec![
                input(GivenCsum::Unnecessary, None, false),
                input(GivenCsum::Partial { start: 34, offset: 16 }, tag, true),
                input(GivenCsum::None, None, false),
            ],
            golden: [("6.18.1".into(), vec![recorded])].into(),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let directory = tempfile::tempdir().unwrap();
        write_pair(&directory.path().join("pair"), &case(), "A pair.").unwrap();
        assert_eq!(cases(&directory.path().join("pair")).unwrap(), [case()]);
        let path = directory.path().join("deep/own.jsonl.gz");
        let mut packed = Packed::create(&path).unwrap();
        packed.add(&case(), "The same.").unwrap();
        packed.finish().unwrap();
        let mut expected = case();
        expected.golden.values_mut().flatten().for_each(|recorded| recorded.head = None);
        assert_eq!(cases(&path).unwrap(), [expected]);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        let path = directory.path().join("file/x.jsonl.gz");
        assert_eq!(Packed::create(&path).err().unwrap().path, path);
        assert!(write_pair(&directory.path().join("file"), &case(), "").is_err());
    }
}
