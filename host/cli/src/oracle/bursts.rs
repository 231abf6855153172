//! Bursts: a capture cut into polls, each frame with the metadata that a network card would give.
//!
//!   records ─► frames that the method carries ─► tag stripped, hash, checksum verdict ─► bursts
//!                └─► skipped, counted
//!
//! Invariant: every record is in a burst or counted as skipped (`every_record_is_accounted_for`).

use std::path::Path;

use groove_model::stages::admit;
use groove_model::{Config, Given, look};
use groove_oracle::{FRAME_BYTES_MIN, carries};
use groove_spec::Tag;
use serde::Serialize;

use crate::capture::{Error, Reader};
use crate::golden::Case;
use crate::golden::case::Input;
use crate::sim::CutRule;

/// How a capture is cut.
#[derive(Clone, Debug)]
pub struct Cut {
    /// What the network card does: checksum verdict, tag, hash.
    pub card: Config,
    /// Most frames of a burst.
    pub frames: usize,
    /// Most records read.
    pub limit: Option<u64>,
    /// Frames that the snap length cut.
    pub rule: CutRule,
}

/// Records that went into no burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Cut by the snap length.
    pub cut: u64,
    /// Shorter than an Ethernet header, or longer than IP can be.
    pub length: u64,
}

/// A capture as bursts.
pub struct Bursts {
    reader: Reader,
    cut: Cut,
    group: String,
    records: u64,
    /// What was left out so far.
    pub skipped: Skipped,
}

impl Bursts {
    /// Opens a capture.
    pub fn open(path: &Path, cut: Cut) -> Result<Self, Error> {
        let group = path.file_stem().map_or("capture".into(), |s| s.to_string_lossy().into_owned());
        let (records, skipped) = (0, Skipped::default());
        Ok(Self { reader: Reader::open(path)?, cut, group, records, skipped })
    }

    /// The next burst, named after its records; `None` at the end.
    pub fn next_burst(&mut self) -> Result<Option<Case>, Error> {
        let mut frames = Vec::new();
        let mut names = None;
        while frames.len() < self.cut.frames && self.cut.limit.is_none_or(|n| self.records < n) {
            let Some(frame) = self.reader.next_frame()? else { break };
            self.records += 1;
            if frame.is_cut() && self.cut.rule == CutRule::Skip {
                self.skipped.cut += 1;
                continue;
            }
            let Some(input) = received(&self.cut.card, frame.bytes) else {
                self.skipped.length += 1;
                continue;
            };
            let first = names.map_or(frame.record, |(first, _)| first);
            names = Some((first, frame.record));
            frames.push(input);
        }
        Ok(names.map(|(first, last)| Case {
            name: format!("{}-{first}-{last}", self.group),
            group: self.group.clone(),
            frames,
            golden: Default::default(),
        }))
    }
}

/// A frame as a network card hands it on; `None` if it is, or becomes, too short or long for the
/// method.
pub fn received(card: &Config, bytes: &[u8]) -> Option<Input> {
    if bytes.len() < FRAME_BYTES_MIN {
        return None;
    }
    let seen = look(card, &groove_model::Frame::new(bytes));
    let csum = admit::entry_csum(card.options.rxcsum, &seen.verdicts, None).state;
    let vlan: Option<Tag> = seen.vlan;
    let given = Given { hash: Some(seen.steering.hash), csum, vlan };
    carries(&seen.bytes, vlan.is_some()).then(|| Input {
        bytes: seen.bytes.into_owned(),
        given,
        gap: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Writer;
    use groove_model::GivenCsum;
    use groove_traffic::frames::v4;
    use std::time::Duration;

    fn cut(frames: usize, limit: Option<u64>) -> Cut {
        Cut { card: Config::default(), frames, limit, rule: CutRule::Skip }
    }

    #[test]
    fn every_record_is_accounted_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.pcapng");
        let mut writer = Writer::create(&path).unwrap();
        for number in 0..7 {
            let mut bytes = v4(number, 100).encode();
            if number == 3 {
                bytes.truncate(13);
            }
            writer.frame(Duration::ZERO, &bytes, "").unwrap();
        }
        writer.finish().unwrap();
        let names = |cut: Cut| {
            let mut bursts = Bursts::open(&path, cut).unwrap();
            let mut list = Vec::new();
            while let Some(case) = bursts.next_burst().unwrap() {
                list.push((case.name, case.frames.len()));
            }
            (list, bursts.skipped)
        };
        let (list, skipped) = names(cut(4, None));
        assert_eq!(list, [("x-1-5".into(), 4), ("x-6-7".into(), 2)]);
        assert_eq!(skipped, Skipped { cut: 0, length: 1 });
        assert_eq!(names(cut(4, Some(2))).0, [("x-1-2".into(), 2)]);
    }

    #[test]
    fn a_card_strips_hashes_and_verifies() {
        let mut packet = v4(0, 100);
        packet.tags = vec![Tag { tpid: 0x8100, tci: 9 }];
        let bytes = packet.encode();
        let mut card = Config::default();
        let input = received(&card, &bytes).unwrap();
        assert_eq!(input.given.vlan, Some(Tag { tpid: 0x8100, tci: 9 }));
        assert_eq!(input.given.csum, GivenCsum::Unnecessary);
        assert!(input.given.hash.is_some_and(|hash| hash != 0));
        assert_eq!(input.bytes.len(), bytes.len() - 4);
        card.options.rxcsum = false;
        card.options.vlan_strip = false;
        let input = received(&card, &bytes).unwrap();
        assert_eq!((input.given.vlan, input.given.csum), (None, GivenCsum::None));
        assert_eq!(input.bytes, bytes);
        card.options.vlan_strip = true;
        // 17 bytes with a tag are 13 without; 19 with a tag in them end inside it.
        assert_eq!(received(&card, &bytes[..17]), None);
        assert!(received(&card, &bytes[..18]).is_some());
        card.options.vlan_strip = false;
        assert_eq!(received(&card, &bytes[..19]), None);
    }
}
