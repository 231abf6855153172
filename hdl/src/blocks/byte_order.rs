//! Byte order: a field as received (first byte lowest) turned into a number (first byte highest).
//!
//! Wires only, 0 cycles. Invariant: Rust and Verilog agree (`swap_reverses_bytes`). Not here: bit
//! order.

use rust_hdl::prelude::*;

/// Reverses the bytes of a W-bit word.
#[derive(LogicBlock, Default, Clone, Debug)]
pub struct Swap<const W: usize> {
    /// First byte lowest.
    pub i: Signal<In, Bits<W>>,
    /// First byte highest.
    pub o: Signal<Out, Bits<W>>,
}

impl<const W: usize> Logic for Swap<W> {
    fn update(&mut self) {
        let mut v = Bits::<W>::default();
        for k in 0..W / 8 {
            v.set_bits::<8>(W - 8 - 8 * k, self.i.val().get_bits::<8>(8 * k));
        }
        self.o.next = v;
    }
    fn connect(&mut self) {
        self.o.connect();
    }
    fn hdl(&self) -> Verilog {
        let bytes: Vec<String> = (0..W / 8).map(|k| format!("i[{} +: 8]", 8 * k)).collect();
        Verilog::Custom(format!("// block: swap_{W}\nalways @(*) o = {{{}}};\n", bytes.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_reverses_bytes() {
        let mut swap = Swap::<32>::default();
        swap.connect_all();
        swap.i.next = 0x1122_3344.into();
        swap.update_all();
        swap.update();
        assert_eq!(swap.o.val(), 0x4433_2211);
        let Verilog::Custom(text) = swap.hdl() else { panic!("hand-written") };
        assert!(text.contains("{i[0 +: 8], i[8 +: 8], i[16 +: 8], i[24 +: 8]}"), "{text}");
    }
}
