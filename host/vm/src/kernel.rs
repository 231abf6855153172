//! Kernels: which one is meant, where it is, and its modules in the order in which they load.
//!
//!   6.12-cloud ──► newest 6.12.* of the mirror ──► packages ──► vmlinuz, modules
//!   names ──► with what they need, before them ──► unpacked
//!
//! Invariants: the newest version of those that begin so is taken (`the_newest_that_fits`); what a
//! module needs comes before it, once (`needed_modules_come_first`).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Error;
use crate::apt::Apt;
use crate::error::io;

/// Which drivers a kernel has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flavour {
    /// For virtual machines: small.
    #[default]
    Cloud,
    /// For every machine.
    Generic,
}

/// A kernel that is asked for: a version, as far as it matters, and its flavour.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelSpec {
    version: String,
    flavour: Flavour,
}

impl Default for KernelSpec {
    /// That of the Debian release which QEMU is taken for.
    fn default() -> Self {
        Self { version: "6.12".into(), flavour: Flavour::Cloud }
    }
}

impl FromStr for KernelSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (version, flavour) = match text.split_once('-') {
            None => (text, Flavour::Cloud),
            Some((version, "cloud")) => (version, Flavour::Cloud),
            Some((version, "generic")) => (version, Flavour::Generic),
            _ => return Err(Error::KernelName(text.into())),
        };
        let is_number = |part: &str| part.parse::<u32>().is_ok();
        let parts = version.split('.').count();
        if !version.split('.').all(is_number) || parts > 3 {
            return Err(Error::KernelName(text.into()));
        }
        Ok(Self { version: version.into(), flavour })
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flavour = match self.flavour {
            Flavour::Cloud => "cloud",
            Flavour::Generic => "generic",
        };
        write!(f, "{}-{flavour}", self.version)
    }
}

/// Version and release of a package of a kernel: `6.12.117`, `6.12.117+deb13-cloud-amd64`.
fn release(package: &str, flavour: Flavour) -> Option<(&str, &str)> {
    let release = package.strip_prefix("linux-image-")?;
    let (version, rest) = release.split_once('+')?;
    let (_, kind) = rest.split_once('-')?;
    let wanted = match flavour {
        Flavour::Cloud => "cloud-amd64",
        Flavour::Generic => "amd64",
    };
    (kind == wanted).then_some((version, release))
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

impl KernelSpec {
    /// The release of the newest kernel that fits, of those that there are packages of.
    fn choose(&self, packages: &[String]) -> Result<String, Error> {
        let mut all: Vec<_> =
            packages.iter().filter_map(|name| release(name, self.flavour)).collect();
        all.sort_by_key(|(version, _)| Reverse(numbers(version)));
        let wanted = numbers(&self.version);
        let fits = |(version, _): &&(&str, &str)| numbers(version).starts_with(&wanted);
        if let Some((_, release)) = all.iter().find(fits) {
            return Ok((*release).to_owned());
        }
        let available = all.iter().map(|(version, _)| (*version).to_owned()).collect();
        Err(Error::NoKernel { wanted: self.to_string(), available })
    }

    /// Fetches the kernel into a directory, which is empty.
    pub(crate) fn fetch(&self, apt: &Apt<'_>, to: &Path) -> Result<(), Error> {
        let release = self.choose(&apt.names("linux-image-")?)?;
        let image = format!("linux-image-{release}");
        // Newer ones are in several packages.
        let mut packages = vec![image.clone()];
        packages.extend(apt.needs(&image)?.into_iter().filter(|name| {
            name.starts_with("linux-binary-") || name.starts_with("linux-modules-")
        }));
        let packages: Vec<_> = packages.iter().map(String::as_str).collect();
        apt.download(&packages)?;
        apt.unpack(to)?;
        let path = to.join("release");
        fs::write(&path, &release).map_err(io("write", &path))?;
        Kernel::open(to).map(drop)
    }
}

/// A kernel in the cache.
#[derive(Clone, Debug)]
pub struct Kernel {
    directory: PathBuf,
    release: String,
}

impl Kernel {
    pub(crate) fn open(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("release");
        let release = fs::read_to_string(&path).map_err(io("read", &path))?;
        let kernel = Self { directory: directory.into(), release };
        let image = kernel.image();
        fs::metadata(&image).map_err(io("find", image))?;
        Ok(kernel)
    }

    /// Its release, as `uname -r` says it.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Newer packages have it with the modules, older ones in `/boot`.
    pub(crate) fn image(&self) -> PathBuf {
        let with_modules = self.modules_directory().join("vmlinuz");
        match with_modules.is_file() {
            true => with_modules,
            false => self.directory.join("boot").join(format!("vmlinuz-{}", self.release)),
        }
    }

    fn modules_directory(&self) -> PathBuf {
        self.directory.join("usr/lib/modules").join(&self.release)
    }

    /// Modules with what they need, in the order in which they load, each with its content.
    /// `unpack` gives the content of a module's file.
    pub(crate) fn modules(
        &self,
        names: &[String],
        unpack: impl Fn(&Path) -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let directory = self.modules_directory();
        let mut files = BTreeMap::new();
        search(&directory.join("kernel"), &mut files)?;
        let builtin = fs::read_to_string(directory.join("modules.builtin")).unwrap_or_default();
        let is_builtin = |name: &str| {
            builtin.lines().any(|line| module_name(Path::new(line)).as_deref() == Some(name))
        };
        let mut order: Vec<(String, Vec<u8>)> = Vec::new();
        // Names still to be loaded, the next one last; true: what it needs is loaded.
        let mut stack: Vec<(String, Option<Vec<u8>>)> =
            names.iter().rev().map(|name| (name.replace('-', "_"), None)).collect();
        while let Some((name, content)) = stack.pop() {
            let waits = stack.iter().any(|(other, content)| *other == name && content.is_some());
            if waits || order.iter().any(|(known, _)| *known == name) {
                continue;
            }
            if let Some(content) = content {
                order.push((name, content));
                continue;
            }
            let Some(file) = files.get(&name) else {
                if is_builtin(&name) {
                    continue;
                }
                return Err(Error::NoModule { kernel: self.release.clone(), module: name });
            };
            let content = unpack(file)?;
            let needed = needed(&content);
            stack.push((name, Some(content)));
            stack.extend(needed.into_iter().rev().map(|name| (name, None)));
        }
        Ok(order)
    }
}

/// Files of modules under a directory, by the name that the kernel has for them.
fn search(directory: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), Error> {
    let entries = fs::read_dir(directory).map_err(io("read", directory))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            search(&path, files)?;
        } else if let Some(name) = module_name(&path) {
            files.insert(name, path);
        }
    }
    Ok(())
}

