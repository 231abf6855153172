//! Completions: the records that bring buffers home.
//!
//! Follows: spec row `nic::COMPLETION`.
//! Invariants: every field that the table has is filled from the delivery
//! (`every_field_comes_back`); each record returns exactly one buffer
//! (`one_record_for_each_buffer`).

use groove_spec::nic::{COMPLETION, COMPLETION_BYTES};
use groove_spec::{CsumState, Delivery};

/// A buffer of a delivery and the bytes in it.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The buffer.
    pub id: u16,
    /// Its bytes of the delivery.
    pub length: usize,
}

/// A completion without its generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record([u8; COMPLETION_BYTES]);

impl Record {
    fn set(&mut self, name: &str, value: impl Into<u64>) {
        let field = COMPLETION.field(name);
        let value = value.into();
        for i in 0..field.width {
            let bit = field.lsb + i;
            self.0[bit / 8] |= ((value >> i & 1) as u8) << (bit % 8);
        }
    }

    /// As it lies in memory.
    pub fn bytes(mut self, generation: bool) -> [u8; COMPLETION_BYTES] {
        self.set("generation", generation);
        self.0
    }
}

/// Returns a buffer that nothing was written to.
pub fn returned(id: u16) -> Record {
    let mut record = Record::default();
    record.set("buf_id", id);
    record.set("first", true);
    record.set("last", true);
    record
}

/// The records of a delivery, in order.
pub fn records(
    delivery: &Delivery,
    pieces: &[Piece],
    in_slot: usize,
    split: bool,
    error: bool,
) -> Vec<Record> {
    let record = |(i, piece): (usize, &Piece)| {
        let mut record = Record::default();
        if i == 0 {
            describe(&mut record, delivery);
            record.set("hdr_len", in_slot as u64);
            record.set("split", split);
        }
        record.set("buf_id", piece.id);
        record.set("length", piece.length as u64);
        record.set("first", i == 0);
        record.set("last", i + 1 == pieces.len());
        record.set("error", error);
        record
    };
    pieces.iter().enumerate().map(record).collect()
}

fn describe(record: &mut Record, delivery: &Delivery) {
    if let Some(tag) = delivery.vlan {
        record.set("vlan_valid", true);
        record.set("vlan_tpid", tag.tpid == 0x88a8);
        record.set("vlan_tci", tag.tci);
    }
    record.set("hash", delivery.hash);
    record.set("hash_type", delivery.hash_type.code());
    record.set("packet_type", delivery.packet_type.code());
    record.set("protocol", delivery.protocol);
    record.set("csum", delivery.csum as u8);
    record.set("csum_level", delivery.csum_level);
    if delivery.csum == CsumState::Partial {
        record.set("csum_start", delivery.csum_start);
    }
    record.set("l3_verdict", delivery.l3_verdict.code());
    record.set("l4_verdict", delivery.l4_verdict.code());
    record.set("header_bytes", delivery.hdr_len);
    record.set("total_len", delivery.bytes.len() as u64);
    record.set("gso_size", delivery.gso_size);
    record.set("gso_segs", delivery.gso_segs);
    record.set("gso_type", delivery.gso_type);
    record.set("encapsulation", delivery.encapsulation);
    record.set("end_reason", delivery.end_reason.code());
    record.set("alone_reason", delivery.alone_reason.code());
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::{AloneReason, EndReason, HashType, PacketType, Tag, Verdict};

    fn delivery() -> Delivery {
        Delivery {
            queue: 0,
            frames: vec![7],
            bytes: vec![0; 3000],
            hdr_len: 66,
            hash: 0xdead_beef,
            hash_type: HashType::Ipv6Udp,
            vlan: Some(Tag { tpid: 0x88a8, tci: 0x6123 }),
            packet_type: PacketType::OtherHost,
            protocol: 0x86dd,
            csum: CsumState::Partial,
            csum_level: 1,
            csum_start: 46,
            csum_offset: 16,
            l3_verdict: Verdict::Good,
            l4_verdict: Verdict::Absent,
            gso_size: 1467,
            gso_segs: 2,
            gso_type: 0x102,
            encapsulation: true,
            end_reason: EndReason::FlushOld,
            alone_reason: AloneReason::SoftFlush,
        }
    }

    fn read(record: Record, name: &str) -> u64 {
        let bytes = record.bytes(true);
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        COMPLETION.field(name).extract(&words)
    }

    #[test]
    fn every_field_comes_back() {
        let pieces = [Piece { id: 0xabcd, length: 2048 }, Piece { id: 3, length: 886 }];
        let records = records(&delivery(), &pieces, 66, true, false);
        let expected = [
            ("buf_id", 0xabcd),
            ("length", 2048),
            ("hdr_len", 66),
            ("first", 1),
            ("last", 0),
            ("split", 1),
            ("error", 0),
            ("vlan_valid", 1),
            ("vlan_tpid", 1),
            ("vlan_tci", 0x6123),
            ("hash", 0xdead_beef),
            ("hash_type", 6),
            ("packet_type", 3),
            ("protocol", 0x86dd),
            ("csum", 2),
            ("csum_level", 1),
            ("csum_start", 46),
            ("l3_verdict", 1),
            ("l4_verdict", 3),
            ("header_bytes", 66),
            ("total_len", 3000),
            ("gso_size", 1467),
            ("gso_segs", 2),
            ("gso_type", 0x102),
            ("encapsulation", 1),
            ("end_reason", 16),
            ("alone_reason", 4),
            ("reserved", 0),
            ("generation", 1),
        ];
        assert_eq!(expected.len(), COMPLETION.fields.len());
        for (name, value) in expected {
            assert_eq!(read(records[0], name), value, "{name}");
        }
    }

    #[test]
    fn one_record_for_each_buffer() {
        let pieces = [1, 2, 3].map(|id| Piece { id, length: 100 * usize::from(id) });
        let records = records(&delivery(), &pieces, 0, false, true);
        let of = |name| records.iter().map(|r| read(*r, name)).collect::<Vec<_>>();
        assert_eq!((of("buf_id"), of("length")), (vec![1, 2, 3], vec![100, 200, 300]));
        assert_eq!((of("first"), of("last")), (vec![1, 0, 0], vec![0, 0, 1]));
        assert_eq!((of("error"), of("total_len")), (vec![1, 1, 1], vec![3000, 0, 0]));
    }
}
