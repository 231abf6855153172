//! The running kernel held against the model and the hardware.
//!
//!   capture ─► bursts ─┐                            ┌─► recording (the format of `golden`)
//!   recorded cases ────┼─► kernel, repeated ─► cases ┤
//!   seed ─► bursts ────┘                            └─► model, hardware ─► differences
//!
//! A burst that went through the kernel is a recorded case like those of `golden`, and is compared
//! by the same code. What is asked of the kernel itself is `groove-oracle`'s.
//! Invariant: a kernel whose rules are not known is compared with nothing, unless told with what
//! (`unknown_kernels_have_no_rules`).

pub mod bursts;
mod convert;
pub mod guest;
mod identity;
pub mod random;
pub mod report;
pub mod rules;
mod tally;
mod tunnel;

pub use groove_oracle::{Error, Feature};
pub use identity::Identity;
pub use report::Report;
pub use tally::{Differing, Tally, Target, against_record};

use groove_model::Config;
use groove_oracle::{Frame, Oracle};

use crate::engine::EngineError;
use crate::golden::{self, Case, Outcome, Recorded, Runner};

/// The running kernel, and who it is.
pub struct Live {
    oracle: Oracle,
    /// Version, options, rules.
    pub kernel: Identity,
}

impl Live {
    /// Opens the kernel, and probes what its version does not say.
    pub fn open() -> Result<Self, Error> {
        let oracle = Oracle::open()?;
        let merges = |frames: Vec<Vec<u8>>| {
            let frames: Vec<Frame> = frames.into_iter().map(convert::plain).collect();
            oracle.run(&frames).map(|deliveries| deliveries.len() == 1)
        };
        let vlan = merges(identity::tagged_pair())?;
        let pppoe = merges(identity::pppoe_pair())?;
        let kernel = Identity::new(&Oracle::release(), vlan, pppoe);
        Ok(Self { oracle, kernel })
    }

    /// Puts all cases through, `runs` times each in shuffled orders, and gives what the kernel
    /// delivered.
    pub fn deliveries(
        &self,
        cases: &[Case],
        runs: usize,
        seed: u64,
    ) -> Result<Vec<Vec<Recorded>>, Error> {
        let bursts: Vec<Vec<Frame>> = cases.iter().map(convert::frames).collect();
        let found = self.oracle.repeated(&bursts, runs, seed)?;
        Ok(found.iter().map(|list| list.iter().map(convert::recorded).collect()).collect())
    }

    /// Puts all cases through; each then has the record of this kernel, and of no other.
    pub fn record(&self, cases: &mut [Case], runs: usize, seed: u64) -> Result<(), Error> {
        let found = self.deliveries(cases, runs, seed)?;
        for (case, list) in cases.iter_mut().zip(found) {
            case.golden = [(self.kernel.label.clone(), list)].into();
        }
        Ok(())
    }

    /// Holds an engine against the record of this kernel in a case; `rules` are what it follows.
    pub fn compare(
        &self,
        runner: &mut dyn Runner,
        case: &Case,
        rules: &Config,
    ) -> Result<Outcome, EngineError> {
        let outcome = golden::run(runner, case, &self.kernel.label, rules)?;
        Ok(outcome.expect("the case was recorded on this kernel"))
    }
}

/// The label under which a case has the record of a kernel like this one: of the same rules, if not
/// of the same patch level.
pub fn recorded_like<'a>(case: &'a Case, label: &str) -> Option<&'a str> {
    let rules = |label: &str| golden::configuration(label).ok();
    let own = rules(label)?;
    case.golden.keys().map(String::as_str).find(|other| rules(other).as_ref() == Some(&own))
}

/// Leaves out as many frames of a case as it can while `differs` says yes, one after the other.
pub fn shrink<E>(
    mut case: Case,
    mut differs: impl FnMut(&mut Case) -> Result<bool, E>,
) -> Result<Case, E> {
    let mut at = 0;
    while at < case.frames.len() && case.frames.len() > 1 {
        let mut smaller = case.clone();
        let left = smaller.frames.remove(at);
        // The end of a poll stays where it was.
        if let (true, Some(next)) = (left.gap && at > 0, smaller.frames.get_mut(at)) {
            next.gap = true;
        }
        match differs(&mut smaller)? {
            true => case = smaller,
            false => at += 1,
        }
    }
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::case::Input;

    #[test]
    fn another_patch_level_is_like_the_recorded_one() {
        let (name, group) = ("x".into(), "g".into());
        let labels = ["6.12.117", "7.3.4", "7.3.4+pppoe", "odd"];
        let golden = labels.map(|label| (label.to_owned(), Vec::new())).into();
        let case = Case { name, group, frames: Vec::new(), golden };
        assert_eq!(recorded_like(&case, "6.12.120"), Some("6.12.117"));
        assert_eq!(recorded_like(&case, "7.3.9+pppoe"), Some("7.3.4+pppoe"));
        assert_eq!(recorded_like(&case, "6.12.120+novlan"), None);
        assert_eq!(recorded_like(&case, "odd"), None);
    }

    #[test]
    fn shrinking_keeps_what_matters() {
        let input = |n: u8| Input { bytes: vec![n; 60], given: Default::default(), gap: n == 4 };
        let case = Case {
            name: "x".into(),
            group: "random".into(),
            frames: (0..9).map(input).collect(),
            golden: Default::default(),
        };
        // It differs as long as 2 comes before 5, in another poll.
        let small = shrink(case, |case| {
            let at = |n: u8| case.frames.iter().position(|f| f.bytes[0] == n);
            let gap = |from: usize, to: usize| case.frames[from + 1..=to].iter().any(|f| f.gap);
            Ok::<_, ()>(at(2).zip(at(5)).is_some_and(|(a, b)| a < b && gap(a, b)))
        });
        let small = small.unwrap();
        let numbers: Vec<u8> = small.frames.iter().map(|f| f.bytes[0]).collect();
        assert_eq!((numbers, small.frames[1].gap), (vec![2, 5], true));
    }
}
