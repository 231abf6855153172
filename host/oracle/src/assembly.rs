//! BPF programs by hand: instructions, labels, and the two programs of the oracle.
//!
//!   egress    mark ─► what the frame is given ─► tag, hash, checksum state set ─► on its way
//!   ingress   socket buffer ─► record: its bytes, those of its shared info ─► dropped
//!
//! Follows: RFC 9669 (BPF ISA); helpers of Linux `include/uapi/linux/bpf.h`.
//! Invariants: jumps go forward, to labels that are placed (`jumps_reach_their_label`).

use crate::layout::{Layout, Place};
use crate::record::{Counters, Metadata, Record};

/// One instruction: opcode, registers, offset, immediate.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    opcode: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// Result that lets a frame pass on to the next program.
const TCX_NEXT: i32 = -1;
/// Result that drops a frame.
const TCX_DROP: i32 = 2;

/// Fields of `struct __sk_buff`, the context of a program.
mod context {
    pub const LEN: i16 = 0;
    pub const MARK: i16 = 8;
    pub const GSO_SEGS: i16 = 164;
    pub const GSO_SIZE: i16 = 176;
}

/// Numbers of helper functions.
mod helper {
    pub const MAP_LOOKUP_ELEM: i32 = 1;
    pub const SKB_VLAN_PUSH: i32 = 18;
    pub const SET_HASH: i32 = 48;
    pub const PROBE_READ_KERNEL: i32 = 113;
    pub const CSUM_LEVEL: i32 = 135;
}

/// `BPF_CSUM_LEVEL_INC`.
const CSUM_LEVEL_INC: i32 = 1;

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label(usize);

/// A program being written.
#[derive(Debug, Default)]
struct Program {
    code: Vec<Instruction>,
    /// Where each label is.
    labels: Vec<Option<usize>>,
    /// Jumps and where they lead.
    jumps: Vec<(usize, Label)>,
}

impl Program {
    fn push(&mut self, opcode: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        let registers = from << 4 | to;
        self.code.push(Instruction { opcode, registers, offset, immediate });
    }
    fn mov(&mut self, to: u8, from: u8) {
        self.push(0xbf, to, from, 0, 0);
    }
    fn set(&mut self, to: u8, value: i32) {
        self.push(0xb7, to, 0, 0, value);
    }
    fn add(&mut self, to: u8, from: u8) {
        self.push(0x0f, to, from, 0, 0);
    }
    fn add_value(&mut self, to: u8, value: i32) {
        self.push(0x07, to, 0, 0, value);
    }
    fn load32(&mut self, to: u8, base: u8, offset: i16) {
        self.push(0x61, to, base, offset, 0);
    }
    fn load64(&mut self, to: u8, base: u8, offset: i16) {
        self.push(0x79, to, base, offset, 0);
    }
    fn store32(&mut self, base: u8, offset: i16, from: u8) {
        self.push(0x63, base, from, offset, 0);
    }
    fn call(&mut self, helper: i32) {
        self.push(0x85, 0, 0, 0, helper);
    }
    fn exit(&mut self, result: i32) {
        self.set(0, result);
        self.push(0x95, 0, 0, 0, 0);
    }
    fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }
    fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }
    fn if_zero(&mut self, register: u8, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(0x15, register, 0, 0, 0);
    }
    fn if_not_zero(&mut self, register: u8, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(0x55, register, 0, 0, 0);
    }
    /// r0 becomes the address of the map's element whose key is in the stack slot, or 0.
    fn lookup(&mut self, map: u32, slot: i16) {
        // A 64-bit immediate that the kernel replaces by the map: source register 1 says so.
        self.push(0x18, 1, 1, 0, map.cast_signed());
        self.push(0, 0, 0, 0, 0);
        self.mov(2, 10);
        self.add_value(2, slot.into());
        self.call(helper::MAP_LOOKUP_ELEM);
    }
    fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let to = self.labels[label.0].expect("every label of the two programs is placed");
            let distance = to.checked_sub(at + 1).expect("jumps go forward");
            self.code[at].offset = i16::try_from(distance).expect("the programs are short");
        }
        self.code
    }
}

