//! The figures of an earlier day, held against today's: a change that costs area is seen.
//!
//!   reports ──► record ──► text, a line per block and family ──► read ──► grown?
//!
//! A line: block, family, LUTs, registers, block RAM, RAM in LUTs, levels. Lines that begin with
//! `#` say how it was made.
//! Invariants: what is recorded is read back (`what_is_recorded_is_read`); growth beyond the
//! tolerance is named, and one more level or block of RAM always (`growth_is_named`); a file that
//! is something else is refused by its line (`a_strange_line_is_named`).
//! Not here: files, printing.

use std::fmt::Write as _;

use super::BlockReport;

/// Figures of one block on one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Block.
    pub block: String,
    /// Family.
    pub target: String,
    /// Look-up tables.
    pub luts: u64,
    /// Flip-flops.
    pub registers: u64,
    /// Blocks of RAM.
    pub ram_blocks: u64,
    /// RAM and shift register cells in LUTs.
    pub lut_rams: u64,
    /// Logic levels of the longest path.
    pub levels: u64,
}

/// Why a baseline cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: not a block, a family and five numbers: {text}")]
pub struct StrangeLine {
    /// Its number, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
}

/// A figure that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Block and family.
    pub of: String,
    /// Which figure.
    pub figure: &'static str,
    /// In the baseline.
    pub before: u64,
    /// Now.
    pub now: u64,
    /// It grew by more than what is let pass.
    pub grown: bool,
}

impl From<&BlockReport> for Figures {
    fn from(report: &BlockReport) -> Self {
        Self {
            block: report.block.clone(),
            target: report.target.into(),
            luts: report.luts,
            registers: report.registers,
            ram_blocks: report.ram_blocks,
            lut_rams: report.lut_rams,
            levels: report.longest.levels.into(),
        }
    }
}

impl Figures {
    /// Figures by name, and whether any growth counts.
    fn named(&self) -> [(&'static str, u64, bool); 5] {
        [
            ("LUTs", self.luts, false),
            ("registers", self.registers, false),
            ("block RAM", self.ram_blocks, true),
            ("RAM in LUTs", self.lut_rams, false),
            ("levels", self.levels, true),
        ]
    }
}

/// The text of a baseline. `made_by`: the command that makes it again.
pub fn record(figures: &[Figures], made_by: &str) -> String {
    let mut text = format!(
        "# {made_by}\n# block, family, LUTs, registers, block RAM, RAM in LUTs, logic levels\n"
    );
    for f in figures {
        let Figures { block, target, luts, registers, ram_blocks, lut_rams, levels } = f;
        let _ =
            writeln!(text, "{block} {target} {luts} {registers} {ram_blocks} {lut_rams} {levels}");
    }
    text
}

/// Reads a baseline.
pub fn read(text: &str) -> Result<Vec<Figures>, StrangeLine> {
    let lines = text.lines().enumerate().filter(|(_, l)| !l.starts_with('#') && !l.is_empty());
    lines.map(|(i, l)| figures(l).ok_or(StrangeLine { line: i + 1, text: l.into() })).collect()
}

fn figures(line: &str) -> Option<Figures> {
    let mut words = line.split_whitespace();
    let (block, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut number = || words.next()?.parse::<u64>().ok();
    let figures = Figures {
        block,
        target,
        luts: number()?,
        registers: number()?,
        ram_blocks: number()?,
        lut_rams: number()?,
        levels: number()?,
    };
    words.next().is_none().then_some(figures)
}

/// What differs, in the order of `now`. A block that the baseline lacks is no change.
pub fn compare(before: &[Figures], now: &[Figures], tolerance_percent: u32) -> Vec<Change> {
    let mut changes = Vec::new();
    for f in now {
        let same = |b: &&Figures| b.block == f.block && b.target == f.target;
        let Some(earlier) = before.iter().find(same) else { continue };
        for ((figure, before, strict), (_, now, _)) in earlier.named().into_iter().zip(f.named()) {
            let allowed = match strict {
                true => before,
                false => before + before * u64::from(tolerance_percent) / 100,
            };
            if before != now {
                let of = format!("{} on {}", f.block, f.target);
                changes.push(Change { of, figure, before, now, grown: now > allowed });
            }
        }
    }
    changes
}

/// The changes as lines.
pub fn table(changes: &[Change]) -> String {
    let mut text = String::from("against the baseline\n");
    if changes.is_empty() {
        text += "    nothing changed\n";
    }
    for Change { of, figure, before, now, grown } in changes {
        let percent = match before {
            0 => String::new(),
            _ => format!(" ({:+.1} %)", (*now as f64 / *before as f64 - 1.0) * 100.0),
        };
        let mark = if *grown { "  grew" } else { "" };
        let _ = writeln!(text, "    {of}: {figure} {before} -> {now}{percent}{mark}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures_of(luts: u64, levels: u64) -> Figures {
        Figures {
            block: "parse".into(),
            target: "ecp5".into(),
            luts,
            registers: 7,
            ram_blocks: 1,
            lut_rams: 0,
            levels,
        }
    }

    #[test]
    fn what_is_recorded_is_read() {
        let all = [figures_of(900, 9), Figures { target: "xc7".into(), ..figures_of(1, 2) }];
        assert_eq!(read(&record(&all, "groove synth")).unwrap(), all);
    }

    #[test]
    fn growth_is_named() {
        let grown = |before: &Figures, now: &Figures| {
            compare(std::slice::from_ref(before), std::slice::from_ref(now), 3)
                .iter()
                .map(|change| (change.figure, change.grown))
                .collect::<Vec<_>>()
        };
        let before = figures_of(1000, 9);
        assert_eq!(grown(&before, &before), []);
        assert_eq!(grown(&before, &figures_of(1030, 9)), [("LUTs", false)]);
        assert_eq!(grown(&before, &figures_of(1031, 9)), [("LUTs", true)]);
        assert_eq!(grown(&before, &figures_of(900, 8)), [("LUTs", false), ("levels", false)]);
        assert_eq!(grown(&before, &figures_of(1000, 10)), [("levels", true)]);
        let stranger = Figures { block: "new".into(), ..figures_of(1, 1) };
        assert_eq!(grown(&before, &stranger), []);
        let changes = compare(&[before], &[figures_of(1100, 9)], 3);
        assert!(table(&changes).contains("parse on ecp5: LUTs 1000 -> 1100 (+10.0 %)  grew"));
        assert!(table(&[]).contains("nothing changed"));
    }

    #[test]
    fn a_strange_line_is_named() {
        for strange in
            ["{}", "parse ecp5 1 2 3 4", "parse ecp5 1 2 3 4 5 6", "parse ecp5 1 2 3 4 x"]
        {
            let error = read(&format!("# made\n\n{strange}\n")).unwrap_err();
            assert_eq!(error, StrangeLine { line: 3, text: strange.into() });
        }
    }
}
