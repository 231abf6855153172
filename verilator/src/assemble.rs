//! Assembles deliveries from what leaves the hardware: operations, payload, drop logs.
//!
//!   operation ──► frame number, session ──► waits for its payload ─┐
//!   payload   ──► in order of the operations that have some ───────┴─► delivery, in their order
//!
//! Invariants: the n-th operation that takes a frame takes the n-th frame that was not dropped
//! (`dropped_frames_take_no_number`); a delivery is complete before it leaves, whichever of
//! operation and payload comes first (`payload_may_come_first_or_last`).
//! Not here: headers. No byte is looked at.

use std::collections::{BTreeSet, VecDeque};

use groove_spec::{Delivery, DropReason, MAX_HEADER_BYTES, OpKind};

use crate::operation::Operation;

/// More payload than any frame has.
const PAYLOAD_BYTES_MAX: usize = 65535;

/// A delivery in the making.
#[derive(Debug, Default)]
struct Builder {
    frames: Vec<u32>,
    payload: Vec<u8>,
    /// Payload bytes that operations announced.
    announced: usize,
    /// Payload frames still to come.
    missing: usize,
}

/// A described delivery that waits for its payload.
#[derive(Debug)]
struct Closing {
    operation: Operation,
    header: [u8; MAX_HEADER_BYTES],
    builder: usize,
}

/// Frame that an operation with payload took.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    builder: usize,
    frame: u32,
    bytes: usize,
}

/// Assembles deliveries. Errors are texts: the caller knows port and cycle.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    /// By queue * sessions + session: index of the builder of an open session.
    open: Vec<Option<usize>>,
    sessions: usize,
    open_in_queue: Vec<u32>,
    builders: Vec<Builder>,
    unused: Vec<usize>,
    closing: VecDeque<Closing>,
    wanted: VecDeque<Wanted>,
    /// Whole payload frames that came before their operation.
    arrived: VecDeque<Vec<u8>>,
    /// Empty buffers for more of them.
    spare: Vec<Vec<u8>>,
    /// The payload frame that is arriving.
    partial: Vec<u8>,
    dropped: BTreeSet<u32>,
    next_frame: u32,
    taken: u64,
    drops: u64,
}

impl Assembler {
    pub(crate) fn new(queues: usize, sessions: usize) -> Self {
        Self {
            open: vec![None; queues * sessions],
            sessions,
            open_in_queue: vec![0; queues],
            ..Self::default()
        }
    }

    /// Frames that an operation took or a log named.
    pub(crate) fn accounted(&self) -> u64 {
        self.taken + self.drops
    }

    pub(crate) fn open_sessions(&self, queue: usize) -> u32 {
        self.open_in_queue[queue]
    }

    pub(crate) fn open_total(&self) -> u32 {
        self.open_in_queue.iter().sum()
    }

    /// Payload frames that operations announced and that have not come.
    pub(crate) fn payload_pending(&self) -> usize {
        self.wanted.len()
    }

    /// Whether payload came that no operation announced.
    pub(crate) fn payload_unclaimed(&self) -> bool {
        !self.arrived.is_empty() || !self.partial.is_empty()
    }

    /// Whether `frames` frames are accounted for, and all of their payload came.
    pub(crate) fn is_settled(&self, frames: u64) -> bool {
        self.accounted() == frames && self.wanted.is_empty() && self.closing.is_empty()
    }

    pub(crate) fn drop_frame(&mut self, frame: u32, code: u64) -> Result<DropReason, String> {
        let reason = DropReason::from_code(code)
            .ok_or_else(|| format!("reason has the code {code}, which does not exist"))?;
        if frame < self.next_frame || !self.dropped.insert(frame) {
            return Err(format!("frame {frame} was delivered or dropped before"));
        }
        self.drops += 1;
        Ok(reason)
    }

    /// Number of the frame that an operation takes.
    fn take_frame(&mut self) -> u32 {
        while self.dropped.remove(&self.next_frame) {
            self.next_frame += 1;
        }
        let frame = self.next_frame;
        self.next_frame += 1;
        self.taken += 1;
        frame
    }

    pub(crate) fn operation(&mut self, op: Operation, header: &[u8]) -> Result<(), String> {
        let kind = op.op_kind().ok_or("kind has a code that does not exist")?;
        let (queue, session) = (op.queue() as usize, op.session() as usize);
        if queue >= self.open_in_queue.len() || session >= self.sessions {
            return Err(format!("queue {queue}, session {session}: there is no such session"));
        }
        let hdr_len = op.hdr_len() as usize;
        if hdr_len > MAX_HEADER_BYTES {
            return Err(format!("hdr_len is {hdr_len}"));
        }
        let slot = queue * self.sessions + session;
        match kind {
            OpKind::Alone => {
                let builder = self.builder();
                self.claim(builder, op);
                self.close(op, &header[..hdr_len], builder);
            }
            OpKind::Open => {
                if self.open[slot].is_some() {
                    return Err(format!("open: queue {queue}, session {session} is open already"));
                }
                let builder = self.builder();
                self.open[slot] = Some(builder);
                self.open_in_queue[queue] += 1;
                self.claim(builder, op);
            }
            OpKind::Append => {
                let builder = self.open[slot].ok_or_else(|| {
                    format!("append: queue {queue}, session {session} is not open")
                })?;
                self.claim(builder, op);
            }
            OpKind::Close => {
                let builder = self.open[slot].take().ok_or_else(|| {
                    format!("close: queue {queue}, session {session} is not open")
                })?;
                self.open_in_queue[queue] -= 1;
                let announced = self.builders[builder].announced;
                if announced != op.payload_len() as usize {
                    return Err(format!(
                        "close: payload_len is {}, the session's frames have {announced} bytes",
                        op.payload_len()
                    ));
                }
                self.close(op, &header[..hdr_len], builder);
            }
            OpKind::Flushed => {}
        }
        self.join()
    }

