//! A server of the software device in a thread, and raw clients.

// Each suite uses a part.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use groove_device::{ModelDevice, Parameters};
use groove_driver::vfio_user::socket::{Deadline, Message, Socket};
use groove_driver::vfio_user::wire::{Header, Version, capabilities, command};
use groove_driver::{Device, DmaMemory, Interrupt, SocketVfio, identify};
use groove_serve::{Event, Server};

/// Long enough for everything that is to happen.
pub fn later() -> Deadline {
    Deadline::new(Duration::from_secs(20), "the server")
}

/// A server, which ends with it.
pub struct Served {
    pub device: Arc<ModelDevice>,
    pub path: PathBuf,
    pub events: Arc<Mutex<Vec<String>>>,
    stop: Arc<Interrupt>,
    thread: Option<JoinHandle<()>>,
    _directory: tempfile::TempDir,
}

impl Served {
    pub fn new() -> Self {
        let device = Arc::new(ModelDevice::new(Parameters { queues: 4, ..Parameters::default() }));
        Self::of(Arc::clone(&device) as Arc<dyn Device>, device, Duration::from_millis(200))
    }

    /// Serves something in front of a software device.
    pub fn of(front: Arc<dyn Device>, device: Arc<ModelDevice>, stall_limit: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let mut server = Server::bind(&path).unwrap();
        server.set_stall_limit(stall_limit);
        let stop = Arc::new(Interrupt::new().unwrap());
        let events = Arc::new(Mutex::new(Vec::new()));
        let (told, heard) = (Arc::clone(&stop), Arc::clone(&events));
        let thread = std::thread::spawn(move || {
            let tell = |event: Event| heard.lock().unwrap().push(format!("{event:?}"));
            server.run(&front, &told, tell).unwrap();
        });
        Self { device, path, events, stop, thread: Some(thread), _directory: directory }
    }

    pub fn driver(&self) -> SocketVfio {
        SocketVfio::with_timeout(&self.path, Duration::from_secs(20)).unwrap()
    }

    /// Waits until an event whose text begins so has come, and gives it.
    #[track_caller]
    pub fn event(&self, start: &str) -> String {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let mut events = self.events.lock().unwrap();
            if let Some(at) = events.iter().position(|event| event.starts_with(start)) {
                return events.remove(at);
            }
            assert!(Instant::now() < end, "no {start} in {events:?}");
            drop(events);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sees that it answers a good driver.
    #[track_caller]
    pub fn is_well(&self) {
        let driver = self.driver();
        identify(&driver).unwrap();
        driver.dma_map(0, Arc::new(DmaMemory::new(4096).unwrap())).unwrap();
    }

    /// Stops it, and sees that it ended well.
    pub fn stop(&mut self) {
        self.stop.signal().unwrap();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A client without manners.
pub struct Raw {
    pub socket: Socket,
    next_id: u16,
}

impl Raw {
    /// Connected, nothing said yet.
    pub fn silent(served: &Served) -> Self {
        Self { socket: Socket::connect(&served.path, later()).unwrap(), next_id: 0 }
    }

    /// Connected, version agreed.
    pub fn new(served: &Served) -> Self {
        let mut raw = Self::silent(served);
        let mut body = Version { major: 0, minor: 1 }.encode();
        body.extend(capabilities());
        let reply = raw.ask(command::VERSION, &body);
        assert_eq!(reply.header.error, 0);
        raw
    }

    pub fn say(&mut self, number: u16, body: &[u8]) {
        let header = Header { id: self.next_id, command: number, ..Header::default() };
        self.next_id = self.next_id.wrapping_add(1);
        self.socket.send(header, &[body], &[], later()).unwrap();
    }

    pub fn ask(&mut self, number: u16, body: &[u8]) -> Message {
        self.say(number, body);
        self.socket.receive(later()).unwrap()
    }
}
