//! Which of all possible breaks are made: some of each class, by seed, one a line.

use super::candidates::{Candidate, Class};
use crate::generate::random::Rng;
use std::collections::HashSet;

/// Chooses `count` breaks, as many of each class as there are; fewer if there are not so many.
/// At most one a line, so that they can be in one text.
pub fn plan(candidates: &[Candidate], count: usize, seed: u64) -> Vec<Candidate> {
    let mut rng = Rng::new(seed);
    let mut left: Vec<Vec<&Candidate>> = Class::ALL
        .iter()
        .map(|class| candidates.iter().filter(|c| c.class == *class).collect())
        .collect();
    let (mut lines, mut chosen) = (HashSet::new(), vec![]);
    while chosen.len() < count && left.iter().any(|of_class| !of_class.is_empty()) {
        for of_class in &mut left {
            while !of_class.is_empty() && chosen.len() < count {
                let candidate = of_class.swap_remove(rng.below(of_class.len()));
                if lines.insert(candidate.change.line) {
                    chosen.push(candidate.clone());
                    break;
                }
            }
        }
    }
    chosen.sort_by_key(|c| c.change.line);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::candidates;

    const TEXT: &str = "module m(a);\n    reg [3:0] a;\n    reg b;\n    a = c + 4'h1;\n\
                        \x20   b = d & e;\n    if (b) begin\n    a = 4'h3;\nendmodule";

    #[test]
    fn a_seed_gives_the_same_plan() {
        let all = candidates(TEXT);
        assert_eq!(plan(&all, 3, 7), plan(&all, 3, 7));
        assert_ne!(plan(&all, 3, 7), plan(&all, 3, 8));
    }

    #[test]
    fn one_break_a_line() {
        let chosen = plan(&candidates(TEXT), 100, 1);
        let lines: Vec<_> = chosen.iter().map(|c| c.change.line).collect();
        assert_eq!(lines, [3, 4, 5, 6]);
    }
}
