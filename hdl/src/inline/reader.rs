//! Turns records into frames: header if asked for, then lines of the packet memory.
//!
//!   record ─►[ line, lines, tail ]─► read ─►[ beat ]─►[ FIFO of 16 ]─► m
//!                 │                              └ beside it: [ meta, user, size ]─► m_meta ..
//!                 └ last line is read: the buffer goes home
//!
//! A delivery of 256 bytes or less lies in the header slot of its buffer, others from the start of
//! their buffers, each full but the last: so frames need no shifting. All records of a delivery are
//! there within as many cycles as there are records, and each is read for at least as many lines as
//! a buffer has: the next one is loaded in the cycle in which the last line of the one before is
//! read. A FIFO that is half full stops reading, so that what is on its way finds room, and `valid`
//! does not fall inside a frame (`the_output_keeps_the_stream_rules`).
//!
//! Invariants: frames are the model's deliveries (`the_inline_form_equals_the_model`); what is
//! beside a frame holds from its first beat to its last (`the_output_keeps_the_stream_rules`). Not
//! here: when a record may be read.

use super::frames::Frames;
use super::where_at::WhereAt;
use crate::blocks::axis::AxisSource;
use crate::blocks::bits::ZExt;
use crate::blocks::nic_ports::Completion;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use groove_spec::inline::HEADER_BYTES;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Reader<const W: usize, const K: usize, const A: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// The oldest record.
    pub body: Signal<In, Completion>,
    /// `body` is there.
    pub valid: Signal<In, Bit>,
    /// It is taken.
    pub ready: Signal<Out, Bit>,
    /// A header goes in front of a delivery.
    pub header: Signal<In, Bit>,
    /// What came beside the first frame of the oldest delivery.
    pub user: Signal<In, Bits<128>>,
    /// `user` is there.
    pub user_valid: Signal<In, Bit>,
    /// It is taken.
    pub user_ready: Signal<Out, Bit>,
    /// Line to read.
    pub raddr: Signal<Out, Bits<A>>,
    /// Reads at this edge.
    pub ren: Signal<Out, Bit>,
    /// The line, a cycle later.
    pub rdata: Signal<In, Bits<W>>,
    /// A buffer goes home.
    pub give: Signal<Out, Bit>,
    /// Its number.
    pub give_id: Signal<Out, Bits<8>>,
    /// Frames.
    pub m: AxisSource<W, K>,
    /// `INLINE_META` of the frame.
    pub m_meta: Signal<Out, Bits<256>>,
    /// What came beside its first frame.
    pub m_user: Signal<Out, Bits<128>>,
    /// Its bytes on `m`.
    pub m_size: Signal<Out, Bits<17>>,
    /// A delivery begins.
    pub delivers: Signal<Out, Bit>,
    /// Nothing is read or waits to leave.
    pub idle: Signal<Out, Bit>,
    spot: WhereAt<K, A>,
    out: Frames<W, K>,
    busy: RegR<Bit>,
    line: RegE<Bits<A>>,
    lines: RegE<Bits<12>>,
    tail: RegE<Bits<7>>,
    last: RegE<Bit>,
    id: RegE<Bits<8>>,
    heads: RegR<Bits<4>>,
    head: RegE<Bits<256>>,
    reads: RegR<Bit>,
    is_head: RegE<Bit>,
    head_beat: RegE<Bits<W>>,
    beat_bytes: RegE<Bits<7>>,
    beat_last: RegE<Bit>,
    head_now: Signal<Local, Bits<256>>,
    first: Signal<Local, Bit>,
    opens: Signal<Local, Bit>,
    in_head: Signal<Local, Bit>,
    issue: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    loads: Signal<Local, Bit>,
    head_beats: Constant<Bits<4>>,
    no_head: Constant<Bits<4>>,
    one4: Constant<Bits<4>>,
    one12: Constant<Bits<12>>,
    one_line: Constant<Bits<A>>,
    whole: Constant<Bits<7>>,
    width: Constant<Bits<16>>,
}

impl<const W: usize, const K: usize, const A: usize> Reader<W, K, A> {
    /// Header slots start at line `slots`.
    pub fn new(slots: usize) -> Self {
        Self {
            cr: Default::default(),
            body: Default::default(),
            valid: Default::default(),
            ready: Default::default(),
            header: Default::default(),
            user: Default::default(),
            user_valid: Default::default(),
            user_ready: Default::default(),
            raddr: Default::default(),
            ren: Default::default(),
            rdata: Default::default(),
            give: Default::default(),
            give_id: Default::default(),
            m: Default::default(),
            m_meta: Default::default(),
            m_user: Default::default(),
            m_size: Default::default(),
            delivers: Default::default(),
            idle: Default::default(),
            spot: WhereAt::new(slots),
            out: Default::default(),
            busy: Default::default(),
            line: Default::default(),
            lines: Default::default(),
            tail: Default::default(),
            last: Default::default(),
            id: Default::default(),
            heads: Default::default(),
            head: Default::default(),
            reads: Default::default(),
            is_head: Default::default(),
            head_beat: Default::default(),
            beat_bytes: Default::default(),
            beat_last: Default::default(),
            head_now: Default::default(),
            first: Default::default(),
            opens: Default::default(),
            in_head: Default::default(),
            issue: Default::default(),
            ends: Default::default(),
            loads: Default::default(),
            head_beats: Constant::new((HEADER_BYTES / K).to_bits()),
            no_head: Constant::new(0usize.to_bits()),
            one4: Constant::new(1usize.to_bits()),
            one12: Constant::new(1usize.to_bits()),
            one_line: Constant::new(1usize.to_bits()),
            whole: Constant::new(K.to_bits()),
            width: Constant::new(W.to_bits()),
        }
    }
}

