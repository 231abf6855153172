//! What comes from the wire in the examples: one TCP transfer over IPv4, right sums and all.

use groove_device::ModelDevice;
use groove_driver::Error;
use groove_spec::TokenKind;

/// Payload of a segment.
const PAYLOAD: usize = 1448;

/// Sends so many segments to the device, and ends the poll, which closes what is merged.
pub fn send(device: &ModelDevice, segments: u32) -> Result<(), Error> {
    for number in 0..segments {
        device.inject(&segment(number * PAYLOAD as u32), false)?;
    }
    device.token(0, TokenKind::FlushAll)
}

/// A segment: Ethernet, IPv4 without fragments, TCP with ACK alone.
fn segment(sequence: u32) -> Vec<u8> {
    let mut ip = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let mut tcp =
        vec![0x04, 0xd2, 0x01, 0xbb, 0, 0, 0, 0, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0];
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    tcp.resize(20 + PAYLOAD, 0x55);
    ip[2..4].copy_from_slice(&(20 + tcp.len() as u16).to_be_bytes());
    let check = !sum(&ip, 0);
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    // The sum over TCP begins with addresses, protocol and length.
    let check = !sum(&tcp, 6 + tcp.len() as u32 + u32::from(sum(&ip[12..], 0)));
    tcp[16..18].copy_from_slice(&check.to_be_bytes());
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], &ip[..], &tcp].concat()
}

/// RFC 1071, folded, not inverted.
fn sum(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.as_chunks::<2>().0.iter();
    let sum = words.fold(start, |sum, word| sum + u32::from(u16::from_be_bytes(*word)));
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}
