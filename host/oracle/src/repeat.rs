//! Repeats: every burst several times, in an order that is shuffled anew each time; results that
//! are not the same are refused.
//!
//!   bursts ─► run 0, 1, 2 …, each in its own order ─► equal ─► deliveries
//!                                                  └─► refused
//!
//! Invariant: one differing run refuses all (`one_differing_run_refuses_all`).

use crate::delivery::{Delivery, Frame};
use crate::error::Error;

/// Runs all bursts `runs` times, at least once; `run` puts one through. Gives the deliveries of
/// each burst, in the order of `bursts`.
pub fn repeated<B: AsRef<[Frame]>>(
    bursts: &[B],
    runs: usize,
    seed: u64,
    mut run: impl FnMut(&[Frame]) -> Result<Vec<Delivery>, Error>,
) -> Result<Vec<Vec<Delivery>>, Error> {
    let mut first: Vec<Option<Vec<Delivery>>> = vec![None; bursts.len()];
    let mut differing: Vec<Option<String>> = vec![None; bursts.len()];
    let mut order: Vec<usize> = (0..bursts.len()).collect();
    let mut state = seed;
    for _ in 0..runs.max(1) {
        shuffle(&mut order, &mut state);
        for &number in &order {
            let found = run(bursts[number].as_ref())
                .map_err(|error| Error::At { burst: number, source: Box::new(error) })?;
            match &first[number] {
                None => first[number] = Some(found),
                Some(expected) if *expected == found => {}
                Some(expected) => differing[number] = Some(difference(expected, &found)),
            }
        }
    }
    let count = differing.iter().flatten().count();
    let what = differing.iter().position(Option::is_some);
    match what.and_then(|number| differing[number].take().map(|what| (number, what))) {
        Some((first, what)) => Err(Error::Unrepeatable { count, total: bursts.len(), first, what }),
        None => Ok(first.into_iter().flatten().collect()),
    }
}

fn difference(expected: &[Delivery], found: &[Delivery]) -> String {
    let frames = |list: &[Delivery]| {
        let each = list.iter().map(|delivery| format!("{:?}", delivery.frames));
        each.collect::<Vec<_>>().join(" ")
    };
    let (once, then) = (frames(expected), frames(found));
    match once == then {
        true => "metadata or bytes".to_owned(),
        false => format!("frames {once} once, and {then} another time"),
    }
}

/// An order that depends on the seed alone.
fn shuffle(order: &mut [usize], state: &mut u64) {
    for last in (1..order.len()).rev() {
        // Knuth's MMIX generator; its upper bits are the good ones.
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = ((*state >> 33) as usize) % (last + 1);
        order.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::Csum;

    fn burst(hash: u32) -> Vec<Frame> {
        let csum = Default::default();
        vec![Frame { bytes: vec![0; 60], hash, csum, tag: None, gap: false }]
    }

    fn delivery(hash: u32) -> Delivery {
        Delivery {
            frames: vec![0],
            bytes: vec![0; 60],
            gso_size: 0,
            gso_segs: 0,
            gso_type: vec![],
            csum: Csum::None,
            encapsulation: false,
            hash,
            tag: None,
        }
    }

    #[test]
    fn every_burst_runs_so_often_in_other_orders() {
        let bursts: Vec<_> = (0..20).map(burst).collect();
        let mut seen = Vec::new();
        let found = repeated(&bursts, 3, 7, |frames| {
            seen.push(frames[0].hash);
            Ok(vec![delivery(frames[0].hash)])
        })
        .unwrap();
        assert_eq!(
            found.iter().map(|d| d[0].hash).collect::<Vec<_>>(),
            (0..20).collect::<Vec<_>>()
        );
        assert_ne!(seen[..20], seen[20..40]);
        for run in seen.chunks(20) {
            let mut run = run.to_vec();
            run.sort_unstable();
            assert_eq!(run, (0..20).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_differing_run_refuses_all() {
        let bursts: Vec<_> = (0..5).map(burst).collect();
        let mut count = 0;
        let result = repeated(&bursts, 3, 1, |frames| {
            count += 1;
            let hash = frames[0].hash;
            Ok(vec![delivery(if hash == 3 && count > 10 { 99 } else { hash })])
        });
        let Err(Error::Unrepeatable { count: 1, total: 5, first: 3, what }) = result else {
            panic!("{result:?}")
        };
        assert_eq!(what, "metadata or bytes");
    }
}
