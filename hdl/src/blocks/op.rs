//! Records and ports of the operation stream: what leaves towards `place`.
//!
//!   coalesce ─Raw─► fixup ─Op─► m_op
//!
//! Raw is an operation whose header still is the stored one, with what `fixup` needs to correct it.
//!
//! Invariant: the fields of [`Operation`] are those of `OPERATION`, bit for bit
//! (`operation_is_the_table`). Not here: behaviour.

use rust_hdl::prelude::*;

/// One operation: `OPERATION` of the table, field by field.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Operation {
    pub kind: Bits<3>,
    pub queue: Bits<5>,
    pub session: Bits<10>,
    pub hash: Bits<32>,
    pub hash_type: Bits<3>,
    pub vlan_valid: Bit,
    pub vlan_tpid: Bit,
    pub vlan_tci: Bits<16>,
    pub packet_type: Bits<2>,
    pub protocol: Bits<16>,
    pub csum: Bits<2>,
    pub csum_level: Bits<2>,
    pub csum_start: Bits<8>,
    pub l3_verdict: Bits<2>,
    pub l4_verdict: Bits<2>,
    pub hdr_len: Bits<8>,
    pub payload_len: Bits<17>,
    pub gso_size: Bits<16>,
    pub gso_segs: Bits<16>,
    pub gso_type: Bits<9>,
    pub encapsulation: Bit,
    pub end_reason: Bits<5>,
    pub alone_reason: Bits<3>,
}

/// How to correct the header of a merged session.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Fix {
    /// A session of more than one segment; else nothing is corrected.
    pub merged: Bit,
    /// As in the metadata of its first frame.
    pub l3_kind: Bits<2>,
    /// As in the metadata of its first frame.
    pub l3_off: Bits<5>,
    /// As in the metadata of its first frame.
    pub l4_off: Bits<7>,
    /// As in the metadata of its first frame.
    pub addr_sum: Bits<16>,
    /// A segment carried FIN.
    pub fin: Bit,
    /// A segment carried PSH.
    pub psh: Bit,
}

/// Operation and header, ready for `place`: outgoing end.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "OpSink"]
pub struct OpSource {
    pub meta: Signal<Out, Operation>,
    pub header: Signal<Out, Bits<1024>>,
    pub valid: Signal<Out, Bit>,
    pub ready: Signal<In, Bit>,
}

/// Operation and header, ready for `place`: incoming end.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "OpSource"]
pub struct OpSink {
    pub meta: Signal<In, Operation>,
    pub header: Signal<In, Bits<1024>>,
    pub valid: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
}

/// Operation with its header as stored: outgoing end.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "RawSink"]
pub struct RawSource {
    pub meta: Signal<Out, Operation>,
    pub fix: Signal<Out, Fix>,
    pub header: Signal<Out, Bits<1024>>,
    pub valid: Signal<Out, Bit>,
    pub ready: Signal<In, Bit>,
}

/// Operation with its header as stored: incoming end.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "RawSource"]
pub struct RawSink {
    pub meta: Signal<In, Operation>,
    pub fix: Signal<In, Fix>,
    pub header: Signal<In, Bits<1024>>,
    pub valid: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_spec::stages::coalesce::OPERATION;

    #[test]
    fn operation_is_the_table() {
        let TypeKind::Composite(fields) = Operation::descriptor().kind else { panic!("a struct") };
        let mut lsb = 0;
        for (ours, row) in fields.iter().zip(OPERATION.fields) {
            let TypeKind::Bits(width) = &ours.kind.kind else { panic!("{}", row.name) };
            assert_eq!((ours.fieldname.as_str(), lsb, *width), (row.name, row.lsb, row.width));
            lsb += width;
        }
        assert_eq!(fields.len(), OPERATION.fields.len());
        assert_eq!(Operation::BITS, OPERATION.bits());
    }
}
