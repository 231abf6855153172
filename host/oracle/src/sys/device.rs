//! Offloads of a network device: the two ethtool values that the oracle sets.
//!
//! Follows: Linux `include/uapi/linux/ethtool.h`, `struct ethtool_value`.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::check;

/// An offload that can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// `ETHTOOL_STSO`: segmentation of TCP by the sending device.
    Tso = 0x1f,
    /// `ETHTOOL_SGRO`: coalescing by the receiving device.
    Gro = 0x2c,
}

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Switches an offload of a device; `socket` is any socket of its namespace.
pub fn switch(socket: impl AsFd, name: &str, offload: Offload, on: bool) -> io::Result<()> {
    let mut value = Value { command: offload as u32, data: on.into() };
    // SAFETY: all-zero bytes are a valid ifreq, which is plain data.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero: the name is a C string.
    let room = request.ifr_name.len() - 1;
    if name.len() > room {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(&mut value).cast();
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: SIOCETHTOOL takes an ifreq whose data points to an ethtool_value; both live until the
    // call returns.
    check(unsafe { libc::ioctl(descriptor, libc::SIOCETHTOOL as _, &mut request) }.into()).map(drop)
}
