//! Vectors: small text files that a person writes, one directory per stage in `tests/vectors`, with
//! what a standard or a published source says must come out. `tests/vectors/README.md` is the
//! format.
//!
//!   text ─► Vector (configuration, items, expectations) ─► findings about what an engine gave
//!
//! Invariant: an expectation comes from the file alone; what is always expected (bytes of a frame
//! that did not merge, payload of one that did) comes from the frames.
//! Not here: engines (`differential` runs them); the notation of frames (`notation`).

pub mod notation;

use std::fmt::Display;
use std::path::Path;

use groove_model::{Config, Event};
use groove_spec::stages::coalesce::GSO_NAMES;
use groove_spec::{
    CsumState, Delivery, DropReason, HashType, OptionBit, Profile, SymmetricMode, TokenKind,
};

use crate::differential::Refused;
use crate::frames::STATION;
use crate::generate::Item;
use notation::{Flows, hex, list, number};

/// Queues of every run: those of the default build.
const QUEUES: u8 = 32;

/// Fields that a `deliver` line can expect; `@N` beside them is the bytes from position N on.
const FIELDS: [&str; 20] = [
    "queue",
    "hash",
    "hash_type",
    "vlan",
    "packet_type",
    "protocol",
    "csum",
    "csum_level",
    "csum_start",
    "csum_offset",
    "l3",
    "l4",
    "hdr_len",
    "payload",
    "length",
    "gso_size",
    "gso_segs",
    "gso_type",
    "end",
    "alone",
];

/// A delivery that must come out.
#[derive(Clone, Debug)]
pub struct Expected {
    line: usize,
    frames: Vec<u32>,
    fields: Vec<(String, String)>,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Vector {
    /// File it stands in, by its path in `tests/vectors`.
    pub file: String,
    /// Line of its name.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// Where the expectation comes from.
    pub about: String,
    /// What is configured.
    pub config: Config,
    /// Frames and tokens, and at the end a flush of every queue.
    pub items: Vec<Item>,
    /// Admission refuses every frame.
    pub refuse: bool,
    deliveries: Vec<Expected>,
    drops: Vec<(u32, DropReason)>,
    sizes: Option<Vec<usize>>,
    flows: Flows,
}

impl Vector {
    fn new(file: &str, line: usize, name: &str) -> Self {
        Self {
            file: file.to_owned(),
            line,
            name: name.to_owned(),
            about: String::new(),
            config: Config { station: STATION, queues: QUEUES, ..Config::default() },
            items: Vec::new(),
            refuse: false,
            deliveries: Vec::new(),
            drops: Vec::new(),
            sizes: None,
            flows: Flows::default(),
        }
    }

    /// Frames of the input, in order.
    pub fn frames(&self) -> Vec<&[u8]> {
        let frames = self.items.iter().filter_map(|item| match item {
            Item::Frame { bytes, .. } => Some(bytes.as_slice()),
            Item::Token { .. } => None,
        });
        frames.collect()
    }

    /// Frames that the hardware refuses, by the file: the model has room for everything.
    pub fn refused(&self) -> Refused {
        self.drops.iter().filter(|d| d.1 == DropReason::NoBuffer).copied().collect()
    }

    /// Takes one line into the vector.
    fn take(&mut self, line: usize, word: &str, rest: &str) -> Result<(), String> {
        let mut words = rest.split_whitespace();
        match word {
            "about" => self.about = format!("{} {rest}", self.about).trim().to_owned(),
            "set" => words.try_for_each(|word| set(self, word))?,
            "frame" => {
                let (frames, bad_fcs) = self.flows.frames(words)?;
                self.items.extend(frames.into_iter().map(|bytes| Item::Frame { bytes, bad_fcs }));
            }
            "token" => {
                let queue = number(words.next().ok_or("token: no queue")?)?;
                let kind = named("token", words.next().unwrap_or(""), TokenKind::from_name)?;
                self.items.push(Item::Token { queue, kind });
            }
            "deliver" => {
                let frames = list(words.next().ok_or("deliver: no frames")?)?;
                let fields = words.map(field_word).collect::<Result<_, _>>()?;
                self.deliveries.push(Expected { line, frames, fields });
            }
            "drop" => {
                let frames = list(words.next().ok_or("drop: no frame")?)?;
                let reason = named("drop", words.next().unwrap_or(""), DropReason::from_name)?;
                self.drops.extend(frames.into_iter().map(|frame| (frame, reason)));
            }
            "sizes" => self.sizes = Some(words.map(number).collect::<Result<_, _>>()?),
            other => return Err(format!("{other}: not a word of the format")),
        }
        Ok(())
    }

