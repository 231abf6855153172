//! Both ends of a socket in one thread.

use std::io::Write;
use std::os::unix::net::UnixStream;

use super::*;
use rustix::event::{EventfdFlags, eventfd};

fn soon() -> Deadline {
    Deadline::new(Duration::from_millis(20), "a message of the test")
}

fn pair() -> (UnixStream, Socket) {
    let (raw, end) = UnixStream::pair().unwrap();
    (raw, Socket::new(end.into()).unwrap())
}

fn header(bytes: usize) -> Vec<u8> {
    Header { id: 7, command: 9, bytes: bytes as u32, flags: 0, error: 0 }.encode()
}

#[test]
fn messages_and_files_come_through() {
    let (raw, end) = pair();
    let other = Socket::new(raw.into()).unwrap();
    let files: Vec<_> =
        (0..FILES_MAX).map(|_| eventfd(0, EventfdFlags::empty()).unwrap()).collect();
    let borrowed: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
    let sent = Header { id: 3, command: 8, ..Header::default() };
    end.send(sent, &[b"ab", b"c"], &borrowed, soon()).unwrap();
    end.send(sent, &[], &[], soon()).unwrap();
    let first = other.receive(soon()).unwrap();
    assert_eq!((first.body.as_slice(), first.files.len()), (&b"abc"[..], FILES_MAX));
    assert_eq!(first.header, Header { bytes: 19, ..sent });
    let second = other.receive(soon()).unwrap();
    assert_eq!((second.body.len(), second.files.len()), (0, 0));
    rustix::io::write(&first.files[0], &5u64.to_ne_bytes()).unwrap();
    let mut count = [0; 8];
    rustix::io::read(&files[0], &mut count).unwrap();
    assert_eq!(u64::from_ne_bytes(count), 5, "the same event file");
}

#[test]
fn waits_end_at_their_deadline() {
    let (mut raw, end) = pair();
    let start = Instant::now();
    let error = end.receive(soon()).unwrap_err();
    assert_eq!(error.to_string(), "a message of the test took longer than 20ms");
    raw.write_all(&header(20)[..7]).unwrap();
    assert!(matches!(end.receive(soon()), Err(SocketError::Timeout { .. })));
    // Nobody reads: the socket's buffer fills up.
    let data = vec![0; MESSAGE_BYTES_MAX - HEADER_BYTES];
    let error = loop {
        if let Err(error) = end.send(Header::default(), &[&data], &[], soon()) {
            break error;
        }
    };
    assert!(matches!(error, SocketError::Timeout { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn broken_framing_is_refused() {
    for bytes in [0, 1, 15, MESSAGE_BYTES_MAX + 1, u32::MAX as usize] {
        let (mut raw, end) = pair();
        raw.write_all(&header(bytes)).unwrap();
        let error = end.receive(soon()).unwrap_err();
        assert!(matches!(error, SocketError::Malformed(_)), "{bytes}: {error}");
    }
    for cut in [1, 15, 16, 19] {
        let (mut raw, end) = pair();
        let mut message = header(20);
        message.extend_from_slice(b"abcd");
        raw.write_all(&message[..cut]).unwrap();
        drop(raw);
        assert!(matches!(end.receive(soon()), Err(SocketError::Malformed(_))), "{cut}");
    }
    let (raw, end) = pair();
    drop(raw);
    assert!(matches!(end.receive(soon()), Err(SocketError::Closed)));
    let sent = end.send(Header::default(), &[], &[], soon());
    assert!(matches!(sent, Err(SocketError::Closed)));
}

#[test]
fn files_of_refused_messages_are_closed() {
    let (raw, end) = pair();
    let other = Socket::new(raw.into()).unwrap();
    let (read, write) = std::io::pipe().unwrap();
    // The first message is refused: it is of an unknown length. Its file goes with it.
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = [write.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
    let bytes = header(3);
    sendmsg(&other.0, &[IoSlice::new(&bytes)], &mut control, SendFlags::empty()).unwrap();
    assert!(end.receive(soon()).is_err());
    drop(write);
    assert_eq!(rustix::io::read(&read, &mut [0; 1]), Ok(0), "nobody else has the pipe");
}

#[test]
fn a_path_that_is_too_long_is_an_error() {
    let path = "x".repeat(200);
    let error = Socket::connect(Path::new(&path), soon()).unwrap_err();
    assert!(matches!(error, SocketError::Io(_)), "{error}");
}
