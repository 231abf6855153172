//! A file that is to go onto a chip: what it is, for which chip, and whether all of it is there.
//!
//!   bytes ──┬─ FF 00, comments, BD B3 ──► commands ──► VERIFY_ID ──► ISC_PROGRAM_DONE at the end
//!           └─ 0F F0 ..., part, length ──► sync word ──► packets ──► a write to IDCODE
//!
//! Follows: FPGA-TN-02039 (ECP5 sysCONFIG), UG470 "Configuration Packets" and "Bitstream
//! Composition" (7 series), UG570 (UltraScale+).
//! Invariants: only a whole bitstream for the chip and package of the board is taken
//! (`a_bitstream_of_another_board_is_refused`, `every_cut_is_found`); no bytes are a panic
//! (`damaged_bytes_are_no_panic`).
//! Not here: the configuration itself. Checksums of its frames are the chip's to check.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::boards::{Board, Family};

/// More than any chip takes.
const BYTES_MAX: u64 = 512 << 20;
/// Begins every file that AMD's tools write with a header: two lengths around a constant.
const XILINX_MAGIC: [u8; 13] = [0, 9, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0, 0, 1];
/// Word before the first packet.
const XILINX_SYNC: [u8; 4] = [0xaa, 0x99, 0x55, 0x66];
/// Register that the chip compares with its own IDCODE.
const XILINX_IDCODE: u32 = 12;
/// Register that takes the configuration.
const XILINX_FDRI: u32 = 2;
/// Comments begin with it, as the tools of ECP5 write them.
const ECP5_MAGIC: [u8; 2] = [0xff, 0x00];
const ECP5_PREAMBLE: [u8; 2] = [0xbd, 0xb3];
const ECP5_ENCRYPTED: [u8; 2] = [0xbf, 0xb3];
const ECP5_VERIFY_ID: u8 = 0xe2;
/// Last command of a whole bitstream, and its operands.
const ECP5_DONE: [u8; 4] = [0x5e, 0, 0, 0];

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitstream {
    /// Family that it is of: 7 series and UltraScale+ have one form, so AMD's is either.
    pub lattice: bool,
    /// Part by name, if it says one.
    pub part: Option<String>,
    /// IDCODE that the chip must have.
    pub idcode: u32,
    /// Bytes of the file.
    pub bytes: usize,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// Why a file is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum BitstreamError {
    /// It cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is something else.
    #[error("it is no bitstream, but {0}")]
    Foreign(&'static str),
    /// Part of it is missing.
    #[error("it is cut off: {0}")]
    Cut(&'static str),
    /// It contradicts itself.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// Nothing can be said of it.
    #[error("it is encrypted, so what it is for cannot be seen")]
    Encrypted,
    /// Another family.
    #[error("it is a bitstream for {found}, and {board} carries {wanted}")]
    Family {
        /// Of the file.
        found: &'static str,
        /// Of the board.
        wanted: &'static str,
        /// The board.
        board: &'static str,
    },
    /// Another chip.
    #[error("it is for a chip with IDCODE {found:#010x}, and {board} has {wanted:#010x} ({part})")]
    Chip {
        /// Of the file.
        found: u32,
        /// Of the board.
        wanted: u32,
        /// Of the board.
        part: String,
        /// The board.
        board: &'static str,
    },
    /// Another package: pins would be driven that are something else.
    #[error("it is for {found}, and {board} has {wanted}: its pins are others")]
    Package {
        /// Of the file.
        found: String,
        /// Of the board.
        wanted: String,
        /// The board.
        board: &'static str,
    },
}

impl BitstreamError {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Read { .. } => "check the path and its permissions",
            Self::Foreign(_) => {
                "ecppack and Diamond write .bit files for ECP5, Vivado for AMD: name that one"
            }
            Self::Cut(_) | Self::Damaged(_) => "copy or build it again",
            Self::Encrypted => "build it without encryption",
            Self::Family { .. } | Self::Chip { .. } | Self::Package { .. } => {
                "build it for this board, or name the board that it was built for: --board"
            }
        }
    }
}

/// Reads a whole file, which must not be larger than a chip takes.
///
/// # Errors
/// If it cannot be read, is no file, or is too large.
pub fn read(path: &Path) -> Result<Vec<u8>, BitstreamError> {
    let failed = |source| BitstreamError::Read { path: path.into(), source };
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(BitstreamError::Foreign("a directory or a device"));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(BitstreamError::Foreign("a file that is larger than any chip takes"));
    }
    Ok(bytes)
}

