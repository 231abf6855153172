//! A TAP interface: frames that the kernel sends into it, as they would be on a wire; and another,
//! which the kernel receives from, as from a card that merges.
//!
//!   programs ──► kernel ──► TAP interface ──► [`Tap::receive`] ──► frame, padded as a MAC pads it
//!   delivery ──► [`TapOutput::send`] ──► TAP interface ──► kernel ──► programs
//!
//! Follows: `Documentation/networking/tuntap.rst`, `include/uapi/linux/if_tun.h` of Linux 6.12;
//! IEEE 802.3 4.2.3.3 (a frame shorter than 60 bytes without FCS is padded with zeros).
//! The kernel is told that this card neither segments nor sums: what it holds as one segment of
//! 64 KiB comes as the frames that a card would send, and every checksum is filled in.
//! Invariants: a name that no interface can have never reaches the kernel
//! (`impossible_names_are_refused`); each refusal says what to do (`each_refusal_has_its_cure`); a
//! frame is whole and at least 60 bytes long (`what_a_program_sends_comes_out`); what the kernel
//! does not take is said (`a_wrong_sum_is_the_kernels_fault_to_count`).
//! Not here: both ways through one interface; its addresses and state, which `ip` sets.
#![allow(unsafe_code)] // one of its fixed homes

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, writev};
use rustix::ioctl::{IntegerSetter, Opcode, Setter, Updater, ioctl, opcode};

/// The file that interfaces are made by.
const CLONE_DEVICE: &str = "/dev/net/tun";
/// `TUNSETIFF`: gives a file its interface, and makes that if there is none.
const SET_INTERFACE: Opcode = opcode::write::<i32>(b'T', 202);
/// `TUNSETOFFLOAD`: what the other end of the interface can do.
const SET_OFFLOAD: Opcode = opcode::write::<u32>(b'T', 208);
/// `TUNSETVNETLE`: the header's byte order is little endian, whatever the machine's.
const SET_LITTLE_ENDIAN: Opcode = opcode::write::<i32>(b'T', 220);
/// Frames with their Ethernet header.
const IFF_TAP: u16 = 0x0002;
/// Nothing in front of them.
const IFF_NO_PI: u16 = 0x1000;
/// A `struct virtio_net_hdr` of ten bytes in front of each.
const IFF_VNET_HDR: u16 = 0x4000;
/// Bytes of that header.
pub const NET_HEADER_BYTES: usize = 10;
/// Bytes of `struct ifreq`.
const REQUEST_BYTES: usize = 40;
/// Bytes of the name in it, with the zero at its end.
const NAME_BYTES: usize = 16;
/// Bytes of the shortest frame, without FCS.
const SHORTEST_BYTES: usize = 60;
/// More than the longest frame of a TAP interface: its largest MTU is 65,521.
const FRAME_BYTES_MAX: usize = 65_600;

/// Why there is no interface.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    /// No interface can have this name.
    #[error("{0:?} cannot be the name of a network interface")]
    Name(String),
    /// The kernel has no TAP interfaces.
    #[error("failed to open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel did not give the interface.
    #[error("failed to take the TAP interface {name}")]
    Take {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
}

impl TapError {
    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::Name(_) => "1 to 15 characters, without spaces, / : and %".into(),
            Self::Open { source, .. } => match Errno::from_io_error(source) {
                Some(Errno::ACCESS | Errno::PERM) => {
                    "run it as root, or make the file yours".into()
                }
                _ => "load the module: modprobe tun; in a container, give it /dev/net/tun".into(),
            },
            Self::Take { name, source } => match Errno::from_io_error(source) {
                Some(Errno::PERM) => format!(
                    "run it as root, or let root make it for you: \
                     ip tuntap add dev {name} mode tap user $USER"
                ),
                Some(Errno::BUSY) => {
                    "another process has it: end that, or take another name".into()
                }
                Some(Errno::INVAL) => format!(
                    "an interface of that name is there, and is no TAP with one queue: take \
                     another name, or see `ip -details link show {name}`"
                ),
                _ => "see the kernel's log: dmesg".into(),
            },
        }
    }
}

/// A TAP interface, which is gone with it unless somebody made it to stay.
#[derive(Debug)]
pub struct Tap {
    file: OwnedFd,
    name: String,
    frame: Box<[u8; FRAME_BYTES_MAX]>,
}

impl Tap {
    /// Takes the interface `name` of this network namespace, and makes it if there is none.
    pub fn open(name: &str) -> Result<Self, TapError> {
        Self::open_by(Path::new(CLONE_DEVICE), name)
    }

    fn open_by(path: &Path, name: &str) -> Result<Self, TapError> {
        let file = take(path, name, 0, |file| set_offload_off(file))?;
        Ok(Self { file, name: name.into(), frame: Box::new([0; FRAME_BYTES_MAX]) })
    }

