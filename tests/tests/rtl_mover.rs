//! The mover under Verilator against a byte model of host memory behind AXI.
//!
//!   random commands, payload, completions ──► mover ──► AXI monitor ──► bytes written
//!                                               ▲──── responses, late, some of them errors

mod rtl_support;

use std::collections::{BTreeMap, HashMap, VecDeque};

use groove_hdl::blocks::mover::Mover;
use groove_hdl::emit::{Design, emit};
use groove_verilator::Dut;
use rtl_support::{Drain, Feed, Record, Rng, cycle, pack, start, words};

const HEADER: u64 = 0;
const PAYLOAD: u64 = 1;
const REPLAY: u64 = 2;
const DISCARD: u64 = 3;
const AW: [&str; 5] = ["awid", "awaddr", "awlen", "awsize", "awburst"];
const W: [&str; 3] = ["wdata", "wstrb", "wlast"];

type Memory = HashMap<u64, u8>;

/// A burst as the rules want it: address, beats, whether it ends its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Burst {
    address: u64,
    beats: u64,
    last: bool,
}

/// What is sent, and what must become of it.
#[derive(Default)]
struct Script {
    commands: VecDeque<Record>,
    beats: VecDeque<Record>,
    completions: VecDeque<Record>,
    memory: Memory,
    /// Bursts by identifier.
    bursts: [VecDeque<Burst>; 2],
    /// Queues in the order of `done` and of `written`.
    queues: [VecDeque<u64>; 2],
    next_address: u64,
}

/// One command to be.
struct Piece<'a> {
    source: u64,
    address: u64,
    bytes: &'a [u8],
    first: bool,
    last: bool,
    keep: bool,
}

impl Script {
    /// A region of its own, at a multiple of 64, often near a page's end.
    fn region(&mut self, rng: &mut Rng, bytes: usize) -> u64 {
        let at = self.next_address.next_multiple_of(4096);
        let offset = match rng.below(3) {
            0 => 0,
            1 => 4096 - 64 * (1 + rng.below(3) as u64),
            _ => 64 * rng.below(64) as u64,
        };
        self.next_address = at + offset + bytes as u64 + 64;
        at + offset
    }

    fn command(&mut self, rng: &mut Rng, width_bytes: usize, piece: &Piece) {
        let queue = rng.below(32) as u64;
        let header = if piece.source == HEADER { piece.bytes.to_vec() } else { rng.bytes(128) };
        self.commands.push_back(vec![
            pack(&[
                (piece.source, 2),
                (piece.address, 64),
                (piece.bytes.len() as u64, 17),
                (queue, 5),
                (piece.first.into(), 1),
                (piece.last.into(), 1),
                (piece.keep.into(), 1),
            ]),
            words(&header, 128),
        ]);
        if piece.source == DISCARD {
            return;
        }
        self.queues[0].push_back(queue);
        self.write(0, width_bytes, piece.address, piece.bytes);
    }

    /// Bytes and bursts of a write.
    fn write(&mut self, id: usize, width_bytes: usize, address: u64, bytes: &[u8]) {
        for (i, byte) in bytes.iter().enumerate() {
            assert!(self.memory.insert(address + i as u64, *byte).is_none(), "regions are apart");
        }
        let beat = width_bytes as u64;
        let page = (256 * beat).min(4096);
        let (mut at, end) = (address, address + bytes.len() as u64);
        while at < end {
            let stop = end.min((at / page + 1) * page);
            let beats = stop.div_ceil(beat) - at / beat;
            self.bursts[id].push_back(Burst { address: at, beats, last: stop == end });
            at = stop;
        }
    }

    fn frame(&mut self, frame: &[u8], width_bytes: usize) {
        let count = frame.len().div_ceil(width_bytes);
        for (i, beat) in frame.chunks(width_bytes).enumerate() {
            let keep: Vec<u32> = pack(&vec![(1, 1); beat.len()]);
            self.beats.push_back(vec![
                words(beat, width_bytes),
                [keep, vec![0; 2]].concat()[..width_bytes.div_ceil(32)].to_vec(),
                vec![u32::from(i + 1 == count)],
            ]);
        }
    }

    fn completion(&mut self, rng: &mut Rng, width_bytes: usize) {
        let address = self.region(rng, 64) + 32 * rng.below(2) as u64;
        let (bytes, queue) = (rng.bytes(32), rng.below(32) as u64);
        self.completions.push_back(vec![
            pack(&[(address, 64)]),
            words(&bytes, 32),
            vec![queue as u32],
        ]);
        self.queues[1].push_back(queue);
        self.write(1, width_bytes, address, &bytes);
    }

