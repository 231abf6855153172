//! Decodes a completion: positions from the table, computed when this is compiled.
//!
//! Follows: spec row `nic::COMPLETION`.
//! Invariant: every field is read from where the table has it (`reads_what_the_table_says`).
//! Not here: whether any of it can be true (`ledger`).

use groove_spec::Field;
use groove_spec::nic::{COMPLETION, COMPLETION_BYTES};

/// Position of a field; a name that the table does not have does not compile.
const fn position(name: &str) -> Field {
    let name = name.as_bytes();
    let mut i = 0;
    loop {
        let field = COMPLETION.fields[i];
        let candidate = field.name.as_bytes();
        let mut same = candidate.len() == name.len();
        let mut at = 0;
        while same && at < name.len() {
            same = candidate[at] == name[at];
            at += 1;
        }
        if same {
            return field;
        }
        i += 1;
    }
}

/// Several fields that lie side by side, as one.
const fn span(first: &str, last: &str) -> Field {
    let (first, last) = (position(first), position(last));
    Field { width: last.lsb + last.width - first.lsb, ..first }
}

/// The four 64-bit words of a completion, of which each field is taken when it is wanted. Nothing
/// of it is believed before the ledger has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words(pub [u64; COMPLETION_BYTES / 8]);

macro_rules! record {
    ($($(#[$doc:meta])* $name:ident: $type:ty),* $(,)?) => {
        impl Words {
            $($(#[$doc])*
            #[inline(always)]
            pub const fn $name(self) -> $type {
                const FIELD: Field = position(stringify!($name));
                const { assert!(FIELD.width <= 8 * size_of::<$type>()) };
                bits(self.0, FIELD) as $type
            })*
        }

        /// A completion as numbers.
        #[cfg(test)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Completion { $($(#[$doc])* pub $name: $type),* }

        #[cfg(test)]
        impl Completion {
            /// Decodes the four words.
            pub fn decode(words: [u64; COMPLETION_BYTES / 8]) -> Self {
                let words = Words(words);
                Self { $($name: words.$name()),* }
            }

            /// The four words; what does not fit into its field is refused.
            pub fn encode(&self) -> Words {
                let mut words = [0; COMPLETION_BYTES / 8];
                $(put(&mut words, position(stringify!($name)), self.$name.into());)*
                Words(words)
            }
        }
    };
}

record! {
    /// The buffer that it returns.
    buf_id: u16,
    /// Bytes in that buffer.
    length: u32,
    /// Bytes in the header slot.
    hdr_len: u16,
    /// First of its delivery.
    first: u8,
    /// Last of its delivery.
    last: u8,
    /// Header apart from payload.
    split: u8,
    /// A DMA error hit the delivery.
    error: u8,
    /// A tag was stripped.
    vlan_valid: u8,
    /// Its protocol.
    vlan_tpid: u8,
    /// Its control information.
    vlan_tci: u16,
    /// Receive hash.
    hash: u32,
    /// What it covers.
    hash_type: u8,
    /// Class of the destination.
    packet_type: u8,
    /// Protocol.
    protocol: u16,
    /// Checksum state.
    csum: u8,
    /// Verified levels minus one.
    csum_level: u8,
    /// Position of the TCP header.
    csum_start: u8,
    /// Verdict on the IP header.
    l3_verdict: u8,
    /// Verdict on TCP or UDP.
    l4_verdict: u8,
    /// Header bytes.
    header_bytes: u8,
    /// Bytes of the delivery.
    total_len: u32,
    /// Payload of the first segment.
    gso_size: u16,
    /// Segments.
    gso_segs: u16,
    /// GSO bits.
    gso_type: u16,
    /// Inner headers are valid.
    encapsulation: u8,
    /// Why the session ended.
    end_reason: u8,
    /// Why the frame was delivered alone.
    alone_reason: u8,
    /// Zero.
    reserved: u64,
}

/// Bits of [`Words::reasons`].
pub const REASON_BITS: usize = span("end_reason", "alone_reason").width;
/// The lower of them: why the session ended.
pub const END_REASON_BITS: usize = position("end_reason").width;

/// Fields that are looked at together, since together they are nearly always what they should be.
impl Words {
    /// Everything that only a merged delivery has: 0 if one frame.
    #[inline(always)]
    pub const fn merge(self) -> u64 {
        bits(self.0, const { span("gso_size", "encapsulation") })
    }

    /// The code of why the session ended and, above it, of why the frame was delivered alone.
    #[inline(always)]
    pub const fn reasons(self) -> usize {
        bits(self.0, const { span("end_reason", "alone_reason") }) as usize
    }

    /// The same with the mark of a DMA error.
    #[inline(always)]
    pub const fn with_error(mut self) -> Self {
        const ERROR: Field = position("error");
        self.0[ERROR.lsb / 64] |= 1 << (ERROR.lsb % 64);
        self
    }
}

#[inline(always)]
const fn bits(words: [u64; COMPLETION_BYTES / 8], field: Field) -> u64 {
    let (word, shift) = (field.lsb / 64, field.lsb % 64);
    let mut value = words[word] >> shift;
    if shift + field.width > 64 {
        value |= words[word + 1] << (64 - shift);
    }
    value & (u64::MAX >> (64 - field.width))
}

#[cfg(test)]
fn put(words: &mut [u64; COMPLETION_BYTES / 8], field: Field, value: u64) {
    assert!(value <= u64::MAX >> (64 - field.width), "{} is {value}", field.name);
    for bit in 0..field.width {
        let at = field.lsb + bit;
        words[at / 64] |= (value >> bit & 1) << (at % 64);
    }
}

// Where `ring::take` looks for it.
const _: () = assert!(position("generation").lsb == 8 * COMPLETION_BYTES - 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_table_says() {
        // A pattern without a period that a wrong position could hide behind.
        let words: [u64; 4] = std::array::from_fn(|i| {
            (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(11 * i as u32)
        });
        let halves: Vec<u32> = words.iter().flat_map(|w| [*w as u32, (*w >> 32) as u32]).collect();
        let text = format!("{:?}", Completion::decode(words));
        for field in COMPLETION.fields.iter().filter(|field| field.name != "generation") {
            let expected = format!("{}: {}", field.name, field.extract(&halves));
            assert!(
                text.contains(&format!(" {expected},")) || text.contains(&format!(" {expected} ")),
                "{expected} in {text}"
            );
        }
    }

    #[test]
    fn each_field_fills_its_width() {
        let all = Completion::decode([u64::MAX; 4]);
        assert_eq!((all.length, all.total_len, all.gso_type), (0x1_ffff, 0x1_ffff, 0x1ff));
        assert_eq!((all.reserved, all.hdr_len), ((1 << 47) - 1, 0x1ff));
        assert_eq!((Words([u64::MAX; 4]).merge(), all.encode().reasons()), ((1 << 42) - 1, 0xff));
    }

    #[test]
    fn what_is_encoded_is_what_is_read() {
        let words = Words([0x0123_4567_89ab_cdef, u64::MAX / 3, u64::MAX / 5, u64::MAX / 15]);
        assert_eq!(Completion::decode(words.0).encode(), words);
        let marked = Completion::decode(words.with_error().0);
        assert_eq!(marked, Completion { error: 1, ..Completion::decode(words.0) });
    }
}
