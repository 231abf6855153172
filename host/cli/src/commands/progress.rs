//! How far a run is, for people who wait for it.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Runs shorter than this get no progress bar.
const PROGRESS_AFTER: Duration = Duration::from_millis(500);
/// Frames between two looks at the clock.
const PROGRESS_EVERY: u32 = 256;

/// A bar on standard error, for runs that take a while and only for people.
pub struct Progress {
    total_bytes: Option<u64>,
    start: Instant,
    calls: u32,
    bar: Option<ProgressBar>,
    terminal: bool,
}

impl Progress {
    /// Nothing read yet.
    pub fn new(total_bytes: Option<u64>) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { total_bytes, start: Instant::now(), calls: 0, bar: None, terminal }
    }

    /// Read up to there.
    pub fn at(&mut self, position: u64) {
        self.calls = self.calls.wrapping_add(1);
        if !self.terminal || !self.calls.is_multiple_of(PROGRESS_EVERY) {
            return;
        }
        if self.bar.is_none() && self.start.elapsed() >= PROGRESS_AFTER {
            let bar = ProgressBar::with_draw_target(self.total_bytes, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template(
                "{bar:40} {bytes} of {total_bytes}, {elapsed} ({eta} to go)",
            );
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(position);
        }
    }

    /// The bar goes.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