    /// Name of the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next frame, without FCS, at least 60 bytes long; `None` if there is none for the moment.
    pub fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            match read(&self.file, &mut self.frame[..]) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(None),
                Ok(bytes) => {
                    let padded = bytes.max(SHORTEST_BYTES);
                    self.frame[bytes..padded].fill(0);
                    return Ok(Some(&self.frame[..padded]));
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Waits for a frame, no longer than `timeout`.
    pub fn wait(&self, timeout: Duration) -> io::Result<()> {
        let limit = Timespec::try_from(timeout).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// A TAP interface that the kernel receives from, which is gone with it unless somebody made it to
/// stay. What the kernel sends into it is not taken.
#[derive(Debug)]
pub struct TapOutput {
    file: OwnedFd,
    name: String,
}

impl TapOutput {
    /// Takes the interface `name` of this network namespace, and makes it if there is none.
    ///
    /// # Errors
    /// If it cannot be had; each says why.
    pub fn open(name: &str) -> Result<Self, TapError> {
        let path = Path::new(CLONE_DEVICE);
        let file = take(path, name, IFF_VNET_HDR, |file| set_little_endian(file))?;
        Ok(Self { file, name: name.into() })
    }

    /// Name of the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Hands the kernel a frame of at least 14 bytes, with its `virtio_net_hdr`, little endian.
    /// `false`: the interface is down, and the frame is lost.
    ///
    /// # Errors
    /// If the kernel refuses the header (`InvalidInput`), or the interface is gone.
    pub fn send(&self, header: &[u8; NET_HEADER_BYTES], frame: &[u8]) -> io::Result<bool> {
        loop {
            match writev(&self.file, &[IoSlice::new(header), IoSlice::new(frame)]) {
                Ok(_) => return Ok(true),
                Err(Errno::IO) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// The file of an interface, made if there is none, and set up.
fn take(
    path: &Path,
    name: &str,
    more_flags: u16,
    set_up: impl Fn(&OwnedFd) -> Result<(), Errno>,
) -> Result<OwnedFd, TapError> {
    let is_bad = |b: u8| !b.is_ascii_graphic() || matches!(b, b'/' | b':' | b'%');
    if !(1..NAME_BYTES).contains(&name.len()) || name.bytes().any(is_bad) || name == ".." {
        return Err(TapError::Name(name.into()));
    }
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty())
        .map_err(|errno| TapError::Open { path: path.into(), source: errno.into() })?;
    let taken = set_interface(&file, name, IFF_TAP | IFF_NO_PI | more_flags);
    let taken = taken.and_then(|()| set_up(&file));
    taken.map_err(|errno| TapError::Take { name: name.into(), source: errno.into() })?;
    Ok(file)
}

/// Gives the file its interface.
fn set_interface(file: impl AsFd, name: &str, flags: u16) -> Result<(), Errno> {
    let mut request = [0u8; REQUEST_BYTES];
    request[..name.len()].copy_from_slice(name.as_bytes());
    request[NAME_BYTES..][..2].copy_from_slice(&flags.to_ne_bytes());
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which has no more than 40 bytes and no
    // pointer in what is used of it; `request` has 40, and outlives the call.
    unsafe { ioctl(file, Updater::<SET_INTERFACE, _>::new(&mut request)) }
}

/// Nothing is left to this end. An interface that stays may have been told otherwise before.
fn set_offload_off(file: impl AsFd) -> Result<(), Errno> {
    // SAFETY: TUNSETOFFLOAD takes its argument as a number, of which 0 is one, and no memory.
    unsafe { ioctl(file, IntegerSetter::<SET_OFFLOAD>::new_usize(0)) }
}

/// An interface that stays may have been told otherwise before.
fn set_little_endian(file: impl AsFd) -> Result<(), Errno> {
    // SAFETY: TUNSETVNETLE reads one `int`, and the call has it.
    unsafe { ioctl(file, Setter::<SET_LITTLE_ENDIAN, i32>::new(1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_names_are_refused() {
        // Nothing of that name would be opened: the file does not exist.
        let refused = |name: &str| Tap::open_by(Path::new("/nonexistent"), name).unwrap_err();
        for name in ["", "sixteen-letters!", "a b", "a/b", "a:b", "tap%d", "a\0", "..", "ä"] {
            let error = refused(name);
            assert!(matches!(error, TapError::Name(_)), "{name}: {error}");
        }
        for name in ["a", "fifteen-letters", "tap0.7"] {
            assert!(matches!(refused(name), TapError::Open { .. }), "{name}");
        }
    }

    #[test]
    fn each_refusal_has_its_cure() {
        let open = Tap::open_by(Path::new("/nonexistent"), "tap0").unwrap_err();
        assert!(open.help().contains("modprobe tun"), "{}", open.help());
        // Opens, and is no such device.
        let other = Tap::open_by(Path::new("/dev/null"), "tap0").unwrap_err();
        assert!(matches!(other, TapError::Take { .. }), "{other}");
        let take =
            |errno: Errno| TapError::Take { name: "tap0".into(), source: errno.into() }.help();
        assert!(take(Errno::PERM).contains("ip tuntap add dev tap0 mode tap user"));
        assert!(take(Errno::BUSY).contains("another process"));
        assert!(take(Errno::INVAL).contains("no TAP with one queue"));
    }
}
