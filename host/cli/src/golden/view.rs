//! View: a delivery as the recording point saw it, and its comparison with the record.
//!
//! The stack has moved an in-band outermost tag out of band by then (kernel `skb_vlan_untag`, 7.3):
//! the frame is 4 bytes shorter, and so is the position of its TCP header. If a tag was stripped
//! already, an in-band one stays.
//! Invariant: every recorded field is compared (`every_recorded_field_is_compared`).

use groove_spec::stages::coalesce::GSO_NAMES;
use groove_spec::{CsumState, Delivery};
use sha2::{Digest, Sha256};

use groove_model::stages::classify;

use super::case::Recorded;
use crate::compare::Difference;

/// Bytes of `head` in a record.
const HEAD_BYTES: usize = 128;

/// The delivery as it would have been recorded.
pub fn recorded(delivery: &Delivery) -> Recorded {
    let untagged = match delivery.vlan {
        None => classify::strip(&delivery.bytes),
        Some(_) => None,
    };
    let moved = if untagged.is_some() { 4 } else { 0 };
    let (vlan, bytes) = match untagged {
        Some((tag, bytes)) => (Some(tag), bytes),
        None => (delivery.vlan, delivery.bytes.clone()),
    };
    let merged = delivery.gso_segs > 0;
    let (sha256, head) = record_hash(&bytes);
    let partial = delivery.csum == CsumState::Partial;
    let names = || {
        let set = |(i, _): &(usize, &&str)| delivery.gso_type >> i & 1 != 0;
        GSO_NAMES.iter().enumerate().filter(set).map(|(_, name)| (*name).to_owned()).collect()
    };
    Recorded {
        frames: delivery.frames.clone(),
        len: bytes.len(),
        gso_size: merged.then_some(delivery.gso_size),
        gso_segs: merged.then_some(delivery.gso_segs),
        gso_type: merged.then(names),
        csum: format!("{:?}", delivery.csum).to_lowercase(),
        csum_level: (delivery.csum_level > 0).then_some(delivery.csum_level),
        csum_start: partial.then(|| delivery.csum_start.saturating_sub(moved)),
        csum_offset: partial.then_some(delivery.csum_offset),
        encapsulation: delivery.encapsulation.then_some(1),
        hash: delivery.hash,
        vlan: vlan.map(|tag| (tag.tpid, tag.tci)),
        sha256,
        head: merged.then_some(head),
    }
}

/// What a record says of the bytes: the SHA-256 of all, and the first 128, in hexadecimal.
pub fn record_hash(bytes: &[u8]) -> (String, String) {
    (hex(&Sha256::digest(bytes)), hex(&bytes[..bytes.len().min(HEAD_BYTES)]))
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// All fields in which a delivery differs from the record. The order of GSO names plays no part.
pub fn differences(expected: &Recorded, found: &Recorded) -> Vec<Difference> {
    let mut list = Vec::new();
    let mut check = |field: &str, expected: String, found: String| {
        if expected != found {
            let field = field.to_owned();
            list.push(Difference { field, expected, found, position: None });
        }
    };
    macro_rules! check_all {
        ($($field:ident)*) => {
            $(check(stringify!($field), text(&expected.$field), text(&found.$field));)*
        };
    }
    let sorted = |recorded: &Recorded| {
        let mut names = recorded.gso_type.clone();
        names.iter_mut().for_each(|n| n.sort());
        text(&names)
    };
    check_all!(frames len gso_size gso_segs);
    check("gso_type", sorted(expected), sorted(found));
    check_all!(csum csum_level csum_start csum_offset encapsulation hash vlan sha256);
    // The hash covers it: a packed record goes without.
    if expected.head.is_some() {
        check("head", text(&expected.head), text(&found.head));
    }
    list
}

/// A field as people read it: without the `Some` around what is there.
fn text(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    match text.strip_prefix("Some(").and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => inner.to_owned(),
        None if text == "None" => "none".to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut Recorded);

    fn example() -> Recorded {
        Recorded {
            frames: vec![0, 1],
            len: 254,
            gso_size: Some(100),
            gso_segs: Some(2),
            gso_type: Some(vec!["TCPV4".into(), "TCP_FIXEDID".into()]),
            csum: "partial".into(),
            csum_level: None,
            csum_start: Some(34),
            csum_offset: Some(16),
            encapsulation: None,
            hash: 7,
            vlan: Some((0x8100, 5)),
            sha256: "00".into(),
            head: Some("ff".into()),
        }
    }

    #[test]
    fn every_recorded_field_is_compared() {
        let changes: [(&str, Change); 14] = [
            ("frames", |r| r.frames.reverse()),
            ("len", |r| r.len += 1),
            ("gso_size", |r| r.gso_size = None),
            ("gso_segs", |r| r.gso_segs = Some(3)),
            ("gso_type", |r| r.gso_type = Some(vec!["TCPV4".into()])),
            ("csum", |r| r.csum = "none".into()),
            ("csum_level", |r| r.csum_level = Some(1)),
            ("csum_start", |r| r.csum_start = Some(38)),
            ("csum_offset", |r| r.csum_offset = None),
            ("encapsulation", |r| r.encapsulation = Some(1)),
            ("hash", |r| r.hash = 8),
            ("vlan", |r| r.vlan = None),
            ("sha256", |r| r.sha256 = "01".into()),
            ("head", |r| r.head = Some("fe".into())),
        ];
        for (field, change) in changes {
            let mut found = example();
            change(&mut found);
            let list = differences(&example(), &found);
            assert_eq!(list.len(), 1, "{field}");
            assert_eq!(list[0].field, field);
        }
        assert!(differences(&example(), &example()).is_empty());
    }

    #[test]
    fn order_of_gso_names_plays_no_part() {
        let mut found = example();
        found.gso_type.as_mut().expect("merged").reverse();
        assert!(differences(&example(), &found).is_empty());
    }
}
