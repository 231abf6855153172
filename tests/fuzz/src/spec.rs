//! Target `spec`: any bytes as every record of the table.
//!
//!   bytes ─► record ─► fields ─► record: the same   one field changed ─► the others are as before
//!
//! Invariants: reading is total; the fields are the whole record, and none touches another; a code
//! is a name or nothing.

use groove_spec::{
    AloneReason, DropReason, EndReason, Field, HashType, Layout, OpKind, OptionBit, PacketType,
    Profile, STAGES, SymmetricMode, TokenKind, Verdict, nic,
};

use crate::input::Input;

/// Every record of the table.
fn layouts() -> impl Iterator<Item = &'static Layout> {
    STAGES.iter().flat_map(|stage| stage.layouts).chain(nic::LAYOUTS)
}

/// Runs one input.
pub fn run(data: &[u8]) {
    run_with(data, &layouts().copied().collect::<Vec<_>>());
}

/// Runs one input on these records.
pub fn run_with(data: &[u8], layouts: &[Layout]) {
    let mut input = Input::new(data);
    let (which, field, value) = (input.byte(), input.byte(), input.u64());
    codes(value);
    let layout = &layouts[usize::from(which) % layouts.len()];
    let words = layout.bits().div_ceil(32);
    let mut record: Vec<u32> = (0..words).map(|_| input.u32()).collect();
    // What is behind the last field is no part of the record.
    if let bits @ 1.. = layout.bits() % 32 {
        record[words - 1] &= u32::MAX >> (32 - bits);
    }
    let values: Vec<u64> = layout.fields.iter().map(|f| f.extract(&record)).collect();
    let mut again = vec![0; words];
    for (field, value) in layout.fields.iter().zip(&values) {
        assert!(field.width == 64 || value >> field.width == 0, "{} is wider", field.name);
        put(&mut again, field, *value);
    }
    assert_eq!(again, record, "{}: the fields are not the whole record", layout.name);
    let changed = usize::from(field) % layout.fields.len();
    put(&mut again, &layout.fields[changed], value);
    for (i, (field, before)) in layout.fields.iter().zip(&values).enumerate() {
        let expected = if i == changed { value & u64::MAX >> (64 - field.width) } else { *before };
        assert_eq!(field.extract(&again), expected, "{}.{}", layout.name, field.name);
    }
}

/// Writes a field, bit by bit: not as anything in the project does.
fn put(record: &mut [u32], field: &Field, value: u64) {
    for i in 0..field.width {
        let at = field.lsb + i;
        record[at / 32] &= !(1 << (at % 32));
        record[at / 32] |= ((value >> i & 1) as u32) << (at % 32);
    }
}

fn codes(code: u64) {
    macro_rules! is_total {
        ($($name:ident),*) => {$(
            if let Some(known) = $name::from_code(code) {
                assert_eq!(u64::from(known.code()), code, stringify!($name));
                assert_eq!($name::from_name(known.name()), Some(known), stringify!($name));
            } else {
                assert!(code >= $name::ALL.len() as u64, stringify!($name));
            }
        )*};
    }
    is_total!(
        AloneReason,
        DropReason,
        EndReason,
        HashType,
        OpKind,
        OptionBit,
        PacketType,
        Profile,
        SymmetricMode,
        TokenKind,
        Verdict
    );
}
