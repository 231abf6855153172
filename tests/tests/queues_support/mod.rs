//! The queues among small models of their neighbours: prefetch, place, complete and the pipeline.

// Each test binary uses a part of it.
#![allow(dead_code)]

use std::collections::VecDeque;

use groove_hdl::blocks::queues::Queues;
use groove_hdl::emit::emit;
use groove_spec::nic::{QUEUE_CONTROL, QUEUE_STATUS, queue_offset};
use groove_spec::{Register, TokenKind};
use groove_verilator::Dut;

use crate::rtl_support::{Rng, bits, set, start};

/// Cycles that an access may take.
const ACCESS_CYCLES: usize = 2_000;

/// What the neighbours know of a queue.
#[derive(Clone, Debug, Default)]
pub struct Neighbour {
    /// Descriptors that were posted, fetched and taken, and completions, since the start.
    pub posted: u16,
    pub fetched: u16,
    pub taken: u16,
    pub produced: u16,
    /// Buffers of held sessions; a FlushAll completes them.
    pub held: u16,
    /// Reads of descriptors under way.
    pub reading: u16,
    /// Registers as the config bus gave them.
    pub settings: [u32; 32],
    /// Starts seen.
    pub starts: u32,
    /// Drained with and without a completion.
    pub drained: u32,
    pub quiet: u32,
}

impl Neighbour {
    fn prefetched(&self) -> u16 {
        self.fetched.wrapping_sub(self.taken)
    }
}

/// A token on its way through the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub queue: usize,
    pub kind: u8,
    pub cycle: u64,
}

/// What leaves the pipeline, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    Completion(usize),
    Marker(usize),
}

/// What left the block, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Config { queue: usize, index: usize, data: u32 },
    Clear { queue: usize },
    Doorbell { queue: usize, index: u16 },
}

/// See the module.
pub struct Bench {
    pub dut: Dut,
    pub rng: Rng,
    pub queues: Vec<Neighbour>,
    /// Config writes and doorbells, as they came.
    pub seen: Vec<(u64, Seen)>,
    /// Tokens that the pipeline took.
    pub tokens: Vec<Token>,
    /// Vectors that the host took.
    pub vectors: Vec<(u64, usize)>,
    /// Tokens to offer at the pins.
    pub outside: VecDeque<(usize, u8)>,
    /// Percent of cycles in which the pipeline, place and the host take nothing.
    pub stall: u8,
    /// Markers come back after so many cycles, and up to as many more.
    pub latency: u64,
    /// Queues with a DMA error.
    pub fault: u32,
    /// Events of the next cycle: no buffer, write error, read error.
    pub events: [Option<usize>; 3],
    /// A frame of this queue is dropped in half of the cycles, and how many were.
    pub steady: Option<usize>,
    pub steady_events: u32,
    /// Writes to the pipeline's register file.
    pub pipe_writes: Vec<(u16, u32)>,
    built: usize,
    /// Percent of cycles in which nothing becomes visible.
    pub slow: u8,
    /// When each marker became visible.
    pub markers: Vec<(u64, usize)>,
    /// FlushAlls that are behind the pipeline at that cycle.
    flushes: VecDeque<(u64, usize)>,
    leaving: VecDeque<Leaving>,
    was_running: u64,
    /// Queues that stopped.
    pub stops: usize,
    offered: bool,
    /// Answer of the pipeline's register file: as of one and two cycles ago.
    piped: [u16; 2],
}

impl Bench {
    /// So many queues; the sweep is over.
    pub fn new(queues: usize, seed: u64) -> Self {
        let mut bench = Self::in_sweep(queues, seed);
        while bench.get("cleared") == 0 {
            bench.cycle();
        }
        bench.cycles(2);
        bench.seen.clear();
        bench
    }

