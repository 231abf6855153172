//! Holds a device to its word: what a completion says against what the driver gave out.
//!
//! Follows: spec row `nic::COMPLETION`; architecture "Rings".
//! Invariants: a buffer comes home only from a device that has it (`a_buffer_comes_home_once`); a
//! delivery that passes lies wholly inside its buffers and its header slot
//! (`lengths_are_held_to_the_buffers`); every field out of range is refused by name
//! (`each_lie_is_named`).

use groove_spec::nic::HEADER_SLOT_BYTES;
use groove_spec::stages::coalesce::GSO_NAMES;
use groove_spec::{
    AloneReason, CsumState, EndReason, HashType, MAX_HEADER_BYTES, MERGED_BYTES_MAX,
    MIN_FRAME_BYTES, PacketType, TCP_CSUM_OFFSET_BYTES, Tag, Verdict,
};

use crate::completion::Fields;

/// Longest delivery: the largest merge behind a MAC header.
const DELIVERY_BYTES_MAX: u32 = (MERGED_BYTES_MAX + MIN_FRAME_BYTES) as u32;

/// What a device said that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("completion {index} of queue {queue}: {what}")]
pub struct Violation {
    /// Queue.
    pub queue: usize,
    /// Completion, counted since enable, modulo 65,536.
    pub index: u16,
    /// What is wrong with it.
    pub what: Lie,
}

/// Kinds of [`Violation`].
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

