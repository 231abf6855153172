//! What goes wrong between driver and device, and what comes of it. Nothing hangs.

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use groove_device::{ModelDevice, Parameters};
use groove_driver::identify::REGISTERS;
use groove_driver::{
    Device, DmaMemory, Error, IdentityError, Interrupt, Nic, QueueError, Region, Settings,
    SetupError, SocketVfio,
};
use groove_serve::{BindError, Server};
use support::Served;

fn small() -> Settings {
    let mut settings = Settings::new(2);
    (settings.ring, settings.buffers, settings.buffer_bytes) = (64, 64, 2048);
    settings
}

/// A frame that is delivered alone.
fn frame(number: u8) -> Vec<u8> {
    let mut frame = vec![0xff; 64];
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame[20] = number;
    frame
}

/// Opens the driver, lets some frames come through, and gives how many did.
fn receive(served: &Served, driver: SocketVfio) -> usize {
    let nic = Nic::open(Arc::new(driver), &small()).unwrap();
    let mut queues = nic.queues.into_iter().map(|q| q.attach().unwrap()).collect::<Vec<_>>();
    for number in 0..10 {
        served.device.inject(&frame(number), false).unwrap();
    }
    let mut got = 0;
    for queue in &mut queues {
        got += queue.poll(64, |_| ()).unwrap();
    }
    got
}

#[test]
fn the_driver_receives_over_the_socket() {
    let served = Served::new();
    assert_eq!(receive(&served, served.driver()), 10);
    served.event("Gone");
}

/// A device that a test can break.
struct Breakable {
    device: Arc<ModelDevice>,
    fails: AtomicBool,
    pause: AtomicU64,
    spec_id: Option<u32>,
    /// What the driver is signalled by.
    vectors: Mutex<Vec<Arc<Interrupt>>>,
}

impl Breakable {
    fn served(spec_id: Option<u32>) -> (Arc<Self>, Served) {
        let device = Arc::new(ModelDevice::new(Parameters { queues: 2, ..Parameters::default() }));
        let fails = AtomicBool::new(false);
        let front = Arc::new(Self {
            device: Arc::clone(&device),
            fails,
            pause: AtomicU64::new(0),
            spec_id,
            vectors: Mutex::default(),
        });
        let dyn_front: Arc<dyn Device> = Arc::clone(&front) as Arc<dyn Device>;
        (front, Served::of(dyn_front, device, Duration::from_secs(5)))
    }

    fn check(&self) -> Result<(), Error> {
        std::thread::sleep(Duration::from_millis(self.pause.load(Ordering::Relaxed)));
        match self.fails.load(Ordering::Relaxed) {
            true => Err(std::io::Error::other("broken").into()),
            false => Ok(()),
        }
    }
}

impl Device for Breakable {
    fn region_bytes(&self, region: Region) -> u64 {
        self.device.region_bytes(region)
    }
    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        self.check()?;
        match self.spec_id {
            Some(id) if offset == 0 => Ok(id),
            _ => self.device.read32(region, offset),
        }
    }
    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        self.check()?;
        self.device.write32(region, offset, value)
    }
    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        self.check()?;
        self.device.dma_map(iova, memory)
    }
    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        self.device.dma_unmap(iova, bytes)
    }
    fn vectors(&self) -> usize {
        self.device.vectors()
    }
    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        *self.vectors.lock().unwrap() = interrupts.to_vec();
        self.device.set_interrupts(interrupts)
    }
    fn reset(&self) -> Result<(), Error> {
        self.device.reset()
    }
}

