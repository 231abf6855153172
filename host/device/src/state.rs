//! State of the device and what changes it: frames, tokens, time, register writes.

use std::sync::Arc;

use groove_driver::{Error, Interrupt};
use groove_model::stages::ingress;
use groove_model::{Event, Frame, Model, look};
use groove_spec::nic::{self, QUEUE_CONTROL};
use groove_spec::stages::{admit, coalesce, device, ingress as marks};
use groove_spec::{BUCKET_DEPTH, BUCKETS, DropReason, Register, TokenKind};

use crate::interrupts::{Limits, Moderation};
use crate::memory::Translation;
use crate::queue::Queue;
use crate::registers::{Registers, Target, field};
use crate::{Parameters, Step};

/// Cycles of a unit of `MODERATION.time`.
const MODERATION_CYCLES: u64 = 64;
/// Cycles of a unit of `HOLD.time`.
const HOLD_CYCLES: u64 = 1024;
/// Bytes of a beat that the device claims; it has no bus.
const WIDTH_BYTES: u32 = 64;

/// A queue with its vector and its timer.
#[derive(Debug)]
pub struct Slot {
    /// Rings and buffers.
    pub queue: Queue,
    vector: Moderation,
    held_for: u64,
    enabled: bool,
}

/// All of the device.
#[derive(Debug)]
pub struct State {
    /// What was built.
    pub parameters: Parameters,
    /// What is mapped.
    pub memory: Translation,
    /// Where vectors go.
    pub interrupts: Vec<Arc<Interrupt>>,
    /// What went into the model.
    pub journal: Vec<Step>,
    /// The queues.
    pub queues: Vec<Slot>,
    registers: Registers,
    model: Model,
    now: u64,
}

impl State {
    /// After reset.
    pub fn new(parameters: Parameters) -> Self {
        let registers = Registers::new(parameters.queues.into());
        let slot = || Slot {
            queue: Queue::default(),
            vector: Moderation::new(),
            held_for: 0,
            enabled: false,
        };
        Self {
            parameters,
            memory: Translation::default(),
            interrupts: Vec::new(),
            journal: Vec::new(),
            queues: (0..parameters.queues).map(|_| slot()).collect(),
            model: Model::new(registers.config()).expect("1 to 32 queues, and table sizes of ours"),
            registers,
            now: 0,
        }
    }

    fn limits(&self, queue: usize) -> Limits {
        let word = self.registers.of_queue(queue, &nic::MODERATION);
        let control = self.registers.of_queue(queue, &QUEUE_CONTROL);
        Limits {
            on: field(&QUEUE_CONTROL, "interrupt", control) == 1,
            count: field(&nic::MODERATION, "count", word).max(1) as u16,
            cycles: MODERATION_CYCLES * u64::from(field(&nic::MODERATION, "time", word)),
        }
    }

    fn signal(&self, queue: usize, fires: bool) -> Result<(), Error> {
        match self.interrupts.get(queue) {
            Some(interrupt) if fires => Ok(interrupt.signal()?),
            _ => Ok(()),
        }
    }

    /// Completions were written: perhaps an interrupt is due.
    fn completed(&mut self, queue: usize) -> Result<(), Error> {
        let limits = self.limits(queue);
        let slot = &mut self.queues[queue];
        let produced = slot.queue.completed;
        let fires = slot.vector.completed(limits, produced, self.now)
            || slot.queue.fault && slot.vector.failed(limits, produced);
        self.signal(queue, fires)
    }

    /// Writes deliveries of a queue, in order.
    fn deliver(&mut self, queue: usize, events: &[Event]) -> Result<(), Error> {
        for event in events {
            if let Event::Delivery(delivery) = event {
                self.queues[queue].queue.deliver(&self.memory, delivery);
            }
        }
        self.refill(queue)?;
        self.completed(queue)
    }

    /// Prefetches. A queue that a DMA error stopped lets go of its sessions.
    fn refill(&mut self, queue: usize) -> Result<(), Error> {
        let slot = &mut self.queues[queue].queue;
        slot.prefetch(&self.memory, self.parameters.prefetch);
        if std::mem::take(&mut slot.abandoned) {
            self.feed(queue, TokenKind::FlushAll);
            return self.completed(queue);
        }
        Ok(())
    }

