//! Plan: how a recorded case is given to an engine, or why it is left out.
//!
//!   as the kernel    metadata forced as recorded, headers of any length, tunnels on
//!   as hardware      everything computed: 128 header bytes, tunnels and PPPoE off, `rxcsum` per
//!                    case, stripped tags put back with `vlan_strip` on; one queue; a gap is a
//!                    flush-all token
//!
//! What hardware cannot be given is left out, for one of the reasons of [`LeftOut`] and no other.
//! Invariant: a case that is planned gives the engine exactly the recorded hash and checksum state
//! (`planned_cases_enter_as_recorded`).

use std::borrow::Cow;

use groove_model::stages::coalesce::path::{ETHERTYPE_PPPOE, ETHERTYPE_TEB};
use groove_model::stages::parse::{L3Kind, Parsed, VLAN_TPIDS, skip_extensions};
use groove_model::stages::{admit, parse};
use groove_model::{Config, Frame, Given, GivenCsum, look};
use groove_spec::{MAX_FRAME_BYTES, MAX_HEADER_BYTES};

use super::case::{Case, Input};

/// Why hardware cannot be given a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// The recorded hash is not the one of the frame.
    ForcedHash,
    /// A frame has the transmit-side checksum state.
    Partial,
    /// A frame is given as verified, but its checksum is wrong.
    WrongGivenAsVerified,
    /// A tunnel that the kernel takes part in.
    Tunnel,
    /// PPPoE on a kernel that merges it.
    Pppoe,
    /// Headers end behind byte 128.
    LongHeader,
    /// A frame is longer than any that the hardware takes.
    LongFrame,
    /// One frame has its tag stripped, another one has it in the frame.
    MixedTags,
}

impl LeftOut {
    /// One sentence for reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::ForcedHash => "forced hash",
            Self::Partial => "transmit-side checksum state",
            Self::WrongGivenAsVerified => "a wrong checksum given as verified",
            Self::Tunnel => "tunnel (off in hardware)",
            Self::Pppoe => "PPPoE (off in hardware)",
            Self::LongHeader => "headers beyond 128 bytes",
            Self::LongFrame => "frames beyond 9,216 bytes",
            Self::MixedTags => "stripped and in-band tags mixed",
        }
    }
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A frame.
    Frame {
        /// Its bytes.
        bytes: Cow<'a, [u8]>,
        /// Forced metadata.
        given: Option<Given>,
    },
    /// Flush-all token of queue 0.
    Flush,
}

/// A configuration, and what to feed.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Configuration of the engine.
    pub config: Config,
    /// Frames and tokens; the last one is a flush.
    pub steps: Vec<Step<'a>>,
}

/// As the kernel was given it; `config` is the kernel's.
pub fn as_kernel<'a>(case: &'a Case, config: Config) -> Plan<'a> {
    let steps = steps(case, |input| (Cow::Borrowed(input.bytes.as_slice()), Some(input.given)));
    Plan { config, steps }
}

/// As hardware can be given it; `kernel` is the kernel's configuration.
pub fn as_hardware<'a>(case: &'a Case, kernel: Config) -> Result<Plan<'a>, LeftOut> {
    let mut config = Config {
        max_header_bytes: Some(MAX_HEADER_BYTES),
        max_frame_bytes: Config::default().max_frame_bytes,
        ..kernel.clone()
    };
    let any = |f: fn(&Input) -> bool| case.frames.iter().any(f);
    config.options.tunnels = false;
    config.options.pppoe = false;
    config.options.rxcsum = any(|i| i.given.csum == GivenCsum::Unnecessary);
    config.options.vlan_strip = any(|i| i.given.vlan.is_some());
    if config.options.vlan_strip && any(|i| i.given.vlan.is_none() && has_tag(&i.bytes)) {
        return Err(LeftOut::MixedTags);
    }
    for input in &case.frames {
        check(input, &kernel, &config)?;
    }
    Ok(Plan { steps: steps(case, |input| (with_tag(input), None)), config })
}

fn steps<'a>(
    case: &'a Case,
    frame: impl Fn(&'a Input) -> (Cow<'a, [u8]>, Option<Given>),
) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    for input in &case.frames {
        if input.gap {
            steps.push(Step::Flush);
        }
        let (bytes, given) = frame(input);
        steps.push(Step::Frame { bytes, given });
    }
    steps.push(Step::Flush);
    steps
}

