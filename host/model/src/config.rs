//! What the receive path is configured to do: profile, options, RSS, table sizes.
//!
//! The same choices exist as registers in hardware ([`Config::control_word`] is the `CONTROL`
//! image); table sizes are parameters there.

use groove_spec::stages::device::CONTROL_OPTIONS_LSB;
use groove_spec::{
    BUCKET_DEPTH, BUCKETS, HASH_KEY_BYTES, HASH_KEY_DEFAULT, INDIRECTION_ENTRIES, MAX_FRAME_BYTES,
    MAX_HEADER_BYTES, OptionBit, Profile, QUEUES_MAX, SymmetricMode,
};

/// Run-time options, one per [`OptionBit`]. The default is the reset value of `CONTROL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The checksum verdict is given with the frame, as a NIC does.
    pub rxcsum: bool,
    /// The outermost tag is taken out of the frame.
    pub vlan_strip: bool,
    /// Frames with in-band tags may merge.
    pub vlan_gro: bool,
    /// One level of IPIP, SIT, IP4IP6, IP6IP6 or GRE may merge.
    pub tunnels: bool,
    /// PPPoE session frames may merge.
    pub pppoe: bool,
    /// Bytes behind the IP length are cut off before merging.
    pub trim_pad: bool,
    /// A frame that cannot merge first closes the session of its flow.
    pub strict_order: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rxcsum: true,
            vlan_strip: true,
            vlan_gro: true,
            tunnels: false,
            pppoe: false,
            trim_pad: false,
            strict_order: false,
        }
    }
}

impl Options {
    /// Reads one option.
    pub fn value(&self, option: OptionBit) -> bool {
        match option {
            OptionBit::RxCsum => self.rxcsum,
            OptionBit::VlanStrip => self.vlan_strip,
            OptionBit::VlanGro => self.vlan_gro,
            OptionBit::Tunnels => self.tunnels,
            OptionBit::Pppoe => self.pppoe,
            OptionBit::TrimPad => self.trim_pad,
            OptionBit::StrictOrder => self.strict_order,
        }
    }

    /// Sets one option.
    pub fn set(&mut self, option: OptionBit, on: bool) {
        match option {
            OptionBit::RxCsum => self.rxcsum = on,
            OptionBit::VlanStrip => self.vlan_strip = on,
            OptionBit::VlanGro => self.vlan_gro = on,
            OptionBit::Tunnels => self.tunnels = on,
            OptionBit::Pppoe => self.pppoe = on,
            OptionBit::TrimPad => self.trim_pad = on,
            OptionBit::StrictOrder => self.strict_order = on,
        }
    }
}

/// Receive-side scaling: what is hashed, and which queue a hash goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RssConfig {
    /// Toeplitz key.
    pub key: [u8; HASH_KEY_BYTES],
    /// Bit per code of `HashType`; bit 0 has no effect.
    pub hash_types: u8,
    /// Order of the hash input.
    pub symmetric: SymmetricMode,
    /// Queue by the low seven hash bits; entries at or above the queue count act as 0.
    pub indirection: [u8; INDIRECTION_ENTRIES],
    /// Queue of frames without a hash; at or above the queue count it acts as 0.
    pub default_queue: u8,
}

impl Default for RssConfig {
    fn default() -> Self {
        Self {
            key: HASH_KEY_DEFAULT,
            hash_types: 0x7e,
            symmetric: SymmetricMode::Off,
            indirection: [0; INDIRECTION_ENTRIES],
            default_queue: 0,
        }
    }
}

impl RssConfig {
    /// The default with the indirection table spread evenly: entry i goes to queue i modulo
    /// `queues`.
    pub fn spread(queues: u8) -> Self {
        let mut rss = Self::default();
        for (i, queue) in rss.indirection.iter_mut().enumerate() {
            *queue = (i % usize::from(queues.max(1))) as u8;
        }
        rss
    }
}

