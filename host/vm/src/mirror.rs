//! This machine's own Debian mirror, out of apt's sources: no host is named in Groove.
//!
//!   /etc/os-release ──► codename ──┐
//!   /etc/apt/sources.list{,.d/*} ──┴─► the first source that has it ──► its address
//!
//! Follows: sources.list(5), both formats. Options in brackets are not taken over.
//! Invariants: both formats are read (`sources_in_both_formats`); what is switched off, or of
//! another release, is not taken (`only_this_release_counts`).

use std::fs;
use std::path::Path;

use crate::Error;

/// The mirror's address, as apt's sources in `apt` have it for the release in `os_release`.
pub fn find(apt: &Path, os_release: &Path) -> Result<String, Error> {
    let release = fs::read_to_string(os_release).unwrap_or_default();
    let codename = codename(&release).unwrap_or_default();
    let found = files(apt).into_iter().find_map(|(is_deb822, text)| match is_deb822 {
        true => of_deb822(&text, &codename),
        false => of_list(&text, &codename),
    });
    let known = if codename.is_empty() { "this system".into() } else { codename };
    found.ok_or_else(|| Error::NoMirror { apt: apt.display().to_string(), codename: known })
}

/// Every file of sources, and whether it is in the newer format.
fn files(apt: &Path) -> Vec<(bool, String)> {
    let mut paths = vec![apt.join("sources.list")];
    let entries = fs::read_dir(apt.join("sources.list.d")).into_iter().flatten();
    let mut parts: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    parts.sort();
    paths.extend(parts);
    let read = |path: &Path| {
        let kind = path.extension()?.to_str()?;
        let is_deb822 = kind == "sources";
        (is_deb822 || kind == "list").then_some(())?;
        Some((is_deb822, fs::read_to_string(path).ok()?))
    };
    paths.iter().filter_map(|path| read(path)).collect()
}

fn codename(os_release: &str) -> Option<String> {
    let is_debian = os_release.lines().any(|line| line.trim_matches('"') == "ID=debian");
    let name = os_release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    is_debian.then(|| name.trim_matches('"').to_owned())
}

/// Stanzas of fields.
fn of_deb822(text: &str, codename: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let stanzas = lines.split(|line| line.trim().is_empty());
    stanzas.into_iter().find_map(|stanza| {
        let field = |name: &str| {
            let mut words = Vec::new();
            let mut inside = false;
            for line in stanza {
                // A line that begins with a space goes on with the field above it.
                let mut rest = *line;
                if !line.starts_with([' ', '\t']) {
                    let (key, value) = line.split_once(':')?;
                    inside = key.eq_ignore_ascii_case(name);
                    rest = value;
                }
                if inside {
                    words.extend(rest.split_whitespace());
                }
            }
            Some(words)
        };
        let has = |name, word| field(name).is_some_and(|words| words.contains(&word));
        let on = !has("Enabled", "no");
        let fits =
            on && has("Types", "deb") && has("Suites", codename) && has("Components", "main");
        fits.then(|| field("URIs")?.first().map(|uri| (*uri).to_owned()))?
    })
}

/// One source a line.
fn of_list(text: &str, codename: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("deb")?;
        let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(options) => options.split_once(']')?.1,
            None => rest,
        };
        let words: Vec<&str> = rest.split('#').next()?.split_whitespace().collect();
        let [uri, suite, components @ ..] = &words[..] else { return None };
        (*suite == codename && components.contains(&"main")).then(|| (*uri).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "Types: deb deb-src\n# Suites: bookworm\nURIs: mirror://a/x http://b\n\
                       Suites: trixie\n trixie-updates\nComponents: main contrib\n";

    #[test]
    fn sources_in_both_formats() {
        assert_eq!(of_deb822(NEW, "trixie").as_deref(), Some("mirror://a/x"));
        assert_eq!(of_deb822(NEW, "trixie-updates").as_deref(), Some("mirror://a/x"));
        let two = format!("Types: deb\nURIs: http://s\nSuites: s\nComponents: main\n\n{NEW}");
        assert_eq!(of_deb822(&two, "trixie").as_deref(), Some("mirror://a/x"));
        let list = "# deb http://no trixie main\ndeb-src http://no trixie main\n\
                    deb [signed-by=/k arch=amd64] http://a trixie main # x\n";
        assert_eq!(of_list(list, "trixie").as_deref(), Some("http://a"));
        assert_eq!(of_list("deb\thttp://a  trixie\tnon-free main", "trixie").unwrap(), "http://a");
    }

    #[test]
    fn only_this_release_counts() {
        assert_eq!(of_deb822(NEW, "bookworm"), None);
        assert_eq!(of_deb822(&format!("Enabled: no\n{NEW}"), "trixie"), None);
        assert_eq!(
            of_deb822("Types: deb-src\nURIs: http://a\nSuites: t\nComponents: main", "t"),
            None
        );
        assert_eq!(of_deb822("not a field\n", "t"), None);
        let list = "deb http://a trixie-security main\ndeb http://b trixie non-free\ndeb\ndeb x\n";
        assert_eq!(of_list(list, "trixie"), None);
    }

    #[test]
    fn other_systems_have_none() {
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=trixie\n").as_deref(), Some("trixie"));
        assert_eq!(codename("ID=ubuntu\nVERSION_CODENAME=noble\nID_LIKE=debian\n"), None);
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("os-release"), "ID=debian\nVERSION_CODENAME=trixie\n").unwrap();
        let find = || find(dir.path(), &dir.path().join("os-release"));
        let text = find().unwrap_err().to_string();
        assert!(text.ends_with("names no Debian mirror for trixie"), "{text}");
        fs::create_dir(dir.path().join("sources.list.d")).unwrap();
        fs::write(dir.path().join("sources.list.d/debian.sources"), NEW).unwrap();
        assert_eq!(find().unwrap(), "mirror://a/x");
        fs::write(dir.path().join("sources.list"), "deb http://c trixie main\n").unwrap();
        assert_eq!(find().unwrap(), "http://c");
    }
}
