//! Random conversations with the server. Alone in its process, as it counts the open files.

mod support;

use std::os::fd::{AsFd, BorrowedFd};

use groove_driver::vfio_user::wire::{
    Access, DmaMap, DmaUnmap, Header, NO_REPLY, SetIrqs, Version, command,
};
use groove_driver::{DmaMemory, Interrupt};
use support::{Raw, Served, later};

const ALL_COMMANDS: std::ops::Range<u16> = 0..20;

/// A generator of numbers: the same ones for the same seed.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// Small, large, at a border, or anything.
    fn number(&mut self) -> u64 {
        match self.below(5) {
            0 => self.below(16),
            1 => 1 << self.below(64),
            2 => (1u64 << self.below(64)).wrapping_sub(1),
            3 => 0x1000 * self.below(64),
            _ => self.next(),
        }
    }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A body that is right for its command but for its numbers, or any bytes.
fn body(rng: &mut Rng, number: u16) -> Vec<u8> {
    let small = |rng: &mut Rng| rng.number() as u32;
    match (rng.below(60), number) {
        (0, _) => (0..rng.below(64)).map(|_| rng.next() as u8).collect(),
        (_, command::VERSION) => Version { major: 0, minor: rng.below(3) as u16 }.encode(),
        (_, command::DMA_MAP) => DmaMap {
            argsz: 32,
            flags: rng.below(5) as u32,
            offset: rng.number(),
            address: rng.number(),
            size: rng.number(),
        }
        .encode(),
        (_, command::DMA_UNMAP) => DmaUnmap {
            argsz: 24,
            flags: rng.below(4) as u32,
            address: rng.number(),
            size: rng.number(),
        }
        .encode(),
        (_, command::SET_IRQS) => SetIrqs {
            argsz: 20,
            flags: small(rng),
            index: rng.below(6) as u32,
            start: small(rng),
            count: small(rng),
        }
        .encode(),
        (_, command::REGION_READ | command::REGION_WRITE) => {
            let count = if rng.below(4) == 0 { small(rng) } else { 4 };
            let region = [0, 2, 7, rng.below(10) as u32][rng.below(4) as usize];
            let offset = if rng.below(2) == 0 { rng.number() } else { 4 * rng.below(0x900) };
            let mut bytes = Access { offset, region, count }.encode();
            if number == command::REGION_WRITE && count < 4096 {
                bytes.extend((0..count).map(|_| rng.next() as u8));
            }
            bytes
        }
        _ => vec![rng.number() as u8; 32],
    }
}

/// Says how to have the same conversation again, if it is the one that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self(seed) = self;
            println!(
                "seed {seed}; once more: GROOVE_SERVE_SEED={seed} cargo test --workspace --test fuzz"
            );
        }
    }
}

/// Random messages: right, nearly right and wrong, with and without files. Whether the server ended
/// it.
fn converse(served: &Served, seed: u64, kinds: [BorrowedFd; 3]) -> bool {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let raw = if rng.below(8) == 0 { Raw::silent(served) } else { Raw::new(served) };
    for _ in 0..60 {
        let number = rng.below(ALL_COMMANDS.end.into()) as u16;
        let body = body(&mut rng, number);
        let files: Vec<_> = match rng.below(3) {
            0 => vec![],
            1 => vec![kinds[rng.below(3) as usize]],
            _ => (0..rng.below(6)).map(|_| kinds[rng.below(3) as usize]).collect(),
        };
        let flags = if rng.below(50) == 0 { rng.below(64) as u32 } else { 0 };
        let header = Header { id: rng.next() as u16, command: number, flags, ..Header::default() };
        let sent = raw.socket.send(header, &[&body], &files, later());
        let is_answered = flags & (NO_REPLY | 0xf) == 0;
        if sent.is_err() || is_answered && raw.socket.receive(later()).is_err() {
            return true;
        }
    }
    false
}

/// `GROOVE_SERVE_SEED` has one conversation alone.
#[test]
fn no_message_kills_the_server() {
    let served = Served::new();
    served.is_well();
    served.event("Gone");
    let memory = DmaMemory::new(1 << 16).unwrap();
    let event_file = Interrupt::new().unwrap();
    let plain = tempfile::tempfile().unwrap();
    let before = open_files();
    let asked = std::env::var("GROOVE_SERVE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = asked.map_or(1..=400u64, |seed| seed..=seed);
    let mut ended = 0;
    for seed in seeds {
        let _told = Seed(seed);
        let kinds = [memory.file(), event_file.file(), plain.as_fd()];
        ended += u64::from(converse(&served, seed, kinds));
        // It answers the next one.
        Raw::new(&served);
    }
    let driver = served.driver();
    served.events.lock().unwrap().clear();
    drop(driver);
    served.event("Gone");
    if asked.is_none() {
        assert!((50..400).contains(&ended), "{ended} connections were ended by the server");
    }
    let after = open_files();
    assert_eq!(after, before, "files are left open");
}