    /// Just out of reset.
    pub fn in_sweep(queues: usize, seed: u64) -> Self {
        let dut = start(&emit("queues", Queues::new(queues)));
        Self {
            dut,
            rng: Rng(seed),
            queues: vec![Neighbour::default(); 32],
            seen: Vec::new(),
            tokens: Vec::new(),
            vectors: Vec::new(),
            outside: VecDeque::new(),
            stall: 0,
            latency: 20,
            fault: 0,
            events: [None; 3],
            steady: None,
            steady_events: 0,
            pipe_writes: Vec::new(),
            built: queues,
            slow: 0,
            markers: Vec::new(),
            flushes: VecDeque::new(),
            leaving: VecDeque::new(),
            was_running: 0,
            stops: 0,
            offered: false,
            piped: [0; 2],
        }
    }

    pub fn get(&mut self, name: &str) -> u64 {
        self.dut.settle().expect("runs");
        self.dut.read(self.dut.port(name).expect("an output"))
    }

    /// An output, as of the last settling.
    fn out(&self, name: &str) -> u64 {
        self.dut.read(self.dut.port(name).expect("an output"))
    }

    fn put(&mut self, name: &str, value: u64) {
        set(&mut self.dut, name, value);
    }

    /// What is wrong with an address in the pipeline's register file.
    pub fn piped(address: u16) -> u32 {
        u32::from(address) * 0x1_0003 + 1
    }

    /// One more completion of a queue becomes visible.
    pub fn complete(&mut self, queue: usize) {
        self.leaving.push_back(Leaving::Completion(queue));
    }

    /// One clock cycle: inputs, combinational answers, outputs, edge.
    pub fn cycle(&mut self) {
        let now = self.dut.cycle();
        self.put("fault", self.fault.into());
        if self.steady.is_some() && self.events[0].is_none() && self.rng.chance(50) {
            self.events[0] = self.steady;
            self.steady_events += 1;
        }
        let [no_buffer, dma_error, read_error] = std::mem::take(&mut self.events);
        for (name, event) in
            [("no_buffer", no_buffer), ("dma_error", dma_error), ("read_error", read_error)]
        {
            self.put(&format!("{name}_valid"), event.is_some().into());
            self.put(&format!("{name}_queue"), event.unwrap_or_default() as u64);
        }
        let (completed, flushed) = self.leave(now);
        self.put("completed_valid", completed.is_some().into());
        self.put("completed_queue", completed.unwrap_or_default() as u64);
        self.put("flushed_valid", flushed.is_some().into());
        self.put("flushed_queue", flushed.unwrap_or_default() as u64);
        self.offered |= !self.outside.is_empty() && !self.rng.chance(self.stall);
        let (queue, kind) = self.outside.front().copied().unwrap_or_default();
        self.put("s_token_valid", self.offered.into());
        self.put("s_token_queue", queue as u64);
        self.put("s_token_kind", kind.into());
        let ready = [(); 3].map(|()| !self.rng.chance(self.stall));
        self.put("m_token_ready", ready[0].into());
        self.put("drain_ready", ready[1].into());
        self.put("msix_ready", ready[2].into());
        self.put("reg_rdata", Self::piped(self.piped[1]).into());
        self.answer();
        self.observe(ready);
        self.watch();
        if self.out("reg_write") == 1 {
            let write = (self.out("reg_addr") as u16, self.out("reg_wdata") as u32);
            self.pipe_writes.push(write);
        }
        self.piped = [self.out("reg_addr") as u16, self.piped[0]];
        self.dut.edge().expect("runs");
        // The write that makes a completion visible and its event are one and the same cycle.
        if let Some(queue) = completed {
            let queue = &mut self.queues[queue];
            queue.produced = queue.produced.wrapping_add(1);
        }
    }

    /// What becomes visible now: a completion or a marker. A FlushAll that is through completes
    /// what was held, in front of its marker.
    fn leave(&mut self, now: u64) -> (Option<usize>, Option<usize>) {
        while let Some((due, queue)) = self.flushes.front().copied()
            && due <= now
        {
            self.flushes.pop_front();
            for _ in 0..std::mem::take(&mut self.queues[queue].held) {
                self.complete(queue);
            }
            self.leaving.push_back(Leaving::Marker(queue));
        }
        if self.rng.chance(self.slow) {
            return (None, None);
        }
        match self.leaving.pop_front() {
            Some(Leaving::Completion(queue)) if self.fault >> queue & 1 == 0 => (Some(queue), None),
            Some(Leaving::Marker(queue)) => {
                self.markers.push((now, queue));
                (None, Some(queue))
            }
            _ => (None, None),
        }
    }

