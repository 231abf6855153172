//! A device behind a vfio-user socket: the same bed, with the driver at the other end of it.
//!
//!   driver ─► SocketVfio ═ socket ═ server ─► device ◄─ frames, tokens, time

use std::sync::Arc;
use std::thread::JoinHandle;

use groove_device::{Parameters, Step};
use groove_driver::{Device, Interrupt, SocketVfio};
use groove_serve::Server;
use groove_spec::TokenKind;

use super::rtl::Rtl;
use super::{Software, Testbed};

/// A bed whose device is served.
pub struct Socketed {
    bed: Box<dyn Testbed>,
    device: Arc<SocketVfio>,
    stop: Arc<Interrupt>,
    server: Option<JoinHandle<()>>,
    /// A simulation at the other end: as few rounds as a test can do with.
    is_slow: bool,
    _directory: tempfile::TempDir,
}

impl Socketed {
    /// The software device, served.
    pub fn open(parameters: Parameters) -> Box<dyn Testbed> {
        Box::new(Self::new(Software::open(parameters), false))
    }

    /// The Verilated hardware, served.
    pub fn hardware(parameters: Parameters) -> Box<dyn Testbed> {
        Box::new(Self::new(Rtl::wide(parameters), true))
    }

    /// The same with a clock that runs by itself, as `groove serve` has it.
    pub fn running_hardware(parameters: Parameters) -> Box<dyn Testbed> {
        Box::new(Self::new(Rtl::running(parameters), true))
    }

    fn new(bed: Box<dyn Testbed>, is_slow: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let server = Server::bind(&path).unwrap();
        let stop = Arc::new(Interrupt::new().unwrap());
        let (device, told) = (bed.device(), Arc::clone(&stop));
        let server = std::thread::spawn(move || server.run(&device, &told, |_| ()).unwrap());
        let device = Arc::new(SocketVfio::open(&path).unwrap());
        Self { bed, device, stop, server: Some(server), is_slow, _directory: directory }
    }
}

impl Drop for Socketed {
    fn drop(&mut self) {
        self.stop.signal().unwrap();
        let ended = self.server.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_none_or(|result| result.is_ok()));
    }
}

impl Testbed for Socketed {
    fn device(&self) -> Arc<dyn Device> {
        Arc::clone(&self.device) as Arc<dyn Device>
    }

    fn inject(&self, bytes: &[u8], bad_fcs: bool) {
        self.bed.inject(bytes, bad_fcs);
    }

    fn token(&self, queue: u8, kind: TokenKind) {
        self.bed.token(queue, kind);
    }

    fn tick(&self, cycles: u64) {
        self.bed.tick(cycles);
    }

    fn settle(&self) {
        self.bed.settle();
    }

    fn journal(&self) -> Vec<Step> {
        self.bed.journal()
    }

    fn share(&self, full: usize, least: usize) -> usize {
        if self.is_slow { least } else { full.max(least) }
    }
}
