//! What the conformance suite needs of a device, and a bench that drives one with the real driver
//! and replays its journal in the golden model.
//!
//!   frames ─► device ─► rings ─► driver ─► deliveries ─┐
//!               └─► journal ─► model ─► deliveries ────┴─► equal, queue by queue
//!
//! A device is plugged in with one implementation of [`Testbed`].

// Each suite uses a part.
#![allow(dead_code)]

pub mod rtl;
pub mod socket;
pub mod watch;

use std::collections::VecDeque;
use std::sync::Arc;

use groove_device::{ModelDevice, Parameters, Step};
use groove_driver::{Device, Nic, Receiver, Rss, Settings};
use groove_model::{Config, Event, Frame, Model, RssConfig};
use groove_spec::{Delivery, OptionBit, Profile, SymmetricMode, TokenKind};
use groove_tests::generate::Item;

/// A device, and the wire in front of it.
pub trait Testbed: Send + Sync {
    /// What the driver sees.
    fn device(&self) -> Arc<dyn Device>;
    /// A frame comes from the wire.
    fn inject(&self, bytes: &[u8], bad_fcs: bool);
    /// A token comes in between two frames.
    fn token(&self, queue: u8, kind: TokenKind);
    /// Time passes.
    fn tick(&self, cycles: u64);
    /// Waits until the device has done all that it can without the host.
    fn settle(&self);
    /// What went into the pipeline since the last call.
    fn journal(&self) -> Vec<Step>;
    /// Of `full` rounds of a test, how many this device does: `least` or more. A simulation is
    /// slow.
    fn share(&self, full: usize, least: usize) -> usize {
        full.max(least)
    }
}

/// Opens a device.
pub type Open = fn(Parameters) -> Box<dyn Testbed>;

/// The software device.
pub struct Software(Arc<ModelDevice>);

impl Software {
    /// After reset.
    pub fn open(parameters: Parameters) -> Box<dyn Testbed> {
        Box::new(Self(Arc::new(ModelDevice::new(parameters))))
    }
}

impl Testbed for Software {
    fn device(&self) -> Arc<dyn Device> {
        Arc::clone(&self.0) as Arc<dyn Device>
    }

    fn inject(&self, bytes: &[u8], bad_fcs: bool) {
        self.0.inject(bytes, bad_fcs).unwrap();
    }

    fn token(&self, queue: u8, kind: TokenKind) {
        self.0.token(queue, kind).unwrap();
    }

    fn tick(&self, cycles: u64) {
        self.0.tick(cycles).unwrap();
    }

    fn settle(&self) {}

    fn journal(&self) -> Vec<Step> {
        self.0.take_journal()
    }
}

/// Settings that mean the same as a configuration of the model.
pub fn settings(config: &Config) -> Settings {
    let mut settings = Settings::new(config.queues.into());
    settings.control = config.control_word();
    settings.station = config.station;
    settings.max_frame_bytes = config.max_frame_bytes;
    settings.rss = Rss {
        key: config.rss.key,
        hash_types: config.rss.hash_types,
        symmetric: config.rss.symmetric,
        indirection: config.rss.indirection,
        default_queue: config.rss.default_queue,
    };
    settings
}

/// The configuration that settings mean.
pub fn config(settings: &Settings, queues: u8) -> Config {
    let mut config = Config { queues, ..Config::default() };
    let control = settings.control;
    for option in OptionBit::ALL {
        config.options.set(*option, control >> (8 + option.code()) & 1 == 1);
    }
    config.profile = Profile::from_code(u64::from(control & 3)).unwrap();
    config.station = settings.station;
    config.max_frame_bytes = settings.max_frame_bytes;
    config.rss = RssConfig {
        key: settings.rss.key,
        hash_types: settings.rss.hash_types,
        symmetric: settings.rss.symmetric,
        indirection: settings.rss.indirection,
        default_queue: settings.rss.default_queue,
    };
    config
}

/// A device with its driver, beside the model.
pub struct Bench {
    /// The device.
    pub bed: Arc<dyn Testbed>,
    /// One for each queue.
    pub receivers: Vec<Receiver>,
    /// The model, behind the device by what is not replayed yet.
    pub model: Model,
    pools: usize,
    frames: VecDeque<(Vec<u8>, bool)>,
    expected: Vec<Vec<Delivery>>,
    got: Vec<Vec<Delivery>>,
}

impl Bench {
    /// Sets the driver up on a device, through `wrap`.
    pub fn with(
        bed: Arc<dyn Testbed>,
        settings: &Settings,
        wrap: impl FnOnce(Arc<dyn Device>) -> Arc<dyn Device>,
    ) -> Self {
        let nic = Nic::open(wrap(bed.device()), settings).unwrap();
        let model = Model::new(config(settings, nic.identity.queues as u8)).unwrap();
        let receivers: Vec<Receiver> =
            nic.queues.into_iter().map(|queue| queue.attach().unwrap()).collect();
        bed.journal();
        let none = vec![Vec::new(); receivers.len()];
        Self {
            bed,
            receivers,
            model,
            pools: settings.buffers,
            frames: VecDeque::new(),
            expected: none.clone(),
            got: none,
        }
    }

