//! Trees of the kernel's files, made up.

use std::os::unix::fs::symlink;

use super::*;
use crate::vfio::way::{self, Way};
use crate::vfio::{Peek, PeekError};

/// A tree in a directory that goes away with it.
struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn sysfs(&self) -> Sysfs {
        Sysfs::at(self.root.path().join("sys"), self.root.path().join("dev"))
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, to: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        symlink(to, path).unwrap();
    }

    fn function(&self, bdf: &str, driver: Option<&str>, group: Option<u32>) {
        let at = format!("sys/bus/pci/devices/{bdf}");
        for (name, text) in
            [("vendor", "0x1234\n"), ("device", "0x6776\n"), ("class", "0x020000\n")]
        {
            self.file(&format!("{at}/{name}"), text);
        }
        if let Some(driver) = driver {
            self.link(&format!("{at}/driver"), &format!("../../../bus/pci/drivers/{driver}"));
        }
        if let Some(group) = group {
            self.link(&format!("{at}/iommu_group"), &format!("../../kernel/iommu_groups/{group}"));
            let entry = format!("sys/kernel/iommu_groups/{group}/devices/{bdf}");
            self.link(&entry, &format!("../../../../bus/pci/devices/{bdf}"));
        }
    }
}

fn bdf(text: &str) -> Bdf {
    text.parse().unwrap()
}

#[test]
fn addresses_are_read_in_both_forms() {
    assert_eq!(bdf("3b:00.0"), bdf("0000:3b:00.0"));
    assert_eq!(bdf("10000:e1:1f.7").to_string(), "10000:e1:1f.7");
    for text in ["", "3b:00", "3b:20.0", "3b:00.8", "x:00.0", "0:0:3b:00.0", "+1:00.0", "3b:00.0 "]
    {
        assert!(text.parse::<Bdf>().is_err(), "{text}");
    }
}

#[test]
fn functions_are_listed_with_all_that_is_known() {
    let tree = Tree::new();
    tree.function("0000:00:03.0", None, None);
    tree.function("0000:00:02.0", Some("e1000"), Some(4));
    tree.file("sys/bus/pci/devices/0000:00:02.0/net/eth0/flags", "0x1003\n");
    tree.file("sys/bus/pci/devices/0000:00:02.0/net/eth1/flags", "0x1002\n");
    tree.file("sys/bus/pci/devices/0000:00:02.0/current_link_speed", "16.0 GT/s PCIe\n");
    tree.file("sys/bus/pci/devices/0000:00:02.0/current_link_width", "8\n");
    tree.file("sys/bus/pci/devices/0000:00:02.0/driver_override", "(null)\n");
    let found = tree.sysfs().functions();
    assert_eq!(found.len(), 2);
    let first = &found[0];
    assert_eq!((first.bdf, first.vendor, first.device), (bdf("00:02.0"), 0x1234, 0x6776));
    assert_eq!((first.class, first.group), (0x02_0000, Some(4)));
    assert_eq!(first.driver.as_deref(), Some("e1000"));
    assert_eq!(first.driver_override, None);
    assert_eq!(first.link.as_deref(), Some("16.0 GT/s PCIe x8"));
    let up: Vec<_> = first.interfaces.iter().map(|i| (i.name.as_str(), i.up)).collect();
    assert_eq!(up, [("eth0", true), ("eth1", false)]);
    assert_eq!((&found[1].driver, found[1].group), (&None, None));
    tree.file("sys/bus/pci/devices/0000:00:03.0/virtio0/net/eth2/flags", "0x1003\n");
    let carried = &tree.sysfs().functions()[1].interfaces;
    assert_eq!(*carried, [Interface { name: "eth2".into(), up: true }]);
}

#[test]
fn each_obstacle_is_named_with_its_cure() {
    let tree = Tree::new();
    let me = bdf("3b:00.0");
    let refused = || {
        let error = tree.sysfs().check(me).unwrap_err();
        (error.to_string(), error.help())
    };
    assert!(refused().0.contains("no PCI function 0000:3b:00.0"));
    tree.function("0000:3b:00.0", None, None);
    let (text, help) = refused();
    assert!(text.contains("no IOMMU group") && help.contains("intel_iommu=on"), "{text}; {help}");
    tree.function("0000:3b:00.0", Some("groove-kernel"), Some(7));
    let (text, help) = refused();
    assert!(text.ends_with("bound to groove-kernel"), "{text}");
    assert_eq!(help, "hand it to user space: groove bind 0000:3b:00.0");
    tree.function("0000:3b:00.0", Some("vfio-pci"), Some(7));
    tree.function("0000:3b:00.1", Some("ixgbe"), Some(7));
    tree.function("0000:3a:00.0", Some("pcieport"), Some(7));
    let (text, help) = refused();
    assert!(text.ends_with("the kernel drives 0000:3b:00.1 (ixgbe)"), "{text}");
    assert!(help.contains("groove bind 0000:3b:00.1"), "{help}");
    tree.function("0000:3b:00.1", Some("vfio-pci"), Some(7));
    assert!(refused().1.contains("modprobe vfio-pci"));
    tree.file("dev/vfio/vfio", "");
    assert_eq!(tree.sysfs().check(me).unwrap().group, Some(7));
}

