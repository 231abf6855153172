//! Rows of the inline form: the pipeline between two streams, with a packet memory of its own.

use crate::nic::COMPLETION;
use crate::{Layout, layout, registers};

/// Byte offset of the first register.
pub const BASE: usize = 0xf00;
/// Bytes of the in-band header in front of a delivery: [`INLINE_META`], then zeros.
pub const HEADER_BYTES: usize = 64;
/// Value of `INLINE_META.magic`: the bytes 'G', 'R'.
pub const MAGIC: u64 = 0x5247;
/// Most buffers of the packet memory, and as many as are built unless asked otherwise.
pub const BUFFERS_MAX: usize = 224;
/// Bits that travel beside every frame, from its first beat to the delivery that it begins.
pub const USER_BITS: usize = 128;

registers! { base BASE, end 0x1000;
    /// What becomes of the frames that enter from now on; taken between two frames.
    INLINE_CONTROL @ 0x00 ReadWrite = 0; {
        enable[0 +: 1] "Frames go through the pipeline. 0: they pass through, bit by bit.",
        header[1 +: 1] "A header of 64 bytes (INLINE_META) goes in front of each delivery.",
    }
    /// Where frames go now, and what is free.
    INLINE_STATUS @ 0x04 ReadOnly = 0; {
        state[0 +: 2] "0: pass through. 1: the pipeline. 2: it empties, and what comes is dropped.",
        free[16 +: 8] "Buffers that no frame has reserved.",
    }
    /// Longest time that a session is held.
    INLINE_HOLD @ 0x08 ReadWrite = 64; { time[0 +: 16] "Units of 64 cycles per tick, which flushes what is older; 0 is off." }
    /// Frames passed through.
    INLINE_PASSED @ 0x0c ReadOnly = 0; { frames[0 +: 32] "Wraps." }
    /// Frames dropped while the pipeline emptied.
    INLINE_DROP_SWITCH @ 0x10 ReadOnly = 0; { frames[0 +: 32] "Wraps." }
    /// Deliveries of the pipeline.
    INLINE_DELIVERED @ 0x14 ReadOnly = 0; { deliveries[0 +: 32] "Wraps." }
}

layout!(
    /// What the inline form says of a delivery, beside it or in front of it. 32 bytes, little
    /// endian; fields that COMPLETION has, too, lie where it has them.
    pub INLINE_META {
        magic: 16 "0x5247: the bytes 'G', 'R'.",
        reserved_low: 30 "Zero.",
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
        header_bytes: 8 "Header bytes of the delivery.",
        total_len: 17 "Bytes of the delivery, without the header in front of it.",
        gso_size: 16 "Payload of the first segment; 0 if one frame.",
        gso_segs: 16 "Segments; 0 if one frame.",
        gso_type: 9 "GSO bits; 0 if one frame.",
        encapsulation: 1 "Inner headers are valid.",
        end_reason: 5 "Code of EndReason.",
        alone_reason: 3 "Code of AloneReason.",
        reserved: 48 "Zero.",
    }
);

/// First of the fields that [`INLINE_META`] shares with [`COMPLETION`], and first behind them: the
/// hardware replaces what lies around.
pub const SHARED_LSB: [usize; 2] = [46, 208];

const _: () = assert!(INLINE_META.bits() == COMPLETION.bits());

/// Records.
pub const LAYOUTS: &[Layout] = &[INLINE_META];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meta_is_a_completions() {
        let shared = |layout: &Layout| {
            let inside = |f: &&crate::Field| (SHARED_LSB[0]..SHARED_LSB[1]).contains(&f.lsb);
            layout
                .fields
                .iter()
                .filter(inside)
                .map(|f| (f.name, f.lsb, f.width))
                .collect::<Vec<_>>()
        };
        assert_eq!(shared(&INLINE_META), shared(&COMPLETION));
        assert_eq!(shared(&INLINE_META)[0].0, "vlan_valid");
        assert_eq!(shared(&INLINE_META).last().map(|f| f.0), Some("alone_reason"));
        assert_eq!(SHARED_LSB[0], INLINE_META.field("vlan_valid").lsb);
        assert_eq!(SHARED_LSB[1], INLINE_META.field("reserved").lsb);
    }
}
