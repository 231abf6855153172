//! Messages of a client: right but for their numbers, or with a body of any bytes.

use std::ops::Range;

use groove_driver::vfio_user::wire::{
    self, Access, DmaMap, DmaUnmap, MAP_WRITE, SetIrqs, Version, command,
};
use groove_spec::nic::{self, QUEUE_CONTROL, RING_SIZES, queue_offset};
use groove_spec::stages::all_registers;

use crate::input::Input;

const CONFIG: u32 = groove_driver::abi::CONFIG_REGION;

/// A message.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Command.
    pub command: u16,
    /// Flags of the header.
    pub flags: u32,
    /// Body.
    pub body: Vec<u8>,
    /// Kinds of the files that go with it.
    pub files: Vec<u8>,
}

fn said(command: u16, body: Vec<u8>) -> Said {
    Said { command, body, ..Said::default() }
}

/// A write of a region.
fn write(region: u32, offset: u64, data: &[u8]) -> Said {
    let count = data.len() as u32;
    let mut body = Access { offset, region, count }.encode();
    body.extend_from_slice(data);
    said(command::REGION_WRITE, body)
}

fn map(address: u64, offset: u64, size: u64) -> Said {
    let flags = wire::MAP_READ | MAP_WRITE;
    let body = DmaMap { argsz: 32, flags, offset, address, size }.encode();
    Said { files: vec![0], ..said(command::DMA_MAP, body) }
}

impl Said {
    /// What a good client says first.
    pub fn greeting() -> Self {
        let mut body = Version { major: 0, minor: 1 }.encode();
        body.extend(wire::capabilities());
        said(command::VERSION, body)
    }

    /// What a driver says to make a queue run: bus mastering, memory, rings, buffers, doorbell.
    pub fn set_up(input: &mut Input) -> Vec<Self> {
        let (bits, queue) = (input.byte(), input.below(4));
        let register = |register, value: u32| {
            write(0, queue_offset(queue, register) as u64, &value.to_le_bytes())
        };
        let mut all = vec![write(CONFIG, 4, &[6, 0])];
        if bits & 1 == 0 {
            all.push(map(0, 0, 0xc000));
        }
        let log2 = RING_SIZES.field("free_log2");
        let sizes = 4 << log2.lsb | 4 << RING_SIZES.field("completion_log2").lsb;
        all.extend([
            register(&nic::FREE_BASE_LOW, 0),
            register(&nic::COMPLETION_BASE_LOW, 0x1000),
            register(&nic::HEADER_BASE_LOW, 0x2000),
            register(&RING_SIZES, sizes),
            register(&nic::BUFFER_SIZE, 2048),
            register(&QUEUE_CONTROL, 1 | u32::from(bits & 6)),
            register(&nic::FREE_PRODUCER, 1 + u32::from(bits >> 4)),
        ]);
        all
    }

    /// One message.
    pub fn decode(input: &mut Input) -> Self {
        let (kind, form) = (input.byte(), input.byte());
        let command = u16::from(kind % 18);
        let mut said = said(command, Vec::new());
        if form & 0x0f == 0x0f {
            said.body = input.bytes(usize::from(form >> 4) * 4).to_vec();
        } else {
            said.fill(form, input);
        }
        if form & 0xe0 == 0xe0 {
            said.flags = input.byte().into();
        }
        if said.command != command::DMA_MAP && form & 0x30 == 0x30 {
            let files = input.byte();
            said.files = vec![files; usize::from(files >> 4)];
        }
        said
    }

    /// A body that is right but for its numbers.
    fn fill(&mut self, form: u8, input: &mut Input) {
        match self.command {
            command::VERSION => *self = Self::greeting(),
            command::DMA_MAP => self.map(form, input),
            command::DMA_UNMAP => {
                let (address, size) = (input.number(), input.number());
                let flags = (form & 3).into();
                self.body = DmaUnmap { argsz: 24, flags, address, size }.encode();
            }
            command::SET_IRQS => {
                let (flags, start, count) = (input.byte(), input.byte(), input.byte());
                let index = [2, 2, 2, u32::from(flags >> 6)][usize::from(form & 3)];
                let (flags, start) = ((flags & 0x3f).into(), start.into());
                let count = if count == 255 { u32::MAX } else { count.into() };
                self.body = SetIrqs { argsz: 20, flags, index, start, count }.encode();
                self.files = vec![1; count.min(16) as usize * usize::from(form >> 2 & 1)];
            }
            command::REGION_READ | command::REGION_WRITE => self.access(form, input),
            _ => {
                let index = input.u32() & 0xff;
                self.body = [0, 0, index, 0, 0, 0, 0, 0].map(u32::to_ne_bytes).concat();
            }
        }
    }

    fn map(&mut self, form: u8, input: &mut Input) {
        let place = input.byte();
        let page = |value: u8| 0x1000 * u64::from(value);
        let (offset, address, size) = match form & 3 {
            0 => (input.number(), input.number(), input.number()),
            _ => (page(place & 15), page(place >> 4), page(1 + (form >> 4 & 7))),
        };
        let flags = if form & 4 == 0 { 3 } else { input.byte().into() };
        self.body = DmaMap { argsz: 32, flags, offset, address, size }.encode();
        self.files = match (form >> 3 & 1) * (place & 3) {
            0 => vec![0],
            1 => vec![],
            2 => vec![input.byte()],
            _ => vec![0, 0],
        };
    }

    fn access(&mut self, form: u8, input: &mut Input) {
        let at = input.byte();
        let region = [0, 0, CONFIG, 2, u32::from(at) % 12][usize::from(form & 7) % 5];
        let rows = nic::REGISTERS.len();
        let offset = match (region, form >> 3 & 3) {
            (_, 3) => input.number(),
            (0, 0 | 1) => {
                let register = &nic::REGISTERS[usize::from(at) % rows];
                queue_offset(usize::from(at) / rows, register) as u64
            }
            (0, _) => {
                let all: Vec<_> = all_registers().collect();
                all[usize::from(at) % all.len()].offset as u64
            }
            _ => at.into(),
        };
        let count = [4, 4, 8, 2, 1, 64, 0, 5][usize::from(form >> 5)];
        if self.command == command::REGION_WRITE {
            let value = input.number().to_le_bytes();
            let data: Vec<u8> = value.into_iter().cycle().take(count).collect();
            *self = write(region, offset, &data);
            return;
        }
        let count = if at == 255 { u32::MAX } else { count as u32 };
        self.body = Access { offset, region, count }.encode();
    }

    /// Bytes of the client's memory that a device may write from now on.
    pub fn opens(&self, memory: usize) -> Option<Range<usize>> {
        let (asked, _) = DmaMap::decode(&self.body).filter(|_| self.command == command::DMA_MAP)?;
        let end = asked.offset.checked_add(asked.size)?;
        let writable = asked.flags & MAP_WRITE != 0 && end <= memory as u64;
        writable.then_some(asked.offset as usize..end as usize)
    }
}
