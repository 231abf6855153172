//! Completions as one burst each: its address for one channel, its beats for the other.
//!
//!   s ──┬─►[ FIFO of 4 ]──► address            2 cycles when empty, then 256 / W cycles each
//!       └─►[ FIFO of 8 ]──► beats, strobes
//!
//! 32 bytes at a multiple of 32: one beat or a part of it from W = 256 on, else 2 or 4 beats.
//! Invariant: every completion is written, whole and alone
//! (`mover_moves_every_byte`). Not here: when.

use crate::blocks::bits::Join;
use crate::blocks::fifo::Fifo;
use crate::blocks::nic_ports::CompletionWriteSink;
use crate::blocks::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// Where a completion goes.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Target {
    /// AWADDR.
    pub address: Bits<64>,
    /// Queue.
    pub queue: Bits<5>,
}

/// The block.
#[derive(LogicBlock)]
pub struct Completions<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Completions.
    pub s: CompletionWriteSink,
    /// Target of the next burst.
    pub m_target: Signal<Out, Target>,
    /// AWLEN of every burst.
    pub m_len: Signal<Out, Bits<8>>,
    /// `m_target` is there.
    pub m_valid: Signal<Out, Bit>,
    /// Takes it.
    pub m_ready: Signal<In, Bit>,
    /// WDATA.
    pub w_data: Signal<Out, Bits<W>>,
    /// WSTRB.
    pub w_strobe: Signal<Out, Bits<K>>,
    /// WLAST.
    pub w_last: Signal<Out, Bit>,
    /// A beat is there.
    pub w_valid: Signal<Out, Bit>,
    /// Takes it.
    pub w_ready: Signal<In, Bit>,
    targets: Fifo<Target, 2>,
    bodies: Fifo<Bits<256>, 3>,
    uppers: Fifo<Bit, 3>,
    beat: RegR<Bits<2>>,
    target: Signal<Local, Target>,
    lanes: Join<64, W>,
    amount: Signal<Local, Bits<16>>,
    slice: Signal<Local, Bits<256>>,
    lane: Vec<Constant<Bits<16>>>,
    width_log2: Constant<Bits<8>>,
    len: Constant<Bits<8>>,
    beat_last: Constant<Bits<2>>,
    lower_strobe: Constant<Bits<K>>,
    upper_strobe: Constant<Bits<K>>,
    one: Constant<Bits<2>>,
    zero: Constant<Bits<2>>,
}

impl<const W: usize, const K: usize> Default for Completions<W, K> {
    fn default() -> Self {
        assert_eq!(W, K * 8);
        let last = (256 / W).max(1) - 1;
        let ones = !Bits::<K>::default();
        let (lower, upper) = if W > 256 { (ones >> 32, ones << 32) } else { (ones, ones) };
        Self {
            cr: Default::default(),
            s: Default::default(),
            m_target: Default::default(),
            m_len: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            w_data: Default::default(),
            w_strobe: Default::default(),
            w_last: Default::default(),
            w_valid: Default::default(),
            w_ready: Default::default(),
            targets: Default::default(),
            bodies: Default::default(),
            uppers: Default::default(),
            beat: Default::default(),
            target: Default::default(),
            lanes: Default::default(),
            amount: Default::default(),
            slice: Default::default(),
            lane: (0..W / 64).map(|i| Constant::new((64 * (i % 4)).to_bits())).collect(),
            width_log2: Constant::new((W.ilog2() as usize).to_bits()),
            len: Constant::new(last.to_bits()),
            beat_last: Constant::new(last.to_bits()),
            lower_strobe: Constant::new(lower),
            upper_strobe: Constant::new(upper),
            one: Constant::new(1usize.to_bits()),
            zero: Constant::new(0usize.to_bits()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Completions<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: mover_completions");
        ClkRst::link(&mut self.cr, &mut self.targets.cr);
        ClkRst::link(&mut self.cr, &mut self.bodies.cr);
        ClkRst::link(&mut self.cr, &mut self.uppers.cr);
        ClkRst::link(&mut self.cr, &mut self.beat.cr);

        // All FIFOs take a completion, or none does.
        self.target.next.address = self.s.address.val();
        self.target.next.queue = self.s.queue.val();
        self.targets.s_data.next = self.target.val();
        self.targets.s_valid.next = self.s.valid.val() & self.bodies.s_ready.val();
        self.bodies.s_data.next = self.s.data.val();
        self.bodies.s_valid.next = self.s.valid.val() & self.targets.s_ready.val();
        self.uppers.s_data.next = self.s.address.val().get_bit(5);
        self.uppers.s_valid.next = self.s.valid.val() & self.targets.s_ready.val();
        self.s.ready.next = self.targets.s_ready.val() & self.bodies.s_ready.val();

        self.m_target.next = self.targets.m_data.val();
        self.m_len.next = self.len.val();
        self.m_valid.next = self.targets.m_valid.val();
        self.targets.m_ready.next = self.m_ready.val();

        self.amount.next = bit_cast::<16, 2>(self.beat.q.val()) << self.width_log2.val();
        self.slice.next = self.bodies.m_data.val() >> self.amount.val();
        for i in 0..self.lane.len() {
            self.lanes.i[i].next = self.slice.val().get_bits::<64>(self.lane[i].val().index());
        }
        self.w_data.next = self.lanes.o.val();
        self.w_strobe.next = self.lower_strobe.val();
        if self.uppers.m_data.val() {
            self.w_strobe.next = self.upper_strobe.val();
        }
        self.w_last.next = self.beat.q.val() == self.beat_last.val();
        self.w_valid.next = self.bodies.m_valid.val();
        self.bodies.m_ready.next = self.w_ready.val() & (self.beat.q.val() == self.beat_last.val());
        self.uppers.m_ready.next = self.w_ready.val() & (self.beat.q.val() == self.beat_last.val());
        self.beat.d.next = self.beat.q.val();
        if self.w_ready.val() & self.bodies.m_valid.val() {
            self.beat.d.next = self.beat.q.val() + self.one.val();
            if self.beat.q.val() == self.beat_last.val() {
                self.beat.d.next = self.zero.val();
            }
        }
    }
}
