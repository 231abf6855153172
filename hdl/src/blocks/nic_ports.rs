//! Records and ports between the blocks around the pipeline.
//!
//!   queues ─Config─► everybody       place ─Command─► mover ─Done─► complete
//!   prefetch ◄─Pop, Credit─ place    place ─Record─► complete ─CompletionWrite─► mover ─Done─► it
//!
//! Streams are valid/ready pairs: a record moves in a cycle with both high, and stays while it
//! waits. Events are one cycle with `valid` and cannot be held up.
//!
//! Invariants: the fields of [`Completion`] are those of `COMPLETION`, bit for bit
//! (`completion_is_the_table`); both ends of a pair have the same fields (the `join` of RustHDL
//! checks it). Not here: behaviour.

// Records and fields are explained where they are declared; the rest is written by RustHDL.
#![allow(missing_docs)]

use rust_hdl::prelude::*;

/// One write of the configuration bus, or one step of the sweep after reset.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct ConfigWrite {
    /// Tables zero their entry of `queue`; the sweep visits 0 to 31, one per cycle.
    pub clear: Bit,
    /// Register `index` of `queue` becomes `data`.
    pub write: Bit,
    /// Queue.
    pub queue: Bits<5>,
    /// Offset of the register in the queue's window, in words. 0 comes last: the queue starts.
    pub index: Bits<5>,
    /// Value, within its bounds.
    pub data: Bits<32>,
}

/// Configuration bus: driving end. No back-pressure.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "ConfigSink"]
pub struct ConfigSource {
    pub bus: Signal<Out, ConfigWrite>,
}

/// Configuration bus: listening end.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "ConfigSource"]
pub struct ConfigSink {
    pub bus: Signal<In, ConfigWrite>,
}

/// Where a command's bytes come from.
pub mod source {
    /// The header beside the command; `address` is a multiple of 64.
    pub const HEADER: u64 = 0;
    /// The next bytes of the payload frame.
    pub const PAYLOAD: u64 = 1;
    /// The bytes of the last command with `keep`, once more.
    pub const REPLAY: u64 = 2;
    /// The whole next payload frame, which nobody wants.
    pub const DISCARD: u64 = 3;
}

/// What the mover writes to host memory.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct PlaceCommand {
    /// One of [`source`].
    pub source: Bits<2>,
    /// IOVA of the first byte.
    pub address: Bits<64>,
    /// Bytes, at least 1; meaningless with DISCARD.
    pub bytes: Bits<17>,
    /// Queue.
    pub queue: Bits<5>,
    /// First command of a payload frame.
    pub first: Bit,
    /// Last command of a payload frame.
    pub last: Bit,
    /// A REPLAY of the same bytes, at most 256, follows.
    pub keep: Bit,
}

/// A record on its way to the completion ring, beside its body.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct CompletionRecord {
    /// No record: everything before it of `queue` has been handed over.
    pub marker: Bit,
    /// Queue.
    pub queue: Bits<5>,
    /// Data commands pushed before it: it waits for as many to be done. So wide that a record may
    /// wait for its slot while any number of later commands gets done.
    pub tag: Bits<32>,
    /// The buffer returns unseen: nothing is written.
    pub quiet: Bit,
}

/// What goes to the completion ring: `COMPLETION` of the table, field by field.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Completion {
    pub buf_id: Bits<16>,
    pub length: Bits<17>,
    pub hdr_len: Bits<9>,
    pub first: Bit,
    pub last: Bit,
    pub split: Bit,
    pub error: Bit,
    pub vlan_valid: Bit,
    pub vlan_tpid: Bit,
    pub vlan_tci: Bits<16>,
    pub hash: Bits<32>,
    pub hash_type: Bits<3>,
    pub packet_type: Bits<2>,
    pub protocol: Bits<16>,
    pub csum: Bits<2>,
    pub csum_level: Bits<2>,
    pub csum_start: Bits<8>,
    pub l3_verdict: Bits<2>,
    pub l4_verdict: Bits<2>,
    pub header_bytes: Bits<8>,
    pub total_len: Bits<17>,
    pub gso_size: Bits<16>,
    pub gso_segs: Bits<16>,
    pub gso_type: Bits<9>,
    pub encapsulation: Bit,
    pub end_reason: Bits<5>,
    pub alone_reason: Bits<3>,
    pub reserved: Bits<47>,
    pub generation: Bit,
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

