//! What the kernel tells of PCI functions: read from its files, whose root is given, so that tests
//! have trees of their own.
//!
//! Invariants: a tree with anything in it is read without a panic (`strange_files_are_no_panic`);
//! what keeps a function from being opened is found before it is tried, in the order in which it is
//! to be cured (`each_obstacle_is_named_with_its_cure`).
//! Not here: changing anything (`groove bind` does).

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::open_error::OpenError;
use super::way;

/// Name of the kernel's driver for user space.
pub const VFIO_DRIVER: &str = "vfio-pci";
/// Drivers that do not stand in the way of the others in their group.
const HARMLESS: [&str; 3] = [VFIO_DRIVER, "pcieport", "pci-stub"];

/// Address of a PCI function: domain, bus, device, function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bdf {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

impl Bdf {
    /// Segment of the machine.
    pub const fn domain(self) -> u32 {
        self.domain
    }

    /// Bus in the domain.
    pub const fn bus(self) -> u8 {
        self.bus
    }
}

/// Text that is no address of a PCI function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: not a PCI address, which looks like 0000:3b:00.0 or 3b:00.0")]
pub struct NoBdf(String);

impl FromStr for Bdf {
    type Err = NoBdf;

    fn from_str(text: &str) -> Result<Self, NoBdf> {
        let parse = || {
            let (rest, function) = text.rsplit_once('.')?;
            let mut parts = rest.rsplit(':');
            let (device, bus) = (parts.next()?, parts.next()?);
            let domain = parts.next().unwrap_or("0");
            let hex = |digits: &str, longest: usize| {
                let fits = (1..=longest).contains(&digits.len());
                let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
                if fits && all { u32::from_str_radix(digits, 16).ok() } else { None }
            };
            let device = hex(device, 2).filter(|n| *n < 32)? as u8;
            let function = hex(function, 1).filter(|n| *n < 8)? as u8;
            let bdf = Self { domain: hex(domain, 8)?, bus: hex(bus, 2)? as u8, device, function };
            parts.next().is_none().then_some(bdf)
        };
        parse().ok_or_else(|| NoBdf(text.to_owned()))
    }
}

impl fmt::Display for Bdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

/// A network interface of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// It is up: somebody may be using it.
    pub up: bool,
}

/// A PCI function as the kernel tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its address.
    pub bdf: Bdf,
    /// Vendor.
    pub vendor: u16,
    /// Device.
    pub device: u16,
    /// Class, subclass, interface.
    pub class: u32,
    /// The driver that it is bound to.
    pub driver: Option<String>,
    /// The only driver that may have it.
    pub driver_override: Option<String>,
    /// IOMMU group.
    pub group: Option<u32>,
    /// Link speed and width, as the kernel words them.
    pub link: Option<String>,
    /// Network interfaces.
    pub interfaces: Vec<Interface>,
    /// Ways to reset it.
    pub resets: String,
}

/// The kernel's files.
#[derive(Clone, Debug)]
pub struct Sysfs {
    sys: PathBuf,
    dev: PathBuf,
}

impl Default for Sysfs {
    fn default() -> Self {
        Self::at("/sys", "/dev")
    }
}

