//! Decodes operations by the table's `OPERATION` layout.
//!
//! Invariants: every field of the table is read (`fields_are_read_at_their_place`).
//! Not here: any sense of their sequence (`assemble.rs`).

use groove_spec::stages::coalesce::OPERATION;
use groove_spec::{
    AloneReason, CsumState, Delivery, EndReason, HashType, OpKind, PacketType,
    TCP_CSUM_OFFSET_BYTES, Tag, Verdict,
};

/// Words of an operation.
pub(crate) const OPERATION_WORDS: usize = OPERATION.bits().div_ceil(32);

/// One operation as it left the hardware.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation([u32; OPERATION_WORDS]);

macro_rules! fields {
    ($($name:ident)*) => {$(
        /// The field of that name.
        pub(crate) fn $name(&self) -> u32 {
            const INDEX: usize = index(stringify!($name));
            self.extract(INDEX)
        }
    )*};
}

/// Position of a field in the table.
const fn index(name: &str) -> usize {
    let mut i = 0;
    while i < OPERATION.fields.len() {
        if equal(OPERATION.fields[i].name.as_bytes(), name.as_bytes()) {
            assert!(OPERATION.fields[i].width <= 32, "fields are read as 32 bits");
            return i;
        }
        i += 1;
    }
    panic!("OPERATION has no such field")
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl Operation {
    pub(crate) fn new(words: [u32; OPERATION_WORDS]) -> Self {
        Self(words)
    }

    fn extract(&self, index: usize) -> u32 {
        let field = &OPERATION.fields[index];
        let word = field.lsb / 32;
        let high = self.0.get(word + 1).copied().unwrap_or(0);
        let pair = u64::from(self.0[word]) | u64::from(high) << 32;
        (pair >> (field.lsb % 32) & ((1 << field.width) - 1)) as u32
    }

    fields! {
        kind queue session hash hash_type vlan_valid vlan_tpid vlan_tci packet_type protocol csum
        csum_level csum_start l3_verdict l4_verdict hdr_len payload_len gso_size gso_segs gso_type
        encapsulation end_reason alone_reason
    }

    pub(crate) fn op_kind(&self) -> Option<OpKind> {
        OpKind::from_code(self.kind().into())
    }

    /// The delivery that an ALONE or CLOSE describes.
    pub(crate) fn delivery(&self, frames: Vec<u32>, bytes: Vec<u8>) -> Result<Delivery, String> {
        let csum = match self.csum() {
            0 => CsumState::None,
            1 => CsumState::Unnecessary,
            2 => CsumState::Partial,
            code => return Err(format!("csum has the code {code}, which does not exist")),
        };
        let partial = csum == CsumState::Partial;
        let tpid = if self.vlan_tpid() == 0 { 0x8100 } else { 0x88a8 };
        let tag = Tag { tpid, tci: self.vlan_tci() as u16 };
        Ok(Delivery {
            queue: self.queue() as u8,
            frames,
            bytes,
            hdr_len: self.hdr_len() as u16,
            hash: self.hash(),
            hash_type: coded("hash_type", self.hash_type(), HashType::from_code)?,
            vlan: (self.vlan_valid() != 0).then_some(tag),
            packet_type: coded("packet_type", self.packet_type(), PacketType::from_code)?,
            protocol: self.protocol() as u16,
            csum,
            csum_level: self.csum_level() as u8,
            csum_start: self.csum_start() as u16,
            csum_offset: if partial { TCP_CSUM_OFFSET_BYTES as u16 } else { 0 },
            l3_verdict: coded("l3_verdict", self.l3_verdict(), Verdict::from_code)?,
            l4_verdict: coded("l4_verdict", self.l4_verdict(), Verdict::from_code)?,
            gso_size: self.gso_size() as u16,
            gso_segs: self.gso_segs() as u16,
            gso_type: self.gso_type() as u16,
            encapsulation: self.encapsulation() != 0,
            end_reason: coded("end_reason", self.end_reason(), EndReason::from_code)?,
            alone_reason: coded("alone_reason", self.alone_reason(), AloneReason::from_code)?,
        })
    }
}

fn coded<T>(name: &str, code: u32, from: impl Fn(u64) -> Option<T>) -> Result<T, String> {
    from(code.into()).ok_or_else(|| format!("{name} has the code {code}, which does not exist"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Packs named values; fields not named are 0.
    pub(crate) fn pack(values: &[(&str, u64)]) -> Operation {
        let mut words = [0; OPERATION_WORDS];
        for (name, value) in values {
            let field = OPERATION.field(name);
            for bit in 0..field.width {
                let at = field.lsb + bit;
                words[at / 32] |= ((value >> bit & 1) as u32) << (at % 32);
            }
        }
        Operation::new(words)
    }

    #[test]
    fn fields_are_read_at_their_place() {
        // Every field in turn: all ones in it, zero elsewhere.
        for (i, field) in OPERATION.fields.iter().enumerate() {
            let ones = (1u64 << field.width) - 1;
            let op = pack(&[(field.name, ones)]);
            for (j, other) in OPERATION.fields.iter().enumerate() {
                let expected = if i == j { ones } else { 0 };
                assert_eq!(u64::from(op.extract(j)), expected, "{} of {}", other.name, field.name);
                assert_eq!(other.extract(&op.0), expected);
            }
        }
    }

    #[test]
    fn delivery_carries_every_field() {
        let op = pack(&[
            ("kind", 3),
            ("queue", 17),
            ("hash", 0xdead_beef),
            ("hash_type", 2),
            ("vlan_valid", 1),
            ("vlan_tpid", 1),
            ("vlan_tci", 0x2007),
            ("packet_type", 3),
            ("protocol", 0x86dd),
            ("csum", 2),
            ("csum_level", 1),
            ("csum_start", 54),
            ("l3_verdict", 1),
            ("l4_verdict", 2),
            ("hdr_len", 74),
            ("gso_size", 1448),
            ("gso_segs", 45),
            ("gso_type", 0x1ff),
            ("encapsulation", 1),
            ("end_reason", 14),
            ("alone_reason", 1),
        ]);
        assert_eq!(op.op_kind(), Some(OpKind::Close));
        let delivery = op.delivery(vec![3, 5], vec![1, 2, 3]).unwrap();
        let expected = Delivery {
            queue: 17,
            frames: vec![3, 5],
            bytes: vec![1, 2, 3],
            hdr_len: 74,
            hash: 0xdead_beef,
            hash_type: HashType::Ipv4Tcp,
            vlan: Some(Tag { tpid: 0x88a8, tci: 0x2007 }),
            packet_type: PacketType::OtherHost,
            protocol: 0x86dd,
            csum: CsumState::Partial,
            csum_level: 1,
            csum_start: 54,
            csum_offset: 16,
            l3_verdict: Verdict::Good,
            l4_verdict: Verdict::Bad,
            gso_size: 1448,
            gso_segs: 45,
            gso_type: 0x1ff,
            encapsulation: true,
            end_reason: EndReason::Evicted,
            alone_reason: AloneReason::Bypass,
        };
        assert_eq!(delivery, expected);
    }

    #[test]
    fn codes_that_do_not_exist_are_refused() {
        let text = pack(&[("csum", 3)]).delivery(vec![], vec![]).unwrap_err();
        assert_eq!(text, "csum has the code 3, which does not exist");
        let text = pack(&[("end_reason", 31)]).delivery(vec![], vec![]).unwrap_err();
        assert_eq!(text, "end_reason has the code 31, which does not exist");
    }
}
