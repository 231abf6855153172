//! One conformance suite for every device: the real driver runs it, the golden model says what must
//! come.
//!
//! A device is plugged in at the end, with one line. What a test needs of it is
//! `driver_support::Testbed`.

mod driver_support;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use driver_support::rtl::Rtl;
use driver_support::socket::Socketed;
use driver_support::watch::Watched;
use driver_support::{Bench, Open, Software, checked, settings, small};
use groove_device::Parameters;
use groove_driver::{Device, DmaMemory, Nic, QueueError, wait_any};
use groove_spec::DropReason;
use groove_spec::nic::{COMPLETION_PRODUCER, QUEUE_DMA_ERRORS, QUEUE_NO_BUFFER, queue_offset};
use groove_tests::frames::{encode, tcp, udp, v4};
use groove_tests::generate::random::Rng;
use groove_tests::generate::segment::Scope;
use groove_tests::generate::{Item, Traffic};

/// Lies that the hostile device tells, unless `GROOVE_LIES` says otherwise.
const LIES: usize = 4000;
/// Longest wait for what must come.
const FAULT_WAIT: Duration = Duration::from_secs(60);

/// A frame of its own: UDP never merges.
fn alone(number: usize, payload_len: usize) -> Vec<u8> {
    encode(udp(v4(number, payload_len)), |_| {})
}

/// Segment of a flow that merges.
fn segment(flow: u16, number: usize, payload_len: usize) -> Vec<u8> {
    encode(v4(number, payload_len), |packet| tcp(packet).source = 1500 + flow)
}

fn read(device: &Arc<dyn Device>, queue: usize, register: &groove_spec::Register) -> u32 {
    let offset = queue_offset(queue, register) as u64;
    device.read32(groove_driver::identify::REGISTERS, offset).unwrap()
}

/// Random traffic through every shape of queue.
fn deliveries_are_the_models(open: Open) {
    let mut seed = 0;
    let (mut items, mut merged, mut dropped) = (0, 0, 0);
    for queues in [1, 2, 7, 32] {
        for buffer_bytes in [2048, 2112, 4096, 9216, 65536] {
            for split in [true, false] {
                seed += 1;
                let mut rng = Rng::new(seed);
                let mut traffic = Traffic::new(seed, queues, Scope::Hardware);
                let mut settings = settings(traffic.config());
                let pool = if queues == 32 && buffer_bytes == 65536 { 16 } else { 64 };
                (settings.ring, settings.buffers) = (64, pool);
                (settings.buffer_bytes, settings.split) = (buffer_bytes, split);
                settings.hold_time = rng.below(4) as u16;
                settings.moderation_time = rng.below(40) as u16;
                let mut bench = Bench::open(open, &settings);
                let count = bench.bed.share(600, 60);
                items += count as u64;
                for item in traffic.by_ref().take(count) {
                    bench.item(&item);
                    if rng.chance(300) {
                        let queue = rng.below(queues.into());
                        bench.poll(queue, rng.range(1, 20));
                    }
                    if rng.chance(10) {
                        bench.bed.tick(bench.bed.share(rng.below(100_000), 100) as u64);
                    }
                }
                bench.poll_all();
                let model = bench.finish();
                merged += model.stats().gro_packets;
                dropped += model.stats().drops[usize::from(DropReason::NoBuffer.code())];
            }
        }
    }
    let few = items / 50;
    assert!(merged > few && dropped > few, "of {items}, {merged} merged, {dropped} dropped");
}

/// A long stretch of random traffic through one shape of queue, the host coming now and then.
fn random_frames_in_bulk(open: Open) {
    let mut rng = Rng::new(23);
    let mut traffic = Traffic::new(23, 4, Scope::Hardware);
    let mut settings = settings(traffic.config());
    (settings.ring, settings.buffers, settings.buffer_bytes) = (256, 200, 4096);
    let mut bench = Bench::open(open, &settings);
    for number in 0..bench.bed.share(100_000, 2_000) {
        bench.item(&traffic.next().expect("traffic does not end"));
        if rng.chance(15) {
            bench.poll(rng.below(4), 200);
        }
        if number % 1000 == 999 {
            bench.poll_all();
            bench.check();
        }
    }
    bench.finish();
}

