//! Messages over a Unix socket, with files, each within a time.
//!
//! Invariants: a wait ends at its deadline and says what it waited for
//! (`waits_end_at_their_deadline`); no bytes make it panic or take more memory than the longest
//! message (`broken_framing_is_refused`); files that come with a refused message are closed
//! (`files_of_refused_messages_are_closed`).
//! Not here: what messages mean.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    connect, recvmsg, sendmsg, socket_with,
};

use super::wire::{FILES_MAX, HEADER_BYTES, Header, MESSAGE_BYTES_MAX};

/// Why a message did not come or go.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The other end closed the connection between two messages.
    #[error("the other end closed the connection")]
    Closed,
    /// The time is over.
    #[error("{what} took longer than {limit:?}")]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// The time that it had.
        limit: Duration,
    },
    /// Bytes that are no message.
    #[error("malformed message: {0}")]
    Malformed(&'static str),
    /// The socket failed.
    #[error("the socket failed")]
    Io(#[source] std::io::Error),
}

impl From<Errno> for SocketError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::PIPE | Errno::CONNRESET => Self::Closed,
            _ => Self::Io(errno.into()),
        }
    }
}

/// When something has to be done, and what it is.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    end: Instant,
    limit: Duration,
    what: &'static str,
}

impl Deadline {
    /// From now on.
    pub fn new(limit: Duration, what: &'static str) -> Self {
        // A limit beyond the clock's range acts as a day.
        let now = Instant::now();
        let end = now.checked_add(limit).unwrap_or(now + Duration::from_secs(86_400));
        Self { end, limit, what }
    }

    /// The error at its end.
    pub fn timeout(&self) -> SocketError {
        SocketError::Timeout { what: self.what, limit: self.limit }
    }

    /// Waits until `file` is ready.
    pub fn wait(&self, file: BorrowedFd<'_>, flags: PollFlags) -> Result<(), SocketError> {
        loop {
            let left = self.end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.timeout());
            }
            let left = Timespec::try_from(left).map_err(|_| self.timeout())?;
            match poll(&mut [PollFd::from_borrowed_fd(file, flags)], Some(&left)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// A message.
#[derive(Debug)]
pub struct Message {
    /// Its header.
    pub header: Header,
    /// All behind the header.
    pub body: Vec<u8>,
    /// Files that came with it.
    pub files: Vec<OwnedFd>,
}

/// One end of a connection. The socket never blocks.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Connects to a server's path, which waits if the server has no place in its queue.
    pub fn connect(path: &Path, deadline: Deadline) -> Result<Self, SocketError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let address = SocketAddrUnix::new(path)?;
        loop {
            match connect(&socket, &address) {
                Ok(()) => return Ok(Self(socket)),
                Err(Errno::AGAIN) if Instant::now() < deadline.end => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(Errno::AGAIN) => return Err(deadline.timeout()),
                Err(errno) => return Err(SocketError::Io(errno.into())),
            }
        }
    }

    /// Takes a connected socket over.
    pub fn new(socket: OwnedFd) -> Result<Self, SocketError> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self(socket))
    }

    /// The socket, to wait for with others.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Sends a message whose length is filled in.
    pub fn send(
        &self,
        header: Header,
        parts: &[&[u8]],
        files: &[BorrowedFd<'_>],
        deadline: Deadline,
    ) -> Result<(), SocketError> {
        let body: usize = parts.iter().map(|part| part.len()).sum();
        let header = Header { bytes: (HEADER_BYTES + body) as u32, ..header };
        let mut bytes = header.encode();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let mut sent = 0;
        while sent < bytes.len() {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FILES_MAX))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            // Files go with the first byte.
            if sent == 0
                && !files.is_empty()
                && !control.push(SendAncillaryMessage::ScmRights(files))
            {
                return Err(SocketError::Malformed("more files than a message can carry"));
            }
            let rest = [IoSlice::new(&bytes[sent..])];
            match sendmsg(&self.0, &rest, &mut control, SendFlags::NOSIGNAL) {
                Ok(n) => sent += n,
                Err(Errno::AGAIN) => deadline.wait(self.file(), PollFlags::OUT)?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Receives a message.
    pub fn receive(&self, deadline: Deadline) -> Result<Message, SocketError> {
        let mut files = Vec::new();
        let mut bytes = [0; HEADER_BYTES];
        self.fill(&mut bytes, &mut files, deadline, true)?;
        let (header, _) = Header::decode(&bytes).ok_or(SocketError::Malformed("no header"))?;
        let body = match (header.bytes as usize).checked_sub(HEADER_BYTES) {
            None => return Err(SocketError::Malformed("shorter than its header")),
            Some(body) if body > MESSAGE_BYTES_MAX - HEADER_BYTES => {
                return Err(SocketError::Malformed("longer than any message"));
            }
            Some(body) => body,
        };
        let mut body = vec![0; body];
        self.fill(&mut body, &mut files, deadline, false)?;
        Ok(Message { header, body, files })
    }

    fn fill(
        &self,
        into: &mut [u8],
        files: &mut Vec<OwnedFd>,
        deadline: Deadline,
        is_first: bool,
    ) -> Result<(), SocketError> {
        let mut filled = 0;
        while filled < into.len() {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FILES_MAX))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut rest = [IoSliceMut::new(&mut into[filled..])];
            match recvmsg(&self.0, &mut rest, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Ok(message) => {
                    for part in control.drain() {
                        if let RecvAncillaryMessage::ScmRights(received) = part {
                            files.extend(received);
                        }
                    }
                    if message.flags.contains(ReturnFlags::CTRUNC) || files.len() > FILES_MAX {
                        return Err(SocketError::Malformed("too many files"));
                    }
                    match message.bytes {
                        0 if is_first && filled == 0 => return Err(SocketError::Closed),
                        0 => return Err(SocketError::Malformed("it ends in the middle")),
                        n => filled += n,
                    }
                }
                Err(Errno::AGAIN) => deadline.wait(self.file(), PollFlags::IN)?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