    /// Opens a device with as many queues as the settings have.
    pub fn open(open: Open, settings: &Settings) -> Self {
        let parameters = Parameters { queues: settings.queues as u8, ..Parameters::default() };
        Self::with(Arc::from(open(parameters)), settings, |device| device)
    }

    /// A frame comes.
    pub fn inject(&mut self, bytes: &[u8], bad_fcs: bool) {
        self.frames.push_back((bytes.to_vec(), bad_fcs));
        self.bed.inject(bytes, bad_fcs);
    }

    /// A frame comes, and is through before the next one.
    pub fn inject_alone(&mut self, bytes: &[u8]) {
        self.inject(bytes, false);
        self.bed.settle();
    }

    /// A frame or a token comes.
    pub fn item(&mut self, item: &Item) {
        match item {
            Item::Frame { bytes, bad_fcs } => self.inject(bytes, *bad_fcs),
            Item::Token { queue, kind } => self.bed.token(*queue, *kind),
        }
    }

    /// Takes at most `budget` deliveries of a queue.
    pub fn poll(&mut self, queue: usize, budget: usize) -> usize {
        self.bed.settle();
        let got = &mut self.got[queue];
        let take = |delivery: groove_driver::Delivery| got.push(checked(&delivery));
        self.receivers[queue].poll(budget, take).unwrap()
    }

    /// Takes all that there is.
    pub fn poll_all(&mut self) {
        for queue in 0..self.receivers.len() {
            while self.poll(queue, 64) > 0 {}
        }
    }

    /// A delivery that the test took itself.
    pub fn took(&mut self, delivery: &groove_driver::Delivery) {
        self.got[delivery.queue()].push(checked(delivery));
    }

    /// Deliveries of a queue that the test took itself.
    pub fn took_all(&mut self, queue: usize, deliveries: Vec<Delivery>) {
        self.got[queue].extend(deliveries);
    }

    /// Replays the device's journal in the model.
    pub fn replay(&mut self) {
        let mut events = Vec::new();
        for step in self.bed.journal() {
            match step {
                Step::Frame => {
                    let (bytes, bad_fcs) = self.frames.pop_front().expect("a frame was injected");
                    self.model.frame(Frame { bytes: &bytes, bad_fcs, given: None }, &mut events);
                }
                Step::Skip(reason) => {
                    self.frames.pop_front().expect("a frame was injected");
                    self.model.skip(reason, &mut events);
                }
                Step::Token { queue, kind } => self.model.token(queue, kind, &mut events),
            }
        }
        for event in events {
            if let Event::Delivery(mut delivery) = event {
                delivery.frames.clear();
                self.expected[usize::from(delivery.queue)].push(delivery);
            }
        }
    }

    /// Holds what came so far to what the model gives, and forgets it.
    #[track_caller]
    pub fn check(&mut self) {
        self.replay();
        for (queue, (got, expected)) in self.got.iter_mut().zip(&mut self.expected).enumerate() {
            let both = got.len().min(expected.len());
            for (i, (got, expected)) in got.drain(..both).zip(expected.drain(..both)).enumerate() {
                assert_eq!(got, expected, "delivery {i} of queue {queue} since the last check");
            }
        }
    }

    /// Stops every queue, and holds all that came to what the model gives. Returns the model.
    #[track_caller]
    pub fn finish(mut self) -> Model {
        for (receiver, got) in self.receivers.iter_mut().zip(&mut self.got) {
            receiver.stop(|delivery| got.push(checked(&delivery))).unwrap();
            let census = receiver.census();
            assert_eq!((census.with_device, census.out, census.spare), (0, 0, self.pools));
        }
        self.replay();
        assert!(self.frames.is_empty(), "{} frames did not come in", self.frames.len());
        assert!(self.model.stats().conserved());
        for (queue, (got, expected)) in self.got.iter().zip(&self.expected).enumerate() {
            for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
                assert_eq!(got, expected, "delivery {i} of queue {queue}");
            }
            assert_eq!(got.len(), expected.len(), "deliveries of queue {queue}");
        }
        self.model
    }
}

/// The delivery as the model has it; its parts are the whole.
pub fn checked(delivery: &groove_driver::Delivery) -> Delivery {
    let spec = delivery.to_spec();
    let mut parts = Vec::new();
    delivery.header().append_to(&mut parts);
    assert_eq!(parts.len(), usize::from(spec.hdr_len));
    delivery.payload().for_each(|part| part.append_to(&mut parts));
    assert_eq!(parts, spec.bytes, "header and payload make the frame");
    spec
}

/// Plain settings for a test: one symmetric mode, small pools.
pub fn small(queues: usize, buffer_bytes: usize, split: bool) -> Settings {
    let mut settings = Settings::new(queues);
    settings.rss.symmetric = SymmetricMode::Off;
    (settings.ring, settings.buffers) = (64, 64);
    (settings.buffer_bytes, settings.split) = (buffer_bytes, split);
    settings
}
