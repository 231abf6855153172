//! apt on directories of its own: it sees nothing of this machine's packages, and changes none.
//!
//!   sources (mirror, two suites) ─┐
//!   no packages installed ────────┼─► apt-get update, download ──► packages ──► dpkg -x ──► tree
//!   Debian's keys ────────────────┘      (signatures and hashes checked by apt)
//!
//! An empty list of installed packages makes apt resolve every dependency. Nothing is installed:
//! packages are unpacked, and none of their scripts runs. No root is needed.
//! Invariants: an index that cannot be fetched is an error (`an_unreachable_mirror_is_an_error`);
//! this machine's hooks are not run (`hooks_of_the_machine_are_off`).

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::io;
use crate::process::{self, Call};
use crate::{Error, mirror};

/// Suites that packages are taken from. The second has QEMU 11, the first that knows vfio-user.
const SUITES: [&str; 2] = ["trixie", "trixie-backports"];
/// Its keys, as older and newer releases name them.
const KEYRINGS: [&str; 2] = ["debian-archive-keyring.gpg", "debian-archive-keyring.pgp"];
/// Bound of one call that uses the network: 100 MB over a slow line.
const NETWORK_LIMIT: Duration = Duration::from_secs(600);
/// Bound of a call that does not.
const LOCAL_LIMIT: Duration = Duration::from_secs(120);

/// What of this machine is looked at.
#[derive(Clone, Debug)]
pub struct Host {
    /// Directory of apt's sources.
    pub apt: PathBuf,
    /// Names the release.
    pub os_release: PathBuf,
    /// Directory of keys.
    pub keyrings: PathBuf,
    /// Where programs are searched, as in PATH.
    pub path: OsString,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            apt: "/etc/apt".into(),
            os_release: "/etc/os-release".into(),
            keyrings: "/usr/share/keyrings".into(),
            path: std::env::var_os("PATH").unwrap_or_default(),
        }
    }
}

/// An apt of our own.
pub struct Apt<'a> {
    host: &'a Host,
    directory: &'a Path,
    mirror: String,
    config: PathBuf,
}

impl<'a> Apt<'a> {
    /// In a directory, which is made; nothing is fetched yet.
    pub fn new(host: &'a Host, directory: &'a Path) -> Result<Self, Error> {
        let mirror = mirror::find(&host.apt, &host.os_release)?;
        let key = KEYRINGS.map(|name| host.keyrings.join(name));
        let key = key.iter().find(|key| key.is_file());
        let key = key.ok_or_else(|| Error::NoKeyring(host.keyrings.join(KEYRINGS[0])))?;
        for part in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(directory.join(part)).map_err(io("create", directory.join(part)))?;
        }
        let source = |suite| format!("deb [signed-by={}] {mirror} {suite} main\n", key.display());
        let config = directory.join("apt.conf");
        for (name, text) in [
            ("sources.list", SUITES.map(source).concat()),
            ("status", String::new()),
            ("apt.conf", configuration(directory)),
        ] {
            let path = directory.join(name);
            fs::write(&path, text).map_err(io("write", &path))?;
        }
        Ok(Self { host, directory, mirror, config })
    }

    /// Takes one of apt's programs with this configuration.
    fn call(&self, program: &str, args: &[&str], limit: Duration) -> Result<String, Error> {
        let file = process::find(&self.host.path, program)?;
        let config = format!("--config-file={}", self.config.display());
        let args = [&[config.as_str()], args].concat();
        let what = format!("{program} {}", args[1]);
        let variables = [("PATH", self.host.path.as_os_str()), ("LC_ALL", "C".as_ref())];
        let directory = &self.directory.join("cache/archives");
        let call = Call { what: &what, program: &file, directory, variables: &variables, limit };
        Ok(String::from_utf8_lossy(&process::run(&call, &args)?).into_owned())
    }

    fn fetch(&self, what: &str, args: &[&str]) -> Result<String, Error> {
        self.call("apt-get", args, NETWORK_LIMIT).map_err(|error| match error {
            Error::Failed { .. } | Error::TooLong { .. } => Error::Fetch {
                what: what.into(),
                mirror: self.mirror.clone(),
                source: Box::new(error),
            },
            other => other,
        })
    }

    /// Fetches what the mirror has, by name.
    pub fn update(&self) -> Result<(), Error> {
        self.fetch("the list of packages", &["update", "-qq"]).map(drop)
    }

    /// Names of packages that begin so.
    pub fn names(&self, beginning: &str) -> Result<Vec<String>, Error> {
        let names = self.call("apt-cache", &["pkgnames", beginning], LOCAL_LIMIT)?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Packages that a package needs in the same version.
    pub fn needs(&self, package: &str) -> Result<Vec<String>, Error> {
        let args = ["depends", "--no-recommends", "--no-suggests", "--no-breaks", package];
        let text = self.call("apt-cache", &args, LOCAL_LIMIT)?;
        let needed = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(needed.map(str::to_owned).collect())
    }

    /// Fetches packages with everything that they need.
    pub fn download_all(&self, packages: &[&str]) -> Result<(), Error> {
        let suite = format!("--target-release={}", SUITES[1]);
        let fixed = ["install", "-qq", "--yes", "--no-install-recommends", "--download-only"];
        let args = [&fixed[..], &[&suite], packages].concat();
        self.fetch(&packages.join(" "), &args).map(drop)
    }

    /// Fetches packages alone.
    pub fn download(&self, packages: &[&str]) -> Result<(), Error> {
        let args = [&["download", "-qq"], packages].concat();
        self.fetch(&packages.join(" "), &args).map(drop)
    }

    /// Unpacks everything fetched into a tree, and forgets the packages. Gives their names.
    pub fn unpack(&self, to: &Path) -> Result<Vec<String>, Error> {
        // Debian's merged directories, for packages that still name the old ones.
        for name in ["bin", "sbin", "lib", "lib64"] {
            let usr = to.join("usr").join(name);
            fs::create_dir_all(&usr).map_err(io("create", &usr))?;
            let link = to.join(name);
            symlink(Path::new("usr").join(name), &link).map_err(io("create", &link))?;
        }
        let archives = self.directory.join("cache/archives");
        let entries = fs::read_dir(&archives).map_err(io("read", &archives))?;
        let all = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut packages: Vec<_> =
            all.filter(|path| path.extension().is_some_and(|end| end == "deb")).collect();
        packages.sort();
        let dpkg = process::find(&self.host.path, "dpkg")?;
        for package in &packages {
            let variables = [("PATH", self.host.path.as_os_str())];
            let call = Call {
                what: "dpkg --extract",
                program: &dpkg,
                directory: &archives,
                variables: &variables,
                limit: LOCAL_LIMIT,
            };
            process::run(&call, &["--extract".as_ref(), package.as_os_str(), to.as_os_str()])?;
            fs::remove_file(package).map_err(io("remove", package))?;
        }
        let names = packages.iter().filter_map(|path| path.file_stem()?.to_str());
        Ok(names.map(str::to_owned).collect())
    }
}

