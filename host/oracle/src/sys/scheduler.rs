//! Real-time priorities of threads.

use std::io;

use super::check;

/// Gives a thread (0: the calling one) a `SCHED_FIFO` priority, 1 to 99.
pub fn fifo(thread: i32, priority: i32) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid sched_param, which is plain data.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the parameters live until the call returns.
    check(unsafe { libc::sched_setscheduler(thread, libc::SCHED_FIFO, &parameters) }.into())
        .map(drop)
}
