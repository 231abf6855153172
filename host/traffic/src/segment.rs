//! What stays the same for a stretch of traffic: the configuration of the hardware, and the kind of
//! load.

use super::random::Rng;
use groove_model::{Config, Options, RssConfig};
use groove_spec::{HASH_KEY_DEFAULT, MAX_FRAME_BYTES, Profile, SymmetricMode};

/// Addresses that frames are sent to; the first is this station's in half of the configurations.
pub const STATIONS: [[u8; 6]; 3] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 7], [1, 0, 0x5e, 0, 0, 5]];

/// Who runs the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Model and hardware: tunnels and PPPoE off.
    Hardware,
    /// The model alone: everything.
    Model,
}

/// Kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Some flows in bursts: long merges, every change to a field.
    Trains,
    /// Thousands of flows, a frame or two each: evictions.
    Many,
    /// Flows that share their hash.
    Twins,
    /// Mostly frames that never merge.
    Odd,
}

/// A configuration drawn from everything that the registers can hold.
pub fn config(rng: &mut Rng, queues: u8, scope: Scope) -> Config {
    let in_model = |rng: &mut Rng| scope == Scope::Model && rng.chance(500);
    let options = Options {
        rxcsum: rng.chance(500),
        vlan_strip: rng.chance(500),
        vlan_gro: rng.chance(700),
        tunnels: in_model(rng),
        pppoe: in_model(rng),
        trim_pad: rng.chance(250),
        strict_order: rng.chance(250),
    };
    Config {
        profile: rng.pick(&[
            Profile::Linux73,
            Profile::Linux73,
            Profile::Linux618,
            Profile::Linux612,
        ]),
        options,
        rss: rss(rng, queues),
        queues,
        max_frame_bytes: match rng.weighted(&[60, 10, 20, 10]) {
            0 => MAX_FRAME_BYTES,
            1 => rng.range(MAX_FRAME_BYTES + 1, 16383),
            2 => rng.pick(&[1514, 1518, 1522]),
            _ => rng.range(300, 2000),
        },
        station: if rng.chance(500) { STATIONS[0] } else { rng.bytes() },
        ..Config::default()
    }
}

fn rss(rng: &mut Rng, queues: u8) -> RssConfig {
    let mut rss = RssConfig::spread(queues);
    rss.key = match rng.weighted(&[50, 45, 5]) {
        0 => HASH_KEY_DEFAULT,
        1 => rng.bytes(),
        _ => [0; 40],
    };
    if rng.chance(400) {
        rss.hash_types = rng.draw() as u8 & 0x7f;
    }
    rss.symmetric = rng.pick(&[
        SymmetricMode::Off,
        SymmetricMode::Off,
        SymmetricMode::Xor,
        SymmetricMode::OrXor,
    ]);
    if rng.chance(400) {
        rng.fill(&mut rss.indirection);
        // Entries at or above the queue count must act as 0.
        let below = rng.pick(&[32, usize::from(queues)]);
        rss.indirection.iter_mut().for_each(|q| *q = (usize::from(*q) % below) as u8);
    }
    rss.default_queue = rng.below(32) as u8;
    rss
}

/// A kind of load.
pub fn load(rng: &mut Rng) -> Load {
    [Load::Trains, Load::Many, Load::Twins, Load::Odd][rng.weighted(&[60, 15, 15, 10])]
}
