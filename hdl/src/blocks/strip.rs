//! Takes the header off a frame and moves its payload to byte 0.
//!
//!   s ──►[ rotate, hold ]──►[ merge with the next beat ]──► m      2 cycles, 1 beat per cycle
//!   control ──┘
//!
//! A beat is rotated once, so that its payload bytes lie where the output wants them; the upper
//! lanes of an output beat come from the next input beat. The last beat of a frame leaves together
//! with the arrival of the next frame's first, so frames follow each other without a gap. Headers
//! are 14 + 4k bytes long (Ethernet, tags of 4, IP and TCP in words of 4), hence the rotation has a
//! grain of 4 bytes.
//!
//! Invariants: exactly `payload_bytes` bytes leave, from byte `header_bytes` on; none with
//! `discard` (`strip_cuts_any_header_and_tail`); one beat per cycle
//! (`strip_sustains_one_beat_per_cycle`); no path from `m_tready` to the RAM beyond the read
//! enable. Not here: the decision.

use super::axis::{AxisSource, BeatSink};
use super::bits::Join;
use super::meta::StripSink;
use super::reg::{ClkRst, RegE, RegR};
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct Strip<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Beats of committed frames.
    pub s: BeatSink<W>,
    /// One record per frame.
    pub control: StripSink,
    /// Payload.
    pub m: AxisSource<W, K>,
    // where in the frame the input is
    index: RegR<Bits<5>>,
    past: RegR<Bit>,
    // rotated beat in which the next output beat starts
    p_valid: RegR<Bit>,
    p_data: RegE<Bits<W>>,
    p_left: RegE<Bits<16>>,
    p_room: RegE<Bits<16>>,
    p_lanes: RegE<Bits<32>>,
    // registered output
    o_valid: RegR<Bit>,
    o_data: RegE<Bits<W>>,
    o_keep: RegE<Bits<K>>,
    o_last: RegE<Bit>,
    rotated: Vec<Signal<Local, Bits<W>>>,
    merged: Join<16, W>,
    shift: Signal<Local, Bits<8>>,
    skip: Signal<Local, Bits<8>>,
    starts: Signal<Local, Bit>,
    words: Signal<Local, Bits<8>>,
    room: Signal<Local, Bits<8>>,
    half_room: Signal<Local, Bits<8>>,
    unused_lanes: Signal<Local, Bits<8>>,
    left: Signal<Local, Bits<16>>,
    whole: Signal<Local, Bit>,
    unused_bytes: Signal<Local, Bits<16>>,
    out_free: Signal<Local, Bit>,
    alone: Signal<Local, Bit>,
    emit: Signal<Local, Bit>,
    accept: Signal<Local, Bit>,
    right: Vec<Constant<Bits<16>>>,
    wrap: Vec<Constant<Bits<16>>>,
    lane: Vec<Constant<Bits<16>>>,
    pair: Constant<Bits<16>>,
    pair_wrap: Constant<Bits<16>>,
    shift_mask: Constant<Bits<8>>,
    beat_log2: Constant<Bits<8>>,
    beat8: Constant<Bits<8>>,
    beat16: Constant<Bits<16>>,
    lanes32: Constant<Bits<8>>,
    ones32: Constant<Bits<32>>,
    ones_keep: Constant<Bits<K>>,
    zero5: Constant<Bits<5>>,
    one5: Constant<Bits<5>>,
    zero16: Constant<Bits<16>>,
}

