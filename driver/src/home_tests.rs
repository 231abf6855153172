use std::sync::Arc;
use std::time::Duration;

use crate::Interrupt;
use crate::home::{Bounds, Home, Pushed, ReturnStats};
use crate::thread::set_domain;

/// As a lease does it.
fn release(home: &Home, id: u16) {
    if home.is_owner() && home.stage(id) {
        return;
    }
    let away = home.away();
    let mut pushed = away.slot.map_or(Pushed::Full, |l| l.push(away.next, id, away.bounds, || {}));
    if pushed == Pushed::Full {
        pushed = away.overflow.push(away.next, id, Bounds::OVERFLOW, || {});
    }
    match pushed {
        Pushed::Taken(false) => {}
        Pushed::Taken(true) => home.kick(),
        Pushed::Full => panic!("the overflow list is never full"),
        Pushed::Closed => panic!("nobody closed it"),
    }
}

fn home(pool: usize, domains: usize, max: u32) -> Home {
    Home::new(pool, domains, max, Arc::new(Interrupt::new().unwrap()))
}

fn collect_each(home: &Home, mut each: impl FnMut(u16)) {
    home.collect_home(&mut each);
    home.collect_away(&mut each);
}

fn collect(home: &Home) -> Vec<u16> {
    let mut ids = Vec::new();
    collect_each(home, |id| ids.push(id));
    ids.sort_unstable();
    ids
}

/// Releases on another thread.
fn away(home: &Home, ids: impl Iterator<Item = u16> + Send, domain: usize) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            set_domain(domain);
            ids.for_each(|id| release(home, id));
        });
    });
}

#[test]
fn the_owner_and_the_others_take_their_ways() {
    let home = home(1000, 1, 128);
    home.bind();
    (0..3).for_each(|id| release(&home, id));
    away(&home, 3..8, 0);
    assert_eq!(collect(&home), (0..8).collect::<Vec<_>>());
    assert!(collect(&home).is_empty());
    assert_eq!(home.stats(), ReturnStats { home: 3, away: 5, overflow: 0, kicks: 0 });
}

#[test]
fn nobodys_queue_takes_all_from_its_slots() {
    let home = home(1000, 1, 128);
    home.bind();
    home.unbind();
    release(&home, 7);
    assert_eq!(collect(&home), [7]);
    assert_eq!(home.stats().away, 1);
}

#[test]
fn a_slot_is_bounded_until_it_is_drained() {
    let home = home(1000, 2, 128);
    home.bind();
    away(&home, 0..200, 0);
    away(&home, 200..210, 1);
    assert_eq!(collect(&home).len(), 210);
    // 127 fit; those behind are refused, and the count is not taken back.
    assert_eq!((home.stats().away, home.stats().overflow), (127 + 10, 73));
    away(&home, 0..127, 0);
    assert_eq!(collect(&home).len(), 127);
    assert_eq!((home.stats().away, home.stats().overflow), (137 + 127, 73), "a drain resets it");
}

#[test]
fn kicks_once_at_half() {
    let kick = Arc::new(Interrupt::new().unwrap());
    let home = Home::new(1000, 1, 128, Arc::clone(&kick));
    home.bind();
    let woken = || kick.wait(Duration::ZERO).unwrap();
    away(&home, 0..64, 0);
    assert!(!woken(), "64 are not more than half");
    away(&home, 64..65, 0);
    assert!(woken());
    away(&home, 65..300, 0);
    assert!(!woken(), "once for each crossing");
    assert_eq!(collect(&home).len(), 300);
    away(&home, 0..65, 0);
    assert!(woken(), "again after a drain");
    assert_eq!(home.stats().kicks, 2);
}

#[test]
fn one_pending_kick_serves_all_domains() {
    let home = home(1000, 2, 128);
    home.bind();
    away(&home, 0..65, 0);
    away(&home, 100..165, 1);
    assert_eq!(home.stats().kicks, 1);
}

