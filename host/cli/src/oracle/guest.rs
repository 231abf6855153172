//! Another kernel as oracle: bursts go into a guest, a recording comes back.
//!
//!   cases ─► packed file ─► guest: groove oracle record ─► recording ─► compared here
//!
//! The guest does nothing but record: what it delivered is held against model and recordings by the
//! one who asks. Not here: fetching and booting (`groove_vm`).

use std::path::Path;
use std::time::Duration;

use groove_vm::{Event, File, Guest, Kernel, Machine, Program};

use super::Identity;
use crate::golden::{self, Case, Packed, ReadError, WriteError};

/// What the cases are called in the guest, and its recording.
const NAME: &str = "all.jsonl.gz";
/// Memory of the guest, in MiB: the command and what it runs are in there.
const MEMORY_MIB: u32 = 1024;

/// Why a guest gave no recording.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// It could not be had, or did not end.
    #[error("the guest gave no recording")]
    Guest(#[from] groove_vm::Error),
    /// The command failed in it.
    #[error("groove failed in the guest, with exit code {exit}: {said}")]
    Failed {
        /// Exit code.
        exit: i32,
        /// The last of what its console showed.
        said: String,
    },
    /// What it brought back cannot be read.
    #[error("the guest's report cannot be read")]
    Report(#[from] serde_json::Error),
    /// The recording cannot be read.
    #[error("the guest's recording cannot be read")]
    Read(#[from] ReadError),
    /// The cases, or the recording, cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The recording is of other cases.
    #[error("the guest recorded {found} cases of {expected}")]
    Count {
        /// Cases that it was given.
        expected: usize,
        /// Cases in its recording.
        found: usize,
    },
}

/// What a guest is asked.
pub struct Question<'a> {
    /// The command, to be run there.
    pub groove: Program,
    /// Cases that are put through.
    pub cases: &'a [Case],
    /// Runs of each.
    pub runs: u8,
    /// Modules beside veth.
    pub modules: Vec<String>,
    /// Longest that it may take.
    pub limit: Duration,
    /// Where files are exchanged.
    pub directory: &'a Path,
}

impl Question<'_> {
    /// Asks one kernel; `tell` hears what its console shows. Gives who it is, and every case with
    /// the record of that kernel alone.
    pub fn ask(
        &self,
        machine: &Machine,
        kernel: &Kernel,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(Identity, Vec<Case>), GuestError> {
        let given = self.directory.join("given.jsonl.gz");
        let mut packed = Packed::create(&given)?;
        for case in self.cases {
            packed.add(&Case { golden: Default::default(), ..case.clone() }, "for a guest")?;
        }
        packed.finish()?;
        let outcome = machine.run(kernel, &self.guest(&given), &mut |event| {
            if let Event::Line(line) = event {
                tell(line);
            }
        })?;
        let output = |name: &str| outcome.outputs.get(&format!("/out/{name}"));
        let (Some(recording), Some(report), 0) = (output(NAME), output("report"), outcome.exit)
        else {
            let last = outcome.console.lines().rev().take(3).collect::<Vec<_>>();
            let said = last.into_iter().rev().collect::<Vec<_>>().join("; ");
            return Err(GuestError::Failed { exit: outcome.exit, said });
        };
        let report: serde_json::Value = serde_json::from_slice(report)?;
        let identity: Identity = serde_json::from_value(report["kernel"].clone())?;
        let path = self.directory.join(format!("{}.jsonl.gz", identity.label));
        std::fs::write(&path, recording)
            .map_err(|source| WriteError { path: path.clone(), source })?;
        let cases = golden::cases(&path)?;
        match cases.len() == self.cases.len() {
            true => Ok((identity, cases)),
            false => Err(GuestError::Count { expected: self.cases.len(), found: cases.len() }),
        }
    }

    fn guest(&self, given: &Path) -> Guest {
        let runs = self.runs;
        let modules = std::iter::once("veth".to_owned()).chain(self.modules.iter().cloned());
        Guest {
            modules: modules.collect(),
            files: vec![File::copy(format!("/given/{NAME}"), given)],
            programs: vec![("groove".into(), self.groove.clone())],
            command: format!(
                "groove oracle record /given/{NAME} --out /out --runs {runs} --json=/out/report"
            ),
            outputs: [NAME, "report"].map(|name| format!("/out/{name}")).to_vec(),
            memory_mib: MEMORY_MIB,
            limit: self.limit,
            ..Guest::default()
        }
    }
}
