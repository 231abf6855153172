//! A reference for `place`: what a run of operations must leave in host memory, what its records
//! and credits are.
//!
//!   operations, in order ──► chains of buffers ──► delivery: bytes of slot and buffers, records
//!   commands ──► memory ─────────────────────────────┘ compared when the record's tag is reached

use std::collections::{HashMap, VecDeque};

use groove_spec::nic::COMPLETION;
use groove_spec::stages::coalesce::OPERATION;
use groove_spec::{Layout, OpKind};

use crate::rtl_support::{Record, Rng, bits, field, pack, words};

/// A free buffer: its number and where it starts.
pub type Buffer = (u16, u64);

/// A queue as configured, and the order in which its buffers come.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    pub slots: u64,
    pub size: usize,
    pub split: bool,
    pub seed: u16,
}

impl Queue {
    pub fn random(rng: &mut Rng, queue: usize) -> Self {
        Self {
            slots: (queue as u64 + 1) << 60 | (rng.next() >> 8 & !0xff),
            size: rng.pick(&[2048, 2112, 4096, 65536]),
            split: rng.chance(50),
            seed: rng.next() as u16 | 1,
        }
    }

    /// The n-th prefetched buffer of `queue`. Any two lie apart.
    pub fn buffer(&self, queue: usize, n: u32) -> Buffer {
        let id = (n as u16).wrapping_mul(self.seed);
        let at = u64::from(n) << 17 | u64::from(n.wrapping_mul(7) & 0x3f) << 6;
        (id, 1 << 59 | (queue as u64) << 54 | at)
    }
}

/// One operation, or a buffer that is drained.
#[derive(Clone, Debug)]
pub enum Step {
    Op { record: Record, payload: Vec<u8> },
    Drain { queue: usize, quiet: bool },
}

/// A record of the operation table; fields that are not named are 0.
pub fn by_table(layout: &Layout, values: &[(&str, u64)]) -> Vec<u32> {
    let value = |name: &str| values.iter().find(|(n, _)| *n == name).map_or(0, |(_, v)| *v);
    pack(&layout.fields.iter().map(|f| (value(f.name), f.width)).collect::<Vec<_>>())
}

/// An operation with random metadata where it has any.
pub fn operation(
    rng: &mut Rng,
    kind: OpKind,
    (queue, session): (usize, usize),
    hdr_len: usize,
    payload: usize,
) -> Step {
    let mut meta: Vec<(u64, usize)> =
        OPERATION.fields.iter().map(|f| (rng.next() & ((1 << f.width) - 1), f.width)).collect();
    let set = [
        ("kind", kind.code().into()),
        ("queue", queue as u64),
        ("session", session as u64),
        ("hdr_len", hdr_len as u64),
        ("payload_len", payload as u64),
    ];
    for (name, value) in set {
        let at = OPERATION.fields.iter().position(|f| f.name == name).expect("a field");
        meta[at].0 = value;
    }
    let header = rng.bytes(hdr_len);
    let takes = kind == OpKind::Close || kind == OpKind::Flushed;
    let payload = if takes { Vec::new() } else { rng.bytes(payload) };
    Step::Op { record: vec![pack(&meta), words(&header, 128)], payload }
}

#[derive(Debug, Default)]
struct Session {
    chain: Vec<Buffer>,
    payload: Vec<u8>,
}

/// A delivery or drained buffer, as its records must be.
#[derive(Debug)]
struct Due {
    record: Record,
    /// Contents to find when the record's tag is reached: address, bytes.
    contents: Vec<(u64, Vec<u8>)>,
    /// Regions that are free again then.
    free: Vec<(u64, u64)>,
    /// Payload bytes that have been placed by then, of all operations.
    placed: u64,
}

/// The reference.
pub struct Reference {
    queues: Vec<Queue>,
    taken: Vec<u32>,
    sessions: HashMap<(usize, usize), Session>,
    due: VecDeque<Due>,
    /// Queue and unused buffers, in order.
    pub credits: VecDeque<(u64, u64)>,
    payloads: VecDeque<Vec<u8>>,
    placed: u64,
    mover: Mover,
    /// Deliveries by number of buffers: 1, 2, 3 and more.
    pub lengths: [usize; 3],
}

/// Bytes written, in lines of 64.
#[derive(Default)]
struct Memory(HashMap<u64, [Option<u8>; 64]>);

impl Memory {
    fn write(&mut self, address: u64, bytes: &[u8]) {
        for (at, byte) in (address..).zip(bytes) {
            self.0.entry(at / 64).or_insert([None; 64])[(at % 64) as usize] = Some(*byte);
        }
    }