    /// Flushes every queue, and refuses a vector that expects nothing or names no source.
    fn close(mut self) -> Result<Self, String> {
        let frames = self.frames().len();
        let known: usize = self.deliveries.iter().map(|d| d.frames.len()).sum();
        let told = known + self.drops.len();
        let name = &self.name;
        if self.about.is_empty() {
            return Err(format!("{}:{}: {name}: no 'about'", self.file, self.line));
        }
        if frames == 0 || (self.sizes.is_none() && told != frames) {
            let (file, line) = (&self.file, self.line);
            return Err(format!("{file}:{line}: {name}: {frames} frames, {told} accounted for"));
        }
        let flush = |queue| Item::Token { queue, kind: TokenKind::FlushAll };
        self.items.extend((0..QUEUES).map(flush));
        Ok(self)
    }

    /// What differs from the expectation, each with file, vector, field, expected and found.
    pub fn findings(&self, engine: &str, events: &[Event]) -> Vec<String> {
        let (mut deliveries, mut drops) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Delivery(delivery) => deliveries.push(delivery),
                Event::Drop { frame, reason } => drops.push((*frame, *reason)),
            }
        }
        let mut found = Vec::new();
        let mut differ = |line: usize, what: &str, expected: &dyn Display, got: &dyn Display| {
            let (file, name) = (&self.file, &self.name);
            found.push(format!(
                "{file}:{line}: {name}: {engine}: {what}: expected {expected}, found {got}"
            ));
        };
        let text = |drops: &[(u32, DropReason)]| {
            let text = |(frame, reason): &(u32, DropReason)| format!("{frame} {}", reason.name());
            drops.iter().map(text).collect::<Vec<_>>().join(", ")
        };
        if drops != self.drops {
            differ(self.line, "drops", &text(&self.drops), &text(&drops));
        }
        if let Some(sizes) = &self.sizes {
            let got: Vec<_> = deliveries.iter().map(|d| payload(d).len()).collect();
            if got != *sizes {
                differ(self.line, "sizes", &format!("{sizes:?}"), &format!("{got:?}"));
            }
        }
        if !self.deliveries.is_empty() || self.sizes.is_none() {
            let (wanted, got) = (self.deliveries.len(), deliveries.len());
            if wanted != got {
                differ(self.line, "number of deliveries", &wanted, &got);
            }
        }
        for (expected, delivery) in self.deliveries.iter().zip(&deliveries) {
            if expected.frames != delivery.frames {
                let got = format!("{:?}", delivery.frames);
                differ(expected.line, "frames", &format!("{:?}", expected.frames), &got);
                continue;
            }
            for (name, text) in &expected.fields {
                let got = field(delivery, name, text);
                if got != *text {
                    differ(expected.line, &format!("{:?} {name}", expected.frames), text, &got);
                }
            }
        }
        for delivery in &deliveries {
            if let Err((what, expected, got)) = self.bytes_are_the_frames(delivery) {
                differ(self.line, &format!("{:?} {what}", delivery.frames), &expected, &got);
            }
        }
        found
    }

    /// A lone frame is delivered as it came, but for a stripped tag and trimmed padding; the
    /// payload of a merged one is that of its frames, in order.
    fn bytes_are_the_frames(&self, d: &Delivery) -> Result<(), (&str, String, String)> {
        let frames = self.frames();
        let tag = if d.vlan.is_some() { 4 } else { 0 };
        let source = |number: &u32| frames.get(*number as usize).copied().unwrap_or_default();
        if let [number] = d.frames[..] {
            let mut frame = source(&number).to_vec();
            frame.drain(frame.len().min(12)..frame.len().min(12 + tag));
            if self.config.options.trim_pad {
                frame.truncate(d.bytes.len());
            }
            let same = frame == d.bytes;
            return if same { Ok(()) } else { Err(("bytes", text(&frame), text(&d.bytes))) };
        }
        let header = usize::from(d.hdr_len) + tag;
        let mut joined: Vec<u8> = Vec::new();
        d.frames.iter().for_each(|n| joined.extend(source(n).get(header..).unwrap_or_default()));
        let same = joined == payload(d) || self.config.options.trim_pad;
        if same { Ok(()) } else { Err(("payload bytes", text(&joined), text(payload(d)))) }
    }
}

fn payload(delivery: &Delivery) -> &[u8] {
    delivery.bytes.get(usize::from(delivery.hdr_len)..).unwrap_or_default()
}

fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A field of a delivery as the files write it; of `@N`, as many bytes as are expected.
fn field(d: &Delivery, name: &str, expected: &str) -> String {
    match name {
        "queue" => d.queue.to_string(),
        "hash" => format!("{:08x}", d.hash),
        "hash_type" => d.hash_type.name().to_owned(),
        "vlan" => d.vlan.map_or("none".into(), |tag| format!("{:04x}:{:04x}", tag.tpid, tag.tci)),
        "packet_type" => d.packet_type.name().to_owned(),
        "protocol" => format!("{:04x}", d.protocol),
        "csum" => match d.csum {
            CsumState::None => "none".into(),
            CsumState::Unnecessary => "unnecessary".into(),
            CsumState::Partial => "partial".into(),
        },
        "csum_level" => d.csum_level.to_string(),
        "csum_start" => d.csum_start.to_string(),
        "csum_offset" => d.csum_offset.to_string(),
        "l3" => d.l3_verdict.name().to_owned(),
        "l4" => d.l4_verdict.name().to_owned(),
        "hdr_len" => d.hdr_len.to_string(),
        "payload" => payload(d).len().to_string(),
        "length" => d.bytes.len().to_string(),
        "gso_size" => d.gso_size.to_string(),
        "gso_segs" => d.gso_segs.to_string(),
        "gso_type" => {
            let set = (0..).zip(GSO_NAMES).filter(|(bit, _)| d.gso_type >> bit & 1 != 0);
            let names: Vec<_> = set.map(|(_, name)| name).collect();
            if names.is_empty() { "none".into() } else { names.join("|") }
        }
        "end" => d.end_reason.name().to_owned(),
        "alone" => d.alone_reason.name().to_owned(),
        _ => {
            let at: usize = name.trim_start_matches('@').parse().unwrap_or(usize::MAX);
            let behind = d.bytes.get(at..).unwrap_or_default();
            text(&behind[..behind.len().min(expected.len() / 2)])
        }
    }
}