impl Bitstream {
    /// Sees what bytes are.
    ///
    /// # Errors
    /// If they are no whole bitstream.
    pub fn of(bytes: &[u8]) -> Result<Self, BitstreamError> {
        let (lattice, part, idcode) = if bytes.starts_with(&XILINX_MAGIC) {
            let (part, data) = xilinx_header(bytes)?;
            (false, Some(part), xilinx_idcode(data)?)
        } else if bytes.starts_with(&ECP5_MAGIC) {
            let (part, commands) = ecp5_comments(bytes)?;
            (true, part, ecp5_idcode(commands)?)
        } else {
            return Err(foreign(bytes));
        };
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { lattice, part, idcode, bytes: bytes.len(), sha256 })
    }

    /// Holds it against a board.
    ///
    /// # Errors
    /// If it is for another one.
    pub fn check(&self, board: &'static Board) -> Result<(), BitstreamError> {
        let (name, wanted) = (board.name, board.family.title());
        if self.lattice != (board.family == Family::Ecp5) {
            let found = if self.lattice { Family::Ecp5.title() } else { "an AMD chip" };
            return Err(BitstreamError::Family { found, wanted, board: name });
        }
        if !board.has_idcode(self.idcode) {
            let (found, wanted, part) = (self.idcode, board.idcode, board.part());
            return Err(BitstreamError::Chip { found, wanted, part, board: name });
        }
        match &self.part {
            Some(part) if !is_part(part, board) => {
                let (found, wanted) = (part.clone(), board.part());
                Err(BitstreamError::Package { found, wanted, board: name })
            }
            _ => Ok(()),
        }
    }
}

/// Whether a part's name is that of a board: tools add speed and temperature grade, and leave out
/// dashes and `xc`.
fn is_part(name: &str, board: &Board) -> bool {
    let plain = |text: &str| {
        let text: String = text.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let text = text.to_ascii_lowercase();
        text.strip_prefix("xc").map_or(text.clone(), str::to_owned)
    };
    // ECP5: a speed grade stands between chip and package, and packages are CABGA or BG.
    let package = plain(board.package);
    let short = package.replace("cabga", "bg");
    plain(name).strip_prefix(&plain(board.device)).is_some_and(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with(&package) || rest.starts_with(&short)
    })
}

fn foreign(bytes: &[u8]) -> BitstreamError {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let what = match bytes {
        [] => "an empty file",
        _ if starts(b"\x7fELF") => "a program",
        _ if starts(&[0x1f, 0x8b]) || starts(b"PK") || starts(b"BZh") => "an archive",
        _ if starts(b"LSCC") => "a bitstream of Lattice Radiant, whose chips are no ECP5",
        _ if starts(b"SOF\0") => "a bitstream for an Intel chip",
        _ if starts(b"xclbin2") => "an xclbin of AMD's own shell",
        _ if starts(b":") => "a flash image in Intel HEX (.mcs)",
        _ if bytes.windows(4).take(512).any(|word| word == XILINX_SYNC) => {
            "a raw configuration (.bin), which does not say what it is for"
        }
        _ if bytes.iter().take(512).all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) => {
            "a text"
        }
        _ => "something else",
    };
    BitstreamError::Foreign(what)
}

/// Part and configuration of AMD's form: fields with a letter and a length, then `e`, the length of
/// the rest, and the rest.
fn xilinx_header(bytes: &[u8]) -> Result<(String, &[u8]), BitstreamError> {
    const CUT: BitstreamError = BitstreamError::Cut("its header has no end");
    let mut rest = &bytes[XILINX_MAGIC.len()..];
    let mut part = None;
    loop {
        let (&key, behind) = rest.split_first().ok_or(CUT)?;
        if key == b'e' {
            let (length, data) = behind.split_first_chunk::<4>().ok_or(CUT)?;
            let length = u32::from_be_bytes(*length) as usize;
            if data.len() < length {
                return Err(BitstreamError::Cut("its header promises more bytes than there are"));
            }
            if data.len() > length {
                let more = data.len() - length;
                return Err(BitstreamError::Damaged(format!("{more} bytes follow its end")));
            }
            let part =
                part.ok_or_else(|| BitstreamError::Damaged("its header names no part".into()))?;
            return Ok((part, data));
        }
        if !matches!(key, b'a'..=b'd') {
            return Err(BitstreamError::Damaged(format!("field {key:#04x} in its header")));
        }
        let (length, behind) = behind.split_first_chunk::<2>().ok_or(CUT)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (value, behind) = behind.split_at_checked(length).ok_or(CUT)?;
        if key == b'b' {
            let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
            part = Some(String::from_utf8_lossy(text).into_owned());
        }
        rest = behind;
    }
}

