//! Case: one recorded burst of frames, its receive metadata, and what each kernel delivered for it.
//!
//!   <name>.json + <name>.pcap        one case of a directory
//!   <group>.jsonl.gz                 one case a line: {"case": <the JSON>, "frames": ["<hex>", …]}
//!
//! Invariants: both forms give the same cases (`packed_cases_equal_the_given_ones`); damage is an
//! error that names the file (`damage_is_an_error`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use groove_model::{Given, GivenCsum};
use groove_spec::Tag;
use serde::{Deserialize, Serialize};

use crate::capture::{self, Reader};

/// Why a case could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error("failed to read {}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The JSON is not that of a case.
    #[error("{}: line {line}: not a recorded case", path.display())]
    Json {
        /// Which file.
        path: PathBuf,
        /// Line of the file; 1 in a file of one case.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// The frames could not be read.
    #[error("failed to read the frames of {}", path.display())]
    Capture {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: capture::Error,
    },
    /// Parts of one case do not fit each other.
    #[error("{}: case {case}: {what}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Which case.
        case: String,
        /// What is wrong.
        what: String,
    },
    /// Nothing there is a recorded case.
    #[error("{}: no recorded case", path.display())]
    Empty {
        /// Where.
        path: PathBuf,
    },
}

/// One input frame with its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Bytes as handed to GRO: a stripped tag is not in them.
    pub bytes: Vec<u8>,
    /// Metadata.
    pub given: Given,
    /// The poll ended before this frame.
    pub gap: bool,
}

/// One recorded delivery; what is absent in the record is absent here.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Indexes of the input frames.
    pub frames: Vec<u32>,
    /// Bytes.
    pub len: usize,
    /// Payload of the first segment, in merged ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso_size: Option<u16>,
    /// Segments, in merged ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso_segs: Option<u16>,
    /// Names of the set bits, in merged ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso_type: Option<Vec<String>>,
    /// Checksum state.
    pub csum: String,
    /// Verified levels minus one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csum_level: Option<u8>,
    /// With partial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csum_start: Option<u16>,
    /// With partial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csum_offset: Option<u16>,
    /// 1 for a tunnel packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encapsulation: Option<u8>,
    /// Receive hash.
    pub hash: u32,
    /// Tag out of band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<(u16, u16)>,
    /// Of all bytes.
    pub sha256: String,
    /// First 128 bytes, in merged ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Name, unique in its group.
    pub name: String,
    /// Group.
    pub group: String,
    /// Input.
    pub frames: Vec<Input>,
    /// Deliveries by kernel label.
    pub golden: BTreeMap<String, Vec<Recorded>>,
}

#[derive(Deserialize)]
struct CaseJson {
    name: String,
    group: String,
    frames: Vec<FrameJson>,
    golden: BTreeMap<String, GoldenJson>,
}

#[derive(Deserialize)]
struct FrameJson {
    hash: u32,
    csum: Option<String>,
    csum_start: Option<u16>,
    csum_offset: Option<u16>,
    vlan: Option<(u16, u16)>,
    #[serde(default)]
    gap: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum GoldenJson {
    SameAs(String),
    List(Vec<Recorded>),
}

#[derive(Deserialize)]
struct PackedJson {
    case: CaseJson,
    frames: Vec<String>,
}

/// A case from its JSON file and the capture beside it.
pub fn from_files(json: &Path) -> Result<Case, ReadError> {
    let text =
        std::fs::read(json).map_err(|source| ReadError::Io { path: json.to_owned(), source })?;
    let parsed = serde_json::from_slice(&text).map_err(|source| ReadError::Json {
        path: json.to_owned(),
        line: 1,
        source,
    })?;
    build(json, parsed, frames_of(&json.with_extension("pcap"))?)
}

/// A case from one line of a packed file.
pub fn from_line(path: &Path, line: usize, text: &str) -> Result<Case, ReadError> {
    let packed: PackedJson = serde_json::from_str(text).map_err(|source| ReadError::Json {
        path: path.to_owned(),
        line,
        source,
    })?;
    let frames: Option<Vec<Vec<u8>>> = packed.frames.iter().map(|hex| from_hex(hex)).collect();
    let case = packed.case.name.clone();
    let what = "a frame is not hexadecimal".to_owned();
    let frames = frames.ok_or_else(|| ReadError::Content { path: path.to_owned(), case, what })?;
    build(path, packed.case, frames)
}

fn frames_of(path: &Path) -> Result<Vec<Vec<u8>>, ReadError> {
    let failed = |source| ReadError::Capture { path: path.to_owned(), source };
    let mut reader = Reader::open(path).map_err(failed)?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().map_err(failed)? {
        frames.push(frame.bytes.to_vec());
    }
    Ok(frames)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    let digits = digits.filter(|d| d.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn build(path: &Path, json: CaseJson, bytes: Vec<Vec<u8>>) -> Result<Case, ReadError> {
    let case = json.name.clone();
    let wrong = |what| ReadError::Content { path: path.to_owned(), case: case.clone(), what };
    if json.frames.len() != bytes.len() {
        let (metadata, frames) = (json.frames.len(), bytes.len());
        return Err(wrong(format!("metadata of {metadata} frames, but {frames} frames")));
    }
    let inputs = json.frames.iter().zip(bytes);
    let frames: Result<Vec<Input>, String> = inputs.map(|(f, b)| input(f, b)).collect();
    let mut golden = BTreeMap::new();
    for (label, entry) in &json.golden {
        let list = match entry {
            GoldenJson::List(list) => list,
            GoldenJson::SameAs(other) => match json.golden.get(other) {
                Some(GoldenJson::List(list)) => list,
                _ => return Err(wrong(format!("{label} refers to {other}, which has no list"))),
            },
        };
        golden.insert(label.clone(), list.clone());
    }
    Ok(Case { name: json.name, group: json.group, frames: frames.map_err(wrong)?, golden })
}

fn input(json: &FrameJson, bytes: Vec<u8>) -> Result<Input, String> {
    let csum = match (json.csum.as_deref(), json.csum_start, json.csum_offset) {
        (None | Some("none"), ..) => GivenCsum::None,
        (Some("unnecessary"), ..) => GivenCsum::Unnecessary,
        (Some("partial"), Some(start), Some(offset)) => GivenCsum::Partial { start, offset },
        (Some(other), ..) => return Err(format!("unknown checksum state {other}")),
    };
    let vlan = json.vlan.map(|(tpid, tci)| Tag { tpid, tci });
    Ok(Input { bytes, given: Given { hash: Some(json.hash), csum, vlan }, gap: json.gap })
}
