//! BTF: the kernel's own description of its types, for the places of a few members.
//!
//!   /sys/kernel/btf/vmlinux ─► types ─► member of a structure ─► bit, width
//!
//! Follows: Linux `Documentation/bpf/btf.rst`.
//! Invariant: no bytes make it panic; what is cut or odd is an error (`damage_is_an_error`).
//! Not here: which members are wanted (`layout.rs`).

use std::collections::BTreeMap;

/// What is wrong with type information, or not in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// The file is not what it should be.
    #[error("the kernel's type information is damaged at byte {0}")]
    Damaged(usize),
    /// A structure is not described.
    #[error("the kernel's type information has no structure {0}")]
    NoStructure(String),
    /// A member is not described.
    #[error("the kernel's type information has no member {member} in {structure}")]
    NoMember {
        /// Structure.
        structure: String,
        /// Member.
        member: String,
    },
}

const MAGIC: u16 = 0xeb9f;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_TYPEDEF: u32 = 8;
const KIND_CONST: u32 = 10;
/// Anonymous members nest a few deep; damage could nest for ever.
const DEPTH_MAX: usize = 16;

/// A described member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Position in the structure.
    pub bit: usize,
    /// Width of a bit field; 0 for others.
    pub width: usize,
}

/// Type information.
#[derive(Debug)]
pub struct Btf<'a> {
    bytes: &'a [u8],
    strings: usize,
    /// Position of each type; type 0 is void and has none.
    types: Vec<usize>,
}