#[test]
fn ways_are_found() {
    let tree = Tree::new();
    let sysfs = tree.sysfs();
    tree.function("0000:3b:00.0", Some("vfio-pci"), Some(7));
    let ways = || way::ways(&sysfs, &sysfs.function(bdf("3b:00.0")).unwrap());
    assert_eq!(ways(), []);
    tree.file("dev/vfio/vfio", "");
    assert_eq!(ways(), [Way::Group]);
    // The kernel has device files, and iommufd is not loaded; then it is; then there is no group.
    tree.file("sys/bus/pci/devices/0000:3b:00.0/vfio-dev/vfio3/dev", "511:3\n");
    tree.file("dev/vfio/devices/vfio3", "");
    assert_eq!(ways(), [Way::Group]);
    tree.file("dev/iommu", "");
    let device = tree.root.path().join("dev/vfio/devices/vfio3");
    assert_eq!(ways(), [Way::Iommufd { device: device.clone() }, Way::Group]);
    fs::remove_file(tree.root.path().join("dev/vfio/vfio")).unwrap();
    assert_eq!(ways(), [Way::Iommufd { device: device.clone() }]);
    assert!(sysfs.check(bdf("3b:00.0")).is_ok(), "it needs no container");
    fs::remove_file(device).unwrap();
    assert_eq!(ways(), []);
}

#[test]
fn strange_files_are_no_panic() {
    let tree = Tree::new();
    assert!(tree.sysfs().functions().is_empty());
    tree.file("sys/bus/pci/devices/not an address/vendor", "0x1234");
    tree.file("sys/bus/pci/devices/0000:00:01.0/vendor", "none");
    tree.file("sys/bus/pci/devices/0000:00:02.0/vendor", "0x12345678");
    tree.file("sys/bus/pci/devices/0000:00:02.0/device", "0x1");
    tree.file("sys/bus/pci/devices/0000:00:02.0/iommu_group", "a file");
    let found = tree.sysfs().functions();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].vendor, found[0].group), (0x5678, None));
}

#[test]
fn each_obstacle_to_a_look_is_named() {
    let tree = Tree::new();
    let me = bdf("3b:00.0");
    let refused = || {
        let error = Peek::open(&tree.sysfs(), me).unwrap_err();
        (error.to_string(), error.help())
    };
    assert!(refused().0.contains("no PCI function 0000:3b:00.0"));
    tree.function("0000:3b:00.0", None, Some(7));
    assert!(refused().1.contains("a driver switches it on"), "nothing says that it is on");
    tree.file("sys/bus/pci/devices/0000:3b:00.0/enable", "0\n");
    assert!(refused().0.contains("memory space is disabled"));
    tree.file("sys/bus/pci/devices/0000:3b:00.0/enable", "1\n");
    let (text, help) = refused();
    assert!(text.ends_with("resource0") && help.contains("dmesg"), "{text}; {help}");
    tree.file("sys/bus/pci/devices/0000:3b:00.0/resource0", "abc");
    assert!(refused().0.contains("a BAR 0 of 3 bytes"));
    let refusal = |errno: rustix::io::Errno| {
        let (step, path) = ("map", "resource0".into());
        PeekError::File { step, path, source: errno.into() }.help()
    };
    assert_eq!(refusal(rustix::io::Errno::ACCESS), "run it as root");
    assert!(refusal(rustix::io::Errno::INVAL).contains("iomem=relaxed"));
}

#[test]
fn a_look_reads_what_is_there() {
    let tree = Tree::new();
    tree.function("0000:3b:00.0", Some("vfio-pci"), Some(7));
    tree.file("sys/bus/pci/devices/0000:3b:00.0/enable", "1\n");
    let text = "abcd".repeat(0x800);
    tree.file("sys/bus/pci/devices/0000:3b:00.0/resource0", &text);
    let peek = Peek::open(&tree.sysfs(), bdf("3b:00.0")).unwrap();
    assert_eq!(peek.read32(0x1ffc).unwrap(), u32::from_le_bytes(*b"abcd"));
    for offset in [2, 0x2000, u64::MAX] {
        assert!(peek.read32(offset).is_err(), "{offset:#x}");
    }
}
