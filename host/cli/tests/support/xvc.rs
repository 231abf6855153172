//! A JTAG chain of one chip that is made up, behind a server of the Xilinx Virtual Cable protocol.
//!
//!   openFPGALoader ── getinfo: settck: shift: ──► TAP (16 states) ──► IDCODE, status, frames
//!
//! Follows: IEEE 1149.1 (TAP controller), XVC 1.0, FPGA-TN-02039 (ECP5), UG470 (7 series).

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Instruction that is loaded by a reset of the TAP.
const ECP5_IDCODE: u32 = 0xe0;
const ARTIX_IDCODE: u32 = 0x09;
/// The controller's states, and where TMS 0 and 1 lead.
const STATES: [(usize, usize); 16] = [
    (1, 0),   // 0 test-logic-reset
    (1, 2),   // 1 run-test/idle
    (3, 9),   // 2 select-DR
    (4, 5),   // 3 capture-DR
    (4, 5),   // 4 shift-DR
    (6, 8),   // 5 exit1-DR
    (6, 7),   // 6 pause-DR
    (4, 8),   // 7 exit2-DR
    (1, 2),   // 8 update-DR
    (10, 0),  // 9 select-IR
    (11, 12), // 10 capture-IR
    (11, 12), // 11 shift-IR
    (13, 15), // 12 exit1-IR
    (13, 14), // 13 pause-IR
    (11, 15), // 14 exit2-IR
    (1, 2),   // 15 update-IR
];

/// The chip.
#[derive(Debug)]
pub struct Chip {
    idcode: u32,
    ecp5: bool,
    /// It says that what was loaded is damaged.
    refuses: bool,
    state: usize,
    instruction: u32,
    /// What is being shifted, and how long it is.
    shifted: (u64, u32),
    open: bool,
    done: bool,
    bits: Vec<bool>,
}

impl Chip {
    pub fn ecp5(idcode: u32) -> Self {
        Self::new(idcode, true)
    }

    pub fn artix(idcode: u32) -> Self {
        Self::new(idcode, false)
    }

    /// It says that what was loaded is damaged.
    pub fn refusing(self) -> Self {
        Self { refuses: true, ..self }
    }

    fn new(idcode: u32, ecp5: bool) -> Self {
        let instruction = if ecp5 { ECP5_IDCODE } else { ARTIX_IDCODE };
        let (shifted, bits) = ((0, 1), vec![]);
        Self {
            idcode,
            ecp5,
            refuses: false,
            state: 0,
            instruction,
            shifted,
            open: false,
            done: false,
            bits,
        }
    }

    /// Whole bytes of the configuration, in the order of the file: the first bit is the highest.
    pub fn loaded(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        self.bits.chunks_exact(8).map(byte).collect()
    }

    /// It runs what was loaded.
    pub fn runs(&self) -> bool {
        self.done && !self.open
    }

    fn configures(&self) -> bool {
        self.instruction == if self.ecp5 { 0x7a } else { 0x05 }
    }

    /// Value and length of the data register that the instruction selects.
    fn data(&self) -> (u64, u32) {
        // BSE error code 1 at bit 23: the ID did not match.
        let status =
            u64::from(self.done) << 8 | u64::from(self.open) << 9 | u64::from(self.refuses) << 23;
        match (self.ecp5, self.instruction) {
            (true, ECP5_IDCODE) | (false, ARTIX_IDCODE) => (self.idcode.into(), 32),
            (true, 0x3c) => (status, 32),
            (true, 0xf0) => (0, 8),
            _ => (0, 1),
        }
    }

    fn instruct(&mut self, instruction: u32) {
        self.instruction = instruction;
        match (self.ecp5, instruction) {
            (true, 0xc6) => (self.open, self.done) = (true, false),
            (true, 0x26) => (self.open, self.done) = (false, !self.bits.is_empty()),
            (true, 0x7a) | (false, 0x0b) => self.bits.clear(),
            (false, 0x0c) => self.done = !self.bits.is_empty(),
            _ => {}
        }
    }

    /// A cycle of TCK: what TDO is.
    fn clock(&mut self, tms: bool, tdi: bool) -> bool {
        let tdo = self.shifted.0 & 1 == 1;
        match self.state {
            3 => self.shifted = self.data(),
            // IR capture of a 7 series: bit 4 is INIT_B, bit 5 DONE.
            10 if self.ecp5 => self.shifted = (1, 8),
            10 => self.shifted = (0x11 | u64::from(self.done) << 5, 6),
            4 | 11 => {
                if self.state == 4 && self.configures() {
                    self.bits.push(tdi);
                }
                let (value, length) = self.shifted;
                self.shifted.0 = value >> 1 | u64::from(tdi) << (length - 1);
            }
            _ => {}
        }
        let (low, high) = STATES[self.state];
        self.state = if tms { high } else { low };
        match self.state {
            0 => self.instruction = if self.ecp5 { ECP5_IDCODE } else { ARTIX_IDCODE },
            15 => self.instruct(self.shifted.0 as u32),
            _ => {}
        }
        tdo
    }
}

/// Serves a chip to one client: where, and the chip.
pub fn serve(chip: Chip) -> (SocketAddr, Arc<Mutex<Chip>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let chip = Arc::new(Mutex::new(chip));
    let served = Arc::clone(&chip);
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        // It ends with its client.
        let _ = talk(stream, &served);
    });
    (address, chip)
}

fn talk(mut stream: TcpStream, chip: &Mutex<Chip>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let mut command = Vec::new();
        while command.last() != Some(&b':') {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            command.push(byte[0]);
        }
        let mut word = [0; 4];
        match command.as_slice() {
            b"getinfo:" => stream.write_all(b"xvcServer_v1.0:2048\n")?,
            b"settck:" => {
                stream.read_exact(&mut word)?;
                stream.write_all(&word)?;
            }
            b"shift:" => {
                stream.read_exact(&mut word)?;
                let bits = u32::from_le_bytes(word) as usize;
                let bytes = bits.div_ceil(8);
                let mut vectors = vec![0; 2 * bytes];
                stream.read_exact(&mut vectors)?;
                let (tms, tdi) = vectors.split_at(bytes);
                let mut tdo = vec![0; bytes];
                let bit = |vector: &[u8], n: usize| vector[n / 8] >> (n % 8) & 1 == 1;
                let mut chip = chip.lock().unwrap();
                for n in 0..bits {
                    tdo[n / 8] |= u8::from(chip.clock(bit(tms, n), bit(tdi, n))) << (n % 8);
                }
                stream.write_all(&tdo)?;
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