#[test]
fn a_small_pool_kicks_before_it_is_empty() {
    let kick = Arc::new(Interrupt::new().unwrap());
    let home = Home::new(16, 1, 128, Arc::clone(&kick));
    home.bind();
    away(&home, 0..5, 0);
    assert!(kick.wait(Duration::ZERO).unwrap());
    away(&home, 5..16, 0);
    assert_eq!(collect(&home).len(), 16);
    assert_eq!(home.stats().overflow, 9);
}

#[test]
fn every_buffer_comes_home_from_many_threads() {
    const POOL: usize = 512;
    const THREADS: usize = 3;
    let home = home(POOL, 2, 16);
    home.bind();
    let lanes: Vec<_> = (0..THREADS).map(|_| std::sync::mpsc::channel::<u16>()).collect();
    let senders: Vec<_> = lanes.iter().map(|(sender, _)| sender.clone()).collect();
    std::thread::scope(|scope| {
        for (domain, (sender, receiver)) in lanes.into_iter().enumerate() {
            drop(sender);
            let home = &home;
            scope.spawn(move || {
                set_domain(domain);
                receiver.iter().for_each(|id| release(home, id));
            });
        }
        let mut free: Vec<u16> = (0..POOL as u16).collect();
        let mut out = vec![false; POOL];
        for round in 0..60_000 {
            if let Some(id) = free.pop() {
                assert!(!std::mem::replace(&mut out[usize::from(id)], true), "{id} is doubled");
                match round % (THREADS + 1) {
                    THREADS => release(&home, id),
                    lane => senders[lane].send(id).unwrap(),
                }
            }
            let before = free.len();
            collect_each(&home, |id| free.push(id));
            free[before..].iter().for_each(|id| {
                assert!(std::mem::replace(&mut out[usize::from(*id)], false), "{id} is doubled");
            });
        }
        drop(senders);
        while free.len() < POOL {
            collect_each(&home, |id| free.push(id));
            std::thread::yield_now();
        }
        free.sort_unstable();
        assert!(free.iter().copied().eq(0..POOL as u16));
    });
    let stats = home.stats();
    assert!(stats.home > 0 && stats.away > 0, "{stats:?}");
}

#[test]
fn more_threads_than_slots_lose_nothing() {
    let home = home(1000, 2, 128);
    home.bind();
    away(&home, 0..10, 1);
    away(&home, 10..20, 2);
    away(&home, 20..30, 63);
    assert_eq!(collect(&home).len(), 30);
    assert_eq!((home.stats().away, home.stats().overflow), (10, 20));
}

#[test]
fn at_most_half_of_the_pool_waits_without_a_kick() {
    for (pool, domains) in [(16, 1), (16, 8), (64, 8), (1024, 8), (1024, 64)] {
        let kick = Arc::new(Interrupt::new().unwrap());
        let home = Home::new(pool, domains, 128, Arc::clone(&kick));
        home.bind();
        let mut ids = 0..pool as u16;
        let mut quiet = 0;
        for domain in 0..domains {
            while !kick.wait(Duration::ZERO).unwrap() {
                quiet += 1;
                away(&home, ids.by_ref().take(1), domain);
            }
            quiet -= 1;
            // The next domain's kick shall be seen, without a drain of this one.
            collect_each(&home, |_| {});
        }
        assert!(quiet <= pool / 2, "{quiet} of {pool} in {domains} domains");
    }
}

#[test]
fn a_closed_home_takes_nothing() {
    let home = home(100, 1, 128);
    home.bind();
    release(&home, 0);
    away(&home, 1..4, 0);
    away(&home, 4..6, 1);
    assert_eq!(home.close(), 6);
    let away = home.away();
    assert_eq!(away.overflow.push(away.next, 7, Bounds::OVERFLOW, || {}), Pushed::Closed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            set_domain(0);
            let away = home.away();
            assert_eq!(away.slot.unwrap().push(away.next, 7, away.bounds, || {}), Pushed::Closed);
        });
    });
    assert_eq!(home.close(), 0);
}