impl<'a> Btf<'a> {
    /// Reads the header and finds every type.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BtfError> {
        let mut btf = Self { bytes, strings: 0, types: vec![0] };
        let magic = bytes.first_chunk::<2>().map(|m| u16::from_ne_bytes(*m));
        if magic != Some(MAGIC) {
            return Err(BtfError::Damaged(0));
        }
        let header = btf.word(4)? as usize;
        let (from, length) = (header + btf.word(8)? as usize, btf.word(12)? as usize);
        btf.strings = header + btf.word(16)? as usize;
        let mut at = from;
        while at < from + length {
            btf.types.push(at);
            at += 12 + btf.extra_bytes(at)?;
        }
        Ok(btf)
    }

    fn word(&self, at: usize) -> Result<u32, BtfError> {
        let word = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
        word.map(|w| u32::from_ne_bytes(*w)).ok_or(BtfError::Damaged(at))
    }

    /// Kind, and number of members.
    fn kind(&self, at: usize) -> Result<(u32, usize), BtfError> {
        let info = self.word(at + 4)?;
        Ok((info >> 24 & 0x1f, (info & 0xffff) as usize))
    }

    /// Bytes behind a type's first twelve.
    fn extra_bytes(&self, at: usize) -> Result<usize, BtfError> {
        let (kind, count) = self.kind(at)?;
        Ok(match kind {
            1 | 14 | 17 => 4,                                 // INT, VAR, DECL_TAG
            3 => 12,                                          // ARRAY
            KIND_STRUCT | KIND_UNION | 15 | 19 => 12 * count, // DATASEC, ENUM64
            KIND_ENUM | 13 => 8 * count,                      // FUNC_PROTO
            2 | 7..=12 | 16 | 18 => 0, // PTR, FWD, TYPEDEF to FUNC, FLOAT, TYPE_TAG
            _ => return Err(BtfError::Damaged(at)),
        })
    }

    fn name(&self, at: usize) -> Result<&'a str, BtfError> {
        let start = self.strings + self.word(at)? as usize;
        let rest = self.bytes.get(start..).ok_or(BtfError::Damaged(start))?;
        let end = rest.iter().position(|b| *b == 0).ok_or(BtfError::Damaged(start))?;
        std::str::from_utf8(&rest[..end]).map_err(|_| BtfError::Damaged(start))
    }

    /// Number and bytes of a structure.
    fn structure(&self, name: &str) -> Result<(usize, usize), BtfError> {
        for (number, &at) in self.types.iter().enumerate().skip(1) {
            if self.kind(at)?.0 == KIND_STRUCT && self.name(at)? == name {
                return Ok((number, self.word(at + 8)? as usize));
            }
        }
        Err(BtfError::NoStructure(name.to_owned()))
    }

    /// Bytes of a structure.
    pub fn structure_bytes(&self, name: &str) -> Result<usize, BtfError> {
        self.structure(name).map(|(_, bytes)| bytes)
    }

    /// A member of a structure, also in the anonymous structures and unions inside it.
    pub fn member(&self, structure: &str, member: &str) -> Result<Member, BtfError> {
        let (number, _) = self.structure(structure)?;
        self.find(number, member, 0, DEPTH_MAX)?.ok_or_else(|| BtfError::NoMember {
            structure: structure.to_owned(),
            member: member.to_owned(),
        })
    }

    fn find(
        &self,
        mut number: usize,
        wanted: &str,
        base: usize,
        depth: usize,
    ) -> Result<Option<Member>, BtfError> {
        let mut left = depth;
        let (at, kind, count) = loop {
            let at = *self.types.get(number).filter(|_| number > 0).ok_or(BtfError::Damaged(0))?;
            let (kind, count) = self.kind(at)?;
            if !matches!(kind, KIND_TYPEDEF | KIND_CONST) {
                break (at, kind, count);
            }
            left = left.checked_sub(1).ok_or(BtfError::Damaged(at))?;
            number = self.word(at + 8)? as usize;
        };
        if !matches!(kind, KIND_STRUCT | KIND_UNION) {
            return Ok(None);
        }
        let Some(left) = left.checked_sub(1) else { return Err(BtfError::Damaged(at)) };
        let packed = self.word(at + 4)? >> 31 != 0;
        for i in 0..count {
            let member = at + 12 + 12 * i;
            let (name, place) = (self.name(member)?, self.word(member + 8)?);
            // With bit fields in a structure, the upper eight bits are the width.
            let (bit, width) = if packed { (place & 0xff_ffff, place >> 24) } else { (place, 0) };
            let bit = base + bit as usize;
            if name == wanted {
                return Ok(Some(Member { bit, width: width as usize }));
            }
            if name.is_empty() {
                let inner = self.word(member + 4)? as usize;
                if let Some(found) = self.find(inner, wanted, bit, left)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// Values of the first enumeration with members of this prefix, with the names behind it.
    pub fn enumeration(&self, prefix: &str) -> Result<BTreeMap<u32, String>, BtfError> {
        for &at in &self.types[1..] {
            let (kind, count) = self.kind(at)?;
            if kind != KIND_ENUM {
                continue;
            }
            let mut values = BTreeMap::new();
            for i in 0..count {
                let member = at + 12 + 8 * i;
                if let Some(name) = self.name(member)?.strip_prefix(prefix) {
                    values.insert(self.word(member + 4)?, name.to_owned());
                }
            }
            if !values.is_empty() {
                return Ok(values);
            }
        }
        Err(BtfError::NoStructure(format!("with values {prefix}*")))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Information as a compiler writes it: `struct outer { u32 first; struct { u32 flag:3; } }`,
    /// and an enumeration.
    pub fn example() -> Vec<u8> {
        let strings = b"\0outer\0first\0flag\0SKB_GSO_TCPV4\0SKB_GSO_DODGY\0";
        let name = |text: &str| {
            let text = [text.as_bytes(), &[0]].concat();
            strings.windows(text.len()).position(|w| w == text).unwrap() as u32
        };
        let info = |kind: u32, count: u32, packed: u32| packed << 31 | kind << 24 | count;
        let types = [
            [0, info(1, 0, 0), 4, 32].to_vec(), // 1: an integer
            [name("outer"), info(4, 2, 0), 8, name("first"), 1, 0, 0, 3, 32].to_vec(),
            [0, info(4, 1, 1), 4, name("flag"), 1, 3 << 24 | 5].to_vec(),
            [0, info(6, 2, 0), 4, name("SKB_GSO_TCPV4"), 1, name("SKB_GSO_DODGY"), 2].to_vec(),
        ]
        .concat();
        let lengths = [4 * types.len() as u32, strings.len() as u32];
        let mut out = [&MAGIC.to_ne_bytes()[..], &[1, 0]].concat();
        for word in [24, 0, lengths[0], lengths[0], lengths[1]].iter().chain(&types) {
            out.extend(u32::to_ne_bytes(*word));
        }
        out.extend(strings);
        out
    }

    #[test]
    fn members_are_found_in_anonymous_structures() {
        let bytes = example();
        let btf = Btf::new(&bytes).unwrap();
        assert_eq!(btf.structure_bytes("outer"), Ok(8));
        assert_eq!(btf.member("outer", "first"), Ok(Member { bit: 0, width: 0 }));
        assert_eq!(btf.member("outer", "flag"), Ok(Member { bit: 37, width: 3 }));
        let names = btf.enumeration("SKB_GSO_").unwrap();
        assert_eq!(names.into_iter().collect::<Vec<_>>().len(), 2);
        assert_eq!(btf.structure_bytes("inner"), Err(BtfError::NoStructure("inner".into())));
        assert!(matches!(btf.member("outer", "x"), Err(BtfError::NoMember { .. })));
    }

    #[test]
    fn damage_is_an_error() {
        let good = example();
        let all = |bytes: &[u8]| -> Result<(), BtfError> {
            let btf = Btf::new(bytes)?;
            btf.member("outer", "flag")?;
            btf.enumeration("SKB_GSO_").map(drop)
        };
        assert_eq!(all(&good), Ok(()));
        // The last byte ends the last name.
        for length in 0..good.len() {
            assert!(all(&good[..length]).is_err(), "{length}");
        }
        // Whatever a bit flips, the answer comes without a panic.
        for bit in 0..8 * good.len() {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = all(&bytes);
        }
    }
}
