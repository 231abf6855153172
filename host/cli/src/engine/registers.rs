//! The configuration as the hardware takes it: register writes.
//!
//! Invariant: every register that the host may write is written
//! (`every_writable_register_is_in_the_image`).

use groove_model::Config;
use groove_spec::Register;
use groove_spec::stages::{classify, device, ingress, rss};

/// Address and value of every register that a configuration decides, in ascending order.
pub fn image(config: &Config) -> Vec<(u32, u32)> {
    let mut writes = Vec::new();
    let mut write = |register: &Register, index: usize, value: u32| {
        writes.push(((register.offset + 4 * index) as u32, value & register.mask()));
    };
    write(&device::CONTROL, 0, config.control_word());
    let most = ingress::MAX_FRAME.mask() as usize;
    write(&ingress::MAX_FRAME, 0, config.max_frame_bytes.min(most) as u32);
    let [a, b, c, d, e, f] = config.station;
    write(&classify::MAC_LOW, 0, u32::from_le_bytes([a, b, c, d]));
    write(&classify::MAC_HIGH, 0, u32::from_le_bytes([e, f, 0, 0]));
    let field = |name: &str, value: u8| u32::from(value) << rss::RSS_CONTROL.field(name).lsb;
    let control = field("hash_types", config.rss.hash_types)
        | field("symmetric", config.rss.symmetric.code())
        | field("default_queue", config.rss.default_queue);
    write(&rss::RSS_CONTROL, 0, control);
    let (words, _) = config.rss.key.as_chunks::<4>();
    for (index, word) in words.iter().enumerate() {
        write(&rss::RSS_KEY, index, u32::from_le_bytes(*word));
    }
    for (index, queue) in config.rss.indirection.iter().enumerate() {
        write(&rss::RSS_INDIRECTION, index, u32::from(*queue));
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::Access;
    use groove_spec::stages::all_registers;

    #[test]
    fn every_writable_register_is_in_the_image() {
        let image = image(&Config::default());
        let writable = all_registers().filter(|r| r.access == Access::ReadWrite);
        let expected: Vec<u32> =
            writable.flat_map(|r| (0..r.count).map(|i| (r.offset + 4 * i) as u32)).collect();
        assert_eq!(image.iter().map(|(a, _)| *a).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn key_and_address_keep_their_byte_order() {
        let config = Config { station: [1, 2, 3, 4, 5, 6], ..Config::default() };
        let image = image(&config);
        let read = |r: &Register, i: usize| {
            image.iter().find(|(a, _)| *a as usize == r.offset + 4 * i).map(|(_, v)| *v)
        };
        assert_eq!(read(&rss::RSS_KEY, 0), Some(0xda56_5a6d));
        assert_eq!(read(&classify::MAC_LOW, 0), Some(0x0403_0201));
        assert_eq!(read(&classify::MAC_HIGH, 0), Some(0x0605));
        assert_eq!(read(&device::CONTROL, 0), Some(device::CONTROL.reset));
    }
}
