//! Links: a veth pair in the calling thread's network namespace, over route netlink.
//!
//!   message ─► kernel ─► acknowledgement
//!
//! Follows: rtnetlink(7); Linux `include/uapi/linux/{if_link,veth}.h`.
//! Invariant: an acknowledgement that is cut or odd is an error (`odd_answers_are_errors`).

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};

const ERROR: u16 = 2;
const NEWLINK: u16 = 16;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;
const HEADER_BYTES: usize = 16;

mod attribute {
    pub const IFNAME: u16 = 3;
    pub const MTU: u16 = 4;
    pub const LINKINFO: u16 = 18;
    pub const NUM_TX_QUEUES: u16 = 31;
    pub const NUM_RX_QUEUES: u16 = 32;
    pub const INFO_KIND: u16 = 1;
    pub const INFO_DATA: u16 = 2;
    pub const VETH_INFO_PEER: u16 = 1;
}

/// `IFF_UP`, and no ARP: the pair carries what is put on it and nothing else.
const UP_NO_ARP: u32 = 0x1 | 0x80;

/// `struct ifinfomsg`: index, flags, and which of the flags are meant.
fn interface(index: u32, flags: u32) -> Vec<u8> {
    [0, index, flags, flags].into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// One attribute, padded to four bytes.
fn attribute(kind: u16, data: &[u8]) -> Vec<u8> {
    let length = (4 + data.len()) as u16;
    let mut out = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    out.extend(data);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn device(name: &str) -> Vec<u8> {
    let one = 1_u32.to_ne_bytes();
    [
        attribute(attribute::IFNAME, &[name.as_bytes(), &[0]].concat()),
        attribute(attribute::NUM_TX_QUEUES, &one),
        attribute(attribute::NUM_RX_QUEUES, &one),
    ]
    .concat()
}

/// Two devices joined back to back, one queue each: which queue a frame takes would otherwise
/// depend on a hash that is random at boot.
fn pair(a: &str, b: &str) -> Vec<u8> {
    let peer = [interface(0, 0), device(b)].concat();
    let data = attribute(attribute::VETH_INFO_PEER, &peer);
    let info =
        [attribute(attribute::INFO_KIND, b"veth"), attribute(attribute::INFO_DATA, &data)].concat();
    [interface(0, 0), device(a), attribute(attribute::LINKINFO, &info)].concat()
}

fn message(flags: u16, body: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + body.len()) as u32;
    let mut out = length.to_ne_bytes().to_vec();
    out.extend(NEWLINK.to_ne_bytes());
    out.extend((REQUEST | ACK | flags).to_ne_bytes());
    out.resize(HEADER_BYTES, 0);
    out.extend(body);
    out
}

/// What an acknowledgement says.
fn answer(bytes: &[u8]) -> io::Result<()> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "an answer that is none");
    let kind = bytes.get(4..6).map(|k| u16::from_ne_bytes([k[0], k[1]]));
    let code = bytes.get(HEADER_BYTES..).and_then(|rest| rest.first_chunk::<4>());
    match (kind, code.map(|c| i32::from_ne_bytes(*c))) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(code)) if code < 0 => {
            Err(io::Error::from_raw_os_error(code.saturating_neg()))
        }
        _ => Err(odd()),
    }
}

/// The kernel's side of the conversation.
pub struct Route(OwnedFd);

impl Route {
    /// A socket in the calling thread's namespace.
    pub fn open() -> io::Result<Self> {
        // Protocol 0 of this family is NETLINK_ROUTE.
        Ok(Self(socket(AddressFamily::NETLINK, SocketType::RAW, None)?))
    }

    fn ask(&self, flags: u16, body: &[u8]) -> io::Result<()> {
        send(&self.0, &message(flags, body), SendFlags::empty())?;
        let mut buffer = [0; 4096];
        let (read, _) = recv(&self.0, &mut buffer[..], RecvFlags::empty())?;
        answer(&buffer[..read.min(4096)])
    }

    /// Makes a veth pair.
    pub fn create_pair(&self, a: &str, b: &str) -> io::Result<()> {
        self.ask(CREATE | EXCLUSIVE, &pair(a, b))
    }

    /// Brings a device up.
    pub fn bring_up(&self, index: u32, mtu: u32) -> io::Result<()> {
        let mtu = attribute(attribute::MTU, &mtu.to_ne_bytes());
        self.ask(0, &[interface(index, UP_NO_ARP), mtu].concat())
    }

    /// Number of a device.
    pub fn index(&self, name: &str) -> io::Result<u32> {
        let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        Ok(rustix::net::netdevice::name_to_index(&any, name)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_one_message() {
        let message = message(CREATE | EXCLUSIVE, &pair("a0", "b1"));
        let length = u32::from_ne_bytes(*message.first_chunk().unwrap());
        assert_eq!(length as usize, message.len());
        assert_eq!(message[4..8], [16, 0, 5, 6]);
        for text in [&b"a0\0"[..], b"b1\0", b"veth"] {
            assert!(message.windows(text.len()).any(|w| w == text));
        }
        assert!(message.len().is_multiple_of(4));
        assert_eq!(interface(3, UP_NO_ARP).len(), 16);
        assert_eq!(interface(3, UP_NO_ARP)[4..8], [3, 0, 0, 0]);
    }

    #[test]
    fn odd_answers_are_errors() {
        let said = |kind: u16, code: i32| {
            let mut bytes = vec![0; HEADER_BYTES];
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            bytes.extend(code.to_ne_bytes());
            answer(&bytes).map_err(|e| e.raw_os_error())
        };
        assert_eq!(said(ERROR, 0), Ok(()));
        assert_eq!(said(ERROR, -1), Err(Some(1)));
        assert_eq!(said(ERROR, 5), Err(None));
        assert_eq!(said(3, 0), Err(None));
        for length in 0..HEADER_BYTES + 4 {
            assert!(answer(&vec![0; length]).is_err());
        }
    }
}