    /// Gives the next frame, and its payload if it has some, to a builder.
    fn claim(&mut self, builder: usize, op: Operation) {
        let frame = self.take_frame();
        let bytes = op.payload_len() as usize;
        let entry = &mut self.builders[builder];
        entry.frames.push(frame);
        entry.announced += bytes;
        if bytes > 0 {
            entry.missing += 1;
            self.wanted.push_back(Wanted { builder, frame, bytes });
        }
    }

    fn close(&mut self, operation: Operation, header: &[u8], builder: usize) {
        let mut kept = [0; MAX_HEADER_BYTES];
        kept[..header.len()].copy_from_slice(header);
        self.closing.push_back(Closing { operation, header: kept, builder });
    }

    fn builder(&mut self) -> usize {
        self.unused.pop().unwrap_or_else(|| {
            self.builders.push(Builder::default());
            self.builders.len() - 1
        })
    }

    /// One payload beat.
    pub(crate) fn payload(&mut self, bytes: &[u8], last: bool) -> Result<(), String> {
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > PAYLOAD_BYTES_MAX {
            return Err(format!("payload goes on after {PAYLOAD_BYTES_MAX} bytes"));
        }
        if last {
            let next = self.spare.pop().unwrap_or_default();
            self.arrived.push_back(std::mem::replace(&mut self.partial, next));
            self.join()?;
        }
        Ok(())
    }

    /// Joins payload with the operations that announced it.
    fn join(&mut self) -> Result<(), String> {
        while !self.arrived.is_empty()
            && let Some(Wanted { builder, frame, bytes }) = self.wanted.pop_front()
            && let Some(mut payload) = self.arrived.pop_front()
        {
            if payload.len() != bytes {
                return Err(format!(
                    "frame {frame} came with {} payload bytes, its operation has {bytes}",
                    payload.len()
                ));
            }
            let entry = &mut self.builders[builder];
            entry.payload.extend_from_slice(&payload);
            entry.missing -= 1;
            payload.clear();
            self.spare.push(payload);
        }
        Ok(())
    }