/// Declares the two ends of an event.
macro_rules! event {
    ($doc:tt $source:ident $source_text:tt $sink:ident $sink_text:tt {
        $($field:ident : $ty:ty),*
    }) => {
        #[doc = $doc]
        #[derive(LogicInterface, Default, Clone, Debug)]
        #[join = $sink_text]
        pub struct $source {
            pub valid: Signal<Out, Bit>,
            $(pub $field: Signal<Out, $ty>,)*
        }

        #[doc = $doc]
        #[derive(LogicInterface, Default, Clone, Debug)]
        #[join = $source_text]
        pub struct $sink {
            pub valid: Signal<In, Bit>,
            $(pub $field: Signal<In, $ty>,)*
        }
    };
}

stream!("Commands of place to the mover; the header counts with HEADER, byte 0 lowest."
    CommandSource "CommandSource" CommandSink "CommandSink" {
        command: PlaceCommand, header: Bits<1024>
});
stream!("Records of place to complete; generation and error of `body` are still 0."
    RecordSource "RecordSource" RecordSink "RecordSink" {
        record: CompletionRecord, body: Completion
});
stream!("Completions to write, 32 bytes each, `address` a multiple of 32."
    CompletionWriteSource "CompletionWriteSource" CompletionWriteSink "CompletionWriteSink" {
        address: Bits<64>, data: Bits<256>, queue: Bits<5>
});
stream!("Take one prefetched buffer of `queue` and return it; `quiet`: without a completion."
    DrainSource "DrainSource" DrainSink "DrainSink" { queue: Bits<5>, quiet: Bit });
event!("Something became of one write to host memory. In the order of the writes."
    DoneSource "DoneSource" DoneSink "DoneSink" { queue: Bits<5>, error: Bit });
event!("Something happened to a queue."
    EventSource "EventSource" EventSink "EventSink" { queue: Bits<5> });
event!("The free ring's index of `queue` was written."
    DoorbellSource "DoorbellSource" DoorbellSink "DoorbellSink" {
        queue: Bits<5>, index: Bits<16>
});
event!("Buffers reserved for a frame less those that it took, in two's complement; -1 for a \
    drained one."
    CreditSource "CreditSource" CreditSink "CreditSink" { queue: Bits<5>, unused: Bits<4> });

/// Prefetched buffers: the end that takes them.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "PopSink"]
pub struct PopSource {
    /// Whose buffers.
    pub queue: Signal<Out, Bits<5>>,
    /// Shows the oldest of `queue` from the next cycle on.
    pub read: Signal<Out, Bit>,
    /// The oldest of `queue` is taken.
    pub take: Signal<Out, Bit>,
    /// Its number in the driver's pool.
    pub id: Signal<In, Bits<16>>,
    /// Its IOVA.
    pub iova: Signal<In, Bits<64>>,
}

/// Prefetched buffers: the end that has them.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "PopSource"]
pub struct PopSink {
    /// Whose buffers.
    pub queue: Signal<In, Bits<5>>,
    /// Shows the oldest of `queue` from the next cycle on.
    pub read: Signal<In, Bit>,
    /// The oldest of `queue` is taken.
    pub take: Signal<In, Bit>,
    /// Its number in the driver's pool.
    pub id: Signal<Out, Bits<16>>,
    /// Its IOVA.
    pub iova: Signal<Out, Bits<64>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::nic::COMPLETION;

    #[test]
    fn completion_is_the_table() {
        let TypeKind::Composite(fields) = Completion::descriptor().kind else { panic!("a struct") };
        let mut lsb = 0;
        for (ours, row) in fields.iter().zip(COMPLETION.fields) {
            let width = match &ours.kind.kind {
                TypeKind::Bits(n) => *n,
                other => panic!("{}: {other:?}", row.name),
            };
            assert_eq!((ours.fieldname.as_str(), lsb, width), (row.name, row.lsb, row.width));
            lsb += width;
        }
        assert_eq!(fields.len(), COMPLETION.fields.len());
        assert_eq!(Completion::BITS, COMPLETION.bits());
    }
}
