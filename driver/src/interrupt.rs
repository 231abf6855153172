//! An interrupt vector as the driver sees it: an event file that a device signals.
//!
//! Invariants: a signal before the wait is not lost, and one wait takes all signals so far
//! (`signals_before_a_wait_are_taken_at_once`); a wait ends at its timeout
//! (`waits_no_longer_than_told`); an alarm stays raised for every thread
//! (`an_alarm_ends_every_wait`).
//! Not here: masking and moderation, which are registers.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read, write};

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A vector was raised, and is taken.
    Vector,
    /// So was the alarm of this number, which stays raised.
    Alarm(usize),
    /// Nothing.
    Nobody,
}

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
        Ok(Self::wait_beside(vectors, &[], timeout)? == Woken::Vector)
    }

    /// As [`Self::wait_any`], but an alarm ends the wait too, and goes before what was raised
    /// with it.
    pub fn wait_beside(
        vectors: &[&Self],
        alarms: &[&Self],
        timeout: Duration,
    ) -> io::Result<Woken> {
        let limit = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let all = alarms.iter().chain(vectors);
        let mut files: Vec<PollFd> =
            all.map(|vector| PollFd::new(&vector.0, PollFlags::IN)).collect();
        match poll(&mut files, Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Woken::Nobody),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut woken = Woken::Nobody;
        let mut raised = files.iter().map(|file| !file.revents().is_empty());
        if let Some(alarm) = raised.by_ref().take(alarms.len()).position(|raised| raised) {
            return Ok(Woken::Alarm(alarm));
        }
        for (vector, _) in vectors.iter().zip(raised).filter(|(_, raised)| *raised) {
            match read(&vector.0, &mut [0; 8]) {
                Ok(_) => woken = Woken::Vector,
                Err(Errno::AGAIN) => {} // another thread took it
                Err(error) => return Err(error.into()),
            }
        }
        Ok(woken)
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
    fn an_alarm_ends_every_wait() {
        let (vector, alarms) = (Interrupt::new().unwrap(), [(); 2].map(|()| Interrupt::new()));
        let [first, second] = alarms.map(Result::unwrap);
        let wait =
            || Interrupt::wait_beside(&[&vector], &[&first, &second], Duration::ZERO).unwrap();
        assert_eq!(wait(), Woken::Nobody);
        vector.signal().unwrap();
        assert_eq!((wait(), wait()), (Woken::Vector, Woken::Nobody));
        second.signal().unwrap();
        vector.signal().unwrap();
        assert_eq!((wait(), wait()), (Woken::Alarm(1), Woken::Alarm(1)));
        first.signal().unwrap();
        assert_eq!(wait(), Woken::Alarm(0));
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