    fn header(&mut self, rng: &mut Rng, width_bytes: usize) {
        let len = 1 + rng.below(128);
        let (bytes, address) = (rng.bytes(len), self.region(rng, len));
        let piece =
            Piece { source: HEADER, address, bytes: &bytes, first: true, last: true, keep: false };
        self.command(rng, width_bytes, &piece);
    }

    /// A payload frame over one or more buffers, each but the last filled to its end.
    fn chain(&mut self, rng: &mut Rng, width_bytes: usize, len: usize) {
        let bytes = rng.bytes(len);
        self.frame(&bytes, width_bytes);
        let mut done = 0;
        while done < len {
            let room = rng.pick(&[128, 2048, 4096, 65536]);
            let buffer = self.region(rng, room);
            let used = if done == 0 { rng.below(room.min(300)) } else { 0 };
            let take = (len - done).min(room - used);
            let piece = Piece {
                source: PAYLOAD,
                address: buffer + used as u64,
                bytes: &bytes[done..done + take],
                first: done == 0,
                last: done + take == len,
                keep: false,
            };
            self.command(rng, width_bytes, &piece);
            done += take;
        }
    }

    fn kept(&mut self, rng: &mut Rng, width_bytes: usize) {
        let len = 1 + rng.below(256);
        let bytes = rng.bytes(len);
        self.frame(&bytes, width_bytes);
        for source in [PAYLOAD, REPLAY] {
            let address = self.region(rng, 512) + rng.below(256) as u64;
            let keep = source == PAYLOAD;
            let piece = Piece { source, address, bytes: &bytes, first: true, last: true, keep };
            self.command(rng, width_bytes, &piece);
        }
    }

    fn random(rng: &mut Rng, width_bytes: usize, count: usize) -> Self {
        let mut script =
            Self { next_address: (rng.next() & 0x7fff_ffff_f000) | 0xffff_0000, ..Self::default() };
        for i in 0..count {
            match rng.below(10) {
                0..=2 => script.header(rng, width_bytes),
                3..=5 => {
                    let most = rng.pick(&[8, 64, 130, 1500, 5000]);
                    let len = 1 + rng.below(most);
                    script.chain(rng, width_bytes, len);
                }
                6..=7 => script.kept(rng, width_bytes),
                8 => {
                    let len = 1 + rng.below(300);
                    script.frame(&rng.bytes(len), width_bytes);
                    let piece = Piece {
                        source: DISCARD,
                        address: rng.next(),
                        bytes: &rng.bytes(7),
                        first: true,
                        last: true,
                        keep: false,
                    };
                    script.command(rng, width_bytes, &piece);
                }
                _ if i % 50 == 9 => script.chain(rng, width_bytes, 40_000),
                _ => {}
            }
            if rng.chance(50) {
                script.completion(rng, width_bytes);
            }
        }
        script
    }
}

/// How host and pipeline behave.
#[derive(Clone, Copy, Default)]
struct Weather {
    gap: u8,
    stall: u8,
    latency: usize,
    error_percent: u8,
    /// Cycles without a response at the start.
    silence: u64,
}

/// Host memory behind the write channels.
struct Host {
    width_bytes: usize,
    memory: Memory,
    /// Addresses taken and beats taken so far, not yet matched.
    open: VecDeque<(usize, Burst)>,
    beats: Vec<Record>,
    /// Responses by identifier: due cycle, error.
    due: [VecDeque<(u64, bool)>; 2],
    /// Errors of the command at work, and expected outcomes, by identifier.
    failed: [bool; 2],
    outcomes: [VecDeque<(u64, bool)>; 2],
    in_flight: [usize; 2],
    most_in_flight: [usize; 2],
}

impl Host {
    fn new(width_bytes: usize) -> Self {
        Self {
            width_bytes,
            memory: Memory::new(),
            open: VecDeque::new(),
            beats: Vec::new(),
            due: Default::default(),
            failed: [false; 2],
            outcomes: Default::default(),
            in_flight: [0; 2],
            most_in_flight: [0; 2],
        }
    }

    fn address(&mut self, record: &Record, script: &mut Script) {
        let id = record[0][0] as usize;
        let address = u64::from(record[1][0]) | u64::from(record[1][1]) << 32;
        let burst = script.bursts[id].pop_front().expect("a burst to come");
        assert_eq!((address, u64::from(record[2][0]) + 1), (burst.address, burst.beats));
        assert_eq!(1 << record[3][0], self.width_bytes, "AWSIZE is the width");
        assert_eq!(record[4][0], 1, "INCR");
        self.open.push_back((id, burst));
        self.in_flight[id] += 1;
        self.most_in_flight[id] = self.most_in_flight[id].max(self.in_flight[id]);
    }

