//! Registers: 32 bits wide, at byte offsets in one flat window.

/// Who may write a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Host reads and writes; reset restores the reset value.
    ReadWrite,
    /// Host reads; hardware drives.
    ReadOnly,
}

/// One field of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterField {
    /// Name.
    pub name: &'static str,
    /// Least significant bit, 0 to 31.
    pub lsb: usize,
    /// Width in bits.
    pub width: usize,
    /// One sentence.
    pub doc: &'static str,
}

impl RegisterField {
    /// Bits of the register that the field covers.
    pub const fn mask(&self) -> u32 {
        ((1u64 << self.width) - 1) as u32 * (1 << self.lsb)
    }
}

/// A register, or `count` equal ones at consecutive addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Name in upper case.
    pub name: &'static str,
    /// Byte offset of the first one.
    pub offset: usize,
    /// How many, 4 bytes apart.
    pub count: usize,
    /// Who may write it.
    pub access: Access,
    /// Value after reset.
    pub reset: u32,
    /// Fields, lowest first.
    pub fields: &'static [RegisterField],
    /// One sentence.
    pub doc: &'static str,
}

impl Register {
    /// Bits that exist; the others read as zero.
    pub const fn mask(&self) -> u32 {
        let mut i = 0;
        let mut mask = 0;
        while i < self.fields.len() {
            mask |= self.fields[i].mask();
            i += 1;
        }
        mask
    }

    /// The field of that name.
    ///
    /// # Panics
    /// If there is none: the name is a typing mistake of ours.
    pub fn field(&self, name: &str) -> &'static RegisterField {
        self.fields
            .iter()
            .find(|f| f.name == name)
            .unwrap_or_else(|| panic!("{} has no field {name}", self.name))
    }

    /// Byte offset behind the last one.
    pub const fn end(&self) -> usize {
        self.offset + 4 * self.count
    }
}

/// Refuses misalignment, disorder, overlap and fields outside 32 bits at build time.
pub const fn check_registers(base: usize, end: usize, rows: &[Register]) {
    let mut next = base;
    let mut i = 0;
    while i < rows.len() {
        let row = &rows[i];
        assert!(row.offset.is_multiple_of(4), "register is not aligned to 4 bytes");
        assert!(row.offset >= next, "registers overlap or are out of order");
        next = row.end();
        let mut bit = 0;
        let mut f = 0;
        while f < row.fields.len() {
            assert!(row.fields[f].lsb >= bit, "register fields overlap or are out of order");
            bit = row.fields[f].lsb + row.fields[f].width;
            assert!(row.fields[f].width > 0 && bit <= 32, "register field outside 32 bits");
            f += 1;
        }
        assert!(row.reset & !row.mask() == 0, "reset value sets a bit without a field");
        i += 1;
    }
    assert!(next <= end, "stage window is full");
}

/// Declares named registers and the slice `REGISTERS` of all of them, in order.
#[macro_export]
macro_rules! registers {
    (base $base:expr, end $end:expr; $(
        #[doc = $doc:literal]
        $name:ident @ $offset:literal $([$count:expr])? $access:ident = $reset:expr; {
            $($field:ident [$lsb:literal +: $width:literal] $fdoc:literal),* $(,)?
        }
    )*) => {
        $(#[doc = $doc]
        pub const $name: $crate::Register = $crate::Register {
            name: stringify!($name),
            offset: $base + $offset,
            count: { let count = 1; $(let _ = count; let count = $count;)? count },
            access: $crate::Access::$access,
            reset: $reset,
            fields: &[$($crate::RegisterField {
                name: stringify!($field), lsb: $lsb, width: $width, doc: $fdoc,
            }),*],
            doc: $doc,
        };)*
        /// All registers of this block, by offset.
        pub const REGISTERS: &[$crate::Register] = &[$($name),*];
        const _: () = $crate::stages::check_registers($base, $end, REGISTERS);
    };
}
