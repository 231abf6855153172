//! What `poll` gives: one delivery, its bytes where the device put them.
//!
//! The bytes are never a `&[u8]`: a device that lies may still write them. [`Bytes`] copies out
//! what it is asked for, and a copy does not change any more.
//! Invariant: dropping a delivery, on any thread, brings each of its buffers home once
//! (`nothing_is_lost_across_threads`).

use std::sync::Arc;

use groove_spec::nic::HEADER_SLOT_BYTES;
use groove_spec::{CsumState, TCP_CSUM_OFFSET_BYTES};

use crate::DmaMemory;
use crate::area::Area;
use crate::dma::lease::Lease;
use crate::ledger::Assembled;
use crate::metadata::Metadata;

/// A buffer of a queue; dropping it brings it home.
pub type Buffer = Lease<Shared>;

/// What the buffers of a queue keep alive.
#[derive(Debug)]
pub struct Shared {
    /// Number of the queue.
    pub queue: usize,
    /// Its memory.
    pub memory: Arc<DmaMemory>,
    /// What lies where.
    pub area: Area,
}

/// Some bytes of a delivery, in DMA memory.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    memory: &'a DmaMemory,
    offset: usize,
    bytes: usize,
}

impl Bytes<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Copies from byte `at` on; as many as there are and as `into` takes. Returns how many.
    #[inline]
    pub fn copy_at(&self, at: usize, into: &mut [u8]) -> usize {
        let bytes = self.bytes.saturating_sub(at).min(into.len());
        // Inside the memory: the ledger held the lengths to the buffers.
        match self.memory.read(self.offset + at.min(self.bytes), &mut into[..bytes]) {
            Ok(()) => bytes,
            Err(_) => 0,
        }
    }

    /// Appends a copy of all.
    pub fn append_to(&self, into: &mut Vec<u8>) {
        let start = into.len();
        into.resize(start + self.bytes, 0);
        let copied = self.copy_at(0, &mut into[start..]);
        into.truncate(start + copied);
    }
}

/// One delivery. Dropping it gives its buffers back: each is a lease that goes home.
#[derive(Debug)]
pub struct Delivery {
    parts: Assembled<Buffer>,
}

impl Delivery {
    /// A delivery that the ledger let through.
    pub(crate) fn new(parts: Assembled<Buffer>) -> Self {
        Self { parts }
    }

    fn shared(&self) -> &Shared {
        &self.parts.first
    }

    /// Queue that it came on.
    pub fn queue(&self) -> usize {
        self.shared().queue
    }

    /// Metadata, as it is decoded from what the device said and the ledger let through. What the
    /// caller does not look at is not decoded.
    #[inline]
    pub fn metadata(&self) -> Metadata {
        Metadata::of(self.parts.head)
    }

    /// Buffers that it holds.
    pub fn buffers(&self) -> usize {
        1 + self.parts.rest().len()
    }

    fn bytes(&self, offset: usize, bytes: usize) -> Bytes<'_> {
        Bytes { memory: &self.shared().memory, offset, bytes }
    }

    /// All bytes in order: what lies in the header slot, then what lies in each buffer.
    fn all(&self) -> impl Iterator<Item = Bytes<'_>> {
        let Assembled { head, first, .. } = &self.parts;
        let area = &self.shared().area;
        let in_slot = self.bytes(area.header(first.id()), head.hdr_len().into());
        let in_first = self.bytes(area.buffer(first.id()), head.length() as usize);
        let rest = self.parts.rest().iter();
        let rest = rest.map(|p| self.bytes(area.buffer(p.buffer.id()), p.length as usize));
        [in_slot, in_first].into_iter().chain(rest).filter(|part| !part.is_empty())
    }

    /// The header: MAC address to the end of the transport header, in one piece.
    #[inline]
    pub fn header(&self) -> Bytes<'_> {
        let Assembled { head, first, .. } = &self.parts;
        let area = &self.shared().area;
        let in_slot = head.hdr_len() > 0;
        let offset = if in_slot { area.header(first.id()) } else { area.buffer(first.id()) };
        self.bytes(offset, head.header_bytes().into())
    }

    /// What is behind the header, without a copy: one slice for each buffer.
    pub fn payload(&self) -> impl Iterator<Item = Bytes<'_>> {
        let mut header = usize::from(self.parts.head.header_bytes());
        self.all().filter_map(move |part| {
            let cut = header.min(part.bytes);
            header -= cut;
            let rest = Bytes { offset: part.offset + cut, bytes: part.bytes - cut, ..part };
            (!rest.is_empty()).then_some(rest)
        })
    }

    /// A plain frame.
    pub fn copy_to_frame(&self, into: &mut Vec<u8>) {
        into.reserve(self.parts.head.total_len() as usize);
        self.all().for_each(|part| part.append_to(into));
    }

    /// The delivery as the model describes one. A ring does not say which frames it was made of.
    pub fn to_spec(&self) -> groove_spec::Delivery {
        let m = self.metadata();
        let partial = m.csum == CsumState::Partial;
        let mut bytes = Vec::new();
        self.copy_to_frame(&mut bytes);
        groove_spec::Delivery {
            queue: self.shared().queue as u8,
            frames: Vec::new(),
            bytes,
            hdr_len: m.header_bytes.into(),
            hash: m.hash,
            hash_type: m.hash_type,
            vlan: m.vlan,
            packet_type: m.packet_type,
            protocol: m.protocol,
            csum: m.csum,
            csum_level: m.csum_level,
            csum_start: m.csum_start.into(),
            csum_offset: if partial { TCP_CSUM_OFFSET_BYTES as u16 } else { 0 },
            l3_verdict: m.l3_verdict,
            l4_verdict: m.l4_verdict,
            gso_size: m.gso_size,
            gso_segs: m.gso_segs,
            gso_type: m.gso_type,
            encapsulation: m.encapsulation,
            end_reason: m.end_reason,
            alone_reason: m.alone_reason,
        }
    }
}

const _: () = assert!(groove_spec::MAX_HEADER_BYTES <= HEADER_SLOT_BYTES);
