//! A kernel that is made up: a tree of files, in which drivers take what they are given.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Tree {
    root: tempfile::TempDir,
    writes: Vec<String>,
    /// The driver that takes a function without an override.
    native: Option<&'static str>,
    /// The driver that refuses to take anything.
    broken: Option<&'static str>,
    /// A file that cannot be written.
    locked: Option<&'static str>,
}

const BDF: &str = "0000:3b:00.0";

impl Tree {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let tree = Self { root, writes: vec![], native: Some("other"), broken: None, locked: None };
        tree.file("vendor", &format!("{VENDOR_ID:#06x}\n"));
        tree.file("device", &format!("{DEVICE_ID:#06x}\n"));
        tree.file("class", "0x020000\n");
        tree.file("driver_override", "(null)\n");
        symlink("../../kernel/iommu_groups/7", tree.at("iommu_group")).unwrap();
        fs::create_dir_all(tree.pci().join("drivers/vfio-pci")).unwrap();
        tree.take(Some("other"));
        tree
    }

    fn sysfs(&self) -> Sysfs {
        Sysfs::at(self.root.path(), self.root.path().join("dev"))
    }

    fn pci(&self) -> PathBuf {
        self.root.path().join("bus/pci")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.pci().join("devices").join(BDF).join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn take(&self, driver: Option<&str>) {
        let _ = fs::remove_file(self.at("driver"));
        if let Some(driver) = driver {
            symlink(format!("../../drivers/{driver}"), self.at("driver")).unwrap();
        }
    }

    fn driver(&self) -> Option<String> {
        self.sysfs().function(bdf()).unwrap().driver
    }

    /// The whole command.
    fn bind(&mut self, force: bool) -> Result<(), PciError> {
        let sysfs = self.sysfs();
        let steps = bind_steps(&sysfs, bdf(), force)?;
        bind(&sysfs, self, bdf(), &steps)
    }
}

impl Kernel for Tree {
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let path = path.strip_prefix(self.pci()).unwrap().to_str().unwrap().to_owned();
        self.writes.push(format!("{text} > {path}"));
        if self.locked.is_some_and(|locked| path.ends_with(locked)) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if path.ends_with("driver_override") {
            self.file("driver_override", &format!("{text}\n"));
        } else if path.ends_with("unbind") {
            self.take(None);
        } else if path == "drivers_probe" && self.driver().is_none() {
            let named = self.sysfs().function(bdf()).unwrap().driver_override;
            let driver = named.or(self.native.map(str::to_owned));
            if driver.as_deref() != self.broken {
                self.take(driver.as_deref());
            }
        }
        Ok(())
    }
}

fn bdf() -> Bdf {
    BDF.parse().unwrap()
}

#[test]
fn a_function_goes_to_user_space_and_back() {
    let mut tree = Tree::new();
    tree.bind(false).unwrap();
    assert_eq!(tree.driver().as_deref(), Some("vfio-pci"));
    assert!(bind_steps(&tree.sysfs(), bdf(), false).unwrap().is_empty(), "it is there");
    let steps = unbind_steps(&tree.sysfs(), bdf()).unwrap();
    run(&mut tree, &steps).unwrap();
    assert_eq!(tree.driver().as_deref(), Some("other"));
    assert_eq!(tree.sysfs().function(bdf()).unwrap().driver_override, None);
    let error = unbind_steps(&tree.sysfs(), bdf()).unwrap_err();
    assert_eq!(error.to_string(), "0000:3b:00.0 is not bound to vfio-pci, but to other");
}

#[test]
fn a_dry_run_gives_the_steps() {
    let mut tree = Tree::new();
    let sysfs = tree.sysfs();
    let steps = bind_steps(&sysfs, bdf(), false).unwrap();
    assert!(tree.writes.is_empty());
    bind(&sysfs, &mut tree, bdf(), &steps).unwrap();
    let planned: Vec<_> = steps
        .iter()
        .map(|s| format!("{} > {}", s.text, s.path.strip_prefix(tree.pci()).unwrap().display()))
        .collect();
    assert_eq!(tree.writes, planned);
    let expected = [
        "vfio-pci > devices/0000:3b:00.0/driver_override",
        "0000:3b:00.0 > drivers/other/unbind",
        "0000:3b:00.0 > drivers_probe",
    ];
    assert_eq!(planned, expected);
}

#[test]
fn a_live_interface_is_refused() {
    let mut tree = Tree::new();
    tree.file("net/eth7/flags", "0x1003\n");
    let error = tree.bind(false).unwrap_err();
    assert_eq!(error.to_string(), "0000:3b:00.0 has the network interface eth7, which is up");
    assert!(error.help().contains("ip link set eth7 down"));
    assert!(tree.writes.is_empty());
    tree.file("net/eth7/flags", "0x1002\n");
    tree.bind(false).unwrap();
    tree.take(Some("other"));
    tree.file("net/eth7/flags", "0x1003\n");
    tree.bind(true).unwrap();
}

#[test]
fn strangers_are_refused() {
    let mut tree = Tree::new();
    tree.file("vendor", "0x8086\n");
    let error = tree.bind(false).unwrap_err();
    assert!(error.to_string().starts_with("0000:3b:00.0 is 8086:"), "{error}");
    assert!(tree.writes.is_empty());
    tree.bind(true).unwrap();
}

#[test]
fn a_failed_bind_is_undone() {
    let mut tree = Tree::new();
    tree.broken = Some("vfio-pci");
    let error = tree.bind(false).unwrap_err();
    assert!(matches!(error, PciError::NotTaken { .. }), "{error}");
    assert_eq!(tree.driver().as_deref(), Some("other"));
    assert_eq!(tree.sysfs().function(bdf()).unwrap().driver_override, None);

    let mut tree = Tree::new();
    tree.locked = Some("unbind");
    let error = tree.bind(false).unwrap_err();
    assert!(matches!(error, PciError::Step { .. }) && error.help() == "run it as root");
    assert_eq!(tree.driver().as_deref(), Some("other"));
    assert_eq!(tree.sysfs().function(bdf()).unwrap().driver_override, None);
}

#[test]
fn what_would_fail_later_is_found_first() {
    let mut tree = Tree::new();
    fs::remove_dir(tree.pci().join("drivers/vfio-pci")).unwrap();
    assert!(matches!(tree.bind(false), Err(PciError::NoDriver)));
    fs::remove_file(tree.at("iommu_group")).unwrap();
    assert!(matches!(tree.bind(false), Err(PciError::NoIommu(_))));
    let nowhere = "0000:00:1f.0".parse().unwrap();
    assert!(matches!(bind_steps(&tree.sysfs(), nowhere, true), Err(PciError::Absent(_))));
    assert!(tree.writes.is_empty());
}

#[test]
fn the_list_says_what_was_built() {
    let tree = Tree::new();
    let bar: Vec<u8> = [groove_spec::SPEC_ID.to_le_bytes().to_vec(), vec![0; 8188]].concat();
    fs::write(tree.at("resource0"), bar).unwrap();
    tree.file("enable", "1\n");
    let entries = list(&tree.sysfs(), false);
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].matches, entries[0].group), (Some(true), Some(7)));
    tree.file("enable", "0\n");
    assert_eq!(list(&tree.sysfs(), false)[0].spec_id, None, "its memory is disabled");
    tree.file("vendor", "0x8086\n");
    assert!(list(&tree.sysfs(), false).is_empty());
    assert_eq!(list(&tree.sysfs(), true).len(), 1);
}
