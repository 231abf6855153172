//! Small changes of an input by a seed, and the way back: the least input that still fails.
//!
//!   corpus ─► input ─► 1 to 4 of: flip, edge number, insert, remove, repeat, splice, cut
//!
//! Invariants: equal seeds give equal inputs (`equal_seeds_give_equal_inputs`); what is left of a
//! failing input fails, and no part of it can be left out (`the_least_input_is_found`).
//! Not here: coverage, which `setup/fuzz` has.

pub use groove_traffic::random::Rng;

use crate::INPUT_BYTES_MAX;

/// Numbers at which lengths, counts and positions are wrong.
const EDGES: [u32; 16] = [
    0,
    1,
    2,
    7,
    8,
    0x0f,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    u32::MAX,
];

/// A changed copy of `input`; `other` is what can be spliced in.
pub fn mutate(rng: &mut Rng, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..rng.range(1, 4) {
        once(rng, &mut bytes, other);
    }
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

fn once(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = rng.range(0, bytes.len());
    let count = rng.range(1, 16).min(bytes.len() - at);
    match rng.range(0, 7) {
        0 | 1 if at < bytes.len() => bytes[at] ^= 1 << rng.range(0, 7),
        2 => edge(rng, &mut bytes[at..]),
        3 => {
            let new: Vec<u8> = (0..rng.range(1, 8)).map(|_| rng.draw() as u8).collect();
            bytes.splice(at..at, new);
        }
        4 => drop(bytes.drain(at..at + count)),
        5 => {
            let again = bytes[at..at + count].to_vec();
            bytes.splice(at..at, again);
        }
        6 => {
            let from = rng.range(0, other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        7 if rng.range(0, 7) == 0 => bytes.truncate(at),
        _ => bytes.insert(at, rng.draw() as u8),
    }
}

/// An edge number over the first 1, 2 or 4 bytes, in either order.
fn edge(rng: &mut Rng, bytes: &mut [u8]) {
    let number = EDGES[rng.range(0, EDGES.len() - 1)];
    let width = [1, 2, 4][rng.range(0, 2)].min(bytes.len());
    let mut value = number.to_le_bytes();
    if rng.range(0, 1) == 1 {
        value[..width].reverse();
    }
    bytes[..width].copy_from_slice(&value[..width]);
}

/// Leaves out as much of a failing input as can be left out: halves first, single bytes last, as
/// long as there are `attempts`.
pub fn minimise(
    mut input: Vec<u8>,
    mut attempts: usize,
    mut fails: impl FnMut(&[u8]) -> bool,
) -> Vec<u8> {
    let mut chunk = input.len().div_ceil(2);
    while chunk > 0 {
        let (mut at, mut removed) = (0, false);
        while at < input.len() && attempts > 0 {
            attempts -= 1;
            let end = (at + chunk).min(input.len());
            let less = [&input[..at], &input[end..]].concat();
            if fails(&less) {
                (input, removed) = (less, true);
            } else {
                at = end;
            }
        }
        // Single bytes until none can go.
        chunk = if chunk > 1 { chunk.div_ceil(2) } else { usize::from(removed && attempts > 0) };
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_inputs() {
        let run = |seed| {
            let mut rng = Rng::new(seed);
            let mut input = b"groove".to_vec();
            for _ in 0..100 {
                input = mutate(&mut rng, &input, b"other");
            }
            input
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let mut rng = Rng::new(3);
        assert!((0..100).all(|_| mutate(&mut rng, &[], &[]).len() < 64), "nothing is an input too");
    }

    #[test]
    fn the_least_input_is_found() {
        let fails = |input: &[u8]| {
            let first = input.iter().position(|byte| *byte == 7);
            first.is_some_and(|at| input[at..].contains(&9))
        };
        let input: Vec<u8> = (0..=255).cycle().take(1000).collect();
        assert_eq!(minimise(input, usize::MAX, fails), [7, 9]);
        assert_eq!(minimise(vec![7, 0, 9], 0, fails), [7, 0, 9], "no attempts");
    }
}
