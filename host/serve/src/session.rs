//! One connection: commands in, replies out, until the client goes or says something malformed.
//!
//!   VERSION ──► command ──► function ──► reply or error ──► command ...
//!
//! Invariants: a message that is too short for its command, or none, ends the connection with an
//! error; one that asks for what is not there is answered with an error number, and the connection
//! goes on (`impossible_commands_are_answered`); no wait is without a bound once a message has
//! begun (`a_client_that_stalls_is_given_up`).

use std::os::fd::BorrowedFd;
use std::time::Duration;

use groove_driver::abi;
use groove_driver::vfio_user::socket::{Deadline, Message, Socket, SocketError};
use groove_driver::vfio_user::wire::{
    self, Access, DATA_BYTES_MAX, DeviceInfo, DmaMap, DmaUnmap, ERROR, Header, IrqInfo, NO_REPLY,
    REPLY, RegionInfo, SetIrqs, TYPE_MASK, Version, command,
};
use rustix::io::Errno;

use crate::function::Function;
use crate::memory::Stay;

/// Time for the rest of a message that has begun, and for a reply to be taken.
pub const STALL_LIMIT: Duration = Duration::from_secs(5);

/// Why a connection ended before its client closed it.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The socket, or what came over it.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// A body that its command cannot have.
    #[error("malformed message: command {0} with a body that is too short or too long")]
    Body(u16),
    /// Something else than `VERSION` came first.
    #[error("malformed message: command {0} before VERSION")]
    NoVersion(u16),
    /// The client speaks another version.
    #[error("the client speaks version {0} of vfio-user, this server 0")]
    OtherVersion(u16),
    /// The device failed so that no session can be held.
    #[error("the device failed")]
    Device(#[source] std::io::Error),
}

/// What a command comes to.
enum Answer {
    Body(Vec<u8>),
    Refused(Errno),
}

impl From<Result<Vec<u8>, Errno>> for Answer {
    fn from(result: Result<Vec<u8>, Errno>) -> Self {
        result.map_or_else(Self::Refused, Self::Body)
    }
}

/// What a client did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Messages.
    pub messages: u64,
    /// What it had mapped, from nothing to nothing; the last one as it was when it went.
    pub stays: Vec<Stay>,
}

/// A connection.
pub struct Session {
    socket: Socket,
    function: Function,
    stall_limit: Duration,
    agreed: bool,
    /// Messages so far.
    pub messages: u64,
}

impl Session {
    /// Over a socket, to a function.
    pub fn new(socket: Socket, function: Function, stall_limit: Duration) -> Self {
        Self { socket, function, stall_limit, agreed: false, messages: 0 }
    }

    /// What the client did so far.
    pub fn summary(&self) -> Summary {
        Summary { messages: self.messages, stays: self.function.stays().to_vec() }
    }