/// More completions than 16 bits count, over the smallest ring.
fn rings_wrap(open: Open) {
    let mut settings = small(1, 2048, true);
    (settings.ring, settings.buffers) = (16, 16);
    let mut bench = Bench::open(open, &settings);
    let count = bench.bed.share(66_000, 1_000);
    for number in 0..count {
        bench.inject(&alone(number % 1000, 20 + number % 400), false);
        if number % 4 == 3 {
            assert_eq!(bench.poll(0, 9), 4);
        }
        if number % 500 == 499 {
            bench.check();
        }
    }
    assert_eq!(bench.receivers[0].stats().completions, count as u64 / 4 * 4);
    bench.finish();
}

/// A queue whose host does not come starves alone, and its held session is whole.
fn an_uncovered_frame_changes_nothing(open: Open) {
    let mut settings = small(2, 2048, true);
    (settings.ring, settings.buffers) = (16, 16);
    (settings.hold_time, settings.moderation_time) = (0, 0);
    // Flows to queue 0, everything else to queue 1.
    settings.rss.hash_types = 1 << groove_spec::HashType::Ipv4Tcp.code();
    settings.rss.indirection = [0; 128];
    settings.rss.default_queue = 1;
    let mut bench = Bench::open(open, &settings);
    bench.inject_alone(&segment(0, 0, 1000));
    for number in 0..40 {
        bench.inject_alone(&segment(1 + number, 0, 0)); // alone, in queue 0
    }
    bench.inject_alone(&segment(0, 1, 1000));
    bench.inject_alone(&alone(0, 500));
    let device = bench.bed.device();
    // One buffer is the session's, one is kept back for the worst case.
    assert_eq!(read(&device, 0, &COMPLETION_PRODUCER), 14);
    assert_eq!(read(&device, 0, &QUEUE_NO_BUFFER), 27);
    assert_eq!(bench.poll(1, 9), 1, "the other queue goes on");
    bench.poll_all();
    bench.poll_all(); // the second one posts what the first one brought home
    bench.bed.settle();
    bench.inject_alone(&segment(0, 1, 1000)); // a frame behind the stop would be dropped
    let model = bench.finish();
    assert_eq!(model.stats().gro_wire_packets, 2, "the segment that came again was merged");
    assert_eq!(model.stats().drops[usize::from(DropReason::NoBuffer.code())], 27);
}

/// Deliveries stay out for long and come home in any order, from two threads.
fn nothing_is_lost_across_threads(open: Open) {
    let mut rng = Rng::new(11);
    let mut bench = Bench::open(open, &small(2, 2048, false));
    let (sender, receiver) = std::sync::mpsc::channel::<groove_driver::Delivery>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            groove_driver::set_domain(1);
            let mut late = VecDeque::new();
            for delivery in receiver {
                late.push_back(delivery);
                if late.len() > 10 {
                    late.pop_front();
                }
            }
        });
        let mut kept: Vec<groove_driver::Delivery> = Vec::new();
        for number in 0..bench.bed.share(6000, 1500) {
            let flow = rng.below(20) as u16;
            bench.inject(&segment(flow, number, 1448), false);
            let queue = rng.below(2);
            let mut taken = Vec::new();
            bench.receivers[queue].poll(3, |delivery| taken.push(delivery)).unwrap();
            for delivery in taken {
                bench.took(&delivery);
                if rng.chance(500) {
                    sender.send(delivery).unwrap();
                } else {
                    kept.push(delivery);
                }
            }
            while kept.len() > 8 {
                kept.swap_remove(rng.below(kept.len()));
            }
        }
        drop(sender);
    });
    bench.poll_all();
    let returns = bench.receivers.iter().map(|r| r.stats().returns);
    let (home, away) = returns.fold((0, 0), |sum, r| (sum.0 + r.home, sum.1 + r.away + r.overflow));
    assert!(home > 100 && away > 100, "{home} home, {away} away");
    bench.finish();
}

/// A frame that comes while the receiver goes to sleep wakes it.
fn no_wake_up_is_lost_between_threads(open: Open) {
    let mut bench = Bench::open(open, &small(1, 2048, true));
    let frames = bench.bed.share(3000, 300);
    let bed = Arc::clone(&bench.bed);
    let receiver = &mut bench.receivers[0];
    let mut seen = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..frames {
                bed.inject(&alone(number, 100), false);
                if number % 7 == 0 {
                    std::thread::yield_now();
                }
            }
        });
        let mut woken = true;
        loop {
            let lost = read(&bed.device(), 0, &QUEUE_NO_BUFFER) as usize;
            if seen + lost == frames {
                break;
            }
            assert!(woken, "asleep with {seen} seen and {lost} lost");
            woken = receiver.wait(Duration::from_secs(5)).unwrap();
            while woken && receiver.poll(8, |_| seen += 1).unwrap() > 0 {}
        }
    });
    assert!(seen > 0);
}

