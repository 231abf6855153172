//! Two threads, a queue each, give each other their deliveries for as long as they are told: no
//! buffer is lost, none is doubled.
//!
//!   GROOVE_SOAK_SECONDS=600 GROOVE_SOAK_BUFFERS=10000000 \
//!       cargo test --release -p groove-driver --test soak -- --nocapture
//!
//! Every frame carries its number in each of its bytes. A delivery is looked at when it comes and
//! again when it is dropped, perhaps much later and on the other thread: a buffer that was given
//! out twice has other bytes by then. Both queues are stopped now and then, and the census taken.

#[path = "../../host/bench/src/ring.rs"]
#[allow(dead_code)]
mod ring_device;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as From, Sender, channel};
use std::time::{Duration, Instant};

use groove_driver::{Delivery, Napi, Nic, Receiver, ReturnStats, RxQueue, Settings};
use ring_device::RingDevice;

const POOL: usize = 512;
/// Deliveries that a thread keeps before it drops one.
const KEPT: usize = 40;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Bytes of frame `number`: a length that varies, and a pattern of the number.
fn frame(number: u64, into: &mut Vec<u8>) {
    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bytes = match hash >> 61 {
        0 => 14 + hash as usize % 243,
        1..=5 => 257 + hash as usize % 1800,
        _ => 2000 + hash as usize % 7000,
    };
    into.clear();
    let pattern = hash.to_le_bytes();
    into.extend(number.to_le_bytes().iter().chain(pattern.iter().cycle()).take(bytes));
}

/// A delivery and the number of its frame.
type Held = (u64, Delivery);

struct Side {
    device: Arc<RingDevice>,
    receiver: Receiver,
    /// To and from the other thread.
    give: Sender<Held>,
    take: From<Held>,
    held: VecDeque<Held>,
    scratch: [Vec<u8>; 2],
    next: u64,
    seen: u64,
}

impl Side {
    fn check(&mut self, number: u64, delivery: &Delivery) {
        let [expected, got] = &mut self.scratch;
        frame(number, expected);
        got.clear();
        delivery.copy_to_frame(got);
        assert!(got == expected, "frame {number} of queue {}", delivery.queue());
    }

    /// Frames come, as many as there are buffers for, are taken, and go half to the other thread.
    fn round(&mut self) {
        let queue = self.receiver.number();
        for _ in 0..32 {
            frame(self.next, &mut self.scratch[0]);
            if !self.device.deliver(queue, &self.scratch[0]) {
                break;
            }
            self.next += 1;
        }
        let mut taken = Vec::new();
        self.receiver
            .turn(&Napi { timeout: Duration::ZERO, ..Napi::default() }, |d| taken.push(d))
            .unwrap();
        for delivery in taken {
            let number = self.seen;
            self.seen += 1;
            self.check(number, &delivery);
            // The other thread is gone only if it failed.
            match number.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 63 {
                0 => self.give.send((number, delivery)).expect("the other thread"),
                _ => self.held.push_back((number, delivery)),
            }
        }
        self.held.extend(self.take.try_iter().take(64));
        self.release(KEPT);
    }

    fn release(&mut self, keep: usize) {
        while self.held.len() > keep {
            // From both ends: some stay for long.
            let end = if self.held.len().is_multiple_of(3) { self.held.pop_back() } else { None };
            if let Some((number, delivery)) = end.or_else(|| self.held.pop_front()) {
                self.check(number, &delivery);
            }
        }
    }

    fn stop_and_start(&mut self) {
        let mut taken = Vec::new();
        self.receiver.stop(|d| taken.push(d)).unwrap();
        assert!(taken.is_empty(), "all was taken before");
        let census = self.receiver.census();
        assert_eq!((census.with_device, census.out + census.spare), (0, POOL));
        self.receiver.start().unwrap();
    }

    /// Until both threads have enough; returns how many buffers came home.
    fn run(
        mut self,
        done: &AtomicU64,
        enough: u64,
        until: Instant,
        other_done: &[AtomicBool; 2],
    ) -> ReturnStats {
        let me = self.receiver.number();
        let mut rounds = 0u64;
        loop {
            let before = self.receiver.stats().completions;
            self.round();
            done.fetch_add(self.receiver.stats().completions - before, Ordering::Relaxed);
            rounds += 1;
            if rounds.is_multiple_of(5000) {
                self.stop_and_start();
            }
            if rounds.is_multiple_of(64)
                && done.load(Ordering::Relaxed) >= enough
                && Instant::now() >= until
            {
                break;
            }
        }
        other_done[me].store(true, Ordering::Release);
        // What the other one still sends.
        while !other_done[1 - me].load(Ordering::Acquire) {
            self.held.extend(self.take.try_iter());
            self.release(0);
        }
        self.held.extend(self.take.try_iter());
        self.release(0);
        self.home()
    }

    /// Waits for the other thread's last releases.
    fn home(mut self) -> ReturnStats {
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            self.receiver.stop(|_| panic!("all was taken before")).unwrap();
            let census = self.receiver.census();
            if census.spare == POOL {
                assert_eq!(self.seen, self.next, "every frame came");
                return self.receiver.stats().returns;
            }
            assert!(Instant::now() < limit, "lost: {census:?}");
            self.receiver.start().unwrap();
            self.receiver.poll(0, drop).unwrap();
            std::thread::yield_now();
        }
    }
}

fn side(device: &Arc<RingDevice>, queue: RxQueue, give: Sender<Held>, take: From<Held>) -> Side {
    Side {
        device: Arc::clone(device),
        receiver: queue.attach().unwrap(),
        give,
        take,
        held: VecDeque::new(),
        scratch: Default::default(),
        next: 0,
        seen: 0,
    }
}

#[test]
fn nothing_is_lost_or_doubled_for_long() {
    let seconds = setting("GROOVE_SOAK_SECONDS", 1);
    let enough = setting("GROOVE_SOAK_BUFFERS", 20_000);
    let device = Arc::new(RingDevice::default());
    let mut settings = Settings::new(2);
    (settings.ring, settings.buffers, settings.buffer_bytes) = (POOL, POOL, 2048);
    let nic = Nic::open(Arc::clone(&device) as Arc<_>, &settings).unwrap();
    let [first, second]: [RxQueue; 2] = nic.queues.try_into().expect("two queues");
    let until = Instant::now() + Duration::from_secs(seconds);
    let (to_second, from_first) = channel();
    let (to_first, from_second) = channel();
    let (done, over) = (AtomicU64::new(0), [AtomicBool::new(false), AtomicBool::new(false)]);
    let returns = std::thread::scope(|scope| {
        let (device, done, over) = (&device, &done, &over);
        let threads = [(first, to_second, from_second), (second, to_first, from_first)].map(
            |(queue, give, take)| {
                scope.spawn(move || side(device, queue, give, take).run(done, enough, until, over))
            },
        );
        threads.map(|thread| thread.join().unwrap())
    });
    let done = done.into_inner();
    let of = |f: fn(&ReturnStats) -> u64| returns.iter().map(f).sum::<u64>();
    let (home, away, overflow) = (of(|r| r.home), of(|r| r.away), of(|r| r.overflow));
    println!(
        "{done} buffers in at least {seconds} s: {home} home, {away} away, {overflow} over the \
         overflow list, {} kicks; none lost, none doubled",
        of(|r| r.kicks)
    );
    assert!(done >= enough && home > 0 && away > 0);
}
