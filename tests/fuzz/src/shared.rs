//! Files of crates that need the hardware to be built, compiled here a second time: the coverage
//! build takes a minute without it, and many with it.
#![allow(dead_code, unused_imports)] // of each a part is used

/// Reader and writer of captures, as in `host/cli/src/capture.rs`.
#[path = "../../../host/cli/src/capture"]
pub mod captures {
    mod error;
    mod read;
    mod write;

    pub use error::Error;
    pub use read::Reader;
    pub use write::Writer;
}

/// What comes back of merged frames.
#[path = "../../src/inverse.rs"]
pub mod inverse;
