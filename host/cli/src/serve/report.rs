//! The report of a server: who came, what each had mapped, and which captures were played.

use std::path::Path;

use groove_serve::{Stay, Summary};
use serde::Serialize;

use super::Played;

/// Most drivers and captures of a report; a server may run for days.
const KEPT_MAX: usize = 1024;

/// What a driver had mapped, from its first mapping until nothing was mapped any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MappedReport {
    /// Mappings that were made: one message each.
    pub maps: u64,
    /// Messages that took any away.
    pub unmaps: u64,
    /// Most bytes mapped at a time.
    pub bytes_most: u64,
    /// Bytes that were still mapped when the driver went.
    pub bytes_left: u64,
}

impl From<&Stay> for MappedReport {
    fn from(stay: &Stay) -> Self {
        let Stay { maps, unmaps, bytes_most, bytes } = *stay;
        Self { maps, unmaps, bytes_most, bytes_left: bytes }
    }
}

/// A driver that has gone.
#[derive(Clone, Debug, Serialize)]
pub struct DriverReport {
    /// Messages that it sent.
    pub messages: u64,
    /// Why it was sent away, if it was.
    pub error: Option<String>,
    /// Its memory.
    pub memory: Vec<MappedReport>,
}

/// A capture that was played.
#[derive(Clone, Debug, Serialize)]
pub struct PlayedReport {
    /// Its name.
    pub capture: String,
    /// Frames that went in.
    pub frames: u64,
    /// The driver went before its end.
    pub cut_short: bool,
}

/// Everything that a server counts. Serialised as it stands by `--json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Device.
    pub device: String,
    /// Drivers that came, the first ones first; a virtual machine is one.
    pub drivers: Vec<DriverReport>,
    /// Drivers that found the device taken.
    pub refused: u64,
    /// Captures that were played.
    pub played: Vec<PlayedReport>,
}

impl Report {
    /// A driver has gone.
    pub fn driver(&mut self, summary: &Summary, error: Option<String>) {
        if self.drivers.len() < KEPT_MAX {
            let memory = summary.stays.iter().map(Into::into).collect();
            self.drivers.push(DriverReport { messages: summary.messages, error, memory });
        }
    }

    /// A capture was played.
    pub fn played(&mut self, capture: &Path, played: Played) {
        if self.played.len() < KEPT_MAX {
            let capture = capture.display().to_string();
            let Played { frames, cut_short, .. } = played;
            self.played.push(PlayedReport { capture, frames, cut_short });
        }
    }
}
