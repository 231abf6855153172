//! The way back: from a journal to the host as it was.
//!
//!   card gone? ──► train its link, rescan ──► masks ──► earlier drivers ──► what is left
//!
//! Each part is done whether or not the one before could be, and doing it twice changes nothing, so
//! that `--recover` may try again.
//! Invariant: what could not be put back is named (`what_cannot_be_put_back_is_named`).

use std::time::Duration;

use groove_driver::vfio::sysfs::{Bdf, Sysfs};

use super::{Before, Hardware, Journal, Port, wait};
use crate::pci::Step;

/// Longest wait for a card to come back.
const LIMIT: Duration = Duration::from_secs(2);

/// How the host is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// What is not as it was, and `--recover` may change yet.
    pub left: Vec<String>,
    /// How the functions are.
    pub now: Vec<String>,
    /// The card does not answer.
    pub absent: bool,
}

impl Undone {
    /// For a help line: how the host is, and how to go on.
    pub fn text(&self) -> String {
        if !self.left.is_empty() {
            let left = self.left.join("; ");
            return format!("not put back: {left}; try again: groove deploy --recover");
        }
        let now = self.now.join(", ");
        let colon = if now.is_empty() { "" } else { ": " };
        let card = match self.absent {
            true => "; the card has no working bitstream: deploy a good one, or power-cycle it",
            false => "",
        };
        format!("the host is as it was{colon}{now}{card}")
    }
}

/// Puts everything back that can be.
pub fn put_back(sysfs: &Sysfs, hardware: &mut dyn Hardware, journal: &Journal) -> Undone {
    let mut undone = Undone::default();
    let functions: Vec<(Bdf, &Before)> =
        journal.functions.iter().filter_map(|b| Some((b.bdf.parse().ok()?, b))).collect();
    let port = journal.port.as_ref().and_then(|port| port.parse().ok());
    let port = port.map(|bdf| Port::at(sysfs, bdf));
    let all = || functions.iter().all(|(bdf, _)| sysfs.function(*bdf).is_some());
    if !all() {
        link(port.as_ref(), hardware);
        let at = port.as_ref().map_or(sysfs.pci().join("rescan"), Port::rescan);
        match hardware.write(&at, "1") {
            Ok(()) => undone.absent = !wait(hardware, LIMIT, all),
            Err(error) => undone.left.push(format!("rescan: {error}")),
        }
    }
    if let Some(port) = &port
        && let Err(error) = port.put_back(hardware, &journal.saved)
    {
        undone.left.push(format!("masks of port {}: {error}", port.bdf));
    }
    for (bdf, before) in functions {
        let Some(now) = sysfs.function(bdf) else {
            undone.now.push(format!("{bdf} is not there"));
            continue;
        };
        // Drivers are for what was there: another bitstream is left to the kernel's choice.
        let same = (now.vendor, now.device) == before.id && !journal.came_up;
        if same && now.driver != before.driver {
            rebind(sysfs, hardware, bdf, before, &mut undone.left);
        }
        let driver = sysfs.function(bdf).and_then(|function| function.driver);
        let driver = driver.unwrap_or_else(|| "no driver".into());
        undone.now.push(format!("{bdf} is with {driver}"));
    }
    undone
}

/// Has a link that is down trained once: nothing is found below one. Whether it comes up is seen by
/// what is found.
fn link(port: Option<&Port>, hardware: &mut dyn Hardware) {
    let Some(port) = port else { return };
    let up = || port.link_is_up().is_ok_and(|up| up != Some(false));
    if !up() && port.retrain(hardware).is_ok() {
        wait(hardware, LIMIT, up);
    }
}

fn rebind(
    sysfs: &Sysfs,
    hardware: &mut dyn Hardware,
    bdf: Bdf,
    before: &Before,
    left: &mut Vec<String>,
) {
    let at = sysfs.directory(bdf);
    let step = |path: std::path::PathBuf, text: &str| Step { path, text: text.into() };
    let mut steps = Vec::new();
    if let Some(driver) = sysfs.function(bdf).and_then(|function| function.driver) {
        let unbind = sysfs.pci().join("drivers").join(driver).join("unbind");
        steps.push(step(unbind, &bdf.to_string()));
    }
    if let Some(driver) = &before.driver {
        steps.push(step(at.join("driver_override"), driver));
        steps.push(step(sysfs.pci().join("drivers_probe"), &bdf.to_string()));
    }
    let before_override = before.driver_override.as_deref().unwrap_or_default();
    steps.push(step(at.join("driver_override"), before_override));
    for step in &steps {
        if let Err(error) = hardware.write(&step.path, &step.text) {
            left.push(format!("{step}: {error}"));
        }
    }
    let driver = sysfs.function(bdf).and_then(|function| function.driver);
    if driver != before.driver {
        let wanted = before.driver.as_deref().unwrap_or("no driver");
        left.push(format!("{bdf} was with {wanted}"));
    }
}