#[cold]
#[inline(never)]
fn lie(field: &'static str, value: impl Into<u64>, why: &'static str) -> Lie {
    Lie::Field { field, value: value.into(), why }
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

#[inline(always)]
fn csum(c: &impl Fields) -> Result<(), Lie> {
    let field_end = u32::from(c.csum_start()) + TCP_CSUM_OFFSET_BYTES as u32 + 2;
    match c.csum() {
        0 | 1 if c.csum_start() == 0 => Ok(()),
        0 | 1 => Err(lie("csum_start", c.csum_start(), "0 unless the checksum is partial")),
        2 if field_end <= u32::from(c.header_bytes()) => Ok(()),
        2 => Err(lie("csum_start", c.csum_start(), "the checksum would lie behind the header")),
        other => Err(lie("csum", other, "no such state")),
    }
}

#[inline(always)]
fn gso(c: &impl Fields) -> Result<(), Lie> {
    if c.gso_segs() == 0 {
        return match (c.gso_size(), c.gso_type(), c.encapsulation()) {
            (0, 0, 0) => Ok(()),
            _ => Err(lie("gso_segs", 0u8, "0 only if gso_size, gso_type, encapsulation are")),
        };
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

/// What a code stands for; a code that stands for nothing has been refused before.
macro_rules! named {
    ($type:ident, $code:expr) => {
        $type::from_code($code.into()).unwrap_or($type::ALL[0])
    };
}

impl Metadata {
    /// Checks the first completion of a delivery.
    #[cfg(test)]
    pub fn check(c: &impl Fields) -> Result<Self, Lie> {
        check(c).map(|()| Self::of(c))
    }

    /// Of a completion that [`check`] let through. Apart from the checks, so that it is written
    /// once, where it stays.
    #[inline(always)]
    fn of(c: &impl Fields) -> Self {
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
fn code(field: &'static str, code: u8, known: usize) -> Result<(), Lie> {
    if usize::from(code) < known { Ok(()) } else { Err(lie(field, code, "no such code")) }
}

/// Whether metadata can be true.
#[inline(always)]
fn check(c: &impl Fields) -> Result<(), Lie> {
    if !(MIN_FRAME_BYTES as u32..=DELIVERY_BYTES_MAX).contains(&c.total_len()) {
        return Err(lie("total_len", c.total_len(), "not 14 to 65,549 bytes"));
    }
    let header = u32::from(c.header_bytes());
    if header < MIN_FRAME_BYTES as u32 || header > c.total_len().min(MAX_HEADER_BYTES as u32) {
        return Err(lie("header_bytes", header, "not 14 to 128, or beyond the delivery"));
    }
    gso(c)?;
    if (c.end_reason() == 0) == (c.alone_reason() == 0) {
        return Err(lie("end_reason", c.end_reason(), "one of end and alone reason is given"));
    }
    code("hash_type", c.hash_type(), HashType::ALL.len())?;
    code("packet_type", c.packet_type(), PacketType::ALL.len())?;
    code("l3_verdict", c.l3_verdict(), Verdict::ALL.len())?;
    code("l4_verdict", c.l4_verdict(), Verdict::ALL.len())?;
    code("end_reason", c.end_reason(), EndReason::ALL.len())?;
    code("alone_reason", c.alone_reason(), AloneReason::ALL.len())?;
    csum(c)
}

/// A buffer of a delivery and the bytes in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece<B> {
    /// The buffer.
    pub buffer: B,
    /// Its bytes of the delivery.
    pub length: u32,
}

/// A delivery that passed every check.
#[derive(Debug, PartialEq, Eq)]
pub struct Assembled<B> {
    /// Metadata.
    pub metadata: Metadata,
    /// Bytes in the header slot of the first buffer.
    pub in_slot: u16,
    /// First buffer.
    pub first: Piece<B>,
    /// The others: empty for most, which costs nothing.
    pub rest: Vec<Piece<B>>,
    /// A DMA error hit it: its bytes are not to be used.
    pub error: bool,
}

impl<B> Assembled<B> {
    fn bytes(&self) -> u32 {
        let rest: u32 = self.rest.iter().map(|piece| piece.length).sum();
        u32::from(self.in_slot) + self.first.length + rest
    }
}

/// Who has which buffer, and the delivery under way. `B` stands for the buffer itself: it can only
/// be moved, so that the device's word can bring it home once.
#[derive(Debug)]
pub struct Ledger<B> {
    with_device: Vec<Option<B>>,
    buffer_bytes: u32,
    split: bool,
    partial: Option<Assembled<B>>,
}

impl<B> Ledger<B> {
    /// A pool of which the device has nothing.
    pub fn new(pool: usize, buffer_bytes: usize, split: bool) -> Self {
        let with_device = (0..pool).map(|_| None).collect();
        Self { with_device, buffer_bytes: buffer_bytes as u32, split, partial: None }
    }

    /// The device gets a buffer.
    #[inline]
    pub fn give(&mut self, id: u16, buffer: B) {
        self.with_device[usize::from(id)] = Some(buffer);
    }

    /// The device has stopped: it has nothing any more. Gives what it had, and what a delivery
    /// under way had.
    pub fn reclaim(&mut self, mut give: impl FnMut(B)) {
        if let Some(Assembled { first, rest, .. }) = self.partial.take() {
            std::iter::once(first).chain(rest).for_each(|piece| give(piece.buffer));
        }
        self.with_device.iter_mut().filter_map(Option::take).for_each(give);
    }

    /// Takes the next completion: gives the delivery that it makes whole, and returns a buffer that
    /// came back as it went.
    // Into the one loop that calls it: a delivery is large, and built where it is wanted then.
    #[inline(always)]
    pub fn take(
        &mut self,
        c: &impl Fields,
        give: &mut impl FnMut(Assembled<B>),
    ) -> Result<Option<B>, Lie> {
        let pool = self.with_device.len();
        let Some(place) = self.with_device.get_mut(usize::from(c.buf_id())) else {
            return Err(Lie::NoSuchBuffer { id: c.buf_id(), pool });
        };
        if place.is_none() {
            return Err(Lie::NotWithDevice(c.buf_id()));
        }
        if c.reserved() != 0 {
            return Err(lie("reserved", c.reserved(), "0"));
        }
        if c.length() > self.buffer_bytes {
            return Err(lie("length", c.length(), "more than the buffer has"));
        }
        if (c.first() == 1) != self.partial.is_none() {
            return Err(lie("first", c.first(), "set in the first of a delivery, and only there"));
        }
        if c.first() == 0 {
            return self.proceed(c, give);
        }
        if c.total_len() == 0 && c.length() == 0 && c.last() == 1 {
            return Ok(place.take());
        }
        check(c)?;
        let in_slot = self.in_slot(c)?;
        let whole = is_whole(c, in_slot + c.length(), c.total_len())?;
        let Some(buffer) = self.with_device[usize::from(c.buf_id())].take() else {
            return Err(Lie::NotWithDevice(c.buf_id()));
        };
        let assembled = |buffer| Assembled {
            metadata: Metadata::of(c),
            in_slot: c.hdr_len(),
            first: Piece { buffer, length: c.length() },
            rest: Vec::new(),
            error: c.error() == 1,
        };
        if whole {
            give(assembled(buffer));
        } else {
            self.partial = Some(assembled(buffer));
        }
        Ok(None)
    }

    /// Bytes in the header slot, which the completion must name.
    #[inline(always)]
    fn in_slot(&self, c: &impl Fields) -> Result<u32, Lie> {
        let small = c.total_len() <= HEADER_SLOT_BYTES as u32;
        let in_slot = match (small, c.split()) {
            (true, 0) => c.total_len(),
            (false, 0) => 0,
            (false, 1) if self.split => c.header_bytes().into(),
            _ => {
                return Err(lie(
                    "split",
                    c.split(),
                    "not of this queue, or of so short a delivery",
                ));
            }
        };
        if u32::from(c.hdr_len()) != in_slot {
            return Err(lie("hdr_len", c.hdr_len(), "not what split and total_len make"));
        }
        Ok(in_slot)
    }

    #[inline(never)]
    fn proceed(
        &mut self,
        c: &impl Fields,
        give: &mut impl FnMut(Assembled<B>),
    ) -> Result<Option<B>, Lie> {
        // After a lie the delivery stays here: its buffers are still to be reclaimed.
        let Some(delivery) = &mut self.partial else { return Ok(None) };
        let before = delivery.rest.last().unwrap_or(&delivery.first).length;
        if before != self.buffer_bytes || c.length() == 0 {
            return Err(lie("length", c.length(), "buffers are filled back to back"));
        }
        let whole = is_whole(c, delivery.bytes() + c.length(), delivery.metadata.total_len)?;
        let Some(buffer) = self.with_device[usize::from(c.buf_id())].take() else {
            return Err(Lie::NotWithDevice(c.buf_id()));
        };
        delivery.rest.push(Piece { buffer, length: c.length() });
        delivery.error |= c.error() == 1;
        if whole && let Some(delivery) = self.partial.take() {
            give(delivery);
        }
        Ok(None)
    }
}

/// Whether a delivery of `total` has come to its end with `bytes`.
#[inline]
fn is_whole(c: &impl Fields, bytes: u32, total: u32) -> Result<bool, Lie> {
    if bytes > total {
        return Err(lie("length", c.length(), "more than total_len"));
    }
    if (c.last() == 1) != (bytes == total) {
        return Err(lie("last", c.last(), "set when all of total_len is there"));
    }
    Ok(bytes == total)
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
