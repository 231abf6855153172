//! A digest of deliveries: two that are equal say that two parties delivered the same, in the same
//! order within each queue, without the deliveries having to be sent.
//!
//!   delivery ──► its queue's SHA-256 ──┐
//!   delivery ──► its queue's SHA-256 ──┴─► SHA-256 of (queue, digest), in order of the queues
//!
//! Every field counts but the numbers of the frames, which a driver does not know.
//! Invariants: no field goes unnoticed (`every_field_counts`); how queues interleave does not
//! matter, the order within one does (`order_counts_within_a_queue`).

use std::collections::BTreeMap;
use std::fmt::Write;

use groove_spec::Delivery;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The digest of what was delivered so far.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    queues: BTreeMap<u8, Sha256>,
}

impl Digest {
    /// Takes a delivery.
    pub fn add(&mut self, delivery: &Delivery) {
        // Written out, so that a further field is not forgotten.
        let Delivery {
            queue,
            frames: _,
            bytes,
            hdr_len,
            hash,
            hash_type,
            vlan,
            packet_type,
            protocol,
            csum,
            csum_level,
            csum_start,
            csum_offset,
            l3_verdict,
            l4_verdict,
            gso_size,
            gso_segs,
            gso_type,
            encapsulation,
            end_reason,
            alone_reason,
        } = delivery;
        let vlan = vlan.map_or([0; 3], |tag| [1, tag.tpid.into(), tag.tci.into()]);
        let numbers: [u64; 19] = [
            bytes.len() as u64,
            (*hdr_len).into(),
            (*hash).into(),
            hash_type.code().into(),
            vlan[0],
            vlan[1],
            vlan[2],
            packet_type.code().into(),
            (*protocol).into(),
            *csum as u64,
            (*csum_level).into(),
            (*csum_start).into(),
            (*csum_offset).into(),
            u64::from(l3_verdict.code()) << 8 | u64::from(l4_verdict.code()),
            (*gso_size).into(),
            (*gso_segs).into(),
            (*gso_type).into(),
            (*encapsulation).into(),
            u64::from(end_reason.code()) << 8 | u64::from(alone_reason.code()),
        ];
        let sum = self.queues.entry(*queue).or_default();
        for number in numbers {
            sum.update(number.to_le_bytes());
        }
        sum.update(bytes);
    }

    /// In hexadecimal digits.
    pub fn text(&self) -> String {
        let mut all = Sha256::new();
        for (queue, sum) in &self.queues {
            all.update([*queue]);
            all.update(sum.clone().finalize());
        }
        all.finalize().iter().fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_model::{Config, Event, Frame, Model};
    use groove_spec::{AloneReason, CsumState, EndReason, HashType, PacketType, Tag, Verdict};

    fn delivery(queue: u8, byte: u8) -> Delivery {
        let mut model = Model::new(Config::default()).unwrap();
        let mut events = Vec::new();
        model.frame(Frame::new(&[byte; 60]), &mut events);
        let Some(Event::Delivery(delivery)) = events.pop() else { panic!("not delivered") };
        Delivery { queue, ..delivery }
    }

    fn digest(deliveries: &[Delivery]) -> String {
        let mut digest = Digest::default();
        deliveries.iter().for_each(|delivery| digest.add(delivery));
        digest.text()
    }

    #[test]
    fn every_field_counts() {
        let base = delivery(1, 1);
        let changes: [fn(&mut Delivery); 20] = [
            |d| d.queue = 2,
            |d| d.bytes[59] ^= 1,
            |d| d.hdr_len ^= 1,
            |d| d.hash ^= 1,
            |d| d.hash_type = next(HashType::ALL, d.hash_type),
            |d| d.vlan = Some(Tag { tpid: 0, tci: 0 }),
            |d| d.vlan = Some(Tag { tpid: 0, tci: 1 }),
            |d| d.packet_type = next(PacketType::ALL, d.packet_type),
            |d| d.protocol ^= 1,
            |d| d.csum = CsumState::Partial,
            |d| d.csum_level ^= 1,
            |d| d.csum_start ^= 1,
            |d| d.csum_offset ^= 1,
            |d| d.l3_verdict = next(Verdict::ALL, d.l3_verdict),
            |d| d.l4_verdict = next(Verdict::ALL, d.l4_verdict),
            |d| d.gso_size ^= 1,
            |d| d.gso_segs ^= 1,
            |d| d.gso_type ^= 1,
            |d| d.end_reason = next(EndReason::ALL, d.end_reason),
            |d| d.alone_reason = next(AloneReason::ALL, d.alone_reason),
        ];
        let mut seen = vec![digest(&[]), digest(std::slice::from_ref(&base))];
        for change in changes {
            let mut changed = base.clone();
            change(&mut changed);
            seen.push(digest(&[changed]));
        }
        let encapsulation = !base.encapsulation;
        seen.push(digest(&[Delivery { encapsulation, ..base.clone() }]));
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count, "two are the same");
        let frames = vec![7, 8];
        assert_eq!(digest(&[Delivery { frames, ..base.clone() }]), digest(&[base]));
    }

    /// Another value of a coded name.
    fn next<T: Copy + PartialEq>(all: &[T], value: T) -> T {
        all.iter().copied().find(|other| *other != value).unwrap()
    }

    #[test]
    fn order_counts_within_a_queue() {
        let [a, b, c] = [(1, 1), (1, 2), (2, 1)].map(|(queue, byte)| delivery(queue, byte));
        let sum = digest(&[a.clone(), b.clone(), c.clone()]);
        assert_eq!(digest(&[c.clone(), a.clone(), b.clone()]), sum);
        assert_ne!(digest(&[b, a, c]), sum);
        assert_eq!(sum.len(), 64);
    }
}
