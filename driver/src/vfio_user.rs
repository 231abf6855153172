//! A PCI function that another process serves over a Unix socket: vfio-user, without a kernel's
//! VFIO and without root.
//!
//!   SocketVfio ──► command, files ──► server        (one command at a time, each answered)
//!        ▲◄────── reply, or its time is over ──┘     memory is shared, interrupts are event files
//!
//! Follows: the vfio-user protocol specification 0.1.
//! Invariants: every command is answered within its time, or the connection is given up, and every
//! access from there on is an error that says why (`a_slow_server_is_given_up`,
//! `a_server_that_dies_is_an_error`); an error that the server sends is one
//! (`refusals_keep_their_errno`); no reply makes it panic (`garbage_replies_are_refused`).
//! Not here: regions mapped from the server; commands of the server, which are refused.

pub mod socket;
pub mod wire;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::device::check_access;
use crate::{Device, DmaMemory, Error, Interrupt, Region, abi};
use socket::{Deadline, Socket, SocketError};
use wire::{
    Access, DeviceInfo, DmaMap, DmaUnmap, ERROR, Header, IrqInfo, REPLY, RegionInfo, SetIrqs,
    TYPE_MASK, Version, command,
};

/// Time that a command has, unless told otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody answers there.
    #[error("failed to connect to {}", path.display())]
    Connect {
        /// The socket's path.
        path: PathBuf,
        /// Why.
        source: SocketError,
    },
    /// The server does not say what it must.
    #[error("{} does not serve a device", path.display())]
    Handshake {
        /// The socket's path.
        path: PathBuf,
        /// Why.
        source: Error,
    },
    /// Not a PCI function, or one without registers.
    #[error("{} serves a device that is no PCI function with a BAR 0 and a reset", .0.display())]
    Unfit(PathBuf),
}

impl ConnectError {
    /// What to do next.
    pub fn help(&self) -> String {
        let errno = |source: &SocketError| match source {
            SocketError::Io(source) => source.raw_os_error(),
            _ => None,
        };
        match self {
            Self::Connect { path, source } => match errno(source) {
                Some(raw) if raw == rustix::io::Errno::NAMETOOLONG.raw_os_error() => {
                    "a socket's path has at most 107 bytes: use a relative or a shorter one".into()
                }
                Some(raw) if raw == rustix::io::Errno::ACCESS.raw_os_error() => {
                    "the socket belongs to another user: serve it as this one".into()
                }
                _ => format!("serve a device there: groove serve --socket {}", path.display()),
            },
            Self::Handshake { source: Error::Transport { help: Some(help), .. }, .. } => {
                (*help).into()
            }
            Self::Handshake { .. } => "a server takes one driver at a time: end the other one, or \
                                       serve another device"
                .into(),
            Self::Unfit(_) => "use groove serve, or another server of a Groove device".into(),
        }
    }
}

/// What the server said of its device.
#[derive(Debug, Default)]
struct Seen {
    flags: u32,
    regions: Vec<u64>,
    vectors: usize,
    files_max: usize,
}

#[derive(Debug)]
struct Connection {
    socket: Socket,
    next_id: u16,
    timeout: Duration,
    /// Why it is given up.
    gone: Option<String>,
}

/// A function behind a socket.
#[derive(Debug)]
pub struct SocketVfio {
    connection: Mutex<Connection>,
    seen: Seen,
    mappings: Mutex<BTreeMap<u64, Arc<DmaMemory>>>,
}

fn transport(what: &str, source: io::Error) -> Error {
    Error::Transport { what: format!("failed to {what}"), help: None, source }
}