    /// The socket, to wait for the next message.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.socket.file()
    }

    /// Takes one message, which has begun. `false`: the client has closed the connection.
    pub fn step(&mut self) -> Result<bool, SessionError> {
        let deadline = Deadline::new(self.stall_limit, "the rest of the client's message");
        let message = match self.socket.receive(deadline) {
            Ok(message) => message,
            Err(SocketError::Closed) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        self.messages += 1;
        let header = message.header;
        match header.flags & TYPE_MASK {
            0 => {}
            // Nothing was asked.
            REPLY => return Err(SocketError::Malformed("a reply").into()),
            _ => return Err(SocketError::Malformed("neither a command nor a reply").into()),
        }
        let result = self.answer(message);
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => {
                // It may be glad to know, before the connection ends.
                let _ = self.reply(header, Answer::Refused(Errno::INVAL));
                return Err(error);
            }
        };
        self.reply(header, answer)?;
        Ok(true)
    }

    fn reply(&self, to: Header, answer: Answer) -> Result<(), SessionError> {
        if to.flags & NO_REPLY != 0 {
            return Ok(());
        }
        let deadline = Deadline::new(self.stall_limit, "the client's taking of a reply");
        let reply = Header { flags: REPLY, error: 0, ..to };
        match answer {
            Answer::Body(body) => self.socket.send(reply, &[&body], &[], deadline)?,
            Answer::Refused(errno) => {
                let error = errno.raw_os_error() as u32;
                let reply = Header { flags: REPLY | ERROR, error, ..reply };
                self.socket.send(reply, &[], &[], deadline)?;
            }
        }
        Ok(())
    }

    fn answer(&mut self, message: Message) -> Result<Answer, SessionError> {
        let number = message.header.command;
        if !self.agreed && number != command::VERSION {
            return Err(SessionError::NoVersion(number));
        }
        let too_short = SessionError::Body(number);
        let body = &message.body[..];
        Ok(match number {
            command::VERSION => self.version(body)?,
            command::DMA_MAP => {
                let (asked, _) = DmaMap::decode(body).ok_or(too_short)?;
                self.map(&asked, message).into()
            }
            command::DMA_UNMAP => {
                let (asked, _) = DmaUnmap::decode(body).ok_or(too_short)?;
                self.unmap(asked).into()
            }
            command::DEVICE_INFO => {
                DeviceInfo::decode(body).ok_or(too_short)?;
                let flags = abi::DEVICE_PCI | abi::DEVICE_RESET;
                let (regions, irqs) = (abi::REGIONS, abi::IRQS);
                let argsz = DeviceInfo::BYTES as u32;
                Answer::Body(DeviceInfo { argsz, flags, regions, irqs }.encode())
            }
            command::REGION_INFO => {
                let (asked, _) = RegionInfo::decode(body).ok_or(too_short)?;
                self.region_info(asked.index).into()
            }
            command::IRQ_INFO => {
                let (asked, _) = IrqInfo::decode(body).ok_or(too_short)?;
                self.irq_info(asked.index).into()
            }
            command::SET_IRQS => {
                let (asked, _) = SetIrqs::decode(body).ok_or(too_short)?;
                self.function.set_irqs(&asked, message.files).map(|()| Vec::new()).into()
            }
            command::REGION_READ => {
                let (asked, _) = Access::decode(body).ok_or(too_short)?;
                self.read(asked).into()
            }
            command::REGION_WRITE => {
                let (asked, data) = Access::decode(body).ok_or(SessionError::Body(number))?;
                if data.len() != asked.count as usize {
                    return Err(too_short);
                }
                self.write(asked, data).into()
            }
            command::RESET => self.function.reset().map(|()| Vec::new()).into(),
            _ => Answer::Refused(Errno::OPNOTSUPP),
        })
    }

    fn version(&mut self, body: &[u8]) -> Result<Answer, SessionError> {
        let wrong = SessionError::Body(command::VERSION);
        let (asked, capabilities) = Version::decode(body).ok_or(wrong)?;
        if asked.major != wire::MAJOR {
            return Err(SessionError::OtherVersion(asked.major));
        }
        let text = match capabilities {
            [] => "",
            [text @ .., 0] => str::from_utf8(text).unwrap_or("\0"),
            _ => "\0",
        };
        if text.contains('\0') {
            return Err(SessionError::Body(command::VERSION));
        }
        self.agreed = true;
        let minor = asked.minor.min(wire::MINOR);
        let mut body = Version { major: wire::MAJOR, minor }.encode();
        body.extend_from_slice(&wire::capabilities());
        Ok(Answer::Body(body))
    }

    fn map(&mut self, asked: &DmaMap, message: Message) -> Result<Vec<u8>, Errno> {
        let rights = asked.flags & (wire::MAP_READ | wire::MAP_WRITE);
        let mut files = message.files.into_iter();
        let file = files.next().map(|file| (file, asked.offset));
        if files.next().is_some() || rights == 0 {
            return Err(Errno::INVAL);
        }
        let writable = rights & wire::MAP_WRITE != 0;
        self.function.map(asked.address, asked.size, file, writable)?;
        Ok(Vec::new())
    }

    fn unmap(&mut self, asked: DmaUnmap) -> Result<Vec<u8>, Errno> {
        let size = match asked.flags {
            0 => self.function.unmap(asked.address, asked.size)?,
            wire::UNMAP_ALL => {
                self.function.unmap_all()?;
                asked.size
            }
            _ => return Err(Errno::OPNOTSUPP),
        };
        Ok(DmaUnmap { size, ..asked }.encode())
    }

    fn region_info(&self, index: u32) -> Result<Vec<u8>, Errno> {
        if index >= abi::REGIONS {
            return Err(Errno::INVAL);
        }
        let size = self.function.region_bytes(index);
        let flags = if size > 0 { abi::REGION_READ | abi::REGION_WRITE } else { 0 };
        let argsz = RegionInfo::BYTES as u32;
        Ok(RegionInfo { argsz, flags, index, size, ..RegionInfo::default() }.encode())
    }

    fn irq_info(&self, index: u32) -> Result<Vec<u8>, Errno> {
        if index >= abi::IRQS {
            return Err(Errno::INVAL);
        }
        let count = self.function.vectors(index);
        let flags = match (index, count) {
            (_, 0) => 0,
            (abi::MSIX, _) => abi::IRQ_EVENTFD | abi::IRQ_NORESIZE,
            _ => abi::IRQ_EVENTFD,
        };
        Ok(IrqInfo { argsz: IrqInfo::BYTES as u32, flags, index, count }.encode())
    }

    /// Sees that an access is inside its region.
    fn check(&self, asked: &Access) -> Result<(), Errno> {
        let end = asked.offset.checked_add(asked.count.into()).ok_or(Errno::INVAL)?;
        let inside = asked.region < abi::REGIONS && end <= self.function.region_bytes(asked.region);
        if inside && asked.count as usize <= DATA_BYTES_MAX { Ok(()) } else { Err(Errno::INVAL) }
    }

    fn read(&self, asked: Access) -> Result<Vec<u8>, Errno> {
        self.check(&asked)?;
        let mut body = asked.encode();
        body.resize(Access::BYTES + asked.count as usize, 0);
        self.function.read(asked.region, asked.offset, &mut body[Access::BYTES..])?;
        Ok(body)
    }

    fn write(&mut self, asked: Access, data: &[u8]) -> Result<Vec<u8>, Errno> {
        self.check(&asked)?;
        self.function.write(asked.region, asked.offset, data)?;
        Ok(asked.encode())
    }
}
