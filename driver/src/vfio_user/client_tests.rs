//! The client against servers that misbehave; a good one is in the suites of the workspace.

use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

use super::*;

/// What a server does with a message. `None`: it ends.
type Answer = dyn FnMut(&Socket, &socket::Message) -> Option<()> + Send;

fn later() -> Deadline {
    Deadline::new(Duration::from_secs(10), "a command of the client")
}

fn reply(socket: &Socket, to: Header, parts: &[&[u8]]) {
    let _ = socket.send(Header { flags: REPLY, ..to }, parts, &[], later());
}

/// Answers as a good server does.
fn good(socket: &Socket, message: &socket::Message) {
    let body = match message.header.command {
        command::VERSION => {
            let mut body = Version { major: 0, minor: 1 }.encode();
            body.extend_from_slice(b"{\"capabilities\":{\"max_msg_fds\":2}}\0");
            body
        }
        command::DEVICE_INFO => {
            let flags = abi::DEVICE_PCI | abi::DEVICE_RESET;
            DeviceInfo { argsz: 16, flags, regions: 9, irqs: 5 }.encode()
        }
        command::REGION_INFO => {
            let (asked, _) = RegionInfo::decode(&message.body).unwrap();
            let size = if matches!(asked.index, 0 | 7) { 4096 } else { 0 };
            RegionInfo { size, ..asked }.encode()
        }
        command::IRQ_INFO => {
            let (asked, _) = IrqInfo::decode(&message.body).unwrap();
            IrqInfo { count: 5, ..asked }.encode()
        }
        command::REGION_READ => {
            let mut body = message.body.clone();
            body.extend_from_slice(&7u32.to_le_bytes());
            body
        }
        command::REGION_WRITE => message.body[..Access::BYTES].to_vec(),
        command::DMA_UNMAP => message.body.clone(),
        _ => Vec::new(),
    };
    reply(socket, message.header, &[&body]);
}

struct Server {
    directory: tempfile::TempDir,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn new(mut answer: Box<Answer>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("s")).unwrap();
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let socket = Socket::new(stream.into()).unwrap();
            while let Ok(message) = socket.receive(later()) {
                if answer(&socket, &message).is_none() {
                    return;
                }
            }
        });
        Self { directory, thread: Some(thread) }
    }

    fn connect(&self, timeout: Duration) -> Result<SocketVfio, ConnectError> {
        SocketVfio::with_timeout(&self.directory.path().join("s"), timeout)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.thread.take().unwrap().join();
    }
}

/// A good server but for one command.
fn but(command: u16, mut answer: Box<Answer>) -> Server {
    Server::new(Box::new(move |socket, message| {
        if message.header.command == command {
            return answer(socket, message);
        }
        good(socket, message);
        Some(())
    }))
}

const LONG: Duration = Duration::from_secs(10);

#[test]
fn a_good_server_is_used() {
    let vectors = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&vectors);
    let server = but(
        command::SET_IRQS,
        Box::new(move |socket, message| {
            let (body, _) = SetIrqs::decode(&message.body)?;
            seen.lock().unwrap().push((body.start, body.count, message.files.len()));
            reply(socket, message.header, &[]);
            Some(())
        }),
    );
    let device = server.connect(LONG).unwrap();
    assert_eq!(device.read32(Region::Bar(0), 8).unwrap(), 7);
    device.write32(Region::Bar(0), 8, 1).unwrap();
    assert!(matches!(device.read32(Region::Bar(0), 4096), Err(Error::OutOfRange { .. })));
    assert!(matches!(device.read32(Region::Bar(9), 0), Err(Error::NoRegion(_))));
    let memory = Arc::new(DmaMemory::new(8192).unwrap());
    device.dma_map(0x1000, Arc::clone(&memory)).unwrap();
    for iova in [0, 0x1000, 0x2fff, u64::MAX] {
        let refused = device.dma_map(iova, Arc::clone(&memory));
        assert!(matches!(refused, Err(Error::Mapping { .. })), "{iova:#x}");
    }
    let interrupts: Vec<_> = (0..5).map(|_| Arc::new(Interrupt::new().unwrap())).collect();
    device.set_interrupts(&interrupts).unwrap();
    let expected = [(0, 0, 0), (0, 2, 2), (2, 2, 2), (4, 1, 1)];
    assert_eq!(*vectors.lock().unwrap(), expected, "as many files as the server takes");
    device.reset().unwrap();
    assert_eq!(Arc::strong_count(&memory), 1);
    drop(device);
}

