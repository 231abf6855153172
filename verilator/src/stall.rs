//! Seeded random idle and back-pressure.
//!
//! Invariants: one seed gives one sequence (`same_seed_same_sequence`); the share of stalled cycles
//! is as asked (`share_of_stalls_is_as_asked`); 0 percent never stalls.

/// A small deterministic generator (xorshift64*).
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// A generator for one use (`salt`) of a seed.
    pub(crate) fn new(seed: u64, salt: u64) -> Self {
        // splitmix64: near seeds give far states, and never the state 0 below.
        let mut z = seed.wrapping_add(salt.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((z ^ (z >> 31)) | 1)
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    /// A number below `bound` (at most 2^16), evenly enough.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((self.next() >> 16) * bound) >> 16
    }
}

/// Longest phase of one behaviour, in cycles.
const PHASE_CYCLES_MAX: u32 = 96;

/// Decides, cycle by cycle, whether one port pauses.
///
/// Phases of random length alternate: pauses thrown cycle by cycle, all go, all pause. The last
/// fill or drain whole queues, which single pauses never do.
#[derive(Clone, Debug)]
pub(crate) struct Stall {
    rng: Rng,
    percent: u32,
    phase_percent: u32,
    phase_left: u32,
}

impl Stall {
    pub(crate) fn new(seed: u64, salt: u64, percent: u8) -> Self {
        let percent = u32::from(percent.min(95));
        Self { rng: Rng::new(seed, salt), percent, phase_percent: percent, phase_left: 0 }
    }

    /// Whether the port pauses in this cycle.
    pub(crate) fn pause(&mut self) -> bool {
        if self.percent == 0 {
            return false;
        }
        if self.phase_left == 0 {
            self.phase_left = 1 + self.rng.below(PHASE_CYCLES_MAX);
            self.phase_percent = match self.rng.below(4) {
                0 if self.rng.below(100) < self.percent => 100,
                0 => 0,
                _ => self.percent,
            };
        }
        self.phase_left -= 1;
        self.rng.below(100) < self.phase_percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_sequence() {
        let run = |seed, salt| {
            let mut stall = Stall::new(seed, salt, 30);
            (0..500).map(|_| stall.pause()).collect::<Vec<_>>()
        };
        assert_eq!(run(7, 1), run(7, 1));
        assert_ne!(run(7, 1), run(7, 2));
        assert_ne!(run(7, 1), run(8, 1));
    }

    #[test]
    fn share_of_stalls_is_as_asked() {
        for percent in [0u8, 10, 50, 90] {
            let mut stall = Stall::new(3, 0, percent);
            let pauses = (0..200_000).filter(|_| stall.pause()).count();
            let share = pauses as f64 / 2000.0;
            assert!((share - f64::from(percent)).abs() < 3.0, "{percent} gave {share}");
        }
    }

    #[test]
    fn long_pauses_and_long_runs_occur() {
        let mut stall = Stall::new(5, 0, 50);
        let (mut run, mut last, mut longest) = (0, false, [0; 2]);
        for _ in 0..20_000 {
            let pause = stall.pause();
            run = if pause == last { run + 1 } else { 1 };
            last = pause;
            longest[usize::from(pause)] = run.max(longest[usize::from(pause)]);
        }
        assert!(longest[0] > 40 && longest[1] > 40, "{longest:?}");
    }
}
