//! Bit layouts of the records that cross a stage or the device boundary.

/// One field of a [`Layout`]: `width` bits from bit `lsb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, the same in RTL, model, driver, docs and C header.
    pub name: &'static str,
    /// Position of the least significant bit.
    pub lsb: usize,
    /// Width in bits, 1 to 64.
    pub width: usize,
    /// One sentence.
    pub doc: &'static str,
}

impl Field {
    /// Reads the field from a record held as little-endian 32-bit words.
    pub fn extract(&self, words: &[u32]) -> u64 {
        (0..self.width).fold(0, |v, i| {
            let bit = self.lsb + i;
            v | u64::from(words[bit / 32] >> (bit % 32) & 1) << i
        })
    }
}

/// A packed record: fields in declaration order, the first at bit 0.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Name of the record.
    pub name: &'static str,
    /// Fields in order of position.
    pub fields: &'static [Field],
}

impl Layout {
    /// Total width in bits.
    pub const fn bits(&self) -> usize {
        let last = &self.fields[self.fields.len() - 1];
        last.lsb + last.width
    }

    /// The field of that name.
    ///
    /// # Panics
    /// If there is none: the name is a typing mistake of ours.
    pub fn field(&self, name: &str) -> &'static Field {
        self.fields
            .iter()
            .find(|f| f.name == name)
            .unwrap_or_else(|| panic!("{} has no field {name}", self.name))
    }

    /// Refuses gaps, overlap and disorder at build time.
    pub const fn check(&self) {
        let mut i = 0;
        let mut next = 0;
        while i < self.fields.len() {
            assert!(self.fields[i].lsb == next, "layout fields overlap or leave a gap");
            assert!(self.fields[i].width > 0 && self.fields[i].width <= 64, "field width");
            next += self.fields[i].width;
            i += 1;
        }
    }
}

/// Declares a [`Layout`] from `name: width "doc"` rows; positions follow from the order.
#[macro_export]
macro_rules! layout {
    ($(#[$meta:meta])* $vis:vis $name:ident {
        $($field:ident : $width:literal $doc:literal),* $(,)?
    }) => {
        $(#[$meta])*
        $vis const $name: $crate::Layout = {
            const FIELDS: &[$crate::Field] = &{
                let mut rows = [$($crate::Field {
                    name: stringify!($field), lsb: 0, width: $width, doc: $doc,
                }),*];
                let mut i = 1;
                while i < rows.len() {
                    rows[i].lsb = rows[i - 1].lsb + rows[i - 1].width;
                    i += 1;
                }
                rows
            };
            let layout = $crate::Layout { name: stringify!($name), fields: FIELDS };
            layout.check();
            layout
        };
    };
}