#[test]
fn a_slow_server_is_given_up() {
    let server = but(
        command::RESET,
        Box::new(|socket, message| {
            std::thread::sleep(Duration::from_millis(300));
            reply(socket, message.header, &[]);
            Some(())
        }),
    );
    let device = server.connect(Duration::from_millis(100)).unwrap();
    let error = device.reset().unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(error.to_string(), "failed to reset the device");
    assert_eq!(cause, "reset the device took longer than 100ms");
    std::thread::sleep(Duration::from_millis(400));
    // The late reply is not taken for an answer.
    let error = device.read32(Region::Bar(0), 0).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.starts_with("the connection was given up: reset the device took"), "{cause}");
    assert!(error.help().is_some());
}

#[test]
fn a_server_that_dies_is_an_error() {
    let server = but(command::REGION_WRITE, Box::new(|_, _| None));
    let error = server.connect(LONG).unwrap_err();
    assert!(matches!(error, ConnectError::Handshake { .. }));
    assert!(!error.help().is_empty());
}

#[test]
fn refusals_keep_their_errno() {
    for (errno, expected) in [(12, Some(12)), (0, None), (u32::MAX, None)] {
        let server = but(
            command::DMA_MAP,
            Box::new(move |socket, message| {
                let flags = REPLY | ERROR;
                let header = Header { flags, error: errno, ..message.header };
                socket.send(header, &[], &[], later()).ok()
            }),
        );
        let device = server.connect(LONG).unwrap();
        let memory = Arc::new(DmaMemory::new(4096).unwrap());
        let error = device.dma_map(0, Arc::clone(&memory)).unwrap_err();
        let Error::Transport { source, .. } = error else { panic!("{error}") };
        assert_eq!(source.raw_os_error(), expected);
        assert_eq!(Arc::strong_count(&memory), 1);
        assert_eq!(device.read32(Region::Bar(0), 0).unwrap(), 7, "the connection goes on");
    }
}

#[test]
fn commands_of_the_server_are_refused() {
    let server = but(
        command::RESET,
        Box::new(|socket, message| {
            let ask = Header { id: 99, command: 11, ..Header::default() };
            socket.send(ask, &[&[0; 16]], &[], later()).unwrap();
            let answer = socket.receive(later()).unwrap().header;
            assert_eq!((answer.id, answer.flags), (99, REPLY | ERROR));
            reply(socket, message.header, &[]);
            Some(())
        }),
    );
    server.connect(LONG).unwrap().reset().unwrap();
}

/// Every reply of the handshake and of a read, cut, wrong, or not a reply.
#[test]
fn garbage_replies_are_refused() {
    let commands = [
        command::VERSION,
        command::DEVICE_INFO,
        command::REGION_INFO,
        command::IRQ_INFO,
        command::REGION_READ,
    ];
    for at in commands {
        for kind in 0..4 {
            let server = but(
                at,
                Box::new(move |socket, message| {
                    let header = match kind {
                        0 => Header { flags: REPLY, ..message.header },
                        1 => Header { flags: REPLY, id: 0x7777, ..message.header },
                        2 => Header { flags: REPLY, command: 77, ..message.header },
                        _ => Header { flags: 2, ..message.header },
                    };
                    let body = [0xff; 3];
                    socket.send(header, &[&body], &[], later()).ok()
                }),
            );
            // The command register is read during the handshake.
            let error = server.connect(LONG).unwrap_err();
            assert!(matches!(error, ConnectError::Handshake { .. }), "{at} {kind}: {error}");
        }
    }
}

#[test]
fn nobody_there_says_how_to_serve() {
    let error = SocketVfio::open(Path::new("/nonexistent/socket")).unwrap_err();
    assert_eq!(error.help(), "serve a device there: groove serve --socket /nonexistent/socket");
    let error = SocketVfio::open(Path::new(&"x".repeat(200))).unwrap_err();
    assert!(error.help().contains("107 bytes"));
}

#[test]
fn strangers_are_refused() {
    let server = but(
        command::DEVICE_INFO,
        Box::new(|socket, message| {
            let body = DeviceInfo { argsz: 16, flags: abi::DEVICE_PCI, regions: 9, irqs: 5 };
            reply(socket, message.header, &[&body.encode()]);
            Some(())
        }),
    );
    assert!(matches!(server.connect(LONG), Err(ConnectError::Unfit(_))));
}