    /// A queue that has just stopped has returned everything, visibly.
    fn watch(&mut self) {
        let running = self.out("running");
        let stopped = self.was_running & !running;
        self.was_running = running;
        for i in (0..32).filter(|i| stopped >> i & 1 == 1) {
            let queue = &self.queues[i];
            let at = format!("cycle {}, queue {i}: {queue:?}", self.dut.cycle());
            assert_eq!((queue.prefetched(), queue.held, queue.reading), (0, 0, 0), "{at}");
            if self.fault >> i & 1 == 0 {
                assert_eq!(queue.produced, queue.fetched, "{at}");
            }
            self.stops += 1;
        }
    }

    /// Descriptors are fetched and frames come, for queues that are on and do not stop.
    pub fn traffic(&mut self) {
        let on = self.get("running") & !self.get("closing");
        for i in 0..self.built {
            let fetches = self.rng.chance(10);
            let (lands, comes, ends) =
                (self.rng.chance(20), self.rng.chance(5), self.rng.chance(3));
            let queue = &mut self.queues[i];
            if lands && queue.reading > 0 {
                queue.reading -= 1;
                queue.fetched = queue.fetched.wrapping_add(1);
            }
            if on >> i & 1 == 1 {
                let asked = queue.fetched.wrapping_add(queue.reading);
                if fetches && asked != queue.posted && asked.wrapping_sub(queue.taken) < 64 {
                    queue.reading += 1;
                }
                if comes && queue.prefetched() > 0 {
                    queue.taken = queue.taken.wrapping_add(1);
                    queue.held += 1;
                }
            }
            if ends && queue.held > 0 {
                queue.held -= 1;
                self.complete(i);
            }
        }
    }

    /// The status that the block asks for, in the same cycle.
    fn answer(&mut self) {
        self.dut.settle().expect("runs");
        let queue = self.out("status_queue") as usize;
        let neighbour = &self.queues[queue];
        let (fetched, empty) = (neighbour.fetched, neighbour.prefetched() == 0);
        let idle = neighbour.held == 0 && neighbour.reading == 0;
        self.put("prefetch_fetched", fetched.into());
        self.put("prefetch_empty", empty.into());
        self.put("prefetch_idle", idle.into());
        let queue = self.out("produced_queue") as usize;
        self.put("produced", self.queues[queue].produced.into());
        self.dut.settle().expect("runs");
    }

    /// What the outputs mean to the neighbours.
    fn observe(&mut self, ready: [bool; 3]) {
        let now = self.dut.cycle();
        self.observe_config(now);
        if self.out("doorbell_valid") == 1 {
            let queue = self.out("doorbell_queue") as usize;
            let index = self.out("doorbell_index") as u16;
            self.queues[queue].posted = index;
            self.seen.push((now, Seen::Doorbell { queue, index }));
        }
        if self.offered && self.out("s_token_ready") == 1 {
            self.offered = false;
            self.outside.pop_front();
        }
        if self.out("m_token_valid") == 1 && ready[0] {
            let queue = self.out("m_token_queue") as usize;
            let kind = self.out("m_token_kind") as u8;
            self.tokens.push(Token { queue, kind, cycle: now });
            if kind == TokenKind::FlushAll.code() && queue < self.built {
                self.flush(queue, now);
            }
        }
        if self.out("drain_valid") == 1 && ready[1] {
            let queue = self.out("drain_queue") as usize;
            let quiet = self.out("drain_quiet") == 1;
            let neighbour = &mut self.queues[queue];
            assert_ne!(
                neighbour.prefetched(),
                0,
                "cycle {now}: queue {queue} has nothing to drain"
            );
            assert_eq!(neighbour.held, 0, "cycle {now}: queue {queue} is drained too early");
            neighbour.taken = neighbour.taken.wrapping_add(1);
            if quiet {
                neighbour.quiet += 1;
            } else {
                neighbour.drained += 1;
                self.complete(queue);
            }
        }
        if self.out("msix_valid") == 1 && ready[2] {
            let vector = self.out("msix_vector") as usize;
            self.vectors.push((now, vector));
        }
    }

