//! Target `completions`: a device that writes and answers whatever it likes, under the driver.
//!
//!   settings ─► (frame │ record │ lie │ wrong answer │ poll │ drop │ stop, start)* ─► all home
//!
//! Invariants: no panic; a lie quarantines the queue, which then says the same at every poll, or is
//! harmless: what is given can be read to its end; until the first lie every frame is delivered as
//! it was sent; in the end every buffer is home, and the device's memory is let go.

mod lying;
#[path = "../../../host/bench/src/ring.rs"]
#[allow(dead_code)]
mod ring_device;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use groove_driver::{Delivery, FreeOrder, Nic, QueueError, Receiver, Settings};
use groove_spec::nic::COMPLETION;

use crate::input::Input;
use lying::{LIES_MAX, Lying};
use ring_device::Record;

/// Most steps of an input.
const STEPS_MAX: usize = 200;
/// Deliveries that the application keeps.
const KEPT_MAX: usize = 16;

/// Takes a delivery for the application; what it gives back is used and dropped.
pub type Application<'a> = &'a mut dyn FnMut(Delivery) -> Option<Delivery>;

/// Runs one input.
pub fn run(data: &[u8]) {
    run_with(data, &mut Some);
}

/// Runs one input; `application` sees each delivery first.
pub fn run_with(data: &[u8], application: Application) {
    let mut input = Input::new(data);
    let settings = settings(&mut input);
    let device = Arc::new(Lying::default());
    device.lie_at_first(&mut input);
    if let Some(receiver) = open(&device, &settings) {
        let honest = (!device.has_lied()).then(VecDeque::new);
        let (pool, kept, consumed) = (settings.buffers, Vec::new(), 0);
        let mut bed = Bed {
            device: Arc::clone(&device),
            receiver,
            pool,
            kept,
            honest,
            consumed,
            application,
        };
        for _ in 0..STEPS_MAX {
            if input.is_empty() {
                break;
            }
            bed.step(&mut input);
        }
        bed.end();
    }
    device.is_let_go();
}

fn settings(input: &mut Input) -> Settings {
    let mut settings = Settings::new(1);
    let bits = input.byte();
    settings.ring = [64, 16][usize::from(bits & 1)];
    settings.buffers = [settings.ring, 16][usize::from(bits >> 1 & 1)];
    settings.buffer_bytes = 2048;
    settings.split = bits & 4 != 0;
    settings.interrupts = bits & 8 != 0;
    settings.order = [FreeOrder::Fifo, FreeOrder::Lifo][usize::from(bits >> 4 & 1)];
    settings.posted_max = [usize::MAX, 16, 17, 40][usize::from(bits >> 5 & 3)];
    settings.defer_max = [1, settings.defer_max][usize::from(bits >> 7)];
    settings
}

/// A queue that runs, unless the device's answers are in the way.
fn open(device: &Arc<Lying>, settings: &Settings) -> Option<Receiver> {
    let nic = Nic::open(Arc::clone(device) as Arc<_>, settings).ok()?;
    nic.queues.into_iter().next()?.attach().ok()
}

struct Bed<'a> {
    device: Arc<Lying>,
    receiver: Receiver,
    pool: usize,
    kept: Vec<Delivery>,
    /// Frames under way, as long as the device did not lie.
    honest: Option<VecDeque<Vec<u8>>>,
    consumed: u16,
    application: Application<'a>,
}

