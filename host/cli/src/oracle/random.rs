//! Random bursts for the running kernel, one from each seed.
//!
//!   seed ─► network card, traffic ─► frames with its metadata ─► now and then forced ─► burst
//!                                                            └─► now and then in a tunnel
//!
//! The traffic is that of the random runs of model against hardware (`groove-traffic`): trains,
//! twins, odd frames, every change to a field. A burst keeps to what one poll takes.
//! Invariants: equal seeds give equal bursts, and every kind comes up
//! (`a_seed_gives_the_same_burst`, `every_kind_of_burst_comes_up`).

use groove_model::{Config, Given, GivenCsum, RssConfig};
use groove_oracle::BURST_FRAMES_MAX;
use groove_spec::TokenKind;
use groove_traffic::random::Rng;
use groove_traffic::{Item, Traffic};

use super::bursts::received;
use super::tunnel::Tunnel;
use crate::golden::Case;
use crate::golden::case::Input;

/// The name of a seed's burst.
pub fn name(seed: u64) -> String {
    format!("random-{seed}")
}

/// The burst of a seed.
pub fn burst(seed: u64) -> Case {
    // Another stream than the one that the traffic draws from.
    let mut rng = Rng::new(seed ^ 0x6f72_6163_6c65);
    let mut card = Config { rss: RssConfig::spread(1), ..Config::default() };
    card.options.rxcsum = rng.chance(500);
    card.options.vlan_strip = rng.chance(500);
    let count = match rng.weighted(&[30, 40, 20, 10]) {
        0 => rng.range(2, 8),
        1 => rng.range(9, 32),
        2 => rng.range(33, BURST_FRAMES_MAX - 1),
        _ => BURST_FRAMES_MAX,
    };
    let mut tunnel = rng.chance(150).then(|| Tunnel::new(&mut rng));
    let force = Force::new(&mut rng);
    let mut frames: Vec<Input> = Vec::with_capacity(count);
    let mut gap = false;
    for item in Traffic::under(seed, card.clone()) {
        let bytes = match item {
            Item::Token { kind: TokenKind::FlushAll, .. } => {
                gap = !frames.is_empty();
                continue;
            }
            Item::Token { .. } => continue,
            Item::Frame { bytes, .. } => bytes,
        };
        let bytes = match &mut tunnel {
            Some(tunnel) => tunnel.around(&mut rng, bytes),
            None => bytes,
        };
        let Some(mut input) = received(&card, &bytes) else { continue };
        force.apply(&mut input.given);
        input.gap = std::mem::take(&mut gap);
        frames.push(input);
        if frames.len() == count {
            break;
        }
    }
    Case { name: name(seed), group: "random".into(), frames, golden: Default::default() }
}

/// What is not as a card would have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    Nothing,
    /// These bits of the hash alone.
    Hash(u32),
    /// Every frame is given as verified, right or wrong.
    Verified,
}

impl Force {
    fn new(rng: &mut Rng) -> Self {
        match rng.weighted(&[800, 130, 70]) {
            0 => Self::Nothing,
            1 => Self::Hash(rng.pick(&[0, 7, 15, 0xffff_fff8])),
            _ => Self::Verified,
        }
    }

    fn apply(self, given: &mut Given) {
        match self {
            Self::Nothing => {}
            Self::Hash(mask) => given.hash = given.hash.map(|hash| hash & mask),
            Self::Verified => given.csum = GivenCsum::Unnecessary,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::plan::as_hardware;

    #[test]
    fn a_seed_gives_the_same_burst() {
        assert_eq!(burst(5), burst(5));
        assert_ne!(burst(5).frames, burst(6).frames);
    }

    #[test]
    fn every_kind_of_burst_comes_up() {
        let bursts: Vec<Case> = (0..300).map(burst).collect();
        let some = |what: &str, least: usize, is: &dyn Fn(&Case) -> bool| {
            let found = bursts.iter().filter(|case| is(case)).count();
            assert!(found >= least, "{what}: {found}");
        };
        let any = |case: &Case, is: fn(&Input) -> bool| case.frames.iter().any(is);
        assert!(bursts.iter().all(|c| (1..=BURST_FRAMES_MAX).contains(&c.frames.len())));
        assert!(bursts.iter().all(|case| !case.frames[0].gap));
        some("gaps", 30, &|case| any(case, |input| input.gap));
        some("whole polls", 10, &|case| case.frames.len() == BURST_FRAMES_MAX);
        some("stripped tags", 50, &|case| any(case, |input| input.given.vlan.is_some()));
        some("verified", 80, &|case| any(case, |i| i.given.csum == GivenCsum::Unnecessary));
        some("no hash", 5, &|case| !any(case, |input| input.given.hash != Some(0)));
        let kernel = crate::golden::configuration("7.3.4").unwrap();
        some("for hardware", 80, &|case| as_hardware(case, kernel.clone()).is_ok());
    }
}