    fn observe_config(&mut self, now: u64) {
        let port = self.dut.port("m_config_bus").expect("an output");
        let mut words = vec![0; 2];
        self.dut.read_words(port, &mut words);
        let queue = bits(&words, 2, 5) as usize;
        if bits(&words, 0, 1) == 1 {
            self.seen.push((now, Seen::Clear { queue }));
        }
        if bits(&words, 1, 1) == 1 {
            let (index, data) = (bits(&words, 7, 5) as usize, bits(&words, 12, 32) as u32);
            self.seen.push((now, Seen::Config { queue, index, data }));
            let neighbour = &mut self.queues[queue];
            neighbour.settings[index] = data;
            if index == 0 {
                assert_eq!(neighbour.prefetched(), 0, "a queue starts with buffers of before");
                (neighbour.posted, neighbour.fetched, neighbour.taken) = (0, 0, 0);
                neighbour.produced = 0;
                neighbour.starts += 1;
                self.fault &= !(1 << queue);
            }
        }
    }

    /// A FlushAll goes through the pipeline.
    fn flush(&mut self, queue: usize, now: u64) {
        let after = self.latency + self.rng.below(self.latency as usize + 1) as u64;
        let last = self.flushes.back().map_or(0, |(due, _)| *due);
        self.flushes.push_back(((now + after).max(last + 1), queue));
    }

    /// One access; returns what was read.
    fn access(&mut self, address: usize, write: Option<u32>) -> u32 {
        self.put("bus_addr", address as u64);
        self.put("bus_wdata", write.unwrap_or(0xdead_beef).into());
        self.put("bus_write", write.is_some().into());
        self.put("bus_valid", 1);
        for _ in 0..ACCESS_CYCLES {
            let done = self.get("bus_ready") == 1;
            let value = if done { self.late_read() } else { 0 };
            self.cycle();
            if done {
                self.put("bus_valid", 0);
                return value;
            }
        }
        panic!("the access to {address:#x} does not end");
    }

    fn late_read(&mut self) -> u32 {
        self.put("reg_rdata", Self::piped(self.piped[1]).into());
        self.get("bus_rdata") as u32
    }

    pub fn read(&mut self, address: usize) -> u32 {
        self.access(address, None)
    }

    pub fn write(&mut self, address: usize, value: u32) {
        self.access(address, Some(value));
    }
}

impl Bench {
    /// Reads a register of a queue.
    pub fn ask(&mut self, queue: usize, row: &Register) -> u32 {
        self.read(queue_offset(queue, row))
    }

    /// Writes a register of a queue.
    pub fn tell(&mut self, queue: usize, row: &Register, value: u32) {
        self.write(queue_offset(queue, row), value);
    }

    pub fn cycles(&mut self, count: usize) {
        (0..count).for_each(|_| self.cycle());
    }

    /// Enables a queue, and waits for its start.
    pub fn enable(&mut self, queue: usize) {
        let starts = self.queues[queue].starts;
        self.tell(queue, &QUEUE_CONTROL, 5);
        for _ in 0..300 {
            if self.queues[queue].starts > starts && self.get("running") >> queue & 1 == 1 {
                return;
            }
            self.cycle();
        }
        panic!("queue {queue} does not start");
    }

    /// Waits until the host sees that a queue has stopped.
    pub fn stopped(&mut self, queue: usize) {
        for _ in 0..5_000 {
            if self.ask(queue, &QUEUE_STATUS) & 1 == 0 {
                return;
            }
            self.traffic();
            self.cycle();
        }
        panic!("queue {queue} does not stop");
    }
}
