//! Layout: where the running kernel keeps the fields that GRO sets, and reading them.
//!
//!   BTF ─► places in sk_buff and skb_shared_info ─► values of a copied socket buffer

use std::collections::BTreeMap;

use crate::btf::{Btf, BtfError};
use crate::record::{Record, word};

/// A field of up to 32 bits inside a copied structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    bit: usize,
    width: usize,
}

impl Place {
    /// Byte that it begins in.
    pub fn byte(self) -> usize {
        self.bit / 8
    }

    fn value(self, bytes: &[u8]) -> u32 {
        let low = u64::from(word(bytes, self.byte()));
        let high = u64::from(word(bytes, self.byte() + 4));
        let mask = (1_u64 << self.width) - 1;
        ((high << 32 | low) >> (self.bit % 8) & mask) as u32
    }
}

/// Places on one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a socket buffer.
    pub buffer_bytes: usize,
    /// Bytes of shared info to be copied: as far as its last wanted field.
    pub shared_bytes: usize,
    /// `sk_buff.head`, an address.
    pub head: Place,
    /// `sk_buff.end`, an offset.
    pub end: Place,
    len: Place,
    mark: Place,
    summed: Place,
    level: Place,
    start: Place,
    offset: Place,
    hash: Place,
    tpid: Place,
    tci: Place,
    mac: Place,
    encapsulation: Place,
    gso_size: Place,
    gso_segs: Place,
    gso_type: Place,
    names: BTreeMap<u32, String>,
}

/// What a copied socket buffer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Length and GSO fields, as programs see them and as they stand in memory.
    pub twice: [(u32, u32); 3],
    /// Mark.
    pub mark: u32,
    /// `ip_summed`.
    pub summed: u32,
    /// `csum_level`.
    pub level: u32,
    /// `csum_start`, from the MAC header.
    pub start: u16,
    /// `csum_offset`.
    pub offset: u16,
    /// `hash`.
    pub hash: u32,
    /// TPID and TCI of the tag that is out of band.
    pub tag: Option<(u16, u16)>,
    /// `encapsulation`.
    pub encapsulation: bool,
    /// `gso_size`.
    pub gso_size: u16,
    /// `gso_segs`.
    pub gso_segs: u16,
    /// Names of the set bits of `gso_type`; a bit without a name is a number.
    pub gso_type: Vec<String>,
}

const BUFFER: &str = "sk_buff";
const SHARED: &str = "skb_shared_info";

impl Layout {
    /// The layout that type information describes.
    pub fn of(btf: &Btf) -> Result<Self, BtfError> {
        let place = |structure: &str, member: &str, width: usize| {
            let found = btf.member(structure, member)?;
            let width = if found.width == 0 { width } else { found.width };
            Ok::<_, BtfError>(Place { bit: found.bit, width })
        };
        let [gso_size, gso_segs] = [place(SHARED, "gso_size", 16)?, place(SHARED, "gso_segs", 16)?];
        let gso_type = place(SHARED, "gso_type", 32)?;
        let last = gso_size.byte().max(gso_segs.byte()).max(gso_type.byte());
        Ok(Self {
            buffer_bytes: btf.structure_bytes(BUFFER)?,
            shared_bytes: last + 8,
            head: place(BUFFER, "head", 64)?,
            end: place(BUFFER, "end", 32)?,
            len: place(BUFFER, "len", 32)?,
            mark: place(BUFFER, "mark", 32)?,
            summed: place(BUFFER, "ip_summed", 2)?,
            level: place(BUFFER, "csum_level", 2)?,
            start: place(BUFFER, "csum_start", 16)?,
            offset: place(BUFFER, "csum_offset", 16)?,
            hash: place(BUFFER, "hash", 32)?,
            tpid: place(BUFFER, "vlan_proto", 16)?,
            tci: place(BUFFER, "vlan_tci", 16)?,
            mac: place(BUFFER, "mac_header", 16)?,
            encapsulation: place(BUFFER, "encapsulation", 1)?,
            gso_size,
            gso_segs,
            gso_type,
            names: btf.enumeration("SKB_GSO_")?,
        })
    }

    /// Reads a record.
    pub fn read(&self, record: &Record, bytes: &[u8]) -> Buffer {
        let buffer = bytes.get(record.buffer as usize..).unwrap_or_default();
        let shared = bytes.get(record.shared as usize..).unwrap_or_default();
        let seen = |at: i16| word(bytes, at as usize);
        let (segs, size) = (self.gso_segs.value(shared), self.gso_size.value(shared));
        let tpid = (self.tpid.value(buffer) as u16).to_be();
        let start = self.start.value(buffer).wrapping_sub(self.mac.value(buffer));
        Buffer {
            twice: [
                (seen(Record::LEN), self.len.value(buffer)),
                (seen(Record::GSO_SEGS), segs),
                (seen(Record::GSO_SIZE), size),
            ],
            mark: self.mark.value(buffer),
            summed: self.summed.value(buffer),
            level: self.level.value(buffer),
            start: start as u16,
            offset: self.offset.value(buffer) as u16,
            hash: self.hash.value(buffer),
            tag: (tpid != 0).then(|| (tpid, self.tci.value(buffer) as u16)),
            encapsulation: self.encapsulation.value(buffer) != 0,
            gso_size: size as u16,
            gso_segs: segs as u16,
            gso_type: self.names_of(self.gso_type.value(shared)),
        }
    }

    fn names_of(&self, bits: u32) -> Vec<String> {
        let set = (0..32).map(|i| 1_u32 << i).filter(|bit| bits & bit != 0);
        set.map(|bit| self.names.get(&bit).cloned().unwrap_or_else(|| format!("0x{bit:x}")))
            .collect()
    }

    /// A layout for tests.
    #[cfg(test)]
    pub fn example() -> Self {
        let place = |byte: usize, width| Place { bit: 8 * byte, width };
        Self {
            buffer_bytes: 224,
            shared_bytes: 32,
            head: place(200, 64),
            end: place(188, 32),
            len: place(112, 32),
            mark: place(168, 32),
            summed: Place { bit: 8 * 128 + 5, width: 2 },
            level: Place { bit: 8 * 128, width: 2 },
            start: place(136, 16),
            offset: place(138, 16),
            hash: place(148, 32),
            tpid: place(152, 16),
            tci: place(154, 16),
            mac: place(182, 16),
            encapsulation: Place { bit: 8 * 129 + 7, width: 1 },
            gso_size: place(4, 16),
            gso_segs: place(6, 16),
            gso_type: place(24, 32),
            names: [(1, "TCPV4".to_owned()), (2, "DODGY".to_owned())].into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_by_their_bits() {
        let layout = Layout::example();
        let record = Record::of(&layout);
        let mut bytes = vec![0; record.bytes];
        let (buffer, shared) = (record.buffer as usize, record.shared as usize);
        bytes[buffer + 128] = 3 << 5 | 1;
        bytes[buffer + 129] = 0x80;
        bytes[buffer + 152..][..4].copy_from_slice(&[0x81, 0x00, 7, 0]);
        bytes[buffer + 136] = 50;
        bytes[buffer + 182] = 16;
        bytes[shared + 6] = 3;
        bytes[shared + 24] = 5;
        let read = layout.read(&record, &bytes);
        assert_eq!((read.summed, read.level, read.encapsulation), (3, 1, true));
        assert_eq!((read.tag, read.start, read.gso_segs), (Some((0x8100, 7)), 34, 3));
        assert_eq!(read.gso_type, ["TCPV4", "0x4"]);
        assert_eq!(layout.read(&record, &[]).mark, 0);
    }
}
