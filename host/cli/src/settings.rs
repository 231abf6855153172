//! `--set OPTION=VALUE`: names of options and fields, as in the register table, to a configuration.

use std::fmt;

use groove_model::Config;
use groove_spec::{HASH_KEY_BYTES, MAX_FRAME_BYTES, MAX_HEADER_BYTES, OptionBit, SymmetricMode};

/// Settings besides the option bits, with what they take.
const OTHERS: [(&str, &str); 7] = [
    ("max_frame_bytes", "1 to 9216"),
    ("max_header", "64 to 128, or none (model only)"),
    ("hash_types", "bits, as 0x7e"),
    ("hash_key", "80 hexadecimal digits"),
    ("symmetric", "off, xor, or-xor"),
    ("default_queue", "0 to 31"),
    ("station", "Ethernet address, as 02:00:00:00:00:01"),
];

/// One `OPTION=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// An option bit of `CONTROL`.
    Option(OptionBit, bool),
    /// `MAX_FRAME.max_frame_bytes`.
    MaxFrameBytes(usize),
    /// Bytes that the parser sees; `None` lifts the bound.
    MaxHeader(Option<usize>),
    /// `RSS_CONTROL.hash_types`.
    HashTypes(u8),
    /// `RSS_KEY`.
    HashKey([u8; HASH_KEY_BYTES]),
    /// `RSS_CONTROL.symmetric`.
    Symmetric(SymmetricMode),
    /// `RSS_CONTROL.default_queue`.
    DefaultQueue(u8),
    /// `MAC_LOW` and `MAC_HIGH`.
    Station([u8; 6]),
}

impl Setting {
    /// Reads what a person typed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("no '=' in it; write OPTION=VALUE, as {text}=on"))?;
        if let Some(option) = OptionBit::from_name(name) {
            return parse_bool(value).map(|on| Self::Option(option, on));
        }
        let wrong = || {
            let takes = OTHERS.iter().find(|(other, _)| *other == name).map_or("", |(_, t)| t);
            format!("{name}: '{value}' is not {takes}")
        };
        let setting = match name {
            "max_frame_bytes" => parse_number(value)
                .filter(|n| (1..=MAX_FRAME_BYTES).contains(n))
                .map(Self::MaxFrameBytes),
            "max_header" if value == "none" => Some(Self::MaxHeader(None)),
            "max_header" => parse_number(value)
                .filter(|n| (64..=MAX_HEADER_BYTES).contains(n))
                .map(|n| Self::MaxHeader(Some(n))),
            "hash_types" => parse_number(value)
                .and_then(|n| u8::try_from(n).ok())
                .filter(|n| *n < 128)
                .map(Self::HashTypes),
            "hash_key" => parse_hex(value, "").map(Self::HashKey),
            "symmetric" => SymmetricMode::from_name(value).map(Self::Symmetric),
            "default_queue" => parse_number(value)
                .and_then(|n| u8::try_from(n).ok())
                .filter(|n| *n < 32)
                .map(Self::DefaultQueue),
            "station" => parse_hex(value, ":").map(Self::Station),
            _ => return Err(format!("no option '{name}'; options: {}", names())),
        };
        setting.ok_or_else(wrong)
    }

    /// Puts it into a configuration.
    pub fn apply(&self, config: &mut Config) {
        match self {
            Self::Option(option, on) => config.options.set(*option, *on),
            Self::MaxFrameBytes(n) => config.max_frame_bytes = *n,
            Self::MaxHeader(n) => config.max_header_bytes = *n,
            Self::HashTypes(n) => config.rss.hash_types = *n,
            Self::HashKey(key) => config.rss.key = *key,
            Self::Symmetric(mode) => config.rss.symmetric = *mode,
            Self::DefaultQueue(queue) => config.rss.default_queue = *queue,
            Self::Station(address) => config.station = *address,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |bytes: &[u8], separator: &str| {
            let digits: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
            digits.join(separator)
        };
        match self {
            Self::Option(option, on) => {
                write!(f, "{}={}", option.name(), if *on { "on" } else { "off" })
            }
            Self::MaxFrameBytes(n) => write!(f, "max_frame_bytes={n}"),
            Self::MaxHeader(None) => write!(f, "max_header=none"),
            Self::MaxHeader(Some(n)) => write!(f, "max_header={n}"),
            Self::HashTypes(n) => write!(f, "hash_types=0x{n:02x}"),
            Self::HashKey(key) => write!(f, "hash_key={}", hex(key, "")),
            Self::Symmetric(mode) => write!(f, "symmetric={}", mode.name()),
            Self::DefaultQueue(queue) => write!(f, "default_queue={queue}"),
            Self::Station(address) => write!(f, "station={}", hex(address, ":")),
        }
    }
}

