//! PCI functions: which there are, and which driver has them.
//!
//!   bind:   override := vfio-pci ──► unbind the old driver ──► probe ──► bound? ── no ──► undo
//!   unbind: unbind vfio-pci ──► override := nothing ──► probe: the kernel's own choice
//!
//! Follows: `Documentation/ABI/testing/sysfs-bus-pci` (`driver_override`, `drivers_probe`).
//! Invariants: a function with a network interface that is up, or none of Groove's, is not taken
//! from its driver unasked (`a_live_interface_is_refused`, `strangers_are_refused`); a bind that
//! fails leaves the function with the driver that it had (`a_failed_bind_is_undone`); a dry run
//! gives the steps of a real one, and does none (`a_dry_run_gives_the_steps`).
//! Not here: printing.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use groove_driver::pci_id::{DEVICE_ID, VENDOR_ID};
use groove_driver::vfio::Peek;
use groove_driver::vfio::sysfs::{Bdf, Function, Sysfs, VFIO_DRIVER};
use groove_spec::stages::device::SPEC_ID;
use serde::Serialize;

/// Class and subclass of network controllers, Ethernet or other.
const NETWORK: u32 = 0x02;

/// One line for a shell that does the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// File of the kernel.
    pub path: PathBuf,
    /// What is written to it.
    pub text: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "echo {} > {}", self.text, self.path.display())
    }
}

/// Why a function is not moved.
#[derive(Debug, thiserror::Error)]
pub enum PciError {
    /// Nothing is there.
    #[error("there is no PCI function {0}")]
    Absent(Bdf),
    /// Not Groove's.
    #[error("{bdf} is {vendor:04x}:{device:04x}, no Groove device")]
    Stranger {
        /// The function.
        bdf: Bdf,
        /// Its vendor.
        vendor: u16,
        /// Its device.
        device: u16,
    },
    /// Somebody may be using it.
    #[error("{bdf} has the network interface {interface}, which is up")]
    Live {
        /// The function.
        bdf: Bdf,
        /// Its interface.
        interface: String,
    },
    /// The kernel has no IOMMU for it.
    #[error("{0} is in no IOMMU group: the kernel would refuse to give it to user space")]
    NoIommu(Bdf),
    /// No VFIO.
    #[error("the kernel has no driver vfio-pci")]
    NoDriver,
    /// Not with user space.
    #[error("{bdf} is not bound to vfio-pci, but to {}", driver.as_deref().unwrap_or("no driver"))]
    NotOurs {
        /// The function.
        bdf: Bdf,
        /// Its driver.
        driver: Option<String>,
    },
    /// A process drives it.
    #[error("{0} is being driven by a process")]
    InUse(Bdf),
    /// A step was refused.
    #[error("failed at: {step}")]
    Step {
        /// Which.
        step: Step,
        /// Why.
        source: io::Error,
    },
    /// All steps went well, and yet.
    #[error(
        "vfio-pci did not take {bdf}, which is with {} now",
        driver.as_deref().unwrap_or("no driver")
    )]
    NotTaken {
        /// The function.
        bdf: Bdf,
        /// Its driver.
        driver: Option<String>,
    },
}

impl PciError {
    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::Absent(_) => "`groove devices --all` lists what there is".into(),
            Self::Stranger { .. } => "if it is the one all the same: --force".into(),
            Self::Live { interface, .. } => {
                format!("take it down: ip link set {interface} down; or take it anyway: --force")
            }
            Self::NoIommu(_) => "switch VT-d or AMD-Vi on in the firmware, and boot with \
                                 intel_iommu=on (Intel)"
                .into(),
            Self::NoDriver => "load it: modprobe vfio-pci".into(),
            Self::NotOurs { .. } => "there is nothing to undo: `groove devices` shows who has \
                                     which function"
                .into(),
            Self::InUse(_) => "end that process first: the kernel would wait for it".into(),
            Self::Step { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => "run it as root".into(),
                _ => "see the kernel's log: dmesg".into(),
            },
            Self::NotTaken { .. } => "see the kernel's log: dmesg".into(),
        }
    }
}

/// What a change is made through: the kernel's files, or a test's.
pub trait Kernel {
    /// Writes to a file of the kernel.
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()>;
}

/// The kernel's files.
#[derive(Debug, Default)]
pub struct Files;

impl Kernel for Files {
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        // The kernel takes an empty override as a line.
        std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| io::Write::write_all(&mut file, format!("{text}\n").as_bytes()))
    }
}

fn step(path: PathBuf, text: impl fmt::Display) -> Step {
    Step { path, text: text.to_string() }
}

fn is_ours(function: &Function) -> bool {
    (function.vendor, function.device) == (VENDOR_ID, DEVICE_ID)
}

/// Steps that give a function to user space; none if it is there.
pub fn bind_steps(sysfs: &Sysfs, bdf: Bdf, force: bool) -> Result<Vec<Step>, PciError> {
    let function = sysfs.function(bdf).ok_or(PciError::Absent(bdf))?;
    if !is_ours(&function) && !force {
        let Function { vendor, device, .. } = function;
        return Err(PciError::Stranger { bdf, vendor, device });
    }
    if function.driver.as_deref() == Some(VFIO_DRIVER) {
        return Ok(Vec::new());
    }
    if let Some(interface) = function.interfaces.iter().find(|interface| interface.up)
        && !force
    {
        return Err(PciError::Live { bdf, interface: interface.name.clone() });
    }
    if function.group.is_none() {
        return Err(PciError::NoIommu(bdf));
    }
    if !sysfs.pci().join("drivers").join(VFIO_DRIVER).exists() {
        return Err(PciError::NoDriver);
    }
    let at = sysfs.directory(bdf);
    let mut steps = vec![step(at.join("driver_override"), VFIO_DRIVER)];
    if let Some(driver) = &function.driver {
        steps.push(step(sysfs.pci().join("drivers").join(driver).join("unbind"), bdf));
    }
    steps.push(step(sysfs.pci().join("drivers_probe"), bdf));
    Ok(steps)
}

