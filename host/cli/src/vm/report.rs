//! What came of a guest, judged: its steps, what its driver delivered, what it had mapped.
//!
//! Invariants: a step that ended otherwise, a delivery that is not the model's, a mapping too many
//! and memory that was left each fail the test by name (`each_fault_is_told`).

use std::collections::BTreeMap;
use std::fmt::Write;

use groove_vm::Outcome;
use serde::Serialize;
use serde_json::Value;

use super::session::Seconds;
use super::{Driver, Expected, script};

/// A step of the guest.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    /// Its name.
    pub name: String,
    /// Its exit code; none if it did not come to that.
    pub exit: Option<i32>,
    /// The code that it had to end with.
    pub expected: i32,
}

/// A capture that the guest's driver got.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureReport {
    /// Its name.
    pub capture: String,
    /// Frames that went in.
    pub frames: u64,
    /// Deliveries of the model here.
    pub deliveries: u64,
    /// Deliveries of the driver there.
    pub delivered: Option<u64>,
    /// Digest of the model's deliveries.
    pub digest: String,
    /// Digest of the driver's.
    pub guest_digest: Option<String>,
    /// Mappings that its memory needs: one for each page, huge or not.
    pub maps_needed: Option<u64>,
    /// Mappings that the server was told of.
    pub maps: Option<u64>,
    /// Bytes that were still mapped at its end.
    pub bytes_left: Option<u64>,
}

/// Everything that a test found. Serialised as it stands by `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// `passed` or `failed`.
    pub result: &'static str,
    /// What failed.
    pub faults: Vec<String>,
    /// Version of QEMU.
    pub qemu: String,
    /// Release of the guest's kernel.
    pub kernel: String,
    /// Device.
    pub device: String,
    /// How the driver came into the guest: `static` or `copied`.
    pub driver: &'static str,
    /// Why it is not static although that was tried.
    pub driver_note: Option<String>,
    /// Steps of the guest.
    pub steps: Vec<StepReport>,
    /// Captures.
    pub captures: Vec<CaptureReport>,
    /// What the device reached for and should not have: report of the guest.
    pub stray: Value,
    /// What the server reports.
    pub served: Value,
    /// What the guest's kernel said of refused accesses.
    pub iommu_faults: Vec<String>,
    /// How long it took.
    pub seconds: Seconds,
}

/// What a report is made of.
pub struct Found<'a> {
    /// Version of QEMU.
    pub qemu: String,
    /// Release of the kernel.
    pub kernel: String,
    /// The driver.
    pub driver: &'a Driver,
    /// The model's word.
    pub expected: &'a [Expected],
    /// The guest's.
    pub outcome: &'a Outcome,
    /// The server's.
    pub served: &'a Value,
    /// How long it took.
    pub seconds: Seconds,
}

impl Report {
    /// Judges.
    pub fn new(found: Found<'_>) -> Self {
        let Found { qemu, kernel, driver, expected, outcome, served, seconds } = found;
        let steps = steps(outcome, expected.len());
        let captures = captures(outcome, expected, served);
        let json = |path: String| parse(outcome, &path).unwrap_or(Value::Null);
        let stray = json(script::said("stray", "out"));
        let faults = text(outcome, script::FAULTS).unwrap_or_default();
        let mut report = Self {
            result: "passed",
            faults: Vec::new(),
            qemu,
            kernel,
            device: served["device"].as_str().unwrap_or_default().into(),
            driver: driver.kind,
            driver_note: driver.note.clone(),
            steps,
            captures,
            stray,
            served: served.clone(),
            iommu_faults: faults.lines().map(str::to_owned).collect(),
            seconds,
        };
        report.faults = report.find_faults(outcome);
        if !report.faults.is_empty() {
            report.result = "failed";
        }
        report
    }

    fn find_faults(&self, outcome: &Outcome) -> Vec<String> {
        let mut faults = Vec::new();
        for module in &outcome.refused {
            faults.push(format!("the guest's kernel refused the module {module}"));
        }
        for StepReport { name, exit, expected } in &self.steps {
            let Some(exit) = exit else {
                faults.push(format!("the guest did not come to step {name}"));
                continue;
            };
            if exit != expected {
                let said = text(outcome, &script::said(name, "err")).unwrap_or_default();
                let said = said.lines().find(|line| line.starts_with("error: ")).unwrap_or("");
                faults.push(format!("step {name} ended with {exit}, not {expected}: {said}"));
            }
        }
        for capture in &self.captures {
            faults.extend(capture.faults());
        }
        faults
    }
}

