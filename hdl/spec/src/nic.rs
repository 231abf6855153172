//! Rows of the NIC around the pipeline: per-queue registers, descriptor and completion.
//!
//! A queue has a free ring (host to device, [`DESCRIPTOR`]) and a completion ring (device to host,
//! [`COMPLETION`]), both in host memory. Indices run freely over 16 bits; a slot is the index
//! modulo the ring's entries.

use crate::{Layout, Register, layout, registers};

/// Byte offset of queue 0's window; [`QUEUE_STRIDE`] bytes each.
pub const QUEUES_BASE: usize = 0x1000;
/// Bytes of a queue's window.
pub const QUEUE_STRIDE: usize = 0x80;
/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: usize = 16;
/// Bytes of a completion.
pub const COMPLETION_BYTES: usize = 32;
/// Bytes of a header slot; a delivery of that length or less lies wholly in its slot.
pub const HEADER_SLOT_BYTES: usize = 256;
/// Smallest and largest ring, as a power of two of entries.
pub const RING_LOG2_MIN: usize = 4;
/// See [`RING_LOG2_MIN`].
pub const RING_LOG2_MAX: usize = 15;
/// Smallest buffer.
pub const BUFFER_BYTES_MIN: usize = 2048;
/// Largest buffer.
pub const BUFFER_BYTES_MAX: usize = 65536;
/// A buffer's size and address are multiples of it.
pub const BUFFER_ALIGN_BYTES: usize = 64;
/// Bytes of the whole register window.
pub const WINDOW_BYTES: usize = QUEUES_BASE + crate::QUEUES_MAX * QUEUE_STRIDE;

/// Byte offset of a register of a queue.
pub const fn queue_offset(queue: usize, register: &Register) -> usize {
    QUEUES_BASE + queue * QUEUE_STRIDE + register.offset
}

registers! { base 0x000, end 0x80;
    /// Run state. Addresses and sizes are taken at the write that sets `enable`.
    QUEUE_CONTROL @ 0x00 ReadWrite = 0; {
        enable[0 +: 1] "Cleared: flush held sessions, return prefetched buffers, then stop.",
        split[1 +: 1] "Headers go to header slots, payload alone to buffers.",
        interrupt[2 +: 1] "Signal completions by MSI-X.",
    }
    /// What the queue does.
    QUEUE_STATUS @ 0x04 ReadOnly = 0; {
        running[0 +: 1] "Enabled and not yet stopped; stays set while draining.",
        fault[1 +: 1] "Stopped by a DMA error; re-enable to clear. Signals as a completion does: when stopped, and at each re-arm.",
    }
    /// Free ring, low half of its IOVA.
    FREE_BASE_LOW @ 0x08 ReadWrite = 0; { low[0 +: 32] "Multiple of 64." }
    /// Free ring, high half of its IOVA.
    FREE_BASE_HIGH @ 0x0c ReadWrite = 0; { high[0 +: 32] "High half." }
    /// Completion ring, low half of its IOVA.
    COMPLETION_BASE_LOW @ 0x10 ReadWrite = 0; { low[0 +: 32] "Multiple of 64." }
    /// Completion ring, high half of its IOVA.
    COMPLETION_BASE_HIGH @ 0x14 ReadWrite = 0; { high[0 +: 32] "High half." }
    /// Header slots, low half of their IOVA: 256 bytes for each buffer id.
    HEADER_BASE_LOW @ 0x18 ReadWrite = 0; { low[0 +: 32] "Multiple of 256." }
    /// Header slots, high half of their IOVA.
    HEADER_BASE_HIGH @ 0x1c ReadWrite = 0; { high[0 +: 32] "High half." }
    /// Ring sizes, as powers of two. The pool is no larger than the completion ring.
    RING_SIZES @ 0x20 ReadWrite = 0x0000_0a0a; {
        free_log2[0 +: 4] "Entries of the free ring: 4 to 15.",
        completion_log2[8 +: 4] "Entries of the completion ring: 4 to 15.",
    }
    /// Size of every buffer of the queue.
    BUFFER_SIZE @ 0x24 ReadWrite = 2048; { bytes[0 +: 17] "2,048 to 65,536, a multiple of 64." }
    /// Doorbell of the free ring.
    FREE_PRODUCER @ 0x28 ReadWrite = 0; { index[0 +: 16] "Descriptors posted since enable." }
    /// Descriptors fetched.
    FREE_CONSUMER @ 0x2c ReadOnly = 0; { index[0 +: 16] "Since enable." }
    /// Completions consumed: a write re-arms the interrupt, which fires at once if newer ones wait.
    COMPLETION_CONSUMER @ 0x30 ReadWrite = 0; { index[0 +: 16] "Completions consumed since enable." }
    /// Completions that are visible in host memory.
    COMPLETION_PRODUCER @ 0x34 ReadOnly = 0; { index[0 +: 16] "Since enable." }
    /// Interrupt moderation: whichever comes first. Expiry first flushes the queue's sessions.
    MODERATION @ 0x38 ReadWrite = 0x0010_0001; {
        count[0 +: 8] "Completions; 0 acts as 1.",
        time[16 +: 16] "Units of 64 cycles since the first unsignalled completion; 0 is off.",
    }
    /// Longest time that a session is held.
    HOLD @ 0x3c ReadWrite = 64; { time[0 +: 16] "Units of 1,024 cycles per tick of the queue, which flushes what is older; 0 is off." }
    /// Frames of the queue dropped for want of buffers.
    QUEUE_NO_BUFFER @ 0x40 ReadOnly = 0; { frames[0 +: 32] "Wraps." }
    /// DMA errors (SLVERR, DECERR) of the queue.
    QUEUE_DMA_ERRORS @ 0x44 ReadOnly = 0; { errors[0 +: 32] "Wraps." }
}