impl Bed<'_> {
    fn step(&mut self, input: &mut Input) {
        match input.byte() % 12 {
            0..=2 => self.frame(input),
            3 => {
                self.lied();
                self.device.rings.complete(0, Record::first(60, 60, false).with("last", 1));
                let newest = self.device.rings.produced(0).wrapping_sub(1);
                self.overwrite(newest, input);
            }
            4 | 5 => self.change_a_field(input),
            6 => {
                self.lied();
                let index = self.consumed.wrapping_add(input.byte().into());
                self.overwrite(index, input);
            }
            7 | 8 => self.poll(input),
            9 => {
                if let count @ 1.. = self.kept.len() {
                    read_to_the_end(&self.kept.swap_remove(input.below(count)));
                }
            }
            10 => {
                self.lied();
                self.device.lie(input);
            }
            _ => self.again(input),
        }
    }

    fn lied(&mut self) {
        self.honest = None;
    }

    fn frame(&mut self, input: &mut Input) {
        let (length, seed) = (input.byte(), input.byte());
        let bytes = [14, 60, 257, 2048, 2101, 5000, 9000, 256][usize::from(length & 7)];
        let frame: Vec<u8> =
            (0..bytes + usize::from(length >> 3)).map(|i| seed.wrapping_add(i as u8)).collect();
        if self.device.rings.deliver(0, &frame)
            && let Some(honest) = &mut self.honest
        {
            honest.push_back(frame);
        }
    }

    /// Any words but for the generation, which the next byte decides.
    fn overwrite(&self, index: u16, input: &mut Input) {
        let words = [input.u64(), input.u64(), input.u64(), input.u64()];
        let keeps_place = input.byte() & 1 == 0;
        self.device.rings.tamper(0, index, |record| {
            let id = record[0] & 0xffff;
            let generation = record[3] >> 63;
            *record = words;
            if keeps_place {
                record[0] = record[0] & !0xffff | id;
                record[3] = record[3] << 1 >> 1 | generation << 63;
            }
        });
    }

    fn change_a_field(&mut self, input: &mut Input) {
        let waiting = self.device.rings.produced(0).wrapping_sub(self.consumed);
        let field = &COMPLETION.fields[input.below(COMPLETION.fields.len())];
        let (at, value) = (u16::from(input.byte()), input.number());
        if waiting == 0 {
            return;
        }
        self.lied();
        let index = self.consumed.wrapping_add(at % waiting);
        self.device.rings.tamper(0, index, |record| {
            for i in 0..field.width {
                let at = field.lsb + i;
                record[at / 64] &= !(1 << (at % 64));
                record[at / 64] |= (value >> i & 1) << (at % 64);
            }
        });
    }

    fn poll(&mut self, input: &mut Input) {
        let (budget, keeps) = (input.byte(), input.byte());
        let budget = if budget == 255 { usize::MAX } else { budget.into() };
        if keeps & 0x80 != 0 {
            let _ = self.receiver.wait(Duration::ZERO);
        }
        let before = self.receiver.stats().completions;
        let mut given = 0;
        let polled = self.receiver.poll(budget, |delivery| {
            given += 1;
            take(delivery, &mut self.honest, self.application, |delivery| {
                if keeps >> (given % 7) & 1 == 1 && self.kept.len() < KEPT_MAX {
                    self.kept.push(delivery);
                }
            });
        });
        assert!(given <= budget, "{given} deliveries of {budget}");
        self.consumed =
            self.consumed.wrapping_add((self.receiver.stats().completions - before) as u16);
        match polled {
            Ok(count) => assert_eq!(count, given),
            Err(QueueError::Violation(violation)) => {
                assert!(self.honest.is_none(), "it did not lie: {violation}");
                let again = self.receiver.poll(budget, |_| panic!("it is quarantined"));
                assert!(matches!(again, Err(QueueError::Violation(v)) if v == violation));
            }
            Err(error) => assert!(self.honest.is_none(), "it did not lie: {error}"),
        }
        let census = self.receiver.census();
        assert_eq!(census.with_device + census.out + census.spare, self.pool);
    }

    /// Stops the queue, and starts it again.
    fn again(&mut self, input: &mut Input) {
        if !self.stop() {
            return;
        }
        let keeps = input.byte() & 1 == 1;
        for _ in 0..=LIES_MAX {
            match self.receiver.start() {
                Ok(()) => break,
                Err(error) => assert!(self.honest.is_none(), "it did not lie: {error}"),
            }
        }
        // What a stopped queue had under way it has flushed, and a new run begins with nothing.
        self.consumed = 0;
        if !keeps {
            self.kept.clear();
        }
    }

    /// Stops the queue; wrong answers may need several attempts, but end.
    fn stop(&mut self) -> bool {
        for _ in 0..=LIES_MAX {
            let stopped = self.receiver.stop(|delivery| {
                take(delivery, &mut self.honest, self.application, drop);
            });
            match stopped {
                Ok(()) | Err(QueueError::Violation(_)) => {
                    let census = self.receiver.census();
                    assert_eq!(census.with_device, 0, "a stopped device has nothing");
                    return true;
                }
                Err(QueueError::Device { .. }) => assert!(self.honest.is_none()),
                Err(other) => panic!("{other}"),
            }
        }
        panic!("it does not stop, and the device's wrong answers are used up");
    }

    fn end(mut self) {
        self.stop();
        if let Some(honest) = &self.honest {
            assert!(honest.is_empty(), "{} frames were not delivered", honest.len());
        }
        for delivery in self.kept.drain(..) {
            read_to_the_end(&delivery);
        }
        // A stop of a queue that runs collects what came home.
        self.device.behave();
        self.receiver.start().expect("the device lies no more");
        self.stop();
        assert_eq!(self.receiver.census().spare, self.pool, "buffers are lost");
    }
}

/// The application gets a delivery: as it was sent, if the device is honest; readable, if not.
fn take(
    delivery: Delivery,
    honest: &mut Option<VecDeque<Vec<u8>>>,
    application: Application,
    keep: impl FnOnce(Delivery),
) {
    let Some(delivery) = application(delivery) else { return };
    let bytes = read_to_the_end(&delivery);
    if let Some(honest) = honest {
        assert_eq!(honest.pop_front().as_ref(), Some(&bytes), "not what was sent");
    }
    keep(delivery);
}

/// All that can be read, which is as long as it says.
fn read_to_the_end(delivery: &Delivery) -> Vec<u8> {
    let metadata = delivery.metadata();
    let mut whole = Vec::new();
    delivery.copy_to_frame(&mut whole);
    assert_eq!(whole.len(), metadata.total_len as usize, "the frame");
    let mut parts = Vec::new();
    delivery.header().append_to(&mut parts);
    assert_eq!(parts.len(), usize::from(metadata.header_bytes), "the header");
    delivery.payload().for_each(|part| part.append_to(&mut parts));
    assert!(parts == whole, "header and payload are not the frame");
    assert!(delivery.to_spec().bytes == whole);
    groove_driver::virtio_net_hdr(&metadata);
    whole
}