    /// A frame from the wire.
    pub fn frame(&mut self, bytes: &[u8], bad_fcs: bool) -> Result<(), Error> {
        let mut events = Vec::new();
        let frame = Frame { bytes, bad_fcs, given: None };
        if ingress::run(self.model.config(), &frame).is_some() {
            self.journal.push(Step::Frame);
            self.model.frame(frame, &mut events);
            return Ok(());
        }
        let seen = look(self.model.config(), &frame);
        let (queue, bytes) = (seen.steering.queue, seen.bytes.len());
        let slot = &mut self.queues[usize::from(queue)].queue;
        if !slot.covers(bytes) {
            slot.no_buffer = slot.no_buffer.wrapping_add(1);
            self.journal.push(Step::Skip(DropReason::NoBuffer));
            self.model.skip(DropReason::NoBuffer, &mut events);
            return Ok(());
        }
        let number = self.model.stats().frames as u32;
        self.journal.push(Step::Frame);
        self.model.frame(frame, &mut events);
        let delivered = events.iter().find_map(|event| match event {
            Event::Delivery(delivery) if delivery.frames.last() == Some(&number) => Some(delivery),
            _ => None,
        });
        if let Some(session) = delivered.or_else(|| self.model.session_of(queue, number)) {
            let (total, hdr_len) = (session.bytes.len(), usize::from(session.hdr_len));
            slot.place(session.frames[0], total, hdr_len);
        }
        self.deliver(queue.into(), &events)
    }

    fn feed(&mut self, queue: usize, kind: TokenKind) -> Vec<Event> {
        let mut events = Vec::new();
        self.journal.push(Step::Token { queue: queue as u8, kind });
        self.model.token(queue as u8, kind, &mut events);
        events
    }

    /// A token. One for a queue that was not built has nothing to do.
    pub fn token(&mut self, queue: u8, kind: TokenKind) -> Result<(), Error> {
        if usize::from(queue) >= self.queues.len() {
            return Ok(());
        }
        let events = self.feed(queue.into(), kind);
        self.deliver(queue.into(), &events)
    }

    /// Time passes for the timers of every running queue.
    pub fn tick(&mut self, cycles: u64) -> Result<(), Error> {
        self.now = self.now.saturating_add(cycles);
        for queue in 0..self.queues.len() {
            if !self.queues[queue].queue.running {
                continue;
            }
            self.hold_timer(queue, cycles)?;
            if self.queues[queue].vector.is_due(self.limits(queue), self.now) {
                self.token(queue as u8, TokenKind::FlushAll)?;
                let slot = &mut self.queues[queue];
                let fires = slot.vector.expire(slot.queue.completed);
                self.signal(queue, fires)?;
            }
        }
        Ok(())
    }

    fn hold_timer(&mut self, queue: usize, cycles: u64) -> Result<(), Error> {
        let word = self.registers.of_queue(queue, &nic::HOLD);
        let period = HOLD_CYCLES * u64::from(field(&nic::HOLD, "time", word));
        if period == 0 {
            return Ok(());
        }
        let slot = &mut self.queues[queue];
        slot.held_for = slot.held_for.saturating_add(cycles);
        // Behind the second expiry nothing is held: more of them change the tick alone.
        let expired = (slot.held_for / period).min(2);
        slot.held_for %= period;
        for _ in 0..expired {
            self.token(queue as u8, TokenKind::FlushOld)?;
            self.token(queue as u8, TokenKind::Tick)?;
        }
        Ok(())
    }

    /// Reads a register.
    pub fn read(&self, offset: usize) -> u32 {
        if let Some(word) = self.registers.word(offset) {
            return word;
        }
        match self.registers.target(offset) {
            Target::Device => self.counter(offset),
            Target::Queue(queue, offset) => self.queue_status(queue, offset),
            Target::Nothing => 0,
        }
    }

