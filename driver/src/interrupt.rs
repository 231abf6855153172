//! An interrupt vector as the driver sees it: an event file that a device signals.
//!
//! Invariants: a signal before the wait is not lost, and one wait takes all signals so far
//! (`signals_before_a_wait_are_taken_at_once`); a wait ends at its timeout
//! (`waits_no_longer_than_told`).
//! Not here: masking and moderation, which are registers.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read, write};

/// One vector.
#[derive(Debug)]
pub struct Interrupt(OwnedFd);

impl Interrupt {
    /// A vector with no signal pending.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Takes over an event file that somebody else sent; no other file, as a signal could fail
    /// then. It is made not to block, so that a signal cannot.
    pub fn of_file(file: OwnedFd) -> io::Result<Self> {
        let name = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        if !name.to_string_lossy().contains("[eventfd]") {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an event file"));
        }
        rustix::io::ioctl_fionbio(&file, true)?;
        Ok(Self(file))
    }

    /// The event file: what kernel VFIO and vfio-user take.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Raises it; for devices in this process.
    pub fn signal(&self) -> io::Result<()> {
        match write(&self.0, &1u64.to_ne_bytes()) {
            // The counter is full: a signal is pending, which is all that there is to say.
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until it was raised. `false`: not within `timeout`.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        Self::wait_any(&[self], timeout)
    }

    /// Waits until one of several was raised, and takes all that were. `false`: none within
    /// `timeout`.
    pub fn wait_any(vectors: &[&Self], timeout: Duration) -> io::Result<bool> {
        let limit = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let mut files: Vec<PollFd> =
            vectors.iter().map(|vector| PollFd::new(&vector.0, PollFlags::IN)).collect();
        match poll(&mut files, Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => return Ok(false),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut taken = false;
        let raised = files.iter().map(|file| !file.revents().is_empty());
        for (vector, _) in vectors.iter().zip(raised).filter(|(_, raised)| *raised) {
            match read(&vector.0, &mut [0; 8]) {
                Ok(_) => taken = true,
                Err(Errno::AGAIN) => {} // another thread took it
                Err(error) => return Err(error.into()),
            }
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_before_a_wait_are_taken_at_once() {
        let interrupt = Interrupt::new().unwrap();
        interrupt.signal().unwrap();
        interrupt.signal().unwrap();
        assert!(interrupt.wait(Duration::ZERO).unwrap());
        assert!(!interrupt.wait(Duration::ZERO).unwrap());
    }

    #[test]
    fn only_event_files_are_taken_over() {
        let ours = Interrupt::new().unwrap();
        let copy = Interrupt::of_file(ours.file().try_clone_to_owned().unwrap()).unwrap();
        copy.signal().unwrap();
        assert!(ours.wait(Duration::ZERO).unwrap());
        let (_, pipe) = std::io::pipe().unwrap();
        assert!(Interrupt::of_file(pipe.into()).is_err());
    }

    #[test]
    fn waits_no_longer_than_told() {
        assert!(!Interrupt::new().unwrap().wait(Duration::from_millis(2)).unwrap());
    }

    #[test]
    fn one_of_several_ends_the_wait() {
        let vectors = [Interrupt::new().unwrap(), Interrupt::new().unwrap()];
        let wait = |timeout| Interrupt::wait_any(&[&vectors[0], &vectors[1]], timeout).unwrap();
        assert!(!wait(Duration::ZERO));
        vectors[1].signal().unwrap();
        assert!(wait(Duration::from_secs(10)));
        assert!(!wait(Duration::ZERO), "it was taken");
    }

    #[test]
    fn wakes_a_waiting_thread() {
        let interrupt = Interrupt::new().unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| interrupt.wait(Duration::from_secs(10)));
            interrupt.signal().unwrap();
            assert!(waiter.join().unwrap().unwrap());
        });
    }
}
