//! rss: hashes the addresses and ports and picks a queue.
//!
//! Follows: Microsoft "RSS hashing functions" and its verification suite; kernel
//! `Documentation/networking/ scaling.rst` (7.3) for the symmetric orders.
//!
//! Decisions, the same in hardware:
//! - TCP and UDP with their own type enabled: addresses and ports. Else, with the type of the IP
//!   version enabled: addresses. Else no hash: 0. So fragments and other protocols hash on
//!   addresses (B39).
//! - IPv6 whose version nibble is not 6 gets no hash.
//! - Tags are not part of the input (B43); ports lie behind IPv4 options and walked IPv6 headers.
//! - A hash goes by the indirection table, no hash to the default queue (B42); a queue that does
//!   not exist is 0.
//!
//! Invariants: the published vectors (test: `hash_equals_the_verification_suite`); symmetric orders
//! give both directions one hash (test: `symmetric_orders_hash_both_directions_alike`).

use groove_spec::{HashType, SymmetricMode};

use super::parse::{L3Kind, L4Kind, Parsed};
use crate::RssConfig;

/// Hash, what it covers, and the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// Hash, 0 if none.
    pub hash: u32,
    /// What it covers.
    pub hash_type: HashType,
    /// Receive queue.
    pub queue: u8,
}

/// Hash and queue of `frame`, whose headers are where `parsed` says.
pub fn run(rss: &RssConfig, queues: u8, frame: &[u8], parsed: &Parsed) -> Steering {
    let hash_type = hash_type(rss.hash_types, frame, parsed);
    let hash = toeplitz(&rss.key, &input(rss.symmetric, hash_type, frame, parsed));
    Steering { hash, hash_type, queue: queue(rss, queues, hash, hash_type) }
}

/// Queue of a hash.
pub fn queue(rss: &RssConfig, queues: u8, hash: u32, hash_type: HashType) -> u8 {
    let queue = match hash_type {
        HashType::None => rss.default_queue,
        _ => rss.indirection[(hash & 127) as usize],
    };
    if queue < queues { queue } else { 0 }
}

/// The narrowest enabled type that fits the frame.
fn hash_type(enabled: u8, frame: &[u8], parsed: &Parsed) -> HashType {
    let (addresses, tcp, udp) = match parsed.l3_kind {
        L3Kind::Ipv4 => (HashType::Ipv4, HashType::Ipv4Tcp, HashType::Ipv4Udp),
        L3Kind::Ipv6 if frame[parsed.l3_off] >> 4 == 6 => {
            (HashType::Ipv6, HashType::Ipv6Tcp, HashType::Ipv6Udp)
        }
        _ => return HashType::None,
    };
    let on = |kind: HashType| enabled >> kind.code() & 1 != 0;
    match parsed.l4_kind {
        L4Kind::Tcp if on(tcp) => tcp,
        L4Kind::Udp if on(udp) => udp,
        _ if on(addresses) => addresses,
        _ => HashType::None,
    }
}

/// Hash input: source, destination, source port, destination port, or their symmetric mixture.
fn input(mode: SymmetricMode, kind: HashType, frame: &[u8], parsed: &Parsed) -> Vec<u8> {
    let (at, bytes) = match kind {
        HashType::None => return Vec::new(),
        HashType::Ipv4 | HashType::Ipv4Tcp | HashType::Ipv4Udp => (parsed.l3_off + 12, 4),
        HashType::Ipv6 | HashType::Ipv6Tcp | HashType::Ipv6Udp => (parsed.l3_off + 8, 16),
    };
    let mut input = mix(mode, &frame[at..at + bytes], &frame[at + bytes..at + 2 * bytes]);
    if !matches!(kind, HashType::Ipv4 | HashType::Ipv6) {
        let ports = &frame[parsed.l4_off..parsed.l4_off + 4];
        input.extend(mix(mode, &ports[..2], &ports[2..]));
    }
    input
}

/// One pair of fields, in the order of the mode.
fn mix(mode: SymmetricMode, source: &[u8], destination: &[u8]) -> Vec<u8> {
    let both = |f: fn(u8, u8) -> u8| source.iter().zip(destination).map(move |(s, d)| f(*s, *d));
    match mode {
        SymmetricMode::Off => [source, destination].concat(),
        SymmetricMode::Xor => both(|s, d| s ^ d).chain(both(|s, d| s ^ d)).collect(),
        SymmetricMode::OrXor => both(|s, d| s | d).chain(both(|s, d| s ^ d)).collect(),
    }
}

/// XOR of the 32 key bits from bit i on, over the set bits i of the input, most significant first.
pub fn toeplitz(key: &[u8; 40], input: &[u8]) -> u32 {
    let key_bit = |i: usize| u32::from(key[i / 8 % 40] >> (7 - i % 8) & 1);
    let mut window = (0..32).fold(0, |w, i| w << 1 | key_bit(i));
    let mut hash = 0;
    for i in 0..8 * input.len() {
        if input[i / 8] >> (7 - i % 8) & 1 != 0 {
            hash ^= window;
        }
        window = window << 1 | key_bit(i + 32);
    }
    hash
}

#[cfg(test)]
#[path = "rss_tests.rs"]
mod tests;