/// Everything under a directory; what this machine's configuration would do besides is off.
fn configuration(directory: &Path) -> String {
    let at = |part: &str| directory.join(part).display().to_string();
    // "any": without it, an index that was not fetched is no more than a warning.
    format!(
        "Dir::Etc::sourcelist \"{}\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         Dir::State::lists \"{}\";\n\
         Dir::State::status \"{}\";\n\
         Dir::State::extended_states \"{}\";\n\
         Dir::Cache \"{}\";\n\
         Dir::Cache::archives \"archives\";\n\
         Dir::Cache::pkgcache \"\";\n\
         Dir::Cache::srcpkgcache \"\";\n\
         Acquire::GzipIndexes \"true\";\n\
         Dir::Log \"{}\";\n\
         Debug::NoLocking \"true\";\n\
         APT::Architecture \"amd64\";\n\
         #clear APT::Architectures;\n\
         APT::Architectures {{ \"amd64\"; }};\n\
         APT::Sandbox::User \"root\";\n\
         APT::Update::Error-Mode \"any\";\n\
         APT::Get::AllowUnauthenticated \"false\";\n\
         APT::Keep-Downloaded-Packages \"true\";\n\
         Acquire::AllowInsecureRepositories \"false\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
         Acquire::Retries \"2\";\n\
         Acquire::http::Timeout \"20\";\n\
         Acquire::https::Timeout \"20\";\n\
         #clear APT::Update::Pre-Invoke;\n\
         #clear APT::Update::Post-Invoke;\n\
         #clear APT::Update::Post-Invoke-Success;\n\
         #clear DPkg::Pre-Invoke;\n\
         #clear DPkg::Post-Invoke;\n\
         #clear DPkg::Pre-Install-Pkgs;\n",
        at("sources.list"),
        at("lists"),
        at("status"),
        at("extended_states"),
        at("cache"),
        at("log"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_the_machine_are_off() {
        let text = configuration(Path::new("/x"));
        for hook in ["APT::Update::Post-Invoke", "DPkg::Post-Invoke", "DPkg::Pre-Install-Pkgs"] {
            assert!(text.contains(&format!("#clear {hook};\n")), "{hook}");
        }
        assert!(text.contains("Dir::State::status \"/x/status\";"));
    }

    /// A Debian whose mirror is a directory that is not there.
    #[test]
    fn an_unreachable_mirror_is_an_error() {
        let host = Host::default();
        if process::find(&host.path, "apt-get").is_err() {
            eprintln!("skipped: an_unreachable_mirror_is_an_error: no apt-get");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("os-release"), "ID=debian\nVERSION_CODENAME=trixie\n").unwrap();
        fs::write(at("sources.list"), "deb file:/nowhere trixie main\n").unwrap();
        fs::write(at("debian-archive-keyring.gpg"), "").unwrap();
        let host = Host {
            apt: dir.path().into(),
            os_release: at("os-release"),
            keyrings: dir.path().into(),
            ..host
        };
        let own = at("own");
        let error = Apt::new(&host, &own).unwrap().update().unwrap_err();
        assert_eq!(error.to_string(), "failed to fetch the list of packages from file:/nowhere");
        assert!(error.is_unavailable());
    }
}