/// Moderation: nothing before the count; the time flushes first, then signals.
fn moderation_waits_and_flushes(open: Open) {
    let mut settings = small(1, 2048, true);
    (settings.moderation_count, settings.moderation_time, settings.hold_time) = (4, 200, 0);
    let mut bench = Bench::open(open, &settings);
    let wait = |bench: &mut Bench| bench.receivers[0].wait(Duration::ZERO).unwrap();
    assert!(!wait(&mut bench));
    bench.inject(&alone(0, 100), false);
    bench.inject(&segment(0, 0, 100), false);
    bench.bed.settle();
    bench.bed.tick(64 * 201);
    assert_eq!(bench.poll(0, 9), 2, "the held frame was flushed");
    assert!(bench.receivers[0].wait(Duration::ZERO).unwrap(), "the signal of the expiry");
    (0..3).for_each(|number| bench.inject(&alone(number, 100), false));
    assert_eq!(bench.poll(0, 9), 3);
    assert!(!wait(&mut bench), "three are no four");
    (0..4).for_each(|number| bench.inject(&alone(number, 100), false));
    assert_eq!(bench.poll(0, 9), 4);
    assert!(wait(&mut bench));
    bench.finish();
}

/// What is held comes out in time without an interrupt and without a flush.
fn hold_time_is_bounded(open: Open) {
    let mut settings = small(1, 2048, true);
    (settings.interrupts, settings.hold_time) = (false, 2);
    let mut bench = Bench::open(open, &settings);
    bench.inject(&segment(0, 0, 100), false);
    bench.bed.tick(2048);
    bench.inject(&segment(1, 0, 100), false);
    assert_eq!(bench.poll(0, 9), 0, "opened in the tick that has just ended");
    bench.bed.tick(2048);
    assert_eq!(bench.poll(0, 9), 1);
    bench.finish();
}

/// Stop and start with traffic on the way: all comes, all buffers are home, each time.
fn buffers_are_conserved(open: Open) {
    let mut bench = Bench::open(open, &small(2, 2048, true));
    let mut rng = Rng::new(3);
    for number in 0..bench.bed.share(3000, 400) {
        bench.inject(&segment(rng.below(30) as u16, number / 30, 700), false);
        if rng.chance(20) {
            let queue = rng.below(2);
            let mut taken = Vec::new();
            bench.receivers[queue].stop(|delivery| taken.push(checked(&delivery))).unwrap();
            let census = bench.receivers[queue].census();
            assert_eq!((census.with_device, census.out, census.spare), (0, 0, 64));
            assert!(matches!(
                bench.receivers[queue].poll(1, |_| {}),
                Err(QueueError::Stopped(stopped)) if stopped == queue
            ));
            bench.took_all(queue, taken);
            if rng.chance(500) {
                bench.inject(&segment(99, number, 100), false);
            }
            bench.receivers[queue].start().unwrap();
        }
        bench.poll(rng.below(2), 5);
    }
    bench.poll_all();
    bench.finish();
}

/// The last handle takes every mapping away, and what is still out does not change any more.
fn the_last_handle_resets_the_device(open: Open) {
    let parameters = Parameters { queues: 2, ..Parameters::default() };
    let bed: Arc<dyn driver_support::Testbed> = Arc::from(open(parameters));
    let settings = small(2, 2048, true);
    let mut bench = Bench::with(Arc::clone(&bed), &settings, |device| device);
    let mut out = Vec::new();
    for number in 0..60 {
        bench.inject(&alone(number, 1200), false);
        bench.inject(&segment(number as u16, 0, 1200), false);
    }
    for receiver in &mut bench.receivers {
        receiver.poll(5, |delivery| out.push(delivery)).unwrap();
    }
    let before: Vec<_> = out.iter().map(checked).collect();
    assert!(!before.is_empty());
    drop(bench); // with traffic on the way

    let page = Arc::new(DmaMemory::new(4096).unwrap());
    bed.device().dma_map(1 << 32, page).expect("nothing is mapped any more");
    bed.journal();
    let mut again = Bench::with(bed, &settings, |device| device);
    for number in 0..60 {
        again.inject(&alone(number, 1300), false);
        again.poll_all();
    }
    again.finish();
    assert_eq!(out.iter().map(checked).collect::<Vec<_>>(), before);
}