/// The program at the sender: `given` holds a [`Metadata`] for each mark.
pub fn egress(given: u32) -> Vec<Instruction> {
    let mut p = Program::default();
    let (done, no_tag, no_level) = (p.label(), p.label(), p.label());
    p.mov(6, 1);
    p.load32(2, 6, context::MARK);
    p.store32(10, -4, 2);
    p.lookup(given, -4);
    p.if_zero(0, done);
    p.mov(7, 0);
    p.load32(3, 7, Metadata::TAGGED);
    p.if_zero(3, no_tag);
    p.mov(1, 6);
    p.load32(2, 7, Metadata::TPID);
    p.load32(3, 7, Metadata::TCI);
    p.call(helper::SKB_VLAN_PUSH);
    p.place(no_tag);
    p.load32(2, 7, Metadata::HASH);
    p.mov(1, 6);
    p.call(helper::SET_HASH);
    p.load32(3, 7, Metadata::VERIFIED);
    p.if_zero(3, no_level);
    p.mov(1, 6);
    p.set(2, CSUM_LEVEL_INC);
    p.call(helper::CSUM_LEVEL);
    p.place(no_level);
    p.place(done);
    p.exit(TCX_NEXT);
    p.finish()
}

/// The program at the receiver: `counters` holds one [`Counters`], `records` a [`Record`] for each
/// delivery of a burst.
pub fn ingress(counters: u32, records: u32, layout: &Layout, record: &Record) -> Vec<Instruction> {
    let mut p = Program::default();
    let done = p.label();
    p.mov(6, 1);
    p.set(1, 0);
    p.store32(10, -4, 1);
    p.lookup(counters, -4);
    p.if_zero(0, done);
    count(&mut p);
    // The record's number is the delivery's.
    p.store32(10, -8, 8);
    p.lookup(records, -8);
    p.if_zero(0, done);
    p.mov(7, 0);
    for (field, to) in [
        (context::LEN, Record::LEN),
        (context::GSO_SEGS, Record::GSO_SEGS),
        (context::GSO_SIZE, Record::GSO_SIZE),
    ] {
        p.load32(1, 6, field);
        p.store32(7, to, 1);
    }
    p.mov(1, 7);
    p.add_value(1, record.buffer.into());
    p.set(2, layout.buffer_bytes as i32);
    p.mov(3, 6);
    p.call(helper::PROBE_READ_KERNEL);
    // The shared info lies at the end of the linear part: head + end.
    let copied = |place: Place| record.buffer + place.byte() as i16;
    p.load64(3, 7, copied(layout.head));
    p.load32(4, 7, copied(layout.end));
    p.add(3, 4);
    p.mov(1, 7);
    p.add_value(1, record.shared.into());
    p.set(2, layout.shared_bytes as i32);
    p.call(helper::PROBE_READ_KERNEL);
    p.place(done);
    p.exit(TCX_DROP);
    p.finish()
}

/// One more delivery, and its segments; r8 becomes its number.
fn count(p: &mut Program) {
    let merged = p.label();
    p.mov(7, 0);
    p.load32(8, 7, Counters::DELIVERIES);
    p.mov(1, 8);
    p.add_value(1, 1);
    p.store32(7, Counters::DELIVERIES, 1);
    p.load32(2, 6, context::GSO_SEGS);
    p.if_not_zero(2, merged);
    p.set(2, 1);
    p.place(merged);
    p.load32(1, 7, Counters::SEGMENTS);
    p.add(1, 2);
    p.store32(7, Counters::SEGMENTS, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_reach_their_label() {
        let mut p = Program::default();
        let end = p.label();
        p.if_zero(3, end);
        p.mov(1, 6);
        p.if_not_zero(2, end);
        p.place(end);
        p.exit(-1);
        let code = p.finish();
        let is = |i: usize, opcode, registers, offset, immediate| {
            assert_eq!(code[i], Instruction { opcode, registers, offset, immediate }, "{i}");
        };
        is(0, 0x15, 0x03, 2, 0);
        is(1, 0xbf, 0x61, 0, 0);
        is(2, 0x55, 0x02, 0, 0);
        is(3, 0xb7, 0x00, 0, -1);
        is(4, 0x95, 0x00, 0, 0);
        assert_eq!(size_of::<Instruction>(), 8);
    }

    #[test]
    fn programs_end_with_their_verdict() {
        for (code, verdict) in [
            (egress(3), TCX_NEXT),
            (ingress(3, 4, &Layout::example(), &Record::of(&Layout::example())), TCX_DROP),
        ] {
            let [.., result, exit] = &code[..] else { panic!("too short") };
            assert_eq!((result.immediate, exit.opcode), (verdict, 0x95));
        }
    }
}