    /// Matches whole bursts of beats with their addresses.
    fn serve(&mut self, rng: &mut Rng, now: u64, weather: &Weather, script: &mut Script) {
        while let Some(&(id, burst)) = self.open.front() {
            if (self.beats.len() as u64) < burst.beats {
                break;
            }
            self.open.pop_front();
            let beats: Vec<Record> = self.beats.drain(..burst.beats as usize).collect();
            for (i, beat) in beats.iter().enumerate() {
                assert_eq!(beat[2][0] == 1, i + 1 == beats.len(), "WLAST ends the burst");
                self.beat(burst.address, i, beat);
            }
            let error = rng.chance(weather.error_percent);
            let due = now + 1 + rng.below(weather.latency + 1) as u64;
            self.due[id].push_back((due, error));
            self.failed[id] |= error;
            if burst.last {
                let queue = script.queues[id].pop_front().expect("a command");
                self.outcomes[id].push_back((queue, std::mem::take(&mut self.failed[id])));
            }
        }
    }

    fn beat(&mut self, address: u64, index: usize, beat: &Record) {
        let base = address / self.width_bytes as u64 * self.width_bytes as u64;
        let mut any = false;
        for lane in 0..self.width_bytes {
            if beat[1][lane / 32] >> (lane % 32) & 1 == 0 {
                continue;
            }
            any = true;
            let at = base + (index * self.width_bytes + lane) as u64;
            assert!(at >= address, "a strobe in front of the burst");
            let byte = beat[0][lane / 4].to_le_bytes()[lane % 4];
            assert!(self.memory.insert(at, byte).is_none(), "{at:#x} is written twice");
        }
        assert!(any, "a beat without strobes");
    }

    /// Responses that are due, identifiers in random order.
    fn respond(&mut self, rng: &mut Rng, now: u64, into: &mut VecDeque<Record>) {
        let either = rng.below(2);
        for id in [either, 1 - either] {
            if let Some(&(due, error)) = self.due[id].front()
                && due <= now
                && into.is_empty()
            {
                self.due[id].pop_front();
                let response = if error { rng.pick(&[2, 3]) } else { rng.pick(&[0, 1]) };
                into.push_back(vec![vec![id as u32], vec![response]]);
                self.in_flight[id] -= 1;
            }
        }
    }
}

struct Bench {
    dut: Dut,
    command: Feed,
    payload: Feed,
    completion: Feed,
    response: Feed,
    aw: Drain,
    w: Drain,
    width_bytes: usize,
    events: [usize; 2],
}

impl Bench {
    fn new(design: &Design, width_bytes: usize) -> Self {
        let dut = start(design);
        Self {
            command: Feed::new(&dut, "command", &["command", "header"]),
            payload: Feed::axis(&dut, "payload", &["tdata", "tkeep", "tlast"]),
            completion: Feed::new(&dut, "completion", &["address", "data", "queue"]),
            response: Feed::with(&dut, "m", &["bid", "bresp"], ["bvalid", "bready"]),
            aw: Drain::with(&dut, "m", &AW, ["awvalid", "awready"]),
            w: Drain::with(&dut, "m", &W, ["wvalid", "wready"]),
            width_bytes,
            events: [0; 2],
            dut,
        }
    }

    fn event(&mut self, id: usize, name: &str, host: &mut Host) {
        let read = |field: &str| {
            self.dut.read(self.dut.port(&format!("{name}_{field}")).expect("an output"))
        };
        if read("valid") == 1 {
            let expected = host.outcomes[id].pop_front().expect("something is done");
            assert_eq!((read("queue"), read("error") == 1), expected, "{name}");
            self.events[id] += 1;
        }
    }

