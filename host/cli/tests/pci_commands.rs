//! `groove devices`, `bind` and `unbind` on made-up trees of the kernel's files.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use support::groove;

/// A directory with two functions: ours at 3b:00.0, and a live network card.
fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = root.path().join("sys/bus/pci");
    let file = |path: &str, text: &str| {
        let path = at.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (bdf, vendor, device, driver) in [
        ("0000:3b:00.0", "0x1234", "0x6772", None),
        ("0000:00:1f.6", "0x8086", "0x15fb", Some("e1000e")),
    ] {
        file(&format!("devices/{bdf}/vendor"), vendor);
        file(&format!("devices/{bdf}/device"), device);
        file(&format!("devices/{bdf}/class"), "0x020000");
        let link = |name: &str, to: &str| symlink(to, at.join("devices").join(bdf).join(name));
        link("iommu_group", "../../../../kernel/iommu_groups/14").unwrap();
        if let Some(driver) = driver {
            link("driver", &format!("../../drivers/{driver}")).unwrap();
        }
    }
    file("devices/0000:00:1f.6/net/eth0/flags", "0x1003");
    file("devices/0000:3b:00.0/current_link_speed", "8.0 GT/s PCIe");
    file("devices/0000:3b:00.0/current_link_width", "8");
    file("drivers/vfio-pci/unbind", "");
    root
}

fn shown(root: &Path, args: &[&str]) -> String {
    groove(root, &[args, &["--sys", "sys", "--dev", "dev"]].concat()).shown()
}

#[test]
fn devices_are_listed() {
    let root = tree();
    insta::assert_snapshot!("devices", shown(root.path(), &["devices"]));
    insta::assert_snapshot!("devices_all", shown(root.path(), &["devices", "--all"]));
    insta::assert_snapshot!("devices_json", shown(root.path(), &["devices", "--json"]));
    let empty = tempfile::tempdir().unwrap();
    insta::assert_snapshot!("devices_none", shown(empty.path(), &["devices"]));
}

#[test]
fn steps_are_shown_and_refusals_explained() {
    let root = tree();
    let run = |args: &[&str]| shown(root.path(), args);
    insta::assert_snapshot!("bind_dry_run", run(&["bind", "3b:00.0", "--dry-run"]));
    insta::assert_snapshot!("bind_stranger", run(&["bind", "00:1f.6", "--dry-run"]));
    let forced = ["bind", "00:1f.6", "--dry-run", "--force"];
    insta::assert_snapshot!("bind_forced_dry_run", run(&forced));
    insta::assert_snapshot!("bind_absent", run(&["bind", "0000:01:00.0"]));
    insta::assert_snapshot!("bind_no_address", run(&["bind", "eth0"]));
    insta::assert_snapshot!("unbind_not_ours", run(&["unbind", "3b:00.0"]));
    symlink("../../drivers/vfio-pci", root.path().join("sys/bus/pci/devices/0000:3b:00.0/driver"))
        .unwrap();
    insta::assert_snapshot!("unbind_dry_run", run(&["unbind", "3b:00.0", "--dry-run"]));
    insta::assert_snapshot!("bind_again", run(&["bind", "3b:00.0"]));
}

/// A device that a driver runs: its registers are a file.
#[test]
fn counters_are_shown() {
    use groove_spec::nic::{COMPLETION_PRODUCER, QUEUE_STATUS, WINDOW_BYTES, queue_offset};
    let root = tree();
    let at = root.path().join("sys/bus/pci/devices/0000:3b:00.0");
    let run = |args: &[&str]| shown(root.path(), &[&["stats", "3b:00.0"], args].concat());
    fs::write(at.join("enable"), "0").unwrap();
    insta::assert_snapshot!("stats_disabled", run(&[]));
    fs::write(at.join("enable"), "1").unwrap();
    let mut bar = vec![0; WINDOW_BYTES];
    let set = |bar: &mut Vec<u8>, offset: usize, value: u32| {
        bar[offset..][..4].copy_from_slice(&value.to_le_bytes());
        fs::write(at.join("resource0"), &bar).unwrap();
    };
    let offset = |name| groove_spec::register(name).unwrap().offset;
    set(&mut bar, 0, 0x1234_5678);
    let other = run(&[]).replace(&format!("{:#010x}", groove_spec::SPEC_ID), "THIS_ONE");
    insta::assert_snapshot!("stats_other_table", other);
    set(&mut bar, 0, u32::MAX);
    insta::assert_snapshot!("stats_gone", run(&[]));
    set(&mut bar, 0, groove_spec::SPEC_ID);
    // 4 queues, 64 bytes, 8 buckets of 8.
    set(&mut bar, offset("CAPABILITIES"), 4 | 64 << 8 | 8 << 16 | 8 << 24);
    set(&mut bar, offset("FRAMES"), 1_000_000);
    set(&mut bar, offset("DROP_RUNT"), 7);
    set(&mut bar, queue_offset(0, &QUEUE_STATUS), 1);
    set(&mut bar, queue_offset(2, &QUEUE_STATUS), 2);
    set(&mut bar, queue_offset(2, &COMPLETION_PRODUCER), 65_535);
    let table = |text: String| text.replace(&format!("{:#010x}", groove_spec::SPEC_ID), "TABLE");
    insta::assert_snapshot!("stats", table(run(&[])));
    insta::assert_snapshot!("stats_json", table(run(&["--json"])));
    let absent = ["stats", "3c:00.0"];
    insta::assert_snapshot!("stats_absent", shown(root.path(), &absent));
}

#[test]
fn help_is_as_people_see_it() {
    let help = |command: &str| groove(Path::new("."), &[command, "--help"]).shown();
    insta::assert_snapshot!("help_devices", help("devices"));
    insta::assert_snapshot!("help_stats", help("stats"));
    insta::assert_snapshot!("help_bind", help("bind"));
    insta::assert_snapshot!("help_unbind", help("unbind"));
}