/// Memory that is in no ring, slot or buffer is as it was.
fn guards_are_untouched(open: Open) {
    for (seed, buffer_bytes) in [(1, 2048), (2, 4096), (3, 65536)] {
        for split in [true, false] {
            let mut traffic = Traffic::new(seed, 3, Scope::Hardware);
            let mut settings = settings(traffic.config());
            (settings.ring, settings.buffers) = (64, 40);
            (settings.buffer_bytes, settings.split) = (buffer_bytes, split);
            let bed = Arc::from(open(Parameters { queues: 3, ..Parameters::default() }));
            let mut watched = None;
            let mut bench = Bench::with(bed, &settings, |device| {
                Arc::clone(watched.insert(Watched::new(device))) as Arc<dyn Device>
            });
            for item in traffic.by_ref().take(bench.bed.share(1500, 100)) {
                bench.item(&item);
                bench.poll_all();
            }
            let watched = watched.unwrap();
            (0..3).for_each(|queue| watched.check_guards(queue, 40));
            bench.finish();
        }
    }
}

/// A mapping that goes away under a running queue stops that queue alone; nothing is written there.
fn unmapped_memory_is_never_written(open: Open) {
    let bed: Arc<dyn driver_support::Testbed> =
        Arc::from(open(Parameters { queues: 2, ..Parameters::default() }));
    let mut settings = small(2, 2048, true);
    settings.rss.hash_types = 0;
    settings.rss.default_queue = 1;
    let mut watched = None;
    let mut bench = Bench::with(Arc::clone(&bed), &settings, |device| {
        Arc::clone(watched.insert(Watched::new(device))) as Arc<dyn Device>
    });
    let watched: Arc<Watched> = watched.unwrap();
    bench.inject(&segment(0, 0, 1000), false);
    let (memory, _) = watched.at(2 << 32);
    bed.device().dma_unmap(2 << 32, memory.bytes() as u64).unwrap();
    let mut before = vec![0; memory.bytes()];
    memory.read(0, &mut before).unwrap();
    for number in 0..10 {
        bench.inject(&alone(number, 1000), false);
    }
    bed.settle();
    let mut after = vec![0; memory.bytes()];
    memory.read(0, &mut after).unwrap();
    assert!(before == after, "a write behind the unmap");
    // Accesses that were under way fail each on its own.
    assert!(read(&bed.device(), 1, &QUEUE_DMA_ERRORS) >= 1);
    assert_eq!(read(&bed.device(), 0, &QUEUE_DMA_ERRORS), 0);
    assert_eq!(bench.receivers[1].poll(9, |_| {}).unwrap(), 0);
    bench.receivers[1].stop(|_| panic!("nothing can come")).unwrap();
    assert_eq!(bench.receivers[1].census().spare, 64);
}

/// An error of memory ends the wait of whoever has nothing else to wait for, before it and behind
/// it.
fn a_fault_ends_the_wait(open: Open) {
    let bed: Arc<dyn driver_support::Testbed> =
        Arc::from(open(Parameters { queues: 2, ..Parameters::default() }));
    let mut settings = small(2, 2048, true);
    settings.rss.hash_types = 0;
    settings.rss.default_queue = 1;
    let mut watched = None;
    let mut bench = Bench::with(Arc::clone(&bed), &settings, |device| {
        Arc::clone(watched.insert(Watched::new(device))) as Arc<dyn Device>
    });
    let watched: Arc<Watched> = watched.unwrap();
    let (memory, _) = watched.at(2 << 32);
    let receiver = &mut bench.receivers[1];
    let fault = |waited| matches!(waited, Err(QueueError::Fault(1)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bed.settle();
            bed.device().dma_unmap(2 << 32, memory.bytes() as u64).unwrap();
            bed.inject(&alone(0, 1000), false);
        });
        assert!(fault(receiver.wait(FAULT_WAIT)), "while it waits");
    });
    assert!(fault(receiver.wait(FAULT_WAIT)), "each time");
    assert!(fault(wait_any(std::slice::from_mut(receiver), FAULT_WAIT)), "of several, too");
    assert_eq!(receiver.poll(9, |_| panic!("nothing came")).unwrap(), 0);
    receiver.stop(|_| panic!("nothing can come")).unwrap();
    bed.device().dma_map(2 << 32, Arc::clone(&memory)).unwrap();
    receiver.start().unwrap();
    bed.settle();
    bed.inject(&alone(1, 1000), false);
    assert!(receiver.wait(FAULT_WAIT).unwrap(), "it runs again");
    assert_eq!(receiver.poll(9, |_| {}).unwrap(), 1);
}

