//! What a run of random traffic has met, measured by the model, against what it must have met.

use groove_model::Stats;
use groove_spec::{AloneReason, DropReason, EndReason};

/// Counters over many segments.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Segments with one queue, and with 32.
    pub segments: [u64; 2],
    /// Sums of the model's counters.
    pub sum: Stats,
}

/// What must have been met.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// Each reason that is asked for.
    pub each_reason: u64,
    /// Evictions.
    pub evictions: u64,
    /// Frames that met a session of another flow with their hash.
    pub equal_hash_meetings: u64,
    /// Aggregates of exactly 65,535 bytes.
    pub full_aggregates: u64,
    /// Frames in merged deliveries, in percent.
    pub merged_percent: u64,
}

impl Coverage {
    /// Adds one segment.
    pub fn add(&mut self, queues: u8, stats: &Stats) {
        self.segments[usize::from(queues > 1)] += 1;
        self.add_stats(stats);
    }

    /// Adds another run.
    pub fn merge(&mut self, other: &Coverage) {
        self.segments[0] += other.segments[0];
        self.segments[1] += other.segments[1];
        self.add_stats(&other.sum);
    }

    fn add_stats(&mut self, stats: &Stats) {
        let sum = &mut self.sum;
        let add = |to: &mut [u64], from: &[u64]| to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
        add(&mut sum.ends, &stats.ends);
        add(&mut sum.alones, &stats.alones);
        add(&mut sum.drops, &stats.drops);
        sum.frames += stats.frames;
        sum.deliveries += stats.deliveries;
        sum.gro_packets += stats.gro_packets;
        sum.gro_wire_packets += stats.gro_wire_packets;
        sum.evictions += stats.evictions;
        sum.equal_hash_meetings += stats.equal_hash_meetings;
        sum.full_aggregates += stats.full_aggregates;
    }

    /// Everything below the floor; drops are counted for these reasons only.
    pub fn shortfalls(&self, floor: &Floor, drops: &[DropReason]) -> Vec<String> {
        let mut short = Vec::new();
        let mut need = |what: String, found: u64, least: u64| {
            if found < least {
                short.push(format!("{what}: {found}, at least {least} needed"));
            }
        };
        for reason in &EndReason::ALL[1..] {
            let found = self.sum.ends[usize::from(reason.code())];
            need(format!("end reason {}", reason.name()), found, floor.each_reason);
        }
        for reason in &AloneReason::ALL[1..] {
            let found = self.sum.alones[usize::from(reason.code())];
            need(format!("alone reason {}", reason.name()), found, floor.each_reason);
        }
        for reason in drops {
            let found = self.sum.drops[usize::from(reason.code())];
            need(format!("drop reason {}", reason.name()), found, floor.each_reason);
        }
        let merged = 100 * self.sum.gro_wire_packets / self.sum.frames.max(1);
        need("frames merged, percent".into(), merged, floor.merged_percent);
        need("evictions".into(), self.sum.evictions, floor.evictions);
        let meetings = self.sum.equal_hash_meetings;
        need("equal-hash meetings".into(), meetings, floor.equal_hash_meetings);
        let full = self.sum.full_aggregates;
        need("aggregates of 65,535 bytes".into(), full, floor.full_aggregates);
        need("segments with one queue".into(), self.segments[0], 1);
        need("segments with 32 queues".into(), self.segments[1], 1);
        short
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |names: &[&str], counts: &[u64]| {
            let rows = names.iter().zip(counts).skip_while(|(n, _)| **n == "none");
            rows.map(|(n, c)| format!("{n} {c}")).collect::<Vec<_>>().join(", ")
        };
        let sum = &self.sum;
        writeln!(f, "{} frames in {} deliveries", sum.frames, sum.deliveries)?;
        writeln!(f, "ends: {}", list(EndReason::NAMES, &sum.ends))?;
        writeln!(f, "alone: {}", list(AloneReason::NAMES, &sum.alones))?;
        writeln!(f, "drops: {}", list(DropReason::NAMES, &sum.drops))?;
        let merged = 100 * sum.gro_wire_packets / sum.frames.max(1);
        write!(
            f,
            "{merged} % merged, {} evictions, {} equal-hash meetings, {} aggregates of 65,535 bytes",
            sum.evictions, sum.equal_hash_meetings, sum.full_aggregates
        )
    }
}
