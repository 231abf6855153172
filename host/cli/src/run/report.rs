//! The report of a run: what was delivered, by queue, and what became of buffers and threads.

use std::collections::BTreeMap;
use std::time::Duration;

use groove_driver::{QueueStats, RxQueue};
use groove_spec::{Delivery, DropReason};
use serde::Serialize;

use super::Setup;
use super::receive::{Ended, Finished, Waits};
use crate::capture;
use crate::digest::Digest;
use crate::sim::{self, Counters, MismatchReport, Skipped, by_drop};

/// Counts of one queue, or of all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct QueueReport {
    /// Deliveries and their frames.
    #[serde(flatten)]
    pub gro: Counters,
    /// Buffers posted, those that came home and went out again included.
    pub posted: u64,
    /// Buffers of deliveries.
    pub delivered: u64,
    /// Buffers that the device had fetched and gave back unused at the end.
    pub returned: u64,
    /// Buffers that came home on the thread that owns the queue.
    pub home: u64,
    /// Buffers that came home from another thread, through a slot.
    pub away: u64,
    /// Buffers that came home from another thread when the slot was full.
    pub overflow: u64,
    /// Times that the owner was woken for buffers.
    pub kicks: u64,
}

impl QueueReport {
    fn add(&mut self, ended: &Ended) {
        let QueueStats { completions, posted, returns, .. } = ended.stats;
        self.delivered += ended.delivered;
        self.returned += completions.saturating_sub(ended.delivered);
        self.posted += posted;
        self.home += returns.home;
        self.away += returns.away;
        self.overflow += returns.overflow;
        self.kicks += returns.kicks;
    }
}

/// How long it took; different in every run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Times {
    /// From the first frame to the last buffer at home.
    pub seconds: f64,
    /// Frames per second.
    pub frames_per_second: f64,
    /// Deliveries per second.
    pub deliveries_per_second: f64,
    /// Bits of frames per second.
    pub bits_per_second: f64,
    /// Clock cycles of the hardware.
    pub cycles: Option<u64>,
}

impl Times {
    /// Rates of what was counted.
    pub fn new(elapsed: Duration, report: &Report, cycles: Option<u64>) -> Self {
        let seconds = elapsed.as_secs_f64();
        let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        Self {
            seconds,
            frames_per_second: rate(report.frames),
            deliveries_per_second: rate(report.total.gro.deliveries),
            bits_per_second: rate(8 * report.total.gro.rx_bytes),
            cycles,
        }
    }
}

/// What a poll gave.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ThreadReport {
    /// Queues of the thread.
    pub queues: usize,
    /// Polls.
    pub polls: u64,
    /// Polls that gave nothing.
    pub empty_polls: u64,
    /// Sleeps.
    pub sleeps: u64,
    /// Sleeps that an interrupt or a kick ended.
    pub woken: u64,
}

impl ThreadReport {
    fn new(finished: &Finished) -> Self {
        let Waits { polls, empty, sleeps, woken } = finished.waits;
        Self { queues: finished.queues.len(), polls, empty_polls: empty, sleeps, woken }
    }
}

/// Memory of a queue, mapped for the device as one range.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MemoryReport {
    /// Its bytes.
    pub bytes: usize,
    /// Bytes of the pages that it lies on.
    pub page_bytes: usize,
}

impl From<&RxQueue> for MemoryReport {
    fn from(queue: &RxQueue) -> Self {
        Self { bytes: queue.memory_bytes(), page_bytes: queue.page_bytes() }
    }
}

/// Everything that a run counts. Serialised as it stands by `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the capture.
    pub capture: String,
    /// Device.
    pub device: &'static str,
    /// `equal` or `different`: the driver's deliveries and the model's; `nothing` without any.
    pub result: &'static str,
    /// A signal ended it before the capture did.
    pub interrupted: bool,
    /// Merge rules.
    pub profile: &'static str,
    /// Options that are on.
    pub options: Vec<&'static str>,
    /// Flush points, as on the command line.
    pub pace: String,
    /// Receive queues.
    pub queue_count: u8,
    /// Buffers of each queue.
    pub pool: usize,
    /// Bytes of a buffer.
    pub buffer_bytes: usize,
    /// Headers apart from payload.
    pub split: bool,
    /// Memory of each queue.
    pub memory: Vec<MemoryReport>,
    /// Where deliveries were released.
    pub release: &'static str,
    /// Records read.
    pub records: u64,
    /// Records that are no whole frame.
    pub skipped: Skipped,
    /// Frames that went in.
    pub frames: u64,
    /// Tokens that went in.
    pub tokens: u64,
    /// Frames dropped, by reason.
    #[serde(serialize_with = "by_drop")]
    pub drops: [u64; DropReason::ALL.len()],
    /// Frames per delivery.
    pub coalesce_ratio: Option<f64>,
    /// All queues together.
    pub total: QueueReport,
    /// Each queue that delivered anything.
    pub queues: BTreeMap<u8, QueueReport>,
    /// Digest of what the driver delivered.
    pub digest: Digest,
    /// The receiving threads.
    pub threads: Vec<ThreadReport>,
    /// How long it took.
    pub times: Times,
    /// Why the capture was not read to its end.
    pub damage: Option<String>,
    /// The first difference.
    pub mismatch: Option<Vec<String>>,
}

impl Report {
    /// Nothing counted yet.
    pub fn new(capture: &str, device: &'static str, setup: &Setup) -> Self {
        let sim::Report { profile, options, pace, queue_count, .. } =
            sim::Report::new(capture, device.to_owned(), &setup.input);
        Self {
            capture: capture.to_owned(),
            device,
            result: "nothing",
            interrupted: false,
            profile,
            options,
            pace,
            queue_count,
            pool: setup.pool,
            buffer_bytes: setup.buffer_bytes,
            split: setup.split,
            memory: Vec::new(),
            release: setup.release.name(),
            records: 0,
            skipped: Skipped::default(),
            frames: 0,
            tokens: 0,
            drops: [0; DropReason::ALL.len()],
            coalesce_ratio: None,
            total: QueueReport::default(),
            queues: BTreeMap::new(),
            digest: Digest::default(),
            threads: Vec::new(),
            times: Times::default(),
            damage: None,
            mismatch: None,
        }
    }

    /// Counts a dropped frame.
    pub fn drop(&mut self, reason: DropReason) {
        self.drops[usize::from(reason.code())] += 1;
    }

    /// Counts a delivery whose frames had `wire_bytes` bytes.
    pub fn delivery(&mut self, delivery: &Delivery, wire_bytes: u64) {
        self.digest.add(delivery);
        self.total.gro.add(delivery, wire_bytes);
        self.queues.entry(delivery.queue).or_default().gro.add(delivery, wire_bytes);
    }

    /// Writes down how it ended.
    pub fn close(
        &mut self,
        finished: &[Finished],
        damage: Option<&capture::Error>,
        mismatch: Option<&MismatchReport>,
    ) {
        for ended in finished.iter().flat_map(|finished| &finished.queues) {
            self.total.add(ended);
            if let Some(queue) = self.queues.get_mut(&(ended.queue.number() as u8)) {
                queue.add(ended);
            }
        }
        self.threads = finished.iter().map(ThreadReport::new).collect();
        self.coalesce_ratio = self.total.gro.ratio();
        self.damage = damage.map(ToString::to_string);
        self.mismatch = mismatch.map(|m| m.lines.clone());
        self.result = match (&self.mismatch, self.frames) {
            (Some(_), _) => "different",
            (None, 0) => "nothing",
            (None, _) => "equal",
        };
    }
}
