//! Registers of the device as a whole.
use crate::registers;

registers! { base 0x000, end 0x100;
    /// Hash of the table that the hardware was built from.
    SPEC_ID @ 0x00 ReadOnly = 0; { spec_id[0 +: 32] "FNV-1a of the table; the driver refuses another one." }
    /// What was built.
    CAPABILITIES @ 0x04 ReadOnly = 0; {
        queues[0 +: 6] "Receive queues.",
        width_bytes[8 +: 8] "Bytes of a beat.",
        buckets[16 +: 8] "Buckets per queue.",
        depth[24 +: 7] "Sessions per bucket.",
        lossless[31 +: 1] "Built with back-pressure to the MAC.",
    }
    /// Profile and options, for frames that enter later; write it while no frame is in flight.
    CONTROL @ 0x08 ReadWrite = 0x0000_0702; {
        profile[0 +: 2] "Merge rules: code of Profile.",
        rxcsum[8 +: 1] "The checksum verdict is given with the frame.",
        vlan_strip[9 +: 1] "The outermost tag is taken out of the frame.",
        vlan_gro[10 +: 1] "Frames with in-band tags may merge.",
        tunnels[11 +: 1] "Tunnels may merge (reads as written; the RTL has them off).",
        pppoe[12 +: 1] "PPPoE may merge (reads as written; the RTL has it off).",
        trim_pad[13 +: 1] "Bytes behind the IP length are cut off before merging.",
        strict_order[14 +: 1] "A frame that cannot merge first closes the session of its flow.",
    }
}
/// Position of `OptionBit` 0 in `CONTROL`; the others follow in order.
pub const CONTROL_OPTIONS_LSB: usize = 8;
