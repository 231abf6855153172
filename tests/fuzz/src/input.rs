//! Takes values off the front of a fuzzer's bytes: what is behind the end reads as zero, so that
//! any bytes are an input, and a longer one only says more.

/// The bytes that are left.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// All of an input.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let taken = self.bytes(N);
        bytes[..taken.len()].copy_from_slice(taken);
        bytes
    }

    /// The next 16 bits.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// The next 32 bits.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// The next 64 bits.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// A number below `bound`, from one byte; `bound` is 1 to 256.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// One of several, from one byte.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number as checks are wrong about it: small, at a power of two, a multiple of a page, any.
    pub fn number(&mut self) -> u64 {
        let (kind, n) = (self.byte(), self.byte());
        match kind % 6 {
            0 => n.into(),
            1 => 1 << (n % 64),
            2 => (1 << (n % 64)) - 1,
            3 => 0x1000 * u64::from(n),
            4 => u64::MAX - u64::from(n),
            _ => self.u64(),
        }
    }

    /// The next bytes, as many as there are up to `count`.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        self.bytes(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_the_end_is_zero() {
        let mut input = Input::new(&[1, 2, 3]);
        assert_eq!((input.u16(), input.u32(), input.byte()), (0x0201, 3, 0));
        assert!(input.is_empty() && input.rest().is_empty());
        assert_eq!((input.number(), input.below(7), input.u64()), (0, 0, 0));
    }
}
