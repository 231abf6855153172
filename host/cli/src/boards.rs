//! Boards that bitstreams of Groove are built for and loaded onto: chip, package, IDCODE, and what
//! programs them.
//!
//!   name ──► Board ──► who builds: part · who loads: IDCODE, programmer, flash
//!
//! Follows: FPGA-TN-02039 (ECP5 IDCODEs), UG470 and UG570 (7 series, UltraScale+), and the boards'
//! own pages; names of boards are those of openFPGALoader where it has them.
//! Invariants: no two boards share a name, and every IDCODE is of its family's manufacturer
//! (`the_table_is_consistent`); what openFPGALoader is said to know, it knows
//! (`boards_are_known_to_the_loader`).
//! Not here: pins and clocks.

use serde::Serialize;

/// Family of chips: what a bitstream of it looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Lattice ECP5 and ECP5-5G.
    Ecp5,
    /// AMD 7 series.
    Xc7,
    /// AMD UltraScale+.
    Xcup,
}

impl Family {
    /// Bits of the IDCODE that name the chip: AMD's highest four are the revision of the silicon.
    pub const fn idcode_mask(self) -> u32 {
        match self {
            Self::Ecp5 => 0xffff_ffff,
            Self::Xc7 | Self::Xcup => 0x0fff_ffff,
        }
    }

    /// As people call it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Ecp5 => "Lattice ECP5",
            Self::Xc7 => "AMD 7 series",
            Self::Xcup => "AMD UltraScale+",
        }
    }
}

/// How openFPGALoader reaches a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loader {
    /// Its name for the board.
    pub board: &'static str,
    /// Oldest version that has the board.
    pub since: &'static str,
    /// It writes the board's flash.
    pub flash: bool,
}

/// A board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Name on the command line.
    pub name: &'static str,
    /// Whose board it is.
    pub title: &'static str,
    /// Family of its chip.
    pub family: Family,
    /// Chip, as vendors' tools begin its name.
    pub device: &'static str,
    /// Package, which follows in that name.
    pub package: &'static str,
    /// IDCODE of the chip, as JTAG reads it.
    pub idcode: u32,
    /// Lanes of its PCI Express connector; 0: it has none.
    pub lanes: u8,
    /// What programs it; none: openFPGALoader does not know the chip.
    pub loader: Option<Loader>,
}

impl Board {
    /// The board of that name.
    pub fn named(name: &str) -> Option<&'static Board> {
        BOARDS.iter().find(|board| board.name == name)
    }

    /// Chip and package in one word.
    pub fn part(&self) -> String {
        match self.family {
            Family::Xc7 => format!("{}{}", self.device, self.package),
            Family::Ecp5 | Family::Xcup => format!("{}-{}", self.device, self.package),
        }
    }

    /// Whether an IDCODE is that of its chip, whatever the revision.
    pub const fn has_idcode(&self, idcode: u32) -> bool {
        (self.idcode ^ idcode) & self.family.idcode_mask() == 0
    }
}

const fn loader(board: &'static str, since: &'static str, flash: bool) -> Option<Loader> {
    Some(Loader { board, since, flash })
}

/// All of them.
pub const BOARDS: &[Board] = &[
    Board {
        name: "ecpix5",
        title: "LambdaConcept ECPIX-5 85F",
        family: Family::Ecp5,
        device: "LFE5UM5G-85F",
        package: "CABGA554",
        idcode: 0x8111_3043,
        lanes: 0,
        loader: loader("ecpix5", "0.10", true),
    },
    Board {
        name: "ecpix5-45f",
        title: "LambdaConcept ECPIX-5 45F",
        family: Family::Ecp5,
        device: "LFE5UM5G-45F",
        package: "CABGA554",
        idcode: 0x8111_2043,
        lanes: 0,
        loader: loader("ecpix5", "0.10", true),
    },
    Board {
        name: "ulx3s",
        title: "Radiona ULX3S 85F",
        family: Family::Ecp5,
        device: "LFE5U-85F",
        package: "CABGA381",
        idcode: 0x4111_3043,
        lanes: 0,
        loader: loader("ulx3s", "0.10", true),
    },
    Board {
        name: "ecp5-evn",
        title: "Lattice ECP5 Evaluation Board",
        family: Family::Ecp5,
        device: "LFE5UM5G-85F",
        package: "CABGA381",
        idcode: 0x8111_3043,
        lanes: 0,
        loader: loader("ecp5_evn", "0.10", true),
    },
    Board {
        name: "acorn-cle215",
        title: "SQRL Acorn CLE-215, RHS NiteFury",
        family: Family::Xc7,
        device: "xc7a200t",
        package: "fbg484",
        idcode: 0x0363_6093,
        lanes: 4,
        loader: loader("acornCle215", "0.10", true),
    },
    Board {
        name: "ax7203",
        title: "Alinx AX7203",
        family: Family::Xc7,
        device: "xc7a200t",
        package: "fbg484",
        idcode: 0x0363_6093,
        lanes: 4,
        loader: loader("alinx_ax7203", "1.0", true),
    },
    Board {
        name: "nexys-video",
        title: "Digilent Nexys Video",
        family: Family::Xc7,
        device: "xc7a200t",
        package: "sbg484",
        idcode: 0x0363_6093,
        lanes: 0,
        loader: loader("nexysVideo", "0.10", true),
    },
    Board {
        name: "vcu1525",
        title: "AMD VCU1525",
        family: Family::Xcup,
        device: "xcvu9p",
        package: "fsgd2104",
        idcode: 0x04b3_1093,
        lanes: 16,
        // There is no bridge to the flash of this package.
        loader: loader("vcu1525", "0.12", false),
    },
    Board {
        name: "au50",
        title: "AMD Alveo U50",
        family: Family::Xcup,
        device: "xcu50",
        package: "fsvh2104",
        idcode: 0x14b7_7093,
        lanes: 16,
        loader: None,
    },
    Board {
        name: "au200",
        title: "AMD Alveo U200",
        family: Family::Xcup,
        device: "xcu200",
        package: "fsgd2104",
        idcode: 0x14b3_7093,
        lanes: 16,
        loader: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_consistent() {
        for board in BOARDS {
            assert_eq!(Board::named(board.name), Some(board), "two boards are {}", board.name);
            let manufacturer = match board.family {
                Family::Ecp5 => 0x043,
                Family::Xc7 | Family::Xcup => 0x093,
            };
            assert_eq!(board.idcode & 0xfff, manufacturer, "{}", board.name);
        }
    }

    #[test]
    fn revisions_of_silicon_are_one_chip_and_sizes_are_not() {
        let board = |name| Board::named(name).unwrap();
        assert!(board("ax7203").has_idcode(0x1363_6093));
        assert!(!board("ax7203").has_idcode(0x0363_1093));
        assert!(!board("ecpix5").has_idcode(0x4111_3043), "without 5G");
        assert_eq!(board("nexys-video").part(), "xc7a200tsbg484");
        assert_eq!(board("au50").part(), "xcu50-fsvh2104");
    }
}
