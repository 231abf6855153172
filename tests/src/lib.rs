//! What the cross-crate suites share.

pub mod coverage;
pub mod differential;
pub use groove_traffic as generate;
pub use groove_traffic::frames;
pub mod inline;
pub mod inverse;
pub mod mutation;
pub mod stream;
pub mod sweep;
pub mod vectors;
