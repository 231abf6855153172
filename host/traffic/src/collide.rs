//! Flows that a hash cannot tell apart.
//!
//! The Toeplitz hash is linear: hash(a ^ d) = hash(a) ^ hash(d). A change d of the input with
//! hash(d) = 0 is found by elimination over the key's 32-bit windows; xor it into the addresses and
//! ports of a flow and the hash stays. Other twins differ only where no hash looks: addresses of
//! the link, tags, flow label.
//!
//! Invariant: such a d hashes to zero (`a_silent_change_hashes_to_zero`).

use super::flow::{Flow, tag};
use super::packet::{Network, Transport};
use super::random::Rng;
use groove_model::RssConfig;

/// A change of the hash input (addresses, then ports) that leaves the Toeplitz hash as it is.
fn silent_change(rng: &mut Rng, key: &[u8; 40], bytes: usize) -> Vec<u8> {
    let bits = bytes * 8;
    let mut change = vec![0; bytes];
    // Basis of the windows seen: leading bit to (window, input bits that make it).
    let mut basis: Vec<Option<(u32, Vec<u8>)>> = vec![None; 32];
    for _ in 0..40 * bits {
        let bit = rng.below(bits);
        let mut window = key_window(key, bit);
        change.fill(0);
        change[bit / 8] ^= 0x80 >> (bit % 8);
        while window != 0 {
            let lead = 31 - window.leading_zeros() as usize;
            match &basis[lead] {
                Some((other, used)) => {
                    window ^= other;
                    change.iter_mut().zip(used).for_each(|(c, u)| *c ^= u);
                }
                None => {
                    basis[lead] = Some((window, change.clone()));
                    break;
                }
            }
        }
        if window == 0 && change.iter().any(|b| *b != 0) {
            return change;
        }
    }
    change.fill(0);
    change
}

/// The 32 key bits that input bit `bit` selects.
fn key_window(key: &[u8; 40], bit: usize) -> u32 {
    (0..32).fold(0, |window, i| {
        let at = bit + i;
        window << 1 | u32::from(key[at / 8] >> (7 - at % 8) & 1)
    })
}

/// A flow that differs from this one, and hashes like it in most configurations.
pub fn twin(rng: &mut Rng, flow: &Flow, rss: &RssConfig) -> Flow {
    let mut twin = flow.clone();
    match rng.below(9) {
        0 => match twin.next.tags.last_mut() {
            Some(last) => last.tci ^= 1 << rng.below(12),
            None => twin.next.tags.push(tag(rng)),
        },
        1 => twin.next.from[rng.below(6)] ^= 4,
        2 => {
            // The same 16-bit fold as well: two words of the link addresses change alike.
            let change = rng.draw() as u16 | 1;
            let at = 2 * rng.below(2);
            for base in [at, at + 2] {
                let word = [twin.next.from[base], twin.next.from[base + 1]];
                let word = (u16::from_be_bytes(word) ^ change).to_be_bytes();
                twin.next.from[base..base + 2].copy_from_slice(&word);
            }
        }
        3 => {
            if let Network::V6(v6) = &mut twin.next.network {
                v6.label ^= 1 << rng.below(20);
            } else {
                twin.next.tags.push(tag(rng));
            }
        }
        4 => swap_ends(&mut twin),
        5 => xor_both_ends(rng, &mut twin),
        6 => twin.tcp().source ^= 1 << rng.below(16),
        _ => {
            let bytes = if matches!(twin.next.network, Network::V4(_)) { 12 } else { 36 };
            let change = silent_change(rng, &rss.key, bytes);
            xor_input(&mut twin, &change);
        }
    }
    twin
}

/// Source and destination the other way round: equal in symmetric modes.
fn swap_ends(flow: &mut Flow) {
    match &mut flow.next.network {
        Network::V4(v4) => std::mem::swap(&mut v4.source, &mut v4.destination),
        Network::V6(v6) => std::mem::swap(&mut v6.source, &mut v6.destination),
    }
    let tcp = flow.tcp();
    std::mem::swap(&mut tcp.source, &mut tcp.destination);
}

/// The same change on both ends: cancels in the xor mode.
fn xor_both_ends(rng: &mut Rng, flow: &mut Flow) {
    let bit = 1 << rng.below(8);
    match &mut flow.next.network {
        Network::V4(v4) => {
            v4.source[3] ^= bit;
            v4.destination[3] ^= bit;
        }
        Network::V6(v6) => {
            v6.source[15] ^= bit;
            v6.destination[15] ^= bit;
        }
    }
}

fn xor_input(flow: &mut Flow, change: &[u8]) {
    let xor = |to: &mut [u8], from: &[u8]| to.iter_mut().zip(from).for_each(|(t, f)| *t ^= f);
    let ports = match &mut flow.next.network {
        Network::V4(v4) => {
            xor(&mut v4.source, &change[..4]);
            xor(&mut v4.destination, &change[4..8]);
            &change[8..]
        }
        Network::V6(v6) => {
            xor(&mut v6.source, &change[..16]);
            xor(&mut v6.destination, &change[16..32]);
            &change[32..]
        }
    };
    if let Transport::Tcp(tcp) = &mut flow.next.transport {
        tcp.source ^= u16::from_be_bytes([ports[0], ports[1]]);
        tcp.destination ^= u16::from_be_bytes([ports[2], ports[3]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_change_hashes_to_zero() {
        let mut rng = Rng::new(11);
        for bytes in [12, 36] {
            for _ in 0..20 {
                let key = rng.bytes();
                let change = silent_change(&mut rng, &key, bytes);
                assert!(change.iter().any(|b| *b != 0));
                let hash = (0..8 * bytes)
                    .filter(|bit| change[bit / 8] & (0x80 >> (bit % 8)) != 0)
                    .fold(0, |hash, bit| hash ^ key_window(&key, bit));
                assert_eq!(hash, 0);
            }
        }
    }
}
