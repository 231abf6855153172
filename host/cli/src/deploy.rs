//! Puts a bitstream onto a card that is plugged into this host, and leaves the host usable whatever
//! happens.
//!
//!   check ─► mask ─► unbind, remove ─► program ─► link, rescan ─► identify ─► unmask ─► bind, test
//!              └───────────┴──────────────┴── failure, Ctrl-C ─┴─────────► put back, say so
//!
//! Each step is written down before it begins (`journal`), told, and bounded. What fails is undone;
//! what is cut off (SIGKILL) can be gone on with, or put back, by the journal.
//!
//! Invariants: whichever step fails, the host is as it was, and the error says what to do
//! (`every_failure_is_undone`); so it is when Ctrl-C comes, at whatever moment
//! (`ctrl_c_is_undone_at_every_moment`); one that was cut off can be put back, or gone on with
//! (`a_deployment_that_was_cut_off_is_put_back`, `a_deployment_that_was_cut_off_goes_on`); a dry
//! run changes nothing (`a_dry_run_changes_nothing`).
//! Not here: printing, JTAG.

mod bitstream;
mod error;
mod journal;
mod machine;
mod plan;
mod port;
mod programmer;
mod report;
mod steps;
#[cfg(test)]
mod tests;
mod undo;

pub use bitstream::{Bitstream, BitstreamError};
pub use error::DeployError;
pub use journal::{Before, Journal, JournalError, Place};
pub use machine::{Machine, SelfTest, TestError};
pub use plan::{Order, Plan, PlanError};
pub use port::{Port, Saved};
pub use programmer::{Cable, LOADER, Programmer, ProgrammerError};
pub use report::{Report, StepReport, table};
pub use undo::Undone;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use groove_driver::vfio::sysfs::{Bdf, Sysfs};
use serde::{Deserialize, Serialize};

use crate::pci::Kernel;

/// What is done, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Errors of the port are masked.
    Mask,
    /// The card's functions lose their drivers.
    Unbind,
    /// The kernel forgets them.
    Remove,
    /// The chip is configured.
    Program,
    /// The link is up.
    Link,
    /// The kernel finds the function.
    Rescan,
    /// It is a device of this table.
    Identify,
    /// The port's masks are as before.
    Unmask,
    /// User space has the function.
    Bind,
    /// The driver drives it.
    Test,
}

impl Step {
    /// All.
    pub const ALL: [Self; 10] = [
        Self::Mask,
        Self::Unbind,
        Self::Remove,
        Self::Program,
        Self::Link,
        Self::Rescan,
        Self::Identify,
        Self::Unmask,
        Self::Bind,
        Self::Test,
    ];

    /// One word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mask => "mask",
            Self::Unbind => "unbind",
            Self::Remove => "remove",
            Self::Program => "program",
            Self::Link => "link",
            Self::Rescan => "rescan",
            Self::Identify => "identify",
            Self::Unmask => "unmask",
            Self::Bind => "bind",
            Self::Test => "test",
        }
    }
}

/// What a deployment is done through: this machine, or a test's.
pub trait Hardware: Kernel {
    /// Writes to a configuration space: `bytes` at a byte offset.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn poke(&mut self, path: &Path, offset: u16, bytes: &[u8]) -> io::Result<()>;

    /// Puts a file onto the chip. `stop` ends it.
    ///
    /// # Errors
    /// As [`Programmer::run`].
    fn program(
        &mut self,
        programmer: &Programmer,
        file: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), ProgrammerError>;

    /// Drives the function for a moment.
    ///
    /// # Errors
    /// If it is not what it should be.
    fn test(&mut self, bdf: Bdf) -> Result<SelfTest, TestError>;

    /// Lets time pass.
    fn sleep(&mut self, time: Duration);
}

/// Between two looks at something that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longest wait for a link, and for a function.
const LINK_LIMIT: Duration = Duration::from_secs(10);

/// Waits until something is so: whether it is, within a bound.
fn wait(hardware: &mut dyn Hardware, limit: Duration, mut so: impl FnMut() -> bool) -> bool {
    for _ in 0..limit.as_millis() / LOOK_EVERY.as_millis() {
        if so() {
            return true;
        }
        hardware.sleep(LOOK_EVERY);
    }
    so()
}

/// A deployment that is going on.
pub struct Deployment<'a> {
    /// What is to be done.
    pub plan: &'a Plan,
    /// The kernel's files.
    pub sysfs: &'a Sysfs,
    /// Where it is written down.
    pub place: &'a Place,
    /// What it is done through.
    pub hardware: &'a mut dyn Hardware,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// Gets a line for each step.
    pub talk: &'a dyn Fn(&str),
}

/// What came of it.
pub struct Outcome {
    /// What was done.
    pub report: Report,
    /// Why it ended early, and how the host is now.
    pub failed: Option<(DeployError, Undone)>,
}

impl Deployment<'_> {
    /// Does it all, or puts everything back.
    ///
    /// # Errors
    /// If the journal cannot be written at its end.
    pub fn run(mut self, mut journal: Journal) -> Result<Outcome, JournalError> {
        let mut report = Report::new(self.plan, &journal);
        let result = self.forward(&mut journal, &mut report);
        let Err(error) = result else {
            self.place.clear()?;
            report.ended = "done";
            return Ok(Outcome { report, failed: None });
        };
        report.ended = if error.is_interruption() { "interrupted" } else { "failed" };
        if self.plan.bdf.is_some() {
            (self.talk)("putting the host back");
        }
        let undone = undo::put_back(self.sysfs, self.hardware, &journal);
        // Without a trace of it: what could not be put back is for --recover to try again.
        if undone.left.is_empty() {
            self.place.clear()?;
        }
        report.left.clone_from(&undone.left);
        report.now.clone_from(&undone.now);
        Ok(Outcome { report, failed: Some((error, undone)) })
    }

    fn forward(&mut self, journal: &mut Journal, report: &mut Report) -> Result<(), DeployError> {
        let steps = self.plan.steps();
        for (number, step) in steps.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(DeployError::Interrupted(*step));
            }
            journal.step = *step;
            self.place.write(journal)?;
            let what = self.plan.describe(*step, journal);
            (self.talk)(&format!("{:2}/{} {:9} {what}", number + 1, steps.len(), step.name()));
            let start = Instant::now();
            let done = self.act(*step, journal, report);
            report.steps.push(StepReport {
                step: *step,
                what,
                done: done.is_ok(),
                seconds: start.elapsed().as_secs_f64(),
            });
            done?;
        }
        Ok(())
    }
}

/// Puts back what the journal of a deployment that was cut off says was changed.
pub fn recover(sysfs: &Sysfs, hardware: &mut dyn Hardware, journal: &Journal) -> Undone {
    undo::put_back(sysfs, hardware, journal)
}

/// Where journals are, best first: a directory that a reboot empties, as it does away with all that
/// a deployment changes; else Groove's cache.
pub fn places(cache: Option<PathBuf>) -> Vec<PathBuf> {
    let run = PathBuf::from("/run/groove");
    [run].into_iter().chain(cache.map(|cache| cache.join("deploy"))).collect()
}
