//! What comes over the guest's second serial line: how far it is, its exit code, its files.
//!
//!   up 1.9 | refused MODULE | exit 0 | file LENGTH PATH, and so many bytes | end
//!
//! Invariants: bytes may come in any pieces (`pieces_do_not_matter`); nothing that comes makes it
//! panic, and what makes no sense is an error (`nonsense_is_an_error`).

use std::collections::BTreeMap;

use crate::Error;

/// Longest line; files are counted, not lines.
const LINE_MAX: usize = 4096;

/// How far a guest is.
#[derive(Debug, Default)]
pub struct Results {
    rest: Vec<u8>,
    /// File that is coming: bytes that are missing, and its path.
    file: Option<(usize, String)>,
    /// Seconds after its start at which its first process ran.
    pub up: Option<f64>,
    /// Modules that its kernel did not take.
    pub refused: Vec<String>,
    /// Exit code of its command.
    pub exit: Option<i32>,
    /// Files that came.
    pub outputs: BTreeMap<String, Vec<u8>>,
    /// Everything has come.
    pub ended: bool,
}

impl Results {
    /// Takes more bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.rest.extend_from_slice(bytes);
        loop {
            if let Some((length, _)) = &self.file {
                if self.rest.len() < *length {
                    return Ok(());
                }
                let content = self.rest.drain(..*length).collect();
                let path = self.file.take().map(|(_, path)| path).unwrap_or_default();
                self.outputs.insert(path, content);
            }
            let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') else {
                return match self.rest.len() {
                    0..LINE_MAX => Ok(()),
                    _ => Err(Error::Results("a line without an end".into())),
                };
            };
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]).into_owned();
            self.line(&line).ok_or(Error::Results(line))?;
        }
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if self.ended {
            return None;
        }
        match word {
            "up" => self.up = Some(rest.parse().ok()?),
            "refused" => self.refused.push(rest.into()),
            "exit" => self.exit = Some(rest.parse().ok()?),
            "file" => {
                let (length, path) = rest.split_once(' ')?;
                self.file = Some((length.parse().ok()?, path.into()));
            }
            "end" => self.ended = true,
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[u8] = b"up 1.93\nrefused x.ko\nexit 3\nfile 6 /a b\nend\n\0\nfile 0 /c\nend\n";

    #[test]
    fn pieces_do_not_matter() {
        for size in 1..ALL.len() {
            let mut results = Results::default();
            for piece in ALL.chunks(size) {
                assert!(!results.ended);
                results.push(piece).unwrap();
            }
            assert_eq!((results.up, results.exit), (Some(1.93), Some(3)));
            assert_eq!(results.refused, ["x.ko"]);
            assert!(results.ended);
            let outputs: Vec<_> = results.outputs.iter().collect();
            let (a, c) = ((String::from("/a b"), b"end\n\0\n".to_vec()), ("/c".into(), vec![]));
            assert_eq!(outputs, [(&a.0, &a.1), (&c.0, &c.1)]);
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in ["", "hello", "exit x", "file 3", "file -1 /a", "end\nend", "up"] {
            let text = format!("{text}\n");
            assert!(Results::default().push(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Results::default().push(&[0; LINE_MAX]).is_err());
        assert!(Results::default().push(&[0; LINE_MAX - 1]).is_ok());
    }
}
