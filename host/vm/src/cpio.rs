//! Writes an initramfs: a cpio archive in the "newc" form, uncompressed.
//!
//! Follows: `Documentation/driver-api/early-userspace/buffer-format.rst`.
//! Invariants: a file's directories stand before it, once (`directories_come_first`); every part
//! starts at a multiple of 4 bytes (`parts_are_aligned`).

use std::collections::BTreeSet;

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_000;
const CHARACTER: u32 = 0o020_600;

/// An archive being written.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    directories: BTreeSet<String>,
}

impl Archive {
    /// Adds a directory, and those above it. Paths are absolute.
    pub fn directory(&mut self, path: &str) {
        let path = path.trim_matches('/');
        if path.is_empty() || self.directories.contains(path) {
            return;
        }
        self.parents(path);
        self.directories.insert(path.to_owned());
        self.entry(path, DIRECTORY, (0, 0), &[]);
    }

    /// Adds a file with its directories. `mode` is its rights.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.parents(path.trim_matches('/'));
        self.entry(path.trim_matches('/'), FILE | mode, (0, 0), content);
    }

    /// Adds a character device with its directories.
    pub fn character(&mut self, path: &str, number: (u32, u32)) {
        self.parents(path.trim_matches('/'));
        self.entry(path.trim_matches('/'), CHARACTER, number, &[]);
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn parents(&mut self, path: &str) {
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above);
        }
    }

    fn entry(&mut self, name: &str, mode: u32, number: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let fields = [
            self.entries, // inode
            mode,
            0, // user
            0, // group
            1, // links
            0, // time
            content.len() as u32,
            0, // device
            0,
            number.0,
            number.1,
            name.len() as u32 + 1,
            0, // checksum
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names, modes and contents of an archive, read back.
    fn entries(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut at = 0;
        let mut all = Vec::new();
        loop {
            assert_eq!(&bytes[at..at + 6], b"070701");
            let field = |i: usize| {
                let text = std::str::from_utf8(&bytes[at + 6 + 8 * i..][..8]).unwrap();
                u32::from_str_radix(text, 16).unwrap()
            };
            let (mode, size, name_size) = (field(1), field(6) as usize, field(11) as usize);
            let name = &bytes[at + 110..at + 110 + name_size - 1];
            let start = (at + 110 + name_size).next_multiple_of(4);
            let name = String::from_utf8(name.to_vec()).unwrap();
            at = (start + size).next_multiple_of(4);
            if name == "TRAILER!!!" {
                assert_eq!(at, bytes.len());
                return all;
            }
            all.push((name, mode, bytes[start..start + size].to_vec()));
        }
    }

    #[test]
    fn directories_come_first() {
        let mut archive = Archive::default();
        archive.file("/a/b/c", 0o755, b"text");
        archive.file("/a/d", 0o644, b"");
        archive.character("/dev/console", (5, 1));
        archive.directory("/a/b/");
        let entries = entries(&archive.finish());
        let names: Vec<_> = entries.iter().map(|(name, mode, _)| (name.as_str(), *mode)).collect();
        assert_eq!(
            names,
            [
                ("a", 0o040_755),
                ("a/b", 0o040_755),
                ("a/b/c", 0o100_755),
                ("a/d", 0o100_644),
                ("dev", 0o040_755),
                ("dev/console", 0o020_600),
            ]
        );
        assert_eq!(entries[2].2, b"text");
    }

    #[test]
    fn parts_are_aligned() {
        for length in 0..9 {
            let mut archive = Archive::default();
            archive.file(&"x".repeat(length + 1), 0o644, &vec![7; length]);
            let bytes = archive.finish();
            assert!(bytes.len().is_multiple_of(4));
            assert_eq!(entries(&bytes)[0].2, vec![7; length]);
        }
    }
}