fn pair(word: &str) -> Result<(&str, &str), String> {
    word.split_once('=').ok_or_else(|| format!("{word}: not NAME=VALUE"))
}

fn named<T>(what: &str, name: &str, find: impl Fn(&str) -> Option<T>) -> Result<T, String> {
    find(name).ok_or_else(|| format!("{what}: there is no '{name}'"))
}

fn field_word(word: &str) -> Result<(String, String), String> {
    let (name, value) = pair(word)?;
    let position = name.strip_prefix('@').is_some_and(|at| at.parse::<usize>().is_ok());
    if !(position || FIELDS.contains(&name)) {
        return Err(format!("{name}: not a field of a delivery"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// One `NAME=VALUE` of a `set` line.
fn set(vector: &mut Vector, word: &str) -> Result<(), String> {
    let (name, value) = pair(word)?;
    let switch = || match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{name}: {value} is neither on nor off")),
    };
    let config = &mut vector.config;
    if let Some(option) = OptionBit::from_name(name) {
        config.options.set(option, switch()?);
        return Ok(());
    }
    match name {
        "profile" => config.profile = named(name, value, Profile::from_name)?,
        "station" => config.station = hex(value)?.try_into().map_err(|_| "station: 6 bytes")?,
        "max_frame" => config.max_frame_bytes = number(value)?,
        "key" => config.rss.key = hex(value)?.try_into().map_err(|_| "key: 40 bytes")?,
        "symmetric" => config.rss.symmetric = named(name, value, SymmetricMode::from_name)?,
        "default_queue" => config.rss.default_queue = number(value)?,
        "hash_types" => {
            let bit = |kind| named(name, kind, HashType::from_name).map(|kind| 1 << kind.code());
            config.rss.hash_types = value
                .split(',')
                .map(bit)
                .try_fold(0, |all, bit: Result<u8, _>| bit.map(|bit| all | bit))?;
        }
        "spread" => {
            let queues: usize = number(value)?;
            let entries = config.rss.indirection.iter_mut().enumerate();
            entries.for_each(|(i, queue)| *queue = (i % queues.max(1)) as u8);
        }
        "refuse" => vector.refuse = switch()?,
        _ => {
            let entry =
                name.strip_prefix("indirection.").ok_or(format!("{name}: not an option"))?;
            let entry: usize = number(entry)?;
            let slot = config.rss.indirection.get_mut(entry).ok_or("indirection: 0 to 127")?;
            *slot = number(value)?;
        }
    }
    Ok(())
}

/// The vectors of one file; `path` is what findings call it.
///
/// # Errors
/// The line that cannot be read, and why; a vector without source or without expectation.
pub fn parse(path: &str, text: &str) -> Result<Vec<Vector>, String> {
    let mut vectors = Vec::new();
    let mut open: Option<Vector> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let at = |error: String| format!("{path}:{number}: {error}");
        match (word, &mut open) {
            ("", _) => {}
            _ if word.starts_with('#') => {}
            ("vector", _) => {
                vectors.extend(open.take().map(Vector::close).transpose()?);
                open = Some(Vector::new(path, number, rest.trim()));
            }
            (_, None) => return Err(at(format!("{word}: before the first vector"))),
            (_, Some(vector)) => vector.take(number, word, rest).map_err(at)?,
        }
    }
    vectors.extend(open.map(Vector::close).transpose()?);
    Ok(vectors)
}

/// Every vector of a stage, from the files of its directory in `vectors`, in order of their names.
///
/// # Errors
/// As [`parse`]; a directory that cannot be read.
pub fn of_stage(vectors: &Path, stage: &str) -> Result<Vec<Vector>, String> {
    let directory = vectors.join(stage);
    let entries = std::fs::read_dir(&directory).map_err(|e| format!("{stage}: {e}"))?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let mut all = Vec::new();
    for name in names {
        let path = format!("{stage}/{}", name.to_string_lossy());
        let text = std::fs::read_to_string(directory.join(&name)).map_err(|e| e.to_string())?;
        all.extend(parse(&path, &text)?);
    }
    Ok(all)
}
