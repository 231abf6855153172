//! Target `vfio_user`: any conversation of a client with the server, over the device of the model.
//!
//!   input ─► messages, with files │ frames from the wire, time │ writes of the client's memory
//!            └► session ─► function ─► watched device ─► model, rings, the client's memory
//!
//! In one thread, step by step; in one of two inputs the rest is sent as raw bytes.
//! Invariants: no panic, no wait; every command is answered, once, or the connection ends with an
//! error; the device is asked for nothing that its trait rules out; memory that was not mapped is
//! not written; when the client is gone, so is all that it mapped and sent.

mod device;
mod message;

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use groove_device::{ModelDevice, Parameters};
use groove_driver::vfio_user::socket::{Deadline, Socket, SocketError};
use groove_driver::vfio_user::wire::{ERROR, Header, NO_REPLY, REPLY, TYPE_MASK};
use groove_driver::{Device, DmaMemory, Interrupt};
use groove_serve::{Function, Session, SessionError};
use groove_spec::TokenKind;
use groove_traffic::frames::{v4, v6};

use crate::input::Input;
use device::Watched;
use message::Said;

/// Most steps of an input.
const STEPS_MAX: usize = 200;
/// Memory that the client has.
const MEMORY_BYTES: usize = 64 << 10;
/// Where a queue that the client sets up has its rings and buffers, from 0.
const BUFFERS_AT: usize = 0x4000;

/// A device of the server's, in front of another; as it is, or broken for the test of this target.
pub type Front<'a> = &'a dyn Fn(Arc<dyn Device>) -> Arc<dyn Device>;

/// Runs one input.
pub fn run(data: &[u8]) {
    run_with(data, &|device| device);
}

/// Runs one input with `front` between server and device.
pub fn run_with(data: &[u8], front: Front) {
    let mut input = Input::new(data);
    let (mut last, gone) = UnixStream::pair().expect("a socket pair");
    last.set_nonblocking(true).expect("a socket");
    let kind = input.byte();
    let queues = [1, 2, 4, 32][usize::from(kind >> 1 & 3)];
    let model = Arc::new(ModelDevice::new(Parameters { queues, prefetch: 16 }));
    let watched = Arc::new(Watched::new(Arc::clone(&model) as Arc<dyn Device>));
    let mut client = Client::new(front(Arc::clone(&watched) as Arc<dyn Device>), model, gone);
    let mut alive = kind & 8 != 0 || client.greet();
    for _ in 0..STEPS_MAX {
        if !alive || input.is_empty() || kind & 1 == 1 && input.byte() < 0x40 {
            break;
        }
        alive = client.step(&mut input);
    }
    if alive {
        client.raw(input.rest());
    }
    client.leave();
    watched.is_let_go();
    // A connection ends when nobody holds its other end any more.
    let read = std::io::Read::read(&mut last, &mut [0]);
    assert!(matches!(read, Ok(0)), "a file is left open: {read:?}");
}

struct Client {
    stream: UnixStream,
    socket: Socket,
    session: Session,
    model: Arc<ModelDevice>,
    memory: DmaMemory,
    /// Bytes of the memory that may have changed.
    open: Vec<bool>,
    event: Interrupt,
    gone: UnixStream,
    next_id: u16,
}

/// Nothing here waits: what is not there at once does not come.
fn soon() -> Deadline {
    Deadline::new(Duration::from_secs(5), "a reply")
}

/// The memory before anything is written: a free ring of 16 buffers, and a pattern.
fn at_first() -> Vec<u8> {
    let descriptor = |id: u16| {
        let iova = (BUFFERS_AT + 2048 * usize::from(id)) as u64;
        [&iova.to_le_bytes()[..], &2048u32.to_le_bytes(), &id.to_le_bytes(), &[0; 2]].concat()
    };
    let mut bytes: Vec<u8> = (0..16).flat_map(descriptor).collect();
    bytes.resize(MEMORY_BYTES, 0xa5);
    bytes
}

impl Client {
    fn new(device: Arc<dyn Device>, model: Arc<ModelDevice>, gone: UnixStream) -> Self {
        let (stream, server) = UnixStream::pair().expect("a socket pair");
        let socket = stream.try_clone().expect("a file number");
        let function = Function::new(device).expect("the model's reset cannot fail");
        let server = Socket::new(server.into()).expect("a socket");
        let memory = DmaMemory::new(MEMORY_BYTES).expect("memory");
        memory.write(0, &at_first()).expect("all of it");
        Self {
            stream,
            socket: Socket::new(socket.into()).expect("a socket"),
            session: Session::new(server, function, Duration::from_secs(5)),
            model,
            memory,
            open: vec![false; MEMORY_BYTES],
            event: Interrupt::new().expect("an event file"),
            gone,
            next_id: 0,
        }
    }

