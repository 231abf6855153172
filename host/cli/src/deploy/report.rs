//! What a deployment did.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Journal, Plan, SelfTest, Step};

/// A step that was begun.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepReport {
    /// Which.
    pub step: Step,
    /// What it was about.
    pub what: String,
    /// It was done.
    pub done: bool,
    /// How long it took.
    pub seconds: f64,
}

/// All of it. Serialised as it stands by `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the board.
    pub board: String,
    /// Its chip and package.
    pub part: String,
    /// The file.
    pub file: String,
    /// Its bytes.
    pub bytes: usize,
    /// Its SHA-256.
    pub sha256: String,
    /// Its IDCODE.
    pub idcode: String,
    /// It went to flash.
    pub flash: bool,
    /// What programmed it.
    pub programmer: String,
    /// Function of the card.
    pub bdf: Option<String>,
    /// Port above it.
    pub port: Option<String>,
    /// Steps, as far as they went.
    pub steps: Vec<StepReport>,
    /// What the driver found.
    pub test: Option<SelfTest>,
    /// `done`, `failed` or `interrupted`.
    pub ended: &'static str,
    /// What could not be put back.
    pub left: Vec<String>,
    /// How the functions are, after a failure.
    pub now: Vec<String>,
}

impl Report {
    /// Before the first step.
    pub fn new(plan: &Plan, journal: &Journal) -> Self {
        Self {
            board: plan.board.name.into(),
            part: plan.board.part(),
            file: plan.file.display().to_string(),
            bytes: plan.bitstream.bytes,
            sha256: plan.bitstream.sha256.clone(),
            idcode: format!("{:#010x}", plan.bitstream.idcode),
            flash: plan.programmer.flash,
            programmer: plan.programmer.program.display().to_string(),
            bdf: journal.bdf.clone(),
            port: journal.port.clone(),
            steps: Vec::new(),
            test: None,
            ended: "failed",
            left: Vec::new(),
            now: Vec::new(),
        }
    }
}

/// For people.
pub fn table(report: &Report) -> String {
    let Report { board, part, file, bytes, idcode, .. } = report;
    let to = if report.flash { "flash" } else { "SRAM" };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "board      {board} ({part}, IDCODE {idcode})");
    let _ = writeln!(text, "bitstream  {file}, {bytes} bytes, SHA-256 {}", &report.sha256[..16]);
    let _ = writeln!(text, "target     {to}, by {}", report.programmer);
    match (&report.bdf, &report.port) {
        (Some(bdf), Some(port)) => {
            let _ = writeln!(text, "function   {bdf} below port {port}");
        }
        (Some(bdf), None) => {
            let _ = writeln!(text, "function   {bdf}, below no port");
        }
        (None, _) => {
            text += "function   none named: the host was not touched, nothing was tested\n"
        }
    }
    for step in &report.steps {
        let done = if step.done { "done" } else { "FAILED" };
        let _ = writeln!(text, "{:10} {done:6} {:8.3} s", step.step.name(), step.seconds);
    }
    if let Some(SelfTest { queues, width, registers, descriptors, buffers }) = &report.test {
        let _ = writeln!(
            text,
            "self-test  {queues} queues, {width} bits a beat; {registers} registers hold what is \
             written and reset; {descriptors} descriptors fetched, {buffers} buffers home"
        );
    }
    let _ = writeln!(text, "{}", report.ended);
    text
}