    fn holds(&self, address: u64, bytes: &[u8]) -> bool {
        (address..).zip(bytes).all(|(at, byte)| {
            self.0.get(&(at / 64)).and_then(|line| line[(at % 64) as usize]) == Some(*byte)
        })
    }

    /// Forgets whole lines.
    fn free(&mut self, address: u64, bytes: u64) {
        for line in address / 64..(address + bytes) / 64 {
            self.0.remove(&line);
        }
    }
}

/// What the commands did.
#[derive(Default)]
struct Mover {
    memory: Memory,
    commands: u64,
    offset: usize,
    kept: Vec<u8>,
    placed: u64,
}

impl Mover {
    /// Carries out a command of the RTL.
    fn command(
        &mut self,
        record: &Record,
        headers: &mut VecDeque<Vec<u32>>,
        payloads: &mut VecDeque<Vec<u8>>,
    ) {
        let c = |lsb, width| bits(&record[0], lsb, width);
        let (source, address, bytes) = (c(0, 2), c(2, 64), c(66, 17) as usize);
        let (first, last, keep) = (c(88, 1) == 1, c(89, 1) == 1, c(90, 1) == 1);
        assert!(bytes > 0);
        self.commands += 1;
        match source {
            0 => {
                let header = headers.pop_front().expect("a header");
                let header: Vec<u8> = header.iter().flat_map(|w| w.to_le_bytes()).collect();
                assert_eq!(address % 64, 0);
                self.memory.write(address, &header[..bytes]);
            }
            1 => {
                assert_eq!(first, self.offset == 0, "first of the frame");
                let frame = payloads.front().expect("a payload frame");
                let part = frame[self.offset..self.offset + bytes].to_vec();
                self.offset += bytes;
                assert_eq!(last, self.offset == frame.len(), "last of the frame");
                assert!(last || (address + bytes as u64).is_multiple_of(64), "splits a beat");
                self.memory.write(address, &part);
                self.placed += bytes as u64;
                if last {
                    payloads.pop_front();
                    self.offset = 0;
                }
                assert!(self.kept.is_empty(), "kept bytes were not replayed");
                if keep {
                    assert!(first && last && bytes <= 256);
                    self.kept = part;
                }
            }
            2 => {
                let kept = std::mem::take(&mut self.kept);
                assert_eq!(kept.len(), bytes);
                self.memory.write(address, &kept);
            }
            other => panic!("source {other}"),
        }
    }
}

impl Reference {
    pub fn new(queues: &[Queue]) -> Self {
        Self {
            queues: queues.to_vec(),
            taken: vec![0; queues.len()],
            sessions: HashMap::new(),
            due: VecDeque::new(),
            credits: VecDeque::new(),
            payloads: VecDeque::new(),
            placed: 0,
            mover: Mover::default(),
            lengths: [0; 3],
        }
    }

    fn take(&mut self, queue: usize) -> Buffer {
        self.taken[queue] += 1;
        self.queues[queue].buffer(queue, self.taken[queue] - 1)
    }

    /// A step was accepted.
    pub fn step(&mut self, step: &Step) {
        match step {
            Step::Drain { queue, quiet } => {
                let (id, _) = self.take(*queue);
                self.credits.push_back((*queue as u64, 15));
                let body = [("buf_id", u64::from(id)), ("first", 1), ("last", 1)];
                self.returns(*queue, *quiet, by_table(&COMPLETION, &body));
            }
            Step::Op { record, payload } => {
                let kind = OpKind::from_code(field(&OPERATION, &record[0], "kind"));
                self.operation(kind.expect("a kind"), record, payload);
            }
        }
    }

    fn returns(&mut self, queue: usize, quiet: bool, body: Vec<u32>) {
        let record = vec![pack(&[(0, 1), (queue as u64, 5), (0, 32), (quiet.into(), 1)]), body];
        let placed = self.placed;
        self.due.push_back(Due { record, contents: Vec::new(), free: Vec::new(), placed });
    }

