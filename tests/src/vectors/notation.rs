//! How vector files write frames and numbers.
//!
//!   v4 tcp len=100 ttl=63      a segment, every sum right unless told otherwise
//!   hex 0200 ... 00*46         bytes; `*` repeats
//!
//! Invariant: what is not said continues the flow: the sequence number follows the last frame of
//! the same source port, the IPv4 identification counts up by one.
//! Not here: what a receiver makes of a frame.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use groove_spec::Tag;

use crate::frames::{self, ACK, CWR, ECE, FIN, PSH, RST, SYN, URG, udp};
use crate::generate::packet::{Network, Packet, Sum, Tcp, Transport, V4, V6};

const SEQ_FIRST: u32 = 1000;
const ID_FIRST: u16 = 50;

/// Where the flows of a vector are, by source port.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    next: BTreeMap<u16, (u32, u16)>,
    frames: usize,
}

/// A number, decimal or with 0x.
///
/// # Errors
/// Not a number, or out of range.
pub fn number<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let value = value.and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| format!("{text}: not a number that fits"))
}

/// `0,2,5-7` as 0, 2, 5, 6, 7.
///
/// # Errors
/// Not numbers.
pub fn list(text: &str) -> Result<Vec<u32>, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(number::<u32>(first)?..=number::<u32>(last)?);
    }
    Ok(all)
}

/// Bytes of hexadecimal digits, with `:` or `.` between them if that reads better; `00*46` repeats.
///
/// # Errors
/// Not whole bytes.
pub fn hex(text: &str) -> Result<Vec<u8>, String> {
    let (digits, times) = text.split_once('*').unwrap_or((text, "1"));
    let digits: String = digits.chars().filter(|c| !matches!(c, ':' | '.')).collect();
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err(format!("{text}: not whole bytes"));
    }
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16);
    let bytes: Result<Vec<u8>, _> = (0..digits.len()).step_by(2).map(byte).collect();
    Ok(bytes.map_err(|_| format!("{text}: not hexadecimal"))?.repeat(number(times)?))
}

fn parsed<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text}: not an address"))
}

fn flags(text: &str) -> Result<u8, String> {
    text.chars().try_fold(0, |all, letter| {
        Ok(all
            | match letter {
                'F' => FIN,
                'S' => SYN,
                'R' => RST,
                'P' => PSH,
                'A' => ACK,
                'U' => URG,
                'E' => ECE,
                'C' => CWR,
                _ => return Err(format!("{letter}: not a flag of FSRPAUEC")),
            })
    })
}

fn checksum(text: &str) -> Result<Sum, String> {
    match text.strip_prefix("field:") {
        Some(value) => number(value).map(Sum::Field),
        None if text == "good" => Ok(Sum::Good),
        None => text
            .strip_prefix("xor:")
            .ok_or("sum: good, xor:N or field:N".to_owned())
            .and_then(|value| number(value).map(Sum::Wrong)),
    }
}

fn tags(text: &str) -> Result<Vec<Tag>, String> {
    let tag = |text: &str| match hex(text)?[..] {
        [a, b, c, d] => {
            Ok(Tag { tpid: u16::from_be_bytes([a, b]), tci: u16::from_be_bytes([c, d]) })
        }
        _ => Err(format!("{text}: a tag is 4 bytes")),
    };
    text.split(',').map(tag).collect()
}

/// `60:000000000000+43:...`: kind in decimal, then the body behind the first two bytes.
fn extensions(text: &str) -> Result<Vec<(u8, Vec<u8>)>, String> {
    let one = |text: &str| {
        let (kind, body) = text.split_once(':').ok_or("ext: KIND:BODY")?;
        let body = hex(body)?;
        if body.len() % 8 != 6 {
            return Err(format!("{text}: a body has 8n + 6 bytes"));
        }
        Ok((number(kind)?, body))
    };
    text.split('+').map(one).collect()
}

impl Flows {
    /// The frames of a `frame` line (`x9` makes nine), and whether their FCS is bad.
    ///
    /// # Errors
    /// A word that is not in the notation.
    pub fn frames<'a>(
        &mut self,
        words: impl Iterator<Item = &'a str>,
    ) -> Result<(Vec<Vec<u8>>, bool), String> {
        let mut words: Vec<&str> = words.collect();
        let bad_fcs = words.contains(&"bad-fcs");
        words.retain(|word| *word != "bad-fcs");
        let times =
            words.first().and_then(|word| word.strip_prefix('x')).map(number).transpose()?;
        if times.is_some() {
            words.remove(0);
        }
        let frames = (0..times.unwrap_or(1)).map(|_| self.frame(&words)).collect::<Result<_, _>>();
        Ok((frames?, bad_fcs))
    }

    fn frame(&mut self, words: &[&str]) -> Result<Vec<u8>, String> {
        self.frames += 1;
        let mut packet = match words.split_first() {
            Some((&"hex", bytes)) => {
                return bytes
                    .iter()
                    .try_fold(Vec::new(), |all, part| Ok([all, hex(part)?].concat()));
            }
            Some((&"v4", _)) => frames::v4(0, 0),
            Some((&"v6", _)) => frames::v6(0, 0),
            _ => return Err("a frame is v4, v6 or hex".into()),
        };
        packet.payload_seed = 2 * self.frames as u64;
        let (kinds, fields): (Vec<&str>, Vec<&str>) =
            words[1..].iter().copied().partition(|word| !word.contains('='));
        for kind in kinds {
            packet = match kind {
                "tcp" => packet,
                "udp" => udp(packet),
                other => return Err(format!("{other}: not tcp, udp or NAME=VALUE")),
            };
        }
        let field = |word: &str| word.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned()));
        let fields: Vec<_> = fields.into_iter().filter_map(field).collect();
        if let Some((_, port)) = fields.iter().find(|(name, _)| name == "sport") {
            set_ports(&mut packet, Some(number(port)?), None);
        }
        let port = source_port(&packet);
        let (seq, id) = *self.next.entry(port).or_insert((SEQ_FIRST, ID_FIRST));
        if let Transport::Tcp(tcp) = &mut packet.transport {
            tcp.seq = seq;
        }
        if let Network::V4(v4) = &mut packet.network {
            v4.id = id;
        }
        for (name, value) in &fields {
            set(&mut packet, name, value).map_err(|e| format!("{name}: {e}"))?;
        }
        let next_seq = match &packet.transport {
            Transport::Tcp(tcp) => tcp.seq.wrapping_add(packet.payload_len as u32),
            _ => seq,
        };
        let next_id = match &packet.network {
            Network::V4(v4) => v4.id.wrapping_add(1),
            Network::V6(_) => id,
        };
        self.next.insert(port, (next_seq, next_id));
        Ok(packet.encode())
    }
}

