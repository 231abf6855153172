//! Breaks that were judged: those that change nothing that anybody could see.
//!
//! `tests/mutation/equivalent.txt` has a block each: module, the line in front, expression, broken
//! expression, and why no input can tell them apart. They are known by their text, so that a change
//! of the hardware elsewhere leaves them judged, and a change of the line itself does not; the line
//! in front tells one place of an unrolled loop from another.

use crate::Failure;
use std::collections::HashMap;
use std::path::Path;

/// Reasons by module, line in front, expression and broken expression.
#[derive(Debug, Default)]
pub struct Judged(HashMap<[String; 4], String>);

impl Judged {
    /// Reads the project's list.
    pub fn read() -> Result<Self, Failure> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/mutation/equivalent.txt");
        let help = "run it from a checkout of the project";
        let text = std::fs::read_to_string(&path).map_err(|e| {
            let what = format!("failed to read {}: {e}", path.display());
            Failure::new(groove::exit::USAGE, what, help)
        })?;
        Self::parse(&text).map_err(|line| {
            let what = format!("{}: the block that ends with line {line}", path.display());
            Failure::new(
                groove::exit::USAGE,
                what,
                "write module, near, from, to and why, a line each",
            )
        })
    }

    fn parse(text: &str) -> Result<Self, usize> {
        let (mut found, mut block) = (HashMap::new(), Vec::<&str>::new());
        for (number, line) in text.lines().chain([""]).enumerate() {
            if line.starts_with('#') {
                continue;
            }
            if !line.trim().is_empty() {
                block.push(line.trim());
                continue;
            }
            let field = |name: &str, i: usize| {
                let text = block.get(i).and_then(|l| l.strip_prefix(name));
                text.map(|t| t.trim().to_owned()).ok_or(number)
            };
            if !block.is_empty() {
                let names = ["module:", "near:", "from:", "to:"];
                let mut key = [const { String::new() }; 4];
                for (i, name) in names.into_iter().enumerate() {
                    key[i] = field(name, i)?;
                }
                found.insert(key, field("why:", names.len())?);
                block.clear();
            }
        }
        Ok(Self(found))
    }

    /// Why a break changes nothing, if it was judged so.
    pub fn reason(&self, module: &str, near: &str, from: &str, to: &str) -> Option<&str> {
        self.0.get(&[module, near, from, to].map(str::to_owned)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_and_faults_are_named() {
        let text = "# why\n\nmodule: m\nnear: n\nfrom: a\nto: b\nwhy: c is never one\n";
        let judged = Judged::parse(text).unwrap();
        assert_eq!(judged.reason("m", "n", "a", "b"), Some("c is never one"));
        assert_eq!(judged.reason("m", "o", "a", "b"), None);
        assert_eq!(Judged::parse("module: m\nfrom: a\n").unwrap_err(), 2);
    }

    #[test]
    fn the_projects_list_is_well_formed() {
        Judged::read().unwrap();
    }
}
