//! The running kernel's GRO as an oracle: bursts of frames in, what the kernel delivers out.
//!
//!   burst ─► thread with its own network namespace ─► veth ─► GRO ─► deliveries
//!             └ repeated in other orders ─► equal, or refused
//!
//! A delivery is recorded, not computed: bytes by a packet socket, metadata from the socket buffer
//! itself, by a BPF program that finds its fields with the kernel's own type information.
//!
//! Invariants: the host's namespace, priorities and devices stay as they are, whatever happens
//! (`nothing_is_left_behind`); equal bursts give equal results or none
//! (`one_differing_run_refuses_all`); every frame is in exactly one delivery
//! (`every_frame_is_in_one_delivery`). Limits: a burst is one to 64 frames, as many as a poll
//! takes; held frames are flushed at each gap and at the end. Not here: any rule of what merges.

mod assembly;
mod attribution;
mod bed;
mod btf;
mod delivery;
mod error;
mod layout;
mod link;
mod record;
mod repeat;
mod sys;

pub use btf::BtfError;
pub use delivery::{Csum, Delivery, Frame, GivenCsum};
pub use error::{Error, Feature};
pub use repeat::repeated;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use bed::Bed;

/// Most frames of a burst: what one poll takes.
pub const BURST_FRAMES_MAX: usize = 64;
/// Shortest frame: an Ethernet header.
pub const FRAME_BYTES_MIN: usize = 14;
/// Longest frame: an Ethernet header before what IP can fill.
pub const FRAME_BYTES_MAX: usize = 65_549;

/// Shortest frame with a tag in it: the kernel drops one that ends inside its tag, or right behind.
const TAGGED_BYTES_MIN: usize = 20;

/// Whether the method carries a frame: its length, also behind a tag that is in it.
pub fn carries(bytes: &[u8], stripped: bool) -> bool {
    let tagged = matches!(bytes.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8]));
    let least = if tagged && !stripped { TAGGED_BYTES_MIN } else { FRAME_BYTES_MIN };
    (least..=FRAME_BYTES_MAX).contains(&bytes.len())
}

type Answer = Result<Vec<Delivery>, Error>;

/// The running kernel.
pub struct Oracle {
    jobs: Option<SyncSender<Vec<Frame>>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
}

impl Oracle {
    /// Sets a thread up that can ask the kernel; it ends with this value. Needs root.
    pub fn open() -> Result<Self, Error> {
        let (jobs, todo) = sync_channel::<Vec<Frame>>(1);
        let (done, answers) = sync_channel::<Answer>(1);
        let work = move || {
            let mut bed = match Bed::open() {
                Ok(bed) => bed,
                Err(error) => return drop(done.send(Err(error))),
            };
            // An empty answer says that the bed stands.
            let mut answer = Ok(Vec::new());
            while done.send(answer).is_ok() {
                match todo.recv() {
                    Ok(frames) => answer = bed.run(&frames),
                    Err(_) => return,
                }
            }
        };
        let thread = std::thread::Builder::new().name("oracle".into()).spawn(work);
        let thread = thread.map_err(error::failed("starting a thread"))?;
        let oracle = Self { jobs: Some(jobs), answers, thread: Some(thread) };
        oracle.answers.recv().map_err(|_| Error::Ended)??;
        Ok(oracle)
    }

    /// Release of the running kernel, as `uname --kernel-release` gives it.
    pub fn release() -> String {
        rustix::system::uname().release().to_string_lossy().into_owned()
    }

    /// Puts one burst through the kernel.
    pub fn run(&self, frames: &[Frame]) -> Result<Vec<Delivery>, Error> {
        let jobs = self.jobs.as_ref().ok_or(Error::Ended)?;
        jobs.send(frames.to_vec()).map_err(|_| Error::Ended)?;
        self.answers.recv().map_err(|_| Error::Ended)?
    }

    /// Puts each burst through several times, in other orders each time; see [`repeated`].
    pub fn repeated<B: AsRef<[Frame]>>(
        &self,
        bursts: &[B],
        runs: usize,
        seed: u64,
    ) -> Result<Vec<Vec<Delivery>>, Error> {
        repeated(bursts, runs, seed, |frames| self.run(frames))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // Without jobs the thread ends, and with it namespace, devices and priority.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been told where it was awaited.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_a_least_and_a_greatest_length() {
        let mut bytes = vec![0; FRAME_BYTES_MAX + 1];
        let at = |bytes: &[u8], length: usize| carries(&bytes[..length], false);
        assert_eq!([13, 14, 65_549, 65_550].map(|n| at(&bytes, n)), [false, true, true, false]);
        bytes[12..14].copy_from_slice(&[0x88, 0xa8]);
        assert_eq!([14, 19, 20].map(|n| at(&bytes, n)), [false, false, true]);
        assert!(carries(&bytes[..14], true));
    }
}