/// A wire that is faster than the device, without back-pressure: what finds no room is dropped
/// whole and counted, and the rest is as if it had come alone. Tokens and timers go on.
fn overload_drops_and_accounts(open: Open) {
    let mut rng = Rng::new(31);
    let mut traffic = Traffic::new(31, 2, Scope::Hardware);
    let (mut dropped, mut merged) = (0, 0);
    for split in [true, false, true, false] {
        let mut settings = settings(traffic.config());
        (settings.ring, settings.buffers, settings.split) = (256, 200, split);
        settings.hold_time = 1;
        let mut bench = Bench::open(open, &settings);
        for number in 0..bench.bed.share(20_000, 400) {
            bench.item(&traffic.next().expect("traffic does not end"));
            for _ in 0..4 {
                bench.inject(&segment(rng.below(3) as u16, number, rng.range(0, 200)), false);
            }
            if rng.chance(30) {
                bench.poll(rng.below(2), 200);
            }
        }
        bench.poll_all();
        let device = bench.bed.device();
        let register = groove_spec::stages::ingress::DROP_OVERFLOW.offset as u64;
        let counted = device.read32(groove_driver::identify::REGISTERS, register).unwrap();
        let model = bench.finish();
        let overflows = model.stats().drops[usize::from(DropReason::Overflow.code())];
        assert_eq!(u64::from(counted), overflows);
        dropped += overflows;
        merged += model.stats().gro_packets;
    }
    assert!(dropped > 50 && merged > 50, "{dropped} dropped, {merged} merged");
}

/// A device that lies about anything is told so, or gives what its lie means within its buffers.
fn a_lie_quarantines_the_queue(open: Open) {
    let asked = std::env::var("GROOVE_LIES").ok().and_then(|n| n.parse().ok());
    let mut rng = Rng::new(17);
    let (mut told, mut caught, mut number) = (0, 0, 0);
    for (round, split) in [true, false].into_iter().enumerate() {
        let bed: Arc<dyn driver_support::Testbed> = Arc::from(open(Parameters::default()));
        let lies = asked.unwrap_or_else(|| bed.share(LIES, 160));
        let mut settings = small(1, 2048, split);
        settings.interrupts = false;
        let watched = Watched::new(bed.device());
        let nic = Nic::open(Arc::clone(&watched) as Arc<dyn Device>, &settings).unwrap();
        let mut receiver = nic.queues.into_iter().next().unwrap().attach().unwrap();
        let mut since_start = 0u16;
        while told < lies * (round + 1) / 2 {
            for _ in 0..rng.range(1, 12) {
                number += 1;
                bed.inject(&segment(rng.below(3) as u16, number % 10_000, 1400), false);
            }
            bed.settle();
            let produced = read(&bed.device(), 0, &COMPLETION_PRODUCER) as u16;
            let new = produced.wrapping_sub(since_start);
            if new > 0 && new <= 64 {
                let index = since_start.wrapping_add(rng.below(new.into()) as u16);
                watched.lie(&mut rng, 0, index);
                told += 1;
            }
            let before = receiver.stats().completions;
            let polled = receiver.poll(64, |delivery| {
                checked(&delivery);
            });
            since_start = since_start.wrapping_add((receiver.stats().completions - before) as u16);
            let stuck = polled.is_ok() && new > 0 && receiver.stats().completions == before;
            if let Err(QueueError::Violation(violation)) = &polled {
                caught += 1;
                assert_eq!(violation.queue, 0);
                let again = receiver.poll(64, |_| panic!("a quarantined queue gives nothing"));
                assert!(matches!(again, Err(QueueError::Violation(v)) if v == *violation));
            } else {
                polled.unwrap();
            }
            if receiver.poll(0, |_| {}).is_err() || stuck {
                // The flush at the end may meet an older lie.
                match receiver.stop(|_| {}) {
                    Ok(()) | Err(QueueError::Violation(_)) => {}
                    Err(other) => panic!("{other}"),
                }
                let census = receiver.census();
                assert_eq!((census.with_device, census.out, census.spare), (0, 0, 64));
                receiver.start().unwrap();
                since_start = 0;
            }
        }
    }
    assert!(caught > told / 4, "{caught} of {told} lies were caught");
}

