//! Records and stream ports between the stages that work on whole headers.
//!
//!   collect ─Head─► parse ─Flow─► classify ─Flow─► rss ─Meta─► FIFO ─Meta─► admit ─Meta─► coalesce
//!                     └─Sum─► checksum ─Outcome─► FIFO ──────────────────────┘ └─Strip─► strip
//!
//! Every port is a valid/ready pair: a record moves in a cycle with both high, and stays while it
//! waits.
//!
//! Invariant: the fields of [`FrameMeta`] are those of `FRAME_META`, bit for bit
//! (`frame_meta_is_the_table`). Not here: behaviour.

// The fields are documented by the table; the rest is written by RustHDL's derives.
#![allow(missing_docs)]

use rust_hdl::prelude::*;

/// Bits of the header that travels beside the metadata: byte 0 of the frame lowest.
pub const HEADER_BITS: usize = groove_spec::MAX_HEADER_BYTES * 8;

/// Frame metadata: `FRAME_META` of the table, field by field.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct FrameMeta {
    pub is_token: Bit,
    pub token_kind: Bits<2>,
    pub queue: Bits<5>,
    pub hash: Bits<32>,
    pub hash_type: Bits<3>,
    pub vlan_valid: Bit,
    pub vlan_tpid: Bit,
    pub vlan_tci: Bits<16>,
    pub packet_type: Bits<2>,
    pub protocol: Bits<16>,
    pub hdr_len: Bits<8>,
    pub l3_kind: Bits<2>,
    pub l3_off: Bits<5>,
    pub l4_kind: Bits<2>,
    pub l4_off: Bits<7>,
    pub fragment: Bit,
    pub ip_len: Bits<17>,
    pub l3_verdict: Bits<2>,
    pub l4_verdict: Bits<2>,
    pub addr_sum: Bits<16>,
    pub candidate: Bit,
    pub soft_flush: Bit,
    pub ip_id: Bits<16>,
    pub ip_csum: Bits<16>,
    pub ip_tot_len: Bits<16>,
    pub tcp_seq: Bits<32>,
    pub tcp_flags: Bits<8>,
    pub payload_len: Bits<16>,
    pub frame_bytes: Bits<16>,
}

/// What `checksum` adds up of a frame. Offsets count received bytes, stripped tag included.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct SumControl {
    /// First byte of the TCP or UDP header; even.
    pub start: Bits<8>,
    /// Byte behind the last one; may lie behind the end of the frame.
    pub end: Bits<17>,
    /// Folded sum of the pseudo header.
    pub init: Bits<16>,
}

/// What became of a frame at its last beat, from `checksum` to `admit`, in order of arrival.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Outcome {
    /// Number of the frame, drops included.
    pub frame: Bits<32>,
    /// Received bytes; 65,535 stands for more.
    pub bytes: Bits<16>,
    /// `init` plus the bytes from `start` to `end` fold to 0xffff. Means nothing without a sum.
    pub sum_good: Bit,
    /// Rolled back: no beat of it is in the frame FIFO.
    pub drop: Bit,
    /// Code of `DropReason`, with `drop`.
    pub reason: Bits<3>,
}

/// How `strip` treats the next frame of the frame FIFO.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct StripControl {
    /// Nothing of the frame leaves.
    pub discard: Bit,
    /// Received bytes in front of the payload.
    pub header_bytes: Bits<8>,
    /// Bytes that leave; 0: none does. What is behind them is cut off.
    pub payload_bytes: Bits<16>,
}

/// Declares the two ends of a stream port. (The names as text: an attribute takes a literal only.)
macro_rules! stream {
    ($doc:tt $source:ident $source_text:tt $sink:ident $sink_text:tt {
        $($field:ident : $ty:ty),*
    }) => {
        #[doc = $doc]
        #[derive(LogicInterface, Default, Clone, Debug)]
        #[join = $sink_text]
        pub struct $source {
            $(pub $field: Signal<Out, $ty>,)*
            pub valid: Signal<Out, Bit>,
            pub ready: Signal<In, Bit>,
        }

        #[doc = $doc]
        #[derive(LogicInterface, Default, Clone, Debug)]
        #[join = $source_text]
        pub struct $sink {
            $(pub $field: Signal<In, $ty>,)*
            pub valid: Signal<In, Bit>,
            pub ready: Signal<Out, Bit>,
        }
    };
}

stream!("A frame's header as received (`bytes` = min(128, length), then zeros), or a token."
    HeadSource "HeadSource" HeadSink "HeadSink" {
        header: Bits<1024>, bytes: Bits<8>,
        is_token: Bit, token_kind: Bits<2>, queue: Bits<5>
});
stream!("Metadata, header and hash input: both addresses as received, IPv4 ones without a gap, \
    then both ports; `hashable`: the IP version is as the ethertype says."
    FlowSource "FlowSource" FlowSink "FlowSink" {
        meta: FrameMeta, header: Bits<1024>, addresses: Bits<256>, ports: Bits<32>, hashable: Bit
});
stream!("Metadata and header (of the delivered frame: tag stripped) of a frame, or a token."
    MetaSource "MetaSource" MetaSink "MetaSink" { meta: FrameMeta, header: Bits<1024> });
stream!("One per frame, not for tokens."
    SumSource "SumSource" SumSink "SumSink" { control: SumControl });
stream!("One per frame, not for tokens."
    OutcomeSource "OutcomeSource" OutcomeSink "OutcomeSink" { outcome: Outcome });
stream!("One per frame in the frame FIFO."
    StripSource "StripSource" StripSink "StripSink" { control: StripControl });

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::stages::parse::FRAME_META;

    #[test]
    fn frame_meta_is_the_table() {
        let TypeKind::Composite(fields) = FrameMeta::descriptor().kind else { panic!("a struct") };
        let mut lsb = 0;
        for (ours, row) in fields.iter().zip(FRAME_META.fields) {
            let width = match &ours.kind.kind {
                TypeKind::Bits(n) => *n,
                other => panic!("{}: {other:?}", row.name),
            };
            assert_eq!((ours.fieldname.as_str(), lsb, width), (row.name, row.lsb, row.width));
            lsb += width;
        }
        assert_eq!(fields.len(), FRAME_META.fields.len());
        assert_eq!(FrameMeta::BITS, FRAME_META.bits());
    }
}
