//! Captures: pcap and pcapng in as a stream, deliveries out as pcapng.

mod error;
mod read;
mod write;

pub use error::Error;
pub use read::{Frame, Reader};
pub use write::{Writer, comment, gso_names, with_tag};
