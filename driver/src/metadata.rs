//! What a delivery says of itself: checked when its first completion is taken, decoded when it is
//! asked for.
//!
//!   completion ──► check ──► (ledger) ──► Delivery ──► metadata
//!
//! Follows: spec row `nic::COMPLETION`.
//! Invariant: every field out of range is refused by name (`each_lie_is_named`).
//! Not here: buffers, and how much is in them (`ledger`).

use groove_spec::stages::coalesce::GSO_NAMES;
use groove_spec::{
    AloneReason, CsumState, EndReason, HashType, MAX_HEADER_BYTES, MERGED_BYTES_MAX,
    MIN_FRAME_BYTES, PacketType, TCP_CSUM_OFFSET_BYTES, Tag, Verdict,
};

use crate::completion::{END_REASON_BITS, REASON_BITS, Words};

/// Longest delivery: the largest merge behind a MAC header.
const DELIVERY_BYTES_MAX: u32 = (MERGED_BYTES_MAX + MIN_FRAME_BYTES) as u32;

/// What a device said that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lie {
    /// No such buffer in the pool.
    #[error("buffer {id}: the pool has {pool}")]
    NoSuchBuffer {
        /// Claimed buffer.
        id: u16,
        /// Buffers of the pool.
        pool: usize,
    },
    /// The device does not have that buffer.
    #[error("buffer {0}: the device does not have it")]
    NotWithDevice(u16),
    /// A field has a value that it cannot have.
    #[error("{field} is {value}: {why}")]
    Field {
        /// Name in the table.
        field: &'static str,
        /// Claimed value.
        value: u64,
        /// What it should be.
        why: &'static str,
    },
}

/// Why a completion is refused. Behind a pointer, so that what nearly always is no lie is told in a
/// register.
pub type Refused = Box<Lie>;

/// The lie of a field.
#[cold]
#[inline(never)]
pub fn lie(field: &'static str, value: impl Into<u64>, why: &'static str) -> Refused {
    Box::new(Lie::Field { field, value: value.into(), why })
}

/// Metadata of a delivery, all in range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Header bytes.
    pub header_bytes: u8,
    /// Bytes of the delivery.
    pub total_len: u32,
    /// Receive hash.
    pub hash: u32,
    /// What the hash covers.
    pub hash_type: HashType,
    /// Stripped tag.
    pub vlan: Option<Tag>,
    /// Class of the destination address.
    pub packet_type: PacketType,
    /// Protocol as `eth_type_trans` gives it.
    pub protocol: u16,
    /// Checksum state.
    pub csum: CsumState,
    /// Verified levels minus one.
    pub csum_level: u8,
    /// With `Partial`: position of the TCP header.
    pub csum_start: u8,
    /// IPv4 header checksum of the first frame.
    pub l3_verdict: Verdict,
    /// TCP or UDP checksum of the first frame.
    pub l4_verdict: Verdict,
    /// Payload bytes of every segment but the last; 0 if one frame.
    pub gso_size: u16,
    /// Segments; 0 if one frame.
    pub gso_segs: u16,
    /// Bits of `GSO_*`; 0 if one frame.
    pub gso_type: u16,
    /// Inner headers are valid.
    pub encapsulation: bool,
    /// Why the session ended.
    pub end_reason: EndReason,
    /// Why the frame was delivered alone.
    pub alone_reason: AloneReason,
}

/// What a code stands for; a code that stands for nothing has been refused before.
macro_rules! named {
    ($type:ident, $code:expr) => {
        $type::from_code($code.into()).unwrap_or($type::ALL[0])
    };
}

impl Metadata {
    /// Of a completion that [`check`] let through.
    #[inline]
    pub fn of(c: Words) -> Self {
        Self {
            header_bytes: c.header_bytes(),
            total_len: c.total_len(),
            hash: c.hash(),
            hash_type: named!(HashType, c.hash_type()),
            vlan: (c.vlan_valid() == 1).then_some(Tag {
                tpid: if c.vlan_tpid() == 1 { 0x88a8 } else { 0x8100 },
                tci: c.vlan_tci(),
            }),
            packet_type: named!(PacketType, c.packet_type()),
            protocol: c.protocol(),
            csum: match c.csum() {
                0 => CsumState::None,
                1 => CsumState::Unnecessary,
                _ => CsumState::Partial,
            },
            csum_level: c.csum_level(),
            csum_start: c.csum_start(),
            l3_verdict: named!(Verdict, c.l3_verdict()),
            l4_verdict: named!(Verdict, c.l4_verdict()),
            gso_size: c.gso_size(),
            gso_segs: c.gso_segs(),
            gso_type: c.gso_type(),
            encapsulation: c.encapsulation() == 1,
            end_reason: named!(EndReason, c.end_reason()),
            alone_reason: named!(AloneReason, c.alone_reason()),
        }
    }
}

