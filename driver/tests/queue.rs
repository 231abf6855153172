//! Queues on a device that is nothing but its rings: what can be seen without traffic that merges.
//! The rest is in the conformance suite.

#[path = "../../host/bench/src/ring.rs"]
#[allow(dead_code)]
mod ring_device;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use groove_driver::{
    Alarm, Delivery, Device, DmaMemory, Error, FreeOrder, Interrupt, Lie, Napi, Nic,
    POLLS_PER_ALARM_CHECK, QueueError, Receiver, Region, STOP_TIMEOUT, Settings, Turn, wait_any,
};
use ring_device::{Record, RingDevice};

const POOL: usize = 32;

fn open(queues: usize, change: fn(&mut Settings)) -> (Arc<RingDevice>, Vec<Receiver>) {
    let device = Arc::new(RingDevice::default());
    let mut settings = Settings::new(queues);
    (settings.ring, settings.buffers, settings.buffer_bytes) = (POOL, POOL, 2048);
    change(&mut settings);
    let nic = Nic::open(Arc::clone(&device) as Arc<_>, &settings).unwrap();
    (device, nic.queues.into_iter().map(|queue| queue.attach().unwrap()).collect())
}

fn one(change: fn(&mut Settings)) -> (Arc<RingDevice>, Receiver) {
    let (device, mut receivers) = open(1, change);
    (device, receivers.pop().unwrap())
}

fn frame(number: usize) -> Vec<u8> {
    (0..300 + number).map(|i| (i * 3 + number) as u8).collect()
}

fn bytes(delivery: &Delivery) -> Vec<u8> {
    let mut bytes = Vec::new();
    delivery.copy_to_frame(&mut bytes);
    bytes
}

fn is_home(receiver: &mut Receiver) -> bool {
    receiver.stop(|_| {}).unwrap();
    let census = receiver.census();
    (census.with_device, census.out, census.spare) == (0, 0, POOL)
}

/// A device whose platform can raise an alarm.
struct Alarmed {
    rings: Arc<RingDevice>,
    alarms: [(Alarm, Arc<Interrupt>); 1],
    gone: AtomicBool,
    vectors: Mutex<Vec<Arc<Interrupt>>>,
}

impl Alarmed {
    fn new() -> Arc<Self> {
        let alarms = [(Alarm::Release, Arc::new(Interrupt::new().unwrap()))];
        let gone = AtomicBool::new(false);
        Arc::new(Self { rings: Arc::default(), alarms, gone, vectors: Mutex::default() })
    }
}

impl Device for Alarmed {
    fn region_bytes(&self, region: Region) -> u64 {
        self.rings.region_bytes(region)
    }
    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        if self.gone.load(Ordering::Relaxed) {
            return Ok(u32::MAX);
        }
        self.rings.read32(region, offset)
    }
    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        self.rings.write32(region, offset, value)
    }
    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        self.rings.dma_map(iova, memory)
    }
    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        self.rings.dma_unmap(iova, bytes)
    }
    fn vectors(&self) -> usize {
        self.rings.vectors()
    }
    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        *self.vectors.lock().unwrap() = interrupts.to_vec();
        self.rings.set_interrupts(interrupts)
    }
    fn alarms(&self) -> &[(Alarm, Arc<Interrupt>)] {
        &self.alarms
    }
    fn reset(&self) -> Result<(), Error> {
        self.rings.reset()
    }
}

#[test]
fn an_alarm_ends_the_wait() {
    let device = Alarmed::new();
    let (rings, raised) = (Arc::clone(&device.rings), Arc::clone(&device.alarms[0].1));
    let settings = Settings { ring: POOL, buffers: POOL, buffer_bytes: 2048, ..Settings::new(2) };
    let nic = Nic::open(device, &settings).unwrap();
    let mut receivers: Vec<_> = nic.queues.into_iter().map(|q| q.attach().unwrap()).collect();
    assert!(!wait_any(&mut receivers, Duration::ZERO).unwrap());
    receivers[0].check_alarms().unwrap();
    raised.signal().unwrap();
    let is_alarm = |result: Result<bool, QueueError>| {
        matches!(result, Err(QueueError::Device { source: Error::Alarm(Alarm::Release), .. }))
    };
    let long = Duration::from_secs(20);
    assert!(is_alarm(wait_any(&mut receivers, long)), "of all queues");
    for receiver in &mut receivers {
        assert!(is_alarm(receiver.wait(long)), "of each");
        assert!(is_alarm(receiver.check_alarms().map(|()| false)), "without a wait");
    }
    // What is there is taken all the same, and all comes home.
    rings.produce(0, 64, 3);
    assert_eq!(receivers[0].poll(9, |_| {}).unwrap(), 3);
    assert!(is_home(&mut receivers[0]));
}

