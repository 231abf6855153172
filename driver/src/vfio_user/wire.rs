//! Messages of vfio-user as bytes, for both ends.
//!
//!   header (16) │ body of the command │ data
//!
//! Follows: the vfio-user protocol specification 0.1 (QEMU, `docs/interop/vfio-user.rst`); numbers
//! are in the machine's own order, as both ends are on one machine.
//! Invariants: a body comes back as it was (`records_come_back`); bytes that are too few are none,
//! never a panic (`short_bodies_are_refused`).
//! Not here: sockets and files (`socket`).

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// Longest data of a region access.
pub const DATA_BYTES_MAX: usize = 1 << 20;
/// Longest message that is read.
pub const MESSAGE_BYTES_MAX: usize = DATA_BYTES_MAX + 4096;
/// Most files of a message.
pub const FILES_MAX: usize = 16;

/// Version of the protocol.
pub const MAJOR: u16 = 0;
/// See [`MAJOR`].
pub const MINOR: u16 = 1;

/// The message is a reply.
pub const REPLY: u32 = 1;
/// Bits of the flags that say what the message is.
pub const TYPE_MASK: u32 = 0xf;
/// No reply is wanted.
pub const NO_REPLY: u32 = 1 << 4;
/// The reply says that the command failed.
pub const ERROR: u32 = 1 << 5;

/// A mapping that the device may read.
pub const MAP_READ: u32 = 1 << 0;
/// A mapping that the device may write.
pub const MAP_WRITE: u32 = 1 << 1;
/// Takes every mapping away.
pub const UNMAP_ALL: u32 = 1 << 1;

/// Commands.
pub mod command {
    /// First message of a connection.
    pub const VERSION: u16 = 1;
    /// Lets the device reach memory.
    pub const DMA_MAP: u16 = 2;
    /// Takes it away.
    pub const DMA_UNMAP: u16 = 3;
    /// What the device is.
    pub const DEVICE_INFO: u16 = 4;
    /// What a region is.
    pub const REGION_INFO: u16 = 5;
    /// What an interrupt is.
    pub const IRQ_INFO: u16 = 7;
    /// What an interrupt signals.
    pub const SET_IRQS: u16 = 8;
    /// Reads a region.
    pub const REGION_READ: u16 = 9;
    /// Writes a region.
    pub const REGION_WRITE: u16 = 10;
    /// Resets the device.
    pub const RESET: u16 = 13;
}

/// Takes integers off the front of some bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*front)
    }
}

macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type),* }

        impl $name {
            /// Its length.
            pub const BYTES: usize = 0 $(+ size_of::<$type>())*;

            /// As bytes.
            pub fn encode(&self) -> Vec<u8> {
                let mut bytes = Vec::with_capacity(Self::BYTES);
                $(bytes.extend_from_slice(&self.$field.to_ne_bytes());)*
                bytes
            }

            /// From the front of some bytes, and what is behind; `None` if they are too few.
            pub fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
                let mut reader = Reader(bytes);
                let record = Self { $($field: <$type>::from_ne_bytes(reader.take()?)),* };
                Some((record, reader.0))
            }
        }
    };
}