/// Tokens, runts and bad checks come through as they are.
fn tokens_and_bad_frames_come_through(open: Open) {
    let mut bench = Bench::open(open, &small(1, 2048, true));
    for item in [
        Item::Frame { bytes: vec![0; 13], bad_fcs: false },
        Item::Frame { bytes: vec![0; 9217], bad_fcs: false },
        Item::Frame { bytes: alone(0, 64), bad_fcs: true },
        Item::Frame { bytes: segment(0, 0, 64), bad_fcs: false },
        Item::Token { queue: 0, kind: groove_spec::TokenKind::FlushAll },
        Item::Token { queue: 31, kind: groove_spec::TokenKind::FlushAll },
    ] {
        bench.item(&item);
    }
    assert_eq!(bench.poll(0, 9), 1);
    let drops = bench.finish().stats().drops;
    assert_eq!(drops[..3], [1, 1, 1]);
}

/// Plugs a device in.
macro_rules! conformance {
    ($device:ident, $open:expr; $($test:ident),* $(,)?) => {
        mod $device {
            use super::*;
            $(#[test] fn $test() { super::$test($open); })*
        }
    };
}

conformance!(software, Software::open;
    deliveries_are_the_models,
    random_frames_in_bulk,
    rings_wrap,
    an_uncovered_frame_changes_nothing,
    nothing_is_lost_across_threads,
    no_wake_up_is_lost_between_threads,
    moderation_waits_and_flushes,
    hold_time_is_bounded,
    buffers_are_conserved,
    the_last_handle_resets_the_device,
    guards_are_untouched,
    unmapped_memory_is_never_written,
    a_lie_quarantines_the_queue,
    a_fault_ends_the_wait,
    tokens_and_bad_frames_come_through,
);

conformance!(socket, Socketed::open;
    deliveries_are_the_models,
    random_frames_in_bulk,
    rings_wrap,
    an_uncovered_frame_changes_nothing,
    nothing_is_lost_across_threads,
    no_wake_up_is_lost_between_threads,
    moderation_waits_and_flushes,
    hold_time_is_bounded,
    buffers_are_conserved,
    the_last_handle_resets_the_device,
    guards_are_untouched,
    unmapped_memory_is_never_written,
    a_lie_quarantines_the_queue,
    a_fault_ends_the_wait,
    tokens_and_bad_frames_come_through,
);

conformance!(hardware_512, Rtl::wide;
    deliveries_are_the_models,
    random_frames_in_bulk,
    rings_wrap,
    an_uncovered_frame_changes_nothing,
    moderation_waits_and_flushes,
    hold_time_is_bounded,
    buffers_are_conserved,
    the_last_handle_resets_the_device,
    guards_are_untouched,
    unmapped_memory_is_never_written,
    a_lie_quarantines_the_queue,
    tokens_and_bad_frames_come_through,
);

// The function that QEMU attaches: few rounds, as every register access is a message and a wait.
conformance!(socket_hardware, Socketed::hardware;
    random_frames_in_bulk,
    rings_wrap,
    an_uncovered_frame_changes_nothing,
    moderation_waits_and_flushes,
    hold_time_is_bounded,
    buffers_are_conserved,
    the_last_handle_resets_the_device,
    unmapped_memory_is_never_written,
    tokens_and_bad_frames_come_through,
);

conformance!(socket_hardware_running, Socketed::running_hardware;
    no_wake_up_is_lost_between_threads,
    the_last_handle_resets_the_device,
);

// With a clock that runs by itself.
conformance!(hardware_running, Rtl::running;
    nothing_is_lost_across_threads,
    no_wake_up_is_lost_between_threads,
    buffers_are_conserved,
    the_last_handle_resets_the_device,
    a_fault_ends_the_wait,
);

// Without back-pressure to the wire.
conformance!(hardware_lossy, Rtl::lossy;
    overload_drops_and_accounts,
    random_frames_in_bulk,
    buffers_are_conserved,
    the_last_handle_resets_the_device,
);

conformance!(hardware_64, Rtl::narrow;
    random_frames_in_bulk,
    rings_wrap,
    an_uncovered_frame_changes_nothing,
    buffers_are_conserved,
    the_last_handle_resets_the_device,
    unmapped_memory_is_never_written,
);
