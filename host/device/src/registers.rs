//! The register window: what was written, and the configuration that it means.
//!
//! Follows: spec rows of the stages and of `nic`.
//! Invariants: a bit without a field reads as zero (`bits_without_a_field_read_as_zero`); reset
//! values mean the model's default configuration, but for the key
//! (`reset_values_mean_the_default`).
//! Not here: read-only registers, which are answered from state.

use std::collections::BTreeMap;

use groove_driver::identify::REGISTERS;
use groove_driver::{Device, Error};
use groove_model::{Config, Options, RssConfig};
use groove_spec::nic::{self, QUEUE_STRIDE, QUEUES_BASE, WINDOW_BYTES};
use groove_spec::stages::all_registers;
use groove_spec::stages::classify::{MAC_HIGH, MAC_LOW};
use groove_spec::stages::device::CONTROL;
use groove_spec::stages::ingress::MAX_FRAME;
use groove_spec::stages::rss::{RSS_CONTROL, RSS_INDIRECTION, RSS_KEY};
use groove_spec::{Access, OptionBit, Profile, Register, SymmetricMode};

/// The configuration of the model that a device's registers mean, whoever wrote them.
pub fn configuration(device: &dyn Device, queues: u8) -> Result<Config, Error> {
    let mut registers = Registers::new(queues.into());
    let offsets: Vec<usize> = registers.words.keys().copied().collect();
    for offset in offsets.into_iter().take_while(|offset| *offset < QUEUES_BASE) {
        registers.write(offset, device.read32(REGISTERS, offset as u64)?);
    }
    Ok(registers.config())
}

/// Where an offset leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The device's own window.
    Device,
    /// Offset within the window of a queue.
    Queue(usize, usize),
    /// Nothing is there: reads as zero.
    Nothing,
}

/// Value of a field in a word of its register.
pub fn field(register: &Register, name: &str, word: u32) -> u32 {
    let field = register.field(name);
    (word & field.mask()) >> field.lsb
}

/// Written values by offset, for registers that can be written.
#[derive(Debug)]
pub struct Registers {
    queues: usize,
    words: BTreeMap<usize, (u32, u32)>,
}

impl Registers {
    /// All at their reset values.
    pub fn new(queues: usize) -> Self {
        let mut words = BTreeMap::new();
        let mut add = |base: usize, register: &Register| {
            if register.access == Access::ReadWrite {
                for i in 0..register.count {
                    words.insert(base + 4 * i, (register.mask(), register.reset));
                }
            }
        };
        all_registers().for_each(|register| add(register.offset, register));
        for queue in 0..queues {
            nic::REGISTERS.iter().for_each(|r| add(nic::queue_offset(queue, r), r));
        }
        Self { queues, words }
    }

    /// Where an offset leads.
    pub fn target(&self, offset: usize) -> Target {
        if offset < QUEUES_BASE {
            return Target::Device;
        }
        let queue = (offset - QUEUES_BASE) / QUEUE_STRIDE;
        if offset >= WINDOW_BYTES || queue >= self.queues {
            return Target::Nothing;
        }
        Target::Queue(queue, (offset - QUEUES_BASE) % QUEUE_STRIDE)
    }

    /// What was written there; `None` if nothing can be.
    pub fn word(&self, offset: usize) -> Option<u32> {
        self.words.get(&offset).map(|(_, word)| *word)
    }

    /// Writes; a write to what is not there has no effect. `true`: it had one.
    pub fn write(&mut self, offset: usize, value: u32) -> bool {
        match self.words.get_mut(&offset) {
            Some((mask, word)) => {
                *word = value & *mask;
                true
            }
            None => false,
        }
    }

    /// A register of a queue.
    pub fn of_queue(&self, queue: usize, register: &Register) -> u32 {
        self.word(nic::queue_offset(queue, register)).unwrap_or(0)
    }

    /// Two halves of an address.
    pub fn address(&self, queue: usize, low: &Register, high: &Register) -> u64 {
        u64::from(self.of_queue(queue, high)) << 32 | u64::from(self.of_queue(queue, low))
    }

    fn get(&self, register: &Register) -> u32 {
        self.word(register.offset).unwrap_or(0)
    }

    /// The configuration that the registers mean. A code that no name has acts as the first.
    pub fn config(&self) -> Config {
        let control = self.get(&CONTROL);
        let mut options = Options::default();
        for option in OptionBit::ALL {
            options.set(*option, field(&CONTROL, option.name(), control) == 1);
        }
        // As in hardware, which has neither.
        options.tunnels = false;
        options.pppoe = false;
        let profile = u64::from(field(&CONTROL, "profile", control));
        let [a, b, c, d] = self.get(&MAC_LOW).to_le_bytes();
        let [e, f, ..] = self.get(&MAC_HIGH).to_le_bytes();
        Config {
            profile: Profile::from_code(profile).unwrap_or(Profile::Linux612),
            options,
            rss: self.rss(),
            queues: self.queues as u8,
            max_frame_bytes: self.get(&MAX_FRAME) as usize,
            station: [a, b, c, d, e, f],
            ..Config::default()
        }
    }

    fn rss(&self) -> RssConfig {
        let control = self.get(&RSS_CONTROL);
        let mut rss = RssConfig {
            hash_types: field(&RSS_CONTROL, "hash_types", control) as u8,
            symmetric: SymmetricMode::from_code(field(&RSS_CONTROL, "symmetric", control).into())
                .unwrap_or(SymmetricMode::Off),
            default_queue: field(&RSS_CONTROL, "default_queue", control) as u8,
            ..RssConfig::default()
        };
        let word = |register: &Register, i: usize| self.word(register.offset + 4 * i).unwrap_or(0);
        for (i, four) in rss.key.chunks_exact_mut(4).enumerate() {
            four.copy_from_slice(&word(&RSS_KEY, i).to_le_bytes());
        }
        for (i, queue) in rss.indirection.iter_mut().enumerate() {
            *queue = word(&RSS_INDIRECTION, i) as u8;
        }
        rss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_values_mean_the_default() {
        let rss = RssConfig { key: [0; 40], ..RssConfig::default() };
        let expected = Config { rss, queues: 5, ..Config::default() };
        assert_eq!(Registers::new(5).config(), expected);
    }

    #[test]
    fn bits_without_a_field_read_as_zero() {
        let mut registers = Registers::new(1);
        assert!(registers.write(CONTROL.offset, u32::MAX));
        assert_eq!(registers.word(CONTROL.offset), Some(CONTROL.mask()));
        assert!(!registers.write(0, 1), "SPEC_ID is read-only");
        assert!(!registers.write(CONTROL.offset + 4, 1), "nothing is there");
    }

    #[test]
    fn queues_that_were_not_built_are_not_there() {
        let registers = Registers::new(3);
        assert_eq!(registers.target(QUEUES_BASE + 2 * QUEUE_STRIDE + 8), Target::Queue(2, 8));
        assert_eq!(registers.target(QUEUES_BASE + 3 * QUEUE_STRIDE), Target::Nothing);
        assert_eq!(registers.target(QUEUES_BASE - 4), Target::Device);
    }
}
