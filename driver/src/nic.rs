//! Set-up: from a device to running queues.
//!
//!   identify ──► reset ──► profile, options, RSS ──► memory, vectors ──► one RxQueue each
//!
//! Follows: spec rows of `device`, `ingress`, `classify`, `rss`, `nic`.
//! Invariants: settings that the table or the device rules out are refused by name before anything
//! is written (`impossible_settings_are_refused`); the device is reset when the last queue is gone
//! (`the_last_handle_resets_the_device`).

use std::io;
use std::sync::Arc;

use groove_spec::nic::{
    BUFFER_ALIGN_BYTES, BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, RING_LOG2_MAX, RING_LOG2_MIN,
};
use groove_spec::stages::classify::{MAC_HIGH, MAC_LOW};
use groove_spec::stages::device::CONTROL;
use groove_spec::stages::ingress::MAX_FRAME;
use groove_spec::stages::rss::{RSS_CONTROL, RSS_INDIRECTION, RSS_KEY};
use groove_spec::{
    HASH_KEY_BYTES, HASH_KEY_DEFAULT, INDIRECTION_ENTRIES, MAX_FRAME_BYTES, OptionBit, Profile,
    Register, SymmetricMode,
};

use crate::area::Area;
use crate::delivery::Shared;
use crate::dma::lease::Owner;
use crate::home::DEFER_MAX;
use crate::identify::REGISTERS;
use crate::queue::RxQueue;
use crate::slots::SLOTS;
use crate::{Device, DmaMemory, Error, Identity, IdentityError, Interrupt, identify};

/// IOVA between the memories of two queues; the first queue's is there too. Every memory fits, and
/// none meets the addresses below 4 GiB that a PC keeps for its interrupts.
const QUEUE_IOVA_STRIDE: u64 = 1 << 32;

/// Receive-side scaling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rss {
    /// Toeplitz key.
    pub key: [u8; HASH_KEY_BYTES],
    /// Bit per code of `HashType`.
    pub hash_types: u8,
    /// Order of the hash input.
    pub symmetric: SymmetricMode,
    /// Queue by the low seven hash bits.
    pub indirection: [u8; INDIRECTION_ENTRIES],
    /// Queue of frames without a hash.
    pub default_queue: u8,
}

impl Rss {
    /// All hash types, spread evenly over `queues`.
    pub fn spread(queues: usize) -> Self {
        Self {
            key: HASH_KEY_DEFAULT,
            hash_types: RSS_CONTROL.reset as u8,
            symmetric: SymmetricMode::Off,
            indirection: std::array::from_fn(|i| (i % queues.max(1)) as u8),
            default_queue: 0,
        }
    }
}

/// Order in which free buffers are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeOrder {
    /// The one that came home first: every buffer is used in turn.
    Fifo,
    /// The one that came home last: its lines are still in the cache.
    Lifo,
}

/// How a device is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Queues to run.
    pub queues: usize,
    /// Entries of each ring: a power of two, 16 to 32,768.
    pub ring: usize,
    /// Buffers of each queue: 16 to `ring`.
    pub buffers: usize,
    /// Bytes of a buffer: 2,048 to 65,536, a multiple of 64.
    pub buffer_bytes: usize,
    /// Headers apart from payload.
    pub split: bool,
    /// Signal completions; without, the queue is only polled.
    pub interrupts: bool,
    /// Completions for an interrupt.
    pub moderation_count: u8,
    /// Longest wait for them, in units of 64 cycles; 0 is off.
    pub moderation_time: u16,
    /// Longest hold of a session, in units of 1,024 cycles; 0 is off.
    pub hold_time: u16,
    /// Image of `CONTROL`: profile and options.
    pub control: u32,
    /// Hash and queue.
    pub rss: Rss,
    /// Address of this station.
    pub station: [u8; 6],
    /// Longest frame.
    pub max_frame_bytes: usize,
    /// Buffers that the device has, at most. The others stay spare.
    pub posted_max: usize,
    /// Which of the spare ones is posted next. It matters only if some stay spare.
    pub order: FreeOrder,
    /// Buffers that wait in a return slot, at most, plus one.
    pub defer_max: u32,
    /// Releasing domains: threads beside the owner that have a return slot, per queue.
    pub domains: usize,
}

