//! System calls that no safe crate offers: BPF, packet sockets, offloads, scheduler, namespaces.
//!
//! Everything else that the oracle asks of the kernel goes through `rustix`. What is here takes and
//! gives owned descriptors, slices and plain numbers, and holds no pointer beyond a call.

#![allow(unsafe_code)] // one of its fixed homes

pub mod bpf;
pub mod device;
pub mod namespace;
pub mod packet;
pub mod scheduler;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

// Instructions and control messages are written as bytes, in the layout of these machines.
const _: () = assert!(cfg!(target_endian = "little") && size_of::<usize>() == 8);

/// The result of a call that gives -1 and sets `errno` when it fails.
fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// The descriptor that such a call gave.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let number = check(result)?;
    let number = i32::try_from(number).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    // SAFETY: the kernel has just made the descriptor for this call, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
