//! The one table: every number that Groove's hardware and software share is typed here, once.
//!
//!   stages/*.rs rows ──► RTL constants and register file, model, driver, C header, docs tables
//!
//! Invariants: no two registers overlap and every field lies inside its register (`const` checks
//! below, and `layouts_do_not_overlap`); `SPEC_ID` changes when any row changes
//! (`spec_id_covers_every_row`).
//! Not here: behaviour. Rows and plain data only.

mod delivery;
pub mod inline;
mod layout;
pub mod names;
pub mod nic;
mod register;
pub mod stages;

pub use delivery::{CsumState, Delivery, Tag};
pub use layout::{Field, Layout};
pub use names::{
    AloneReason, DropReason, EndReason, HashType, OpKind, OptionBit, PacketType, Profile,
    SymmetricMode, TokenKind, Verdict,
};
pub use register::{Access, Register, RegisterField};
pub use stages::{REGISTERS_END, STAGES, Stage, StageSpec, register};

/// Longest header, in bytes, that the hardware parses, keeps and strips.
pub const MAX_HEADER_BYTES: usize = 128;
/// Reset value and upper bound of `MAX_FRAME.max_frame_bytes`.
pub const MAX_FRAME_BYTES: usize = 9216;
/// Shortest frame that is not a runt: one Ethernet header.
pub const MIN_FRAME_BYTES: usize = 14;
/// Most receive queues.
pub const QUEUES_MAX: usize = 32;
/// Buckets of held sessions per queue (`GRO_HASH_BUCKETS`).
pub const BUCKETS: usize = 8;
/// Held sessions per bucket (`MAX_GRO_SKBS`).
pub const BUCKET_DEPTH: usize = 8;
/// Largest merged frame behind the 14-byte MAC header (`gro_max_size` - 1).
pub const MERGED_BYTES_MAX: usize = 65535;
/// Entries of the RSS indirection table.
pub const INDIRECTION_ENTRIES: usize = 128;
/// Bytes of the RSS key.
pub const HASH_KEY_BYTES: usize = 40;
/// The RSS key of the published verification suite; the model's and the command line's default.
pub const HASH_KEY_DEFAULT: [u8; HASH_KEY_BYTES] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];
/// Bus widths in bits for which the hardware is built.
pub const WIDTHS: [usize; 4] = [64, 128, 256, 512];
/// Offset of the TCP checksum in its header: `csum_offset` of every merged delivery.
pub const TCP_CSUM_OFFSET_BYTES: usize = 16;

/// Hash of the whole table (FNV-1a over every row), read by the driver from the `SPEC_ID` register.
pub const SPEC_ID: u32 = stages::spec_id();
