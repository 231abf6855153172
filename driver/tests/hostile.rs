//! A device that lies: any field of any completion, at random. The driver says what was wrong, or
//! takes the lie for what it means within buffers that are the device's to fill; whatever it gives
//! can be read to the end.
//!
//! `GROOVE_LIES` is how many, `GROOVE_SEED` which: `GROOVE_LIES=1000000 cargo test -p groove-driver
//! --test hostile`. `setup/sanitize` runs it under AddressSanitizer.

#[path = "../../host/bench/src/ring.rs"]
#[allow(dead_code)]
mod ring_device;

use std::sync::Arc;

use groove_driver::{Delivery, Nic, QueueError, Receiver, Settings};
use groove_spec::Field;
use groove_spec::nic::COMPLETION;
use ring_device::RingDevice;

/// Lies, unless told otherwise.
const LIES: u64 = 20_000;
const POOL: usize = 64;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// xorshift64*.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

fn read(record: &[u64; 4], field: &Field) -> u64 {
    let bit = |i: usize| record[i / 64] >> (i % 64) & 1;
    (0..field.width).fold(0, |value, i| value | bit(field.lsb + i) << i)
}

fn write(record: &mut [u64; 4], field: &Field, value: u64) {
    for i in 0..field.width {
        let at = field.lsb + i;
        record[at / 64] &= !(1 << (at % 64));
        record[at / 64] |= (value >> i & 1) << (at % 64);
    }
}

/// Another value for one field; near ones are those that checks are wrong about.
fn lie(rng: &mut Rng, record: &mut [u64; 4]) {
    let field = &COMPLETION.fields[rng.below(COMPLETION.fields.len())];
    let old = read(record, field);
    let new = match rng.below(6) {
        0 => old ^ 1 << rng.below(field.width),
        1 => old.wrapping_add(1),
        2 => old.wrapping_sub(1),
        3 => 0,
        4 => u64::MAX,
        _ => rng.next(),
    };
    write(record, field, new);
}

/// Reads all that can be read.
fn touch(delivery: &Delivery) {
    let mut whole = Vec::new();
    delivery.copy_to_frame(&mut whole);
    assert_eq!(whole.len(), delivery.metadata().total_len as usize);
    let mut parts = Vec::new();
    delivery.header().append_to(&mut parts);
    assert_eq!(parts.len(), usize::from(delivery.metadata().header_bytes));
    delivery.payload().for_each(|part| part.append_to(&mut parts));
    assert_eq!(parts.len(), whole.len());
    assert_eq!(delivery.to_spec().bytes.len(), whole.len());
    groove_driver::virtio_net_hdr(&delivery.metadata());
}

fn open(split: bool) -> (Arc<RingDevice>, Receiver) {
    let device = Arc::new(RingDevice::default());
    let mut settings = Settings::new(1);
    (settings.ring, settings.buffers, settings.buffer_bytes) = (POOL, POOL, 2048);
    (settings.interrupts, settings.split) = (false, split);
    let nic = Nic::open(Arc::clone(&device) as Arc<_>, &settings).unwrap();
    (device, nic.queues.into_iter().next().unwrap().attach().unwrap())
}

/// Until `lies` were told. Returns how many the driver named.
fn tell(rng: &mut Rng, lies: u64, split: bool) -> u64 {
    let (device, mut receiver) = open(split);
    let (mut told, mut named, mut taken) = (0, 0, 0u16);
    let mut kept: Vec<Delivery> = Vec::new();
    while told < lies {
        for _ in 0..1 + rng.below(6) {
            let bytes = 14 + [rng.below(100), rng.below(300), rng.below(9000)][rng.below(3)];
            device.deliver(0, &vec![rng.next() as u8; bytes]);
        }
        let produced = device.produced(0);
        let new = produced.wrapping_sub(taken);
        for _ in 0..usize::from(new > 0) * (1 + rng.below(2)) {
            let index = taken.wrapping_add(rng.below(new.into()) as u16);
            device.tamper(0, index, |record| lie(rng, record));
            told += 1;
        }
        let before = receiver.stats().completions;
        let polled = receiver.poll(POOL, |delivery| {
            touch(&delivery);
            if rng.below(4) == 0 {
                kept.push(delivery);
            }
        });
        taken = taken.wrapping_add((receiver.stats().completions - before) as u16);
        while kept.len() > 8 {
            touch(&kept.swap_remove(rng.below(kept.len())));
        }
        if let Err(QueueError::Violation(violation)) = &polled {
            named += 1;
            let again = receiver.poll(POOL, |_| panic!("a quarantined queue gives nothing"));
            assert!(matches!(again, Err(QueueError::Violation(v)) if v == *violation));
        } else {
            polled.unwrap();
        }
        // Named, or stuck behind a record that lies about its generation.
        if taken != device.produced(0) || receiver.poll(0, drop).is_err() {
            match receiver.stop(|delivery| touch(&delivery)) {
                Ok(()) | Err(QueueError::Violation(_)) => {}
                Err(other) => panic!("{other}"),
            }
            let census = receiver.census();
            assert_eq!((census.with_device, census.out + census.spare), (0, POOL));
            receiver.start().unwrap();
            taken = 0;
        }
    }
    drop(kept);
    match receiver.stop(drop) {
        Ok(()) | Err(QueueError::Violation(_)) => {}
        Err(other) => panic!("{other}"),
    }
    assert_eq!(receiver.census().spare, POOL, "after {told} lies, all buffers are home");
    named
}

#[test]
fn lies_are_named_or_harmless() {
    let (lies, seed) = (setting("GROOVE_LIES", LIES), setting("GROOVE_SEED", 1));
    let mut rng = Rng(seed.wrapping_mul(2) + 1);
    let named: u64 =
        [true, false].map(|split| tell(&mut rng, lies.div_ceil(2), split)).iter().sum();
    println!("{lies} lies, {named} named; GROOVE_SEED={seed}");
    assert!(named > lies / 4, "{named} of {lies} were named");
}