impl<const W: usize, const K: usize> Default for Strip<W, K> {
    fn default() -> Self {
        assert_eq!(W, K * 8);
        let steps: Vec<usize> = (0..(K / 4).ilog2()).map(|i| 32 << i).collect();
        Self {
            cr: Default::default(),
            s: Default::default(),
            control: Default::default(),
            m: Default::default(),
            index: Default::default(),
            past: Default::default(),
            p_valid: Default::default(),
            p_data: Default::default(),
            p_left: Default::default(),
            p_room: Default::default(),
            p_lanes: Default::default(),
            o_valid: Default::default(),
            o_data: Default::default(),
            o_keep: Default::default(),
            o_last: Default::default(),
            rotated: vec![Default::default(); steps.len() + 1],
            merged: Default::default(),
            shift: Default::default(),
            skip: Default::default(),
            starts: Default::default(),
            words: Default::default(),
            room: Default::default(),
            half_room: Default::default(),
            unused_lanes: Default::default(),
            left: Default::default(),
            whole: Default::default(),
            unused_bytes: Default::default(),
            out_free: Default::default(),
            alone: Default::default(),
            emit: Default::default(),
            accept: Default::default(),
            right: steps.iter().map(|s| Constant::new(s.to_bits())).collect(),
            wrap: steps.iter().map(|s| Constant::new((W - s).to_bits())).collect(),
            lane: (0..K / 2).map(|i| Constant::new((16 * i).to_bits())).collect(),
            pair: Constant::new(16usize.to_bits()),
            pair_wrap: Constant::new((W - 16).to_bits()),
            shift_mask: Constant::new((K - 1).to_bits()),
            beat_log2: Constant::new((K.ilog2() as usize).to_bits()),
            beat8: Constant::new(K.to_bits()),
            beat16: Constant::new(K.to_bits()),
            lanes32: Constant::new(32usize.to_bits()),
            ones32: Constant::new(!Bits::<32>::default()),
            ones_keep: Constant::new(!Bits::<K>::default()),
            zero5: Constant::new(0usize.to_bits()),
            one5: Constant::new(1usize.to_bits()),
            zero16: Constant::new(0usize.to_bits()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Strip<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.index.cr);
        ClkRst::link(&mut self.cr, &mut self.past.cr);
        ClkRst::link(&mut self.cr, &mut self.p_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.p_data.cr);
        ClkRst::link(&mut self.cr, &mut self.p_left.cr);
        ClkRst::link(&mut self.cr, &mut self.p_room.cr);
        ClkRst::link(&mut self.cr, &mut self.p_lanes.cr);
        ClkRst::link(&mut self.cr, &mut self.o_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.o_data.cr);
        ClkRst::link(&mut self.cr, &mut self.o_keep.cr);
        ClkRst::link(&mut self.cr, &mut self.o_last.cr);

        // Position: whole beats of header first, then the beat in which the payload starts.
        self.shift.next = self.control.control.val().header_bytes & self.shift_mask.val();
        self.skip.next = self.control.control.val().header_bytes >> self.beat_log2.val();
        self.starts.next =
            !self.past.q.val() & (self.index.q.val() == self.skip.val().get_bits::<5>(0));
        self.left.next = self.zero16.val();
        if self.starts.val() & !self.control.control.val().discard {
            self.left.next = self.control.control.val().payload_bytes;
        } else if self.past.q.val() & (self.p_left.q.val() > self.beat16.val()) {
            self.left.next = self.p_left.q.val() - self.beat16.val();
        }

        // Rotation: 2 bytes always, then in steps of 4, 8, 16 and 32 bytes.
        self.words.next = self.shift.val() >> 2;
        self.rotated[0].next =
            (self.s.data.val() >> self.pair.val()) | (self.s.data.val() << self.pair_wrap.val());
        for i in 0..self.right.len() {
            self.rotated[i + 1].next = self.rotated[i].val();
            if self.words.val().get_bit(i) {
                self.rotated[i + 1].next = (self.rotated[i].val() >> self.right[i].val())
                    | (self.rotated[i].val() << self.wrap[i].val());
            }
        }
        self.room.next = self.beat8.val() - self.shift.val();
        self.half_room.next = self.room.val() >> 1;
        self.unused_lanes.next = self.lanes32.val() - self.half_room.val();

        self.out_free.next = !self.o_valid.q.val() | self.m.tready.val();
        self.alone.next = self.p_left.q.val() <= self.p_room.q.val();
        self.emit.next = self.p_valid.q.val()
            & self.out_free.val()
            & (self.alone.val() | (self.s.valid.val() & self.control.valid.val()));
        self.accept.next = self.s.valid.val()
            & self.control.valid.val()
            & (!self.p_valid.q.val() | self.out_free.val());

        self.p_data.en.next = self.accept.val();
        self.p_left.en.next = self.accept.val();
        self.p_room.en.next = self.accept.val();
        self.p_lanes.en.next = self.accept.val();
        for i in self.right.len()..self.rotated.len() {
            self.p_data.d.next = self.rotated[i].val();
        }
        self.p_left.d.next = self.left.val();
        self.p_room.d.next = bit_cast::<16, 8>(self.room.val());
        self.p_lanes.d.next = self.ones32.val() >> self.unused_lanes.val();
        self.p_valid.d.next = self.p_valid.q.val() & !self.emit.val();
        self.index.d.next = self.index.q.val();
        self.past.d.next = self.past.q.val();
        if self.accept.val() {
            self.p_valid.d.next = self.left.val() != self.zero16.val();
            if self.s.info.val().last {
                self.index.d.next = self.zero5.val();
                self.past.d.next = false;
            } else if self.starts.val() {
                self.past.d.next = true;
            } else if !self.past.q.val() {
                self.index.d.next = self.index.q.val() + self.one5.val();
            }
        }

        // Lower lanes from the held beat, upper ones from the arriving one.
        for i in self.right.len()..self.rotated.len() {
            for j in 0..self.lane.len() {
                self.merged.i[j].next =
                    self.rotated[i].val().get_bits::<16>(self.lane[j].val().index());
                if self.p_lanes.q.val().get_bit(j) {
                    self.merged.i[j].next =
                        self.p_data.q.val().get_bits::<16>(self.lane[j].val().index());
                }
            }
        }
        self.whole.next = self.p_left.q.val() >= self.beat16.val();
        self.unused_bytes.next = self.beat16.val() - self.p_left.q.val();
        self.o_data.en.next = self.out_free.val();
        self.o_keep.en.next = self.out_free.val();
        self.o_last.en.next = self.out_free.val();
        self.o_data.d.next = self.merged.o.val();
        self.o_keep.d.next = self.ones_keep.val();
        if !self.whole.val() {
            self.o_keep.d.next = self.ones_keep.val() >> self.unused_bytes.val();
        }
        self.o_last.d.next = self.p_left.q.val() <= self.beat16.val();
        self.o_valid.d.next = self.emit.val() | (self.o_valid.q.val() & !self.m.tready.val());

        self.s.ready.next = self.control.valid.val()
            & (!self.p_valid.q.val() | !self.o_valid.q.val() | self.m.tready.val());
        self.control.ready.next = self.s.valid.val()
            & self.s.info.val().last
            & (!self.p_valid.q.val() | !self.o_valid.q.val() | self.m.tready.val());
        self.m.tdata.next = self.o_data.q.val();
        self.m.tkeep.next = self.o_keep.q.val();
        self.m.tlast.next = self.o_last.q.val();
        self.m.tvalid.next = self.o_valid.q.val();
    }
}
