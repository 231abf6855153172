//! Everything that is generated from the one table in `groove-spec`: Markdown for the docs, JSON, C
//! header.
//!
//! Invariants: what is generated depends on the table alone, so that a check for staleness is a
//! comparison of text (`docs_are_fresh` in the cross-crate tests).

mod c_header;
mod fences;
mod json;
mod markdown;

pub use c_header::c_header;
pub use fences::{FenceError, Page, fill};
pub use json::json;
pub use markdown::{SECTIONS, section, show};

use groove_spec::{
    AloneReason, DropReason, EndReason, HashType, OpKind, OptionBit, PacketType, Profile,
    SymmetricMode, TokenKind, Verdict,
};

/// One coded enumeration.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Name of the enumeration.
    pub table: &'static str,
    /// Names by code.
    pub names: &'static [&'static str],
    /// Sentences by code.
    pub docs: &'static [&'static str],
}

macro_rules! names {
    ($($name:ident),*) => {
        &[$(Names { table: $name::TABLE, names: $name::NAMES, docs: $name::DOCS }),*]
    };
}

/// Every coded enumeration.
pub const NAMES: &[Names] = names!(
    Profile,
    OptionBit,
    OpKind,
    TokenKind,
    EndReason,
    AloneReason,
    DropReason,
    HashType,
    SymmetricMode,
    PacketType,
    Verdict
);