#[test]
fn traffic_hides_no_alarm() {
    let device = Alarmed::new();
    let (rings, raised) = (Arc::clone(&device.rings), Arc::clone(&device.alarms[0].1));
    let settings = Settings { ring: POOL, buffers: POOL, buffer_bytes: 2048, ..Settings::new(1) };
    let nic = Nic::open(device, &settings).unwrap();
    let mut receiver = nic.queues.into_iter().next().unwrap().attach().unwrap();
    // One delivery a turn uses the budget up, so no turn waits.
    let napi = Napi { budget: 1, ..Napi::default() };
    let turn = |receiver: &mut Receiver| {
        rings.produce(0, 64, 1);
        receiver.turn(&napi, drop)
    };
    for _ in 0..2 * POLLS_PER_ALARM_CHECK {
        assert_eq!(turn(&mut receiver).unwrap(), Turn { given: 1, armed: false });
    }
    raised.signal().unwrap();
    let heard = (1..=POLLS_PER_ALARM_CHECK).find(|_| turn(&mut receiver).is_err());
    assert_eq!(heard, Some(POLLS_PER_ALARM_CHECK), "no sooner, no later");
    assert_eq!(receiver.poll(9, |_| {}).unwrap(), 1, "what came meanwhile is not lost");
    assert!(is_home(&mut receiver));
}

/// As a card that is pulled out: what it says last is not waited for, queue after queue.
#[test]
fn a_device_that_is_gone_is_not_waited_for() {
    let device = Alarmed::new();
    let settings = Settings { ring: POOL, buffers: POOL, buffer_bytes: 2048, ..Settings::new(8) };
    let nic = Nic::open(Arc::clone(&device) as Arc<_>, &settings).unwrap();
    let mut receivers: Vec<_> = nic.queues.into_iter().map(|q| q.attach().unwrap()).collect();
    device.gone.store(true, Ordering::Relaxed);
    // Ones have the bit of a DMA error too.
    device.vectors.lock().unwrap()[1].signal().unwrap();
    let error = receivers[1].wait(Duration::from_secs(20)).unwrap_err();
    assert!(matches!(error, QueueError::Device { queue: 1, source: Error::Gone }), "{error}");
    let error = receivers[0].stop(|_| {}).unwrap_err();
    assert!(matches!(error, QueueError::Device { source: Error::Gone, .. }), "{error}");
    assert!(error.help().unwrap().contains("groove devices"));
    let start = Instant::now();
    drop(receivers);
    assert!(start.elapsed() < STOP_TIMEOUT, "eight of them would be four minutes");
}

#[test]
fn no_wait_behind_a_full_budget() {
    let (device, mut receiver) = one(|_| {});
    let napi = Napi { budget: 10, empty_polls: 0, timeout: Duration::from_millis(1) };
    assert_eq!(device.produce(0, 64, 25), 25);
    let turns: Vec<_> = (0..3).map(|_| receiver.turn(&napi, drop).unwrap()).collect();
    let seen: Vec<_> = turns.iter().map(|turn| (turn.given, turn.armed)).collect();
    assert_eq!(seen, [(10, false), (10, false), (5, true)]);

    let patient = Napi { empty_polls: 3, ..napi };
    device.produce(0, 64, 5);
    let turn = receiver.turn(&patient, drop).unwrap();
    assert_eq!((turn.given, turn.armed), (5, false), "it polls on before it waits");
    let turn = receiver.turn(&patient, drop).unwrap();
    assert_eq!((turn.given, turn.armed), (0, true));
}

#[test]
fn a_queue_without_interrupts_is_only_polled() {
    let (device, mut receiver) = one(|settings| settings.interrupts = false);
    let napi = Napi { timeout: Duration::from_secs(60), ..Napi::default() };
    let turn = receiver.turn(&napi, drop).unwrap();
    assert_eq!((turn.given, turn.armed), (0, false));
    device.produce(0, 64, 3);
    assert_eq!(receiver.turn(&napi, drop).unwrap().given, 3);
}

