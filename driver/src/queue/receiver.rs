//! A queue in the hands of the thread that owns it: poll, wait, and the switch between the two.
//!
//!   poll ── budget used up ──► poll
//!     └──── less ──► empty polls, a few ──► re-arm ──► wait ──► poll
//!
//! Follows: kernel NAPI (7.3): `__napi_poll` does not complete a poll that used its budget up;
//! `napi_complete_done` with `napi_defer_hard_irqs`.
//! Invariants: no wait behind a poll that used its budget up
//! (`no_wait_behind_a_full_budget`); a stopped or quarantined queue never waits
//! (`a_stopped_queue_does_not_wait`); a DMA error ends the wait (`a_fault_ends_the_wait`), and so
//! does what comes between the last poll and the wait (`no_wake_up_is_lost_between_threads`), and
//! an alarm of the platform, as an error (`an_alarm_ends_the_wait`).

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use groove_spec::nic::COMPLETION_CONSUMER;

use crate::device::check_alarms;
use crate::interrupt::Woken;
use crate::queue::{Census, QueueError, QueueStats, RxQueue};
use crate::{Delivery, Error, Interrupt};

/// How [`Receiver::turn`] switches between polling and waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Napi {
    /// Deliveries of one poll, at most: the kernel's `weight`.
    pub budget: usize,
    /// Empty polls before the queue is waited for: the kernel's `napi_defer_hard_irqs`.
    pub empty_polls: u32,
    /// Longest wait.
    pub timeout: Duration,
}

impl Default for Napi {
    /// A budget of 64, as in the kernel; no empty polls; a tenth of a second.
    fn default() -> Self {
        Self { budget: 64, empty_polls: 0, timeout: Duration::from_millis(100) }
    }
}

/// Polls between two looks at the alarms of a queue that is always busy: a system call each.
pub const POLLS_PER_ALARM_CHECK: u32 = 64;

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Deliveries given.
    pub given: usize,
    /// Whether the queue was waited for, or would have been but for what came at the last moment.
    pub armed: bool,
}

/// A queue that this thread owns.
#[derive(Debug)]
pub struct Receiver {
    queue: RxQueue,
    /// Polls since the alarms were looked at.
    polls: u32,
    /// Neither `Send` nor `Sync`: the way home depends on it.
    _this_thread: PhantomData<*const ()>,
}

impl Receiver {
    pub(super) fn new(mut queue: RxQueue) -> Result<Self, QueueError> {
        queue.owner.bind();
        if !queue.running {
            queue.start()?;
        }
        Ok(Self { queue, polls: 0, _this_thread: PhantomData })
    }

    /// Number of the queue.
    pub fn number(&self) -> usize {
        self.queue.number()
    }

    /// Bytes of the pages that its memory lies on: huge ones if the machine had some.
    pub fn page_bytes(&self) -> usize {
        self.queue.page_bytes()
    }

    /// A queue that cannot give anything any more says so.
    fn check(&self) -> Result<(), QueueError> {
        if let Some(violation) = self.queue.quarantine {
            return Err(violation.into());
        }
        if !self.queue.running {
            return Err(QueueError::Stopped(self.number()));
        }
        Ok(())
    }

    /// Brings buffers home, posts them, and gives at most `budget` deliveries. Returns how many.
    /// One poll in [`POLLS_PER_ALARM_CHECK`] looks at the alarms instead of relying on a wait, and
    /// fails if one was raised; the next takes what is there all the same.
    pub fn poll(
        &mut self,
        budget: usize,
        mut give: impl FnMut(Delivery),
    ) -> Result<usize, QueueError> {
        self.check()?;
        self.polls += 1;
        if self.polls == POLLS_PER_ALARM_CHECK {
            self.polls = 0;
            self.check_alarms()?;
        }
        self.queue.refill()?;
        self.queue.take(budget, &mut give)
    }

    /// Posts what came home and re-arms the interrupt. `true`: there is a completion already.
    fn arm(&mut self) -> Result<bool, QueueError> {
        self.check()?;
        self.queue.refill()?;
        if self.queue.has_completion()? {
            return Ok(true);
        }
        // Fires at once if there is a completion by now: no wake-up is lost.
        self.queue.write(&COMPLETION_CONSUMER, self.queue.consumer.into())?;
        Ok(false)
    }