/// Steps that give a function back to the kernel.
pub fn unbind_steps(sysfs: &Sysfs, bdf: Bdf) -> Result<Vec<Step>, PciError> {
    let function = sysfs.function(bdf).ok_or(PciError::Absent(bdf))?;
    if function.driver.as_deref() != Some(VFIO_DRIVER) {
        return Err(PciError::NotOurs { bdf, driver: function.driver });
    }
    let in_use = |group| {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(sysfs.group_file(group));
        file.is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
    };
    if function.group.is_some_and(in_use) {
        return Err(PciError::InUse(bdf));
    }
    let driver = sysfs.pci().join("drivers").join(VFIO_DRIVER);
    Ok([vec![step(driver.join("unbind"), bdf)], release(sysfs, bdf)].concat())
}

/// Steps that let the kernel choose a driver.
fn release(sysfs: &Sysfs, bdf: Bdf) -> Vec<Step> {
    vec![
        step(sysfs.directory(bdf).join("driver_override"), ""),
        step(sysfs.pci().join("drivers_probe"), bdf),
    ]
}

/// Does steps one after the other, up to the first that is refused.
pub fn run(kernel: &mut dyn Kernel, steps: &[Step]) -> Result<(), PciError> {
    for step in steps {
        kernel
            .write(&step.path, &step.text)
            .map_err(|source| PciError::Step { step: step.clone(), source })?;
    }
    Ok(())
}

/// Gives a function to user space, or leaves it as it was.
pub fn bind(
    sysfs: &Sysfs,
    kernel: &mut dyn Kernel,
    bdf: Bdf,
    steps: &[Step],
) -> Result<(), PciError> {
    let driver = || sysfs.function(bdf).and_then(|function| function.driver);
    let done = run(kernel, steps);
    if done.is_ok() && driver().as_deref() == Some(VFIO_DRIVER) {
        return Ok(());
    }
    // What went wrong is the error to tell of, not that it cannot be undone.
    let _ = run(kernel, &release(sysfs, bdf));
    let driver = driver();
    done.and(Err(PciError::NotTaken { bdf, driver }))
}

/// A function in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Address.
    pub bdf: String,
    /// Vendor and device.
    pub id: String,
    /// It is a Groove device.
    pub groove: bool,
    /// Its driver.
    pub driver: Option<String>,
    /// Its IOMMU group.
    pub group: Option<u32>,
    /// Its link.
    pub link: Option<String>,
    /// Its network interfaces.
    pub interfaces: Vec<String>,
    /// The table that it was built from, if it can be read.
    pub spec_id: Option<String>,
    /// That is the table of this command.
    pub matches: Option<bool>,
}

/// Groove's functions, or all network controllers.
pub fn list(sysfs: &Sysfs, all: bool) -> Vec<Entry> {
    let wanted = |f: &Function| is_ours(f) || all && f.class >> 16 == NETWORK;
    sysfs.functions().into_iter().filter(wanted).map(|f| entry(sysfs, f)).collect()
}

fn entry(sysfs: &Sysfs, function: Function) -> Entry {
    let groove = is_ours(&function);
    // Who may not look, or finds it switched off, is told nothing: `groove stats` says why.
    let peek = |bdf| Peek::open(sysfs, bdf).ok()?.read32(SPEC_ID.offset as u64).ok();
    let spec_id = groove.then(|| peek(function.bdf)).flatten();
    let state = |up| if up { "up" } else { "down" };
    let interfaces = function.interfaces.iter().map(|i| format!("{} ({})", i.name, state(i.up)));
    Entry {
        bdf: function.bdf.to_string(),
        id: format!("{:04x}:{:04x}", function.vendor, function.device),
        groove,
        interfaces: interfaces.collect(),
        driver: function.driver,
        group: function.group,
        link: function.link,
        matches: spec_id.map(|id| id == groove_spec::SPEC_ID),
        spec_id: spec_id.map(|id| format!("{id:#010x}")),
    }
}

/// The list as a table.
pub fn table(entries: &[Entry]) -> String {
    let dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let mut text = format!(
        "{:14} {:10} {:10} {:6} {:24} {:12} interfaces\n",
        "function", "id", "driver", "group", "link", "table"
    );
    for entry in entries {
        let table = match (entry.matches, &entry.spec_id) {
            (Some(true), _) => "this one".into(),
            (Some(false), Some(id)) => id.clone(),
            _ => "-".into(),
        };
        text += &format!(
            "{:14} {:10} {:10} {:6} {:24} {:12} {}\n",
            entry.bdf,
            entry.id,
            dash(entry.driver.clone()),
            dash(entry.group.map(|group| group.to_string())),
            dash(entry.link.clone()),
            table,
            if entry.interfaces.is_empty() { "-".into() } else { entry.interfaces.join(", ") }
        );
    }
    text
}

#[cfg(test)]
#[path = "pci/pci_tests.rs"]
mod tests;
