//! Enumerations with a code in hardware. Codes are positions in the list; order is part of the
//! table.

/// Declares a coded enum with its table of rows.
macro_rules! coded {
    ($(#[$meta:meta])* $name:ident {
        $($variant:ident = $text:literal : $doc:literal),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $(#[doc = $doc] $variant),* }

        impl $name {
            /// Every variant, by code.
            pub const ALL: &[$name] = &[$($name::$variant),*];
            /// Names, by code.
            pub const NAMES: &[&str] = &[$($text),*];
            /// Descriptions, by code.
            pub const DOCS: &[&str] = &[$($doc),*];
            /// Name of the enumeration.
            pub const TABLE: &str = stringify!($name);

            /// Code in hardware.
            pub const fn code(self) -> u8 {
                self as u8
            }
            /// Name in reports.
            pub const fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
            /// Variant of a code read from hardware.
            pub fn from_code(code: u64) -> Option<Self> {
                Self::ALL.get(usize::try_from(code).ok()?).copied()
            }
            /// Variant of a name given by a person.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::NAMES.iter().position(|n| *n == name).map(|i| Self::ALL[i])
            }
        }
    };
}

coded!(
    /// Which kernel's merge rules apply.
    Profile {
        Linux612 = "linux-6.12": "Rules of 6.12: CWR blocks, fixed id needs DF, outer id with DF ignored.",
        Linux618 = "linux-6.18": "Rules of 6.18: CWR blocks and is compared.",
        Linux73 = "linux-7.3": "Rules of 7.3: CWR is compared like any other flag.",
    }
);
coded!(
    /// Run-time options: bit positions in `CONTROL`.
    OptionBit {
        RxCsum = "rxcsum": "The checksum verdict is given with the frame, as a NIC does.",
        VlanStrip = "vlan_strip": "The outermost tag is taken out of the frame.",
        VlanGro = "vlan_gro": "Frames with in-band tags may merge.",
        Tunnels = "tunnels": "One level of IPIP, SIT, IP4IP6, IP6IP6 or GRE may merge.",
        Pppoe = "pppoe": "PPPoE session frames may merge.",
        TrimPad = "trim_pad": "Bytes behind the IP length are cut off before merging.",
        StrictOrder = "strict_order": "A frame that cannot merge first closes the session of its flow.",
    }
);
coded!(
    /// Kind of an operation at the boundary to `place`.
    OpKind {
        Alone = "alone": "Takes the next frame: one delivery of its own.",
        Open = "open": "Takes the next frame: the first of a session.",
        Append = "append": "Takes the next frame: its payload joins the session.",
        Close = "close": "Takes no frame: the session is delivered.",
        Flushed = "flushed": "Takes no frame: a flush-all token of the queue is through.",
    }
);
coded!(
    /// Kind of a flush token.
    TokenKind {
        FlushAll = "flush-all": "Closes every session of the queue, bucket 0 first, oldest first.",
        FlushOld = "flush-old": "Closes, in each bucket from the oldest, what was opened before this tick.",
        Tick = "tick": "Advances the queue's tick by one.",
    }
);
coded!(
    /// Why a session ended, or 'none' in an operation that does not end one.
    EndReason {
        None = "none": "Not an end.",
        Flags = "flags": "The merged segment carried URG, PSH, RST, SYN or FIN.",
        Short = "short": "The merged segment was shorter than gso_size.",
        CwrDiffer = "cwr": "A segment with CWR arrived (6.12, 6.18).",
        FlagsDiffer = "flags-differ": "Data offset, reserved bits, flags or window differ.",
        AckDiffer = "ack-differ": "The acknowledgement number differs.",
        OptionsDiffer = "options-differ": "TCP option bytes differ.",
        NetworkDiffer = "network-differ": "TTL, TOS, DF, traffic class or hop limit differ.",
        IpId = "ip-id": "The IPv4 identification neither increments nor stays fixed.",
        Empty = "empty": "The segment has no payload.",
        Larger = "larger": "The segment is larger than gso_size.",
        Sequence = "sequence": "The sequence number does not continue the session.",
        SoftFlush = "soft-flush": "Padding, truncation or the reserved fragment bit.",
        Limit = "limit": "The merged frame would exceed 65,535 bytes behind the MAC header.",
        Evicted = "evicted": "The bucket was full and this session the oldest.",
        FlushAll = "flush-all": "A flush-all token.",
        FlushOld = "flush-old": "A flush-old token.",
        StrictOrder = "strict-order": "strict_order: a frame of the flow could not merge.",
    }
);
coded!(
    /// Why a frame was delivered alone.
    AloneReason {
        None = "none": "Not an ALONE operation.",
        Bypass = "bypass": "Not a candidate: no handler, options, fragment, bad checksum, unreadable header.",
        Empty = "empty": "Candidate without payload.",
        Flags = "flags": "Candidate with URG, PSH, RST, SYN or FIN.",
        SoftFlush = "soft-flush": "Candidate with padding, truncation or the reserved fragment bit.",
    }
);
coded!(
    /// Why a frame was not delivered.
    DropReason {
        Runt = "runt": "Shorter than 14 bytes.",
        Oversize = "oversize": "Longer than MAX_FRAME.max_frame_bytes.",
        BadFcs = "bad-fcs": "The MAC marked the frame check sequence as bad.",
        Overflow = "overflow": "No room in the frame FIFO (only when built without back-pressure).",
        NoBuffer = "no-buffer": "No prefetched buffers for the frame's worst case.",
    }
);
coded!(
    /// Hash types: bit positions in `RSS_CONTROL.hash_types`, and the code in a delivery.
    HashType {
        None = "none": "No hash: not IP, or its type is switched off.",
        Ipv4 = "ipv4": "IPv4 addresses.",
        Ipv4Tcp = "ipv4-tcp": "IPv4 addresses and TCP ports.",
        Ipv4Udp = "ipv4-udp": "IPv4 addresses and UDP ports.",
        Ipv6 = "ipv6": "IPv6 addresses.",
        Ipv6Tcp = "ipv6-tcp": "IPv6 addresses and TCP ports.",
        Ipv6Udp = "ipv6-udp": "IPv6 addresses and UDP ports.",
    }
);
coded!(
    /// How RSS orders its input.
    SymmetricMode {
        Off = "off": "source, destination, source port, destination port.",
        Xor = "xor": "s^d, s^d, sp^dp, sp^dp.",
        OrXor = "or-xor": "s|d, s^d, sp|dp, sp^dp.",
    }
);
coded!(
    /// Packet type by destination address (`eth_type_trans`).
    PacketType {
        Host = "host": "To the station address.",
        Broadcast = "broadcast": "To ff:ff:ff:ff:ff:ff.",
        Multicast = "multicast": "To another group address.",
        OtherHost = "other-host": "To another station.",
    }
);
coded!(
    /// Result of a checksum check.
    Verdict {
        NotApplicable = "n/a": "There is no such checksum, or its header is unreadable.",
        Good = "good": "The sum is right.",
        Bad = "bad": "The sum is wrong.",
        Absent = "absent": "UDP without a checksum (field 0).",
    }
);
