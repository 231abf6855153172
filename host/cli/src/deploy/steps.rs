//! What each step does. Doing one again that was done changes nothing: so a deployment that was cut
//! off goes on from its beginning.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use groove_driver::identify_by;
use groove_driver::pci_id::{DEVICE_ID, VENDOR_ID};
use groove_driver::vfio::Peek;
use groove_driver::vfio::sysfs::Bdf;

use super::{DeployError, Deployment, Journal, LINK_LIMIT, Port, Report, Step, wait};
use crate::pci::{self, bind_steps};

/// Longest that the kernel may take to forget a function.
const REMOVE_LIMIT: Duration = Duration::from_secs(5);
/// Trainings of a link that does not come up by itself.
const TRAININGS: u32 = 4;

impl Deployment<'_> {
    /// Does a step.
    pub(super) fn act(
        &mut self,
        step: Step,
        journal: &mut Journal,
        report: &mut Report,
    ) -> Result<(), DeployError> {
        match step {
            Step::Mask => self.mask(journal),
            Step::Unbind => self.unbind(journal),
            Step::Remove => self.remove(journal),
            Step::Program => self.program(),
            Step::Link => self.link(),
            Step::Rescan => self.rescan(),
            Step::Identify => self.identify().map(|()| journal.came_up = true),
            Step::Unmask => self.unmask(journal),
            Step::Bind => self.bind(),
            Step::Test => self.test(report),
        }
    }

    fn port(&mut self, what: &'static str, journal: &Journal) -> Result<(), DeployError> {
        let Some(port) = &self.plan.port else { return Ok(()) };
        let done = match what {
            "mask" => port.mask(self.hardware, &journal.saved),
            _ => port.put_back(self.hardware, &journal.saved),
        };
        done.map_err(|source| DeployError::Port { what, port: port.bdf, source })
    }

    fn mask(&mut self, journal: &Journal) -> Result<(), DeployError> {
        self.port("mask", journal)
    }

    fn unmask(&mut self, journal: &Journal) -> Result<(), DeployError> {
        self.port("unmask", journal)
    }

    fn write(&mut self, path: PathBuf, text: impl ToString) -> Result<(), DeployError> {
        let text = text.to_string();
        let done = self.hardware.write(&path, &text);
        done.map_err(|source| DeployError::Kernel { step: pci::Step { path, text }, source })
    }

    fn functions(&self, journal: &Journal) -> Vec<Bdf> {
        journal.functions.iter().filter_map(|before| before.bdf.parse().ok()).collect()
    }

    fn unbind(&mut self, journal: &Journal) -> Result<(), DeployError> {
        for bdf in self.functions(journal) {
            let driver = self.sysfs.function(bdf).and_then(|function| function.driver);
            if let Some(driver) = driver {
                self.write(self.sysfs.pci().join("drivers").join(driver).join("unbind"), bdf)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, journal: &Journal) -> Result<(), DeployError> {
        for bdf in self.functions(journal) {
            if self.sysfs.function(bdf).is_none() {
                continue;
            }
            self.write(self.sysfs.directory(bdf).join("remove"), 1)?;
            let gone = || self.sysfs.function(bdf).is_none();
            if !wait(self.hardware, REMOVE_LIMIT, gone) {
                return Err(DeployError::Stays(bdf, REMOVE_LIMIT));
            }
        }
        Ok(())
    }

    fn program(&mut self) -> Result<(), DeployError> {
        let stop = || self.stop.load(Ordering::Relaxed);
        Ok(self.hardware.program(&self.plan.programmer, &self.plan.copy, &stop)?)
    }

    fn link(&mut self) -> Result<(), DeployError> {
        let Some(port) = &self.plan.port else { return Ok(()) };
        let failed = |what| {
            let port = port.bdf;
            move |source| DeployError::Port { what, port, source }
        };
        if port.link_is_up().map_err(failed("read"))?.is_none() {
            // It does not say: then the function is what is waited for.
            return Ok(());
        }
        for _ in 0..TRAININGS {
            // What cannot be read any more is not up.
            let up = || port.link_is_up().is_ok_and(|up| up == Some(true));
            if wait(self.hardware, LINK_LIMIT / TRAININGS, up) {
                return Ok(());
            }
            port.retrain(self.hardware).map_err(failed("retrain the link of"))?;
        }
        Err(DeployError::NoLink(port.bdf, LINK_LIMIT))
    }

    fn rescan(&mut self) -> Result<(), DeployError> {
        let Some(bdf) = self.plan.bdf else { return Ok(()) };
        let at = self.plan.port.as_ref().map_or(self.sysfs.pci().join("rescan"), Port::rescan);
        // A device may answer a while after its link is up: the bus is looked at again and again.
        let scans = LINK_LIMIT.as_secs() as u32;
        for _ in 0..scans {
            self.write(at.clone(), 1)?;
            let there = || self.sysfs.function(bdf).is_some();
            if wait(self.hardware, LINK_LIMIT / scans, there) {
                return Ok(());
            }
        }
        Err(DeployError::NotFound(bdf, LINK_LIMIT))
    }

    /// Ids, then the table, by a look at its registers while nobody drives it.
    fn identify(&mut self) -> Result<(), DeployError> {
        let Some(bdf) = self.plan.bdf else { return Ok(()) };
        let function =
            self.sysfs.function(bdf).ok_or(DeployError::NotFound(bdf, Duration::ZERO))?;
        if (function.vendor, function.device) != (VENDOR_ID, DEVICE_ID) {
            let (vendor, device) = (function.vendor, function.device);
            return Err(DeployError::Stranger { bdf, vendor, device });
        }
        let enable = self.sysfs.directory(bdf).join("enable");
        self.write(enable.clone(), 1)?;
        // A kernel that lets nobody look (lockdown) leaves it to the driver, which looks as well.
        let seen = Peek::open(self.sysfs, bdf)
            .map_or(Ok(()), |peek| identify_by(|offset| peek.read32(offset)).map(drop));
        self.write(enable, 0)?;
        Ok(seen?)
    }

    fn bind(&mut self) -> Result<(), DeployError> {
        let Some(bdf) = self.plan.bdf else { return Ok(()) };
        let steps = bind_steps(self.sysfs, bdf, false)?;
        Ok(pci::bind(self.sysfs, self.hardware, bdf, &steps)?)
    }

    /// A card that fails is given back to the kernel: nobody is to drive it by accident.
    fn test(&mut self, report: &mut Report) -> Result<(), DeployError> {
        let Some(bdf) = self.plan.bdf else { return Ok(()) };
        match self.hardware.test(bdf) {
            Ok(test) => report.test = Some(test),
            Err(error) => {
                if let Ok(steps) = pci::unbind_steps(self.sysfs, bdf) {
                    // The test's failure is the error to tell of.
                    let _ = pci::run(self.hardware, &steps);
                }
                return Err(error.into());
            }
        }
        Ok(())
    }
}