/// IDCODE that the packets write, before any configuration.
fn xilinx_idcode(data: &[u8]) -> Result<u32, BitstreamError> {
    let none = || BitstreamError::Damaged("nothing in it names the chip (IDCODE)".into());
    let sync = data.windows(4).position(|word| word == XILINX_SYNC).ok_or_else(none)?;
    let word = |word: &[u8]| word.try_into().map(u32::from_be_bytes).unwrap_or(0);
    let mut words = data[sync + 4..].chunks_exact(4).map(word);
    let mut register = 0;
    while let Some(header) = words.next() {
        // Type 1: operation, register, count. Type 2: a longer count for the last register.
        let (kind, write) = (header >> 29, header >> 27 & 3 == 2);
        let count = match kind {
            1 => header & 0x7ff,
            2 => header & 0x07ff_ffff,
            _ => return Err(BitstreamError::Damaged(format!("packet {header:#010x}"))),
        };
        if kind == 1 {
            register = header >> 13 & 0x1f;
        }
        if write && count == 1 && register == XILINX_IDCODE {
            return words.next().ok_or(BitstreamError::Cut("it ends in its IDCODE"));
        }
        if write && count > 0 && register == XILINX_FDRI {
            return Err(none());
        }
        if write {
            // Never further than the end, whatever the count says.
            let skipped = words.by_ref().take(count as usize).count();
            if skipped < count as usize {
                return Err(BitstreamError::Cut("it ends in a packet"));
            }
        }
    }
    Err(none())
}

/// Part, if a comment names it, and the commands behind the preamble.
fn ecp5_comments(bytes: &[u8]) -> Result<(Option<String>, &[u8]), BitstreamError> {
    let body = &bytes[ECP5_MAGIC.len()..];
    let end = body.iter().position(|byte| *byte == 0xff);
    let end = end.ok_or(BitstreamError::Cut("its comments have no end"))?;
    let (comments, rest) = body.split_at(end);
    let texts = comments.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let part = texts.filter_map(|text| Some(text.strip_prefix("Part:")?.trim().to_owned())).next();
    let start = rest.iter().position(|byte| *byte != 0xff);
    let start = start.ok_or(BitstreamError::Cut("nothing follows its comments"))?;
    let (preamble, commands) = rest[start..]
        .split_first_chunk::<2>()
        .ok_or(BitstreamError::Cut("it ends in its preamble"))?;
    match *preamble {
        ECP5_PREAMBLE => Ok((part, commands)),
        ECP5_ENCRYPTED => Err(BitstreamError::Encrypted),
        [a, b] => Err(BitstreamError::Damaged(format!("preamble {a:02x} {b:02x}"))),
    }
}

/// IDCODE of the commands, which must go on to the last one.
fn ecp5_idcode(commands: &[u8]) -> Result<u32, BitstreamError> {
    const CUT: BitstreamError = BitstreamError::Cut("it ends before it names the chip (VERIFY_ID)");
    let mut rest = commands;
    let idcode = loop {
        let (&command, behind) = rest.split_first().ok_or(CUT)?;
        // Bytes behind the command: three operands, and what they announce.
        let operands = match command {
            0xff => 0,               // dummy
            0x3b | 0x46 | 0x79 => 3, // LSC_RESET_CRC, LSC_INIT_ADDRESS, SPI_MODE
            0x22 => 7,               // LSC_PROG_CNTRL0
            0x02 => 11,              // LSC_WRITE_COMP_DIC
            ECP5_VERIFY_ID => 7,
            _ => {
                let what = format!("command {command:#04x} before it names the chip (VERIFY_ID)");
                return Err(BitstreamError::Damaged(what));
            }
        };
        let (operands, behind) = behind.split_at_checked(operands).ok_or(CUT)?;
        if let (ECP5_VERIFY_ID, [_, _, _, a, b, c, d]) = (command, operands) {
            break u32::from_be_bytes([*a, *b, *c, *d]);
        }
        rest = behind;
    };
    let end = rest.iter().rposition(|byte| *byte != 0xff).map_or(0, |last| last + 1);
    match rest[..end].ends_with(&ECP5_DONE) {
        true => Ok(idcode),
        false => Err(BitstreamError::Cut("its last command is not ISC_PROGRAM_DONE")),
    }
}

#[cfg(test)]
#[path = "bitstream_tests.rs"]
mod tests;
