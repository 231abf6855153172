//! Packet sockets: one that sends frames with mark and checksum state, one that takes what arrives.
//!
//! Follows: packet(7); Linux `include/uapi/linux/virtio_net.h` for the header before each frame.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::{check, owned};

const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// Bytes that a socket may queue: more than any burst.
const QUEUE_BYTES: libc::c_int = 64 << 20;
/// `virtio_net_hdr` without the count of buffers.
const VNET_BYTES: usize = 10;
const VNET_NEEDS_CSUM: u8 = 1;
/// Control message of one mark, with room to spare.
const CONTROL_BYTES: usize = 32;

/// A frame to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Bytes from the destination address on.
    pub bytes: &'a [u8],
    /// Mark of its socket buffer.
    pub mark: u32,
    /// Transmit-side checksum state: where the sum starts, and its field from there.
    pub partial: Option<(u16, u16)>,
}

/// Control data, aligned as `cmsghdr` must be.
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// Sends frames to one device.
#[derive(Debug)]
pub struct Sender(OwnedFd);

impl Sender {
    /// A socket on a device.
    pub fn new(ifindex: u32) -> io::Result<Self> {
        let socket = packet_socket()?;
        set(&socket, libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, QUEUE_BYTES)?;
        bind(&socket, ifindex, 0)?;
        Ok(Self(socket))
    }

    /// Sends frames with as few calls as the kernel allows; an error names the frame.
    pub fn send(&self, frames: &[Outgoing]) -> Result<(), (usize, io::Error)> {
        let mut headers: Vec<[u8; VNET_BYTES]> = frames.iter().map(vnet_header).collect();
        let mut controls: Vec<Control> = frames.iter().map(|f| control(f.mark)).collect();
        let mut parts: Vec<[libc::iovec; 2]> = frames
            .iter()
            .zip(&mut headers)
            .map(|(frame, header)| {
                let body = frame.bytes.as_ptr().cast_mut().cast();
                [
                    libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: VNET_BYTES },
                    libc::iovec { iov_base: body, iov_len: frame.bytes.len() },
                ]
            })
            .collect();
        let mut messages: Vec<libc::mmsghdr> =
            parts.iter_mut().zip(&mut controls).map(|(p, c)| message(p, c)).collect();
        let mut sent = 0;
        while sent < messages.len() {
            let rest = &mut messages[sent..];
            // SAFETY: each message points to its own header, frame and control data, which live in
            // the vectors above until the call returns; the kernel only reads the frames.
            let count = unsafe {
                libc::sendmmsg(self.0.as_raw_fd(), rest.as_mut_ptr(), rest.len() as u32, 0)
            };
            match check(count.into()).map_err(|error| (sent, error))? {
                0 => return Err((sent, io::ErrorKind::WriteZero.into())),
                count => sent += count as usize,
            }
        }
        Ok(())
    }
}

fn message(parts: &mut [libc::iovec; 2], control: &mut Control) -> libc::mmsghdr {
    // SAFETY: all-zero bytes are a valid mmsghdr, which is plain data.
    let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
    message.msg_hdr.msg_iov = parts.as_mut_ptr();
    message.msg_hdr.msg_iovlen = parts.len() as _;
    message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: CMSG_SPACE only computes.
    message.msg_hdr.msg_controllen = unsafe { libc::CMSG_SPACE(4) } as _;
    message
}

fn vnet_header(frame: &Outgoing) -> [u8; VNET_BYTES] {
    let mut header = [0; VNET_BYTES];
    if let Some((start, offset)) = frame.partial {
        header[0] = VNET_NEEDS_CSUM;
        header[6..8].copy_from_slice(&start.to_ne_bytes());
        header[8..10].copy_from_slice(&offset.to_ne_bytes());
    }
    header
}

/// `SO_MARK` as a control message: `cmsghdr`, then the mark.
fn control(mark: u32) -> Control {
    let mut control = Control([0; CONTROL_BYTES]);
    // SAFETY: CMSG_LEN only computes.
    let length = unsafe { libc::CMSG_LEN(4) } as usize;
    control.0[..8].copy_from_slice(&length.to_ne_bytes());
    control.0[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
    control.0[12..16].copy_from_slice(&libc::SO_MARK.to_ne_bytes());
    control.0[16..20].copy_from_slice(&mark.to_ne_bytes());
    control
}

/// Takes what arrives at one device.
#[derive(Debug)]
pub struct Receiver(OwnedFd);

impl Receiver {
    /// A socket on a device; what the device sends is not seen.
    pub fn new(ifindex: u32) -> io::Result<Self> {
        let socket = packet_socket()?;
        set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, QUEUE_BYTES)?;
        set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        bind(&socket, ifindex, libc::ETH_P_ALL as u16)?;
        Ok(Self(socket))
    }

    /// The next frame, if one is there; `buffer` bounds its length.
    pub fn next(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        use rustix::net::{RecvFlags, recv};
        match recv(&self.0, buffer, RecvFlags::DONTWAIT) {
            Ok((_, bytes)) => Ok(Some(bytes)),
            Err(rustix::io::Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A raw packet socket that sees nothing until it is bound.
fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes numbers alone.
    owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) }.into())
}

fn set(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let bytes = size_of_val(&value) as libc::socklen_t;
    let pointer = std::ptr::from_ref(&value).cast();
    // SAFETY: the value lives until the call returns, and its length is given.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, bytes) }.into())
        .map(drop)
}

fn bind(socket: &OwnedFd, ifindex: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid sockaddr_ll, which is plain data.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = i32::try_from(ifindex).map_err(|_| io::ErrorKind::InvalidInput)?;
    let bytes = size_of_val(&address) as libc::socklen_t;
    let pointer = std::ptr::from_ref(&address).cast();
    // SAFETY: the address lives until the call returns, and its length is given.
    check(unsafe { libc::bind(socket.as_raw_fd(), pointer, bytes) }.into()).map(drop)
}
