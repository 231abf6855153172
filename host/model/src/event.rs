//! What goes into the model and what comes out of it.

use groove_spec::{AloneReason, Delivery, DropReason, EndReason, Tag};

/// Checksum state forced from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GivenCsum {
    /// Nothing was verified.
    #[default]
    None,
    /// One checksum was verified.
    Unnecessary,
    /// Transmit-side state: the checksum is still to be filled in.
    Partial {
        /// Where the sum starts, from frame byte 0.
        start: u16,
        /// Position of the checksum field from `start`.
        offset: u16,
    },
}

/// Receive metadata forced from outside, as a recorded kernel run needs it. With it, the frame's
/// bytes are those handed to GRO: nothing is stripped from them, and no verdict is given beyond
/// `csum`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Receive hash; `None` computes it.
    pub hash: Option<u32>,
    /// Checksum state.
    pub csum: GivenCsum,
    /// Tag that was stripped already.
    pub vlan: Option<Tag>,
}

/// One input frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// From the destination address on, without FCS.
    pub bytes: &'a [u8],
    /// The MAC marked the FCS as bad.
    pub bad_fcs: bool,
    /// Forced metadata.
    pub given: Option<&'a Given>,
}

impl<'a> Frame<'a> {
    /// A good frame as it comes from the wire.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, bad_fcs: false, given: None }
    }
}

/// One output of the model, in order of completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A delivery.
    Delivery(Delivery),
    /// A frame that is not delivered.
    Drop {
        /// Its number.
        frame: u32,
        /// Why.
        reason: DropReason,
    },
}

/// Counters of everything that happened; arrays are indexed by the code of their reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames received, drops included.
    pub frames: u64,
    /// Drops by reason.
    pub drops: [u64; DropReason::ALL.len()],
    /// Deliveries.
    pub deliveries: u64,
    /// Frames in those deliveries.
    pub delivered_frames: u64,
    /// Ended sessions by reason.
    pub ends: [u64; EndReason::ALL.len()],
    /// Frames delivered alone by reason.
    pub alones: [u64; AloneReason::ALL.len()],
    /// Sessions closed with more than one segment (kernel name `rx-hw-gro-packets`).
    pub gro_packets: u64,
    /// Bytes of those, as delivered (kernel name `rx-hw-gro-bytes`).
    pub gro_bytes: u64,
    /// Frames in those (kernel name `rx-hw-gro-wire-packets`).
    pub gro_wire_packets: u64,
    /// Bytes of those frames on the wire, as delivered each (kernel name `rx-hw-gro-wire-bytes`).
    pub gro_wire_bytes: u64,
    /// Sessions closed because their bucket was full.
    pub evictions: u64,
    /// A frame met a held session with an equal hash and another flow.
    pub equal_hash_meetings: u64,
    /// Merged deliveries of exactly 65,535 bytes behind the MAC header.
    pub full_aggregates: u64,
    /// Sessions held now.
    pub held: u64,
    /// Frames in the sessions held now.
    pub held_frames: u64,
}

impl Stats {
    /// Frames in equal frames delivered, frames dropped and frames held.
    pub fn conserved(&self) -> bool {
        self.frames == self.delivered_frames + self.drops.iter().sum::<u64>() + self.held_frames
    }
}