impl<const W: usize, const K: usize, const A: usize> Logic for Reader<W, K, A> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_reader");
        ClkRst::link(&mut self.cr, &mut self.out.cr);
        ClkRst::link(&mut self.cr, &mut self.busy.cr);
        ClkRst::link(&mut self.cr, &mut self.line.cr);
        ClkRst::link(&mut self.cr, &mut self.lines.cr);
        ClkRst::link(&mut self.cr, &mut self.tail.cr);
        ClkRst::link(&mut self.cr, &mut self.last.cr);
        ClkRst::link(&mut self.cr, &mut self.id.cr);
        ClkRst::link(&mut self.cr, &mut self.heads.cr);
        ClkRst::link(&mut self.cr, &mut self.head.cr);
        ClkRst::link(&mut self.cr, &mut self.reads.cr);
        ClkRst::link(&mut self.cr, &mut self.is_head.cr);
        ClkRst::link(&mut self.cr, &mut self.head_beat.cr);
        ClkRst::link(&mut self.cr, &mut self.beat_bytes.cr);
        ClkRst::link(&mut self.cr, &mut self.beat_last.cr);
        AxisSource::<W, K>::link(&mut self.m, &mut self.out.m);

        // A line, or a beat of the header, in each cycle with room.
        self.issue.next = self.busy.q.val() & !self.out.half.val();
        self.in_head.next = self.heads.q.val() != self.no_head.val();
        self.ends.next =
            self.issue.val() & !self.in_head.val() & (self.lines.q.val() == self.one12.val());
        self.raddr.next = self.line.q.val();
        self.ren.next = self.issue.val() & !self.in_head.val();
        self.give.next = self.ends.val();
        self.give_id.next = self.id.q.val();

        // The next record: with the last line of the one before.
        self.spot.body.next = self.body.val();
        self.first.next = self.body.val().first;
        self.loads.next = self.valid.val()
            & (!self.busy.q.val() | self.ends.val())
            & (!self.first.val() | (self.user_valid.val() & self.out.frame_room.val()));
        self.opens.next = self.loads.val() & self.first.val();
        self.ready.next = self.loads.val();
        self.user_ready.next = self.opens.val();
        self.delivers.next = self.opens.val();
        self.out.open.next = self.opens.val();
        self.out.body.next = self.body.val();
        self.out.user.next = self.user.val();
        self.out.header.next = self.header.val();
        self.busy.d.next = self.loads.val() | (self.busy.q.val() & !self.ends.val());
        self.line.en.next = self.loads.val() | self.issue.val();
        self.lines.en.next = self.loads.val() | self.issue.val();
        self.tail.en.next = self.loads.val();
        self.last.en.next = self.loads.val();
        self.id.en.next = self.loads.val();
        self.tail.d.next = self.spot.tail.val();
        self.last.d.next = self.body.val().last;
        self.id.d.next = self.spot.id.val();
        self.line.d.next = self.line.q.val();
        self.lines.d.next = self.lines.q.val();
        if self.loads.val() {
            self.line.d.next = self.spot.line.val();
            self.lines.d.next = self.spot.lines.val();
        } else if !self.in_head.val() {
            self.line.d.next = self.line.q.val() + self.one_line.val();
            self.lines.d.next = self.lines.q.val() - self.one12.val();
        }

        self.heads.d.next = self.heads.q.val();
        self.head.en.next = self.opens.val() | self.issue.val();
        self.head.d.next = self.head.q.val() >> self.width.val();
        if self.opens.val() {
            self.heads.d.next = self.no_head.val();
            if self.header.val() {
                self.heads.d.next = self.head_beats.val();
            }
            self.head.d.next = self.out.meta.val();
        } else if self.issue.val() & self.in_head.val() {
            self.heads.d.next = self.heads.q.val() - self.one4.val();
        }

        // The beat, a cycle later.
        self.reads.d.next = self.issue.val();
        self.is_head.en.next = self.issue.val();
        self.is_head.d.next = self.in_head.val();
        self.head_now.next = self.head.q.val();
        self.head_beat.en.next = self.issue.val();
        self.head_beat.d.next = self.head_now.val().to_bits();
        self.beat_bytes.en.next = self.issue.val();
        self.beat_bytes.d.next = self.whole.val();
        if self.ends.val() {
            self.beat_bytes.d.next = self.tail.q.val();
        }
        self.beat_last.en.next = self.issue.val();
        self.beat_last.d.next = self.ends.val() & self.last.q.val();
        self.out.data.next = self.rdata.val();
        if self.is_head.q.val() {
            self.out.data.next = self.head_beat.q.val();
        }
        self.out.bytes.next = self.beat_bytes.q.val();
        self.out.last.next = self.beat_last.q.val();
        self.out.push.next = self.reads.q.val();
        self.m_meta.next = self.out.m_meta.val();
        self.m_user.next = self.out.m_user.val();
        self.m_size.next = self.out.m_size.val();
        self.idle.next = !self.busy.q.val() & !self.reads.q.val() & self.out.empty.val();
    }
}
