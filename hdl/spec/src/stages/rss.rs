//! Rows of `rss`.
use crate::{HASH_KEY_BYTES, INDIRECTION_ENTRIES, Layout, registers};

registers! { base 0x400, end 0x700;
    /// Hash types, order of the input, queue of frames without a hash.
    RSS_CONTROL @ 0x00 ReadWrite = 0x7e; {
        hash_types[0 +: 7] "Bit per code of HashType; bit 0 has no effect. A TCP or UDP frame whose own type is off falls back to its addresses.",
        symmetric[8 +: 2] "Code of SymmetricMode.",
        default_queue[16 +: 5] "Queue of frames without a hash.",
    }
    /// Hash key, first byte lowest in word 0.
    RSS_KEY @ 0x10 [HASH_KEY_BYTES / 4] ReadWrite = 0; { key[0 +: 32] "Four key bytes, the first one lowest." }
    /// Indirection table, one entry a word; an entry at or above the queue count steers to queue 0.
    RSS_INDIRECTION @ 0x100 [INDIRECTION_ENTRIES] ReadWrite = 0; { queue[0 +: 5] "Queue." }
}
/// No records.
pub const LAYOUTS: &[Layout] = &[];
