//! Namespaces of the calling thread.

use std::io;

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Moves the calling thread, and no other, into a new network namespace.
pub fn leave_network() -> io::Result<()> {
    // SAFETY: a network namespace is no part of what threads of a process share: memory,
    // descriptors and file system stay as they are.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}