    /// The next delivery, if it is complete.
    pub(crate) fn delivery(&mut self) -> Result<Option<Delivery>, String> {
        let Some(&Closing { operation, ref header, builder }) = self.closing.front() else {
            return Ok(None);
        };
        let entry = &mut self.builders[builder];
        if entry.missing > 0 {
            return Ok(None);
        }
        let hdr_len = operation.hdr_len() as usize;
        let mut bytes = Vec::with_capacity(hdr_len + entry.payload.len());
        bytes.extend_from_slice(&header[..hdr_len]);
        bytes.extend_from_slice(&entry.payload);
        entry.payload.clear();
        entry.announced = 0;
        let frames = std::mem::take(&mut entry.frames);
        self.unused.push(builder);
        self.closing.pop_front();
        operation.delivery(frames, bytes).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::tests::pack;

    const ALONE: u64 = 0;
    const OPEN: u64 = 1;
    const APPEND: u64 = 2;
    const CLOSE: u64 = 3;

    fn op(kind: u64, session: u64, hdr_len: u64, payload_len: u64) -> Operation {
        let values = [("kind", kind), ("session", session), ("hdr_len", hdr_len)];
        pack(&[&values[..], &[("payload_len", payload_len)]].concat())
    }

    fn header() -> [u8; 128] {
        std::array::from_fn(|i| i as u8)
    }

    fn next(assembler: &mut Assembler) -> Option<(Vec<u32>, Vec<u8>)> {
        assembler.delivery().unwrap().map(|d| (d.frames, d.bytes))
    }

    #[test]
    fn payload_may_come_first_or_last() {
        let mut a = Assembler::new(1, 4);
        // Frame 0: payload first, in two beats.
        a.payload(&[100, 101], false).unwrap();
        a.payload(&[102], true).unwrap();
        assert!(a.payload_unclaimed());
        a.operation(op(ALONE, 0, 2, 3), &header()).unwrap();
        assert_eq!(next(&mut a), Some((vec![0], vec![0, 1, 100, 101, 102])));
        // Frame 1 waits for its payload, and frame 2, which has none, waits behind it.
        a.operation(op(ALONE, 0, 1, 2), &header()).unwrap();
        a.operation(op(ALONE, 0, 3, 0), &header()).unwrap();
        assert_eq!(next(&mut a), None);
        assert!(!a.is_settled(3));
        a.payload(&[7, 8], true).unwrap();
        assert_eq!(next(&mut a), Some((vec![1], vec![0, 7, 8])));
        assert_eq!(next(&mut a), Some((vec![2], vec![0, 1, 2])));
        assert_eq!(next(&mut a), None);
        assert!(a.is_settled(3) && !a.payload_unclaimed());
    }

    #[test]
    fn sessions_interleave_and_close_in_order() {
        let mut a = Assembler::new(2, 4);
        for (kind, session) in [(OPEN, 1), (OPEN, 3), (APPEND, 1), (APPEND, 3), (APPEND, 1)] {
            a.operation(op(kind, session, 1, 1), &header()).unwrap();
        }
        assert_eq!((a.open_total(), a.open_sessions(0), a.open_sessions(1)), (2, 2, 0));
        for byte in 10..15 {
            a.payload(&[byte], true).unwrap();
        }
        a.operation(op(CLOSE, 3, 1, 2), &header()).unwrap();
        a.operation(op(CLOSE, 1, 2, 3), &header()).unwrap();
        assert_eq!(next(&mut a), Some((vec![1, 3], vec![0, 11, 13])));
        assert_eq!(next(&mut a), Some((vec![0, 2, 4], vec![0, 1, 10, 12, 14])));
        assert_eq!((a.accounted(), a.open_total()), (5, 0));
    }

    #[test]
    fn session_may_reopen_while_its_delivery_waits() {
        let mut a = Assembler::new(1, 1);
        a.operation(op(OPEN, 0, 1, 1), &header()).unwrap();
        a.operation(op(CLOSE, 0, 1, 1), &header()).unwrap();
        a.operation(op(OPEN, 0, 1, 1), &header()).unwrap();
        a.operation(op(CLOSE, 0, 1, 1), &header()).unwrap();
        a.payload(&[20], true).unwrap();
        assert_eq!(next(&mut a), Some((vec![0], vec![0, 20])));
        assert_eq!(next(&mut a), None);
        a.payload(&[21], true).unwrap();
        assert_eq!(next(&mut a), Some((vec![1], vec![0, 21])));
    }

    #[test]
    fn dropped_frames_take_no_number() {
        let mut a = Assembler::new(1, 1);
        assert_eq!(a.drop_frame(0, 0), Ok(DropReason::Runt));
        assert_eq!(a.drop_frame(2, 4), Ok(DropReason::NoBuffer));
        assert_eq!(a.drop_frame(1, 1), Ok(DropReason::Oversize));
        for _ in 0..2 {
            a.operation(op(ALONE, 0, 1, 0), &header()).unwrap();
        }
        assert_eq!(next(&mut a).unwrap().0, [3]);
        assert_eq!(next(&mut a).unwrap().0, [4]);
        assert_eq!(a.accounted(), 5);
        assert_eq!(a.drop_frame(4, 0).unwrap_err(), "frame 4 was delivered or dropped before");
        a.drop_frame(9, 0).unwrap();
        assert_eq!(a.drop_frame(9, 0).unwrap_err(), "frame 9 was delivered or dropped before");
        assert_eq!(a.drop_frame(10, 7).unwrap_err(), "reason has the code 7, which does not exist");
    }

    #[test]
    fn impossible_sequences_are_refused() {
        let fail = |ops: &[(u64, u64, u64, u64)]| {
            let mut a = Assembler::new(1, 2);
            let run = |&(k, s, h, p): &(u64, u64, u64, u64)| a.operation(op(k, s, h, p), &header());
            ops.iter().map(run).find_map(Result::err).unwrap()
        };
        let session = "queue 0, session 1";
        assert_eq!(
            fail(&[(OPEN, 1, 1, 1), (OPEN, 1, 1, 1)]),
            format!("open: {session} is open already")
        );
        assert_eq!(fail(&[(APPEND, 1, 1, 1)]), format!("append: {session} is not open"));
        assert_eq!(fail(&[(CLOSE, 1, 1, 1)]), format!("close: {session} is not open"));
        assert_eq!(fail(&[(ALONE, 0, 129, 1)]), "hdr_len is 129");
        assert_eq!(fail(&[(ALONE, 2, 1, 1)]), "queue 0, session 2: there is no such session");
        assert_eq!(
            fail(&[(OPEN, 0, 1, 5), (CLOSE, 0, 1, 6)]),
            "close: payload_len is 6, the session's frames have 5 bytes"
        );
    }

    #[test]
    fn payload_of_another_length_is_refused() {
        let mut a = Assembler::new(1, 1);
        a.operation(op(ALONE, 0, 1, 3), &header()).unwrap();
        let text = a.payload(&[1, 2], true).unwrap_err();
        assert_eq!(text, "frame 0 came with 2 payload bytes, its operation has 3");
        let mut a = Assembler::new(1, 1);
        let text = (0..2000).find_map(|_| a.payload(&[0; 64], false).err()).unwrap();
        assert_eq!(text, "payload goes on after 65535 bytes");
    }
}