fn has_tag(bytes: &[u8]) -> bool {
    bytes.get(12..14).is_some_and(|t| VLAN_TPIDS.contains(&u16::from_be_bytes([t[0], t[1]])))
}

/// The frame as it was on the wire.
fn with_tag(input: &Input) -> Cow<'_, [u8]> {
    match input.given.vlan {
        None => Cow::Borrowed(&input.bytes),
        Some(tag) => {
            let (addresses, rest) = input.bytes.split_at(12.min(input.bytes.len()));
            let (tpid, tci) = (tag.tpid.to_be_bytes(), tag.tci.to_be_bytes());
            Cow::Owned([addresses, &tpid, &tci, rest].concat())
        }
    }
}

/// Whether hardware would see the frame as the kernel did.
fn check(input: &Input, kernel: &Config, config: &Config) -> Result<(), LeftOut> {
    let wire = with_tag(input);
    if wire.len() > MAX_FRAME_BYTES {
        return Err(LeftOut::LongFrame);
    }
    let seen = look(config, &Frame::new(&wire));
    let whole = parse::run(&input.bytes, usize::MAX, usize::MAX, false);
    if matches!(input.given.csum, GivenCsum::Partial { .. }) {
        return Err(LeftOut::Partial);
    }
    if kernel.options.tunnels && is_tunnel(&input.bytes, &whole) {
        return Err(LeftOut::Tunnel);
    }
    if kernel.options.pppoe && ethertype(&input.bytes, &whole) == Some(ETHERTYPE_PPPOE) {
        return Err(LeftOut::Pppoe);
    }
    let same_headers = Parsed { visible_bytes: whole.visible_bytes, ..seen.parsed } == whole;
    if !same_headers || !tcp_is_visible(&whole, seen.parsed.visible_bytes) {
        return Err(LeftOut::LongHeader);
    }
    if input.given.hash != Some(seen.steering.hash) {
        return Err(LeftOut::ForcedHash);
    }
    let entry = admit::entry_csum(config.options.rxcsum, &seen.verdicts, None);
    if input.given.csum == GivenCsum::Unnecessary && entry.state != GivenCsum::Unnecessary {
        return Err(LeftOut::WrongGivenAsVerified);
    }
    Ok(())
}

/// A cut header that only just hides behind the visible bytes parses alike, but is not summed.
fn tcp_is_visible(whole: &Parsed, visible_bytes: usize) -> bool {
    whole.visible_bytes <= visible_bytes || whole.l4_off + 20 <= visible_bytes
}

/// Ethertype behind the tags.
fn ethertype(bytes: &[u8], parsed: &Parsed) -> Option<u16> {
    let at = parsed.l3_off.checked_sub(2)?;
    bytes.get(at..at + 2).map(|t| u16::from_be_bytes([t[0], t[1]]))
}

/// A protocol or ethertype that a tunnel handler takes.
fn is_tunnel(bytes: &[u8], parsed: &Parsed) -> bool {
    let protocol = match parsed.l3_kind {
        L3Kind::None => return ethertype(bytes, parsed) == Some(ETHERTYPE_TEB),
        L3Kind::Ipv4 => bytes[parsed.l3_off + 9],
        L3Kind::Ipv6 => skip_extensions(bytes, bytes[parsed.l3_off + 6], parsed.l3_off + 40).0,
    };
    matches!(protocol, 4 | 41 | 47)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::configuration;
    use crate::oracle::random;

    /// Found by `groove oracle random --cases 1 --seed 540 --engine both`: the kernel knows no such
    /// bound.
    #[test]
    fn a_frame_that_hardware_drops_is_left_out() {
        let kernel = || configuration("7.3").unwrap();
        let mut bursts = (0..).map(random::burst);
        let mut case = bursts.find(|case| as_hardware(case, kernel()).is_ok()).unwrap();
        let first = &mut case.frames[0];
        let tag = with_tag(first).len() - first.bytes.len();
        first.bytes.resize(MAX_FRAME_BYTES + 1 - tag, 0);
        assert_eq!(as_hardware(&case, kernel()).unwrap_err(), LeftOut::LongFrame);
    }
}