/// Text of an error and of all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[test]
fn a_server_that_is_gone_is_an_error_not_a_hang() {
    let mut served = Served::new();
    let nic = Nic::open(Arc::new(served.driver()), &small()).unwrap();
    let mut queue = nic.queues.into_iter().next().unwrap().attach().unwrap();
    served.stop();
    let start = Instant::now();
    let error = queue.wait(Duration::from_millis(50)).unwrap_err();
    assert!(matches!(error, QueueError::Device { .. }), "{error}");
    assert!(chain(&error).contains("closed the connection"), "{}", chain(&error));
    drop(queue);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn register_errors_are_the_drivers() {
    let (front, served) = Breakable::served(None);
    let nic = Nic::open(Arc::new(served.driver()), &small()).unwrap();
    let mut queue = nic.queues.into_iter().next().unwrap().attach().unwrap();
    front.fails.store(true, Ordering::Relaxed);
    let error = queue.wait(Duration::ZERO).unwrap_err();
    assert!(chain(&error).contains("os error 5"), "{}", chain(&error));
    front.fails.store(false, Ordering::Relaxed);
    assert!(!queue.wait(Duration::ZERO).unwrap(), "the connection has survived");
    served.device.inject(&frame(1), false).unwrap();
    assert!(queue.wait(Duration::from_secs(5)).unwrap());
    queue.stop(|_| ()).unwrap();
}

#[test]
fn another_table_is_refused() {
    let (_, served) = Breakable::served(Some(0x1234_5678));
    let error = Nic::open(Arc::new(served.driver()), &small()).unwrap_err();
    let SetupError::Identity(IdentityError::OtherTable { device, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!(device, 0x1234_5678);
}

#[test]
fn a_device_that_is_gone_reads_as_ones() {
    let (_, served) = Breakable::served(Some(u32::MAX));
    let error = Nic::open(Arc::new(served.driver()), &small()).unwrap_err();
    assert!(matches!(error, SetupError::Identity(IdentityError::Gone)), "{error}");
}

#[test]
fn a_refused_mapping_stops_the_set_up() {
    let (front, served) = Breakable::served(None);
    let driver = served.driver();
    let memory = Arc::new(DmaMemory::new(4096).unwrap());
    front.fails.store(true, Ordering::Relaxed);
    let error = driver.dma_map(0x1000, Arc::clone(&memory)).unwrap_err();
    assert_eq!(error.to_string(), "failed to give the device DMA memory");
    assert_eq!(Arc::strong_count(&memory), 1);
    front.fails.store(false, Ordering::Relaxed);
    driver.dma_map(0x1000, memory).unwrap();
}

#[test]
fn a_server_that_is_slow_is_named() {
    let (front, served) = Breakable::served(None);
    let driver = SocketVfio::with_timeout(&served.path, Duration::from_millis(150)).unwrap();
    front.pause.store(400, Ordering::Relaxed);
    let start = Instant::now();
    let error = driver.read32(REGISTERS, 0).unwrap_err();
    assert!(chain(&error).contains("read a register took longer than 150ms"), "{}", chain(&error));
    assert!(start.elapsed() < Duration::from_secs(2));
    front.pause.store(0, Ordering::Relaxed);
    assert!(driver.read32(REGISTERS, 0).is_err(), "the connection is given up");
    drop(driver);
    assert_eq!(receive(&served, served.driver()), 10, "the next one is well");
}

#[test]
fn a_second_driver_is_refused() {
    let served = Served::new();
    let first = served.driver();
    let error = SocketVfio::open(&served.path).unwrap_err();
    assert!(chain(&error).contains("os error 16"), "{}", chain(&error));
    assert!(error.help().contains("one driver at a time"), "{}", error.help());
    served.event("Refused");
    first.read32(REGISTERS, 0).unwrap();
    drop(first);
    served.event("Gone");
    served.driver();
}

#[test]
fn a_reset_in_traffic_leaves_a_clean_device() {
    let served = Served::new();
    let driver = Arc::new(served.driver());
    let settings = small();
    for _ in 0..3 {
        let device: Arc<dyn Device> = Arc::clone(&driver) as Arc<dyn Device>;
        let nic = Nic::open(device, &settings).unwrap();
        let mut queues: Vec<_> =
            nic.queues.into_iter().map(|queue| queue.attach().unwrap()).collect();
        for number in 0..20 {
            served.device.inject(&frame(number), false).unwrap();
        }
        queues[0].poll(5, |_| ()).unwrap();
        driver.reset().unwrap();
        served.device.inject(&frame(99), false).unwrap();
        drop(queues);
    }
    let Ok(driver) = Arc::try_unwrap(driver) else { panic!("somebody has the driver") };
    assert_eq!(receive(&served, driver), 10);
}

#[test]
fn a_killed_client_leaves_nothing() {
    let served = Served::new();
    let memory = Arc::new(DmaMemory::new(1 << 20).unwrap());
    let driver = served.driver();
    driver.dma_map(1 << 32, Arc::clone(&memory)).unwrap();
    // As a killed process: nothing is said, the socket is closed.
    drop(driver);
    served.event("Gone");
    let file = std::fs::File::from(memory.file().try_clone_to_owned().unwrap());
    let inode = format!(" {} ", std::os::unix::fs::MetadataExt::ino(&file.metadata().unwrap()));
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let ours = maps.lines().filter(|line| line.contains(&inode)).count();
    assert_eq!(ours, 1, "the driver's own mapping; the server has let its own go");
    assert_eq!(receive(&served, served.driver()), 10);
}

#[test]
fn lost_and_spurious_interrupts_do_no_harm() {
    let served = Served::new();
    let mut settings = small();
    settings.queues = 1;
    let driver = Arc::new(served.driver());
    let nic = Nic::open(Arc::clone(&driver) as Arc<dyn Device>, &settings).unwrap();
    let mut queue = nic.queues.into_iter().next().unwrap().attach().unwrap();
    // Lost: nobody is told; the next wait finds the completion, as it looks before it sleeps.
    driver.set_interrupts(&[]).unwrap();
    served.device.inject(&frame(1), false).unwrap();
    assert!(queue.wait(Duration::from_secs(5)).unwrap());
    assert_eq!(queue.poll(9, |_| ()).unwrap(), 1);
    // Storm: thousands for nothing.
    let vector = Arc::new(Interrupt::new().unwrap());
    driver.set_interrupts(&[Arc::clone(&vector)]).unwrap();
    for _ in 0..10_000 {
        vector.signal().unwrap();
    }
    assert!(vector.wait(Duration::ZERO).unwrap());
    assert!(!vector.wait(Duration::ZERO).unwrap(), "one wait takes them all");
    assert_eq!(queue.poll(9, |_| ()).unwrap(), 0);
    queue.stop(|_| ()).unwrap();
}

/// The device signals as fast as it can, for nothing, while frames come: each wait ends, none is
/// missed, and the server answers as before.
#[test]
fn an_interrupt_storm_stops_nothing() {
    let (front, served) = Breakable::served(None);
    let settings = Settings { queues: 1, ..small() };
    let nic = Nic::open(Arc::new(served.driver()), &settings).unwrap();
    let mut queue = nic.queues.into_iter().next().unwrap().attach().unwrap();
    let (over, storms) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                front.vectors.lock().unwrap().iter().for_each(|vector| vector.signal().unwrap());
                storms.fetch_add(1, Ordering::Relaxed);
            }
        });
        let end = Instant::now() + Duration::from_secs(20);
        // It blows before the first frame comes, on a machine with other things to do too.
        while storms.load(Ordering::Relaxed) <= 50 && Instant::now() < end {
            std::thread::yield_now();
        }
        for number in 0..50 {
            served.device.inject(&frame(number), false).unwrap();
            let mut got = 0;
            while got == 0 && Instant::now() < end {
                queue.wait(Duration::from_secs(5)).unwrap();
                got = queue.poll(9, |_| ()).unwrap();
            }
            assert_eq!(got, 1, "frame {number}");
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(storms.into_inner() > 50, "it was no storm");
    queue.stop(|_| ()).unwrap();
}

#[test]
fn a_stale_path_is_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let server = Server::bind(&path).unwrap();
    assert!(matches!(Server::bind(&path), Err(BindError::InUse(_))));
    // What a killed server leaves.
    let stale = directory.path().join("stale");
    std::fs::hard_link(&path, &stale).unwrap();
    drop(server);
    assert!(!path.exists() && stale.exists());
    drop(Server::bind(&stale).unwrap());
    assert!(!stale.exists());
    std::fs::write(&path, "a file").unwrap();
    assert!(matches!(Server::bind(&path), Err(BindError::NoSocket(_))));
    let long = directory.path().join("x".repeat(200));
    assert!(matches!(Server::bind(&long), Err(BindError::Io { .. })));
}

#[test]
fn the_server_stops_when_told() {
    let mut idle = Served::new();
    idle.stop();
    let mut busy = Served::new();
    let driver = busy.driver();
    busy.stop();
    assert!(driver.read32(REGISTERS, 0).is_err());
}
