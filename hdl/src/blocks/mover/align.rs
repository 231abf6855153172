//! Moves raw bytes to the lanes of their address and marks those to be written.
//!
//!   s ──►[ rotate by 1, 2, 4 ]──►[ rotate by 8, 16, 32 ]──►[ merge with beat before, FIFO ]──► m
//!                                                        4 cycles when empty, 1 beat per cycle
//!
//! A raw beat is rotated once. Its upper `shift` bytes, which fell off the end, lead the next write
//! beat. All stages move together, as long as the FIFO has room: no path from `m_ready` to
//! `s_ready`.
//!
//! Invariants: bytes and strobes as the byte model has them (`mover_moves_every_byte`); one beat
//! per cycle (`mover_fills_the_write_channel`). Not here: which lanes.

use super::sequence::Shape;
use crate::blocks::bits::Join;
use crate::blocks::fifo::Fifo;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct Align<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Raw bytes.
    pub s_raw: Signal<In, Bits<W>>,
    /// What to do with them.
    pub s_shape: Signal<In, Shape>,
    /// `s_raw` and `s_shape` are there.
    pub s_valid: Signal<In, Bit>,
    /// Takes them.
    pub s_ready: Signal<Out, Bit>,
    /// WDATA.
    pub m_data: Signal<Out, Bits<W>>,
    /// WSTRB.
    pub m_strobe: Signal<Out, Bits<K>>,
    /// WLAST.
    pub m_last: Signal<Out, Bit>,
    /// A beat is there.
    pub m_valid: Signal<Out, Bit>,
    /// Takes it.
    pub m_ready: Signal<In, Bit>,
    s_shift: Signal<Local, Bits<6>>,
    a_shift: Signal<Local, Bits<6>>,
    fine: Vec<Signal<Local, Bits<W>>>,
    coarse: Vec<Signal<Local, Bits<W>>>,
    // rotated by the lower bits of the shift
    a_valid: RegR<Bit>,
    a_data: RegE<Bits<W>>,
    a_shape: RegE<Shape>,
    // rotated by all of them
    b_valid: RegR<Bit>,
    b_data: RegE<Bits<W>>,
    b_old: RegE<Bits<K>>,
    b_strobe: RegE<Bits<K>>,
    b_last: RegE<Bit>,
    // the raw beat before
    held: RegE<Bits<W>>,
    merged: Join<8, W>,
    data: Fifo<Bits<W>, 2>,
    strobe: Fifo<Bits<K>, 2>,
    last: Fifo<Bit, 2>,
    above: Signal<Local, Bits<K>>,
    from_start: Signal<Local, Bits<K>>,
    to_end: Signal<Local, Bits<K>>,
    gap: Signal<Local, Bits<7>>,
    fine_bits: Vec<Constant<Bits<16>>>,
    fine_wrap: Vec<Constant<Bits<16>>>,
    coarse_at: Vec<Constant<Bits<3>>>,
    coarse_bits: Vec<Constant<Bits<16>>>,
    coarse_wrap: Vec<Constant<Bits<16>>>,
    lane: Vec<Constant<Bits<16>>>,
    ones: Constant<Bits<K>>,
    beat_bytes: Constant<Bits<7>>,
    zero6: Constant<Bits<6>>,
}