    /// Sends all of `script`; returns the cycles that it took.
    fn run(&mut self, rng: &mut Rng, mut script: Script, weather: Weather) -> (u64, Host) {
        let mut host = Host::new(self.width_bytes);
        self.command.records = std::mem::take(&mut script.commands);
        self.payload.records = std::mem::take(&mut script.beats);
        self.completion.records = std::mem::take(&mut script.completions);
        (self.command.gap, self.payload.gap) = (weather.gap, weather.gap);
        (self.completion.gap, self.response.gap) = (weather.gap, weather.gap);
        (self.aw.stall, self.w.stall) = (weather.stall, weather.stall);
        let (begin, mut last) = (self.dut.cycle(), self.dut.cycle());
        while script.queues.iter().any(|q| !q.is_empty())
            || host.outcomes.iter().any(|o| !o.is_empty())
            || !self.payload.records.is_empty()
        {
            let now = self.dut.cycle();
            assert!(now < last + 5000 + weather.silence, "stuck");
            if now >= begin + weather.silence {
                host.respond(rng, now, &mut self.response.records);
            }
            cycle(
                &mut self.dut,
                rng,
                &mut [
                    &mut self.command,
                    &mut self.payload,
                    &mut self.completion,
                    &mut self.response,
                ],
                &mut [&mut self.aw, &mut self.w],
            );
            for record in std::mem::take(&mut self.aw.records) {
                host.address(&record, &mut script);
                last = now;
            }
            host.beats.append(&mut self.w.records);
            host.serve(rng, now, &weather, &mut script);
            self.dut.settle().expect("runs");
            self.event(0, "done", &mut host);
            self.event(1, "written", &mut host);
        }
        let missing: BTreeMap<_, _> =
            script.memory.iter().filter(|(at, byte)| host.memory.get(at) != Some(byte)).collect();
        assert!(
            missing.is_empty(),
            "{} bytes, first {:?}",
            missing.len(),
            missing.first_key_value()
        );
        assert_eq!(script.memory.len(), host.memory.len(), "nothing else is written");
        (self.dut.cycle() - begin, host)
    }
}

fn moves(design: &Design, width_bytes: usize) {
    let mut rng = Rng(41);
    let mut bench = Bench::new(design, width_bytes);
    for (i, (gap, stall)) in [(0, 0), (40, 0), (0, 60), (30, 30), (0, 0)].into_iter().enumerate() {
        let weather = Weather {
            gap,
            stall,
            latency: rng.pick(&[0, 10, 200]),
            error_percent: 4,
            silence: if i == 4 { 20_000 } else { 0 },
        };
        let script = Script::random(&mut rng, width_bytes, 400);
        let (_, host) = bench.run(&mut rng, script, weather);
        assert!(host.most_in_flight[0] <= 128 && host.most_in_flight[1] <= 128);
        if i == 4 {
            assert_eq!(host.most_in_flight, [128, 128], "as many as may be");
        }
    }
    assert!(bench.events[0] > 1000 && bench.events[1] > 500, "{:?}", bench.events);
}

#[test]
fn mover_moves_every_byte() {
    moves(&emit("mover", Mover::<64, 8>::default()), 8);
    moves(&emit("mover", Mover::<128, 16>::default()), 16);
    moves(&emit("mover", Mover::<256, 32>::default()), 32);
    moves(&emit("mover", Mover::<512, 64>::default()), 64);
}

/// Cycles per unit of `count` units that `add` puts into the script.
fn cycles_per(count: usize, bench: &mut Bench, mut add: impl FnMut(&mut Script, &mut Rng)) -> f64 {
    let mut rng = Rng(42);
    let mut script = Script::default();
    (0..count).for_each(|_| add(&mut script, &mut rng));
    let weather = Weather { latency: 20, ..Weather::default() };
    let (cycles, _) = bench.run(&mut rng, script, weather);
    cycles as f64 / count as f64
}

#[test]
fn mover_fills_the_write_channel() {
    let mut bench = Bench::new(&emit("mover", Mover::<512, 64>::default()), 64);
    // 1,460 bytes at any alignment: 23 or 24 beats.
    let bulk = cycles_per(300, &mut bench, |script, rng| {
        let bytes = rng.bytes(1460);
        script.frame(&bytes, 64);
        let address = script.region(rng, 2048) + rng.below(64) as u64;
        let piece =
            Piece { source: PAYLOAD, address, bytes: &bytes, first: true, last: true, keep: false };
        script.command(rng, 64, &piece);
    });
    assert!(bulk < 24.2, "{bulk} cycles per append");
    // 54 bytes of header, 10 of payload behind them, one completion.
    let small = cycles_per(300, &mut bench, |script, rng| {
        let slot = script.region(rng, 256);
        let (header, payload) = (rng.bytes(54), rng.bytes(10));
        script.frame(&payload, 64);
        let piece = |source, address, bytes| Piece {
            source,
            address,
            bytes,
            first: true,
            last: true,
            keep: false,
        };
        script.command(rng, 64, &piece(HEADER, slot, &header));
        script.command(rng, 64, &piece(PAYLOAD, slot + 54, &payload));
        script.completion(rng, 64);
    });
    assert!(small < 3.2, "{small} cycles per small frame");
}