impl Connection {
    /// Sends a command, and waits for its reply.
    fn ask(
        &mut self,
        number: u16,
        parts: &[&[u8]],
        files: &[BorrowedFd<'_>],
        what: &'static str,
    ) -> Result<Vec<u8>, Error> {
        if let Some(reason) = &self.gone {
            let source = io::Error::new(io::ErrorKind::NotConnected, reason.clone());
            let help = Some("the device is gone: serve it again, and start the driver again");
            return Err(Error::Transport { what: format!("failed to {what}"), help, source });
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let header = Header { id, command: number, ..Header::default() };
        match self.exchange(header, parts, files, what) {
            Ok((reply, body)) if reply.flags & ERROR == 0 => Ok(body),
            Ok((reply, _)) => Err(transport(what, refusal(reply.error))),
            Err(error) => {
                // Whatever comes late would be taken for the answer to something else.
                self.gone = Some(format!("the connection was given up: {error}"));
                Err(transport(what, io::Error::other(error)))
            }
        }
    }

    fn exchange(
        &mut self,
        header: Header,
        parts: &[&[u8]],
        files: &[BorrowedFd<'_>],
        what: &'static str,
    ) -> Result<(Header, Vec<u8>), SocketError> {
        let deadline = Deadline::new(self.timeout, what);
        match self.socket.send(header, parts, files, deadline) {
            // A server that refused before it read has left its answer.
            Ok(()) | Err(SocketError::Closed) => {}
            Err(error) => return Err(error),
        }
        loop {
            let message = self.socket.receive(deadline)?;
            let got = message.header;
            match got.flags & TYPE_MASK {
                REPLY if got.id == header.id && got.command == header.command => {
                    return Ok((got, message.body));
                }
                REPLY => return Err(SocketError::Malformed("a reply to nothing that was asked")),
                0 => {
                    let error = rustix::io::Errno::OPNOTSUPP.raw_os_error() as u32;
                    let reply = Header { flags: REPLY | ERROR, error, ..got };
                    self.socket.send(reply, &[], &[], deadline)?;
                }
                _ => return Err(SocketError::Malformed("neither a command nor a reply")),
            }
        }
    }
}

fn refusal(errno: u32) -> io::Error {
    match i32::try_from(errno) {
        Ok(errno @ 1..4096) => io::Error::from_raw_os_error(errno),
        _ => io::Error::other("the server refused, and did not say why"),
    }
}

fn short(what: &str) -> Error {
    transport(what, io::Error::new(io::ErrorKind::InvalidData, "the server's reply is too short"))
}

impl SocketVfio {
    /// Connects, with [`TIMEOUT`] for each command.
    pub fn open(path: &Path) -> Result<Self, ConnectError> {
        Self::with_timeout(path, TIMEOUT)
    }

    /// Connects, with so much time for each command.
    pub fn with_timeout(path: &Path, timeout: Duration) -> Result<Self, ConnectError> {
        let deadline = Deadline::new(timeout, "a place in the server's queue");
        let socket = Socket::connect(path, deadline)
            .map_err(|source| ConnectError::Connect { path: path.into(), source })?;
        let mut connection = Connection { socket, next_id: 0, timeout, gone: None };
        let seen = Self::handshake(&mut connection)
            .map_err(|source| ConnectError::Handshake { path: path.into(), source })?;
        let wanted = abi::DEVICE_PCI | abi::DEVICE_RESET;
        if seen.flags & wanted != wanted || seen.regions.first().is_none_or(|bytes| *bytes == 0) {
            return Err(ConnectError::Unfit(path.into()));
        }
        let connection = Mutex::new(connection);
        let device = Self { connection, seen, mappings: Mutex::default() };
        let enabled = device.enable();
        enabled.map_err(|source| ConnectError::Handshake { path: path.into(), source })?;
        Ok(device)
    }

    fn handshake(connection: &mut Connection) -> Result<Seen, Error> {
        let what = "agree on a version with the server";
        let version = Version { major: wire::MAJOR, minor: wire::MINOR }.encode();
        let parts = [&version[..], &wire::capabilities()];
        let reply = connection.ask(command::VERSION, &parts, &[], what)?;
        let (version, capabilities) = Version::decode(&reply).ok_or_else(|| short(what))?;
        if version.major != wire::MAJOR {
            let text = format!("it speaks version {} of vfio-user", version.major);
            return Err(transport(what, io::Error::other(text)));
        }
        let mut seen = Seen { files_max: wire::files_of(capabilities), ..Seen::default() };

        let what = "read what the device is";
        let body = DeviceInfo { argsz: DeviceInfo::BYTES as u32, ..DeviceInfo::default() };
        let reply = connection.ask(command::DEVICE_INFO, &[&body.encode()], &[], what)?;
        let (info, _) = DeviceInfo::decode(&reply).ok_or_else(|| short(what))?;
        seen.flags = info.flags;
        for index in 0..info.regions.min(abi::REGIONS) {
            let argsz = RegionInfo::BYTES as u32;
            let body = RegionInfo { argsz, index, ..RegionInfo::default() }.encode();
            let reply = connection.ask(command::REGION_INFO, &[&body], &[], what)?;
            seen.regions.push(RegionInfo::decode(&reply).ok_or_else(|| short(what))?.0.size);
        }
        if info.irqs > abi::MSIX {
            let argsz = IrqInfo::BYTES as u32;
            let body = IrqInfo { argsz, index: abi::MSIX, ..IrqInfo::default() }.encode();
            let reply = connection.ask(command::IRQ_INFO, &[&body], &[], what)?;
            // No function has more than MSI-X can count.
            let (irq, _) = IrqInfo::decode(&reply).ok_or_else(|| short(what))?;
            seen.vectors = irq.count.min(2048) as usize;
        }
        Ok(seen)
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mappings(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<DmaMemory>>> {
        self.mappings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory space and bus mastering on.
    fn enable(&self) -> Result<(), Error> {
        let word = self.read32(Region::Config, abi::COMMAND_OFFSET)?;
        let command = word & 0xffff | abi::COMMAND_MEMORY | abi::COMMAND_MASTER;
        self.write32(Region::Config, abi::COMMAND_OFFSET, command)
    }

    fn unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        let argsz = DmaUnmap::BYTES as u32;
        let body = DmaUnmap { argsz, flags: 0, address: iova, size: bytes }.encode();
        let what = "take DMA memory back";
        self.connection().ask(command::DMA_UNMAP, &[&body], &[], what).map(|_| ())
    }

    fn set_irqs(&self, body: SetIrqs, files: &[BorrowedFd<'_>]) -> Result<(), Error> {
        let what = "set the interrupt vectors";
        self.connection().ask(command::SET_IRQS, &[&body.encode()], files, what).map(|_| ())
    }
}

fn index(region: Region) -> u32 {
    match region {
        Region::Bar(n) => {
            if n < 6 {
                n.into()
            } else {
                u32::MAX
            }
        }
        Region::Config => abi::CONFIG_REGION,
    }
}

impl Device for SocketVfio {
    fn region_bytes(&self, region: Region) -> u64 {
        self.seen.regions.get(index(region) as usize).copied().unwrap_or(0)
    }

    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        check_access(region, offset, self.region_bytes(region))?;
        let what = "read a register";
        let body = Access { offset, region: index(region), count: 4 }.encode();
        let reply = self.connection().ask(command::REGION_READ, &[&body], &[], what)?;
        let (access, data) = Access::decode(&reply).ok_or_else(|| short(what))?;
        match data.first_chunk() {
            Some(data) if access.count == 4 => Ok(u32::from_le_bytes(*data)),
            _ => Err(short(what)),
        }
    }

    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        check_access(region, offset, self.region_bytes(region))?;
        let body = Access { offset, region: index(region), count: 4 }.encode();
        let parts = [&body[..], &value.to_le_bytes()];
        self.connection().ask(command::REGION_WRITE, &parts, &[], "write a register").map(|_| ())
    }

    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        let size = memory.bytes() as u64;
        let mut mappings = self.mappings();
        let refused = Error::Mapping { iova, bytes: size };
        let Some(end) = iova.checked_add(size) else { return Err(refused) };
        let before = mappings.range(..end).next_back();
        if before.is_some_and(|(at, m)| at + m.bytes() as u64 > iova) {
            return Err(refused);
        }
        let (argsz, flags) = (DmaMap::BYTES as u32, wire::MAP_READ | wire::MAP_WRITE);
        let offset = memory.file_offset();
        let body = DmaMap { argsz, flags, offset, address: iova, size }.encode();
        let what = "give the device DMA memory";
        self.connection().ask(command::DMA_MAP, &[&body], &[memory.file()], what)?;
        mappings.insert(iova, memory);
        Ok(())
    }

    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        let mut mappings = self.mappings();
        match mappings.get(&iova) {
            Some(memory) if memory.bytes() as u64 == bytes => self.unmap(iova, bytes)?,
            _ => return Err(Error::Mapping { iova, bytes }),
        }
        mappings.remove(&iova);
        Ok(())
    }

    fn vectors(&self) -> usize {
        self.seen.vectors
    }

    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        let (wanted, available) = (interrupts.len(), self.seen.vectors);
        if wanted > available {
            return Err(Error::TooManyVectors { wanted, available });
        }
        let (argsz, index) = (SetIrqs::BYTES as u32, abi::MSIX);
        let flags = abi::SET_DATA_NONE | abi::SET_TRIGGER;
        self.set_irqs(SetIrqs { argsz, flags, index, start: 0, count: 0 }, &[])?;
        let flags = abi::SET_DATA_EVENTFD | abi::SET_TRIGGER;
        for (n, some) in interrupts.chunks(self.seen.files_max).enumerate() {
            let start = (n * self.seen.files_max) as u32;
            let files: Vec<_> = some.iter().map(|interrupt| interrupt.file()).collect();
            let count = files.len() as u32;
            self.set_irqs(SetIrqs { argsz, flags, index, start, count }, &files)?;
        }
        Ok(())
    }

    fn reset(&self) -> Result<(), Error> {
        self.connection().ask(command::RESET, &[], &[], "reset the device")?;
        self.set_interrupts(&[])?;
        let mut mappings = self.mappings();
        while let Some((iova, memory)) = mappings.first_key_value() {
            self.unmap(*iova, memory.bytes() as u64)?;
            mappings.pop_first();
        }
        drop(mappings);
        self.enable()
    }
}

#[cfg(test)]
#[path = "vfio_user/client_tests.rs"]
mod tests;