fn source_port(packet: &Packet) -> u16 {
    match &packet.transport {
        Transport::Tcp(tcp) => tcp.source,
        Transport::Udp(udp) => udp.source,
        Transport::Other(_) => 0,
    }
}

fn set_ports(packet: &mut Packet, source: Option<u16>, destination: Option<u16>) {
    let (from, to) = match &mut packet.transport {
        Transport::Tcp(tcp) => (&mut tcp.source, &mut tcp.destination),
        Transport::Udp(udp) => (&mut udp.source, &mut udp.destination),
        Transport::Other(_) => return,
    };
    *from = source.unwrap_or(*from);
    *to = destination.unwrap_or(*to);
}

fn set(packet: &mut Packet, name: &str, value: &str) -> Result<(), String> {
    match name {
        "to" => packet.to = hex(value)?.try_into().map_err(|_| "6 bytes")?,
        "from" => packet.from = hex(value)?.try_into().map_err(|_| "6 bytes")?,
        "tags" => packet.tags = tags(value)?,
        "ethertype" => packet.ethertype = Some(number(value)?),
        "len" => packet.payload_len = number(value)?,
        "pad" => packet.padding = number(value)?,
        "cut" => packet.cut = Some(number(value)?),
        "ip_more" => packet.length_error = number::<u16>(value)?.into(),
        "ip_less" => packet.length_error = -i32::from(number::<u16>(value)?),
        "proto" => packet.transport = Transport::Other(number(value)?),
        "sport" => set_ports(packet, Some(number(value)?), None),
        "dport" => set_ports(packet, None, Some(number(value)?)),
        "sum" => match &mut packet.transport {
            Transport::Tcp(tcp) => tcp.sum = checksum(value)?,
            Transport::Udp(udp) => udp.sum = checksum(value)?,
            Transport::Other(_) => return Err("no such header".into()),
        },
        _ => {
            let known = match &mut packet.transport {
                Transport::Tcp(tcp) => set_tcp(tcp, name, value)?,
                _ => false,
            };
            let known = known
                || match &mut packet.network {
                    Network::V4(v4) => set_v4(v4, name, value)?,
                    Network::V6(v6) => set_v6(v6, name, value)?,
                };
            return if known { Ok(()) } else { Err("not a field of this frame".into()) };
        }
    }
    Ok(())
}

/// Whether TCP has such a field.
fn set_tcp(tcp: &mut Tcp, name: &str, value: &str) -> Result<bool, String> {
    match name {
        "seq" => tcp.seq = number(value)?,
        "ack" => tcp.ack = number(value)?,
        "flags" => tcp.flags = flags(value)?,
        "window" => tcp.window = number(value)?,
        "reserved" => tcp.reserved = number(value)?,
        "urgent" => tcp.urgent = number(value)?,
        "doff" => tcp.data_offset = Some(number(value)?),
        "opts" => tcp.options = hex(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_v4(v4: &mut V4, name: &str, value: &str) -> Result<bool, String> {
    match name {
        "src" => v4.source = parsed::<Ipv4Addr>(value)?.octets(),
        "dst" => v4.destination = parsed::<Ipv4Addr>(value)?.octets(),
        "tos" => v4.tos = number(value)?,
        "ttl" => v4.ttl = number(value)?,
        "id" => v4.id = number(value)?,
        "frag" => v4.fragment = number(value)?,
        "first" => v4.first_byte = Some(number(value)?),
        "ipopts" => v4.options = hex(value)?,
        "ipsum" => v4.sum = checksum(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_v6(v6: &mut V6, name: &str, value: &str) -> Result<bool, String> {
    match name {
        "src" => v6.source = parsed::<Ipv6Addr>(value)?.octets(),
        "dst" => v6.destination = parsed::<Ipv6Addr>(value)?.octets(),
        "class" => v6.class = number(value)?,
        "hop" => v6.hop_limit = number(value)?,
        "label" => v6.label = number(value)?,
        "version" => v6.version = number(value)?,
        "ext" => v6.extensions = extensions(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}
