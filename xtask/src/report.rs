//! What became of the breaks: a table by class, those that nobody found, and JSON.

use crate::Failure;
use groove_tests::mutation::Class;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

/// What became of one break.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Fate {
    /// Module of the emission.
    pub module: String,
    /// Line of the emission, from 1.
    pub line: usize,
    /// Kind of the break.
    pub class: String,
    /// The line in front.
    #[serde(default)]
    pub near: String,
    /// What stood there.
    pub from: String,
    /// What stands there now.
    pub to: String,
    /// What found it.
    pub caught: Option<String>,
    /// Why it changes nothing, if it was judged so.
    pub equivalent: Option<String>,
}

/// All of a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Outcome {
    /// What it was chosen by.
    pub seed: u64,
    /// Breaks that could have been made.
    pub candidates: usize,
    /// Those that were.
    pub fates: Vec<Fate>,
}

impl Outcome {
    /// Reads a report.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let read = || serde_json::from_slice(&std::fs::read(path)?).map_err(std::io::Error::from);
        read().map_err(|e| {
            let what = format!("failed to read {}: {e}", path.display());
            Failure::new(groove::exit::USAGE, what, "give a file that --json=FILE wrote")
        })
    }

    /// Marks what was caught here as caught in `fates` too: the same break of the same line.
    pub fn carry_over(&self, fates: &mut [Fate]) {
        let key = |f: &Fate| (f.module.clone(), f.line, f.from.clone(), f.to.clone());
        let caught: HashMap<_, _> = self.fates.iter().map(|f| (key(f), &f.caught)).collect();
        for fate in fates {
            fate.caught = caught.get(&key(fate)).copied().cloned().flatten();
        }
    }

    /// Breaks that nothing found and nobody judged.
    pub fn unjudged(&self) -> usize {
        self.fates.iter().filter(|f| f.caught.is_none() && f.equivalent.is_none()).count()
    }

    fn table(&self) -> String {
        let mut text = format!(
            "{:<12}{:>6}{:>8}{:>12}{:>10}\n",
            "", "made", "caught", "equivalent", "survived"
        );
        let row = |name: &str, fates: &[&Fate]| {
            let caught = fates.iter().filter(|f| f.caught.is_some()).count();
            let equal = fates.iter().filter(|f| f.caught.is_none() && f.equivalent.is_some());
            let equal = equal.count();
            let survived = fates.len() - caught - equal;
            format!("{name:<12}{:>6}{caught:>8}{equal:>12}{survived:>10}\n", fates.len())
        };
        for class in Class::ALL {
            let of: Vec<_> = self.fates.iter().filter(|f| f.class == class.name()).collect();
            text += &row(class.name(), &of);
        }
        text += &row("all", &self.fates.iter().collect::<Vec<_>>());
        let counted = self.fates.iter().filter(|f| f.equivalent.is_none() || f.caught.is_some());
        let (caught, of) =
            (self.fates.iter().filter(|f| f.caught.is_some()).count(), counted.count().max(1));
        let rate = 100.0 * caught as f64 / of as f64;
        let _ = writeln!(text, "\ncaught {caught} of {of} that are not equivalent: {rate:.1} %");
        let survivors = self.fates.iter().filter(|f| f.caught.is_none() && f.equivalent.is_none());
        for fate in survivors {
            let Fate { module, line, class, near, from, to, .. } = fate;
            let _ = writeln!(text, "\nmodule: {module}\nnear: {near}\nfrom: {from}\nto: {to}");
            let _ = writeln!(text, "# line {line}, {class}");
        }
        text
    }
}

/// The table to standard output; with `json` also to a file, or `-`: then the table goes to
/// standard error.
pub fn print(outcome: &Outcome, json: Option<&Path>) -> Result<(), Failure> {
    let table = outcome.table();
    let Some(path) = json else {
        print!("{table}");
        return Ok(());
    };
    let text = serde_json::to_string_pretty(outcome).expect("names and numbers");
    if path == Path::new("-") {
        eprint!("{table}");
        println!("{text}");
        return Ok(());
    }
    print!("{table}");
    std::fs::write(path, text + "\n").map_err(|e| {
        let what = format!("failed to write {}: {e}", path.display());
        Failure::new(groove::exit::USAGE, what, "check that the directory exists and has room")
    })
}
