//! Atomics of the concurrent parts, by a name of this crate: `driver/tests/models.rs` compiles the
//! same files with those of a model checker behind it.

pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