layout!(
    /// A free buffer, host to device. 16 bytes, little endian.
    pub DESCRIPTOR {
        iova: 64 "Where the buffer starts; a multiple of 64.",
        length: 32 "Its bytes: as BUFFER_SIZE of the queue.",
        buf_id: 16 "Its number in the queue's pool.",
        reserved: 16 "Zero.",
    }
);

layout!(
    /// One buffer coming home, device to host. 32 bytes, little endian; written as one, generation
    /// in its last bit. A delivery is the completions from `first` to `last`; metadata holds in the
    /// first.
    pub COMPLETION {
        buf_id: 16 "The buffer that this completion returns.",
        length: 17 "Bytes of the delivery in this buffer; 0 if all lie in the header slot.",
        hdr_len: 9 "Bytes in the header slot: the header with split, or the whole delivery of 256 bytes or less; else 0.",
        first: 1 "First of its delivery.",
        last: 1 "Last of its delivery.",
        split: 1 "Header in the header slot of the first buffer, payload in the buffers.",
        error: 1 "A DMA error hit the delivery; its bytes are not to be used.",
        vlan_valid: 1 "A tag was stripped.",
        vlan_tpid: 1 "0: 0x8100, 1: 0x88a8.",
        vlan_tci: 16 "PCP, DEI, VID.",
        hash: 32 "Receive hash.",
        hash_type: 3 "Code of HashType.",
        packet_type: 2 "Code of PacketType.",
        protocol: 16 "As eth_type_trans gives it.",
        csum: 2 "0 none, 1 unnecessary, 2 partial.",
        csum_level: 2 "Verified levels minus one.",
        csum_start: 8 "With partial: position of the TCP header; else 0.",
        l3_verdict: 2 "Code of Verdict, of the first frame.",
        l4_verdict: 2 "Code of Verdict, of the first frame.",
        header_bytes: 8 "Header bytes of the delivery, wherever they lie.",
        total_len: 17 "Bytes of the delivery.",
        gso_size: 16 "Payload of the first segment; 0 if one frame.",
        gso_segs: 16 "Segments; 0 if one frame.",
        gso_type: 9 "GSO bits; 0 if one frame.",
        encapsulation: 1 "Inner headers are valid.",
        end_reason: 5 "Code of EndReason.",
        alone_reason: 3 "Code of AloneReason.",
        reserved: 47 "Zero.",
        generation: 1 "1 in the first pass over the ring, then it toggles with each pass.",
    }
);
const _: () = assert!(DESCRIPTOR.bits() == 8 * DESCRIPTOR_BYTES);
const _: () = assert!(COMPLETION.bits() == 8 * COMPLETION_BYTES);

/// Records.
pub const LAYOUTS: &[Layout] = &[DESCRIPTOR, COMPLETION];
