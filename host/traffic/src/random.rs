//! The random source of all generators: splitmix64, so that a seed means the same everywhere and
//! forever.

/// A seeded stream of numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A stream; equal seeds give equal streams.
    pub fn new(seed: u64) -> Self {
        Self { state: seed ^ 0x6a09_e667_f3bc_c908 }
    }

    /// The next 64 bits.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.draw()) * n as u128) >> 64) as usize
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn range(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True with a probability of `n` in 1,000.
    #[inline]
    pub fn chance(&mut self, n: usize) -> bool {
        self.below(1000) < n
    }

    /// One of the items.
    #[inline]
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Index of a weight, with a probability in proportion to it.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        0
    }

    /// Random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// Fills with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.draw().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_forever() {
        let mut rng = Rng { state: 0 }; // the published values
        assert_eq!([rng.draw(), rng.draw()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn bounds_are_reached_and_kept() {
        let mut rng = Rng::new(7);
        let seen: Vec<usize> = (0..1000).map(|_| rng.range(3, 6)).collect();
        assert_eq!((seen.iter().min(), seen.iter().max()), (Some(&3), Some(&6)));
        assert!((0..1000).all(|_| rng.weighted(&[0, 1, 0]) == 1));
    }
}