impl Settings {
    /// For so many queues: page-sized buffers, header split, interrupts, the reset values for the
    /// rest.
    pub fn new(queues: usize) -> Self {
        Self {
            queues,
            ring: 1024,
            buffers: 1024,
            buffer_bytes: 4096,
            split: true,
            interrupts: true,
            moderation_count: 1,
            moderation_time: 16,
            hold_time: 64,
            control: CONTROL.reset,
            rss: Rss::spread(queues),
            station: [0; 6],
            max_frame_bytes: MAX_FRAME_BYTES,
            posted_max: usize::MAX,
            order: FreeOrder::Fifo,
            defer_max: DEFER_MAX,
            domains: 8,
        }
    }

    /// Chooses the kernel whose merge rules apply.
    pub fn set_profile(&mut self, profile: Profile) {
        let mask = CONTROL.field("profile").mask();
        self.control = self.control & !mask | u32::from(profile.code());
    }

    /// Switches an option.
    pub fn set_option(&mut self, option: OptionBit, on: bool) {
        let mask = CONTROL.field(option.name()).mask();
        self.control = if on { self.control | mask } else { self.control & !mask };
    }

    fn check(&self, identity: &Identity) -> Result<(), SetupError> {
        let bounds = [
            ("queues", self.queues, 1, identity.queues),
            ("ring", self.ring, 1 << RING_LOG2_MIN, 1 << RING_LOG2_MAX),
            ("buffers", self.buffers, 16, self.ring),
            ("buffer_bytes", self.buffer_bytes, BUFFER_BYTES_MIN, BUFFER_BYTES_MAX),
            ("posted_max", self.posted_max, 16, usize::MAX),
            ("domains", self.domains, 1, SLOTS),
        ];
        for (name, value, min, max) in bounds {
            if !(min..=max).contains(&value) {
                return Err(SetupError::Setting { name, value, min, max });
            }
        }
        if !self.ring.is_power_of_two() {
            return Err(SetupError::NoPowerOfTwo(self.ring));
        }
        if !self.buffer_bytes.is_multiple_of(BUFFER_ALIGN_BYTES) {
            return Err(SetupError::Misaligned(self.buffer_bytes));
        }
        Ok(())
    }
}

/// Why a device was not set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// It is none of ours.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A setting is out of bounds.
    #[error("{name} is {value}: this device takes {min} to {max}")]
    Setting {
        /// Which.
        name: &'static str,
        /// Its value.
        value: usize,
        /// Least.
        min: usize,
        /// Most.
        max: usize,
    },
    /// Ring entries.
    #[error("ring is {0}: not a power of two")]
    NoPowerOfTwo(usize),
    /// Buffer bytes.
    #[error("buffer_bytes is {0}: not a multiple of 64")]
    Misaligned(usize),
    /// A register or mapping failed.
    #[error("failed to set the device up")]
    Device(#[from] Error),
    /// No memory.
    #[error("failed to make {bytes} bytes of DMA memory")]
    Memory {
        /// Wanted.
        bytes: usize,
        /// Why.
        source: io::Error,
    },
    /// No event file.
    #[error("failed to make an interrupt vector")]
    Vector(#[source] io::Error),
}

impl SetupError {
    /// What can be done, if it is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Identity(error) => Some(error.help()),
            Self::Device(error) => error.help(),
            _ => None,
        }
    }
}

/// What all queues of a device share.
pub struct Core {
    /// The device.
    pub device: Arc<dyn Device>,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}

impl Core {
    /// Where the device sees the memory of a queue.
    pub fn iova(&self, queue: usize) -> u64 {
        QUEUE_IOVA_STRIDE * (queue as u64 + 1)
    }

    fn write(&self, register: &Register, index: usize, value: u32) -> Result<(), Error> {
        self.device.write32(REGISTERS, (register.offset + 4 * index) as u64, value)
    }