#[test]
fn a_stopped_queue_does_not_wait() {
    let (device, mut receiver) = one(|_| {});
    let start = Instant::now();
    let wait = |receiver: &mut Receiver| receiver.wait(Duration::from_secs(60));
    receiver.stop(|_| {}).unwrap();
    assert!(matches!(wait(&mut receiver), Err(QueueError::Stopped(0))));
    receiver.start().unwrap();
    device.complete(0, Record::first(60, 59, false).with("last", 1));
    let Err(QueueError::Violation(told)) = receiver.poll(1, drop) else { panic!("a lie") };
    assert!(matches!(told.what, Lie::Field { field: "hdr_len", .. }), "{told}");
    assert!(matches!(wait(&mut receiver), Err(QueueError::Violation(again)) if again == told));
    let turn = receiver.turn(&Napi::default(), drop);
    assert!(matches!(turn, Err(QueueError::Violation(again)) if again == told));
    assert!(start.elapsed() < Duration::from_secs(30), "nobody waited");
    assert!(is_home(&mut receiver));
}

#[test]
fn one_wait_covers_several_queues() {
    let (device, mut receivers) = open(3, |_| {});
    assert!(!wait_any(&mut receivers, Duration::from_millis(1)).unwrap());
    assert!(!wait_any(&mut [], Duration::ZERO).unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| device.deliver(2, &frame(0)));
        assert!(wait_any(&mut receivers, Duration::from_secs(60)).unwrap());
    });
    assert_eq!(receivers[2].poll(9, drop).unwrap(), 1);
    device.produce(1, 64, 1); // says nothing: found on the way to sleep
    assert!(wait_any(&mut receivers, Duration::from_secs(60)).unwrap());
}

/// The records of the last pass lie in the ring still.
#[test]
fn records_of_the_last_pass_are_not_taken_again() {
    let (device, mut receiver) = one(|_| {});
    for round in 0..9 {
        let expected: Vec<_> = (0..POOL - round).map(frame).collect();
        assert!(expected.iter().all(|frame| device.deliver(0, frame)));
        let mut got = Vec::new();
        let count = receiver.poll(usize::MAX, |delivery| got.push(bytes(&delivery))).unwrap();
        assert_eq!((count, &got), (POOL - round, &expected));
        assert_eq!(receiver.poll(usize::MAX, drop).unwrap(), 0);
    }
    assert!(is_home(&mut receiver));
}

#[test]
fn the_order_of_the_free_list_is_a_choice() {
    let used = |change: fn(&mut Settings)| {
        let (device, mut receiver) = one(change);
        let record = Record::first(60, 60, false).with("last", 1);
        let mut used = BTreeSet::new();
        for _ in 0..4 * POOL {
            used.extend(device.complete(0, record));
            receiver.poll(1, drop).unwrap();
            receiver.poll(0, drop).unwrap();
        }
        assert!(receiver.census().with_device <= 16 || used.len() == POOL);
        used.len()
    };
    assert_eq!(used(|s| (s.posted_max, s.order) = (16, FreeOrder::Lifo)), 16);
    assert_eq!(used(|s| (s.posted_max, s.order) = (16, FreeOrder::Fifo)), POOL);
    assert_eq!(used(|_| {}), POOL);
}

#[test]
fn deliveries_outlive_everything() {
    let (device, mut receiver) = one(|settings| settings.defer_max = 0);
    let mut out = Vec::new();
    (0..6).for_each(|number| assert!(device.deliver(0, &frame(number))));
    receiver.poll(9, |delivery| out.push(delivery)).unwrap();
    drop(receiver);
    drop(device);
    std::thread::spawn(move || {
        for (number, delivery) in out.into_iter().enumerate() {
            assert_eq!(bytes(&delivery), frame(number));
        }
    })
    .join()
    .unwrap();
}

/// Threads come and go, more than there are slots, with a delivery each.
#[test]
fn threads_that_end_lose_nothing() {
    let (device, mut receiver) = one(|settings| settings.domains = 2);
    for round in 0..20 {
        let mut out = Vec::new();
        (0..12).for_each(|number| assert!(device.deliver(0, &frame(number)), "round {round}"));
        receiver.poll(99, |delivery| out.push(delivery)).unwrap();
        std::thread::scope(|scope| {
            out.into_iter().for_each(|delivery| drop(scope.spawn(move || drop(delivery))));
        });
        receiver.poll(0, drop).unwrap();
        assert_eq!(receiver.census().with_device, POOL);
    }
    let returns = receiver.stats().returns;
    assert_eq!((returns.home, returns.away + returns.overflow), (0, 240));
    assert!(is_home(&mut receiver));
}

#[test]
fn it_says_which_pages_it_lies_on() {
    let (_device, receiver) = one(|settings| settings.buffer_bytes = 65536);
    let pages = receiver.page_bytes();
    assert!([4096, 16384, 65536, groove_driver::dma::HUGE_PAGE_BYTES].contains(&pages));
}