impl<const W: usize, const K: usize> Default for Align<W, K> {
    fn default() -> Self {
        assert_eq!(W, K * 8);
        let bits = |i: u32| 8usize << i;
        let fine = 0..K.ilog2() / 2;
        let coarse = fine.end..K.ilog2();
        Self {
            cr: Default::default(),
            s_raw: Default::default(),
            s_shape: Default::default(),
            s_valid: Default::default(),
            s_ready: Default::default(),
            m_data: Default::default(),
            m_strobe: Default::default(),
            m_last: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            s_shift: Default::default(),
            a_shift: Default::default(),
            fine: vec![Default::default(); fine.len() + 1],
            coarse: vec![Default::default(); coarse.len() + 1],
            a_valid: Default::default(),
            a_data: Default::default(),
            a_shape: Default::default(),
            b_valid: Default::default(),
            b_data: Default::default(),
            b_old: Default::default(),
            b_strobe: Default::default(),
            b_last: Default::default(),
            held: Default::default(),
            merged: Default::default(),
            data: Default::default(),
            strobe: Default::default(),
            last: Default::default(),
            above: Default::default(),
            from_start: Default::default(),
            to_end: Default::default(),
            gap: Default::default(),
            fine_bits: fine.clone().map(|i| Constant::new(bits(i).to_bits())).collect(),
            fine_wrap: fine.map(|i| Constant::new((W - bits(i)).to_bits())).collect(),
            coarse_at: coarse.clone().map(|i| Constant::new((i as usize).to_bits())).collect(),
            coarse_bits: coarse.clone().map(|i| Constant::new(bits(i).to_bits())).collect(),
            coarse_wrap: coarse.map(|i| Constant::new((W - bits(i)).to_bits())).collect(),
            lane: (0..K).map(|i| Constant::new((8 * i).to_bits())).collect(),
            ones: Constant::new(!Bits::<K>::default()),
            beat_bytes: Constant::new(K.to_bits()),
            zero6: Constant::new(0usize.to_bits()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Align<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: mover_align");
        ClkRst::link(&mut self.cr, &mut self.a_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.a_data.cr);
        ClkRst::link(&mut self.cr, &mut self.a_shape.cr);
        ClkRst::link(&mut self.cr, &mut self.b_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.b_data.cr);
        ClkRst::link(&mut self.cr, &mut self.b_old.cr);
        ClkRst::link(&mut self.cr, &mut self.b_strobe.cr);
        ClkRst::link(&mut self.cr, &mut self.b_last.cr);
        ClkRst::link(&mut self.cr, &mut self.held.cr);
        ClkRst::link(&mut self.cr, &mut self.data.cr);
        ClkRst::link(&mut self.cr, &mut self.strobe.cr);
        ClkRst::link(&mut self.cr, &mut self.last.cr);

        // All FIFOs see the same handshakes.
        self.s_ready.next = self.last.s_ready.val();
        self.a_valid.d.next = self.a_valid.q.val();
        self.b_valid.d.next = self.b_valid.q.val();
        if self.last.s_ready.val() {
            self.a_valid.d.next = self.s_valid.val();
            self.b_valid.d.next = self.a_valid.q.val();
        }
        self.a_data.en.next = self.last.s_ready.val() & self.s_valid.val();
        self.a_shape.en.next = self.last.s_ready.val() & self.s_valid.val();
        self.b_data.en.next = self.last.s_ready.val() & self.a_valid.q.val();
        self.b_old.en.next = self.last.s_ready.val() & self.a_valid.q.val();
        self.b_strobe.en.next = self.last.s_ready.val() & self.a_valid.q.val();
        self.b_last.en.next = self.last.s_ready.val() & self.a_valid.q.val();
        self.held.en.next = self.last.s_ready.val() & self.b_valid.q.val();

        self.s_shift.next = self.s_shape.val().shift;
        self.a_shift.next = self.a_shape.q.val().shift;
        self.fine[0].next = self.s_raw.val();
        for i in 0..self.fine_bits.len() {
            self.fine[i + 1].next = self.fine[i].val();
            if self.s_shift.val().get_bit(i) {
                self.fine[i + 1].next = (self.fine[i].val() << self.fine_bits[i].val())
                    | (self.fine[i].val() >> self.fine_wrap[i].val());
            }
        }
        for i in self.fine_bits.len()..self.fine.len() {
            self.a_data.d.next = self.fine[i].val();
        }
        self.a_shape.d.next = self.s_shape.val();

        self.coarse[0].next = self.a_data.q.val();
        for i in 0..self.coarse_bits.len() {
            self.coarse[i + 1].next = self.coarse[i].val();
            if self.a_shift.val().get_bit(self.coarse_at[i].val().index()) {
                self.coarse[i + 1].next = (self.coarse[i].val() << self.coarse_bits[i].val())
                    | (self.coarse[i].val() >> self.coarse_wrap[i].val());
            }
        }
        for i in self.coarse_bits.len()..self.coarse.len() {
            self.b_data.d.next = self.coarse[i].val();
        }
        self.above.next = self.ones.val() << self.a_shift.val();
        self.from_start.next = self.ones.val() << self.a_shape.q.val().start;
        self.gap.next = self.beat_bytes.val() - bit_cast::<7, 6>(self.a_shape.q.val().end);
        self.to_end.next = self.ones.val();
        if self.a_shape.q.val().end != self.zero6.val() {
            self.to_end.next = self.ones.val() >> self.gap.val();
        }
        self.b_old.d.next = !self.above.val();
        self.b_strobe.d.next = self.from_start.val() & self.to_end.val();
        self.b_last.d.next = self.a_shape.q.val().last;

        self.held.d.next = self.b_data.q.val();
        for i in 0..self.lane.len() {
            self.merged.i[i].next = self.b_data.q.val().get_bits::<8>(self.lane[i].val().index());
            if self.b_old.q.val().get_bit(i) {
                self.merged.i[i].next = self.held.q.val().get_bits::<8>(self.lane[i].val().index());
            }
        }
        self.data.s_data.next = self.merged.o.val();
        self.data.s_valid.next = self.b_valid.q.val();
        self.strobe.s_data.next = self.b_strobe.q.val();
        self.strobe.s_valid.next = self.b_valid.q.val();
        self.last.s_data.next = self.b_last.q.val();
        self.last.s_valid.next = self.b_valid.q.val();
        self.m_data.next = self.data.m_data.val();
        self.m_strobe.next = self.strobe.m_data.val();
        self.m_last.next = self.last.m_data.val();
        self.m_valid.next = self.last.m_valid.val();
        self.data.m_ready.next = self.m_ready.val();
        self.strobe.m_ready.next = self.m_ready.val();
        self.last.m_ready.next = self.m_ready.val();
    }
}
