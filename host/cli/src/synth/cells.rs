//! What each mapped cell means to a path: where it starts, where it ends, what it costs.
//!
//! Invariant: every cell that yosys 0.23 maps emitted RustHDL to is named here
//! (`an_unknown_cell_is_refused` holds the other direction).

/// Kind of a mapped cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Look-up table or inverter: 1 from every input to every output.
    Lut,
    /// Carry cell: 1 on entry, 0 along the chain.
    Carry,
    /// Dedicated multiplexer behind LUTs: 0.
    WideMux,
    /// Flip-flop: outputs start, inputs end.
    Register,
    /// Block RAM, read synchronously: outputs start, inputs end.
    BlockRam,
    /// RAM in LUTs: 1 from a read address to its data; everything else ends.
    LutRam,
    /// Shift register in LUTs: as a LUT from its tap address, a register otherwise.
    ShiftLut,
    /// Clock buffer or constant: 0.
    Buffer,
}

/// Kind of a cell type, or `None` if it is not known.
pub(super) fn kind(cell: &str) -> Option<Kind> {
    Some(match cell {
        "LUT1" | "LUT2" | "LUT3" | "LUT4" | "LUT5" | "LUT6" | "INV" => Kind::Lut,
        "CARRY4" | "CARRY8" | "CCU2C" => Kind::Carry,
        "MUXF7" | "MUXF8" | "MUXF9" | "PFUMX" | "L6MUX21" => Kind::WideMux,
        "TRELLIS_FF" | "FDRE" | "FDSE" | "FDCE" | "FDPE" => Kind::Register,
        "DP16KD" | "PDPW16KD" | "RAMB18E1" | "RAMB36E1" | "RAMB18E2" | "RAMB36E2" | "URAM288" => {
            Kind::BlockRam
        }
        "TRELLIS_DPR16X4" | "RAM32M" | "RAM64M" | "RAM32M16" | "RAM64M8" | "RAM32X1D"
        | "RAM64X1D" | "RAM128X1D" | "RAM256X1D" | "RAM32X1S" | "RAM64X1S" | "RAM128X1S"
        | "RAM256X1S" | "RAM512X1S" | "RAM64X8SW" | "RAM32X16DR8" => Kind::LutRam,
        "SRL16E" | "SRLC32E" => Kind::ShiftLut,
        "BUFG" | "DCCA" | "VCC" | "GND" | "VLO" | "VHI" => Kind::Buffer,
        _ => return None,
    })
}

/// Whether an input of a carry cell is the chain itself.
pub(super) fn is_chain_input(port: &str) -> bool {
    matches!(port, "CI" | "CIN")
}

/// Whether an output of a carry cell continues the chain.
pub(super) fn is_chain_output(port: &str) -> bool {
    matches!(port, "CO" | "COUT")
}

/// Whether data on `output` of a cell of this kind depends on `input` without a clock.
pub(super) fn passes(kind: Kind, input: &str, output: &str) -> bool {
    match kind {
        Kind::Lut | Kind::Carry | Kind::WideMux | Kind::Buffer => true,
        Kind::Register | Kind::BlockRam => false,
        Kind::LutRam => reads(input, output),
        Kind::ShiftLut => input.starts_with('A') && output == "Q",
    }
}

/// Read ports of RAM in LUTs: the address of each data output.
fn reads(input: &str, output: &str) -> bool {
    if let Some(port) = output.strip_prefix("DO").filter(|p| p.len() == 1) {
        return input.strip_prefix("ADDR") == Some(port); // RAM64M8: DOA by ADDRA
    }
    match output {
        "DO" => input == "RAD" || input.starts_with("RADR"), // TRELLIS_DPR16X4
        "DPO" => input.starts_with("DPRA"),
        "SPO" | "O" => input.len() <= 2 && input.starts_with('A'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributed_ram_reads_by_its_own_address_only() {
        assert!(passes(Kind::LutRam, "ADDRB", "DOB"));
        assert!(!passes(Kind::LutRam, "ADDRA", "DOB"));
        assert!(!passes(Kind::LutRam, "DIB", "DOB"));
        assert!(passes(Kind::LutRam, "RAD", "DO"));
        assert!(!passes(Kind::LutRam, "WAD", "DO"));
        assert!(passes(Kind::LutRam, "DPRA3", "DPO"));
        assert!(!passes(Kind::LutRam, "A3", "DPO"));
        assert!(passes(Kind::ShiftLut, "A0", "Q"));
        assert!(!passes(Kind::ShiftLut, "D", "Q"));
    }

    #[test]
    fn the_chain_is_told_from_its_entries() {
        assert!(is_chain_input("CIN") && is_chain_input("CI") && !is_chain_input("CYINIT"));
        assert!(is_chain_output("COUT") && is_chain_output("CO") && !is_chain_output("S0"));
        assert_eq!(kind("CARRY16"), None);
    }
}