    fn program(&self, settings: &Settings) -> Result<(), Error> {
        self.write(&CONTROL, 0, settings.control)?;
        self.write(&MAX_FRAME, 0, settings.max_frame_bytes.min(MAX_FRAME_BYTES) as u32)?;
        let [a, b, c, d, e, f] = settings.station;
        self.write(&MAC_LOW, 0, u32::from_le_bytes([a, b, c, d]))?;
        self.write(&MAC_HIGH, 0, u32::from_le_bytes([e, f, 0, 0]))?;
        let rss = &settings.rss;
        let control = u32::from(rss.hash_types) << RSS_CONTROL.field("hash_types").lsb
            | u32::from(rss.symmetric.code()) << RSS_CONTROL.field("symmetric").lsb
            | u32::from(rss.default_queue) << RSS_CONTROL.field("default_queue").lsb;
        self.write(&RSS_CONTROL, 0, control)?;
        for (i, four) in rss.key.as_chunks::<4>().0.iter().enumerate() {
            self.write(&RSS_KEY, i, u32::from_le_bytes(*four))?;
        }
        for (i, queue) in rss.indirection.iter().enumerate() {
            self.write(&RSS_INDIRECTION, i, u32::from(*queue))?;
        }
        Ok(())
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Takes every mapping away; nobody is left to be told if it fails.
        let _ = self.device.reset();
    }
}

/// A device that is set up.
#[derive(Debug)]
pub struct Nic {
    /// What was built.
    pub identity: Identity,
    /// Its queues, stopped; each goes to the thread that shall own it.
    pub queues: Vec<RxQueue>,
}

impl Nic {
    /// Identifies, resets and sets up a device.
    pub fn open(device: Arc<dyn Device>, settings: &Settings) -> Result<Self, SetupError> {
        let identity = identify(&*device)?;
        settings.check(&identity)?;
        device.reset()?;
        let core = Arc::new(Core { device });
        core.program(settings)?;
        let vectors = (0..settings.queues).map(|_| Interrupt::new().map(Arc::new));
        let vectors = vectors.collect::<Result<Vec<_>, _>>().map_err(SetupError::Vector)?;
        core.device.set_interrupts(&vectors)?;
        let area = Area::new(settings.ring, settings.buffers, settings.buffer_bytes);
        let mut queues = Vec::with_capacity(settings.queues);
        for (queue, vector) in vectors.into_iter().enumerate() {
            let memory = DmaMemory::new(area.bytes)
                .map_err(|source| SetupError::Memory { bytes: area.bytes, source })?;
            let memory = Arc::new(memory);
            core.device.dma_map(core.iova(queue), Arc::clone(&memory))?;
            let kick = Arc::clone(&vector);
            let shared = Shared { queue, memory, area };
            let (pool, domains) = (settings.buffers as u16, settings.domains);
            let (owner, buffers) = Owner::new(shared, pool, domains, settings.defer_max, kick);
            queues.push(RxQueue::new(Arc::clone(&core), owner, buffers, vector, settings));
        }
        Ok(Self { identity, queues })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_settings_are_refused() {
        let identity =
            Identity { queues: 4, width_bytes: 64, buckets: 8, depth: 8, lossless: true };
        let refused = |change: fn(&mut Settings)| {
            let mut settings = Settings::new(4);
            assert!(settings.check(&identity).is_ok());
            change(&mut settings);
            settings.check(&identity).unwrap_err().to_string()
        };
        assert_eq!(refused(|s| s.queues = 5), "queues is 5: this device takes 1 to 4");
        assert_eq!(refused(|s| s.queues = 0), "queues is 0: this device takes 1 to 4");
        assert_eq!(refused(|s| s.ring = 1000), "buffers is 1024: this device takes 16 to 1000");
        assert_eq!(refused(|s| s.ring = 1025), "ring is 1025: not a power of two");
        assert!(refused(|s| s.ring = 65536).starts_with("ring is 65536"));
        assert!(refused(|s| s.buffers = 15).starts_with("buffers is 15"));
        assert!(refused(|s| s.buffer_bytes = 2047).starts_with("buffer_bytes is 2047"));
        assert_eq!(
            refused(|s| s.buffer_bytes = 2049),
            "buffer_bytes is 2049: not a multiple of 64"
        );
        assert!(refused(|s| s.buffer_bytes = 65600).starts_with("buffer_bytes is 65600"));
        assert!(refused(|s| s.posted_max = 15).starts_with("posted_max is 15"));
        assert_eq!(refused(|s| s.domains = 65), "domains is 65: this device takes 1 to 64");
    }

    #[test]
    fn profile_and_options_are_bits_of_control() {
        let mut settings = Settings::new(1);
        settings.set_profile(Profile::Linux612);
        settings.set_option(OptionBit::RxCsum, false);
        settings.set_option(OptionBit::StrictOrder, true);
        assert_eq!(settings.control, 0x4600);
    }
}
