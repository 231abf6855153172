//! A completion as the bits that are written.
//!
//!   Completion ──► 256 bits, first field lowest         combinational
//!
//! Follows: row `COMPLETION` of the table. Invariant: the fields come in the order of the table
//! (`completions_equal_the_reference`). Not here: byte order (the lowest byte comes first).

use crate::blocks::nic_ports::Completion;
use num_bigint::BigUint;
use rust_hdl::prelude::*;

/// Concatenates the fields.
#[derive(LogicBlock, Default)]
pub struct Flat {
    /// The completion.
    pub i: Signal<In, Completion>,
    /// Its bits.
    pub o: Signal<Out, Bits<256>>,
}

impl Logic for Flat {
    fn update(&mut self) {
        let text = format!("{:x}", self.i.val().verilog());
        let digits = text.split_once('h').map_or("", |(_, digits)| digits);
        let value = BigUint::parse_bytes(digits.as_bytes(), 16).unwrap_or_default();
        self.o.next = value.into();
    }
    fn connect(&mut self) {
        self.o.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom("// block: complete_flat\nalways @(*) o = i;\n".into())
    }
}
