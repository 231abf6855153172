//! Tally: what came of many cases against one target.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::compare::Difference;
use crate::golden::{Case, Outcome, Recorded, differences};

/// Most differing cases that a report tells in full.
const DIFFERING_MAX: usize = 20;

/// What the kernel is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The software model.
    Model,
    /// The hardware under Verilator.
    Rtl,
    /// What the same kernel delivered when the case was recorded.
    Record,
}

impl Target {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Rtl => "rtl",
            Self::Record => "record",
        }
    }
}

/// A case that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Differing {
    /// Its name.
    pub case: String,
    /// Each difference, with the number of its delivery; the kernel's is the expected value.
    pub differences: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Held against what.
    pub target: Target,
    /// Cases that are equal in every field of every delivery.
    pub equal: usize,
    /// Cases that are not.
    pub differ: usize,
    /// Cases that the target cannot be given, by the reason.
    pub left_out: BTreeMap<&'static str, usize>,
    /// The first of those that differ.
    pub differing: Vec<Differing>,
}

impl Tally {
    /// Nothing yet.
    pub fn new(target: Target) -> Self {
        let (left_out, differing) = (BTreeMap::new(), Vec::new());
        Self { target, equal: 0, differ: 0, left_out, differing }
    }

    /// Adds a case; whether it differs.
    pub fn add(&mut self, case: &Case, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Equal => self.equal += 1,
            Outcome::LeftOut(reason) => *self.left_out.entry(reason.text()).or_default() += 1,
            Outcome::Differs(list) => {
                self.differ += 1;
                if self.differing.len() < DIFFERING_MAX {
                    let line =
                        |(delivery, d): &(usize, Difference)| format!("delivery {delivery}: {d}");
                    let differences = list.iter().map(line).collect();
                    self.differing.push(Differing { case: case.name.clone(), differences });
                }
            }
        }
        matches!(outcome, Outcome::Differs(_))
    }

    /// Cases left out.
    pub fn left_out_count(&self) -> usize {
        self.left_out.values().sum()
    }

    /// One row of a table, and a line for each reason and each difference.
    pub fn text(&self) -> String {
        let (name, left) = (self.target.name(), self.left_out_count());
        let cases = self.equal + self.differ + left;
        let mut text =
            format!("{name:10}{cases:>8}{:>8}{:>8}{left:>10}\n", self.equal, self.differ);
        for (reason, count) in &self.left_out {
            text += &format!("  left out: {count} for {reason}\n");
        }
        for differing in &self.differing {
            text += &format!("  differs: {}\n", differing.case);
            for line in &differing.differences {
                text += &format!("    {line}\n");
            }
        }
        if self.differ > self.differing.len() {
            text += &format!("  and {} more\n", self.differ - self.differing.len());
        }
        text
    }

    /// Heads of the columns of [`Tally::text`].
    pub fn heads() -> String {
        format!("{:10}{:>8}{:>8}{:>8}{:>10}\n", "against", "bursts", "equal", "differ", "left out")
    }
}

/// A fresh recording against an old one, as any outcome.
pub fn against_record(old: &[Recorded], new: &[Recorded]) -> Outcome {
    let mut list = Vec::new();
    if old.len() != new.len() {
        let (expected, found) = (new.len().to_string(), old.len().to_string());
        let field = "deliveries".to_owned();
        list.push((
            old.len().min(new.len()),
            Difference { field, expected, found, position: None },
        ));
    }
    for (number, (old, new)) in old.iter().zip(new).enumerate() {
        // A packed record goes without its head; the hash covers it.
        let new = Recorded { head: old.head.clone().and(new.head.clone()), ..new.clone() };
        list.extend(differences(&new, old).into_iter().map(|d| (number, d)));
    }
    if list.is_empty() { Outcome::Equal } else { Outcome::Differs(list) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::LeftOut;

    fn case() -> Case {
        let (frames, golden) = (Vec::new(), BTreeMap::new());
        Case { name: "x".into(), group: "g".into(), frames, golden }
    }

    #[test]
    fn every_outcome_is_counted() {
        let mut tally = Tally::new(Target::Rtl);
        assert!(!tally.add(&case(), &Outcome::Equal));
        assert!(!tally.add(&case(), &Outcome::LeftOut(LeftOut::Tunnel)));
        let one = Recorded { len: 1, ..Recorded::default() };
        for _ in 0..DIFFERING_MAX + 1 {
            assert!(tally.add(&case(), &against_record(&[], std::slice::from_ref(&one))));
        }
        assert_eq!((tally.equal, tally.differ, tally.left_out_count()), (1, 21, 1));
        let text = tally.text();
        assert!(
            text.contains("left out: 1 for tunnel") && text.ends_with("and 1 more\n"),
            "{text}"
        );
    }

    #[test]
    fn a_packed_record_is_compared_without_its_head() {
        let new = Recorded { head: Some("00".into()), ..Recorded::default() };
        let old = Recorded::default();
        assert_eq!(
            against_record(std::slice::from_ref(&old), std::slice::from_ref(&new)),
            Outcome::Equal
        );
        let other = Recorded { hash: 1, ..old };
        assert!(matches!(against_record(&[other], &[new]), Outcome::Differs(_)));
    }
}
