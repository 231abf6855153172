//! The socket's path: takes one client after the other, until told to stop.
//!
//! Invariants: a path that another server serves is refused, one that nobody serves any more is
//! taken over (`a_stale_path_is_taken_over`); a second client is told that the device is taken, and
//! the first is not disturbed (`a_second_driver_is_refused`); the server ends when it is told, also
//! in the middle of a session (`the_server_stops_when_told`).

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use groove_driver::vfio_user::socket::{Deadline, Socket};
use groove_driver::vfio_user::wire::{ERROR, Header, REPLY, command};
use groove_driver::{Device, Interrupt};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::function::Function;
use crate::session::{STALL_LIMIT, Session, SessionError, Summary};

/// Why a path cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody serves it.
    #[error("{} is served by another process", .0.display())]
    InUse(PathBuf),
    /// It is something else.
    #[error("{} exists, and is no socket", .0.display())]
    NoSocket(PathBuf),
    /// The system refused.
    #[error("failed to serve {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What happens to a server.
#[derive(Debug)]
pub enum Event {
    /// A client is there.
    Connected,
    /// It has gone.
    Gone(Summary),
    /// It was sent away.
    Failed {
        /// What it did before.
        summary: Summary,
        /// Why.
        error: SessionError,
    },
    /// Another client came meanwhile, and was told that the device is taken.
    Refused,
}

/// A path that is served.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    stall_limit: Duration,
}

impl Server {
    /// Takes a path, which is gone again with the server.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        let failed = |source| BindError::Io { path: path.into(), source };
        match std::fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.file_type().is_socket() => {
                return Err(BindError::NoSocket(path.into()));
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                return Err(BindError::InUse(path.into()));
            }
            // What a server left that was killed.
            Ok(_) => std::fs::remove_file(path).map_err(failed)?,
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, path: path.into(), stall_limit: STALL_LIMIT })
    }

    /// Time for the rest of a message that has begun.
    pub fn set_stall_limit(&mut self, limit: Duration) {
        self.stall_limit = limit;
    }

    /// Serves `device` to one client after the other until `stop` is signalled.
    pub fn run(
        &self,
        device: &Arc<dyn Device>,
        stop: &Interrupt,
        mut tell: impl FnMut(Event),
    ) -> io::Result<()> {
        loop {
            if wait(&[stop.file(), self.listener.as_fd()])? == Some(0) {
                return Ok(());
            }
            let Some(stream) = self.accept()? else { continue };
            tell(Event::Connected);
            let event = match self.session(stream, device, stop, &mut tell) {
                Ok(Some(summary)) => Event::Gone(summary),
                Ok(None) => return Ok(()),
                Err((summary, error)) => Event::Failed { summary, error },
            };
            tell(event);
        }
    }

    fn accept(&self) -> io::Result<Option<UnixStream>> {
        match self.listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => match Errno::from_io_error(&e) {
                Some(Errno::CONNABORTED | Errno::INTR) => Ok(None),
                Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => {
                    // It may have some again soon.
                    std::thread::sleep(Duration::from_millis(10));
                    Ok(None)
                }
                _ => Err(e),
            },
        }
    }

    /// `None`: told to stop.
    fn session(
        &self,
        stream: UnixStream,
        device: &Arc<dyn Device>,
        stop: &Interrupt,
        tell: &mut impl FnMut(Event),
    ) -> Result<Option<Summary>, (Summary, SessionError)> {
        let nothing = Summary::default;
        let socket = Socket::new(stream.into()).map_err(|e| (nothing(), e.into()))?;
        let function =
            Function::new(Arc::clone(device)).map_err(|e| (nothing(), SessionError::Device(e)))?;
        let mut session = Session::new(socket, function, self.stall_limit);
        loop {
            let ready = wait(&[stop.file(), session.file(), self.listener.as_fd()]);
            match ready.map_err(|e| (session.summary(), SessionError::Device(e)))? {
                Some(0) => return Ok(None),
                Some(1) => match session.step() {
                    Ok(true) => {}
                    Ok(false) => return Ok(Some(session.summary())),
                    Err(error) => return Err((session.summary(), error)),
                },
                Some(_) => {
                    if self.refuse() {
                        tell(Event::Refused);
                    }
                }
                None => {}
            }
        }
    }

    /// Tells a further client that the device is taken.
    fn refuse(&self) -> bool {
        let Ok(Some(stream)) = self.accept() else { return false };
        if let Ok(socket) = Socket::new(stream.into()) {
            let error = Errno::BUSY.raw_os_error() as u32;
            let number = command::VERSION;
            let header =
                Header { command: number, flags: REPLY | ERROR, error, ..Header::default() };
            // If it does not even take that, its time runs out.
            let deadline = Deadline::new(Duration::from_millis(10), "a refusal");
            let _ = socket.send(header, &[], &[], deadline);
        }
        true
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Waits until one of some files can be read: the first that can. `None`: interrupted.
fn wait(files: &[std::os::fd::BorrowedFd<'_>]) -> io::Result<Option<usize>> {
    let mut all: Vec<_> =
        files.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
    match poll(&mut all, None) {
        Ok(_) => Ok(all.iter().position(|file| !file.revents().is_empty())),
        Err(Errno::INTR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