#[inline(always)]
fn code(field: &'static str, code: u8, known: usize) -> Result<(), Refused> {
    if usize::from(code) < known { Ok(()) } else { Err(lie(field, code, "no such code")) }
}

/// Whether metadata can be true.
#[inline(always)]
pub fn check(c: Words) -> Result<(), Refused> {
    if !(MIN_FRAME_BYTES as u32..=DELIVERY_BYTES_MAX).contains(&c.total_len()) {
        return Err(lie("total_len", c.total_len(), "not 14 to 65,549 bytes"));
    }
    let header = u32::from(c.header_bytes());
    if !(MIN_FRAME_BYTES as u32..=MAX_HEADER_BYTES as u32).contains(&header)
        || header > c.total_len()
    {
        return Err(lie("header_bytes", header, "not 14 to 128, or beyond the delivery"));
    }
    if c.merge() != 0 {
        merge(c)?;
    }
    if !REASONS[c.reasons()] {
        return Err(reasons(c.end_reason(), c.alone_reason()));
    }
    code("hash_type", c.hash_type(), HashType::ALL.len())?;
    code("packet_type", c.packet_type(), PacketType::ALL.len())?;
    code("l3_verdict", c.l3_verdict(), Verdict::ALL.len())?;
    code("l4_verdict", c.l4_verdict(), Verdict::ALL.len())?;
    csum(c)
}

/// What only a merged delivery has.
#[inline(always)]
fn merge(c: Words) -> Result<(), Refused> {
    if c.gso_segs() == 0 {
        return Err(lie("gso_segs", 0u8, "0 only if gso_size, gso_type, encapsulation are"));
    }
    let payload = c.total_len().saturating_sub(c.header_bytes().into());
    let (segs, size) = (u32::from(c.gso_segs()), u32::from(c.gso_size()));
    if segs < 2 || size == 0 || payload.div_ceil(size) != segs {
        return Err(lie("gso_segs", c.gso_segs(), "not what total_len and gso_size make"));
    }
    if c.gso_type() == 0 || c.gso_type() >> GSO_NAMES.len() != 0 {
        return Err(lie("gso_type", c.gso_type(), "no such set of bits"));
    }
    Ok(())
}

/// Which pairs of reasons there are: one of end and alone reason is given, and it has a name.
const REASONS: [bool; 1 << REASON_BITS] = {
    let mut known = [false; 1 << REASON_BITS];
    let mut i = 0;
    while i < known.len() {
        let (end, alone) = (i & ((1 << END_REASON_BITS) - 1), i >> END_REASON_BITS);
        known[i] = (end == 0) != (alone == 0)
            && end < EndReason::ALL.len()
            && alone < AloneReason::ALL.len();
        i += 1;
    }
    known
};

/// What is wrong with a pair that is not in [`REASONS`].
#[cold]
#[inline(never)]
fn reasons(end: u8, alone: u8) -> Refused {
    if (end == 0) == (alone == 0) {
        return lie("end_reason", end, "one of end and alone reason is given");
    }
    match code("end_reason", end, EndReason::ALL.len()) {
        Err(what) => what,
        Ok(()) => lie("alone_reason", alone, "no such code"),
    }
}

#[inline(always)]
fn csum(c: Words) -> Result<(), Refused> {
    if c.csum() < 2 {
        return match c.csum_start() {
            0 => Ok(()),
            start => Err(lie("csum_start", start, "0 unless the checksum is partial")),
        };
    }
    let field_end = u32::from(c.csum_start()) + TCP_CSUM_OFFSET_BYTES as u32 + 2;
    match c.csum() {
        2 if field_end <= u32::from(c.header_bytes()) => Ok(()),
        2 => Err(lie("csum_start", c.csum_start(), "the checksum would lie behind the header")),
        other => Err(lie("csum", other, "no such state")),
    }
}