/// Names of all settings.
pub fn names() -> String {
    let others = OTHERS.iter().map(|(name, _)| *name);
    OptionBit::NAMES.iter().copied().chain(others).collect::<Vec<_>>().join(", ")
}

/// The table for the long help.
pub fn help() -> String {
    let bits = OptionBit::ALL.iter().map(|o| {
        let doc = OptionBit::DOCS[usize::from(o.code())];
        format!("\n  {:16} on, off: {doc}", o.name())
    });
    let others = OTHERS.iter().map(|(name, takes)| format!("\n  {name:16} {takes}"));
    format!("Options of --set:{}{}", bits.collect::<String>(), others.collect::<String>())
}

fn parse_bool(value: &str) -> Result<bool, String> {
    match value {
        "on" | "1" | "true" | "yes" => Ok(true),
        "off" | "0" | "false" | "no" => Ok(false),
        _ => Err(format!("'{value}' is neither on nor off")),
    }
}

fn parse_number(value: &str) -> Option<usize> {
    match value.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

/// `N` bytes of two digits each, with `separator` between them.
fn parse_hex<const N: usize>(value: &str, separator: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let mut rest = value;
    for (i, byte) in bytes.iter_mut().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix(separator)?;
        }
        let digits = rest.get(..2).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
        rest = &rest[2..];
    }
    rest.is_empty().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_bit_has_a_setting() {
        for option in OptionBit::ALL {
            let on = Setting::parse(&format!("{}=on", option.name()));
            assert_eq!(on, Ok(Setting::Option(*option, true)));
        }
    }

    #[test]
    fn a_setting_reads_what_it_writes() {
        let key = format!("hash_key={}", "0f".repeat(40));
        for text in [
            "rxcsum=off",
            "vlan_gro=on",
            "max_frame_bytes=1518",
            "max_header=none",
            "max_header=64",
            "hash_types=0x7e",
            "symmetric=or-xor",
            "default_queue=3",
            "station=02:00:00:00:00:ff",
            &key,
        ] {
            assert_eq!(
                Setting::parse(text).map(|setting| setting.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn values_are_held_to_their_bounds() {
        assert_eq!(Setting::parse("max_frame_bytes=9216"), Ok(Setting::MaxFrameBytes(9216)));
        assert!(Setting::parse("max_frame_bytes=9217").is_err());
        assert!(Setting::parse("max_frame_bytes=0").is_err());
        assert_eq!(Setting::parse("hash_types=0x7f"), Ok(Setting::HashTypes(0x7f)));
        assert!(Setting::parse("hash_types=0x80").is_err());
        assert_eq!(Setting::parse("max_header=none"), Ok(Setting::MaxHeader(None)));
        assert!(Setting::parse("max_header=129").is_err());
        assert!(Setting::parse("default_queue=32").is_err());
    }

    #[test]
    fn addresses_and_keys_have_an_exact_length() {
        let station = Setting::Station([2, 0, 0, 0, 0, 0xff]);
        assert_eq!(Setting::parse("station=02:00:00:00:00:ff"), Ok(station));
        assert!(Setting::parse("station=02:00:00:00:00").is_err());
        assert!(Setting::parse("station=02:00:00:00:00:ff:").is_err());
        assert!(Setting::parse("station=02:00:00:00:00:\u{e9}").is_err());
        assert!(Setting::parse(&format!("hash_key={}", "ab".repeat(40))).is_ok());
        assert!(Setting::parse(&format!("hash_key={}", "ab".repeat(39))).is_err());
    }
}