    fn operation(&mut self, kind: OpKind, record: &Record, payload: &[u8]) {
        let f = |name| field(&OPERATION, &record[0], name) as usize;
        let (queue, hdr_len) = (f("queue"), f("hdr_len"));
        let key = (queue, if kind == OpKind::Alone { usize::MAX } else { f("session") });
        if kind == OpKind::Flushed {
            let marker = pack(&[(1, 1), (queue as u64, 5), (0, 32), (0, 1)]);
            let (contents, free, placed) = (Vec::new(), Vec::new(), self.placed);
            self.due.push_back(Due { record: vec![marker], contents, free, placed });
            return;
        }
        if kind != OpKind::Close {
            let mut session = self.sessions.remove(&key).unwrap_or_default();
            assert_eq!(session.chain.is_empty(), kind != OpKind::Append, "{kind:?} is legal");
            session.payload.extend(payload);
            let Queue { size, split, .. } = self.queues[queue];
            let bytes = session.payload.len() + if split { 0 } else { hdr_len };
            let before = session.chain.len();
            while session.chain.len() < bytes.div_ceil(size).max(1) {
                session.chain.push(self.take(queue));
            }
            let need = 1 + (hdr_len + payload.len()).div_ceil(size);
            let took = session.chain.len() - before;
            self.credits.push_back((queue as u64, (need - took) as u64));
            self.placed += payload.len() as u64;
            if !payload.is_empty() {
                self.payloads.push_back(payload.to_vec());
            }
            self.sessions.insert(key, session);
        }
        if matches!(kind, OpKind::Close | OpKind::Alone) {
            let session = self.sessions.remove(&key).expect("a session");
            self.deliver(queue, record, session);
        }
    }

    /// As the software device delivers.
    fn deliver(&mut self, queue: usize, record: &Record, session: Session) {
        let f = |name| field(&OPERATION, &record[0], name);
        let header: Vec<u8> = record[1].iter().flat_map(|w| w.to_le_bytes()).collect();
        let hdr_len = f("hdr_len") as usize;
        let bytes = [&header[..hdr_len], &session.payload[..]].concat();
        let Queue { slots, size, split, .. } = self.queues[queue];
        let split = split && bytes.len() > 256;
        let in_slot = match bytes.len() {
            0..=256 => bytes.len(),
            _ if split => hdr_len,
            _ => 0,
        };
        let slot = slots + 256 * u64::from(session.chain[0].0);
        let mut contents = vec![(slot, bytes[..in_slot].to_vec())];
        let mut free: Vec<_> = session.chain.iter().map(|(_, at)| (*at, size as u64)).collect();
        free.push((slot, 256));
        let mut chunks = bytes[in_slot..].chunks(size);
        self.lengths[session.chain.len().min(3) - 1] += 1;
        for (i, (id, iova)) in session.chain.iter().enumerate() {
            let chunk = chunks.next().unwrap_or_default();
            contents.push((*iova, chunk.to_vec()));
            let mut body = Vec::new();
            if i == 0 {
                let shared = COMPLETION.fields.iter().filter(|c| {
                    OPERATION.fields.iter().any(|o| o.name == c.name && o.name != "hdr_len")
                });
                body.extend(shared.map(|c| (c.name, f(c.name))));
                body.extend([("hdr_len", in_slot as u64), ("split", split.into())]);
                body.extend([("header_bytes", hdr_len as u64), ("total_len", bytes.len() as u64)]);
            }
            body.extend([("buf_id", u64::from(*id)), ("length", chunk.len() as u64)]);
            let last = i + 1 == session.chain.len();
            body.extend([("first", (i == 0).into()), ("last", last.into())]);
            self.returns(queue, false, by_table(&COMPLETION, &body));
            if let Some(due) = self.due.back_mut().filter(|_| last) {
                (due.contents, due.free) = (std::mem::take(&mut contents), free.clone());
            }
        }
        assert!(chunks.next().is_none(), "the chain holds the delivery");
    }

    /// Compares what the RTL sent with what it had to.
    pub fn finish(
        &mut self,
        commands: &[Record],
        mut headers: VecDeque<Vec<u32>>,
        records: &[Record],
    ) {
        assert!(self.sessions.is_empty(), "the run closes its sessions");
        let mut commands = commands.iter();
        for (i, record) in records.iter().enumerate() {
            let due = self.due.pop_front().expect("a record is due");
            let tag = bits(&record[0], 6, 32);
            while self.mover.commands != tag {
                let command = commands.next().expect("the tag is reached");
                self.mover.command(command, &mut headers, &mut self.payloads);
            }
            let mut got = record.clone();
            // The tag: bits 6 to 37.
            got[0][0] &= 0x3f;
            got[0][1] &= !0x3f;
            got.truncate(due.record.len());
            assert_eq!(got, due.record, "record {i}");
            assert_eq!(self.mover.placed, due.placed, "payload in front of record {i}");
            for (at, bytes) in &due.contents {
                assert!(self.mover.memory.holds(*at, bytes), "contents of record {i}");
            }
            for (at, bytes) in due.free {
                self.mover.memory.free(at, bytes);
            }
        }
        assert!(self.due.is_empty() && commands.next().is_none(), "all was sent");
        assert!(self.mover.memory.0.is_empty(), "bytes beside buffers and slots");
    }
}
