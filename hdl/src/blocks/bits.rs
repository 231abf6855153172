//! Width changes and concatenation, which the kernel language lacks.
//!
//! Invariant: `Pack` and `ZExt` mean the same in Rust and in Verilog (`pack_orders_lanes`). Not
//! here: arithmetic.

use rust_hdl::prelude::*;

/// `x.to_bits()` on a `Bits<N>`: zero-extends or truncates to the width of the assignment target.
///
/// `#[hdl_gen]` drops any method called `to_bits`, so the Verilog is a plain assignment. Use it
/// only on a signal or a slice, and only as the whole right-hand side of an assignment.
pub trait ZExt {
    /// The value at the width of the target.
    fn to_bits<const M: usize>(self) -> Bits<M>;
}

impl<const N: usize> ZExt for Bits<N> {
    fn to_bits<const M: usize>(self) -> Bits<M> {
        bit_cast::<M, N>(self)
    }
}

/// Concatenates N lanes of LW bits into W = N * LW bits, lane 0 lowest.
#[derive(LogicBlock, Clone, Debug)]
pub struct Pack<const LW: usize, const N: usize, const W: usize> {
    /// Lanes.
    pub i: [Signal<In, Bits<LW>>; N],
    /// All of them.
    pub o: Signal<Out, Bits<W>>,
}

impl<const LW: usize, const N: usize, const W: usize> Default for Pack<LW, N, W> {
    fn default() -> Self {
        assert_eq!(W, LW * N);
        Self { i: std::array::from_fn(|_| Default::default()), o: Default::default() }
    }
}

impl<const LW: usize, const N: usize, const W: usize> Logic for Pack<LW, N, W> {
    fn update(&mut self) {
        let mut v = Bits::<W>::default();
        for k in 0..N {
            v.set_bits::<LW>(k * LW, self.i[k].val());
        }
        self.o.next = v;
    }
    fn connect(&mut self) {
        self.o.connect();
    }
    fn hdl(&self) -> Verilog {
        let lanes: Vec<String> = (0..N).rev().map(|k| format!("i${k}")).collect();
        Verilog::Custom(format!(
            "// block: pack_{N}x{LW}\nalways @(*) o = {{{}}};\n",
            lanes.join(", ")
        ))
    }
}

/// As [`Pack`], with the number of lanes taken from the widths: W / LW.
#[derive(LogicBlock, Clone, Debug)]
pub struct Join<const LW: usize, const W: usize> {
    /// Lanes.
    pub i: Vec<Signal<In, Bits<LW>>>,
    /// All of them.
    pub o: Signal<Out, Bits<W>>,
}

impl<const LW: usize, const W: usize> Default for Join<LW, W> {
    fn default() -> Self {
        assert!(W.is_multiple_of(LW));
        Self { i: vec![Default::default(); W / LW], o: Default::default() }
    }
}

impl<const LW: usize, const W: usize> Logic for Join<LW, W> {
    fn update(&mut self) {
        let mut v = Bits::<W>::default();
        for (k, lane) in self.i.iter().enumerate() {
            v.set_bits::<LW>(k * LW, lane.val());
        }
        self.o.next = v;
    }
    fn connect(&mut self) {
        self.o.connect();
    }
    fn hdl(&self) -> Verilog {
        let n = self.i.len();
        let lanes: Vec<String> = (0..n).rev().map(|k| format!("i${k}")).collect();
        Verilog::Custom(format!(
            "// block: pack_{n}x{LW}\nalways @(*) o = {{{}}};\n",
            lanes.join(", ")
        ))
    }
}
