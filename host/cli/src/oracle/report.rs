//! Report: what was asked of the running kernel, and what came of it.

use serde::Serialize;

use super::bursts::Skipped;
use super::{Identity, Tally};
use crate::golden::Case;

/// A run against the running kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Who it is.
    pub kernel: Identity,
    /// Rules that the engines followed, if any was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<&'static str>,
    /// What was put through.
    pub source: String,
    /// Seed of the first random burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Runs of each burst.
    pub runs: u8,
    /// Bursts.
    pub bursts: usize,
    /// Frames in them.
    pub frames: usize,
    /// Deliveries of the kernel.
    pub deliveries: usize,
    /// Those of more than one frame.
    pub merged: usize,
    /// Records of a capture that went into no burst.
    pub skipped: Skipped,
    /// What came of it.
    pub against: Vec<Tally>,
}

impl Report {
    /// Nothing yet.
    pub fn new(kernel: &Identity, source: String, runs: u8) -> Self {
        Self {
            kernel: kernel.clone(),
            profile: None,
            source,
            seed: None,
            runs,
            bursts: 0,
            frames: 0,
            deliveries: 0,
            merged: 0,
            skipped: Skipped::default(),
            against: Vec::new(),
        }
    }

    /// Counts a case that was put through.
    pub fn add(&mut self, case: &Case) {
        let recorded = || case.golden.get(&self.kernel.label).into_iter().flatten();
        let (deliveries, merged) =
            (recorded().count(), recorded().filter(|r| r.gso_segs.is_some()).count());
        self.bursts += 1;
        self.frames += case.frames.len();
        self.deliveries += deliveries;
        self.merged += merged;
    }

    /// For people.
    pub fn text(&self) -> String {
        let Self { source, frames, bursts, runs, deliveries, merged, .. } = self;
        let mut text = format!("{}\n", self.kernel.line());
        if let Some(profile) = self.profile {
            text += &format!("rules {profile}\n");
        }
        text += &format!(
            "{source}: {frames} frames in {bursts} bursts, runs alike: {runs}\n\
             {deliveries} deliveries, {merged} of them merged\n"
        );
        let Skipped { cut, length } = self.skipped;
        if cut + length > 0 {
            text += &format!("skipped: {cut} cut by the snap length, {length} too short or long\n");
        }
        if !self.against.is_empty() {
            text += &format!("\n{}", Tally::heads());
            self.against.iter().for_each(|tally| text += &tally.text());
        }
        text
    }
}