impl CaptureReport {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let said = |found: Option<String>| found.unwrap_or_else(|| "nothing".into());
        let number = |n: Option<u64>| n.map(|n| n.to_string());
        let mut differ = |what: &str, found: Option<String>, relation: &str, wanted: String| {
            faults.push(format!("{}: {what}: {}, {relation} {wanted}", self.capture, said(found)));
        };
        if self.guest_digest.as_ref() != Some(&self.digest) {
            let (found, wanted) = (self.guest_digest.clone(), self.digest.clone());
            differ("digest of the deliveries", found, "not", wanted);
        }
        if self.delivered != Some(self.deliveries) {
            differ("deliveries", number(self.delivered), "not", self.deliveries.to_string());
        }
        if let Some(needed) = self.maps_needed {
            if self.maps.is_none_or(|maps| maps > needed) {
                differ("mappings", number(self.maps), "more than", needed.to_string());
            }
            if self.bytes_left != Some(0) {
                let found = number(self.bytes_left);
                differ("bytes still mapped at the end", found, "not", "0".into());
            }
        }
        faults
    }
}

fn text(outcome: &Outcome, path: &str) -> Option<String> {
    outcome.outputs.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn parse(outcome: &Outcome, path: &str) -> Option<Value> {
    serde_json::from_slice(outcome.outputs.get(path)?).ok()
}

fn steps(outcome: &Outcome, captures: usize) -> Vec<StepReport> {
    let text = text(outcome, script::STEPS).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let ended: BTreeMap<&str, i32> =
        pairs.filter_map(|(name, code)| Some((name, code.parse().ok()?))).collect();
    let report = |(name, expected): script::Step| {
        let exit = ended.get(name.as_str()).copied();
        StepReport { name, exit, expected }
    };
    script::steps(captures).into_iter().map(report).collect()
}

/// Memory of a run, as the run reports it: its bytes, and the mappings that it needs.
fn memory(run: &Value) -> Option<(u64, u64)> {
    run["memory"].as_array()?.iter().try_fold((0, 0), |(all, maps), range| {
        let (bytes, page) = (range["bytes"].as_u64()?, range["page_bytes"].as_u64()?);
        (page > 0).then(|| (all + bytes, maps + bytes.div_ceil(page)))
    })
}

fn captures(outcome: &Outcome, expected: &[Expected], served: &Value) -> Vec<CaptureReport> {
    let empty = Vec::new();
    let mut stays = served["drivers"][0]["memory"].as_array().unwrap_or(&empty).iter();
    let mut report = |(number, expected): (usize, &Expected)| {
        let run = parse(outcome, &script::said(&script::pass(number), "out"));
        let run = run.unwrap_or(Value::Null);
        let needed = memory(&run);
        // Between the runs the kernel maps pages of its own, to try the IOMMU.
        let is_runs = |stay: &&Value| stay["bytes_most"].as_u64() == needed.map(|need| need.0);
        let stay = needed.and_then(|_| stays.find(is_runs));
        let count = |name: &str| stay.and_then(|stay| stay[name].as_u64());
        CaptureReport {
            capture: expected.capture.display().to_string(),
            frames: expected.frames,
            deliveries: expected.deliveries,
            delivered: run["total"]["deliveries"].as_u64(),
            digest: expected.digest.text(),
            guest_digest: run["digest"].as_str().map(str::to_owned),
            maps_needed: needed.map(|need| need.1),
            maps: count("maps"),
            bytes_left: count("bytes_left"),
        }
    };
    expected.iter().enumerate().map(&mut report).collect()
}

/// The report as a table.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:9} {value}");
    };
    line("guest", format!("QEMU {}, kernel {}", report.qemu, report.kernel));
    let driver = match report.driver {
        "static" => "linked statically",
        _ => "this command with its libraries",
    };
    line("device", format!("{}; driver: {driver}", report.device));
    for step in &report.steps {
        let exit = step.exit.map_or("not reached".into(), |exit| format!("exit code {exit}"));
        let verdict = if step.exit == Some(step.expected) { "as expected" } else { "WRONG" };
        line("step", format!("{:10} {exit}, {verdict}", step.name));
    }
    for capture in &report.captures {
        let same = capture.guest_digest.as_ref() == Some(&capture.digest);
        let verdict = if same { "the model's here" } else { "NOT the model's here" };
        let maps = capture.maps.map_or("?".into(), |maps| maps.to_string());
        line("capture", capture.capture.clone());
        let CaptureReport { frames, deliveries, .. } = capture;
        line("", format!("{frames} frames, {deliveries} deliveries: {verdict}; {maps} mappings"));
    }
    let Seconds { fetch, driver, serve, boot, guest } = report.seconds;
    line(
        "time",
        format!(
            "{fetch:.1} s fetching, {driver:.1} driver, {serve:.1} device, {boot:.1} boot, \
             {guest:.1} guest"
        ),
    );
    line("result", report.result.into());
    report.faults.iter().for_each(|fault| line("", fault.clone()));
    text
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