    fn queue_status(&self, queue: usize, offset: usize) -> u32 {
        let queue = &self.queues[queue].queue;
        let at = |register: &Register| register.offset == offset;
        match () {
            () if at(&nic::QUEUE_STATUS) => {
                let running = u32::from(queue.running) << nic::QUEUE_STATUS.field("running").lsb;
                running | u32::from(queue.fault) << nic::QUEUE_STATUS.field("fault").lsb
            }
            () if at(&nic::FREE_CONSUMER) => queue.fetched.into(),
            () if at(&nic::COMPLETION_PRODUCER) => queue.completed.into(),
            () if at(&nic::QUEUE_NO_BUFFER) => queue.no_buffer,
            () if at(&nic::QUEUE_DMA_ERRORS) => queue.dma_errors,
            () => 0,
        }
    }

    fn counter(&self, offset: usize) -> u32 {
        let stats = self.model.stats();
        let dropped = |reason: DropReason| stats.drops[usize::from(reason.code())] as u32;
        let at = |register: &Register| register.offset == offset;
        match () {
            () if at(&device::SPEC_ID) => groove_spec::SPEC_ID,
            () if at(&device::CAPABILITIES) => {
                let place = |name, value: u32| value << device::CAPABILITIES.field(name).lsb;
                place("queues", self.parameters.queues.into())
                    | place("width_bytes", WIDTH_BYTES)
                    | place("buckets", BUCKETS as u32)
                    | place("depth", BUCKET_DEPTH as u32)
                    | place("lossless", 1)
            }
            () if at(&marks::FRAMES) => stats.frames as u32,
            () if at(&marks::DROP_RUNT) => dropped(DropReason::Runt),
            () if at(&marks::DROP_OVERSIZE) => dropped(DropReason::Oversize),
            () if at(&marks::DROP_BAD_FCS) => dropped(DropReason::BadFcs),
            () if at(&marks::DROP_OVERFLOW) => dropped(DropReason::Overflow),
            () if at(&admit::DROP_NO_BUFFER) => dropped(DropReason::NoBuffer),
            () if at(&coalesce::GRO_PACKETS) => stats.gro_packets as u32,
            () if at(&coalesce::GRO_WIRE_PACKETS) => stats.gro_wire_packets as u32,
            () if at(&coalesce::EVICTIONS) => stats.evictions as u32,
            () => 0,
        }
    }

    /// Writes a register.
    pub fn write(&mut self, offset: usize, value: u32) -> Result<(), Error> {
        if !self.registers.write(offset, value) {
            return Ok(());
        }
        match self.registers.target(offset) {
            Target::Device => {
                self.model.reconfigure(&self.registers.config());
                Ok(())
            }
            Target::Queue(queue, offset) => self.queue_written(queue, offset),
            Target::Nothing => Ok(()),
        }
    }

    fn queue_written(&mut self, queue: usize, offset: usize) -> Result<(), Error> {
        if offset == nic::QUEUE_CONTROL.offset {
            return self.switch(queue);
        }
        let word = |register| self.registers.of_queue(queue, register) as u16;
        if offset == nic::FREE_PRODUCER.offset {
            let posted = word(&nic::FREE_PRODUCER);
            self.queues[queue].queue.post(posted);
            return self.refill(queue);
        }
        if offset == nic::COMPLETION_CONSUMER.offset {
            let consumed = word(&nic::COMPLETION_CONSUMER);
            let limits = self.limits(queue);
            let slot = &mut self.queues[queue];
            let produced = slot.queue.completed;
            let fires = slot.vector.acknowledged(limits, consumed, produced)
                || slot.queue.fault && slot.vector.failed(limits, produced);
            return self.signal(queue, fires);
        }
        Ok(())
    }

    fn switch(&mut self, queue: usize) -> Result<(), Error> {
        let control = self.registers.of_queue(queue, &QUEUE_CONTROL);
        let enable = field(&QUEUE_CONTROL, "enable", control) == 1;
        let slot = &mut self.queues[queue];
        let was = std::mem::replace(&mut slot.enabled, enable);
        if enable && !was {
            for register in [&nic::FREE_PRODUCER, &nic::COMPLETION_CONSUMER] {
                self.registers.write(nic::queue_offset(queue, register), register.reset);
            }
            slot.queue.start(&self.registers, queue);
            slot.vector = Moderation::new();
            slot.held_for = 0;
        } else if was && !enable && slot.queue.running {
            self.token(queue as u8, TokenKind::FlushAll)?;
            self.queues[queue].queue.stop(&self.memory);
        }
        // Interrupts may have been switched on with completions waiting.
        self.completed(queue)
    }
}
