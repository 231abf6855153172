//! Between recorded cases and the oracle's own types, which know nothing of the project.

use groove_model::GivenCsum;
use groove_oracle::{Csum, Delivery, Frame};

use crate::golden::case::{Case, Input};
use crate::golden::{Recorded, record_hash};

/// A frame without any metadata.
pub fn plain(bytes: Vec<u8>) -> Frame {
    Frame { bytes, hash: 1, csum: Default::default(), tag: None, gap: false }
}

/// The frames of a case.
pub fn frames(case: &Case) -> Vec<Frame> {
    case.frames.iter().map(frame).collect()
}

fn frame(input: &Input) -> Frame {
    let csum = match input.given.csum {
        GivenCsum::None => groove_oracle::GivenCsum::None,
        GivenCsum::Unnecessary => groove_oracle::GivenCsum::Unnecessary,
        GivenCsum::Partial { start, offset } => groove_oracle::GivenCsum::Partial { start, offset },
    };
    Frame {
        bytes: input.bytes.clone(),
        hash: input.given.hash.unwrap_or_default(),
        csum,
        tag: input.given.vlan.map(|tag| (tag.tpid, tag.tci)),
        gap: input.gap,
    }
}

/// A delivery as recordings hold it.
pub fn recorded(delivery: &Delivery) -> Recorded {
    let merged = delivery.gso_segs > 0;
    let (csum, level, partial) = match delivery.csum {
        Csum::None => ("none", 0, None),
        Csum::Unnecessary { level } => ("unnecessary", level, None),
        Csum::Complete => ("complete", 0, None),
        Csum::Partial { start, offset } => ("partial", 0, Some((start, offset))),
    };
    let (sha256, head) = record_hash(&delivery.bytes);
    Recorded {
        // A burst has at most 64 frames.
        frames: delivery.frames.iter().map(|frame| *frame as u32).collect(),
        len: delivery.bytes.len(),
        gso_size: merged.then_some(delivery.gso_size),
        gso_segs: merged.then_some(delivery.gso_segs),
        gso_type: merged.then(|| delivery.gso_type.clone()),
        csum: csum.to_owned(),
        csum_level: (level > 0).then_some(level),
        csum_start: partial.map(|(start, _)| start),
        csum_offset: partial.map(|(_, offset)| offset),
        encapsulation: delivery.encapsulation.then_some(1),
        hash: delivery.hash,
        vlan: delivery.tag,
        sha256,
        head: merged.then_some(head),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_keeps_every_field() {
        let delivery = Delivery {
            frames: vec![0, 2],
            bytes: vec![0xab; 200],
            gso_size: 100,
            gso_segs: 2,
            gso_type: vec!["TCPV4".into()],
            csum: Csum::Partial { start: 34, offset: 16 },
            encapsulation: true,
            hash: 7,
            tag: Some((0x8100, 5)),
        };
        let merged = recorded(&delivery);
        assert_eq!((merged.frames, merged.len, merged.gso_segs), (vec![0, 2], 200, Some(2)));
        assert_eq!((merged.csum_start, merged.csum_offset), (Some(34), Some(16)));
        assert_eq!(merged.head.as_ref().map(String::len), Some(256));
        assert_eq!((merged.encapsulation, merged.vlan), (Some(1), Some((0x8100, 5))));
        let csum = Csum::Unnecessary { level: 1 };
        let lone = recorded(&Delivery { gso_size: 0, gso_segs: 0, csum, ..delivery });
        assert_eq!((lone.gso_size, lone.gso_type, lone.head), (None, None, None));
        assert_eq!((&*lone.csum, lone.csum_level), ("unnecessary", Some(1)));
    }
}
