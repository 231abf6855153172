//! What goes in and what comes out: frames with receive metadata, and deliveries.

/// Checksum state that a frame is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GivenCsum {
    /// Nothing was verified.
    #[default]
    None,
    /// The receiver verified it, one level.
    Unnecessary,
    /// Transmit-side state: where the sum starts, and its field from there.
    Partial {
        /// From frame byte 0.
        start: u16,
        /// From `start`.
        offset: u16,
    },
}

/// One frame of a burst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// From the destination address on, without FCS; a stripped tag is not in it.
    pub bytes: Vec<u8>,
    /// Receive hash.
    pub hash: u32,
    /// Checksum state.
    pub csum: GivenCsum,
    /// Stripped tag: TPID and TCI.
    pub tag: Option<(u16, u16)>,
    /// The poll ends before this frame: everything held is flushed.
    pub gap: bool,
}

/// Checksum state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Csum {
    /// Not verified.
    None,
    /// Verified.
    Unnecessary {
        /// Verified levels minus one.
        level: u8,
    },
    /// A sum over everything is known.
    Complete,
    /// To be finished by whoever sends it.
    Partial {
        /// Position of the transport header from the MAC header.
        start: u16,
        /// Offset of the field.
        offset: u16,
    },
}

/// One delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Numbers of the frames in it, the first one first.
    pub frames: Vec<usize>,
    /// From the destination address on, as the kernel handed it up: an outermost tag is out of
    /// band.
    pub bytes: Vec<u8>,
    /// Payload of the first segment; 0 unless merged.
    pub gso_size: u16,
    /// Segments; 0 unless merged.
    pub gso_segs: u16,
    /// Names of the set bits, without `SKB_GSO_`.
    pub gso_type: Vec<String>,
    /// Checksum state.
    pub csum: Csum,
    /// Marked as a tunnel packet.
    pub encapsulation: bool,
    /// Receive hash.
    pub hash: u32,
    /// Tag out of band: TPID and TCI.
    pub tag: Option<(u16, u16)>,
}
