//! The cache with made-up apt and dpkg: scripts that do what the real ones would.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A Debian of scripts. `apt-get download` makes a package and a line in `calls`.
struct Fake {
    dir: tempfile::TempDir,
}

impl Fake {
    fn new(download: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fake = Self { dir };
        fake.write("os-release", "ID=debian\nVERSION_CODENAME=trixie\n");
        fake.write("sources.list", "deb http://mirror.invalid trixie main\n");
        fake.write("debian-archive-keyring.gpg", "");
        let calls = fake.at("calls").display().to_string();
        fake.script(
            "apt-get",
            &format!("case $2 in download) {download};; esac\necho $2 >>{calls}"),
        );
        let names = "case $2 in pkgnames) echo linux-image-6.12.1+deb13-cloud-amd64;; esac";
        fake.script("apt-cache", names);
        fake.script("dpkg", "mkdir -p $3/boot; echo >$3/boot/vmlinuz-6.12.1+deb13-cloud-amd64");
        fake
    }
    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
    fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }
    fn script(&self, name: &str, text: &str) {
        self.write(name, &format!("#!/bin/sh\nPATH=/bin:/usr/bin\n{text}\n"));
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fn store(&self) -> Store {
        let host = Host {
            apt: self.dir.path().into(),
            os_release: self.at("os-release"),
            keyrings: self.dir.path().into(),
            path: self.dir.path().into(),
        };
        Store::new(&self.at("cache"), host)
    }
    fn calls(&self) -> String {
        fs::read_to_string(self.at("calls")).unwrap_or_default()
    }
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("cache/vm")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

const SPEC: &str = "6.12";

fn kernel(store: &Store) -> Result<Kernel, Error> {
    store.kernel(&SPEC.parse().unwrap(), &|_| {})
}

#[test]
fn a_cache_is_used_without_a_mirror() {
    let fake = Fake::new("touch x.deb");
    assert_eq!(kernel(&fake.store()).unwrap().release(), "6.12.1+deb13-cloud-amd64");
    assert_eq!(fake.calls(), "update\ndownload\n");
    fs::remove_file(fake.at("sources.list")).unwrap();
    kernel(&fake.store()).unwrap();
    assert_eq!(fake.calls(), "update\ndownload\n");
    assert_eq!(fake.left(), ["apt", "kernel-6.12-cloud", "lock"]);
}

#[test]
fn a_failed_preparation_leaves_nothing() {
    let fake = Fake::new("touch x.deb; echo no route >&2; exit 100");
    let error = kernel(&fake.store()).unwrap_err();
    let text = "failed to fetch linux-image-6.12.1+deb13-cloud-amd64 from http://mirror.invalid";
    assert_eq!(error.to_string(), text);
    assert!(error.is_unavailable());
    assert_eq!(fake.left(), ["apt", "lock"]);
    // What a killed one left goes with the next, and its packages are not taken.
    fs::create_dir(fake.at("cache/vm/unfinished-x")).unwrap();
    fake.script(
        "dpkg",
        "case $2 in *x.deb) exit 1;; esac; mkdir -p $3/boot; \
                         echo >$3/boot/vmlinuz-6.12.1+deb13-cloud-amd64",
    );
    fake.script("apt-get", "case $2 in download) touch y.deb;; esac");
    kernel(&fake.store()).unwrap();
    assert_eq!(fake.left(), ["apt", "kernel-6.12-cloud", "lock"]);
}

#[test]
fn a_package_without_a_kernel_is_an_error() {
    let fake = Fake::new("touch x.deb");
    fake.script("dpkg", "exit 0");
    let error = kernel(&fake.store()).unwrap_err().to_string();
    assert!(error.contains("boot/vmlinuz-6.12.1"), "{error}");
    assert_eq!(fake.left(), ["apt", "lock"]);
}

#[test]
fn two_at_once_prepare_once() {
    let fake = Fake::new("sleep 0.3; touch x.deb");
    let store = fake.store();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| kernel(&store).unwrap());
        }
    });
    assert_eq!(fake.calls(), "update\ndownload\n");
}