/// Content of a small file without the end of line; `None` if it cannot be read.
fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn number(path: &Path) -> Option<u32> {
    let text = text(path)?;
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Last part of what a link points to.
fn target(path: &Path) -> Option<String> {
    Some(fs::read_link(path).ok()?.file_name()?.to_str()?.to_owned())
}

impl Sysfs {
    /// The trees that usually are `/sys` and `/dev`.
    pub fn at(sys: impl Into<PathBuf>, dev: impl Into<PathBuf>) -> Self {
        Self { sys: sys.into(), dev: dev.into() }
    }

    /// Directory of the PCI bus.
    pub fn pci(&self) -> PathBuf {
        self.sys.join("bus/pci")
    }

    /// Directory of a function.
    pub fn directory(&self, bdf: Bdf) -> PathBuf {
        self.pci().join("devices").join(bdf.to_string())
    }

    /// The file that stands for an IOMMU group.
    pub fn group_file(&self, group: u32) -> PathBuf {
        self.dev.join("vfio").join(group.to_string())
    }

    /// Directory of device files.
    pub fn dev(&self) -> &Path {
        &self.dev
    }

    /// Whether the function answers at its BARs.
    pub fn enabled(&self, bdf: Bdf) -> Option<bool> {
        Some(text(&self.directory(bdf).join("enable"))? != "0")
    }

    /// All functions, by address.
    pub fn functions(&self) -> Vec<Function> {
        let Ok(entries) = fs::read_dir(self.pci().join("devices")) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut functions: Vec<_> =
            names.filter_map(|name| self.function(name.parse().ok()?)).collect();
        functions.sort_by_key(|function| function.bdf);
        functions
    }

    /// A function; `None` if there is none at that address.
    pub fn function(&self, bdf: Bdf) -> Option<Function> {
        let at = self.directory(bdf);
        let vendor = number(&at.join("vendor"))? as u16;
        let some = |text: String| (!text.is_empty() && text != "(null)").then_some(text);
        let link =
            match (text(&at.join("current_link_speed")), text(&at.join("current_link_width"))) {
                (Some(speed), Some(width)) => Some(format!("{speed} x{width}")),
                _ => None,
            };
        Some(Function {
            bdf,
            vendor,
            device: number(&at.join("device"))? as u16,
            class: number(&at.join("class")).unwrap_or(0),
            driver: target(&at.join("driver")),
            driver_override: text(&at.join("driver_override")).and_then(some),
            group: target(&at.join("iommu_group")).and_then(|name| name.parse().ok()),
            link,
            interfaces: interfaces(&at),
            resets: text(&at.join("reset_method")).unwrap_or_default(),
        })
    }

    /// Others of a group that are bound to a driver that keeps the group from user space.
    pub fn blocking(&self, group: u32, but: Bdf) -> Vec<Function> {
        let at = self.sys.join("kernel/iommu_groups").join(group.to_string()).join("devices");
        let Ok(entries) = fs::read_dir(at) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let others = names.filter_map(|name| self.function(name.parse().ok()?));
        let blocks = |f: &Function| {
            f.bdf != but && f.driver.as_deref().is_some_and(|driver| !HARMLESS.contains(&driver))
        };
        let mut found: Vec<_> = others.filter(blocks).collect();
        found.sort_by_key(|function| function.bdf);
        found
    }

    /// Sees whether a function can be opened, and what stands in the way.
    pub fn check(&self, bdf: Bdf) -> Result<Function, OpenError> {
        let function = self.function(bdf).ok_or(OpenError::Absent(bdf))?;
        let group = function.group.ok_or(OpenError::NoIommu(bdf))?;
        if function.driver.as_deref() != Some(VFIO_DRIVER) {
            return Err(OpenError::Bound { bdf, driver: function.driver });
        }
        let others = self.blocking(group, bdf);
        if !others.is_empty() {
            let name = |f: Function| format!("{} ({})", f.bdf, f.driver.unwrap_or_default());
            let others = others.into_iter().map(name).collect();
            return Err(OpenError::NotViable { bdf, group, others });
        }
        if way::ways(self, &function).is_empty() {
            return Err(OpenError::NoVfio(self.dev.join("vfio/vfio")));
        }
        Ok(function)
    }
}

/// Interfaces of a function, or of the virtio device that it carries.
fn interfaces(function: &Path) -> Vec<Interface> {
    let names = |at: &Path| {
        let entries = fs::read_dir(at).into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let carried = names(function).into_iter().filter(|name| name.starts_with("virtio"));
    let nets = carried.map(|name| function.join(name).join("net"));
    let mut interfaces: Vec<_> = std::iter::once(function.join("net"))
        .chain(nets)
        .flat_map(|net| names(&net).into_iter().map(move |name| (net.join(&name), name)))
        .map(|(at, name)| {
            // Bit 0 of the flags is IFF_UP.
            let up = number(&at.join("flags")).is_some_and(|flags| flags & 1 == 1);
            Interface { name, up }
        })
        .collect();
    interfaces.sort_by(|a, b| a.name.cmp(&b.name));
    interfaces
}

#[cfg(test)]
#[path = "sysfs_tests.rs"]
mod tests;