record! {
    /// In front of every message.
    Header {
        /// Pairs a reply with its command.
        id: u16,
        /// Command.
        command: u16,
        /// Of the whole message.
        bytes: u32,
        /// What the message is.
        flags: u32,
        /// Error number, of a reply that says so.
        error: u32,
    }
}
record! {
    /// Body of `VERSION`; capabilities as JSON are behind it.
    Version {
        /// Both ends have the same.
        major: u16,
        /// The smaller one holds.
        minor: u16,
    }
}
record! {
    /// Body of `DMA_MAP`; the memory's file comes with it.
    DmaMap {
        /// Bytes of the body.
        argsz: u32,
        /// What the device may do.
        flags: u32,
        /// Where the memory starts in its file.
        offset: u64,
        /// Where the device sees it.
        address: u64,
        /// Bytes.
        size: u64,
    }
}
record! {
    /// Body of `DMA_UNMAP` and of its reply.
    DmaUnmap {
        /// Bytes of the body.
        argsz: u32,
        /// One range, or all.
        flags: u32,
        /// Start of the range.
        address: u64,
        /// Its bytes.
        size: u64,
    }
}
record! {
    /// Body of `DEVICE_INFO` and of its reply.
    DeviceInfo {
        /// Bytes of the body.
        argsz: u32,
        /// What the device is.
        flags: u32,
        /// Regions.
        regions: u32,
        /// Interrupts.
        irqs: u32,
    }
}
record! {
    /// Body of `REGION_INFO` and of its reply.
    RegionInfo {
        /// Bytes of the body.
        argsz: u32,
        /// What can be done with it.
        flags: u32,
        /// Its number.
        index: u32,
        /// Where capabilities are; 0 is nowhere.
        cap_offset: u32,
        /// Bytes of the region.
        size: u64,
        /// Where it is in a file.
        offset: u64,
    }
}
record! {
    /// Body of `IRQ_INFO` and of its reply.
    IrqInfo {
        /// Bytes of the body.
        argsz: u32,
        /// What can be done with it.
        flags: u32,
        /// Its number.
        index: u32,
        /// Vectors.
        count: u32,
    }
}
record! {
    /// Body of `SET_IRQS`; event files come with it.
    SetIrqs {
        /// Bytes of the body.
        argsz: u32,
        /// What to do.
        flags: u32,
        /// Which interrupt.
        index: u32,
        /// First vector.
        start: u32,
        /// Vectors.
        count: u32,
    }
}
record! {
    /// Body of `REGION_READ` and `REGION_WRITE`, and of their replies.
    Access {
        /// Where in the region.
        offset: u64,
        /// Which region.
        region: u32,
        /// Bytes of data.
        count: u32,
    }
}

/// Capabilities that this end sends with `VERSION`.
pub fn capabilities() -> Vec<u8> {
    let text = format!(
        "{{\"capabilities\":{{\"max_msg_fds\":{FILES_MAX},\"max_data_xfer_size\":{DATA_BYTES_MAX}}}}}\0"
    );
    text.into_bytes()
}

/// Files that the other end takes with one message, by its capabilities.
pub fn files_of(capabilities: &[u8]) -> usize {
    const KEY: &[u8] = b"\"max_msg_fds\"";
    let at = capabilities.windows(KEY.len()).position(|window| window == KEY);
    let digits = at.map_or(&[][..], |at| &capabilities[at + KEY.len()..]);
    let digits = digits.iter().skip_while(|b| matches!(b, b':' | b' '));
    let digits: String =
        digits.take_while(|b| b.is_ascii_digit()).take(6).map(|b| char::from(*b)).collect();
    // One is what the specification gives to those who say nothing.
    digits.parse().unwrap_or(1).clamp(1, FILES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let map = DmaMap { argsz: 32, flags: 3, offset: 0x1_0000_0001, address: 7, size: u64::MAX };
        let mut bytes = map.encode();
        assert_eq!((bytes.len(), DmaMap::BYTES), (32, 32));
        assert_eq!(bytes[8..16], 0x1_0000_0001u64.to_ne_bytes());
        bytes.push(9);
        assert_eq!(DmaMap::decode(&bytes), Some((map, &[9][..])));
        let header = Header { id: 1, command: 2, bytes: 3, flags: 4, error: 5 };
        assert_eq!(Header::decode(&header.encode()), Some((header, &[][..])));
        assert_eq!(Header::BYTES, HEADER_BYTES);
        let sizes = [
            DmaUnmap::BYTES,
            DeviceInfo::BYTES,
            RegionInfo::BYTES,
            IrqInfo::BYTES,
            SetIrqs::BYTES,
            Access::BYTES,
            Version::BYTES,
        ];
        assert_eq!(sizes, [24, 16, 32, 16, 20, 16, 4]);
    }

    #[test]
    fn short_bodies_are_refused() {
        for bytes in 0..DmaMap::BYTES {
            assert_eq!(DmaMap::decode(&vec![0; bytes]), None, "{bytes}");
        }
    }

    #[test]
    fn the_other_end_says_how_many_files_it_takes() {
        assert_eq!(files_of(&capabilities()), FILES_MAX);
        assert_eq!(files_of(b"{\"capabilities\":{\"max_msg_fds\": 8}}\0"), 8);
        assert_eq!(files_of(b"{}\0"), 1);
        assert_eq!(files_of(b""), 1);
        assert_eq!(files_of(b"\"max_msg_fds\""), 1);
        assert_eq!(files_of(b"\"max_msg_fds\":0"), 1);
        assert_eq!(files_of(b"\"max_msg_fds\":99999999999999999999"), FILES_MAX);
        assert_eq!(files_of(b"\"max_msg_fds\":\"x\""), 1);
    }
}