    /// Agrees on the version.
    fn greet(&mut self) -> bool {
        self.say(&Said::greeting())
    }

    /// One step. `false`: the connection has ended.
    fn step(&mut self, input: &mut Input) -> bool {
        match input.byte() % 10 {
            0 => self.wire(input),
            1 => self.write(input),
            2 => return Said::set_up(input).iter().all(|said| self.say(said)),
            _ => return self.say(&Said::decode(input)),
        }
        true
    }

    /// Something happens in front of the device, whose errors are its own.
    fn wire(&mut self, input: &mut Input) {
        let (what, value) = (input.byte(), input.byte());
        let _ = match what % 6 {
            0 => self.model.token(value & 3, TokenKind::ALL[usize::from(value >> 2) % 3]),
            1 => self.model.tick(u64::from(value) << (what >> 4)),
            2 => self.model.inject(input.bytes(value.into()), what & 0x80 != 0),
            3 => self.model.inject(&v6(what.into(), 1 + usize::from(value)).encode(), false),
            4 => self.model.inject(&v4(what.into(), 16 * usize::from(value)).encode(), false),
            _ => self.model.inject(&v4((value & 7).into(), 1000).encode(), false),
        };
    }

    /// The client writes its own memory.
    fn write(&mut self, input: &mut Input) {
        let (at, count) = (usize::from(input.u16()), usize::from(input.byte()));
        let bytes = input.bytes(count.min(MEMORY_BYTES - at));
        self.memory.write(at, bytes).expect("inside");
        self.open[at..at + bytes.len()].fill(true);
    }

    /// Says something, and sees what comes of it.
    fn say(&mut self, said: &Said) -> bool {
        let kinds: [BorrowedFd; 3] = [self.memory.file(), self.event.file(), self.gone.as_fd()];
        let files: Vec<_> = said.files.iter().map(|kind| kinds[usize::from(*kind) % 3]).collect();
        let (id, command, flags) = (self.next_id, said.command, said.flags);
        self.next_id = id.wrapping_add(1);
        let header = Header { id, command, flags, ..Header::default() };
        match self.socket.send(header, &[&said.body], &files, soon()) {
            Ok(()) => {}
            Err(error) => panic!("the client cannot speak: {error}"),
        }
        // Before it is done: it may be in use when the answer comes.
        if let Some(part) = said.opens(MEMORY_BYTES) {
            self.open[part].fill(true);
        }
        match self.session.step() {
            Ok(true) => {
                assert_eq!(flags & TYPE_MASK, 0, "only a command goes on");
                if flags & NO_REPLY == 0 {
                    let reply = self.socket.receive(soon()).expect("it was answered").header;
                    assert_eq!((reply.id, reply.command), (id, command));
                    assert_eq!(reply.flags & !ERROR, REPLY);
                    assert_eq!(reply.error == 0, reply.flags & ERROR == 0, "{reply:?}");
                }
                true
            }
            Ok(false) => panic!("the client is still there"),
            Err(error) => {
                is_no_wait(&error);
                false
            }
        }
    }

    /// Any bytes, and the end.
    fn raw(&mut self, bytes: &[u8]) {
        self.stream.set_nonblocking(true).expect("a socket");
        // As much as the socket takes: an input is smaller.
        let _ = self.stream.write(bytes);
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        for _ in 0..=bytes.len() / 16 {
            match self.session.step() {
                Ok(true) => {
                    // The answer is as it is; it only must not fill the socket.
                    let _ = self.socket.receive(Deadline::new(Duration::ZERO, "a reply"));
                }
                Ok(false) => return,
                Err(error) => return is_no_wait(&error),
            }
        }
        panic!("more messages than bytes");
    }

    /// The client goes. What it did not open is as it was.
    fn leave(self) {
        let Self { session, memory, open, .. } = self;
        drop(session);
        let mut now = vec![0; MEMORY_BYTES];
        memory.read(0, &mut now).expect("all of it");
        let before = at_first();
        let changed = (0..MEMORY_BYTES).find(|at| now[*at] != before[*at] && !open[*at]);
        assert_eq!(changed, None, "memory that was not mapped was written");
    }
}

/// The server has waited for nothing.
fn is_no_wait(error: &SessionError) {
    let waited = matches!(error, SessionError::Socket(SocketError::Timeout { .. }));
    assert!(!waited, "{error}");
}