/// `vfio_pci` of `vfio-pci.ko.xz`.
fn module_name(path: &Path) -> Option<String> {
    let (name, _) = path.file_name()?.to_str()?.split_once(".ko")?;
    Some(name.replace('-', "_"))
}

/// Modules that a module names as needed: `depends=` among its texts, which end with zeros.
fn needed(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let at = module.windows(KEY.len()).position(|window| window == KEY);
    let text = at.map_or(&[][..], |at| &module[at + KEY.len()..]);
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(0);
    let names = String::from_utf8_lossy(&text[..end]).replace('-', "_");
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_that_fits() {
        let packages = [
            "linux-image-6.12.9+deb13-cloud-amd64",
            "linux-image-6.12.117+deb13-cloud-amd64",
            "linux-image-6.12.117+deb13-amd64",
            "linux-image-6.12.117+deb13-amd64-dbg",
            "linux-image-6.12.117+deb13-rt-amd64",
            "linux-image-7.3.4+deb13-cloud-amd64",
            "linux-image-cloud-amd64",
        ]
        .map(str::to_owned);
        let choose = |spec: &str| spec.parse::<KernelSpec>().unwrap().choose(&packages);
        assert_eq!(choose("6.12").unwrap(), "6.12.117+deb13-cloud-amd64");
        assert_eq!(choose("6.12.9").unwrap(), "6.12.9+deb13-cloud-amd64");
        assert_eq!(choose("6").unwrap(), "6.12.117+deb13-cloud-amd64");
        assert_eq!(choose("7.3-cloud").unwrap(), "7.3.4+deb13-cloud-amd64");
        assert_eq!(choose("6.12-generic").unwrap(), "6.12.117+deb13-amd64");
        let error = choose("6.1").unwrap_err().to_string();
        assert_eq!(error, "the mirror has no kernel 6.1-cloud; it has 7.3.4, 6.12.117, 6.12.9");
        for text in ["", "6.", "latest", "6.12-rt", "6.12-x-generic", "1.2.3.4", "../6"] {
            assert!(text.parse::<KernelSpec>().is_err(), "{text}");
        }
        assert_eq!(KernelSpec::default().to_string(), "6.12-cloud");
    }

    #[test]
    fn the_image_is_where_either_kind_of_package_has_it() {
        for path in ["boot/vmlinuz-1.2", "usr/lib/modules/1.2/vmlinuz"] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("release"), "1.2").unwrap();
            assert!(Kernel::open(dir.path()).is_err());
            let image = dir.path().join(path);
            fs::create_dir_all(image.parent().unwrap()).unwrap();
            fs::write(&image, "").unwrap();
            assert_eq!(Kernel::open(dir.path()).unwrap().image(), image);
        }
    }

    #[test]
    fn needed_modules_come_first() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("usr/lib/modules/1.2");
        fs::create_dir_all(root.join("kernel/a/b")).unwrap();
        let module = |path: &str, needs: &str| {
            let text = format!("ELF\0license=GPL\0depends={needs}\0name=x\0");
            fs::write(root.join("kernel").join(path), text).unwrap();
        };
        module("a/vfio-pci.ko", "vfio-pci-core,irqbypass");
        module("a/b/vfio-pci-core.ko", "vfio,irqbypass");
        module("a/vfio.ko", "");
        module("irqbypass.ko", "");
        fs::write(root.join("modules.builtin"), "kernel/net/core/inner-thing.ko\n").unwrap();
        let kernel = Kernel { directory: dir.path().into(), release: "1.2".into() };
        let load = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            let unpack = |path: &Path| fs::read(path).map_err(io("read", path));
            let all = kernel.modules(&names, unpack)?;
            Ok::<_, Error>(all.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
        };
        let order = ["vfio", "irqbypass", "vfio_pci_core", "vfio_pci"];
        assert_eq!(load(&["vfio-pci", "inner_thing", "vfio"]).unwrap(), order);
        let error = load(&["tun"]).unwrap_err();
        assert_eq!(error.to_string(), "kernel 1.2 has no module tun");
    }
}
