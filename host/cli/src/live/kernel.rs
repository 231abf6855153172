//! Deliveries into the kernel, as a driver of a card hands over what the card merged.
//!
//!   delivery ──► tag back in its place ──► virtio_net_hdr, moved by the tag ──► TAP ──► kernel
//!
//! Follows: virtio 1.2 §5.1.6.
//! Invariants: every delivery is taken, lost at an interface that is down, or without words in the
//! header, and is counted once (`each_delivery_is_counted_once`); programs read the bytes that were
//! sent (`the_kernel_takes_what_was_merged`).
//! Not here: the interface (`groove_serve::TapOutput`); the other direction.

use std::io;

use groove_driver::{Delivery, VirtioNetHdr, virtio_net_hdr};
use groove_serve::{NET_HEADER_BYTES, TapOutput};
use serde::Serialize;

use crate::capture::with_tag;

/// The kernel does not take a delivery.
#[derive(Debug, thiserror::Error)]
#[error("the TAP interface {name} takes nothing any more")]
pub struct KernelError {
    /// Name of the interface.
    pub name: String,
    /// Why.
    pub source: io::Error,
}

/// What became of the deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Given {
    /// Name of the interface.
    pub name: String,
    /// Deliveries that the kernel took.
    pub taken: u64,
    /// Of these, such of more than one frame.
    pub merged: u64,
    /// Deliveries that came while the interface was down.
    pub lost: u64,
    /// Deliveries that a `virtio_net_hdr` has no words for, as merged tunnels.
    pub without_words: u64,
}

/// Where deliveries go: an interface, or a test's list.
pub trait Taker {
    /// Hands over a header and a frame. `false`: nobody is there.
    fn take(&mut self, header: &[u8; NET_HEADER_BYTES], frame: &[u8]) -> io::Result<bool>;
}

impl Taker for TapOutput {
    fn take(&mut self, header: &[u8; NET_HEADER_BYTES], frame: &[u8]) -> io::Result<bool> {
        self.send(header, frame)
    }
}

/// Hands over deliveries, and counts.
#[derive(Debug)]
pub struct Kernel<T> {
    taker: T,
    given: Given,
}

impl<T: Taker> Kernel<T> {
    /// Through an interface of that name.
    pub fn new(name: &str, taker: T) -> Self {
        Self { taker, given: Given { name: name.into(), ..Given::default() } }
    }

    /// What became of the deliveries.
    pub fn given(&self) -> Given {
        self.given.clone()
    }

    /// Hands over one.
    ///
    /// # Errors
    /// If the kernel refuses it, or the interface is gone.
    pub fn give(&mut self, delivery: &Delivery) -> Result<(), KernelError> {
        let Some(header) = virtio_net_hdr(&delivery.metadata()) else {
            self.given.without_words += 1;
            return Ok(());
        };
        let delivery = delivery.to_spec();
        let bytes = with_tag(&delivery);
        let header = moved(header, bytes.len() - delivery.bytes.len());
        match self.taker.take(&header.to_bytes(), &bytes) {
            Ok(true) => {
                self.given.taken += 1;
                self.given.merged += u64::from(header.gso_size > 0);
            }
            Ok(false) => self.given.lost += 1,
            Err(source) => return Err(KernelError { name: self.given.name.clone(), source }),
        }
        Ok(())
    }
}

/// The header of a frame that has so many bytes more in front of its network header.
fn moved(header: VirtioNetHdr, bytes: usize) -> VirtioNetHdr {
    let move_if = |position: u16| if position == 0 { 0 } else { position + bytes as u16 };
    VirtioNetHdr {
        hdr_len: move_if(header.hdr_len),
        csum_start: move_if(header.csum_start),
        ..header
    }
}

/// For people.
pub fn line(given: &Given) -> String {
    let Given { name, taken, merged, lost, without_words } = given;
    format!(
        "\n{name}: the kernel took {taken} deliveries, {merged} of them merged; {lost} came while \
         it was down, {without_words} have no words in virtio_net_hdr\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_moves_the_header() {
        let header = VirtioNetHdr { hdr_len: 66, csum_start: 34, csum_offset: 16, ..NONE };
        let tagged = moved(header, 4);
        assert_eq!((tagged.hdr_len, tagged.csum_start, tagged.csum_offset), (70, 38, 16));
        assert_eq!(moved(NONE, 4), NONE);
    }

    const NONE: VirtioNetHdr = VirtioNetHdr {
        flags: 0,
        gso_type: 0,
        hdr_len: 0,
        gso_size: 0,
        csum_start: 0,
        csum_offset: 0,
    };
}
