//! What the tests of the command share: frames, capture files byte by byte, and running the binary.

// Each test binary uses a part of it.
#![allow(dead_code)]

pub mod bitstream;
pub mod guest;
pub mod interrupt;
pub mod namespace;
pub mod xvc;

use std::path::Path;
use std::process::{Command, Stdio};

/// Result of a run of the command.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// Everything that a person sees, for snapshots.
    pub fn shown(&self) -> String {
        let mut text = format!("exit code {}\n", self.code);
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !stream.is_empty() {
                text += &format!("--- {name}\n{stream}");
            }
        }
        text
    }
}

/// Runs the command in a directory, so that relative names are the same on every machine.
pub fn groove(dir: &Path, args: &[&str]) -> Run {
    run(Command::new(env!("CARGO_BIN_EXE_groove")).args(args).current_dir(dir))
}

/// Runs a prepared command to its end.
pub fn run(command: &mut Command) -> Run {
    let output =
        command.stdin(Stdio::null()).output().expect("the binary was built with this test");
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Whether a program can be started at all.
pub fn installed(program: &str) -> bool {
    let null = Stdio::null;
    let mut command = Command::new(program);
    command.arg("--version").stdout(null()).stderr(null()).status().is_ok_and(|s| s.success())
}

/// RFC 1071 sum of big-endian words, folded, not inverted.
fn sum(bytes: &[u8], start: u32) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum = bytes.chunks(2).map(word).fold(start, |a, b| a + b);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// A TCP segment over IPv4 with right checksums. `flags` as in the header, 0x10 is ACK.
pub fn tcp(port: u16, seq: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    let total = (40 + payload.len()) as u16;
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ip[2..4].copy_from_slice(&total.to_be_bytes());
    let check = !sum(&ip, 0);
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    let mut segment = Vec::new();
    segment.extend_from_slice(&port.to_be_bytes());
    segment.extend_from_slice(&443u16.to_be_bytes());
    segment.extend_from_slice(&seq.to_be_bytes());
    segment.extend_from_slice(&[0, 0, 0, 1, 0x50, flags, 0x10, 0, 0, 0, 0, 0]);
    segment.extend_from_slice(payload);
    let pseudo = u32::from(sum(&ip[12..20], 6)) + segment.len() as u32;
    let check = !sum(&segment, pseudo);
    segment[16..18].copy_from_slice(&check.to_be_bytes());
    frame.extend(ip);
    frame.extend(segment);
    frame
}

/// A train of `count` equal segments of one flow; the last one carries PSH.
pub fn train(port: u16, count: u32, payload: usize) -> Vec<Vec<u8>> {
    let flags = |i| if i + 1 == count { 0x18 } else { 0x10 };
    let bytes = vec![0x5a; payload];
    (0..count).map(|i| tcp(port, 1 + i * payload as u32, flags(i), &bytes)).collect()
}

/// Byte order of a capture file.
#[derive(Clone, Copy)]
pub enum Order {
    Big,
    Little,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }
}

/// Header of a pcap file.
pub fn pcap_header(order: Order, nanoseconds: bool, link: u32) -> Vec<u8> {
    let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = order.u32(magic).to_vec();
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    for word in [0, 0, 262_144, link] {
        file.extend(order.u32(word));
    }
    file
}

/// A pcap record; `wire` is the length on the wire.
pub fn pcap_record(order: Order, seconds: u32, fraction: u32, bytes: &[u8], wire: u32) -> Vec<u8> {
    let mut record = Vec::new();
    for word in [seconds, fraction, bytes.len() as u32, wire] {
        record.extend(order.u32(word));
    }
    record.extend_from_slice(bytes);
    record
}

/// A pcap file in the usual form, one frame every 10 microseconds.
pub fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = pcap_header(Order::Little, false, 1);
    for (i, frame) in frames.iter().enumerate() {
        let fraction = 10 * i as u32;
        file.extend(pcap_record(Order::Little, 1, fraction, frame, frame.len() as u32));
    }
    file
}

/// A pcapng block.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(12 + padded as u32);
    let mut block = order.u32(kind).to_vec();
    block.extend(length);
    block.extend_from_slice(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

/// A pcapng section header.
pub fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

/// A pcapng interface: link type, snap length, and if_tsresol if not 0.
pub fn interface(order: Order, link: u16, snap: u32, resolution: u8) -> Vec<u8> {
    let mut body = order.u16(link).to_vec();
    body.extend(order.u16(0));
    body.extend(order.u32(snap));
    if resolution != 0 {
        body.extend(order.u16(9));
        body.extend(order.u16(1));
        body.extend([resolution, 0, 0, 0]);
        body.extend(order.u32(0));
    }
    block(order, 1, &body)
}

/// A pcapng enhanced packet.
pub fn enhanced(order: Order, interface: u32, time: u64, bytes: &[u8], wire: u32) -> Vec<u8> {
    let mut body = order.u32(interface).to_vec();
    body.extend(order.u32((time >> 32) as u32));
    body.extend(order.u32(time as u32));
    body.extend(order.u32(bytes.len() as u32));
    body.extend(order.u32(wire));
    body.extend_from_slice(bytes);
    block(order, 6, &body)
}

/// A pcapng simple packet.
pub fn simple(order: Order, bytes: &[u8], wire: u32) -> Vec<u8> {
    let mut body = order.u32(wire).to_vec();
    body.extend_from_slice(bytes);
    block(order, 3, &body)
}

/// An obsolete pcapng packet.
pub fn obsolete(order: Order, interface: u16, time: u64, bytes: &[u8], wire: u32) -> Vec<u8> {
    let mut body = order.u16(interface).to_vec();
    body.extend(order.u16(0));
    body.extend(order.u32((time >> 32) as u32));
    body.extend(order.u32(time as u32));
    body.extend(order.u32(bytes.len() as u32));
    body.extend(order.u32(wire));
    body.extend_from_slice(bytes);
    block(order, 2, &body)
}