    /// Sleeps until there is something to poll: a completion, or buffers that come home. `false`:
    /// not within `timeout`. A queue that a DMA error stops ends the wait with
    /// [`QueueError::Fault`], once it has nothing more to poll.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, QueueError> {
        if self.arm()? {
            return Ok(true);
        }
        wait_for(std::slice::from_mut(self), timeout)
    }

    /// Sees whether the platform has raised an alarm about the device, as a wait does.
    pub fn check_alarms(&self) -> Result<(), QueueError> {
        let queue = self.number();
        let checked = check_alarms(&*self.queue.core.device);
        checked.map_err(|source| QueueError::Device { queue, source })
    }

    /// One turn of a receive loop that polls while there is work and sleeps when there is none. A
    /// queue without interrupts never sleeps.
    pub fn turn(
        &mut self,
        napi: &Napi,
        mut give: impl FnMut(Delivery),
    ) -> Result<Turn, QueueError> {
        let budget = napi.budget.max(1);
        let mut given = 0;
        for _ in 0..=napi.empty_polls {
            given = self.poll(budget, &mut give)?;
            if given > 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let armed = given < budget
            && (given == 0 || napi.empty_polls == 0)
            && self.queue.settings.interrupts;
        if armed {
            self.wait(napi.timeout)?;
            given += self.poll(budget - given, &mut give)?;
        }
        Ok(Turn { given, armed })
    }

    /// Stops the queue: it flushes what it holds, which is given, and all buffers that the device
    /// had are home. A device that lied stops without more deliveries.
    pub fn stop(&mut self, mut give: impl FnMut(Delivery)) -> Result<(), QueueError> {
        self.queue.stop(&mut give)
    }

    /// Starts a stopped queue again; a quarantine ends.
    pub fn start(&mut self) -> Result<(), QueueError> {
        if self.queue.running {
            return Ok(());
        }
        self.queue.start()
    }

    /// Gives the queue to no thread; it keeps running.
    pub fn detach(mut self) -> RxQueue {
        self.queue.owner.unbind();
        self.queue
    }

    /// Counters.
    pub fn stats(&self) -> QueueStats {
        QueueStats { returns: self.queue.owner.stats(), ..self.queue.stats }
    }

    /// Where the buffers are.
    pub fn census(&self) -> Census {
        let (with_device, spare) = (self.queue.with_device(), self.queue.spare.len());
        let out = self.queue.settings.buffers - with_device - spare;
        Census { with_device, out, spare }
    }
}

/// Sleeps until one of several queues of this thread has something to poll. `false`: none within
/// `timeout`. A DMA error ends the wait with [`QueueError::Fault`] when no queue has anything left
/// to poll.
pub fn wait_any(receivers: &mut [Receiver], timeout: Duration) -> Result<bool, QueueError> {
    let mut ready = false;
    for receiver in &mut *receivers {
        ready |= receiver.arm()?;
    }
    if ready { Ok(true) } else { wait_for(receivers, timeout) }
}

/// Sleeps until a vector or an alarm is raised.
fn wait_for(receivers: &[Receiver], timeout: Duration) -> Result<bool, QueueError> {
    let vectors: Vec<&Interrupt> = receivers.iter().map(|r| &*r.queue.interrupt).collect();
    let mut devices: Vec<_> = receivers.iter().map(|r| &r.queue.core).collect();
    devices.dedup_by(|a, b| Arc::ptr_eq(a, b));
    let alarms: Vec<_> = devices.iter().flat_map(|core| core.device.alarms()).collect();
    let files: Vec<&Interrupt> = alarms.iter().map(|(_, raised)| &**raised).collect();
    let woken = Interrupt::wait_beside(&vectors, &files, timeout);
    let source = match woken {
        Ok(Woken::Alarm(at)) => Error::Alarm(alarms[at].0),
        Ok(Woken::Vector) => return check_faults(receivers).map(|()| true),
        Ok(Woken::Nobody) => return Ok(false),
        Err(source) => Error::Io(source),
    };
    let queue = receivers.first().map_or(0, Receiver::number);
    Err(QueueError::Device { queue, source })
}

/// When nothing can be polled: buffers came home, or a DMA error; only the device knows.
fn check_faults(receivers: &[Receiver]) -> Result<(), QueueError> {
    for receiver in receivers {
        if receiver.queue.has_completion()? {
            return Ok(());
        }
    }
    receivers.iter().try_for_each(|receiver| receiver.queue.check_fault())
}