/// Everything that decides what happens to a frame, besides the frames and tokens themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Merge rules of which kernel.
    pub profile: Profile,
    /// Run-time options.
    pub options: Options,
    /// Hash and queue.
    pub rss: RssConfig,
    /// Receive queues, 1 to 32.
    pub queues: u8,
    /// Buckets per queue, a power of two, 1 to 64.
    pub buckets: usize,
    /// Held sessions per bucket, 1 to 16.
    pub depth: usize,
    /// Longest frame that is not dropped; above 9,216 it acts as 9,216 while headers are bounded.
    pub max_frame_bytes: usize,
    /// Received bytes that the parser sees; `None` lifts the bound, as the kernel does.
    pub max_header_bytes: Option<usize>,
    /// Address of this station.
    pub station: [u8; 6],
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profile: Profile::Linux73,
            options: Options::default(),
            rss: RssConfig::default(),
            queues: 1,
            buckets: BUCKETS,
            depth: BUCKET_DEPTH,
            max_frame_bytes: MAX_FRAME_BYTES,
            max_header_bytes: Some(MAX_HEADER_BYTES),
            station: [0; 6],
        }
    }
}

/// A configuration that no hardware could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// Not 1 to 32 queues.
    Queues(u8),
    /// Not a power of two from 1 to 64.
    Buckets(usize),
    /// Not 1 to 16.
    Depth(usize),
    /// More than 128 header bytes, or less than 64.
    MaxHeader(usize),
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Queues(n) => write!(f, "queues: {n} is not in 1 to {QUEUES_MAX}"),
            Self::Buckets(n) => write!(f, "buckets: {n} is not a power of two up to 64"),
            Self::Depth(n) => write!(f, "depth: {n} is not in 1 to 16"),
            Self::MaxHeader(n) => write!(f, "max_header: {n} is not in 64 to {MAX_HEADER_BYTES}"),
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Refuses what no hardware could have.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.queues == 0 || usize::from(self.queues) > QUEUES_MAX {
            return Err(ConfigError::Queues(self.queues));
        }
        if !self.buckets.is_power_of_two() || self.buckets > 64 {
            return Err(ConfigError::Buckets(self.buckets));
        }
        if self.depth == 0 || self.depth > 16 {
            return Err(ConfigError::Depth(self.depth));
        }
        match self.max_header_bytes {
            Some(n) if !(64..=MAX_HEADER_BYTES).contains(&n) => Err(ConfigError::MaxHeader(n)),
            _ => Ok(()),
        }
    }

    /// Image of the `CONTROL` register.
    pub fn control_word(&self) -> u32 {
        OptionBit::ALL.iter().fold(u32::from(self.profile.code()), |word, option| {
            let bit = CONTROL_OPTIONS_LSB + usize::from(option.code());
            word | u32::from(self.options.value(*option)) << bit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::stages::device::CONTROL;
    use groove_spec::stages::rss::RSS_CONTROL;

    #[test]
    fn defaults_are_the_reset_values() {
        assert_eq!(Config::default().control_word(), CONTROL.reset);
        assert_eq!(u32::from(RssConfig::default().hash_types), RSS_CONTROL.reset);
    }

    #[test]
    fn each_option_has_its_own_control_bit() {
        for option in OptionBit::ALL {
            let mut config = Config::default();
            config.options.set(*option, !config.options.value(*option));
            let changed = config.control_word() ^ CONTROL.reset;
            assert_eq!(changed, CONTROL.field(option.name()).mask(), "{}", option.name());
        }
    }

    #[test]
    fn check_holds_at_the_bounds() {
        let with = |f: fn(&mut Config)| {
            let mut config = Config::default();
            f(&mut config);
            config.check()
        };
        assert_eq!(with(|c| c.queues = 0), Err(ConfigError::Queues(0)));
        assert_eq!(with(|c| c.queues = 32), Ok(()));
        assert_eq!(with(|c| c.queues = 33), Err(ConfigError::Queues(33)));
        assert_eq!(with(|c| c.buckets = 12), Err(ConfigError::Buckets(12)));
        assert_eq!(with(|c| c.buckets = 0), Err(ConfigError::Buckets(0)));
        assert_eq!(with(|c| c.depth = 0), Err(ConfigError::Depth(0)));
        assert_eq!(with(|c| c.depth = 16), Ok(()));
        assert_eq!(with(|c| c.depth = 17), Err(ConfigError::Depth(17)));
        assert_eq!(with(|c| c.max_header_bytes = Some(129)), Err(ConfigError::MaxHeader(129)));
        assert_eq!(with(|c| c.max_header_bytes = None), Ok(()));
    }

    #[test]
    fn spread_uses_every_queue() {
        let rss = RssConfig::spread(5);
        assert_eq!(&rss.indirection[..7], &[0, 1, 2, 3, 4, 0, 1]);
    }
}
