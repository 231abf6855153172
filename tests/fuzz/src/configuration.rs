//! Decodes a configuration of the receive path from a few bytes: every profile, option and size.

use groove_model::{Config, RssConfig};
use groove_spec::{OptionBit, Profile, SymmetricMode};

use crate::input::Input;

/// From 5 bytes: profile, options, sizes, hash, header bound.
pub fn decode(input: &mut Input) -> Config {
    let mut config = Config { profile: input.pick(Profile::ALL), ..Config::default() };
    let bits = input.byte();
    for option in OptionBit::ALL {
        config.options.set(*option, bits >> option.code() & 1 == 1);
    }
    let sizes = input.byte();
    config.queues = [1, 1, 2, 32][usize::from(sizes & 3)];
    config.buckets = [8, 1, 64, 2][usize::from(sizes >> 2 & 3)];
    config.depth = [8, 1, 2, 16][usize::from(sizes >> 4 & 3)];
    config.max_frame_bytes = [9216, 1514, 9216, 64][usize::from(sizes >> 6)];
    config.rss = RssConfig::spread(config.queues);
    let hash = input.byte();
    config.rss.symmetric = SymmetricMode::ALL[usize::from(hash >> 6) % SymmetricMode::ALL.len()];
    // All types, unless the input has its own: without a hash all flows meet in one bucket.
    config.rss.hash_types = if hash & 1 == 0 { 0x7e } else { hash << 1 & 0x7e };
    config.rss.default_queue = hash & 0x1f;
    let header = input.byte();
    config.max_header_bytes = match header & 3 {
        0 | 1 => Some(128),
        2 => Some(64 + usize::from(header >> 2)),
        _ => None,
    };
    config
}
