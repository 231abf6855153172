//! Frames on their way out, and what is beside each of them.
//!
//!   beats ─►[ 16 beats ]────────────────────► m
//!   open  ─►[ 32 frames: meta, user, size ]─► m_meta, m_user, m_size: from first beat to last
//!
//! A frame is opened before its first beat comes; there are no more frames than beats, and one that
//! is being opened. Invariant: `m_meta`, `m_user` and `m_size` are those of the frame at `m`
//! (`the_output_keeps_the_stream_rules`). Not here: reading.

use super::stamp::Stamp;
use crate::blocks::axis::AxisSource;
use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::Completion;
use crate::blocks::reg::ClkRst;
use crate::comment;
use groove_spec::inline::HEADER_BYTES;
use rust_hdl::prelude::*;

/// What is beside the data of a beat.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct OutInfo {
    /// Valid bytes, 1 to K.
    pub bytes: Bits<7>,
    /// Last of its frame.
    pub last: Bit,
}

/// What is beside a frame.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct OutFrame {
    /// `INLINE_META`.
    pub meta: Bits<256>,
    /// What came beside its first frame.
    pub user: Bits<128>,
    /// Bytes on the stream.
    pub size: Bits<17>,
}

/// See the module.
#[derive(LogicBlock)]
pub struct Frames<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// A frame is opened.
    pub open: Signal<In, Bit>,
    /// Its first record.
    pub body: Signal<In, Completion>,
    /// What came beside its first frame.
    pub user: Signal<In, Bits<128>>,
    /// It has a header in front of it.
    pub header: Signal<In, Bit>,
    /// A frame can be opened.
    pub frame_room: Signal<Out, Bit>,
    /// `INLINE_META` of `body`.
    pub meta: Signal<Out, Bits<256>>,
    /// A beat.
    pub data: Signal<In, Bits<W>>,
    /// Its bytes.
    pub bytes: Signal<In, Bits<7>>,
    /// It is the last one of its frame.
    pub last: Signal<In, Bit>,
    /// It is there; there must be room.
    pub push: Signal<In, Bit>,
    /// At least half of the beats wait.
    pub half: Signal<Out, Bit>,
    /// No frame is open, two cycles after the last one was opened.
    pub empty: Signal<Out, Bit>,
    /// Frames.
    pub m: AxisSource<W, K>,
    pub m_meta: Signal<Out, Bits<256>>,
    pub m_user: Signal<Out, Bits<128>>,
    pub m_size: Signal<Out, Bits<17>>,
    stamp: Stamp,
    beats: Fifo<Bits<W>, 4>,
    infos: Fifo<OutInfo, 4>,
    frames: Fifo<OutFrame, 5>,
    info: Signal<Local, OutInfo>,
    frame: Signal<Local, OutFrame>,
    unused: Signal<Local, Bits<7>>,
    total: Signal<Local, Bits<17>>,
    header_bytes: Constant<Bits<17>>,
    whole: Constant<Bits<7>>,
    ones: Constant<Bits<K>>,
}

impl<const W: usize, const K: usize> Default for Frames<W, K> {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            open: Default::default(),
            body: Default::default(),
            user: Default::default(),
            header: Default::default(),
            frame_room: Default::default(),
            meta: Default::default(),
            data: Default::default(),
            bytes: Default::default(),
            last: Default::default(),
            push: Default::default(),
            half: Default::default(),
            empty: Default::default(),
            m: Default::default(),
            m_meta: Default::default(),
            m_user: Default::default(),
            m_size: Default::default(),
            stamp: Default::default(),
            beats: Default::default(),
            infos: Default::default(),
            frames: Default::default(),
            info: Default::default(),
            frame: Default::default(),
            unused: Default::default(),
            total: Default::default(),
            header_bytes: Constant::new(HEADER_BYTES.to_bits()),
            whole: Constant::new(K.to_bits()),
            ones: Constant::new(!Bits::<K>::default()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Frames<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_frames");
        ClkRst::link(&mut self.cr, &mut self.beats.cr);
        ClkRst::link(&mut self.cr, &mut self.infos.cr);
        ClkRst::link(&mut self.cr, &mut self.frames.cr);
        self.stamp.i.next = self.body.val();
        self.meta.next = self.stamp.o.val();
        self.total.next = self.body.val().total_len;
        self.frame.next.meta = self.stamp.o.val();
        self.frame.next.user = self.user.val();
        self.frame.next.size = self.total.val();
        if self.header.val() {
            self.frame.next.size = self.total.val() + self.header_bytes.val();
        }
        self.frames.s_data.next = self.frame.val();
        self.frames.s_valid.next = self.open.val();
        self.frame_room.next = self.frames.s_ready.val();

        self.info.next.bytes = self.bytes.val();
        self.info.next.last = self.last.val();
        self.beats.s_data.next = self.data.val();
        self.infos.s_data.next = self.info.val();
        self.beats.s_valid.next = self.push.val();
        self.infos.s_valid.next = self.push.val();
        self.half.next = self.infos.half.val();
        self.empty.next = !self.frames.m_valid.val();

        self.m.tdata.next = self.beats.m_data.val();
        self.m.tkeep.next = self.ones.val();
        self.unused.next = self.whole.val() - self.infos.m_data.val().bytes;
        if self.infos.m_data.val().bytes != self.whole.val() {
            self.m.tkeep.next = self.ones.val() >> self.unused.val();
        }
        self.m.tlast.next = self.infos.m_data.val().last;
        self.m.tvalid.next = self.infos.m_valid.val();
        self.beats.m_ready.next = self.m.tready.val();
        self.infos.m_ready.next = self.m.tready.val();
        self.frames.m_ready.next =
            self.m.tready.val() & self.infos.m_valid.val() & self.infos.m_data.val().last;
        self.m_meta.next = self.frames.m_data.val().meta;
        self.m_user.next = self.frames.m_data.val().user;
        self.m_size.next = self.frames.m_data.val().size;
    }
}
