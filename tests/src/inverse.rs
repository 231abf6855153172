//! GSO(GRO(x)) == x: every merged delivery, cut again, gives the frames that went in.
//!
//! Exceptions, each told from a fault by what it changes and nothing else: an urgent pointer
//! without URG (the first frame's is kept), a checksum of 0xffff where 0 is computed. Tunnels have
//! exceptions of their own (`tests/gso.rs`) and are left out.

use groove_model::Config;
use groove_spec::Delivery;

/// What a check found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inverse {
    /// Merged deliveries cut.
    pub merged: u64,
    /// Frames equal to the byte.
    pub exact: u64,
    /// Frames equal but for a named exception.
    pub excepted: u64,
}

impl Inverse {
    /// Checks one delivery; `frame` gives an input frame by number.
    pub fn check<'a>(
        &mut self,
        config: &Config,
        delivery: &Delivery,
        frame: impl Fn(u32) -> &'a [u8],
    ) -> Result<(), String> {
        if delivery.gso_segs == 0 || delivery.encapsulation {
            return Ok(());
        }
        let pieces = groove_model::gso::segment_as(config.profile, delivery)
            .map_err(|e| format!("{e}: frames {:?}", delivery.frames))?;
        if pieces.len() != delivery.frames.len() {
            return Err(format!("{} segments of frames {:?}", pieces.len(), delivery.frames));
        }
        self.merged += 1;
        for (piece, &number) in pieces.iter().zip(&delivery.frames) {
            let mut original = frame(number).to_vec();
            if delivery.vlan.is_some() {
                original.drain(12..16);
            }
            if config.options.trim_pad {
                original.truncate(piece.len());
            }
            if *piece == original {
                self.exact += 1;
            } else if excepted(piece, &original, usize::from(delivery.csum_start)) {
                self.excepted += 1;
            } else {
                let at = piece.iter().zip(&original).position(|(a, b)| a != b);
                return Err(format!("frame {number} does not come back: byte {at:?}"));
            }
        }
        Ok(())
    }
}

/// Whether two frames with TCP at `tcp` differ by a named exception alone.
fn excepted(piece: &[u8], original: &[u8], tcp: usize) -> bool {
    if piece.len() != original.len() || original.len() < tcp + 20 {
        return false;
    }
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let mut expected = piece.to_vec();
    let mut take = |at: usize| expected[at..at + 2].copy_from_slice(&original[at..at + 2]);
    let urgent =
        word(piece, tcp + 18) != word(original, tcp + 18) && original[tcp + 13] & 0x20 == 0;
    let negative_zero = |at| word(original, at) == 0xffff && word(piece, at) == 0;
    if urgent {
        take(tcp + 18);
    }
    if urgent || negative_zero(tcp + 16) {
        take(tcp + 16);
    }
    // IPv4 without options is the 20 bytes in front of TCP; an IPv6 address may look like it, and
    // be equal.
    if tcp >= 34 && piece[tcp - 20] == 0x45 && negative_zero(tcp - 10) {
        take(tcp - 10);
    }
    expected == original
}
